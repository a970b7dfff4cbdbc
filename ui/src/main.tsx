// Where the page begins: mounts the application on #app.

import { render } from "preact";
import "./theme/theme.css";
import "./theme/base.css";
import "./theme/over.css";
import "./theme/page.css";
import "./theme/table.css";
import "./theme/explore.css";
import "./theme/panels.css";
import "./theme/timeline.css";
import { loadWords } from "./i18n/index.ts";
import { language } from "./state/preferences.ts";
import { Shell } from "./views/shell.tsx";

const root = document.getElementById("app");
if (root) {
  await loadWords(language.peek());
  render(<Shell />, root);
}
