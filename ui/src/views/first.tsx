// Before the first profile: how to send one, and a line that waits for it.

import { useText } from "../i18n/index.ts";
import { copyText } from "../widgets/copy.ts";
import { Link } from "../widgets/link.tsx";

function Command({ title, command }: { readonly title: string; readonly command: string }) {
  const text = useText();
  return (
    <div class="command">
      <h2>{title}</h2>
      <div class="command-row">
        <pre>{command}</pre>
        <button
          type="button"
          class="button"
          onClick={() => void copyText(command, text.out.copied(text.out.theCommand), text.out.notCopied)}
        >
          {text.out.copy}
        </button>
      </div>
    </div>
  );
}

/** Before the first profile: how to send one, and a line that waits for it. */
export function FirstStart() {
  const text = useText();
  const server = new URL(".", document.baseURI).href.replace(/\/$/, "");
  return (
    <section class="state first">
      <h1>{text.states.firstTitle}</h1>
      <p>{text.states.firstText}</p>
      <p class="waiting" role="status">
        <span class="pulse" aria-hidden="true" />
        {text.states.waiting}
      </p>
      <Command
        title={text.states.firstFile}
        command={`everflame push cpu.pprof --service my-service --server ${server}`}
      />
      <Command
        title={text.states.firstCurl}
        command={`curl --data-binary @cpu.pprof '${server}/api/v1/push?service=my-service'`}
      />
      <Command
        title={text.states.firstGo}
        command={`curl -s 'http://localhost:6060/debug/pprof/profile?seconds=10' |\n  curl --data-binary @- '${server}/api/v1/push?service=my-service'`}
      />
      <Command
        title={text.states.firstFolded}
        command={`echo 'main;handle;parse 42' |\n  curl --data-binary @- '${server}/api/v1/push?service=my-service&format=folded&sample_rate=100'`}
      />
      <p>
        <Link path="status/ingest" parameters={[]}>
          {text.services.missing}
        </Link>
      </p>
    </section>
  );
}
