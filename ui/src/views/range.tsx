// The range of time, for every page: the last hour, or from here to there, in the reader's zone or UTC; and whether the
// page asks again by itself. Fields take what people write; a time that comes twice or never is said.

import { useState } from "preact/hooks";
import { useText } from "../i18n/index.ts";
import { asOf, refresh, useLive } from "../state/clock.ts";
import { readExplore, writeExplore } from "../state/explore.ts";
import { chooseZone, zonePreference } from "../state/preferences.ts";
import { isRelative, PRESETS, readTime, resolveWindow, writeSpan, writeTime } from "../state/time.ts";
import { change, place } from "../state/url.ts";
import { formatOffset, offsetAt, readInstant, withDay, writeInstant, type Zone, zoneTag } from "../state/zone.ts";
import { Icon } from "../widgets/icon.tsx";
import { Popover } from "../widgets/popover.tsx";
import { Segmented } from "../widgets/segmented.tsx";

/** The zone in force: the link's, else the reader's. */
export function useZone(): Zone {
  return readExplore(place.value.parameters).zone ?? zonePreference.value;
}

function spanOf(from: string, to: string): string | null {
  return to === "now" && from.startsWith("now-") ? from.slice(4) : null;
}

/** `2026-11-29 03:10 – 04:10`: the end without its day where that is the same. */
export function writeRange(from: number, to: number, zone: Zone): string {
  const tidy = (text: string) => text.replace(/(\d\d:\d\d):00/, "$1");
  const start = writeInstant(from, zone);
  const end = writeInstant(to, zone);
  const sameDay = start.slice(0, 10) === end.slice(0, 10);
  return `${tidy(start)} – ${tidy(sameDay ? end.slice(11) : end)}`;
}

type Side = { readonly value: string; readonly fault: string | null; readonly note: string | null };

function useSide(typed: string, zone: Zone, shown: number): Side {
  const text = useText();
  const now = asOf.value;
  const written = withDay(typed, zone, shown, now);
  if (isRelative(written) || /^\d{9,}$/.test(written.trim())) {
    const read = readTime(written, now);
    return { value: written.trim(), fault: read === null ? text.time.unread : null, note: null };
  }
  const read = readInstant(written, zone);
  if (!read.ok) return { value: written, fault: text.time.unread, note: null };
  const note =
    read.note === "twice"
      ? text.time.twice(formatOffset(offsetAt(read.instant, zone)))
      : read.note === "never"
        ? text.time.never(writeInstant(read.instant, zone))
        : written === typed
          ? null
          : `= ${writeInstant(read.instant, zone)}`;
  return { value: writeTime(read.instant), fault: null, note };
}

interface FieldProps {
  readonly label: string;
  readonly written: string;
  readonly side: Side;
  readonly onInput: (text: string) => void;
}

function TimeField({ label, written, side, onInput }: FieldProps) {
  const say = side.fault ?? side.note;
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        type="text"
        spellcheck={false}
        autocomplete="off"
        value={written}
        aria-invalid={side.fault !== null}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {say ? <small class={side.fault ? "bad" : "note"}>{say}</small> : null}
    </label>
  );
}

function Absolute({ zone, close }: { readonly zone: Zone; readonly close: () => void }) {
  const text = useText();
  const state = readExplore(place.value.parameters);
  const window = resolveWindow(state.from, state.to, asOf.value);
  const shown = (raw: string, instant: number) => (isRelative(raw) ? raw : writeInstant(instant, zone));
  const [from, setFrom] = useState(() => shown(state.from, window.from));
  const [to, setTo] = useState(() => shown(state.to, window.to));
  const start = useSide(from, zone, window.from);
  const end = useSide(to, zone, window.from);
  const now = asOf.value;
  const length = start.fault || end.fault ? 1 : (readTime(end.value, now) ?? 0) - (readTime(start.value, now) ?? 0);
  const backwards = length <= 0;
  return (
    <form
      class="range-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (start.fault || end.fault || backwards) return;
        refresh();
        const live = state.live && isRelative(end.value);
        change(writeExplore({ from: start.value, to: end.value, live, lens: null, at: null }), "push");
        close();
      }}
    >
      <TimeField label={text.time.from} written={from} side={start} onInput={setFrom} />
      <TimeField label={text.time.to} written={to} side={end} onInput={setTo} />
      <small class="note">{text.time.hint}</small>
      {backwards ? <small class="bad">{length === 0 ? text.time.nothing : text.time.backwards}</small> : null}
      <button type="submit" class="button primary" disabled={start.fault !== null || end.fault !== null || backwards}>
        {text.time.apply}
      </button>
    </form>
  );
}

function localName(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function RangePicker() {
  const text = useText();
  const zone = useZone();
  const state = readExplore(place.value.parameters);
  const window = resolveWindow(state.from, state.to, asOf.value);
  // A range that ends at a fixed time has nothing to wait for.
  const moves = isRelative(state.to);
  const live = state.live && moves;
  useLive(live);
  const span = spanOf(state.from, state.to);
  const spans: Readonly<Record<string, string>> = text.time.spans;
  const shown = span === null ? writeRange(window.from, window.to, zone) : text.time.last(spans[span] ?? span);
  const tag = zoneTag(window.from, zone);
  const label = `${text.time.range}: ${shown} ${tag}`;
  return (
    <div class="joined">
      <Popover
        label={label}
        align="end"
        class="button"
        button={
          <>
            <Icon name="clock" />
            <span class="range-text">{shown}</span> <small class="tag">{tag}</small>
          </>
        }
      >
        {(close) => (
          <div class="range">
            <div class="presets">
              {PRESETS.map((preset) => (
                <button
                  type="button"
                  key={preset}
                  class={span === preset ? "menu-item on" : "menu-item"}
                  {...(span === preset && { "aria-current": "true" as const })}
                  onClick={() => {
                    refresh();
                    change(writeExplore({ from: `now-${preset}`, to: "now", lens: null, at: null }), "push");
                    close();
                  }}
                >
                  {text.time.last(text.time.spans[preset])}
                </button>
              ))}
            </div>
            <div class="range-side">
              {/* Another zone writes the same instants anew. */}
              <Absolute key={`${zone} ${state.from} ${state.to}`} zone={zone} close={close} />
              <Segmented
                label={text.time.zone}
                value={zone === "UTC" ? "UTC" : "local"}
                options={[
                  { value: "local", label: text.time.local(localName()) },
                  { value: "UTC", label: text.time.utc },
                ]}
                onChange={(next) => {
                  chooseZone(next);
                  change(writeExplore({ zone: null }), "replace");
                }}
              />
              {state.zone && state.zone !== "UTC" ? (
                <small class="note">{text.time.linkZone(state.zone)}</small>
              ) : null}
            </div>
          </div>
        )}
      </Popover>
      <button
        type="button"
        class={live ? "button square on" : "button square"}
        aria-pressed={live}
        aria-label={text.header.live}
        title={live ? text.header.liveOn : moves ? text.header.liveOff : text.header.liveNow}
        onClick={() => {
          if (!live) refresh();
          // From a fixed range: the last of the same length.
          const from = `now-${writeSpan(window.to - window.from)}`;
          if (moves) change(writeExplore({ live: !live }), "replace");
          else change(writeExplore({ from, to: "now", live: true, lens: null, at: null }), "push");
        }}
      >
        <Icon name={live ? "pause" : "play"} />
      </button>
    </div>
  );
}
