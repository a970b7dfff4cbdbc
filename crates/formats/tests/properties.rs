//! Laws that hold for every valid profile.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use formats::{Decoder, Limits, Measure, TreeReader, encode_pprof, gzip, write_tree};
use proptest::prelude::*;
use testkit::{Oracle, OracleTree, Plain, Siblings, arbitrary, tree_body, trie_body};

/// Stacks of names as they may stand in every format of stacks, with their values.
fn stacks() -> impl Strategy<Value = Vec<(Vec<String>, u64)>> {
    // few letters, so that names and stacks meet; no file and line, no separators
    let frame = "[abé帧.(*)]{1,4}";
    let stack = (proptest::collection::vec(frame, 1..6), 1_u64..1_000_000);
    proptest::collection::vec(stack, 1..40)
}

/// Frames as bytes.
fn bytes_of(stacks: &[(Vec<String>, u64)]) -> impl Iterator<Item = (Vec<&[u8]>, u64)> {
    stacks.iter().map(|(frames, value)| (frames.iter().map(String::as_bytes).collect(), *value))
}

/// What every decoder of stacks must find.
fn expected(stacks: &[(Vec<String>, u64)]) -> OracleTree {
    let mut tree = OracleTree::new();
    for (frames, value) in stacks {
        let path = frames.iter().map(|name| (name.clone(), String::new())).collect();
        *tree.entry(path).or_default() += i64::try_from(*value).unwrap();
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoding_what_was_encoded_gives_the_same_profile(profile in arbitrary::profile()) {
        let encoded = encode_pprof(&profile.view());
        let mut decoder = Decoder::new();
        let (decoded, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
        prop_assert_eq!(Plain::of(&decoded), Plain::of(&profile.view()));
    }

    #[test]
    fn compression_changes_nothing(profile in arbitrary::profile()) {
        let encoded = encode_pprof(&profile.view());
        let mut decoder = Decoder::new();
        let (decoded, _) = decoder.pprof(&gzip(&encoded), &Limits::default()).map(|(p, d)| (Plain::of(&p), d)).unwrap();
        prop_assert_eq!(decoded, Plain::of(&profile.view()));
    }

    #[test]
    fn an_independent_reader_sees_the_same_stacks(profile in arbitrary::profile()) {
        let encoded = encode_pprof(&profile.view());
        prop_assert_eq!(Oracle::read(&encoded).unwrap(), Oracle::of(&profile.view()));
    }

    #[test]
    fn encoding_twice_gives_the_same_bytes(profile in arbitrary::profile()) {
        let encoded = encode_pprof(&profile.view());
        let mut decoder = Decoder::new();
        let (decoded, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
        prop_assert_eq!(encode_pprof(&decoded), encoded);
    }

    #[test]
    fn every_format_of_stacks_gives_the_stacks_that_were_written(stacks in stacks()) {
        let limits = Limits::default();
        let expected = expected(&stacks);
        let mut decoder = Decoder::new();
        let mut folded = String::new();
        for (frames, value) in &stacks {
            folded += &format!("{} {value}\n", frames.join(";"));
        }
        let (profile, _) = decoder.folded(folded.as_bytes(), Measure::plain("samples", "count"), &limits).unwrap();
        prop_assert_eq!(Oracle::of(&profile).tree(0), expected.clone());
        for order in [Siblings::FirstFirst, Siblings::LastFirst] {
            let body = tree_body(bytes_of(&stacks), order);
            let (profile, _) = decoder.tree(&body, Measure::plain("samples", "count"), &limits).unwrap();
            prop_assert_eq!(Oracle::of(&profile).tree(0), expected.clone());
            let records: Vec<_> = TreeReader::new(&body).map(Result::unwrap).collect();
            prop_assert_eq!(write_tree(records), body);
        }
        let body = gzip(&trie_body(bytes_of(&stacks)));
        let (profile, _) = decoder.trie(&body, Measure::plain("samples", "count"), &limits).unwrap();
        prop_assert_eq!(Oracle::of(&profile).tree(0), expected);
    }
}
