//! Why a body could not be decoded.

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

impl DecodeError {
    /// The bytes are wrong.
    #[cold]
    pub(crate) fn malformed(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { kind: DecodeErrorKind::Malformed, field: field.into(), reason: reason.into() }
    }

    /// A limit was passed.
    #[cold]
    pub(crate) fn too_large(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { kind: DecodeErrorKind::TooLarge, field: field.into(), reason: reason.into() }
    }

    /// Nothing that we read.
    #[cold]
    pub(crate) fn unsupported(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { kind: DecodeErrorKind::Unsupported, field: field.into(), reason: reason.into() }
    }
}
