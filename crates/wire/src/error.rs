//! The shape of every error.

use serde::{Deserialize, Serialize};

/// Why a request has no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReply {
    /// A word of a bounded set, as Connect names them: `invalid_argument`, `not_found`, `unavailable`, …
    pub code: String,
    /// A sentence for people, the field's name included.
    pub message: String,
    /// The parameter, label or field that is wrong; empty where none is.
    #[serde(default)]
    pub field: String,
}
