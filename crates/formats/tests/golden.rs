//! One body of each format of stacks, kept as a file, and what it must be read as. `BLESS=1` writes both anew; look at the
//! difference before you keep it.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::{fmt::Write as _, path::PathBuf};

use formats::{Decoded, Decoder, Limits, Measure, Scale};
use profile::Profile;
use testkit::{Oracle, Siblings, tree_body, trie_body};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The bytes of a file; `made` where files are written anew.
fn kept(name: &str, made: &[u8]) -> Vec<u8> {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path(name), made).unwrap();
    }
    std::fs::read(path(name)).unwrap()
}

/// Everything that a decoder gave, one line each.
fn shown(profile: &Profile<'_>, decoded: &Decoded) -> String {
    let columns = profile.columns;
    let header = &columns.header;
    let of = |typed: &profile::ValueType| {
        format!("{}/{}", profile.text_of(typed.kind), profile.text_of(typed.unit))
    };
    let mut text = String::new();
    for typed in &columns.sample_types {
        writeln!(text, "column {}", of(typed)).unwrap();
    }
    if let Some(period) = &header.period_type {
        writeln!(text, "period {} {}", header.period, of(period)).unwrap();
    }
    writeln!(text, "duration {}", header.duration_nanos).unwrap();
    for (reason, count) in decoded.altered.sorted() {
        writeln!(text, "altered {} {count}", reason.word()).unwrap();
    }
    for (path, values) in Oracle::of(profile).samples {
        let frames = path
            .iter()
            .map(|(name, file)| if file.is_empty() { name.clone() } else { format!("{name} [{file}]") });
        writeln!(text, "{:?} {}", values, frames.collect::<Vec<_>>().join(" > ")).unwrap();
    }
    text
}

fn check(name: &str, shown: &str) {
    let expected = kept(&format!("{name}.expected.txt"), shown.as_bytes());
    assert_eq!(shown, String::from_utf8(expected).unwrap(), "{name}");
}

const MEASURE: Measure<'_> = Measure {
    sample_type: "cpu",
    sample_unit: "nanoseconds",
    scale: Scale::Samples { per_second: 100 },
    duration_nanos: 10_000_000_000,
};

fn stacks() -> Vec<(Vec<&'static [u8]>, u64)> {
    vec![
        (vec![b"main", b"run file.py:41", b"alloc"], 3),
        (vec![b"main", b"run file.py:42"], 5),
        (vec![b"main", "帧".as_bytes(), b"operator()(int)"], 200),
        (vec![b"main"], 1),
        (vec![], 2),
    ]
}

#[test]
fn folded_and_lines() {
    let text = "# by hand\nmain;run file.py:41;alloc 3\r\n\nmain;帧;operator()(int) 200\nno count\nmain 0\nmain -4\n;;main;;last 1";
    let body = kept("stacks.folded", text.as_bytes());
    let mut decoder = Decoder::new();
    let (profile, decoded) = decoder.folded(&body, MEASURE, &Limits::default()).unwrap();
    check("stacks.folded", &shown(&profile, &decoded));
    let (profile, decoded) = decoder.lines(&body, MEASURE, &Limits::default()).unwrap();
    check("stacks.lines", &shown(&profile, &decoded));
}

#[test]
fn trees_and_tries() {
    let mut decoder = Decoder::new();
    let body = kept("stacks.trie", &trie_body(stacks()));
    let (profile, decoded) = decoder.trie(&body, MEASURE, &Limits::default()).unwrap();
    check("stacks.trie", &shown(&profile, &decoded));
    let body = kept("stacks.tree", &tree_body(stacks(), Siblings::FirstFirst));
    let (profile, decoded) = decoder.tree(&body, MEASURE, &Limits::default()).unwrap();
    check("stacks.tree", &shown(&profile, &decoded));
}

#[test]
fn speedscope() {
    let made = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","version":"0.0.1","name":"by hand",
"profiles":[
{"type":"evented","name":"thread 1","unit":"milliseconds","startValue":0,"endValue":9.5,"events":[
 {"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1.25},{"type":"C","frame":1,"at":4},{"type":"O","frame":2,"at":4}]},
{"type":"sampled","name":"thread 2","unit":"bytes","startValue":0,"endValue":7,"samples":[[0,1],[0,2,3],[]],"weights":[4096,1.5,1.5]}],
"shared":{"frames":[{"name":"main"},{"name":"run","file":"file.py","line":41,"col":2},{"name":"operator()(int)"},{"name":"\u5e27"}]}}
"#;
    let body = kept("threads.speedscope.json", made.as_bytes());
    let mut decoder = Decoder::new();
    let mut file = decoder.speedscope(&body, &Limits::default()).unwrap();
    let mut text = String::new();
    for index in 0..file.len() {
        writeln!(text, "profile {:?} in {}", file.name(index), file.unit(index).word()).unwrap();
        let (profile, decoded) =
            file.decode(index, Measure::plain("weight", ""), &Limits::default()).unwrap();
        text += &shown(&profile, &decoded);
    }
    check("threads.speedscope", &text);
}
