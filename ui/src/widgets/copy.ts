// Putting text on the clipboard and saving files, with words about how it went. Where the browser refuses the clipboard
// (no secure origin), the old way through a hidden field is tried before giving up.

import { announce } from "./announce.tsx";

export async function copyText(text: string, done: string, refused: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(done, true);
    return;
  } catch {
    // Plain HTTP on another machine has no clipboard; the way below works there.
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  announce(copied ? done : `${refused}: ${text}`, true);
}

export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // The download has begun once the click returns; the address is given back a little later, for slow browsers.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
