// What surrounds every page: the header, the way past it, the live region and the help. Which page it is follows from
// the path alone.

import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { visible } from "../flame/label.ts";
import { switchLanguage, useText } from "../i18n/index.ts";
import { refresh } from "../state/clock.ts";
import { unread } from "../state/explore.ts";
import { chooseTheme, language, type Theme, theme } from "../state/preferences.ts";
import { readSelector, serviceOf } from "../state/selector.ts";
import { carried, href, parameter, place } from "../state/url.ts";
import { LiveRegion } from "../widgets/announce.tsx";
import { Icon } from "../widgets/icon.tsx";
import { IconButton } from "../widgets/icon-button.tsx";
import { lazy } from "../widgets/lazy.tsx";
import { Link } from "../widgets/link.tsx";
import { Menu } from "../widgets/menu.tsx";
import { HELP, openHelp } from "./open-help.ts";
import { RangePicker } from "./range.tsx";
import { ErrorState } from "./states.tsx";

const ServicesPage = lazy(async () => (await import("./services.tsx")).ServicesPage);
const ExplorePage = lazy(async () => (await import("./explore.tsx")).ExplorePage);
const MissingPage = lazy(async () => (await import("./missing.tsx")).MissingPage);
const HelpPage = lazy(async () => (await import("./help.tsx")).HelpPage);
const HelpDialog = lazy(async () => (await import("./help.tsx")).HelpDialog);

/** A fault of one page leaves the header standing: another place, or the same once more, is a press away. */
function Page({ path }: { readonly path: string }) {
  const text = useText();
  const [fault, mend] = useErrorBoundary();
  const { parameters } = place.value;
  useEffect(() => {
    if (fault !== undefined) mend();
  }, [path, parameters]);
  if (fault !== undefined) return <ErrorState error={fault} retry={mend} />;
  if (path === "") return <ServicesPage />;
  if (path === "explore") return <ExplorePage />;
  if (path === "status/ingest") return <MissingPage />;
  if (path === "help") return <HelpPage />;
  return (
    <section class="state">
      <h1>{text.states.unknownPage}</h1>
      <p>
        <Link class="button" path="" parameters={[]}>
          {text.states.toServices}
        </Link>
      </p>
    </section>
  );
}

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;

/** Keys that work anywhere but in a field. Letters act only inside graph and tables, which see them first. */
function useKeys(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      if (event.key === "?") {
        event.preventDefault();
        openHelp();
      } else if (event.key === "/") {
        const field = document.querySelector<HTMLInputElement>("[data-search]");
        if (field) {
          event.preventDefault();
          field.focus();
          field.select();
        }
      }
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

export function Shell() {
  const text = useText();
  const { path, parameters } = place.value;
  const main = useRef<HTMLElement>(null);
  const before = useRef(path);
  useKeys();
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path]);
  const selector = parameter(parameters, "q");
  const service = selector === null ? null : serviceOf(readSelector(selector) ?? []);
  useEffect(() => {
    document.title = [path === "explore" ? (service === null ? text.nav.explore : visible(service)) : "", text.brand]
      .filter(Boolean)
      .join(" · ");
  }, [path, service, text]);
  const odd = unread(parameters);
  const tab = (to: string, label: string) => (
    <Link path={to} parameters={carried(parameters, "q")} {...(path === to && { "aria-current": "page" as const })}>
      {label}
    </Link>
  );
  const themes: readonly Theme[] = ["system", "light", "dark"];
  return (
    <>
      <a
        class="skip"
        href={`${href(path, parameters)}#main`}
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {text.nav.skip}
      </a>
      <header class="header">
        <Link class="brand" path="" parameters={carried(parameters, "q")}>
          <img src="./icon.svg" alt="" width="20" height="20" />
          <span>{text.brand}</span>
        </Link>
        <nav aria-label={text.nav.main}>
          {tab("", text.nav.services)}
          {tab("explore", text.nav.explore)}
        </nav>
        <div class="header-tools">
          <RangePicker />
          <IconButton icon="refresh" label={text.header.refresh} framed onAct={refresh} />
        </div>
        <div class="header-tools preferences">
          <Menu
            label={`${text.header.language}: ${text.language} · ${language.value === "zh" ? "中" : "EN"}`}
            align="end"
            class="button quiet"
            button={<span>{language.value === "zh" ? "中" : "EN"}</span>}
            sections={[
              {
                title: text.header.language,
                items: [
                  {
                    key: "en",
                    label: <span lang="en">English</span>,
                    checked: language.value === "en",
                    act: () => void switchLanguage("en"),
                  },
                  {
                    key: "zh",
                    label: <span lang="zh">中文</span>,
                    checked: language.value === "zh",
                    act: () => void switchLanguage("zh"),
                  },
                ],
              },
            ]}
          />
          <Menu
            label={`${text.header.theme}: ${text.header.themes[theme.value]}`}
            align="end"
            class="button square quiet"
            button={<Icon name="sun" />}
            sections={[
              {
                title: text.header.theme,
                items: themes.map((one) => ({
                  key: one,
                  label: text.header.themes[one],
                  checked: theme.value === one,
                  act: () => chooseTheme(one),
                })),
              },
            ]}
          />
          <IconButton icon="help" label={text.header.help} onAct={openHelp} />
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {odd.length > 0 ? (
          <p class="warn-line unread" role="status">
            {text.states.unread(odd.join(" "))}
          </p>
        ) : null}
        <Page path={path} />
      </main>
      {HELP.value ? <HelpDialog /> : null}
      <LiveRegion />
    </>
  );
}
