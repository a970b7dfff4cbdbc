// Runs before the first paint, as a file of its own because the page allows no inline script: theme and language are
// right from the first pixel. Keys are those of src/state/preferences.ts.
(() => {
  const root = document.documentElement;
  let theme = "system";
  let language = "";
  try {
    theme = localStorage.getItem("everflame.theme") || "system";
    language = localStorage.getItem("everflame.language") || "";
  } catch {
    // No storage (a locked-down browser): the system's choice holds.
  }
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  root.lang = language || (/^zh\b/i.test(navigator.language) ? "zh" : "en");
})();
