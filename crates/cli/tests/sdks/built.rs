//! Clients that cannot be had here. Their requests are **built, not recorded**: by what is known of their wire (endpoint,
//! coding, headers, labels, sample types), with bodies of ours inside. Where one is to be had one day, a test with the
//! real one takes the place of the one here.
//!
//! The Java agent's requests are recorded ones, in `fixtures/real/java-agent`.

use super::{nothing_refused_or_altered, table, types_of};
use crate::{
    pyroscope::{CPU, Message, PUSH, label_sets, push_message, series},
    support::{Reply, TestServer, now_nanos},
};

/// A pprof body by hand: types, then samples of a stack from leaf to root, values, and text labels.
struct Pprof {
    strings: Vec<String>,
    message: Message,
    functions: u64,
}

type Sample<'a> = (&'a [&'a str], &'a [i64], &'a [(&'a str, &'a str)]);

impl Pprof {
    fn new(types: &[(&str, &str)], period: Option<(&str, &str, i64)>) -> Self {
        let mut body = Self { strings: vec![String::new()], message: Message::default(), functions: 0 };
        for (kind, unit) in types {
            let value_type = body.value_type(kind, unit);
            body.message = body.message.bytes(1, value_type);
        }
        if let Some((kind, unit, period)) = period {
            let value_type = body.value_type(kind, unit);
            body.message = body.message.bytes(11, value_type).number(12, period);
        }
        body.message = body.message.number(9, now_nanos()).number(10, 10_000_000_000);
        body
    }

    fn with(mut self, samples: &[Sample<'_>]) -> Vec<u8> {
        for (stack, values, labels) in samples {
            let mut sample = Message::default();
            for name in *stack {
                self.functions += 1;
                let id = i64::try_from(self.functions).unwrap();
                let name = self.string(name);
                let line = Message::default().number(1, id).number(2, 7);
                self.message = self
                    .message
                    .bytes(5, Message::default().number(1, id).number(2, name))
                    .bytes(4, Message::default().number(1, id).bytes(4, line));
                sample = sample.number(1, id);
            }
            for value in *values {
                sample = sample.number(2, *value);
            }
            for (name, value) in *labels {
                let (name, value) = (self.string(name), self.string(value));
                sample = sample.bytes(3, Message::default().number(1, name).number(2, value));
            }
            self.message = self.message.bytes(2, sample);
        }
        let strings = std::mem::take(&mut self.strings);
        strings.iter().fold(self.message, |message, string| message.bytes(6, string)).0
    }

    fn string(&mut self, text: &str) -> i64 {
        let known = self.strings.iter().position(|string| string == text);
        let index = known.unwrap_or_else(|| {
            self.strings.push(text.to_owned());
            self.strings.len() - 1
        });
        i64::try_from(index).unwrap()
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> Message {
        let (kind, unit) = (self.string(kind), self.string(unit));
        Message::default().number(1, kind).number(2, unit)
    }
}

/// A push as binary Connect, compressed as a whole or not.
fn push(server: &TestServer, headers: &[(&str, &str)], message: &[u8], gzip: bool) -> Reply {
    let mut all = vec![("content-type", "application/proto")];
    all.extend_from_slice(headers);
    if gzip {
        all.push(("content-encoding", "gzip"));
    }
    let body = if gzip { formats::gzip(message) } else { message.to_vec() };
    server.call("POST", PUSH, &all, Some(&body))
}

#[test]
fn ruby_built_not_recorded() {
    let server = TestServer::start(&[]);
    let labels = [
        ("__name__", "process_cpu"),
        ("service_name", "shop"),
        ("otel.scope.name", "com.grafana.pyroscope/ruby"),
        ("process.runtime.name", "ruby"),
        ("region", "north"),
    ];
    let body = Pprof::new(&[("cpu", "nanoseconds")], Some(("cpu", "nanoseconds", 10_000_000))).with(&[
        (&["settle_accounts", "<main>"], &[700_000_000], &[("thread_id", "1"), ("controller", "orders")]),
        (&["post", "<main>"], &[300_000_000], &[("thread_id", "2")]),
    ]);
    let message = push_message(&[series(&labels, &[&body])]);
    let agent = [("user-agent", "pyroscope-rs/rbspy/1.0.0 reqwest")];
    push(&server, &agent, &message.0, true).expect(200);
    nothing_refused_or_altered(&server);
    let cpu = table(&server, CPU, r#"{service_name="shop",region="north"}"#);
    assert_eq!(
        (cpu.hottest.as_str(), cpu.unit.as_str(), cpu.total),
        ("settle_accounts", "nanoseconds", 1_000_000_000)
    );
    let tagged = table(&server, CPU, r#"{service_name="shop",controller="orders"}"#);
    assert_eq!((tagged.total, tagged.total_of("settle_accounts")), (700_000_000, 700_000_000));
    let sets = label_sets(&server, &["otel.scope.name"]);
    assert_eq!(sets, [r#"otel.scope.name="com.grafana.pyroscope/ruby""#]);
}

#[test]
fn dotnet_built_not_recorded() {
    let server = TestServer::start(&[]);
    let stack: &[&str] = &["Bank!Ledger.SettleAccounts", "Bank!Program.Main"];
    type Kind<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [i64]);
    let kinds: [Kind<'_>; 5] = [
        ("process_cpu", &[("cpu", "nanoseconds")], &[800_000_000]),
        ("wall", &[("wall", "nanoseconds")], &[2_000_000_000]),
        ("memory", &[("alloc_samples", "count"), ("alloc_size", "bytes")], &[3, 4096]),
        ("lock", &[("lock_count", "count"), ("lock_time", "nanoseconds")], &[5, 6_000_000]),
        ("exception", &[("exception", "count")], &[7]),
    ];
    for (name, types, values) in kinds {
        let labels =
            [("__name__", name), ("service_name", "shop"), ("spy_name", "dotnetspy"), ("host", "web-1")];
        // No period at all but for CPU time: the last two parts of the type are empty.
        let period = (name == "process_cpu").then_some(("cpu", "nanoseconds", 10_000_000));
        let body =
            Pprof::new(types, period).with(&[(stack, values, &[("thread name", ".NET ThreadPool Worker")])]);
        push(&server, &[], &push_message(&[series(&labels, &[&body])]).0, false).expect(200);
    }
    nothing_refused_or_altered(&server);
    assert_eq!(
        types_of(&server, "shop"),
        [
            "exception:exception:count::",
            "lock:lock_count:count::",
            "lock:lock_time:nanoseconds::",
            "memory:alloc_samples:count::",
            "memory:alloc_size:bytes::",
            CPU,
            "wall:wall:nanoseconds::",
        ]
    );
    for (kind, unit, value) in [
        (CPU, "nanoseconds", 800_000_000),
        ("memory:alloc_size:bytes::", "bytes", 4096),
        ("lock:lock_time:nanoseconds::", "nanoseconds", 6_000_000),
        ("exception:exception:count::", "count", 7),
    ] {
        let table = table(&server, kind, r#"{service_name="shop",spy_name="dotnetspy"}"#);
        assert_eq!((table.unit.as_str(), table.total), (unit, value), "{kind}");
        assert_eq!(table.functions.len(), 2, "{table:?}");
        assert!(table.hottest.contains("SettleAccounts"), "{table:?}");
    }
}

#[test]
fn alloy_built_not_recorded() {
    let server = TestServer::start(&[]);
    let headers = [("user-agent", "Alloy/v1.9.0 (linux; docker)"), ("x-alloy-id", "0")];
    // As its eBPF part sends a process without a service: two series in one push, threads and processes as sample labels.
    let ebpf = |name: &'static str, container: &'static str| {
        [("__name__", name), ("service_name", container), ("__delta__", "false"), ("k8s-app", container)]
    };
    let on = Pprof::new(&[("cpu", "nanoseconds")], Some(("cpu", "nanoseconds", 52_631_578))).with(&[
        (&["do_syscall_64", "main.serve"], &[52_631_578], &[("comm", "serve"), ("pid", "17")]),
        (&["main.hot", "main.serve"], &[526_315_780], &[("comm", "serve"), ("pid", "17")]),
    ]);
    let off = Pprof::new(&[("off_cpu", "nanoseconds")], None).with(&[(
        &["futex_wait", "main.serve"],
        &[9_000_000],
        &[("comm", "serve")],
    )]);
    let message = push_message(&[
        series(&ebpf("process_cpu", "shop"), &[&formats::gzip(&on)]),
        series(&ebpf("off_cpu", "shop"), &[&formats::gzip(&off)]),
    ]);
    push(&server, &headers, &message.0, true).expect(200);
    // As its scraper forwards godeltaprof: the prefix is no name of its own.
    let scraped = [("__name__", "godeltaprof_memory"), ("service_name", "cart"), ("instance", "cart:6060")];
    let heap = Pprof::new(
        &[("alloc_objects", "count"), ("alloc_space", "bytes")],
        Some(("space", "bytes", 524_288)),
    )
    .with(&[(&["main.render"], &[3, 3 << 20], &[])]);
    push(&server, &headers, &push_message(&[series(&scraped, &[&heap])]).0, true).expect(200);
    nothing_refused_or_altered(&server);
    assert_eq!(types_of(&server, "shop"), ["off_cpu:off_cpu:nanoseconds::", CPU]);
    assert_eq!(
        types_of(&server, "cart"),
        ["memory:alloc_objects:count:space:bytes", "memory:alloc_space:bytes:space:bytes"]
    );
    let cpu = table(&server, CPU, r#"{service_name="shop","k8s-app"="shop",comm="serve"}"#);
    assert_eq!((cpu.hottest.as_str(), cpu.total), ("main.hot", 578_947_358));
    let waits = table(&server, "off_cpu:off_cpu:nanoseconds::", r#"{service_name="shop"}"#);
    assert_eq!(
        (waits.hottest.as_str(), waits.unit.as_str(), waits.total),
        ("futex_wait", "nanoseconds", 9_000_000)
    );
}

/// A recorded request: method and target, headers, body.
fn recorded(name: &str) -> (String, Vec<(String, String)>, Vec<u8>) {
    let file = testkit::fixture(&format!("java-agent/{name}"));
    let end = file.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&file[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let target = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    // What belongs to the recording's own connection is made anew.
    let own = ["host", "connection", "transfer-encoding", "accept-encoding"];
    let kept = headers.filter(|(name, _)| !own.contains(&name.to_lowercase().as_str()));
    let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    (target, kept, file[end + 4..].to_vec())
}

#[test]
fn java_agent_is_told_that_jfr_comes_later() {
    let server = TestServer::start(&[]);
    for name in ["itimer.http", "wall.http"] {
        let (target, headers, body) = recorded(name);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        // The agent drops what gets 415 and goes on; 429 or 5xx would make it send the same again and again.
        let reply = server.call("POST", &target, &headers, Some(&body)).expect(415);
        assert!(reply.json()["message"].as_str().unwrap().contains("JFR"), "{reply:?}");
    }
    let told = server.get("/api/v1/ingest/explain").expect(200).json();
    let refused = &told["refused"][0];
    assert_eq!((&refused["reason"], &refused["service"]), (&"unsupported".into(), &"bank".into()), "{told}");
    assert_eq!((&refused["client"], &refused["count"]), (&"okhttp/4.12.0".into(), &2.into()), "{told}");
}
