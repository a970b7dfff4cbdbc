//! What is scraped and how that goes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Answer to `GET /api/v1/targets`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetsReply {
    /// Jobs, in the order of the configuration.
    pub jobs: Vec<JobItem>,
    /// What is scraped: one entry for each target and kind.
    pub targets: Vec<TargetItem>,
    /// What is not: dropped by a rule, or not usable. The first few hundred of each job.
    pub unused: Vec<UnusedTargetItem>,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobItem {
    /// `job_name`.
    pub name: String,
    /// Targets and kinds that are scraped.
    pub targets: u64,
    /// Targets and kinds that a rule drops.
    pub dropped: u64,
    /// Targets and kinds that cannot be scraped.
    pub unusable: u64,
    /// Where its targets come from.
    pub discoveries: Vec<DiscoveryItem>,
}

/// One source of targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryItem {
    /// `static`, `file`, `http` or `dns`.
    pub kind: String,
    /// Addresses that it names.
    pub targets: u64,
    /// When it was asked last (RFC 3339); empty = not yet.
    pub last: String,
    /// What went wrong then; empty = nothing.
    pub error: String,
}

/// A target and kind that is scraped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetItem {
    /// `job_name`.
    pub job: String,
    /// The kind, as in the configuration.
    pub kind: String,
    /// Profile name that is stored.
    pub name: String,
    /// What is asked.
    pub url: String,
    /// Labels that are stored.
    pub labels: BTreeMap<String, String>,
    /// Labels before relabelling.
    pub discovered: BTreeMap<String, String>,
    /// `up`, `down`, or `unknown` before the first scrape has ended.
    pub health: String,
    /// Seconds between two scrapes.
    pub interval_seconds: f64,
    /// Seconds after which a scrape is given up.
    pub timeout_seconds: f64,
    /// When the last scrape began (RFC 3339); empty = none has ended.
    pub last: String,
    /// How long it took, seconds.
    pub duration_seconds: f64,
    /// Bytes that it received.
    pub bytes: u64,
    /// What became of it: `stored`, `baseline`, `empty`, `duplicate`, or the kind of failure; empty before the first.
    pub outcome: String,
    /// What went wrong, in words; empty = nothing.
    pub error: String,
    /// Scrapes that have ended.
    pub scrapes: u64,
    /// Those of them that brought nothing.
    pub failures: u64,
}

/// A target and kind that is not scraped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedTargetItem {
    /// `job_name`.
    pub job: String,
    /// The kind, as in the configuration.
    pub kind: String,
    /// Labels before relabelling.
    pub discovered: BTreeMap<String, String>,
    /// Why it cannot be scraped; empty where a rule drops it.
    pub error: String,
}
