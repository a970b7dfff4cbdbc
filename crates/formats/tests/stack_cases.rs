//! Cases of the case log that are about stacks of names: folded, lines, trees and tries.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use formats::{
    DecodeError, DecodeErrorKind, Decoder, Limits, Measure, SniffedFormat, gzip, looks_folded, sniff_inside,
};
use profile::AlteredReason;
use support::*;
use testkit::{Oracle, proto::Message};

fn folded(text: &[u8]) -> Result<(Vec<(String, i64)>, profile::Altered), DecodeError> {
    stacks_by(Decoder::folded, text)
}

type TextDecoder = for<'a> fn(
    &'a mut Decoder,
    &'a [u8],
    Measure<'_>,
    &Limits,
) -> Result<(profile::Profile<'a>, formats::Decoded), DecodeError>;

fn stacks_by(
    decode: TextDecoder,
    body: &[u8],
) -> Result<(Vec<(String, i64)>, profile::Altered), DecodeError> {
    let mut decoder = Decoder::new();
    let (profile, decoded) =
        decode(&mut decoder, body, Measure::plain("samples", "count"), &Limits::default())?;
    let stacks = Oracle::of(&profile)
        .samples
        .into_iter()
        .map(|(path, values)| {
            (path.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(";"), values[0])
        })
        .collect();
    Ok((stacks, decoded.altered))
}

#[test]
fn c057_folded_comments_blank() {
    let text = b"a;b 1\r\n\n   \n# comment 5\nno count\na;b;c 10\nmain 2 x\n;; 3\nlast;line 4";
    let (stacks, altered) = folded(text).unwrap();
    let expected =
        [("a;b", 1), ("a;b;c", 10), ("last;line", 4)].map(|(stack, value)| (stack.to_owned(), value));
    assert_eq!(stacks, expected);
    assert_eq!(altered.count(AlteredReason::BadLine), 3);
    let error = folded(b"one\ntwo\n").unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Malformed);
    assert!(error.reason.contains("none of 2 lines"), "{error}");
    assert!(folded(b"# only a comment\n\n").is_err());
    assert!(folded(b"").is_err());
}

#[test]
fn c058_text_utf16_bom() {
    let expected = [("första;b".to_owned(), 7)];
    let text = "första;b 7\n";
    let little: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let big: Vec<u8> =
        [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
    let marked: Vec<u8> = [0xef, 0xbb, 0xbf].into_iter().chain(text.bytes()).collect();
    for body in [little, big, marked, text.as_bytes().to_vec()] {
        assert_eq!(folded(&body).unwrap().0, expected);
        assert_eq!(folded(&gzip(&body)).unwrap().0, expected);
    }
}

#[test]
fn c061_line_numbers_in_names() {
    let mut decoder = Decoder::new();
    let text = b"run file.py:41;work (lib/w.py:7) 1\nrun file.py:42;work (lib/w.py:7) 2\n";
    let (profile, _) = decoder.folded(text, Measure::plain("samples", "count"), &Limits::default()).unwrap();
    assert_eq!(profile.columns.functions.len(), 2);
    let names: Vec<_> = profile
        .columns
        .functions
        .iter()
        .map(|function| {
            (profile.text_of(function.name).into_owned(), profile.text_of(function.file).into_owned())
        })
        .collect();
    assert!(names.contains(&("run".to_owned(), "file.py".to_owned())));
    assert!(names.contains(&("work".to_owned(), "lib/w.py".to_owned())));
    let mut lines: Vec<i64> = profile.columns.lines.iter().map(|line| line.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [7, 41, 42]);
}

#[test]
fn lines_are_stacks_of_weight_one() {
    let mut decoder = Decoder::new();
    let (profile, _) = decoder
        .lines(b"a;b\na;b\n\na;c 5\n", Measure::plain("samples", "count"), &Limits::default())
        .unwrap();
    let tree = Oracle::of(&profile).tree(0);
    let frames = |names: [&str; 2]| names.map(|name| (name.to_owned(), String::new())).to_vec();
    assert_eq!(tree[&frames(["a", "b"])], 2);
    assert_eq!(tree[&frames(["a", "c 5"])], 1);
    assert_eq!(profile.text_of(profile.columns.sample_types[0].kind), "samples");
    assert_eq!(profile.text_of(profile.columns.sample_types[0].unit), "count");
}

#[test]
fn folded_stacks_deeper_than_the_limit_keep_the_leaf() {
    let limits = Limits { stack_depth_max: 4, ..Limits::default() };
    let mut decoder = Decoder::new();
    let (profile, decoded) =
        decoder.folded(b"a;b;c;d;e;f 2\na;b;c;d 1\n", Measure::plain("samples", "count"), &limits).unwrap();
    assert_eq!(decoded.altered.count(AlteredReason::StackTooDeep), 1);
    let paths: Vec<String> = Oracle::of(&profile)
        .samples
        .iter()
        .map(|(path, _)| path.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";"))
        .collect();
    assert_eq!(paths, ["(truncated);d;e;f", "a;b;c;d"]);
}

#[test]
fn compressed_text_is_told_from_a_compressed_profile() {
    let raw = small().encode_to_vec();
    let text = b"main;a;b 10\nmain;c 5\n".as_slice();
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 3).unwrap();
    for (inside, format) in [(text, SniffedFormat::Text), (&raw, SniffedFormat::Pprof)] {
        let bodies = [inside.to_vec(), gzip(inside), zstd(inside), gzip(&gzip(inside)), gzip(&zstd(inside))];
        for body in bodies {
            assert_eq!(sniff_inside(&body), format);
        }
    }
    // what is damaged, or nothing known, is left to the decoder
    assert_eq!(sniff_inside(&gzip(text)[..8]), SniffedFormat::Gzip);
    assert_eq!(sniff_inside(&gzip(&[0xf8, 0, 0xf8])), SniffedFormat::Gzip);
}

#[test]
fn folded_stacks_are_told_from_other_text() {
    let long = "main;a frame with blanks;b 10\r\n".repeat(100);
    for stacks in ["main;a 3\nmain;b 4\n", "main 1", "\nmain\t1\n\n", &long] {
        assert!(looks_folded(stacks.as_bytes()) && looks_folded(&gzip(stacks.as_bytes())), "{stacks:?}");
    }
    for other in ["", "\n", "hello world", "<html>\n1 2\n", "main;a\nmain;b\n", "a1\nb2\n", "{\"a\": 1"] {
        assert!(!looks_folded(other.as_bytes()), "{other:?}");
    }
    assert!(!looks_folded(&small().encode_to_vec()));
}

/// Characters that are tags of a profile's fields as well: `java;…` begins like a comment, `2…` like a string.
#[test]
fn text_that_begins_with_a_tag_is_text() {
    let rest =
        "frame.one;Frame.two;another frame with a long name;and one more to pass every length 12\n".repeat(3);
    for first in
        ["java;", "jetty;", "2;", "*Server.Run;", "\"quoted\";", "Zend;", "Z;", "\n", "\n\n", "R;", "x;"]
    {
        let body = format!("{first}{rest}");
        assert_eq!(sniff_inside(body.as_bytes()), SniffedFormat::Text, "{first:?}");
        assert_eq!(sniff_inside(&gzip(body.as_bytes())), SniffedFormat::Text, "{first:?}");
    }
    // A comment first, as a profile that was put together in another order has it.
    let comment_first = [&[0x6a, 1, 1][..], &small().encode_to_vec()].concat();
    assert_eq!(sniff_inside(&comment_first), SniffedFormat::Pprof);
}

#[test]
fn c059_tree_length_attack() {
    let attack = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    for decode in [Decoder::tree as TextDecoder, Decoder::trie] {
        for body in [attack.to_vec(), [&[0, 0, 1][..], &attack].concat(), gzip(&attack)] {
            let error = stacks_by(decode, &body).unwrap_err();
            assert_eq!(error.kind, DecodeErrorKind::Malformed);
            assert!(error.field.ends_with(".name length"), "{error}");
        }
    }
}

#[test]
fn trees_and_tries_are_stacks() {
    let owned = |stacks: &[(&str, i64)]| -> Vec<(String, i64)> {
        stacks.iter().map(|(stack, value)| ((*stack).to_owned(), *value)).collect()
    };
    let tree = b"\x00\x00\x01\x01a\x00\x02\x01b\x01\x00\x01c\x02\x00";
    assert_eq!(stacks_by(Decoder::tree, tree).unwrap().0, owned(&[("a;b", 1), ("a;c", 2)]));
    // "a;" and below it "b", "bc;d" and "c": `b` is a frame of its own and the beginning of another
    let trie = b"\x00\x00\x01\x02a;\x00\x02\x01b\x05\x01\x03c;d\x07\x00\x01c\x02\x00";
    let expected = owned(&[("a;b", 5), ("a;bc;d", 7), ("a;c", 2)]);
    assert_eq!(stacks_by(Decoder::trie, trie).unwrap().0, expected);
    for decode in [Decoder::tree as TextDecoder, Decoder::trie] {
        for empty in [&b""[..], b"\0", b"\0\0\0", b"\0\0\x01\x01a\0\0"] {
            assert_eq!(stacks_by(decode, empty).unwrap().0, []);
        }
        let (stacks, altered) = stacks_by(decode, b"\x00\x04\x00").unwrap();
        assert_eq!((stacks, altered.count(AlteredReason::NoStack)), (owned(&[("", 4)]), 1));
        let huge = [&[0][..], &[0xff; 9], &[1, 0]].concat();
        assert_eq!(stacks_by(decode, &huge).unwrap_err().field, "node[0].self");
    }
}

#[test]
fn c061_line_numbers_in_names_of_trees() {
    let body = testkit::tree_body(
        [(vec![&b"run file.py:41"[..]], 1), (vec![&b"run file.py:42"[..]], 2)],
        testkit::Siblings::FirstFirst,
    );
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.tree(&body, Measure::plain("samples", "count"), &Limits::default()).unwrap();
    assert_eq!((profile.columns.functions.len(), profile.columns.lines.len()), (1, 2));
}
