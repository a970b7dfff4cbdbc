//! Why a profile is missing or looks different.

use serde::{Deserialize, Serialize};

/// Answer to `GET /api/v1/ingest/explain`: what the server remembers since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainReply {
    /// When the server started to count (RFC 3339).
    pub since: String,
    /// Profiles taken in, retries and empty ones included.
    pub accepted: u64,
    /// When the last one was (RFC 3339); empty = none.
    pub accepted_last: String,
    /// Profiles that were refused, latest first.
    pub refused: Vec<ExplainItem>,
    /// Profiles of which a part was changed or left out, or that were passed over, latest first.
    pub altered: Vec<ExplainItem>,
    /// Entries that had to go to keep memory small.
    pub forgotten: u64,
}

/// One reason, for one service and client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainItem {
    /// A word, as in the server's metrics.
    pub reason: String,
    /// Which API: `native`, `profefe`, `ingest` or `push`.
    pub api: String,
    /// The service; empty where it is not known.
    pub service: String,
    /// What the client calls itself; empty where it does not.
    pub client: String,
    /// How often: profiles refused, or parts changed.
    pub count: u64,
    /// When first (RFC 3339).
    pub first: String,
    /// When last (RFC 3339).
    pub last: String,
    /// The sentence that was said last.
    pub example: String,
}
