//! Answers to a push.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What became of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PushOutcome {
    /// New and on disk.
    Stored,
    /// The same profile was there already; nothing was added.
    Duplicate,
    /// It had no samples; nothing was kept.
    Empty,
    /// First cumulative profile of its series: kept as the baseline of the next, nothing to show yet.
    Baseline,
}

/// Answer to `POST /api/v1/push`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushReply {
    /// What became of the profiles in the body, in their order.
    pub profiles: Vec<PushedProfile>,
}

/// One profile that was taken in and is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedProfile {
    /// Its id.
    pub id: String,
    /// What became of it.
    pub outcome: PushOutcome,
    /// Profile name.
    pub name: String,
    /// Its profile types, one per value column; empty for an upload that is kept whole.
    pub types: Vec<String>,
    /// Labels as stored.
    pub labels: BTreeMap<String, String>,
    /// Start (RFC 3339).
    pub time: String,
    /// What was changed or left out, by reason.
    pub altered: BTreeMap<String, u64>,
}
