//! `everflame top FILE --raw-names` against `go tool pprof -top`: the same rows, flat and cum, for every protobuf file
//! that both take.
//!
//! Known differences, checked as such: a negative value is dropped (C009), and a row of names that the tool prints over
//! several lines cannot be compared (C011's file has line feeds in a name).

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use formats::{Decoder, Limits};
use profile::AlteredReason;
use support::{TestServer, program};
use testkit::arbitrary;

/// Flat, cum and number of rows by name.
type Rows = BTreeMap<String, (i64, i64, u32)>;

/// The path of Go's pprof program; asking for it builds it where that is still to be done.
fn go_pprof() -> Option<PathBuf> {
    let output = Command::new("go").args(["tool", "-n", "pprof"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !path.trim().is_empty()).then(|| PathBuf::from(path.trim()))
}

/// What the tool prints; `None` where it refuses the file.
fn theirs(tool: &Path, file: &Path, sample_type: &str, unit: &str) -> Option<Rows> {
    let output = Command::new(tool)
        .args(["-top", "-nodecount=0", "-nodefraction=0", "-symbolize=none"])
        .arg(format!("-sample_index={sample_type}"))
        .arg(format!("-unit={unit}"))
        .arg(file)
        .env("PPROF_TMPDIR", std::env::temp_dir())
        .stdin(Stdio::null())
        .output()
        .expect("the tool starts");
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut rows = Rows::new();
    for line in text.lines().skip_while(|line| !line.trim_start().starts_with("flat  flat%")).skip(1) {
        // flat flat% sum% cum cum%, two spaces, name
        let mut rest = line;
        let fields: Vec<&str> = (0..5)
            .map(|_| {
                rest = rest.trim_start();
                let (field, behind) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
                rest = behind;
                field
            })
            .collect();
        let name = rest.strip_prefix("  ").unwrap_or(rest);
        let name = name.strip_suffix(" (inline)").or(name.strip_suffix(" (partial-inline)")).unwrap_or(name);
        let row = rows.entry(name.to_owned()).or_default();
        row.0 += whole(fields[0]);
        row.1 += whole(fields[3]);
        row.2 += 1;
    }
    Some(rows)
}

/// `10000000ns` without its unit.
fn whole(text: &str) -> i64 {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    digits.parse().unwrap_or_else(|_| panic!("{text:?} is no whole number"))
}

/// What the program prints for a file or, with a server, for a selector; and the unit of its values.
fn ours(file: &Path, sample_type: &str, server: Option<&TestServer>) -> (Rows, String) {
    let source: Vec<OsString> = match server {
        None => vec![file.into()],
        Some(server) => {
            let selector = format!("{{service_name=\"{}\"}}", service(file));
            ["--server", &server.url, &selector].map(OsString::from).to_vec()
        }
    };
    let output = Command::new(program())
        .args(["top", "--json", "--limit", "0", "--raw-names", "--sample-index", sample_type])
        .args(source)
        .env_remove("EVERFLAME_SERVER")
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout is one document");
    let mut rows = Rows::new();
    for row in document["rows"].as_array().expect("rows") {
        let entry = rows.entry(row["name"].as_str().expect("a name").to_owned()).or_default();
        entry.0 += row["self"].as_i64().expect("a whole number");
        entry.1 += row["total"].as_i64().expect("a whole number");
        entry.2 += 1;
    }
    (rows, document["unit"].as_str().expect("a unit").to_owned())
}

/// The service that a file is pushed under.
fn service(file: &Path) -> String {
    let path = file.to_string_lossy();
    path.chars()
        .rev()
        .take(60)
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect()
}

/// Pushes a file as profefe's clients do; whether there was something to keep.
fn push(server: &TestServer, file: &Path) -> bool {
    let body = std::fs::read(file).expect("the file can be read");
    let path = format!("/api/0/profiles?service={}&type=other", service(file));
    server.call("POST", &path, &[], Some(&body)).status == 200
}

/// What a file holds, as far as the comparison must know.
struct Facts {
    /// Names of the value columns; the shown one first.
    columns: Vec<String>,
    has_negative: bool,
    has_line_feed: bool,
    has_no_stack: bool,
}

fn facts(decoder: &mut Decoder, file: &Path) -> Option<Facts> {
    let body = std::fs::read(file).expect("the file can be read");
    let (profile, decoded) = decoder.pprof(&body, &Limits::default()).ok()?;
    let columns = profile.columns;
    let mut names: Vec<String> =
        columns.sample_types.iter().map(|column| profile.text_of(column.kind).into_owned()).collect();
    let default = profile.text_of(columns.header.default_sample_type);
    let shown = names.iter().position(|name| *name == default).unwrap_or(names.len().checked_sub(1)?);
    names.swap(0, shown);
    Some(Facts {
        columns: names,
        has_negative: decoded.altered.count(AlteredReason::NegativeValue) > 0,
        has_line_feed: columns
            .functions
            .iter()
            .any(|function| profile.string(function.name).contains(&b'\n')),
        has_no_stack: decoded.altered.count(AlteredReason::NoStack) > 0,
    })
}

/// Whether rows of one name say the same. The tool has a row for each address without a name, and all of them may be called
/// `<unknown>` or after their file; a stack with two of them is then in the sum of their cum values twice.
fn agree(ours: Option<&(i64, i64, u32)>, theirs: Option<&(i64, i64, u32)>) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if theirs.2 > ours.2 => ours.0 == theirs.0 && ours.1 <= theirs.1,
        _ => ours.map(|row| (row.0, row.1)) == theirs.map(|row| (row.0, row.1)),
    }
}

/// Compares one file; says how many tables were equal.
fn compare(tool: &Path, file: &Path, is_every_column: bool, server: Option<&TestServer>) -> usize {
    let Some(facts) = facts(&mut Decoder::new(), file) else { return 0 };
    if facts.has_line_feed || server.is_some_and(|server| !push(server, file)) {
        return 0;
    }
    let mut compared = 0;
    for sample_type in facts.columns.iter().take(if is_every_column { usize::MAX } else { 1 }) {
        let (mut ours, unit) = ours(file, sample_type, server);
        let Some(mut theirs) = theirs(tool, file, sample_type, &unit) else { continue };
        // The tool names a mapping without a file after the profile's own file.
        let own = format!("[{}]", file.file_name().expect("a file").to_string_lossy());
        if let Some(row) = theirs.remove(&own) {
            let known = theirs.entry("<unknown>".to_owned()).or_default();
            *known = (known.0 + row.0, known.1 + row.1, known.2 + row.2);
        }
        if facts.has_no_stack {
            // C006: the tool has no row for them
            ours.remove("(no stack)");
        }
        let differing: Vec<String> = ours
            .keys()
            .chain(theirs.keys())
            .filter(|name| !agree(ours.get(*name), theirs.get(*name)))
            .map(|name| format!("{name:?}: ours {:?}, theirs {:?}", ours.get(name), theirs.get(name)))
            .take(5)
            .collect();
        if facts.has_negative {
            assert!(!differing.is_empty(), "{}: C009 makes no difference here", file.display());
            continue;
        }
        assert!(differing.is_empty(), "{} ({sample_type}): {}", file.display(), differing.join("; "));
        compared += 1;
    }
    compared
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn top_of_recorded_programs_equals_go_tool_pprof() {
    let Some(tool) = go_pprof() else {
        println!("skipped: go is not on this machine");
        return;
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/real");
    let compared: usize = files_below(&fixtures).iter().map(|file| compare(&tool, file, true, None)).sum();
    println!("{compared} tables are equal");
    assert!(compared >= 4, "only {compared} tables of fixtures were compared");
}

fn add_string(profile: &mut testkit::OwnedProfile, string: &str) -> profile::StringIndex {
    let narrow = |value: usize| u32::try_from(value).expect("a small profile");
    let (start, length) = (narrow(profile.text.len()), narrow(string.len()));
    profile.text.extend_from_slice(string.as_bytes());
    profile.columns.strings.push(profile::StringRange { start, length });
    profile::StringIndex(narrow(profile.columns.strings.len() - 1))
}

#[test]
fn top_of_made_up_profiles_equals_go_tool_pprof() {
    let Some(tool) = go_pprof() else {
        println!("skipped: go is not on this machine");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut compared = 0;
    for seed in 0..12 {
        let mut profile = arbitrary::random_profile(seed, 30, 2);
        let columns = &mut profile.columns;
        // sums of such large numbers would lose digits in the tool, which adds up in 64 bits and prints through floats
        columns.values.iter_mut().for_each(|value| *value %= 1_000_000_007);
        // no frames dropped by chance, and names and a unit that the tool leaves as they are
        columns.header.drop_frames = profile::StringIndex::EMPTY;
        columns.header.default_sample_type = profile::StringIndex::EMPTY;
        let [unit, names @ ..] = ["count", "alpha", "beta"].map(|name| add_string(&mut profile, name));
        for (column, kind) in profile.columns.sample_types.iter_mut().zip(names) {
            *column = profile::ValueType { kind, unit };
        }
        let file = folder.path().join(format!("seed-{seed}.pb"));
        std::fs::write(&file, formats::encode_pprof(&profile.view())).expect("the file is written");
        compared += compare(&tool, &file, true, None);
    }
    println!("{compared} tables are equal");
    assert!(compared >= 8, "only {compared} tables of made-up profiles were compared");
}

#[test]
fn top_of_a_server_equals_go_tool_pprof() {
    let Some(tool) = go_pprof() else {
        println!("skipped: go is not on this machine");
        return;
    };
    let mut files = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/real"));
    let shared = testkit::skip_without_shared("the corpus part of top_of_a_server_equals_go_tool_pprof");
    files.extend(shared.iter().flat_map(|shared| files_below(&shared.join("corpus/pprof"))));
    let server = TestServer::start(&[]);
    let compared: usize = files.iter().map(|file| compare(&tool, file, false, Some(&server))).sum();
    println!("{compared} tables are equal");
    assert!(compared >= if shared.is_some() { 60 } else { 4 }, "only {compared} tables were compared");
}

#[test]
fn top_of_the_corpus_equals_go_tool_pprof() {
    let Some(shared) = testkit::skip_without_shared("top_of_the_corpus_equals_go_tool_pprof") else { return };
    let Some(tool) = go_pprof() else {
        println!("skipped: go is not on this machine");
        return;
    };
    let files = files_below(&shared.join("corpus/pprof"));
    let compared: usize = files.iter().map(|file| compare(&tool, file, false, None)).sum();
    println!("{compared} tables are equal");
    assert!(compared >= 60, "only {compared} tables of the corpus were compared");
}
