//! The store's face: what callers may rely on.

use std::{path::PathBuf, sync::Arc, time::Duration};

use block::Dataset;
use profile::{LabelSet, Profile, ProfileId, Temporality, Tenant, TimeRange, Timestamp};

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Folder of all data and scratch files (C109).
    pub data_dir: PathBuf,
    /// Oldest blocks go when all blocks together are larger, bytes (D27); 0 = never.
    pub retention_bytes: u64,
    /// Blocks whose data and arrival are older go (D13); `None` = never.
    pub retention: Option<Duration>,
    /// Pushes are refused while the file system has less free space, bytes (D27).
    pub free_bytes_min: u64,
    /// The head becomes blocks at this age.
    pub flush_interval: Duration,
    /// The head becomes blocks when it holds this much, bytes.
    pub flush_bytes: u64,
}

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

/// Why the store could not do its work.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the data folder (D21).
    #[error("{folder} is in use by process {holder}; stop it or choose another --data-dir")]
    Locked {
        /// The folder.
        folder: String,
        /// Process id or "unknown".
        holder: String,
    },
    /// Reading or writing failed.
    #[error("{what}: {reason}")]
    Io {
        /// File or step.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// Stored bytes are damaged.
    #[error(transparent)]
    Block(#[from] block::BlockError),
    /// Closed while waiting.
    #[error("the store is closing")]
    Closing,
}

/// Whether pushes are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// Reads and writes.
    Ready,
    /// Reads only, with the reason.
    ReadOnly(String),
    /// Going down.
    Closing,
}

/// Counters and sizes for metrics and for the whole-server bench.
#[derive(Clone, Debug, Default)]
pub struct StoreStats {
    /// Profiles kept since start.
    pub profiles: u64,
    /// Pushes recognised as retries since start.
    pub duplicates: u64,
    /// Bytes appended to the log since start.
    pub log_bytes: u64,
    /// Records appended to the log since start.
    pub log_records: u64,
    /// Calls of fdatasync on the log since start.
    pub log_syncs: u64,
    /// Bytes held by heads, estimated.
    pub head_bytes: u64,
    /// Profiles in heads.
    pub head_profiles: u64,
    /// Blocks in the catalogue.
    pub blocks: u64,
    /// Bytes of all blocks.
    pub block_bytes: u64,
    /// Flushes since start.
    pub flushes: u64,
    /// Blocks dropped by retention since start.
    pub blocks_dropped: u64,
    /// Free bytes of the file system at the last look.
    pub free_bytes: u64,
}

/// A tenant's data at one instant.
#[derive(Clone)]
pub struct View {
    /// Heads and block datasets that touch the range; each profile is in exactly one.
    pub datasets: Vec<Arc<dyn Dataset>>,
}

/// The store of one data folder. See the functions for what each promises.
pub struct Store {
    _private: (),
}

impl Store {
    /// Opens or creates the folder, recovers what was acknowledged, and starts flushing in the background (on the
    /// current Tokio runtime).
    ///
    /// # Errors
    /// When the folder is held by another process or cannot be read.
    pub async fn open(options: StoreOptions) -> Result<Arc<Self>, StoreError> {
        let _ = options;
        todo!()
    }

    /// Interns a profile and hands its record to the log: CPU work without waiting, visible to the next view.
    /// Several threads may call at once.
    ///
    /// # Errors
    /// When the profile is refused; nothing is kept then.
    pub fn push(&self, new: &NewProfile<'_>) -> Result<Accepted, PushError> {
        let _ = new;
        todo!()
    }

    /// Like [`Store::push`] for an upload that is kept whole.
    ///
    /// # Errors
    /// When it is refused.
    pub fn push_attachment(&self, new: &NewAttachment<'_>) -> Result<Accepted, PushError> {
        let _ = new;
        todo!()
    }

    /// Waits until the log is on disk up to the ticket. Only then may a push be acknowledged.
    ///
    /// # Errors
    /// When writing failed: what waits was not kept for sure, and the store takes no more writes.
    pub async fn durable(&self, ticket: Ticket) -> Result<(), StoreError> {
        let _ = ticket;
        todo!()
    }

    /// The tenant's data at this instant. Waits for no push and makes none wait.
    #[must_use]
    pub fn view(&self, tenant: &Tenant, range: TimeRange) -> View {
        let _ = (tenant, range);
        todo!()
    }

    /// The tenant's attachments of a range, sorted by time.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn attachments(&self, tenant: &Tenant, range: TimeRange) -> Result<Vec<Attachment>, StoreError> {
        let _ = (tenant, range);
        todo!()
    }

    /// The bytes of an attachment; `None` where there is none of that id.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn attachment_body(&self, tenant: &Tenant, id: ProfileId) -> Result<Option<Vec<u8>>, StoreError> {
        let _ = (tenant, id);
        todo!()
    }

    /// Turns the head into blocks now and waits until they are in the catalogue.
    ///
    /// # Errors
    /// When writing fails; nothing is lost then, the log is still there.
    pub async fn flush(&self) -> Result<(), StoreError> {
        todo!()
    }

    /// Refuses further pushes, makes everything durable and stops the background work.
    ///
    /// # Errors
    /// When the last sync fails.
    pub async fn close(&self) -> Result<(), StoreError> {
        todo!()
    }

    /// Whether pushes are taken.
    #[must_use]
    pub fn state(&self) -> StoreState {
        todo!()
    }

    /// Counters and sizes.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        todo!()
    }
}
