//! A small pprof profile to change, and short ways to decode one.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(dead_code, reason = "each test file uses a part")]

use formats::{DecodeError, Decoder, Limits};
use testkit::{
    Plain,
    proto::{Function, Line, Location, Message, Profile, Sample, ValueType},
};

/// `root` calls `leaf`: two functions, two locations, one sample of value 1, all indices in order.
pub fn small() -> Profile {
    let strings = ["", "samples", "count", "root", "leaf", "file.c", "key", "text"];
    Profile {
        sample_type: vec![ValueType { r#type: 1, unit: 2 }],
        sample: vec![Sample { location_id: vec![2, 1], value: vec![1], label: vec![] }],
        mapping: vec![],
        location: (1..=2)
            .map(|id| Location {
                id,
                line: vec![Line { function_id: id, line: 5, column: 0 }],
                ..Location::default()
            })
            .collect(),
        function: vec![
            Function { id: 1, name: 3, filename: 5, ..Function::default() },
            Function { id: 2, name: 4, filename: 5, ..Function::default() },
        ],
        string_table: strings.iter().map(|text| text.as_bytes().to_vec()).collect(),
        time_nanos: 1_700_000_000_000_000_000,
        ..Profile::default()
    }
}

pub fn string(profile: &mut Profile, text: impl AsRef<[u8]>) -> i64 {
    profile.string_table.push(text.as_ref().to_vec());
    profile.string_table.len() as i64 - 1
}

pub fn decode(body: &[u8]) -> Result<(Plain, profile::Altered), DecodeError> {
    Decoder::new()
        .pprof(body, &Limits::default())
        .map(|(profile, decoded)| (Plain::of(&profile), decoded.altered))
}

pub fn good(profile: &Profile) -> (Plain, profile::Altered) {
    decode(&profile.encode_to_vec()).unwrap()
}

pub fn bad(profile: &Profile) -> DecodeError {
    decode(&profile.encode_to_vec()).unwrap_err()
}
