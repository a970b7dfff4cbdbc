// 页面的全部中文文案。All words of the page in Chinese; a missing key does not compile.

import type { Text } from "./en.ts";

export const zh: Text = {
  brand: "Everflame",
};
