// The recorded afternoon that the end-to-end tests and pictures look at: three services from 02:30 to 04:00 UTC. From
// 03:10 to 03:15 one replica of `cart` spends four times its usual time in `decode::visit`. Every sample is written down
// here, so every share is known. Profiles go in by the protocols that real clients speak.

import { readFileSync } from "node:fs";

const MINUTE = 60_000;
export const STORY = {
  from: Date.parse("2026-11-29T02:30:00Z"),
  to: Date.parse("2026-11-29T04:00:00Z"),
  spikeFrom: Date.parse("2026-11-29T03:10:00Z"),
  spikeTo: Date.parse("2026-11-29T03:15:00Z"),
} as const;
const SAMPLES_PER_S = 100;

/** Samples of one minute of one replica, by stack. A replica that is busy for half a core has 3,000. */
type Stacks = Readonly<Record<string, number>>;

const cart: Stacks = {
  "main;server::run;handle;decode::request;decode::visit;utf8::check": 240,
  "main;server::run;handle;decode::request;decode::visit;alloc::grow": 130,
  "main;server::run;handle;decode::request;decode::visit": 210,
  "main;server::run;handle;decode::request": 60,
  "main;server::run;handle;route::find;regex::exec;regex::step": 360,
  "main;server::run;handle;route::find;regex::exec": 90,
  "main;server::run;handle;store::get;rocks::get;lz4::decompress": 310,
  "main;server::run;handle;store::get;rocks::get;crc::update": 120,
  "main;server::run;handle;store::get": 40,
  "main;server::run;handle;retry::again;handle;store::get;rocks::get": 70,
  "main;server::run;write::response;json::write;itoa": 130,
  "main;server::run;write::response;json::write;escape": 160,
  "main;server::run;write::response": 50,
  "main;timer::tick": 15,
  "main;metrics::flush;gzip::deflate": 85,
};

const checkout: Stacks = {
  "runtime.main;main.main;main.serve;main.settleAccounts;main.(*ledger).post": 720,
  "runtime.main;main.main;main.serve;main.settleAccounts": 210,
  "runtime.main;main.main;main.serve;encoding/json.Marshal;encoding/json.(*encodeState).reflectValue": 340,
  "runtime.main;main.main;main.serve;crypto/tls.(*Conn).Write;crypto/aes.gcmAesEnc": 260,
  "runtime.gcBgMarkWorker;runtime.gcDrain;runtime.scanobject": 220,
  "runtime.gcBgMarkWorker;runtime.gcDrain": 60,
  "runtime.mcall;runtime.park_m;runtime.schedule;runtime.findRunnable": 90,
};

const search: Stacks = {
  "java.lang.Thread.run;org.example.search.Worker.run;org.example.search.Index.query;org.example.search.Postings.advance": 900,
  "java.lang.Thread.run;org.example.search.Worker.run;org.example.search.Index.query;org.example.search.Score.bm25": 420,
  "java.lang.Thread.run;org.example.search.Worker.run;org.example.search.Index.query;搜索::分词": 180,
  "java.lang.Thread.run;org.example.search.Worker.run;org.example.search.Highlight.render": 240,
  "java.lang.Thread.run;GC::G1 young": 160,
};

/** What a minute looks like: a slow wave, and the spike. Whole numbers, the same on every machine. */
function minute(stacks: Stacks, at: number, replica: number, spikes: boolean): string {
  const wave = 100 + Math.round(18 * Math.sin(at / 9 + replica)) + ((at * 7 + replica * 13) % 5);
  const time = STORY.from + at * MINUTE;
  const spike = spikes && time >= STORY.spikeFrom && time < STORY.spikeTo;
  return Object.entries(stacks)
    .map(([stack, count]) => {
      const factor = spike && stack.includes("decode::visit") ? 4 : 1;
      return `${stack} ${Math.max(1, Math.round((count * factor * wave) / 100))}`;
    })
    .join("\n");
}

async function post(url: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> {
  const response = await fetch(url, { method: "POST", body });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}

/** By our own API: folded stacks. */
function native(
  server: string,
  service: string,
  labels: Record<string, string>,
  time: number,
  body: string,
): Promise<void> {
  const query = new URLSearchParams({
    service,
    format: "folded",
    name: "process_cpu",
    sample_rate: String(SAMPLES_PER_S),
  });
  query.set("time", String(time));
  for (const [name, value] of Object.entries(labels)) query.append("label", `${name}=${value}`);
  return post(`${server}/api/v1/push?${query}`, body);
}

/** As Pyroscope's clients do. */
function ingest(
  server: string,
  service: string,
  labels: Record<string, string>,
  time: number,
  body: string,
): Promise<void> {
  const set = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const query = new URLSearchParams({
    name: `${service}.cpu{${set.join(",")}}`,
    from: String(time / 1000),
    until: String(time / 1000 + 60),
    sampleRate: String(SAMPLES_PER_S),
    units: "samples",
    format: "folded",
  });
  return post(`${server}/ingest?${query}`, body);
}

const AT_ONCE = 8;

/** Pushes the whole story; ends when all of it is on disk. */
export async function pushStory(server: string, repository: string): Promise<void> {
  const jobs: (() => Promise<void>)[] = [];
  for (let at = 0; at < (STORY.to - STORY.from) / MINUTE; at += 1) {
    const time = STORY.from + at * MINUTE;
    for (const replica of [1, 2, 3]) {
      const labels = { env: "prod", pod: `cart-${replica}`, version: replica === 3 ? "512" : "511" };
      jobs.push(() => native(server, "cart", labels, time, minute(cart, at, replica, replica === 2)));
    }
    for (const replica of [1, 2]) {
      const pod = { env: "prod", pod: `checkout-${replica}` };
      jobs.push(() => ingest(server, "checkout", pod, time, minute(checkout, at, replica, false)));
    }
    const host = { env: at % 2 ? "prod" : "staging", pod: "search-1" };
    jobs.push(() => native(server, "search", host, time, minute(search, at, 1, false)));
  }
  const real = `${repository}/fixtures/real`;
  const file = (name: string) => new Uint8Array(readFileSync(`${real}/${name}`));
  // As a cron job of profefe's users, and as curl does it by our own API. Recorded profiles say their own time.
  jobs.push(() => post(`${server}/api/0/profiles?service=go-hot&type=cpu`, file("go-hot/cpu.pb.gz")));
  jobs.push(() => post(`${server}/api/0/profiles?service=go-hot&type=heap`, file("go-hot/heap.pb.gz")));
  jobs.push(() => post(`${server}/api/v1/push?service=go-compiler`, file("go-compiler/cpu.pb.gz")));
  jobs.push(() => post(`${server}/api/v1/push?service=rust-hot`, file("rust-hot/cpu.pb")));
  jobs.push(() => post(`${server}/api/v1/push?service=node-hot`, file("node-hot/cpu.pb.gz")));
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) await job();
  });
  await Promise.all(workers);
}
