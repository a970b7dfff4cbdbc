// A square button that shows an icon only; its words are read aloud and stand in its tooltip. Buttons whose tooltip says
// more than their name are written out.

import { Icon, type IconName } from "./icon.tsx";

interface Props {
  readonly icon: IconName;
  readonly label: string;
  /** With an edge around it, as in the header. */
  readonly framed?: boolean;
  readonly onAct: () => void;
}

export function IconButton({ icon, label, framed = false, onAct }: Props) {
  return (
    <button
      type="button"
      class={framed ? "button square" : "button square quiet"}
      aria-label={label}
      title={label}
      onClick={onAct}
    >
      <Icon name={icon} />
    </button>
  );
}
