// What is drawn on a canvas has to be drawn anew when colours change: by choice, by the system, by forced colours.

import { useEffect, useState } from "preact/hooks";
import { theme } from "../state/preferences.ts";

/** A text that is another one whenever the page's colours are. */
export function useThemeKey(): string {
  const chosen = theme.value;
  const [system, setSystem] = useState("");
  useEffect(() => {
    const questions = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((text) => matchMedia(text));
    const read = () => setSystem(questions.map((question) => String(question.matches)).join(" "));
    read();
    for (const question of questions) question.addEventListener("change", read);
    return () => {
      for (const question of questions) question.removeEventListener("change", read);
    };
  }, []);
  return `${chosen} ${system}`;
}
