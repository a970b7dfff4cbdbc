//! Clients that others wrote, unchanged, over real sockets. Each test asserts a function that it knows to be hot.
//!
//! The programs in `tests/clients` only set the clients up and print what they got. The SDKs and Go come from
//! `make setup`.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod sdks;
mod support;
mod typed;

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::OnceLock,
};

use pyroscope::*;
use serde_json::Value;
use support::{TestServer, encoded, now_nanos, repository_file};
use testkit::proto::{Function, Line, Location, Message as _, Profile, Sample, ValueType};

/// Everything since long before any fixture was recorded.
const SINCE: &str = "from=2020-01-01T00:00:00Z";

/// `go` of the set-up, else the machine's own.
fn go() -> Command {
    let own = repository_file(".tools/bin/go");
    let mut command = Command::new(if own.exists() { own.into_os_string() } else { "go".into() });
    command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly");
    command
}

/// Builds a program of `tests/clients` once.
fn built(name: &str) -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    static BUILDING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().unwrap());
    let program = folder.path().join(name);
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !program.exists() {
        let source = repository_file("tests/clients").join(name);
        let output = go().current_dir(source).args(["build", "-o"]).arg(&program).arg(".").output();
        let output = output.unwrap_or_else(|error| panic!("no Go here ({error}); run make setup"));
        succeeded(&output);
    }
    program
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn fixture(name: &str) -> Vec<u8> {
    testkit::fixture(name)
}

/// Own values of all functions of a selection, by the flame graph as clients decode it.
fn self_values(server: &TestServer, profile_type: &str, selector: &str) -> Vec<(String, i64)> {
    let flames = flames(server, profile_type, selector);
    let mut values = std::collections::BTreeMap::new();
    for level in flames["flamegraph"]["levels"].as_array().unwrap() {
        let level: Vec<i64> = level["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_str().unwrap().parse().unwrap())
            .collect();
        for node in level.chunks_exact(4) {
            let name = flames["flamegraph"]["names"][usize::try_from(node[3]).unwrap()].as_str().unwrap();
            *values.entry(name.to_owned()).or_insert(0) += node[2];
        }
    }
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by_key(|(_, value)| -value);
    values
}

/// As a cron job does it for profefe: one line of curl per profile.
fn curl_to_profefe(server: &TestServer, service: &str, kind: &str, fixture: &str) -> Value {
    let url = format!("{}/api/0/profiles?service={service}&type={kind}&labels=host=cron-1", server.url);
    let body = format!("@{}", testkit::fixture_path(fixture).display());
    let output =
        Command::new("curl").args(["-sS", "--fail-with-body", "--data-binary", &body, &url]).output();
    serde_json::from_str(&succeeded(&output.unwrap())).unwrap()
}

#[test]
fn curl_as_profefes_cron_job_and_go_tool_pprof() {
    let server = TestServer::start(&[]);
    let kept = curl_to_profefe(&server, "bank", "cpu", "go-hot/cpu.pb.gz");
    assert_eq!(kept["code"], 200, "{kept}");
    let selector = r#"{service_name="bank",host="cron-1"}"#;
    let values = self_values(&server, CPU, selector);
    assert_eq!(values[0].0, "main.settleAccounts", "{values:?}");

    let url = format!("{}/pprof/bank/debug/pprof/profile?{SINCE}", server.url);
    let top = succeeded(&go().args(["tool", "pprof", "-top", &url]).output().unwrap());
    assert!(first_row(&top).ends_with("main.settleAccounts"), "{top}");
    // The same two sides: nothing is left.
    let diff = succeeded(&go().args(["tool", "pprof", "-top", "-diff_base", &url, &url]).output().unwrap());
    assert!(diff.contains("Total samples = ") && !diff.contains("main.settleAccounts"), "{diff}");

    curl_to_profefe(&server, "bank", "heap", "go-hot/heap.pb.gz");
    let heap = format!("{}/pprof/bank/debug/pprof/heap?{SINCE}", server.url);
    let top = go().args(["tool", "pprof", "-top", "-sample_index=inuse_space", &heap]).output().unwrap();
    let top = succeeded(&top);
    assert!(first_row(&top).ends_with("main.openAccounts"), "{top}");
    let missing = format!("{}/pprof/nobody/debug/pprof/nonsense", server.url);
    let failed = go().args(["tool", "pprof", "-top", &missing]).output().unwrap();
    assert!(!failed.status.success());
    assert!(String::from_utf8_lossy(&failed.stderr).contains("nonsense"), "{failed:?}");
}

/// Views by line show the lines that ran, 37 and 41, and not 10 and 12, where the function begins; all others have one
/// function of it, though the file grew between the two profiles.
#[test]
fn c015_pprof_line_not_startline() {
    let server = TestServer::start(&[]);
    for (start_line, line) in [(10, 37_i64), (12, 41)] {
        let strings = ["", "cpu", "nanoseconds", "leaf", "leaf.go"];
        let ran = Location {
            id: 1,
            address: 0x1000 + line.unsigned_abs(),
            line: vec![Line { function_id: 1, line, column: 0 }],
            ..Location::default()
        };
        let body = Profile {
            sample_type: vec![ValueType { r#type: 1, unit: 2 }],
            period_type: Some(ValueType { r#type: 1, unit: 2 }),
            sample: vec![Sample { location_id: vec![1], value: vec![line * 1_000_000], label: vec![] }],
            location: vec![ran],
            function: vec![Function { id: 1, name: 3, filename: 4, start_line, ..Function::default() }],
            string_table: strings.iter().map(|text| text.as_bytes().to_vec()).collect(),
            time_nanos: now_nanos() - line * 1_000_000_000,
            ..Profile::default()
        };
        server.post("/api/0/profiles?service=lines&type=cpu", &body.encode_to_vec()).expect(200);
    }
    let url = format!("{}/pprof/lines/debug/pprof/profile", server.url);
    let view = |options: &[&str]| {
        let shown = go().args(["tool", "pprof", "-symbolize=none"]).args(options).arg(&url).output().unwrap();
        let shown = succeeded(&shown);
        let rows = shown.lines().filter(|row| row.contains("leaf")).map(|row| {
            let words: Vec<&str> = row.split_whitespace().collect();
            format!("{} {}", words[0], words[5..].join(" "))
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(view(&["-top", "-lines"]), ["41ms leaf leaf.go:41", "37ms leaf leaf.go:37"]);
    assert_eq!(view(&["-top"]), ["78ms leaf"]);
    let top = server.get("/api/v1/top?type=cpu").expect(200).json();
    let rows: Vec<_> =
        top["rows"].as_array().unwrap().iter().map(|row| (&row["name"], &row["self"])).collect();
    assert_eq!(rows, [(&"leaf".into(), &78_000_000.into())]);
}

/// The first row below the heading of `go tool pprof -top`.
fn first_row(top: &str) -> &str {
    let mut lines = top.lines().skip_while(|line| !line.trim_start().starts_with("flat"));
    lines.next();
    lines.next().unwrap_or_default().trim_end()
}

#[test]
fn the_pprof_crates_output() {
    let server = TestServer::start(&[]);
    let body = fixture("rust-hot/cpu.pb");
    let name = encoded("rust{version=1}");
    ingest(&server, &format!("name={name}&format=pprof&spyName=pyroscope-rs"), &body).expect(200);
    push(&server, "rust-push", &[], &body).expect(200);
    for selector in [r#"{service_name="rust"}"#, r#"{service_name="rust-push"}"#] {
        let values = self_values(&server, CPU, selector);
        let sum: i64 = values.iter().map(|(_, value)| value).sum();
        assert!(values[0].0.ends_with("settle_accounts"), "{values:?}");
        assert!((57..=63).contains(&(values[0].1 * 100 / sum)), "{values:?}");
    }
}
