// Opening the help from anywhere. The dialog itself is fetched when it is first asked for.

import { signal } from "@preact/signals";

export const HELP = signal(false);

export function openHelp(): void {
  HELP.value = true;
}
