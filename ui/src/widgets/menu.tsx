// A menu behind a button: arrow keys move, letters jump, Enter acts, Escape closes.

import type { ComponentChildren } from "preact";
import { Popover } from "./popover.tsx";

export interface MenuItem {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly hint?: string;
  /** A choice of several is checked or not; an action is neither. */
  readonly checked?: boolean;
  readonly disabled?: boolean;
  readonly act: () => void;
}

interface Props {
  readonly label: string;
  readonly button: ComponentChildren;
  readonly class?: string;
  readonly align?: "start" | "end";
  readonly sections: readonly { readonly title?: string; readonly items: readonly MenuItem[] }[];
  readonly disabled?: boolean;
}

function move(event: KeyboardEvent): void {
  const menu = event.currentTarget as HTMLElement;
  const items = [...menu.querySelectorAll<HTMLElement>("[role^=menuitem]")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to =
    event.key === "ArrowDown"
      ? (at + 1) % items.length
      : event.key === "ArrowUp"
        ? (at - 1 + items.length) % items.length
        : event.key === "Home"
          ? 0
          : event.key === "End"
            ? items.length - 1
            : event.key.length === 1 && event.key !== " "
              ? items.findIndex((_, n) => {
                  const item = items[(at + 1 + n) % items.length];
                  return item?.textContent?.trim().toLowerCase().startsWith(event.key.toLowerCase());
                })
              : -1;
  if (to < 0) return;
  event.preventDefault();
  const target = event.key.length === 1 ? items[(at + 1 + to) % items.length] : items[to];
  target?.focus();
}

export function Menu({ label, button, class: name, align, sections, disabled }: Props) {
  return (
    <Popover
      label={label}
      button={button}
      kind="menu"
      {...(name && { class: name })}
      {...(align && { align })}
      disabled={disabled ?? false}
    >
      {(close) => (
        <div class="menu" role="menu" aria-label={label} tabIndex={-1} onKeyDown={move}>
          {sections.map((section, at) => (
            <div role="group" aria-label={section.title ?? label} key={at} class="menu-section">
              {section.title ? (
                <div class="menu-title" aria-hidden="true">
                  {section.title}
                </div>
              ) : null}
              {section.items.map((item) => (
                <button
                  type="button"
                  key={item.key}
                  class="menu-item"
                  role={item.checked === undefined ? "menuitem" : "menuitemradio"}
                  {...(item.checked !== undefined && { "aria-checked": item.checked })}
                  tabIndex={-1}
                  disabled={item.disabled ?? false}
                  onClick={() => {
                    close();
                    item.act();
                  }}
                >
                  <span>{item.label}</span>
                  {item.hint ? <small>{item.hint}</small> : null}
                </button>
              ))}
            </div>
          ))}
        </div>
      )}
    </Popover>
  );
}
