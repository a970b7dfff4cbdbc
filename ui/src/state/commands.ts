// The same question for other tools: command line and curl, ready to be pasted into a POSIX shell. Pure.

import { diffQuery, flameQuery, type Selection } from "../data/api.ts";
import { address } from "../data/http.ts";
import { writeTime } from "./time.ts";

/** A word of a shell, in single quotes where it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function commandLine(selection: Selection, baseline: Selection | null, server: string): string {
  const words = ["everflame", baseline ? "diff" : "flame"];
  if (baseline) words.push(baseline.q || "{}");
  // Of two equal selectors the second may be left out.
  if (!baseline || baseline.q !== selection.q) words.push(selection.q || "{}");
  if (selection.type) words.push("--type", selection.type);
  if (baseline)
    words.push("--left-from", writeTime(baseline.window.from), "--left-to", writeTime(baseline.window.to));
  words.push("--from", writeTime(selection.window.from), "--to", writeTime(selection.window.to), "--server", server);
  return words.map(shellWord).join(" ");
}

export function curlLine(selection: Selection, baseline: Selection | null): string {
  const url = baseline
    ? address("api/v1/diff", diffQuery(baseline, selection))
    : address("api/v1/flame", flameQuery(selection));
  return `curl ${shellWord(url)}`;
}
