//! Wire formats of profiles: one folder per format, bytes in, [`profile::Columns`] out, and back.
//!
//! Decoders are pure functions of bytes and [`Limits`]; what they accept although it is odd, and what they refuse, is in
//! each folder's `LENIENCY.md` with case ids.
//!
//! Not here: storage, HTTP, how profile types are named on each API (`api`).

mod budget;
mod decoder;
mod error;
mod folded;
mod inflate;
pub mod limits;
mod measure;
mod pprof;
mod sniff;
mod speedscope;
mod stacks;
mod tree;
mod trie;
mod work;

pub use budget::TableMemory;
pub use decoder::{Decoded, Decoder, Inflated};
pub use error::{DecodeError, DecodeErrorKind};
pub use inflate::{gzip, looks_folded, sniff_inside};
pub use limits::Limits;
pub use measure::{Measure, Scale};
pub use pprof::encode_pprof;
pub use sniff::{SniffedFormat, sniff};
pub use speedscope::{Speedscope, SpeedscopeUnit};
pub use tree::{TreeReader, TreeRecord, write_tree};
pub use work::take_work;
