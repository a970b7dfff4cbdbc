//! Recorded profiles of other projects, where they are on the machine.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::path::{Path, PathBuf};

use formats::{Decoder, Limits, Measure, TreeReader, encode_pprof, gzip, write_tree};
use testkit::{Oracle, Plain, arbitrary};

/// Every file below the pprof folder that is a protobuf profile: names end in other ways for reports and legacy text.
fn profiles(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Bodies of the shared corpus that our decoder takes, with their names; none where the corpus is not on the machine.
fn accepted(test: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let Some(shared) = testkit::skip_without_shared(test) else { return Vec::new() };
    let mut decoder = Decoder::new();
    let found: Vec<_> = profiles(&shared.join("corpus/pprof"))
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .filter(|(_, body)| decoder.pprof(body, &Limits::default()).is_ok())
        .collect();
    assert!(found.len() > 60, "only {} bodies of the corpus were taken", found.len());
    found
}

#[test]
fn corpus_survives_a_round_trip() {
    let (mut first, mut second) = (Decoder::new(), Decoder::new());
    let limits = Limits { keep_negative: true, ..Limits::default() };
    for (path, body) in accepted("corpus_survives_a_round_trip") {
        let (profile, _) = first.pprof(&body, &limits).unwrap();
        let encoded = encode_pprof(&profile);
        let (again, _) = second.pprof(&encoded, &limits).unwrap();
        assert!(Plain::of(&again) == Plain::of(&profile), "{}", path.display());
    }
}

#[test]
fn corpus_gives_the_trees_of_an_independent_reader() {
    let mut decoder = Decoder::new();
    for (path, body) in accepted("corpus_gives_the_trees_of_an_independent_reader") {
        let inflated = decoder.inflate(&body, &Limits::default()).unwrap().bytes.to_vec();
        let expected = Oracle::read(&inflated).unwrap();
        let (profile, _) = decoder.pprof(&body, &Limits::default()).unwrap();
        let found = Oracle::of(&profile);
        assert!(found == expected, "{}", path.display());
        for column in 0..expected.sample_types.len() {
            assert!(found.tree(column) == expected.tree(column), "{}", path.display());
            assert!(found.table(column) == expected.table(column), "{}", path.display());
        }
    }
}

/// Runs `go tool pprof -raw` on a body; `None` where Go is not on the machine.
fn go_raw(body: &[u8]) -> Option<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), body).unwrap();
    let run = std::process::Command::new("go")
        .args(["tool", "pprof", "-symbolize=none", "-raw"])
        .arg(file.path())
        .env("PPROF_TMPDIR", std::env::temp_dir())
        .output()
        .ok()?;
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8_lossy(&run.stdout).into_owned())
}

#[test]
fn go_reads_what_we_write_as_it_reads_what_we_read() {
    let mut bodies: Vec<Vec<u8>> = accepted("go_reads_what_we_write_as_it_reads_what_we_read")
        .into_iter()
        .filter(|(path, _)| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            ["go.cpu.labels.pprof", "profile_java", "collector_heap_1.prof", "profile_rust", "labels.pb.gz"]
                .contains(&name.as_str())
        })
        .map(|(_, body)| body)
        .collect();
    // labels that pprof cannot keep apart are left out of this comparison: only their order differs
    bodies.extend((0..3).map(|seed| {
        let mut profile = arbitrary::random_profile(seed, 20, 2);
        profile.columns.labels.clear();
        profile.columns.label_ends.clear();
        profile.columns.links.clear();
        encode_pprof(&profile.view())
    }));
    let mut decoder = Decoder::new();
    for body in bodies {
        let (profile, _) = decoder.pprof(&body, &Limits::default()).unwrap();
        let ours = gzip(&encode_pprof(&profile));
        let (Some(theirs), Some(ours)) = (go_raw(&body), go_raw(&ours)) else {
            println!("skipped: go is not on this machine");
            return;
        };
        assert_eq!(ours, theirs);
    }
}

/// Trees that Pyroscope's querier wrote.
#[test]
fn recorded_trees_are_read_and_written_to_the_same_bytes() {
    let Some(shared) = testkit::skip_without_shared("recorded_trees") else { return };
    for name in ["diff_left_tree.bin", "diff_right_tree.bin"] {
        let body = std::fs::read(shared.join("corpus/tree").join(name)).unwrap();
        let records: Vec<_> = TreeReader::new(&body).collect::<Result<_, _>>().unwrap();
        let total: u64 = records.iter().map(|record| record.self_value).sum();
        assert!(records.len() > 10_000, "{name}: {} nodes", records.len());
        assert_eq!(write_tree(records), body);
        let mut decoder = Decoder::new();
        let (profile, _) =
            decoder.tree(&body, Measure::plain("cpu", "nanoseconds"), &Limits::default()).unwrap();
        let values: i64 = profile.samples().map(|sample| sample.values[0]).sum();
        assert_eq!(values.cast_unsigned(), total);
        println!("{name}: {} frames, {} bytes", profile.columns.stacks.len(), body.len());
    }
}
