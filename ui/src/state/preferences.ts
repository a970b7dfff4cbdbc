// What a reader chose once for every page: theme, language, time zone. Kept in the browser; links do not carry them,
// except a zone that is not the reader's own.

import { signal } from "@preact/signals";
import type { Zone } from "./zone.ts";

export type Theme = "system" | "light" | "dark";
export type Language = "en" | "zh";

function stored(name: string): string {
  try {
    return globalThis.localStorage?.getItem(`everflame.${name}`) ?? "";
  } catch {
    return "";
  }
}

function store(name: string, value: string): void {
  try {
    globalThis.localStorage?.setItem(`everflame.${name}`, value);
  } catch {
    // No storage: the choice holds until the page is left.
  }
}

/** The reader's language: what was chosen, else the browser's, else English. */
export function languageOf(chosen: string, browser: string): Language {
  if (chosen === "en" || chosen === "zh") return chosen;
  return /^zh\b/i.test(browser) ? "zh" : "en";
}

const themes: readonly string[] = ["system", "light", "dark"];
const browserLanguage = typeof navigator === "undefined" ? "en" : navigator.language;

export const theme = signal<Theme>((themes.includes(stored("theme")) ? stored("theme") : "system") as Theme);
export const language = signal<Language>(languageOf(stored("language"), browserLanguage));
export const zonePreference = signal<Zone>(stored("zone") === "UTC" ? "UTC" : "local");

export function chooseTheme(next: Theme): void {
  theme.value = next;
  store("theme", next);
  const root = document.documentElement;
  if (next === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = next;
}

export function chooseLanguage(next: Language): void {
  language.value = next;
  store("language", next);
  document.documentElement.lang = next;
}

export function chooseZone(next: Zone): void {
  zonePreference.value = next;
  store("zone", next === "UTC" ? "UTC" : "local");
}
