//! Recorded profiles of other projects, where they are on the machine.

use std::path::{Path, PathBuf};

use formats::{Decoder, Limits, encode_pprof};

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

#[test]
fn corpus_decodes_and_survives_a_round_trip() {
    let Some(shared) = testkit::skip_without_shared("corpus_decodes_and_survives_a_round_trip") else {
        return;
    };
    let (mut first, mut second) = (Decoder::new(), Decoder::new());
    let limits = Limits::default();
    let mut accepted = 0;
    for path in profiles(&shared.join("corpus/pprof")) {
        let body = std::fs::read(&path).unwrap();
        match first.pprof(&body, &limits) {
            Ok((profile, decoded)) => {
                accepted += 1;
                let encoded = encode_pprof(&profile);
                let (again, _) = second.pprof(&encoded, &limits).unwrap();
                println!(
                    "{} {} samples {:?}",
                    path.display(),
                    profile.columns.sample_count(),
                    decoded.altered.sorted()
                );
                assert_eq!(again.columns.sample_count(), profile.columns.sample_count());
            }
            Err(error) => println!("{}: {error}", path.display()),
        }
    }
    assert!(accepted > 50);
}
