//! Laws that hold for every valid profile.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use formats::{Decoder, Limits, encode_pprof, gzip};
use proptest::prelude::*;
use testkit::{Oracle, Plain, arbitrary};

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
}
