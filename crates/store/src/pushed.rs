//! What is handed to the store, and what it answers.

use profile::{LabelSet, Profile, ProfileId, Temporality, Tenant, Timestamp};

/// A profile to keep.
#[derive(Clone, Debug)]
pub struct NewProfile<'a> {
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// Labels of the series with `service_name`, without `__name__`.
    pub labels: LabelSet,
    /// Profile name, `process_cpu`.
    pub name: &'a str,
    /// How values relate along time; `Cumulative` is turned into delta here (D8).
    pub temporality: Temporality,
    /// The decoded profile.
    pub profile: Profile<'a>,
    /// The bytes that the digest of the id runs over: the inflated body (D2).
    pub digest_bytes: &'a [u8],
    /// Start: the body's own time, else the client's, else the receive time (D2, D11: already checked).
    pub time: Timestamp,
    /// Whether `time` was said by body or client; if not, a retry within 10 minutes is known by its digest alone (D2).
    pub time_is_stated: bool,
    /// An id that the client gave and that is to be kept, where its protocol has one.
    pub id: Option<ProfileId>,
}

/// An upload that is kept whole and not understood, such as a Go execution trace (D4).
#[derive(Clone, Debug)]
pub struct NewAttachment<'a> {
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// Labels with `service_name`.
    pub labels: LabelSet,
    /// What it is: `trace`.
    pub kind: &'a str,
    /// When it was taken.
    pub time: Timestamp,
    /// The bytes as sent.
    pub body: &'a [u8],
}

/// A kept attachment.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Its id, by the rule of profiles.
    pub id: ProfileId,
    /// Labels with `service_name`.
    pub labels: LabelSet,
    /// What it is.
    pub kind: String,
    /// When it was taken.
    pub time: Timestamp,
    /// Size, bytes.
    pub length: u64,
}

/// What became of a push that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// New and kept.
    Stored,
    /// The same profile is there already; nothing was added (C097).
    Duplicate,
    /// It had no samples; nothing was kept (C007).
    Empty,
    /// First cumulative profile of its series: kept as the baseline of the next, nothing to show yet (D8).
    Baseline,
}

/// Stands for a place in the log; [`Store::durable`] waits until it is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A push that was taken in; not yet to be acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// Id of the profile.
    pub id: ProfileId,
    /// What became of it.
    pub outcome: Outcome,
    /// What to wait for before the acknowledgement.
    pub ticket: Ticket,
}

/// Why a push was refused.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The client's fault: names the field and the reason (400).
    #[error("{field}: {reason}")]
    Invalid {
        /// What is wrong.
        field: String,
        /// Why.
        reason: String,
    },
    /// Too much for now; try again after the time given (503).
    #[error("{reason}; try again in {retry_after_seconds} s")]
    Overloaded {
        /// Why.
        reason: String,
        /// When to try again.
        retry_after_seconds: u32,
    },
    /// The store takes no writes: disk nearly full, or closing (503).
    #[error("read-only: {reason}")]
    ReadOnly {
        /// Why.
        reason: String,
    },
}
