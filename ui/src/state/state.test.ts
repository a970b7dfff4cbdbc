// The address and what it says: kept keys, defaults left out, times, lenses, selectors, types; and shell commands.

import { describe, expect, test } from "vitest";
import { commandLine, shellWord } from "./commands.ts";
import { orderOf, readExplore, unread, writeExplore } from "./explore.ts";
import { numbersFor } from "./format.ts";
import { splitName } from "./name.ts";
import { defaultType, findType, shortType } from "./profile-type.ts";
import { choose } from "./selection.ts";
import { fits, isBadPattern, readSelector, serviceOf, withService, writeSelector } from "./selector.ts";
import {
  baselineWindow,
  readBaseline,
  readLens,
  readTime,
  resolveWindow,
  writeBaseline,
  writeLens,
  writeSpan,
  writeTime,
} from "./time.ts";
import { changed, formatParameters, parseParameters } from "./url.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");

describe("address", () => {
  test("unknown keys are kept, in their order, behind the known ones", () => {
    const parameters = parseParameters("?zz=1&s=a&q=%7B%7D&aa=x%26y");
    expect(formatParameters(changed(parameters, writeExplore({ search: "b" })))).toBe("q={}&s=b&zz=1&aa=x%26y");
  });

  test("what a browser would take apart is escaped, and everything comes back", () => {
    const value = `a&b=c#d+e f%g"h<i>'j\u00e9中`;
    const text = formatParameters([["s", value]]);
    expect(text).not.toMatch(/[&#<> "]/);
    expect(parseParameters(text)).toEqual([["s", value]]);
  });

  test("c092_url_encoded_filters: a filter with quotes and brackets comes back from its permalink", () => {
    const filter = 'starts_with("std::vec<&T>")';
    const wanted = { q: `{filter="starts_with(\\"std::vec<&T>\\")"}`, search: filter, fn: "std::vec<&T>::push" };
    const { q: selector, ...fields } = wanted;
    const link = formatParameters(changed([["q", selector]], writeExplore(fields)));
    // As a browser has it in its address, and as a chat or a mail may escape it once more than needed.
    const address = new URL(`http://localhost:4040/explore?${link}`);
    const stricter = [...address.searchParams].map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
    for (const text of [address.search, `?${stricter}`]) {
      const { q, search, fn } = readExplore(parseParameters(text));
      expect({ q, search, fn }).toEqual(wanted);
    }
    expect(readSelector(wanted.q)).toEqual([{ name: "filter", operator: "=", value: filter }]);
  });

  test("a default is not written", () => {
    const state = readExplore([]);
    const all = writeExplore({ ...state, search: "" });
    expect(Object.values(all).every((value) => value === null || value === "")).toBe(true);
  });

  test("a state comes back from its link", () => {
    const link =
      "q={service_name=%22cart%22}&t=cpu&from=2026-11-29T02:30Z&to=2026-11-29T04:00Z&tz=UTC&live=1&lens=2026-11-29T03:10Z/PT5M&b.lens=-5m&m=share&view=flame+callers&fn=a::b&g=pod&s=/x/&at=abc&by=value&dir=up&sort=size";
    const state = readExplore(parseParameters(link));
    const { q: _, ...fields } = state;
    expect(formatParameters(changed([], writeExplore(fields)).filter(([, value]) => value !== ""))).toBe(link);
    expect(orderOf(state)).toBe("size");
    expect(orderOf({ ...state, order: null })).toBe("name");
  });

  test("a selector with a type in front is both", () => {
    const state = readExplore([["q", 'mutex{service_name="a"}']]);
    expect([state.type, state.q]).toEqual(["mutex", '{service_name="a"}']);
  });

  test("a selector that was cut off stays what it is, for the server to refuse", () => {
    const state = readExplore([["q", '{service_name="a"']]);
    expect([state.type, state.q, state.matchers]).toEqual([null, '{service_name="a"', null]);
  });

  test("what cannot be read is named, what is not said is not", () => {
    const link = "from=banana&to=now-5m&tz=Mars/Base&lens=x&b.lens=-5m&s=";
    expect(unread(parseParameters(link))).toEqual(["from=banana", "tz=Mars/Base", "lens=x"]);
    expect(unread([])).toEqual([]);
  });
});

describe("times", () => {
  test.each([
    ["now", NOW],
    ["now-90m", NOW - 5_400_000],
    ["2026-11-29T03:10Z", Date.parse("2026-11-29T03:10:00Z")],
    ["2026-11-29T03:10:05.250+02:00", Date.parse("2026-11-29T01:10:05.250Z")],
    ["1795921800000", 1_795_921_800_000],
    ["1795921800", 1_795_921_800_000],
    ["now+1h", null],
    ["noon", null],
  ])("%s", (text, instant) => {
    expect(readTime(text, NOW)).toBe(instant);
  });

  test("a link carries absolute instants, short", () => {
    expect(writeTime(Date.parse("2026-11-29T03:10:00Z"))).toBe("2026-11-29T03:10Z");
    expect(writeTime(Date.parse("2026-11-29T03:10:07Z"))).toBe("2026-11-29T03:10:07Z");
    expect(writeTime(Date.parse("2026-11-29T03:10:07.005Z"))).toBe("2026-11-29T03:10:07.005Z");
  });

  test("a range the wrong way round is turned, an unreadable one is the last hour", () => {
    expect(resolveWindow("now", "now-1h", NOW)).toEqual({ from: NOW - 3_600_000, to: NOW });
    expect(resolveWindow("x", "y", NOW)).toEqual({ from: NOW - 3_600_000, to: NOW });
  });

  test("instants beyond what server and calendar hold count as the last ones there are, and a range is never empty", () => {
    const first = 0;
    const last = Date.parse("2200-01-01T00:00:00Z");
    for (const far of ["9999999999999999", "9999-12-31T23:59Z"]) expect(readTime(far, NOW)).toBe(last);
    for (const far of ["now-999999999w", "1066-10-14T09:00Z"]) expect(readTime(far, NOW)).toBe(first);
    expect(resolveWindow("9999999999999999", "9999999999999999", NOW)).toEqual({ from: last - 60_000, to: last });
    expect(resolveWindow("0000000000", "0000000000", NOW)).toEqual({ from: first, to: 60_000 });
    expect(readLens("2026-11-29T03:10Z/PT999999999H")?.to).toBe(last);
    const before = baselineWindow({ offset: 6e17 }, { from: NOW, to: NOW + 60_000 });
    expect(before).toEqual({ from: first, to: 60_000 });
    for (const window of [before, resolveWindow("now-999999999w", "9999999999999999", NOW)])
      expect(readLens(writeLens(window))).toEqual(window);
  });

  test.each(["2026-11-29T03:10Z/PT5M", "2026-11-29T03:10:15Z/PT1H15S", "2026-11-29T03:10Z/PT0.5S"])(
    "lens %s",
    (text) => {
      const lens = readLens(text);
      expect(lens && writeLens(lens)).toBe(text);
    },
  );

  test.each(["", "2026-11-29T03:10Z", "2026-11-29T03:10Z/PT0S", "x/PT5M", "2026-11-29T03:10Z/P", "a/b/c"])(
    "%s is no lens",
    (text) => {
      expect(readLens(text)).toBeNull();
    },
  );

  test("baselines", () => {
    expect(readBaseline("-5m")).toEqual({ offset: 300_000 });
    expect(writeBaseline({ offset: 300_000 })).toBe("-5m");
    expect(readBaseline("-0m")).toBeNull();
    expect(writeSpan(90_000)).toBe("90s");
    const window = { from: NOW, to: NOW + 60_000 };
    expect(readBaseline(writeBaseline({ window }))).toEqual({ window });
  });
});

describe("selectors", () => {
  test("chips come from the text and go back to it", () => {
    const text = `{service_name="cart",pod=~"web-.*","k8s-app"!="a\\"b\\\\c"}`;
    const matchers = readSelector(text);
    expect(matchers && writeSelector(matchers)).toBe(text);
    expect(matchers && serviceOf(matchers)).toBe("cart");
    expect(writeSelector(withService(matchers ?? [], "x"))).toContain('{service_name="x",pod=~');
  });

  test.each(['{a="b"', "{a}", "{a='b'}", '{a="\\x41"}', "cpu"])("%s is left to the server", (text) => {
    expect(readSelector(text)).toBeNull();
  });

  test.each(["checkout-[34", "(", "a{2,1}", "*"])("%s is surely no pattern", (pattern) => {
    expect(isBadPattern(pattern)).toBe(true);
  });

  test.each(["web-.*", "(?i)web", "(?i:web)-1", "(?P<n>a)", "(?:a|b)", "[[:alpha:]]", "\\pL+"])(
    "%s may be one",
    (pattern) => {
      expect(isBadPattern(pattern)).toBe(false);
    },
  );

  test("counts follow the other filters", () => {
    const labels = { pod: "web-1", env: "prod" };
    const all = readSelector(`{pod=~"web-\\\\d",env!="test",zone=""}`);
    expect(all && fits(labels, all)).toBe(true);
    expect(fits(labels, readSelector(`{pod=~"web"}`) ?? [])).toBe(false);
  });
});

test("a selector holds nothing that acts on the line it is pasted into", () => {
  const value = "a\u0000\u001b[201~\u0085\u202eb\u2028\n";
  const text = writeSelector([{ name: "pod", operator: "=", value }]);
  expect(text).toBe('{pod="a\\u0000\\u001b[201~\\u0085\\u202eb\\u2028\\n"}');
  expect(readSelector(text)).toEqual([{ name: "pod", operator: "=", value }]);
});

describe("profile types", () => {
  const types = [
    "mutex:contentions:count:contentions:count",
    "mutex:delay:nanoseconds:contentions:count",
    "block:delay:nanoseconds:contentions:count",
    "memory:inuse_space:bytes:space:bytes",
    "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
  ];

  test("every type comes back from its short word", () => {
    for (const full of types) expect(findType(shortType(full, types), types)?.full).toBe(full);
    expect(shortType(types[1] ?? "", types)).toBe("mutex");
    expect(defaultType(types)?.full).toBe(types[4]);
  });

  test("of several that the first word means, the one that most services have is shown", () => {
    const other = "cpu:cpu:nanoseconds:samples:count";
    const cpu = types[4] ?? "";
    const wall = "wall:wall:nanoseconds:wall:nanoseconds";
    expect(defaultType([other, cpu, cpu, wall, wall, wall])?.full).toBe(cpu);
    expect(defaultType([cpu, other, other])?.full).toBe(other);
  });

  test("a word that means several means none", () => {
    expect(findType("delay", types)).toBeNull();
  });
});

test("the baseline is shown on the chart where it lies just before", () => {
  const state = readExplore(parseParameters("from=2026-11-29T03:00Z&to=2026-11-29T04:00Z&b.lens=-1h"));
  const services = [{ name: "a", types: ["process_cpu:cpu:nanoseconds:cpu:nanoseconds"], profiles: 1, last: "" }];
  const { shown, baseline } = choose(state, services, NOW);
  expect(writeTime(shown.from)).toBe("2026-11-29T02:00Z");
  expect(baseline && writeLens(baseline.window)).toBe("2026-11-29T02:00Z/PT1H");
  const week = choose(
    readExplore(parseParameters("from=2026-11-29T03:00Z&to=2026-11-29T04:00Z&b.lens=-1w")),
    services,
    NOW,
  );
  expect(writeTime(week.shown.from)).toBe("2026-11-29T03:00Z");
});

test("numbers have three digits, exact ones all", () => {
  const numbers = numbersFor("en");
  const shown = [0, 7, 999, 1000, 12_345, 59.9e9, 60e9, 5_426e9, 9.5e13].map((ns) =>
    numbers.value(ns, "nanoseconds"),
  );
  expect(shown).toEqual(["0 s", "7 ns", "999 ns", "1.00 µs", "12.3 µs", "59.9 s", "1.00 min", "1.51 h", "1.10 d"]);
  expect([1023, 1024, 1_500_000].map((bytes) => numbers.value(bytes, "bytes"))).toEqual([
    "1,023 B",
    "1.00 KiB",
    "1.43 MiB",
  ]);
  expect(numbers.value(-1_234_567, "count")).toBe("−1.23 M");
  expect(numbers.exact(9_223_372_036_854_775_807n, "nanoseconds")).toBe("9,223,372,036,854,775,807 ns");
  expect(numbers.rate(0.00342, "nanoseconds", true, "cores")).toBe("0.0034 cores");
  expect([0.31, 0.0004, 0, 1].map(numbers.share)).toEqual(["31.0 %", "0.04 %", "0.0 %", "100.0 %"]);
  expect([0.118, -0.003].map(numbers.change)).toEqual(["+11.8 %", "−0.3 %"]);
  expect([0.078, -0.003, 0].map(numbers.points)).toEqual(["+7.8 pp", "−0.3 pp", "0.0 pp"]);
  expect(numbersFor("zh").points(0.078)).toBe("+7.8 个百分点");
});

test("commands are safe to paste", () => {
  const window = { from: Date.parse("2026-11-29T03:10:00Z"), to: Date.parse("2026-11-29T03:15:00Z") };
  const selection = { q: `{a="it's $HOME"}`, type: "p:cpu:ns:c:ns", window };
  expect(shellWord("it's")).toBe(`'it'\\''s'`);
  expect(commandLine(selection, null, "http://127.0.0.1:4040")).toBe(
    `everflame flame '{a="it'\\''s $HOME"}' --type p:cpu:ns:c:ns --from 2026-11-29T03:10Z --to 2026-11-29T03:15Z --server http://127.0.0.1:4040`,
  );
});

test.each([
  ["cmd/compile/internal/gc.compileFunctions", "cmd/compile/internal/"],
  ["encoding/json.(*encodeState).reflectValue", "encoding/json."],
  ["shop/api.(*Handler).Checkout.func1", "shop/api."],
  ["org.example.search.Worker.run", "org.example.search."],
  ["tokio::runtime::park", "tokio::"],
  ["<a::b as c::d>::e", ""],
  ["main.main", ""],
  ["...", ""],
])("%s is cut in its beginning", (name, head) => {
  expect(splitName(name)).toEqual([head, name.slice(head.length)]);
});
