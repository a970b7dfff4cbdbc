// The flame graph's words with the page's way to write numbers, made once per language and unit.

import { useMemo } from "preact/hooks";
import { type FlameText, flameEn, flameZh } from "../flame/index.ts";
import { language } from "../state/preferences.ts";
import { useNumbers } from "./index.ts";

export function useFlameText(unit: string): FlameText {
  const now = language.value;
  const numbers = useNumbers();
  return useMemo(() => {
    const write = {
      value: (value: bigint) => numbers.value(value, unit),
      share: numbers.share,
      count: numbers.count,
    };
    return now === "zh" ? flameZh(write) : flameEn(write);
  }, [now, numbers, unit]);
}
