// What can be taken away from the page: a link with fixed times, the same question for a shell, and files. Nothing is sent
// anywhere but to the reader's own disk and clipboard.

import { useEffect, useMemo } from "preact/hooks";
import { pprof, type Selection } from "../data/api.ts";
import type { Tree } from "../data/flame.ts";
import { visible } from "../flame/label.ts";
import { useFlameText } from "../i18n/flame.ts";
import { typeName, useNumbers, useText } from "../i18n/index.ts";
import type { FileKind } from "../out/save.ts";
import { commandLine, curlLine } from "../state/commands.ts";
import { type Explore, writeExplore } from "../state/explore.ts";
import type { Chosen } from "../state/selection.ts";
import { type Window, writeTime } from "../state/time.ts";
import { changed, place, wholeAddress } from "../state/url.ts";
import { zoneTag } from "../state/zone.ts";
import { announce } from "../widgets/announce.tsx";
import { copyText, saveFile } from "../widgets/copy.ts";
import { Icon } from "../widgets/icon.tsx";
import { Menu } from "../widgets/menu.tsx";
import { useZone, writeRange } from "./range.tsx";

/** The link with relative times made absolute: everyone who opens it sees the same. */
export function frozenLink(chosen: Chosen, more: Partial<Explore> = {}): string {
  const { outer } = chosen;
  const fixed = writeExplore({ from: writeTime(outer.from), to: writeTime(outer.to), live: false, ...more });
  return wholeAddress(changed(place.peek().parameters, fixed));
}

/** A name for a file: service, type and time, in letters that every disk takes. */
function fileName(chosen: Chosen, ending: string, window = chosen.inner): string {
  const parts = [chosen.service ?? "all", chosen.type?.sample ?? "", writeTime(window.from)];
  return `${parts
    .filter(Boolean)
    .join("-")
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")}.${ending}`;
}

interface Props {
  readonly state: Explore;
  readonly chosen: Chosen;
  readonly tree: Tree | null;
}

export function OutMenu({ state, chosen, tree }: Props) {
  const text = useText();
  const numbers = useNumbers();
  const zone = useZone();
  const flameText = useFlameText(tree?.model.meta.unit ?? "");
  const { selection, baseline } = chosen;
  const copy = (content: string, what: string) => void copyText(content, text.out.copied(what), text.out.notCopied);
  const server = new URL(".", document.baseURI).href.replace(/\/$/, "");
  const none = selection === null;
  // Whoever leaves the page waits for no file any more.
  const gone = useMemo(() => new AbortController(), []);
  useEffect(() => () => gone.abort(), [gone]);
  const made = async (name: string, make: () => Promise<void>) => {
    try {
      await make();
      announce(text.out.saved(name), true);
    } catch (error) {
      if (gone.signal.aborted) return;
      announce(`${text.out.failed}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  };
  const savePprof = (side: Selection) => {
    const name = fileName(chosen, "pb.gz", side.window);
    return made(name, async () => saveFile(name, new Blob([(await pprof(side, gone.signal)).data])));
  };
  const save = async (kind: FileKind) => {
    if (!tree) return;
    const name = fileName(chosen, kind);
    const range = (window: Window) => `${writeRange(window.from, window.to, zone)} ${zoneTag(window.from, zone)}`;
    const facts = {
      title: [
        chosen.service === null ? text.filters.allServices : visible(chosen.service),
        typeName(text, chosen.type),
      ].join(" · "),
      lines: [
        baseline ? `${range(baseline.window)} → ${range(chosen.inner)}` : range(chosen.inner),
        [selection?.q ?? "", text.trust.profiles(tree.stats.profiles, numbers.count(tree.stats.profiles))]
          .filter(Boolean)
          .join(" · "),
      ],
      language: document.documentElement.lang,
    };
    await made(name, async () => {
      const out = await import("../out/save.ts");
      await out.save({ kind, name, tree, state, facts, text, flameText, numbers });
    });
  };
  return (
    <Menu
      label={text.out.share}
      align="end"
      button={
        <>
          <Icon name="share" />
          <span>{text.out.share}</span>
        </>
      }
      sections={[
        {
          items: [
            {
              key: "link",
              label: text.out.link,
              hint: text.out.linkHint,
              act: () => copy(frozenLink(chosen), text.out.theLink),
            },
            {
              key: "cli",
              label: text.out.cli,
              disabled: none,
              act: () => selection && copy(commandLine(selection, baseline, server), text.out.theCommand),
            },
            {
              key: "curl",
              label: text.out.curl,
              disabled: none,
              act: () => selection && copy(curlLine(selection, baseline), text.out.theCommand),
            },
            {
              key: "selector",
              label: text.out.selector,
              disabled: none,
              act: () => selection && copy(selection.q || "{}", text.out.theSelector),
            },
          ],
        },
        {
          title: text.out.export,
          items: [
            ...(["png", "svg", "html"] as const).map((kind) => ({
              key: kind,
              label: text.out[kind],
              disabled: tree === null,
              act: () => void save(kind),
            })),
            ...[selection, baseline].flatMap((side, at) =>
              side === null && at > 0
                ? []
                : [
                    {
                      key: `pprof ${at}`,
                      label: text.out.pprof,
                      // One pprof is of one time: of a comparison there are two.
                      hint: (baseline && [text.compare.now, text.compare.before][at]) || "",
                      disabled: side === null,
                      act: () => side && void savePprof(side),
                    },
                  ],
            ),
          ],
        },
      ]}
    />
  );
}
