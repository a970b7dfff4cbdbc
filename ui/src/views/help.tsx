// The help: keys and the words that the page uses, in a dialog over it. Opened by `?` or the button.

import { useEffect, useRef } from "preact/hooks";
import { useText } from "../i18n/index.ts";
import { IconButton } from "../widgets/icon-button.tsx";
import { HELP } from "./open-help.ts";

function Keys({ keys }: { readonly keys: ReadonlyArray<readonly [names: string, meaning: string]> }) {
  return (
    <dl class="keys">
      {keys.map(([names, meaning]) => (
        <div key={names}>
          <dt>
            {names.split(" ").map((name) => (
              <kbd key={name}>{name}</kbd>
            ))}
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

function HelpContent() {
  const { help, trust } = useText();
  return (
    <>
      <h2>{help.anywhere}</h2>
      <Keys
        keys={[
          ["?", help.keys.help],
          ["/", help.keys.search],
        ]}
      />
      <h2>{help.graph}</h2>
      <Keys
        keys={[
          ["↑ ↓ ← →", help.keys.move],
          ["Enter", help.keys.focus],
          ["Esc", help.keys.out],
          ["Home", help.keys.root],
          ["+ - 0", help.keys.zoom],
          ["w a s d", help.keys.pan],
          ["n N", help.keys.match],
          ["Shift+F10", help.keys.actions],
          ["y Y l", help.keys.copy],
          ["f", help.keys.callers],
          ["o", help.keys.turn],
          ["b", help.keys.colour],
        ]}
      />
      <h2>{help.chart}</h2>
      <Keys keys={[["← → PgUp PgDn", help.keys.handle]]} />
      <h2>{help.glossary}</h2>
      <p>{help.self}</p>
      <p>{help.total}</p>
      <p>{help.colours}</p>
      <p>
        <b>{trust.uncut}</b> · {trust.uncutHint}
      </p>
      <p>
        <b>{trust.symbolised}</b> · {trust.symbolisedHint}
      </p>
    </>
  );
}

/** The same as a page, for links to it. */
export function HelpPage() {
  const { help } = useText();
  return (
    <section class="page help" aria-labelledby="help-title">
      <h1 id="help-title">{help.title}</h1>
      <HelpContent />
    </section>
  );
}

export function HelpDialog() {
  const { help } = useText();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="help-title"
      onClose={() => {
        HELP.value = false;
      }}
    >
      <header>
        <h2 id="help-title">{help.title}</h2>
        <IconButton icon="close" label={help.close} onAct={close} />
      </header>
      <HelpContent />
    </dialog>
  );
}
