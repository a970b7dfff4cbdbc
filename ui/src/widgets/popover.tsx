// A button that opens a small panel above everything else: menus, pickers, lists. Built on the browser's own popover, so
// Escape, a click elsewhere and the focus behave as people know them. The panel is kept inside the window.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

interface Props {
  readonly label: string;
  /** What the button shows; the label where it is only an icon. */
  readonly button: ComponentChildren;
  readonly class?: string;
  readonly kind?: "dialog" | "menu" | "listbox";
  readonly align?: "start" | "end";
  readonly children: (close: () => void) => ComponentChildren;
  readonly disabled?: boolean;
}

const EDGE = 8;

export function Popover({
  label,
  button,
  class: name = "button",
  kind = "dialog",
  align = "start",
  children,
  disabled,
}: Props) {
  const id = useId();
  const anchor = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  useEffect(() => {
    const element = panel.current;
    const from = anchor.current;
    if (!element || !from) return;
    const place = () => {
      const box = from.getBoundingClientRect();
      const width = element.offsetWidth;
      const wanted = align === "end" ? box.right - width : box.left;
      const left = Math.max(EDGE, Math.min(wanted, document.documentElement.clientWidth - width - EDGE));
      const below = window.innerHeight - box.bottom - EDGE;
      const above = box.top - EDGE;
      const upward = below < Math.min(element.scrollHeight, 240) && above > below;
      element.style.left = `${left}px`;
      element.style.maxHeight = `${Math.max(120, (upward ? above : below) - 4)}px`;
      element.style.top = upward ? "auto" : `${box.bottom + 4}px`;
      element.style.bottom = upward ? `${window.innerHeight - box.top + 4}px` : "auto";
    };
    const toggled = (event: Event) => {
      const opened = (event as ToggleEvent).newState === "open";
      setOpen(opened);
      if (!opened && element.contains(document.activeElement)) from.focus();
    };
    const before = (event: Event) => {
      if ((event as ToggleEvent).newState === "open") setOpen(true);
    };
    element.addEventListener("beforetoggle", before);
    element.addEventListener("toggle", toggled);
    window.addEventListener("resize", place);
    const sized = new ResizeObserver(place);
    sized.observe(element);
    return () => {
      element.removeEventListener("beforetoggle", before);
      element.removeEventListener("toggle", toggled);
      window.removeEventListener("resize", place);
      sized.disconnect();
    };
  }, [align]);

  useEffect(() => {
    if (!open) return;
    const first = panel.current?.querySelector<HTMLElement>(
      "[data-first], input, select, [role^=menuitem], [role=option], button",
    );
    first?.focus();
  }, [open]);

  const close = () => {
    panel.current?.hidePopover();
    anchor.current?.focus();
  };
  return (
    <>
      <button
        ref={anchor}
        type="button"
        class={name}
        aria-label={label}
        title={label}
        aria-haspopup={kind}
        aria-expanded={open}
        popovertarget={id}
        disabled={disabled ?? false}
      >
        {button}
      </button>
      <div
        ref={panel}
        id={id}
        class="popover"
        popover="auto"
        {...(kind === "dialog" && { role: "dialog", "aria-label": label })}
      >
        {open ? children(close) : null}
      </div>
    </>
  );
}
