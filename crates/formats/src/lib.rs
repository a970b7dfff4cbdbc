//! Wire formats of profiles: one folder per format, bytes in, [`profile::Columns`] out, and back.
//!
//! Decoders are pure functions of bytes and [`Limits`]; what they accept although it is odd, and what they refuse, is in
//! each folder's `LENIENCY.md` with case ids.
//!
//! Not here: storage, HTTP, how profile types are named on each API (`api`).

mod contract;

pub use contract::{
    DecodeError, DecodeErrorKind, Decoded, Decoder, Inflated, Limits, SniffedFormat, encode_pprof, gzip,
    sniff,
};
