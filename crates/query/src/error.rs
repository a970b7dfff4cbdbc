//! Why a query has no answer. Status codes are the API's.

/// Result of every query.
pub type QueryResult<T> = Result<crate::Answer<T>, QueryError>;

/// Why a query has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The question is wrong: names the field and the reason (400).
    #[error("{field}: {reason}")]
    Invalid {
        /// Which part of the question.
        field: String,
        /// Why.
        reason: String,
    },
    /// A short form fits several types (400 that lists them, D24).
    #[error("{short:?} fits several profile types: {}", candidates.join(", "))]
    Ambiguous {
        /// What was asked.
        short: String,
        /// What it fits.
        candidates: Vec<String>,
    },
    /// A sum does not fit in 64 bits (D5).
    #[error("the sum over the selection does not fit in a signed 64-bit number; choose a smaller range")]
    Overflow,
    /// The query would read more than it may.
    #[error("the query reads more than {limit} bytes; choose a smaller range or more labels")]
    Budget {
        /// The limit in bytes.
        limit: u64,
    },
    /// The deadline has passed.
    #[error("the query did not end in time")]
    Deadline,
    /// The client has gone.
    #[error("the client went away")]
    Cancelled,
    /// Not found by its id or name.
    #[error("{0} not found")]
    NotFound(String),
    /// Stored data cannot be read.
    #[error(transparent)]
    Block(#[from] block::BlockError),
}

impl QueryError {
    /// Whether a block went while it was read: asked again, the question has an answer.
    #[must_use]
    pub fn is_of_dropped_block(&self) -> bool {
        matches!(self, Self::Block(block::BlockError::Dropped { .. }))
    }

    /// An [`QueryError::Invalid`].
    pub(crate) fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), reason: reason.into() }
    }
}
