//! The SDKs that can be had here, on their real runtimes: hot functions, labels, units.

use std::process::Command;

use super::{Client, locked_version, nothing_refused_or_altered, table, types_of};
use crate::{
    built,
    pyroscope::{CPU, label_sets},
    support::{TestServer, repository_file},
};

/// 32 MiB that each program holds, bytes.
const HELD: i64 = 32 << 20;

/// Asserts that the series of a service carry these labels, and the SDK's own version.
#[track_caller]
fn labelled(server: &TestServer, client: &str, version: &str, labels: &[(&str, &str)]) {
    let mut names: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
    names.push("otel.scope.version");
    let version = format!("{version}{}", locked_version(client));
    let sets = label_sets(server, &names);
    let has = |set: &String| {
        let has = |name: &str, value: &str| set.contains(&format!("{name}={value:?}"));
        labels.iter().all(|(name, value)| has(name, value)) && has("otel.scope.version", &version)
    };
    assert!(sets.iter().any(has), "{labels:?} and version {version} in none of {sets:#?}");
}

/// Between the two, both included.
#[track_caller]
fn between(what: &str, value: i64, least: i64, most: i64) {
    assert!((least..=most).contains(&value), "{what}: {value} is not within {least}..={most}");
}

#[test]
fn pyroscope_go() {
    let server = TestServer::start(&[]);
    let mut client = Client::start(Command::new(built("go-push")), &server, "bank");
    let [mutex, block] = ["mutex", "block"].map(|name| format!("{name}:delay:nanoseconds:contentions:count"));
    let [in_use, allocated] =
        ["inuse_space", "alloc_space"].map(|kind| format!("memory:{kind}:bytes:space:bytes"));
    let goroutines = "goroutine:goroutine:count:goroutine:count";
    client.until(
        &server,
        "bank",
        &[
            (CPU, "main.burnHot", 1_000_000_000),
            (&in_use, "main.openAccounts", HELD / 2),
            (&allocated, "main.renderInvoice", HELD),
            (&mutex, "main.bookEntry", 100_000_000),
            (&block, "main.waitForReceipt", 100_000_000),
            (goroutines, "main.acceptOrders", 1),
        ],
    );
    client.stop();
    nothing_refused_or_altered(&server);
    assert_eq!(
        types_of(&server, "bank"),
        [
            "block:contentions:count:contentions:count",
            "block:delay:nanoseconds:contentions:count",
            "goroutine:goroutine:count:goroutine:count",
            "memory:alloc_objects:count:space:bytes",
            "memory:alloc_space:bytes:space:bytes",
            "memory:inuse_objects:count:space:bytes",
            "memory:inuse_space:bytes:space:bytes",
            "mutex:contentions:count:contentions:count",
            "mutex:delay:nanoseconds:contentions:count",
            "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
            "process_cpu:samples:count:cpu:nanoseconds",
        ]
    );
    let of = |kind: &str| table(&server, kind, r#"{service_name="bank"}"#);

    let cpu = of(CPU);
    assert_eq!((cpu.hottest.as_str(), cpu.unit.as_str()), ("main.burnHot", "nanoseconds"));
    assert!(cpu.percent("main.burnHot") > 60, "{cpu:?}");
    let samples = of("process_cpu:samples:count:cpu:nanoseconds");
    assert_eq!((samples.total * 10_000_000, samples.unit.as_str()), (cpu.total, "count"));
    let tagged = table(&server, CPU, r#"{service_name="bank",region="north"}"#);
    assert!(tagged.percent("main.burnHot") > 90, "{tagged:?}");
    assert_eq!(table(&server, CPU, r#"{service_name="bank",region="south"}"#).total, 0);

    let held = of(&in_use);
    assert_eq!((held.hottest.as_str(), held.unit.as_str()), ("main.openAccounts", "bytes"));
    between("bytes in use", held.total_of("main.openAccounts"), HELD / 2, HELD * 3 / 2);
    let churned = of(&allocated);
    assert_eq!((churned.hottest.as_str(), churned.unit.as_str()), ("main.renderInvoice", "bytes"));
    let objects = of("memory:alloc_objects:count:space:bytes").total_of("main.renderInvoice");
    between("bytes of an invoice", churned.total_of("main.renderInvoice") / objects, 1 << 20, 2 << 20);

    // Who holds the lock sleeps for 2 ms, and one other waits for it.
    for (name, delays, function, least) in
        [("mutex", &mutex, "main.bookEntry", 1_000_000), ("block", &block, "main.waitForReceipt", 3_000_000)]
    {
        let delays = of(delays);
        let counts = of(&format!("{name}:contentions:count:contentions:count"));
        assert_eq!((delays.unit.as_str(), counts.unit.as_str()), ("nanoseconds", "count"));
        let mean = delays.total_of(function) / counts.total_of(function);
        between(name, mean, least, 1_000_000_000);
    }
    let parked = of(goroutines);
    assert_eq!((parked.total_of("main.acceptOrders"), parked.unit.as_str()), (8, "count"));

    let tags = [("client", "pyroscope-go"), ("k8s.pod.name", "bank-0"), ("pyroscope_spy", "gospy")];
    labelled(
        &server,
        "go-push",
        "v",
        &[&tags[..], &[("otel.scope.name", "com.grafana.pyroscope/go")]].concat(),
    );
}

#[test]
fn pyroscope_io_for_python() {
    let server = TestServer::start(&[]);
    let mut command = Command::new(repository_file(".tools/clients/python/bin/python"));
    command.arg(repository_file("tests/clients/python-push/main.py"));
    let mut client = Client::start(command, &server, "bank");
    let [in_use, allocated] =
        ["inuse_space", "alloc_space"].map(|kind| format!("memory:{kind}:bytes:space:bytes"));
    client.until(
        &server,
        "bank",
        &[
            (CPU, "burn_hot", 1_000_000_000),
            (&in_use, "open_accounts", HELD / 2),
            (&allocated, "render_invoice", HELD),
        ],
    );
    client.stop();
    nothing_refused_or_altered(&server);
    assert_eq!(
        types_of(&server, "bank"),
        [
            "memory:alloc_objects:count:space:bytes",
            "memory:alloc_space:bytes:space:bytes",
            "memory:inuse_objects:count:space:bytes",
            "memory:inuse_space:bytes:space:bytes",
            "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
        ]
    );
    let of = |kind: &str| table(&server, kind, r#"{service_name="bank"}"#);
    let cpu = of(CPU);
    assert_eq!((cpu.hottest.as_str(), cpu.unit.as_str()), ("burn_hot", "nanoseconds"));
    assert!(cpu.percent("burn_hot") > 60, "{cpu:?}");
    assert_eq!(cpu.total % 10_000_000, 0, "samples of 10 ms each");
    let tagged = table(&server, CPU, r#"{service_name="bank",region="north",thread_name="MainThread"}"#);
    assert!(tagged.percent("burn_hot") > 90, "{tagged:?}");
    let held = of(&in_use);
    assert_eq!((held.hottest.as_str(), held.unit.as_str()), ("open_accounts", "bytes"));
    between("bytes in use", held.total_of("open_accounts"), HELD / 2, HELD * 3 / 2);
    let (bytes, objects) = (of(&allocated), of("memory:alloc_objects:count:space:bytes"));
    let invoice = bytes.total_of("render_invoice") / objects.total_of("render_invoice");
    between("bytes of an invoice", invoice, 1 << 19, 2 << 20);
    let tags = [("client", "pyroscope-io"), ("k8s-app", "bank")];
    labelled(
        &server,
        "python-push",
        "",
        &[&tags[..], &[("otel.scope.name", "com.grafana.pyroscope/python")]].concat(),
    );
}

#[test]
fn pyroscope_nodejs() {
    let server = TestServer::start(&[]);
    let own = repository_file(".tools/bin/node");
    let mut command = Command::new(if own.exists() { own.into_os_string() } else { "node".into() });
    // Frames are named after their file as seen from the folder that the program runs in.
    command.current_dir(repository_file("tests/clients/node-push")).arg("main.js");
    let mut client = Client::start(command, &server, "bank");
    let wall = |kind: &str| format!("wall:{kind}:wall:nanoseconds");
    let heap = |kind: &str| format!("memory:{kind}:inuse_space:bytes");
    let [hot, holder] = ["burnHot", "openAccounts"].map(in_main_js);
    client.until(
        &server,
        "bank",
        &[
            (&wall("wall:nanoseconds"), &hot, 1_000_000_000),
            (&wall("cpu:nanoseconds"), &hot, 500_000_000),
            (&heap("inuse_space:bytes"), &holder, 8 << 20),
        ],
    );
    client.stop();
    nothing_refused_or_altered(&server);
    assert_eq!(
        types_of(&server, "bank"),
        [
            "memory:inuse_objects:count:inuse_space:bytes",
            "memory:inuse_space:bytes:inuse_space:bytes",
            "wall:cpu:nanoseconds:wall:nanoseconds",
            "wall:samples:count:wall:nanoseconds",
            "wall:wall:nanoseconds:wall:nanoseconds",
        ]
    );
    let of = |kind: &str| table(&server, kind, r#"{service_name="bank"}"#);
    let walls = of(&wall("wall:nanoseconds"));
    assert_eq!((&walls.hottest, walls.unit.as_str()), (&hot, "nanoseconds"));
    assert!(walls.percent(&hot) > 50, "{walls:?}");
    let cpu = of(&wall("cpu:nanoseconds"));
    assert_eq!((&cpu.hottest, cpu.unit.as_str()), (&hot, "nanoseconds"));
    let tagged = table(&server, &wall("wall:nanoseconds"), r#"{service_name="bank",region="north"}"#);
    assert!(tagged.percent(&hot) > 90, "{tagged:?}");
    let held = of(&heap("inuse_space:bytes"));
    assert_eq!((&held.hottest, held.unit.as_str()), (&holder, "bytes"));
    // 400,000 objects with a number and a text of their own.
    let objects = of(&heap("inuse_objects:count"));
    between("objects in use", objects.total_of(&holder), 400_000, 1_600_000);
    between("bytes of an object", held.total_of(&holder) / objects.total_of(&holder), 16, 256);
    let tags = [("client", "pyroscope-nodejs"), ("k8s-app", "bank"), ("pyroscope_spy", "nodespy")];
    labelled(
        &server,
        "node-push",
        "",
        &[&tags[..], &[("otel.scope.name", "com.grafana.pyroscope/nodejs")]].concat(),
    );
}

/// The name that the Node SDK gives a function of the program: its file, name and the line where it begins.
fn in_main_js(function: &str) -> String {
    let source = std::fs::read_to_string(repository_file("tests/clients/node-push/main.js")).unwrap();
    let begin = format!("function {function}(");
    let line = source.lines().position(|line| line.starts_with(&begin)).unwrap() + 1;
    format!("./main.js:{function}:{line}")
}

#[test]
fn pyroscope_for_rust() {
    let server = TestServer::start(&[]);
    let command = Command::new(repository_file(".tools/clients/rust/debug/rust-push"));
    let mut client = Client::start(command, &server, "bank");
    client.until(&server, "bank", &[(CPU, "rust_push::burn_hot", 1_000_000_000)]);
    client.stop();
    nothing_refused_or_altered(&server);
    assert_eq!(types_of(&server, "bank"), [CPU]);
    let cpu = table(&server, CPU, r#"{service_name="bank"}"#);
    assert_eq!((cpu.hottest.as_str(), cpu.unit.as_str()), ("rust_push::burn_hot", "nanoseconds"));
    assert!(cpu.percent("rust_push::burn_hot") > 60, "{cpu:?}");
    assert_eq!(cpu.total % 10_000_000, 0, "samples of 10 ms each");
    let tagged = table(&server, CPU, r#"{service_name="bank",region="north"}"#);
    assert!(tagged.percent("rust_push::burn_hot") > 90, "{tagged:?}");
    let tags = [("client", "pyroscope-rs"), ("k8s-app", "bank"), ("process.runtime.name", "rust")];
    labelled(
        &server,
        "rust-push",
        "",
        &[&tags[..], &[("otel.scope.name", "com.grafana.pyroscope/rust")]].concat(),
    );
}
