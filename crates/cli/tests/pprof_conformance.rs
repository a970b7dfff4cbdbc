//! `everflame top FILE --raw-names`, and `top` of a server after profefe's own push, against `go tool pprof -top`: the same
//! rows, flat and cum, for every protobuf file that the tool takes, in every value column and in the one shown by default.
//!
//! Files on which the two differ stand in [`EXCEPTIONS`], each with its case. A file that differs and is not there fails the
//! test, and so does one that is there and no longer differs.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use support::{TestServer, program};
use testkit::{arbitrary, proto, proto::Message};

/// Why a file is an exception, and with it what is asserted in place of equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Text and binary formats older than the protobuf one come with the other formats: until then they are refused.
    Legacy,
    /// C009: negative values of a profile that is no difference are dropped and counted; the tool adds them up.
    Negative,
    /// C011: a name with line feeds is several lines of `-top`; the tool's `-topproto` must say the same as `top`.
    LineFeeds,
    /// D15: profefe's route answers 400 to a profile without samples, so a server has no table of it. The file's own is
    /// equal.
    NoSamples,
}

/// Every file of the corpus whose table cannot be the tool's, by its path there.
const EXCEPTIONS: [(&str, Why); 17] = [
    ("google-driver/cppbench.contention", Why::Legacy),
    ("google-driver/cppbench.cpu", Why::Legacy),
    ("google-driver/cppbench.small.contention", Why::Legacy),
    ("google-driver/go.crc32.cpu", Why::Legacy),
    ("google/cppbench.contention", Why::Legacy),
    ("google/cppbench.cpu", Why::Legacy),
    ("google/cppbench.heap", Why::Legacy),
    ("google/cppbench.thread", Why::Legacy),
    ("google/cppbench.thread.all", Why::Legacy),
    ("google/cppbench.thread.none", Why::Legacy),
    ("google/go.crc32.cpu", Why::Legacy),
    ("google/go.godoc.thread", Why::Legacy),
    ("google/gobench.cpu", Why::Legacy),
    ("google/gobench.heap", Why::Legacy),
    ("parca/alloc_space_delta.pb.gz", Why::Negative),
    ("profefe/collector_cpu_no-samples.prof", Why::NoSamples),
    ("pyroscope-ingest/invalid_utf8.pb.gz", Why::LineFeeds),
];

/// Flat, cum and number of rows by name.
type Rows = BTreeMap<String, (i64, i64, u32)>;

/// The path of Go's pprof program; asking for it builds it where that is still to be done.
fn go_pprof() -> Option<PathBuf> {
    let output = Command::new("go").args(["tool", "-n", "pprof"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !path.trim().is_empty()).then(|| PathBuf::from(path.trim()))
}

/// The tool's command line for a file and a value column, the one shown by default where none is named.
fn asked(tool: &Path, options: &[&str], file: &Path, column: Option<usize>) -> Output {
    let mut command = Command::new(tool);
    command.args(options).args(["-nodecount=0", "-nodefraction=0", "-symbolize=none"]);
    command.args(column.map(|column| format!("-sample_index={column}")));
    command.env("PPROF_TMPDIR", std::env::temp_dir()).stdin(Stdio::null());
    command.arg(file).output().expect("the tool starts")
}

/// What the tool prints; `None` where it refuses the file.
fn theirs(tool: &Path, file: &Path, column: Option<usize>, unit: &str) -> Option<Rows> {
    let output = asked(tool, &["-top", &format!("-unit={unit}")], file, column);
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
        // What is no row at all is the second line of a name with a line feed.
        let Some((flat, cum)) = whole(fields[0]).zip(whole(fields[3])) else {
            rows.insert(format!("no row: {line}"), (0, 0, 0));
            continue;
        };
        let row = rows.entry(name.to_owned()).or_default();
        *row = (row.0 + flat, row.1 + cum, row.2 + 1);
    }
    Some(rows)
}

/// The same by way of `-topproto`, a profile with a location for each row: names and numbers as they are.
fn theirs_by_topproto(tool: &Path, file: &Path, column: Option<usize>) -> Rows {
    let written = asked(tool, &["-topproto"], file, column).stdout;
    let profile = proto::Profile::decode(inflated(&written).as_slice()).unwrap();
    let name_of = |id: u64| {
        let location = profile.location.iter().find(|location| location.id == id).unwrap();
        let function = location.line[0].function_id;
        let function = profile.function.iter().find(|one| one.id == function).unwrap();
        let name = &profile.string_table[usize::try_from(function.name).unwrap()];
        String::from_utf8_lossy(name).into_owned()
    };
    let mut rows = Rows::new();
    for sample in &profile.sample {
        let row = rows.entry(name_of(sample.location_id[0])).or_default();
        *row = (row.0 + sample.value[1], row.1 + sample.value[0], row.2 + 1);
    }
    rows
}

/// `10000000ns` without its unit.
fn whole(text: &str) -> Option<i64> {
    text.trim_end_matches(|character: char| !character.is_ascii_digit()).parse().ok()
}

/// A table of the program.
struct Table {
    rows: Rows,
    unit: String,
    /// What it said on stderr.
    said: String,
}

/// What the program prints for a file or, with a server, for a selector; else why it does not.
fn ours(file: &Path, column: Option<usize>, server: Option<&TestServer>) -> Result<Table, String> {
    let source: Vec<OsString> = match server {
        None => vec![file.into()],
        Some(server) => {
            let selector = format!("{{service_name=\"{}\"}}", service(file));
            ["--server", &server.url, &selector].map(OsString::from).to_vec()
        }
    };
    let mut command = Command::new(program());
    command.args(["top", "--json", "--limit", "0", "--raw-names"]).args(source);
    command.args(column.iter().flat_map(|column| ["--sample-index".to_owned(), column.to_string()]));
    let output = command.env_remove("EVERFLAME_SERVER").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => {}
        Some(1) => return Err(said),
        other => panic!("{}: ended with {other:?}: {said}", file.display()),
    }
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout is one document");
    let mut rows = Rows::new();
    for row in document["rows"].as_array().expect("rows") {
        let entry = rows.entry(row["name"].as_str().expect("a name").to_owned()).or_default();
        entry.0 += row["self"].as_i64().expect("a whole number");
        entry.1 += row["total"].as_i64().expect("a whole number");
        entry.2 += 1;
    }
    Ok(Table { rows, unit: document["unit"].as_str().expect("a unit").to_owned(), said })
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

/// Pushes a file as profefe's cron job does; the error says why it was refused.
fn push(server: &TestServer, file: &Path) -> Result<(), String> {
    let body = std::fs::read(file).expect("the file can be read");
    let columns = columns(&body);
    let has = |name: &str| columns.iter().any(|column| column == name);
    let kind = match () {
        () if has("cpu") => "cpu",
        () if has("inuse_space") => "heap",
        () if has("contentions") => "mutex",
        () if has("goroutine") => "goroutine",
        () => "other",
    };
    let path = format!("/api/0/profiles?service={}&type={kind}", service(file));
    let reply = server.call("POST", &path, &[], Some(&body));
    if reply.status == 200 { Ok(()) } else { Err(format!("{}: {}", reply.status, reply.text())) }
}

fn inflated(body: &[u8]) -> Vec<u8> {
    if !body.starts_with(&[0x1f, 0x8b]) {
        return body.to_vec();
    }
    let mut raw = Vec::new();
    flate2::read::MultiGzDecoder::new(body).read_to_end(&mut raw).expect("gzip");
    raw
}

/// The names of a protobuf file's value columns; none of any other file.
fn columns(body: &[u8]) -> Vec<String> {
    let Ok(profile) = proto::Profile::decode(inflated(body).as_slice()) else { return Vec::new() };
    let text = |index: i64| profile.string_table.get(usize::try_from(index).ok()?);
    let name = |column: &proto::ValueType| Some(String::from_utf8_lossy(text(column.r#type)?).into_owned());
    profile.sample_type.iter().filter_map(name).collect()
}

/// Whether rows of one name say the same. The tool has a row for each address without a name, and all of them may be called
/// `<unknown>` or after their file; a stack with two of them is then in the sum of their cum values twice.
fn agree(ours: Option<&(i64, i64, u32)>, theirs: Option<&(i64, i64, u32)>) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if theirs.2 > ours.2 => ours.0 == theirs.0 && ours.1 <= theirs.1,
        _ => ours.map(|row| (row.0, row.1)) == theirs.map(|row| (row.0, row.1)),
    }
}

/// How a file came out of the comparison.
#[derive(Debug)]
enum Verdict {
    /// The tool refuses it: there is nothing to compare with.
    ToolRefuses,
    /// We refuse it, or the server does.
    Refused(String),
    /// So many tables are equal.
    Equal(usize),
    /// Tables that differ, of how many, the first of them in words, and what the program said on stderr.
    Differ { tables: usize, of: usize, first: String, said: String },
}

/// Compares a file's tables: that of the default column and that of each.
fn verdict(tool: &Path, file: &Path, server: Option<&TestServer>) -> Verdict {
    if !asked(tool, &["-top"], file, None).status.success() {
        return Verdict::ToolRefuses;
    }
    if let Some(Err(reason)) = server.map(|server| push(server, file)) {
        return Verdict::Refused(reason);
    }
    let count = columns(&std::fs::read(file).unwrap()).len();
    let (mut of, mut differing) = (0, Vec::new());
    for column in std::iter::once(None).chain((0..count).map(Some)) {
        let table = match ours(file, column, server) {
            Ok(table) => table,
            Err(reason) => return Verdict::Refused(reason),
        };
        let theirs = theirs(tool, file, column, if table.unit.is_empty() { "count" } else { &table.unit });
        of += 1;
        if let Some(words) = difference(file, &table.rows, theirs.expect("the tool takes the column")) {
            differing.push((format!("column {column:?}: {words}"), table.said));
        }
    }
    match differing.first() {
        None => Verdict::Equal(of),
        Some((first, said)) => {
            Verdict::Differ { tables: differing.len(), of, first: first.clone(), said: said.clone() }
        }
    }
}

/// In what two tables differ.
fn difference(file: &Path, ours: &Rows, mut theirs: Rows) -> Option<String> {
    // The tool names a mapping without a file after the profile's own file.
    let own = format!("[{}]", file.file_name().expect("a file").to_string_lossy());
    if let Some(row) = theirs.remove(&own) {
        let known = theirs.entry("<unknown>".to_owned()).or_default();
        *known = (known.0 + row.0, known.1 + row.1, known.2 + row.2);
    }
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differing: Vec<String> = names
        .into_iter()
        // C006: the tool has no row for samples without a stack.
        .filter(|name| *name != "(no stack)" && !agree(ours.get(*name), theirs.get(*name)))
        .map(|name| format!("{name:?}: ours {:?}, theirs {:?}", ours.get(name), theirs.get(name)))
        .take(5)
        .collect();
    (!differing.is_empty()).then(|| differing.join("; "))
}

/// Compares all files of the corpus and checks that each exception is one; says how many tables were equal and how many
/// files the tool refuses.
fn compare_corpus(tool: &Path, corpus: &Path, server: Option<&TestServer>) -> (usize, usize) {
    let (mut equal, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut exceptions: BTreeMap<&str, Why> = EXCEPTIONS.into();
    for file in files_below(corpus) {
        let name = file.strip_prefix(corpus).unwrap().to_str().unwrap();
        let why = exceptions.remove(name);
        let verdict = verdict(tool, &file, server);
        match (why, &verdict) {
            (None, Verdict::Equal(tables)) => equal += tables,
            (None, Verdict::ToolRefuses) => refused += 1,
            (Some(Why::NoSamples), Verdict::Equal(tables)) if server.is_none() => equal += tables,
            (Some(Why::NoSamples), Verdict::Refused(words))
                if server.is_some() && words.contains("no samples") => {}
            (Some(Why::Legacy), Verdict::Refused(words)) if !words.is_empty() => {}
            (Some(Why::Negative), Verdict::Differ { tables, of, said, .. })
                if tables == of && (server.is_some() || said.contains("negative_value=")) => {}
            (Some(Why::LineFeeds), Verdict::Differ { .. }) => {
                let ours = ours(&file, None, server).unwrap();
                assert_eq!(
                    difference(&file, &ours.rows, theirs_by_topproto(tool, &file, None)),
                    None,
                    "{name}"
                );
                equal += 1;
            }
            (None, Verdict::Differ { first, .. }) => wrong.push(format!("{name}: {first}")),
            _ => wrong.push(format!("{name} (exception: {why:?}): {verdict:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
    assert!(exceptions.is_empty(), "not in the corpus: {exceptions:?}");
    (equal, refused)
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

/// Compares files that have no exceptions.
fn compare_all(tool: &Path, files: &[PathBuf], server: Option<&TestServer>) -> usize {
    let equal = |file: &PathBuf| match verdict(tool, file, server) {
        Verdict::Equal(tables) => tables,
        other => panic!("{}: {other:?}", file.display()),
    };
    files.iter().map(equal).sum()
}

/// The profiles that were recorded from real programs: they are called `….pb` or `….pb.gz`.
fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/real");
    let mut files = files_below(&folder);
    files.retain(|file| file.to_string_lossy().trim_end_matches(".gz").ends_with(".pb"));
    assert!(files.len() > 5, "{files:?}");
    files
}

#[test]
fn top_of_recorded_programs_equals_go_tool_pprof() {
    let Some(tool) = go_pprof() else {
        println!("skipped: go is not on this machine");
        return;
    };
    let server = TestServer::start(&[]);
    for server in [None, Some(&server)] {
        println!("{} tables are equal", compare_all(&tool, &recorded(), server));
    }
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
    let mut files = Vec::new();
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
        files.push(file);
    }
    println!("{} tables are equal", compare_all(&tool, &files, None));
}

#[test]
fn top_of_the_corpus_equals_go_tool_pprof() {
    let Some(shared) = testkit::skip_without_shared("top_of_the_corpus_equals_go_tool_pprof") else { return };
    let Some(tool) = go_pprof() else {
        println!("skipped: go is not on this machine");
        return;
    };
    let (equal, refused) = compare_corpus(&tool, &shared.join("corpus/pprof"), None);
    println!("{equal} tables are equal, the tool refuses {refused} files, exceptions: {EXCEPTIONS:?}");
    assert!(equal >= 200, "only {equal} tables");
}

#[test]
fn top_of_a_server_equals_go_tool_pprof() {
    let Some(shared) = testkit::skip_without_shared("top_of_a_server_equals_go_tool_pprof") else { return };
    let Some(tool) = go_pprof() else {
        println!("skipped: go is not on this machine");
        return;
    };
    let server = TestServer::start(&[]);
    let (equal, refused) = compare_corpus(&tool, &shared.join("corpus/pprof"), Some(&server));
    println!("{equal} tables are equal, the tool refuses {refused} files, exceptions: {EXCEPTIONS:?}");
    assert!(equal >= 200, "only {equal} tables");
}
