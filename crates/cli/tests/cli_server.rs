//! The commands against a running server, and what it answers beside what the files themselves say.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use support::{Finished, TestServer, encoded, repository_file, run};

const STACKS: &str = "main;work;hot 70\nmain;work 20\nmain;idle 10\n";

fn fixture(name: &str) -> String {
    repository_file("fixtures/real").join(name).to_str().unwrap().to_owned()
}

/// Runs a command that must succeed.
#[track_caller]
fn done(arguments: &[&str]) -> Finished {
    let finished = run(arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {finished:?}");
    finished
}

#[track_caller]
fn document(arguments: &[&str]) -> serde_json::Value {
    let finished = done(arguments);
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {finished:?}"))
}

#[test]
fn what_is_pushed_is_found_by_every_command() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let cpu = fixture("go-hot/cpu.pb.gz");
    let push =
        [&["push", &cpu, "--service", "go-hot", "--label", "env=test", "--type", "cpu"], &at[..]].concat();
    assert!(done(&push).stderr.contains("stored as process_cpu"), "the person is told");
    assert!(done(&push).stderr.contains("there already"), "a second push adds nothing");

    let selector = "cpu{service_name=\"go-hot\",env=\"test\"}";
    let ask = |command: &[&str]| document(&[command, &at[..]].concat());
    assert_eq!(
        ask(&["top", selector, "--json", "--limit", "0"]),
        document(&["top", &cpu, "--json", "--limit", "0"])
    );
    let total = ask(&["top", selector, "--json"])["total"].clone();
    assert_eq!(ask(&["flame", selector, "--json"])["total"], total);
    assert_eq!(
        ask(&["labels", "--json"]).as_array().unwrap().iter().filter(|name| *name == "env").count(),
        1
    );
    assert_eq!(ask(&["labels", "--values", "service_name", "--json"]), serde_json::json!(["go-hot"]));
    assert_eq!(
        ask(&["series", "--by", "service_name,env", "--json"]),
        serde_json::json!([{"service_name": "go-hot", "env": "test"}])
    );
    let profiles = ask(&["profiles", selector, "--json"]);
    assert_eq!(profiles.as_array().unwrap().len(), 1, "{profiles}");
    let callers = ask(&["callers", "main.settleAccounts", selector, "--json"]);
    assert_eq!(callers["callers"][0]["value"], callers["function"]["total"]);

    let drawing = done(&[&["flame", selector], &at[..]].concat()).stdout;
    let widest = drawing.split("widest paths").nth(1).unwrap().lines().nth(1).unwrap().to_owned();
    assert!(widest.contains("main.settleAccounts"), "{drawing}");
    let table = done(&[&["top", selector], &at[..]].concat()).stdout;
    assert!(table.lines().nth(2).unwrap().ends_with("main.settleAccounts"), "{table}");

    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged.pb.gz");
    let merged = merged.to_str().unwrap();
    done(&[&["pprof", selector, "-o", merged], &at[..]].concat());
    assert_eq!(document(&["top", merged, "--sample-index", "cpu", "--json"])["total"], total);
    let id = profiles[0]["id"].as_str().unwrap();
    let kept = folder.path().join("kept.pb.gz");
    let kept = kept.to_str().unwrap();
    done(&[&["pprof", "--id", id, "-o", kept], &at[..]].concat());
    assert_eq!(document(&["top", kept, "--json"]), document(&["top", &cpu, "--json"]));
}

#[test]
fn a_comparison_of_selectors_and_of_ranges() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let folder = tempfile::tempdir().unwrap();
    let push = |stacks: &str, version: &str, time: &str| {
        let file = folder.path().join(version);
        std::fs::write(&file, stacks).unwrap();
        let label = format!("version={version}");
        let file = file.to_str().unwrap();
        done(&[&["push", file, "--service", "a", "--label", &label, "--time", time], &at[..]].concat());
    };
    push("A 10\n", "1", "now-3h");
    push("A 4\nB 7\n", "2", "now-1h");
    for arguments in [
        &["diff", "{version=\"1\"}", "{version=\"2\"}", "--json"][..],
        &[
            "diff",
            "{service_name=\"a\"}",
            "--left-from",
            "now-4h",
            "--left-to",
            "now-2h",
            "--from",
            "now-2h",
            "--json",
        ],
    ] {
        let answer = document(&[arguments, &at[..]].concat());
        assert_eq!(
            (&answer["left_total"], &answer["right_total"]),
            (&10.into(), &11.into()),
            "{arguments:?}"
        );
    }
    let nothing = run(&[&["diff", "{service_name=\"a\"}"], &at[..]].concat());
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

#[test]
fn c082_c092_odd_names_go_there_and_back() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    std::fs::write(&file, "std::vec<&T>::push 3\n").unwrap();
    let file = file.to_str().unwrap();
    let value = "a=b,c {id} 100% +1&x#y 🔥";
    let label = format!("odd={value}");
    done(&[&["push", file, "--service", "team/app.v2", "--label", &label], &at[..]].concat());
    let selector = format!("{{service_name=\"team/app.v2\",odd=\"{value}\"}}");
    let found = document(&[&["top", &selector, "--json"], &at[..]].concat());
    assert_eq!(found["rows"], serde_json::json!([{"name": "std::vec<&T>::push", "self": 3, "total": 3}]));
    let values = document(&[&["labels", "--values", "odd", "--json"], &at[..]].concat());
    assert_eq!(values, serde_json::json!([value]));
    let callers = document(&[&["callers", "std::vec<&T>::push", &selector, "--json"], &at[..]].concat());
    assert_eq!(callers["function"]["self"], 3);
}

#[test]
fn refusals_are_sentences_that_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "0123456789abcdef0123\n").unwrap();
    let server = TestServer::start(&["--token-file", secret.to_str().unwrap()]);
    let at = ["--server", &server.url];
    let without = run(&[&["top", "cpu"], &at[..]].concat());
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("--token or EVERFLAME_TOKEN"), "{without:?}");
    let wrong = run(&[&["top", "cpu", "--token", "0123456789abcdef9999"], &at[..]].concat());
    assert!(wrong.stderr.contains("not the one given"), "{wrong:?}");

    let token = ["--token", "0123456789abcdef0123"];
    let broken = run(&[&["top", "cpu{a=\"b\""], &at[..], &token[..]].concat());
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.contains("refused: ") && broken.stdout.is_empty(), "{broken:?}");
    let file = folder.path().join("bad.pb");
    std::fs::write(&file, b"\x0a\xff\xff\xff\xff\xff").unwrap();
    let push = run(&[&["push", file.to_str().unwrap(), "--service", "a"], &at[..], &token[..]].concat());
    assert_eq!(push.code, Some(1));
    assert!(push.stderr.contains("bad.pb: "), "{push:?}");
}

#[test]
fn d12_without_a_range_old_profiles_are_found() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    std::fs::write(&file, STACKS).unwrap();
    let push = ["push", file.to_str().unwrap(), "--service", "a", "--time", "2001-02-03T04:05:06Z"];
    done(&[&push[..], &at[..]].concat());
    let all = document(&[&["top", "{service_name=\"a\"}", "--json"], &at[..]].concat());
    assert_eq!(all["total"], 100);
    let hour = run(&[&["top", "{service_name=\"a\"}", "--json", "--from", "now-1h"], &at[..]].concat());
    assert!(!hour.stdout.contains("\"total\":100"), "{hour:?}");
}

/// Flat and cum of every function by name: the same three times — from the file, from `go tool pprof`, and from the
/// server after profefe's own `curl`. Exceptions: files that google/pprof refuses or that hold nothing.
#[test]
fn tables_of_files_servers_and_go_tool_pprof_are_equal() {
    let server = TestServer::start(&[]);
    let has_go = Command::new("go").arg("version").output().is_ok_and(|output| output.status.success());
    let mut files = protobuf_files(&repository_file("fixtures"));
    match testkit::skip_without_shared("tables of the shared corpus") {
        Some(shared) => files.extend(protobuf_files(&shared.join("corpus/pprof"))),
        None => assert!(!files.is_empty(), "the fixtures are part of the checkout"),
    }
    let (mut with_server, mut with_go, mut wrong, mut exceptions) = (0, 0, Vec::new(), Vec::new());
    for (number, file) in files.iter().enumerate() {
        let name = file.to_str().unwrap();
        let local = run(&["top", name, "--raw-names", "--json", "--limit", "0"]);
        if local.code != Some(0) {
            continue;
        }
        let table: serde_json::Value = serde_json::from_str(&local.stdout).unwrap();
        if table["total"] == 0 {
            continue;
        }
        let service = format!("file-{number}");
        let body = std::fs::read(file).unwrap();
        let path = format!("/api/0/profiles?service={service}&type=other");
        if server.post(&path, &body).status == 200 {
            let sample_type = default_sample_type(name);
            let selector = format!("{{service_name=\"{service}\"}}");
            let mut ask =
                vec!["top", &selector, "--raw-names", "--json", "--limit", "0", "--server", &server.url];
            ask.extend(["--type", &sample_type, "--agg", "sum"]);
            let remote = run(&ask);
            with_server += 1;
            if remote.code != Some(0) || rows(&remote.stdout) != rows(&local.stdout) {
                wrong.push(format!(
                    "{name}: server: {} {}",
                    remote.stderr,
                    differences(&remote.stdout, &local.stdout)
                ));
            }
        }
        // C009: negative values of a profile that is no difference are left out, and the person is told.
        if local.stderr.contains("negative_value") {
            exceptions.push(format!("C009: {name}"));
            continue;
        }
        let unit = table["unit"].as_str().unwrap();
        if let Some(mut theirs) = has_go.then(|| go_top(file, unit)).flatten() {
            let mut ours = rows(&local.stdout);
            // The tool names a mapping without a file after the profile's own file, and has no row for samples
            // without a stack (C006).
            let own = format!("[{}]", file.file_name().unwrap().to_string_lossy());
            if let Some((flat, cum)) = theirs.remove(&own) {
                let row = theirs.entry("<unknown>".into()).or_default();
                *row = (row.0 + flat, row.1 + cum);
            }
            ours.remove("(no stack)");
            with_go += 1;
            if ours != theirs {
                let ours_only: Vec<_> =
                    ours.iter().filter(|(key, row)| theirs.get(*key) != Some(row)).take(3).collect();
                let theirs_only: Vec<_> =
                    theirs.iter().filter(|(key, row)| ours.get(*key) != Some(row)).take(3).collect();
                wrong.push(format!("{name}: go: ours {ours_only:?}, theirs {theirs_only:?}"));
            }
        }
    }
    println!(
        "{with_server} tables equal the server's, {with_go} go tool pprof's; exceptions: {exceptions:?}"
    );
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(with_server > 5, "{with_server}");
}

/// Files below a folder that begin like protobuf or gzip.
fn protobuf_files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let body = std::fs::read(&path).unwrap();
            if matches!(body.first(), Some(0x0a | 0x1f)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The sample type that `top FILE` shows.
fn default_sample_type(file: &str) -> String {
    let text = run(&["top", file, "--limit", "1"]).stdout;
    let head = text.lines().next().unwrap_or_default();
    let parts: Vec<&str> = head.split("  ·  ").collect();
    if parts.len() > 2 { parts[1].to_owned() } else { String::new() }
}

type Rows = BTreeMap<String, (i64, i64)>;

fn rows(document: &str) -> Rows {
    let Ok(table) = serde_json::from_str::<serde_json::Value>(document) else { return Rows::new() };
    let mut rows = Rows::new();
    for row in table["rows"].as_array().unwrap() {
        let known = rows.entry(row["name"].as_str().unwrap().to_owned()).or_default();
        *known = (known.0 + row["self"].as_i64().unwrap(), known.1 + row["total"].as_i64().unwrap());
    }
    rows
}

fn differences(one: &str, other: &str) -> String {
    let (one, other) = (rows(one), rows(other));
    let differ: Vec<_> = one.iter().filter(|(name, row)| other.get(*name) != Some(row)).take(3).collect();
    format!("{differ:?} of {} and {} rows", one.len(), other.len())
}

/// Flat and cum by name, as the real tool prints them in the profile's own unit.
fn go_top(file: &Path, unit: &str) -> Option<Rows> {
    let unit = if unit.is_empty() { "count" } else { unit };
    let output = Command::new("go")
        .args(["tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", "-symbolize=none"])
        .arg(format!("-unit={unit}"))
        .arg(file)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |text: &str| -> Option<i64> {
        let digits = text.trim_end_matches(|character: char| character.is_alphabetic() || character == '/');
        digits.parse::<f64>().ok().map(|value| value.round() as i64)
    };
    let mut rows = Rows::new();
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with("flat")).skip(1);
    for line in table {
        let mut fields = line.split_ascii_whitespace();
        let flat = number(fields.next()?)?;
        let cum = number(fields.nth(2)?)?;
        // "%  " stands before the name; the name may hold spaces itself.
        let name = line.rsplit_once("%  ").map_or("", |(_, name)| name);
        let name = name.trim_end_matches(" (inline)").trim_end_matches(" (partial-inline)");
        let row = rows.entry(name.to_owned()).or_default();
        *row = (row.0 + flat, row.1 + cum);
    }
    Some(rows)
}

#[test]
fn c092_a_filter_survives_the_servers_url() {
    let server = TestServer::start(&[]);
    let body = "std::vec<&T>::push 3\n";
    let service = encoded("a&b=c");
    server.post(&format!("/api/v1/push?service={service}&format=folded"), body.as_bytes()).expect(200);
    let found = document(&["labels", "--values", "service_name", "--json", "--server", &server.url]);
    assert_eq!(found, serde_json::json!(["a&b=c"]));
}
