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
    /// Clients that sent profiles, the one heard of last first.
    pub clients: Vec<ClientItem>,
    /// Clients that had to go to keep memory small.
    pub clients_forgotten: u64,
}

/// A client: one version of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientItem {
    /// Name from `User-Agent`; empty where the client says none.
    pub name: String,
    /// Version from there; may be empty.
    pub version: String,
    /// What it speaks, such as `ingest multipart` or `push grpc`.
    pub speaks: Vec<String>,
    /// Profiles taken in.
    pub accepted: u64,
    /// When the last one was (RFC 3339); empty = none.
    pub accepted_last: String,
    /// Profiles refused.
    pub refused: u64,
    /// When the last one was (RFC 3339); empty = none.
    pub refused_last: String,
    /// Why, in the words that it was told.
    pub refused_example: String,
    /// The service that it spoke of last; may be empty.
    pub service: String,
}

/// One reason, for one service and client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainItem {
    /// A word, as in the server's metrics.
    pub reason: String,
    /// Which way it came: `native`, `profefe`, `ingest`, `push`, `scrape`, …
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
    /// The request that it was said to: method, path and query; empty where there was none.
    pub request: String,
    /// Where a body that this happened to can be had as it was sent; empty where none is kept.
    pub body: String,
    /// Its length in bytes.
    pub body_bytes: u64,
}
