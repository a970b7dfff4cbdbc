//! Why a body could not be decoded.

use crate::work;

/// What went wrong, by the status an API answers with (R4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// The bytes are not what they should be (400; 422 on `/ingest`).
    Malformed,
    /// A size limit was passed (413).
    TooLarge,
    /// Inflating passes the limit (413); with a larger limit it may go on.
    InflatesTooFar,
    /// A compression or format that is not known (415).
    Unsupported,
    /// Other bodies hold the memory that this one needs (503).
    NoMemory,
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

impl DecodeError {
    /// The bytes are wrong.
    pub(crate) fn malformed(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(DecodeErrorKind::Malformed, field.into(), reason.into())
    }

    /// A limit was passed.
    pub(crate) fn too_large(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(DecodeErrorKind::TooLarge, field.into(), reason.into())
    }

    /// The limit of inflated bytes was passed.
    pub(crate) fn inflates_too_far(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(DecodeErrorKind::InflatesTooFar, field.into(), reason.into())
    }

    /// Nothing that we read.
    pub(crate) fn unsupported(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(DecodeErrorKind::Unsupported, field.into(), reason.into())
    }

    /// Too much for now.
    pub(crate) fn no_memory(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(DecodeErrorKind::NoMemory, field.into(), reason.into())
    }

    /// Counted as work: an error is dear beside the byte or two that may cause it, so a decoder makes few of them.
    #[cold]
    fn new(kind: DecodeErrorKind, field: String, reason: String) -> Self {
        work::count(field.len() + reason.len());
        Self { kind, field, reason }
    }
}
