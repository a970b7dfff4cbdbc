// The menu of actions on a box: at the pointer, or at the box when it was opened by a key. Arrows move, Escape and a
// press elsewhere close; it never leaves the window.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface MenuItem {
  readonly key: string;
  readonly label: string;
  readonly hint: string;
  readonly act: () => void;
}

interface MenuProps {
  readonly title: string;
  readonly x: number;
  readonly y: number;
  readonly items: readonly MenuItem[];
  readonly onClose: () => void;
}

export function Menu({ title, x, y, items, onClose }: MenuProps) {
  const list = useRef<HTMLDivElement>(null);
  const buttons = () => Array.from(list.current?.querySelectorAll("button") ?? []);
  useLayoutEffect(() => {
    const box = list.current;
    if (!box) return;
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${Math.max(4, Math.min(x, window.innerWidth - width - 4))}px`;
    box.style.top = `${Math.max(4, Math.min(y, window.innerHeight - height - 4))}px`;
    buttons()[0]?.focus();
  }, [x, y]);
  useEffect(() => {
    const gone = new AbortController();
    const elsewhere = (event: Event) => {
      if (!(event.target instanceof Node && list.current?.contains(event.target))) onClose();
    };
    document.addEventListener("pointerdown", elsewhere, { signal: gone.signal, capture: true });
    window.addEventListener("resize", onClose, { signal: gone.signal });
    return () => gone.abort();
  }, [onClose]);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const go = (to: number) => {
      event.preventDefault();
      all[(to + all.length) % all.length]?.focus();
    };
    event.stopPropagation();
    if (event.key === "ArrowDown") go(at + 1);
    else if (event.key === "ArrowUp") go(at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(-1);
    else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      onClose();
    }
  };
  return (
    <div class="flame-menu" role="menu" aria-label={title} ref={list} tabIndex={-1} onKeyDown={onKeyDown}>
      <div class="flame-menu-title" aria-hidden="true">
        <bdi>{title}</bdi>
      </div>
      {items.map((item) => (
        <button
          type="button"
          role="menuitem"
          key={item.key}
          onClick={() => {
            onClose();
            item.act();
          }}
        >
          <span>{item.label}</span>
          <span class="flame-hint" aria-hidden="true">
            {item.hint}
          </span>
        </button>
      ))}
    </div>
  );
}
