//! Every limit of this crate, with its unit and its reason.

use std::time::Duration;

/// Largest log record before compression, bytes: a body of 256 MiB after inflation becomes rows and symbols of at most
/// about its own size; the rest is room.
pub(crate) const LOG_RECORD_BYTES_MAX: usize = 512 << 20;

/// Records that may wait for the disk, bytes. A disk that takes 100 MB/s is behind by less than a second then; more
/// waiting would only hide that it is too slow.
pub(crate) const LOG_WAITING_BYTES_MAX: usize = 64 << 20;

/// Syncs of the log begin at least so far from each other while records keep coming, so that some share one. Far below
/// what a client notices and what a sync of a slow disk takes.
pub(crate) const SYNC_DISTANCE_MAX: Duration = Duration::from_millis(5);

/// The distance is this many times what a sync takes, where that is less: a disk that syncs in no time needs none.
pub(crate) const SYNC_SHARE: u32 = 20;

/// Heads may grow to this many times `flush_bytes` while a flush is under way, before pushes are refused.
pub(crate) const HEAD_FLUSHES_MAX: u64 = 3;

/// Heads of this size never make a push be refused, however small `flush_bytes` is: so much is always there. Bytes.
pub(crate) const HEAD_BYTES_FREE: u64 = 16 << 20;

/// How long a push without a time of its own is recognised by its digest alone (D2).
pub(crate) const DIGEST_MEMORY: Duration = Duration::from_secs(600);

/// Digests of pushes without a time that are remembered; at 100 bytes each that is 10 MB. Beyond it the oldest go.
pub(crate) const DIGESTS_MAX: usize = 100_000;

/// A baseline that has not moved for this long is dropped with the next flush: its process is gone.
pub(crate) const BASELINE_AGE_MAX: Duration = Duration::from_secs(2 * 3600);

/// Symbols of one partition; ids are 32 bits, and one body adds at most 2²⁸ nodes.
pub(crate) const PARTITION_SYMBOLS_MAX: u32 = 1 << 30;

/// What a client is told to wait before it tries again, seconds: a flush takes about that long.
pub(crate) const RETRY_AFTER_SECONDS: u32 = 1;

/// Decoded block symbols and profile lists that are kept for the next query, bytes.
pub(crate) const BLOCK_CACHE_BYTES: u64 = 64 << 20;

/// How often free space, age of the head and retention are looked at.
pub(crate) const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

/// How often free space is looked at while nothing is pushed: others may fill the disk too, but the first push after they
/// did fits into what is kept free.
pub(crate) const QUIET_LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// How long a failed flush waits before it is tried again.
pub(crate) const FLUSH_RETRY: Duration = Duration::from_secs(5);

/// Of the files that the system lets the process have open, one in so many may be a block's; the rest is for sockets,
/// the log and a flush.
pub(crate) const BLOCK_FILES_SHARE: usize = 4;

/// Files of blocks that stay open, however many the system grants. More save an `open` (some µs) per chunk that is read.
pub(crate) const BLOCK_FILES_MAX: usize = 1024;

/// How long an ad hoc upload is kept: a month is enough to come back to it, and nobody removes them by hand.
pub(crate) const AD_HOC_AGE_MAX: Duration = Duration::from_secs(30 * 86_400);

/// How often documents are looked through for those that are too old.
pub(crate) const DOCUMENTS_INTERVAL: Duration = Duration::from_secs(3600);

/// Blocks of one flush that are written at once, each waiting for a disk that syncs many files in the time of one.
pub(crate) const FLUSH_BLOCKS_AT_ONCE: usize = 16;

/// Bytes of blocks that are encoded and wait to be written; one that is larger goes alone.
pub(crate) const FLUSH_WAITING_BYTES: u32 = 16 << 20;
