// Which profiles: service, type, and label filters as chips. Completions come with counts: how many series have a value,
// given all other filters. A selector that is more than chips can show is edited as text.

import { useMemo, useState } from "preact/hooks";
import type { Labels, Service } from "../data/types.ts";
import { visible } from "../flame/label.ts";
import { useText } from "../i18n/index.ts";
import { type Explore, writeExplore } from "../state/explore.ts";
import { shortType } from "../state/profile-type.ts";
import type { Chosen } from "../state/selection.ts";
import { type Matcher, SERVICE, withService } from "../state/selector.ts";
import { change } from "../state/url.ts";
import { Choices } from "../widgets/choices.tsx";
import { Icon } from "../widgets/icon.tsx";
import { lazy } from "../widgets/lazy.tsx";
import { Popover } from "../widgets/popover.tsx";
import { TypeMenu } from "./type-menu.tsx";

interface Props {
  readonly state: Explore;
  readonly chosen: Chosen;
  readonly services: readonly Service[] | null;
  /** Label sets of the chosen service in the range; null = not known yet. */
  readonly series: readonly Labels[] | null;
}

function chipText(matcher: Matcher): string {
  return visible(`${matcher.name}${matcher.operator}${matcher.value}`);
}

function SelectorText({ q }: { readonly q: string }) {
  const text = useText();
  const [typed, setTyped] = useState(q);
  return (
    <form
      class="selector-text"
      onSubmit={(event) => {
        event.preventDefault();
        change({ q: typed.trim() || null }, "push");
      }}
    >
      <input
        class="input"
        type="text"
        spellcheck={false}
        autocomplete="off"
        aria-label={text.filters.text}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        {text.time.apply}
      </button>
    </form>
  );
}

const FilterEditor = lazy(async () => (await import("./filter-editor.tsx")).FilterEditor);

export function Filters({ state, chosen, services, series }: Props) {
  const text = useText();
  const { matchers } = state;
  const filters = useMemo(
    () => matchers?.filter((matcher) => !(matcher.name === SERVICE && matcher.operator === "=")) ?? [],
    [matchers],
  );
  const put = (next: readonly Matcher[]) => change(writeExplore({ matchers: next, at: null }), "push");
  const replaceAt = (index: number, matcher: Matcher | null) => {
    const next = filters.flatMap((one, at) => (at === index ? (matcher ? [matcher] : []) : [one]));
    put(withService(next, chosen.service));
  };
  const chooseType = (full: string) => {
    const plain = chosen.byDefault === full;
    change({ ...writeExplore({ type: plain ? null : shortType(full, chosen.types), at: null }) }, "push");
  };

  return (
    <div class="filters">
      {/* Which services a selector that only the server reads is about, is not known here. */}
      {matchers === null ? null : (
        <Popover
          label={`${text.filters.service}: ${chosen.service ?? text.filters.allServices}`}
          class="button service"
          button={
            <>
              <b>{chosen.service === null ? text.filters.allServices : visible(chosen.service)}</b>
              <Icon name="down" />
            </>
          }
        >
          {(close) => (
            <Choices
              label={text.filters.service}
              choices={
                services && [
                  { key: "", label: text.filters.allServices, chosen: chosen.service === null },
                  ...services.map((service) => ({
                    key: service.name,
                    label: service.name,
                    chosen: service.name === chosen.service,
                  })),
                ]
              }
              onChoose={(name) => {
                close();
                put(withService(matchers, name === "" ? null : name));
              }}
            />
          )}
        </Popover>
      )}
      <TypeMenu types={chosen.types} chosen={chosen.type} onChoose={chooseType} />
      {matchers === null ? (
        <SelectorText key={state.q} q={state.q} />
      ) : (
        <>
          {filters.map((matcher, at) => (
            <span class="chip" key={chipText(matcher)}>
              <Popover
                label={text.filters.edit(chipText(matcher))}
                class="chip-text"
                button={
                  <code>
                    {matcher.name}
                    <i>{matcher.operator}</i>
                    {visible(matcher.value)}
                  </code>
                }
              >
                {(close) => (
                  <FilterEditor
                    series={series}
                    others={filters}
                    matcher={matcher}
                    onDone={(next) => {
                      close();
                      replaceAt(at, next);
                    }}
                  />
                )}
              </Popover>
              <button
                type="button"
                class="chip-x"
                aria-label={text.filters.remove(chipText(matcher))}
                title={text.filters.remove(chipText(matcher))}
                onClick={() => replaceAt(at, null)}
              >
                <Icon name="close" />
              </button>
            </span>
          ))}
          <Popover
            label={text.filters.add}
            class="button quiet"
            button={
              <>
                <Icon name="plus" />
                <span>{text.filters.add}</span>
              </>
            }
          >
            {(close) => (
              <FilterEditor
                series={series}
                others={filters}
                matcher={null}
                onDone={(matcher) => {
                  close();
                  put([...(matchers ?? []), matcher]);
                }}
              />
            )}
          </Popover>
        </>
      )}
    </div>
  );
}
