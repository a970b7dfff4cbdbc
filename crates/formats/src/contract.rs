//! The crate's face: what callers may rely on.

use profile::{Altered, Columns, Profile};

/// What a decoder may use at most. Each number has its reason beside it in `limits.rs`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body as received.
    pub body_bytes_max: usize,
    /// Bytes of a body after inflation.
    pub inflated_bytes_max: usize,
    /// Frames of one stack; deeper ones lose frames at the root (C026).
    pub stack_depth_max: usize,
    /// Bytes of one string; longer ones lose their head.
    pub string_bytes_max: usize,
    /// Refuse names that are no valid UTF-8 instead of keeping their bytes (C011).
    pub strict_utf8: bool,
    /// Keep negative values: the profile is a difference (C009).
    pub keep_negative: bool,
}

/// What went wrong, by the status an API answers with (R4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// The bytes are not what they should be (400; 422 on `/ingest`).
    Malformed,
    /// A size limit was passed (413).
    TooLarge,
    /// A compression or format that is not known (415).
    Unsupported,
}

/// Why a body could not be decoded: the field (with its index where it has one) and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct DecodeError {
    /// What kind of error.
    pub kind: DecodeErrorKind,
    /// `string_table[0]`, `sample[3].location_id[1]`, `gzip`, …
    pub field: String,
    /// Why, with offset, limit and actual where they help.
    pub reason: String,
}

/// What the first bytes say a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SniffedFormat {
    /// gzip members.
    Gzip,
    /// A zstd frame.
    Zstd,
    /// Most likely a protobuf profile.
    Pprof,
    /// A Go execution trace.
    GoTrace,
    /// A text dump of goroutines or threads (C020).
    GoTextDump,
    /// A JFR recording.
    Jfr,
    /// Text (folded stacks, …), with or without byte-order mark.
    Text,
    /// Nothing known.
    Unknown,
}

/// Looks at the first bytes.
#[must_use]
pub fn sniff(bytes: &[u8]) -> SniffedFormat {
    let _ = bytes;
    todo!()
}

/// A body after inflation.
#[derive(Clone, Copy, Debug)]
pub struct Inflated<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
}

/// What a decoder found.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// What was changed or left out.
    pub altered: Altered,
}

/// Inflates and decodes bodies one after the other, reusing all memory. One per worker thread.
#[derive(Default)]
pub struct Decoder {
    columns: Columns,
    inflated: Vec<u8>,
}

impl Decoder {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inflates a body by what its first bytes say: gzip (all members), zstd, or as it is. Nested compression is
    /// inflated at most once more. The bytes stay in the decoder until the next call.
    ///
    /// # Errors
    /// For corrupt, truncated and too large bodies.
    pub fn inflate<'a>(&'a mut self, body: &'a [u8], limits: &Limits) -> Result<Inflated<'a>, DecodeError> {
        let _ = (body, limits);
        todo!()
    }

    /// Inflates and decodes a pprof body. The profile borrows from the decoder and, where nothing was inflated, from
    /// the body; `Profile::text` is the inflated body.
    ///
    /// # Errors
    /// Names field, index and reason.
    pub fn pprof<'a>(
        &'a mut self,
        body: &'a [u8],
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        let _ = (body, limits, &self.columns, &self.inflated);
        todo!()
    }

    /// Decodes folded stacks, `root;…;leaf 42` per line; every line without a count is counted and skipped (C057).
    /// UTF-8 or UTF-16 with byte-order mark (C058). The one column has the given type and unit.
    ///
    /// # Errors
    /// When no line is good.
    pub fn folded<'a>(
        &'a mut self,
        body: &'a [u8],
        sample_type: &str,
        sample_unit: &str,
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        let _ = (body, sample_type, sample_unit, limits);
        todo!()
    }

    /// Decodes Pyroscope's `lines` format: each line is a stack of weight 1.
    ///
    /// # Errors
    /// When no line is good.
    pub fn lines<'a>(
        &'a mut self,
        body: &'a [u8],
        sample_type: &str,
        sample_unit: &str,
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        let _ = (body, sample_type, sample_unit, limits);
        todo!()
    }
}

/// Writes a profile as pprof (not compressed): index 0 of the string table is empty, ids are dense, every string once.
#[must_use]
pub fn encode_pprof(profile: &Profile<'_>) -> Vec<u8> {
    let _ = profile;
    todo!()
}

/// Compresses with gzip (for pprof downloads).
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let _ = bytes;
    todo!()
}
