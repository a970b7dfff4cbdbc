//! The commands over files, without any server: answers, exit codes, streams (D28).

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::{
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The program with a quiet environment.
fn everflame() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everflame"));
    for name in
        ["EVERFLAME_SERVER", "EVERFLAME_TOKEN", "EVERFLAME_TENANT", "NO_COLOR", "COLUMNS", "COLORTERM"]
    {
        command.env_remove(name);
    }
    command
}

fn run(arguments: &[&str]) -> Output {
    everflame().args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file of folded stacks in a folder that lasts as long as the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("the file is written");
        path.to_str().expect("the path is UTF-8").to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

const STACKS: &str = "main;work;hot 70\nmain;work 20\nmain;idle 10\n";

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/real").join(name);
    assert!(path.exists(), "{} is part of the checkout", path.display());
    path.to_str().expect("the path is UTF-8").to_owned()
}

#[test]
fn top_lists_functions_by_own_value() {
    let folder = Folder::new();
    let output = run(&["top", &folder.file("a.folded", STACKS), "--json", "--limit", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("stdout is one document");
    assert_eq!(
        document,
        serde_json::json!({"unit": "count", "total": 100, "rows": [
            {"name": "hot", "self": 70, "total": 70},
            {"name": "work", "self": 20, "total": 90},
            {"name": "idle", "self": 10, "total": 10},
            {"name": "main", "self": 0, "total": 100},
        ]})
    );
    assert_eq!(stderr(&output), "", "there is nothing to say");
}

#[test]
fn several_files_are_merged() {
    let folder = Folder::new();
    let (one, two) = (folder.file("a", STACKS), folder.file("b", "main;work;hot 30\n"));
    let output = run(&["top", &one, &two, "--json", "--limit", "1"]);
    assert_eq!(
        stdout(&output),
        "{\"rows\":[{\"name\":\"hot\",\"self\":100,\"total\":100}],\"total\":130,\"unit\":\"count\"}\n"
    );
}

#[test]
fn files_come_from_stdin_too() {
    let mut child = everflame()
        .args(["flame", "-", "--format", "folded"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("stdin is a pipe").write_all(STACKS.as_bytes()).expect("stdin takes it");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(stdout(&output), "main;idle 10\nmain;work 20\nmain;work;hot 70\n");
}

#[test]
fn the_widest_leaf_of_a_real_profile_is_its_hot_function() {
    let output = run(&["flame", &fixture("go-hot/cpu.pb.gz")]);
    let text = stdout(&output);
    let paths = text.split("widest paths").nth(1).expect("paths are listed");
    let widest = paths.lines().nth(1).expect("a path is listed");
    assert!(widest.contains("main."), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "without a terminal lines have at most 80 columns: {line}");
    }
    assert!(!text.contains('\u{1b}'), "without a terminal there are no colours");
}

#[test]
fn c029_missing_files_are_a_sentence_and_odd_names_are_files() {
    let missing = run(&["top", "no/such.pprof"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(missing.stdout.is_empty());
    assert!(
        stderr(&missing).starts_with("everflame: there is no file \"no/such.pprof\""),
        "{}",
        stderr(&missing)
    );
    let folder = Folder::new();
    for name in ["a:b.pprof", "cpu{a=\"b\"}", "cpu"] {
        folder.file(name, STACKS);
        let output =
            everflame().current_dir(folder.0.path()).args(["top", name]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
    }
}

#[test]
fn wrong_usage_ends_with_2_and_says_so_on_stderr() {
    let folder = Folder::new();
    let file = folder.file("a", STACKS);
    for arguments in [
        &["top", "--no-such-flag"][..],
        &["no-such-command"],
        &[],
        &["top", "cpu", "memory"],
        &["top", &file, "--sample-index", "cpu"],
        &["top", &file, "--sample-index", "7"],
        &["top", &file, "--from", "yesterday"],
        &["top", &file, "--span-id", "xyz"],
        &["diff", &file],
        &["diff", &file, "cpu"],
        &["diff", &file, &file, "--format", "folded"],
        &["top", "cpu", "--server", "ftp://x"],
        &["push", &file, "--service", "a", "--label", "no-equals"],
        &["push", &file],
        &["push", &file, "--service", ""],
        &["pprof", &file, "--id", "x"],
        &["man", "no-such-command"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_number_or_time_that_begins_with_a_dash_is_a_wrong_value_not_an_unknown_flag() {
    let folder = Folder::new();
    let file = folder.file("a", STACKS);
    let number = "give a whole number that is not negative";
    for (arguments, words) in [
        (&["top", &file, "--limit", "-1"][..], number),
        (&["profiles", &file, "-n", "-1"], number),
        (&["callers", "main", &file, "--limit", "-1"], number),
        (&["flame", &file, "--depth", "-1"], number),
        (&["diff", &file, &file, "--width", "-1"], number),
        (&["push", &file, "--service", "a", "--sample-rate", "-1"], number),
        (&["explain", "--body", "-1"], number),
        (&["top", &file, "--limit", "99999999999999999999"], "is too large"),
        (&["top", &file, "--sample-index", "-1"], "no sample type \"-1\""),
        (&["top", "cpu", "--from", "-1h"], "did you mean now-1h?"),
        (&["diff", "cpu", "--left-from", "-1h"], "did you mean now-1h?"),
        (&["push", &file, "--service", "a", "--time", "-1h"], "did you mean now-1h?"),
        (&["top", "cpu", "--to", "yesterday"], "give 2026-01-31T14:00:00Z (RFC 3339"),
        (&["server", "--flush-bytes", "-1"], "--flush-bytes: \"-1\" is no size"),
        (&["server", "--retention", "-1d"], "--retention: \"-1d\" is no length of time"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_file_that_is_not_there_beside_one_that_is_gets_named() {
    let folder = Folder::new();
    let file = folder.file("a", STACKS);
    for arguments in [["top", &file, "nowhere"], ["diff", &file, "nowhere"], ["diff", "nowhere", &file]] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("nowhere is no file"), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_range_that_a_file_is_outside_of_is_told() {
    let folder = Folder::new();
    let cpu = fixture("go-hot/cpu.pb.gz");
    let merged = folder.0.path().join("merged").to_str().unwrap().to_owned();
    let range = ["--from", "2001-01-01T00:00:00Z", "--to", "2001-01-02T00:00:00Z"];
    for command in [&["top", &cpu][..], &["flame", &cpu], &["pprof", &cpu, "-o", &merged]] {
        let output = run(&[command, &range[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("the file's newest profile is of 20"),
            "{command:?}: {}",
            stderr(&output)
        );
    }
    let timeless = run(&[&["top", &folder.file("a", STACKS)], &range[..]].concat());
    assert!(stderr(&timeless).contains("the file states no time"), "{}", stderr(&timeless));
}

#[test]
fn what_fails_ends_with_1_and_says_what_to_do() {
    let folder = Folder::new();
    let bad = folder.file("bad.pb", "\u{0}\u{1}\u{2}");
    let output = run(&["top", &bad]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("bad.pb"), "{}", stderr(&output));
    for (text, words) in [
        ("", "is empty"),
        (
            "heap profile: 1: 2 [3: 4] @ heap/1048576\n",
            "is a profile written out as text; fetch it without debug=1",
        ),
        ("hello\n", "is no profile that can be read: these are no folded stacks"),
    ] {
        let said = stderr(&run(&["top", &folder.file("odd", text)]));
        assert!(said.contains(&format!("odd: {words}")), "{said}");
    }
    for (bytes, words) in [
        (vec![0xf8, 0, 0xf8], "is neither pprof nor folded stacks"),
        (formats::gzip(&[0xf8, 0, 0xf8]), "is neither pprof nor folded stacks"),
        (formats::gzip(STACKS.as_bytes())[..20].to_vec(), "is no profile that can be read: gzip: truncated"),
    ] {
        let odd = folder.0.path().join("odd");
        std::fs::write(&odd, bytes).unwrap();
        let said = stderr(&run(&["top", odd.to_str().unwrap()]));
        assert!(said.contains(&format!("odd: {words}")), "{said}");
    }
    let nobody = run(&["top", "cpu", "--server", "http://127.0.0.1:1"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("start one with `everflame server`"), "{}", stderr(&nobody));
    let unwritable = run(&["flame", &folder.file("a", STACKS), "-o", "/no/such/folder/a.svg"]);
    assert_eq!(unwritable.status.code(), Some(1));
    assert!(stderr(&unwritable).contains("/no/such/folder/a.svg"), "{}", stderr(&unwritable));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = everflame()
        .args(["flame", &fixture("go-compiler/cpu.pb.gz"), "--format", "svg"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = [0; 64];
    let mut pipe = child.stdout.take().expect("stdout is a pipe");
    pipe.read_exact(&mut first).expect("something is written");
    drop(pipe);
    let output = child.wait_with_output().expect("the program ends");
    // What the profile itself lacks is said, and nothing of the pipe.
    let said = stderr(&output);
    let of_profile = |line: &&str| line.contains("cut_by_profiler=") || line.contains("lack their callers");
    let others: Vec<&str> = said.lines().filter(|line| !of_profile(line)).collect();
    assert_eq!((output.status.code(), others), (Some(0), vec![]));
}

#[test]
fn files_are_drawn_by_their_ending() {
    let folder = Folder::new();
    let stacks = folder.file("a", "main;<script>&\"x\" 3\nmain;b 1\n");
    for (name, start) in
        [("a.svg", "<svg "), ("a.html", "<!doctype html>"), ("a.json", "{"), ("a.folded", "main;")]
    {
        let path = folder.path(name);
        let output = run(&["flame", &stacks, "-o", path.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(
            output.stdout.is_empty() && stderr(&output).contains("wrote"),
            "data is in the file, talk on stderr"
        );
        let text = std::fs::read_to_string(&path).expect("the file is there");
        assert!(text.starts_with(start), "{text}");
        assert!(!name.ends_with("l") || !text.contains("<script>&"), "names are escaped: {name}");
    }
}

#[test]
fn colours_are_there_when_asked_for() {
    let folder = Folder::new();
    let stacks = folder.file("a", STACKS);
    assert!(stdout(&run(&["flame", &stacks, "--color", "always"])).contains("\u{1b}[38;5;16;48;5;"));
    assert!(stdout(&run(&["top", &stacks, "--color", "always"])).contains("\u{1b}[2m"));
    assert!(!stdout(&run(&["flame", &stacks])).contains('\u{1b}'));
}

#[test]
fn c028_differences_have_signs() {
    let folder = Folder::new();
    let (left, right) = (folder.file("l", "A 10\n"), folder.file("r", "A 4\nB 7\n"));
    let output = run(&["diff", &left, &right, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("one document");
    assert_eq!((&document["left_total"], &document["right_total"]), (&10.into(), &11.into()));
    let text = stdout(&run(&["diff", &left, &right]));
    let line = |name: &str| {
        let line =
            text.lines().find(|line| line.ends_with(&format!("  {name}"))).expect("the function is listed");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("A"), ["10", "4", "-6", "-6", "A"]);
    assert_eq!(line("B"), ["0", "7", "+7", "+7", "B"]);
}

#[test]
fn callers_have_both_sides() {
    let folder = Folder::new();
    let output = run(&["callers", "work", &folder.file("a", STACKS), "--json"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("one document");
    assert_eq!(document["callers"], serde_json::json!([{"name": "main", "value": 90}]));
    assert_eq!(document["callees"], serde_json::json!([{"name": "hot", "value": 70}]));
    assert_eq!(document["function"], serde_json::json!({"name": "work", "self": 20, "total": 90}));
    let nobody = run(&["callers", "nobody", &folder.file("a", STACKS)]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("nobody"), "{}", stderr(&nobody));
}

#[test]
fn a_merged_pprof_can_be_read_again() {
    let folder = Folder::new();
    let merged = folder.path("merged.pb.gz");
    let merged = merged.to_str().expect("UTF-8");
    let cpu = fixture("go-hot/cpu.pb.gz");
    let output = run(&["pprof", &cpu, &cpu, "-o", merged]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let total = |files: &[&str]| {
        let output = run(&[&["top", "--json", "--limit", "0"], files].concat());
        let document: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("one document");
        document["total"].as_i64().expect("a whole number")
    };
    assert_eq!(total(&[merged]), total(&[&cpu, &cpu]));
    assert_eq!(total(&[merged]), 2 * total(&[&cpu]));
}

#[test]
fn lists_of_a_file() {
    let cpu = fixture("go-hot/cpu.pb.gz");
    let profiles = run(&["profiles", &cpu, "--json"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&profiles)).expect("one document");
    assert_eq!(document.as_array().map(Vec::len), Some(1), "{document}");
    assert_eq!(document[0]["labels"], serde_json::json!({}), "a file has no series labels");
    for arguments in
        [&["labels", &cpu][..], &["series", &cpu], &["profiles", &cpu], &["labels", &cpu, "--json"]]
    {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    }
    let folder = Folder::new();
    let one = folder.file("one", "main;work 42\n");
    for (file, words) in [(&one, "  1 row  "), (&cpu, "  30 rows  ")] {
        let line = stdout(&run(&["profiles", file]));
        assert!(line.contains(words), "{line}");
    }
    let unlabelled = folder.file("stacks", STACKS);
    for (arguments, words) in [
        (&["labels", &unlabelled][..], "no sample has a label"),
        (&["labels", &cpu, "--values", "x"], "label \"x\""),
    ] {
        assert!(stderr(&run(arguments)).contains(words), "{arguments:?}: nothing is said of an empty list");
    }
}

#[test]
fn c026_deep_recursion_is_drawn_in_every_format() {
    let folder = Folder::new();
    let deep = folder.file("deep", &format!("{} 7\n", vec!["main.recurse"; 16_384].join(";")));
    for format in ["terminal", "svg", "html", "json", "folded"] {
        let output = run(&["flame", &deep, "--format", format, "--max-nodes", "0"]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
        assert!(stdout(&output).contains("main.recurse"), "{format}");
    }
    let top = run(&["top", &deep, "--json"]);
    assert!(
        stdout(&top).contains("\"rows\":[{\"name\":\"main.recurse\",\"self\":7,\"total\":7}]"),
        "{}",
        stdout(&top)
    );
}

#[test]
fn completions_manual_and_version() {
    let version = stdout(&run(&["--version"]));
    assert!(version.starts_with("everflame 0.") && version.contains('('), "{version}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(script.contains("everflame") && script.contains("flame"), "{shell}");
    }
    assert!(stdout(&run(&["man", "top"])).contains("everflame\\-top"));
    let folder = Folder::new();
    let pages = folder.path("man1");
    let output = run(&["man", "--output-dir", pages.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(pages.join("everflame.1").exists() && pages.join("everflame-flame.1").exists());
}

#[test]
fn every_command_has_a_short_help_with_examples() {
    let listed = stdout(&run(&["--help"]));
    for command in
        ["push", "flame", "top", "diff", "callers", "labels", "series", "profiles", "pprof", "server"]
    {
        assert!(listed.contains(command), "{command}");
        let help = stdout(&run(&[command, "--help"]));
        assert!(help.contains("Examples:"), "{command}");
        let short = stdout(&run(&[command, "-h"]));
        assert!(short.lines().count() < 70, "{command}: {} lines", short.lines().count());
    }
}

#[test]
fn server_settings_are_checked() {
    let folder = Folder::new();
    let config = folder.file("everflame.toml", "listn = \"127.0.0.1:0\"\n");
    let output = run(&["server", "--config", &config]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("listn"), "{}", stderr(&output));
    let open = run(&["server", "--listen", "0.0.0.0:4040"]);
    assert_eq!(open.status.code(), Some(2));
    let checked = run(&["server", "--flush-bytes", "1MiB", "--check-config"]);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    assert!(stdout(&checked).contains("flush_bytes = \"1MiB\""), "{}", stdout(&checked));
}
