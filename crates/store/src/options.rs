//! How a store is opened, and what it says of itself.

use std::{path::PathBuf, time::Duration};

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

impl StoreOptions {
    /// Nothing becomes a block, is refused or goes by itself: what tests, benches and fuzzers open, which say when.
    #[must_use]
    pub fn by_hand(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            retention_bytes: 0,
            retention: None,
            free_bytes_min: 0,
            flush_interval: Duration::from_secs(365 * 86_400),
            flush_bytes: u64::MAX,
        }
    }
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
    /// Blocks that were found not to be readable.
    pub blocks_unreadable: u64,
    /// Bytes of all blocks.
    pub block_bytes: u64,
    /// Flushes since start.
    pub flushes: u64,
    /// Blocks dropped by retention since start.
    pub blocks_dropped: u64,
    /// Free bytes of the file system at the last look.
    pub free_bytes: u64,
}
