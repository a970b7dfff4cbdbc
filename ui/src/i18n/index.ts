// The words and numbers of the reader's language, chosen once for the whole page.

import { type Numbers, numbersFor } from "../state/format.ts";
import { chooseLanguage, type Language, language } from "../state/preferences.ts";
import type { Text } from "./en.ts";

export type { Text };

const loaders: Readonly<Record<Language, () => Promise<Text>>> = {
  en: async () => (await import("./en.ts")).en,
  zh: async () => (await import("./zh.ts")).zh,
};
const words: Partial<Record<Language, Text>> = {};
const numbers: Partial<Record<Language, Numbers>> = {};

/** Fetches a language; the page is shown once the reader's is there. */
export async function loadWords(wanted: Language): Promise<void> {
  words[wanted] ??= await loaders[wanted]();
}

export async function switchLanguage(next: Language): Promise<void> {
  await loadWords(next);
  chooseLanguage(next);
}

export function useText(): Text {
  const text = words[language.value];
  if (!text) throw new Error("words are loaded before anything is shown");
  return text;
}

export function useNumbers(): Numbers {
  const now = language.value;
  const made = numbers[now] ?? numbersFor(now);
  numbers[now] = made;
  return made;
}

/** What a profile type is called; the profile's own words where we have none. */
export function typeName(text: Text, type: { name: string; sample: string } | null): string {
  if (!type) return "";
  const { name, sample } = type;
  const known: Readonly<Record<string, string>> = text.types;
  if (sample === "delay" && (name === "mutex" || name === "block")) return known[name] ?? name;
  if (sample === "contentions") return (name === "block" ? known["blockCount"] : known["mutexCount"]) ?? sample;
  return known[sample] ?? `${name} ${sample}`;
}
