// Where the page begins: mounts the application on #app.

import { render } from "preact";
import { en } from "./i18n/en.ts";
import "./theme/theme.css";

const root = document.getElementById("app");
if (root) render(<h1>{en.brand}</h1>, root);
