//! The thread that makes records durable, and the queue in front of it.
//!
//! Order is everything here: a record may use symbols of any record queued before it, so records are written in the
//! order of the queue, and "durable up to N" means all of them up to N. When an append fails, every later record of
//! that generation fails too, because symbols it needs may be missing; the next generation starts clean. When a sync
//! fails, nothing is written any more: the system may have dropped pages of any earlier write. A record that failed is
//! still in the head, so it is on disk after all once its generation is in blocks ([`Log::in_blocks`]).
//!
//! A record that comes alone is synced at once. While records keep coming, syncs keep a distance ([`pause_after`]), so
//! that some share one: a sync takes as much of the processor as a small push.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::{LOG_FOLDER, Marker, file_name, frame};
use crate::{
    StoreError,
    disk::{Disk, DiskFile},
    limits::{SYNC_DISTANCE_MAX, SYNC_SHARE},
};

/// A record on its way to disk.
struct Queued {
    sequence: u64,
    generation: u64,
    raw_length: u32,
    payload: Vec<u8>,
}

/// What waits for the thread.
#[derive(Default)]
struct Queue {
    records: Vec<Queued>,
    /// Bytes of `records`.
    bytes: usize,
    /// Number of the record queued last.
    sequence: u64,
    closing: bool,
    /// Why no more records are taken, and of which generation; `None` there means of any.
    refusal: Option<(Option<u64>, String)>,
}

/// How far the log is.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Every record up to here is on disk or has failed.
    decided: u64,
    /// Records that failed.
    failed: Arc<Vec<Failed>>,
    /// Why the last one failed.
    reason: Arc<str>,
    stats: LogStats,
}

/// Records that are not in the log, with both ends.
#[derive(Clone, Copy, Debug)]
struct Failed {
    generation: u64,
    first: u64,
    last: u64,
}

impl Failed {
    fn has(&self, sequence: u64) -> bool {
        self.first <= sequence && sequence <= self.last
    }
}

/// Which records were on disk at one instant.
pub(crate) struct DurableNow {
    decided: u64,
    failed: Arc<Vec<Failed>>,
}

impl DurableNow {
    /// The last record that is on disk or never will be.
    pub(crate) fn decided(&self) -> u64 {
        self.decided
    }

    /// Whether a record was.
    pub(crate) fn has(&self, sequence: u64) -> bool {
        sequence <= self.decided && !self.failed.iter().any(|failed| failed.has(sequence))
    }
}

/// What the log has done since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogStats {
    /// Bytes appended.
    pub(crate) bytes: u64,
    /// Records appended.
    pub(crate) records: u64,
    /// Calls of `sync_data`.
    pub(crate) syncs: u64,
}

/// The log of a data folder, open for appending.
pub(crate) struct Log {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    progress: watch::Receiver<Progress>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Generations below are in blocks.
    in_blocks_below: AtomicU64,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Starts the thread. `sequence` is the number of the last record that any log file has.
    pub(crate) fn start(disk: Arc<dyn Disk>, sequence: u64) -> io::Result<Self> {
        disk.create_folder(LOG_FOLDER)?;
        let queue = Mutex::new(Queue { sequence, ..Queue::default() });
        let shared = Arc::new(Shared { queue, wake: Condvar::new(), in_blocks_below: AtomicU64::new(0) });
        let (publisher, progress) = watch::channel(Progress { decided: sequence, ..Progress::default() });
        let committer = Committer {
            disk,
            shared: Arc::clone(&shared),
            publisher,
            file: None,
            buffer: Vec::new(),
            resume: None,
        };
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(move || committer.run())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), progress })
    }

    /// Puts a compressed record into the queue and returns its number. Callers hold the lock of the record's partition,
    /// so that records of a partition are queued in the order in which their symbols were given out.
    pub(crate) fn append(&self, generation: u64, raw_length: u32, payload: Vec<u8>) -> u64 {
        let mut queue = self.shared.queue();
        queue.sequence += 1;
        queue.bytes += payload.len();
        let sequence = queue.sequence;
        queue.records.push(Queued { sequence, generation, raw_length, payload });
        // The thread waits for nothing but the first record.
        let is_first = queue.records.len() == 1;
        drop(queue);
        if is_first {
            self.shared.wake.notify_one();
        }
        sequence
    }

    /// Why records of a generation are not taken, if they are not.
    pub(crate) fn refusal(&self, generation: u64) -> Option<String> {
        let queue = self.shared.queue();
        if queue.closing {
            return Some("the log is closed".to_owned());
        }
        let (of, reason) = queue.refusal.as_ref()?;
        of.is_none_or(|of| of == generation).then(|| reason.clone())
    }

    /// Bytes that wait to be written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.shared.queue().bytes
    }

    /// Number of the record queued last.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.shared.queue().sequence
    }

    /// Waits until a record is on disk.
    ///
    /// # Errors
    /// When it is not and will not be before its generation is in blocks.
    pub(crate) async fn durable(&self, sequence: u64) -> Result<(), StoreError> {
        self.decided(sequence, |failed| failed.has(sequence)).await
    }

    /// Waits until every record of a generation up to one is on disk, whatever became of other generations.
    ///
    /// # Errors
    /// When one of them is not.
    pub(crate) async fn durable_in(&self, generation: u64, sequence: u64) -> Result<(), StoreError> {
        self.decided(sequence, |failed| failed.generation == generation && failed.first <= sequence).await
    }

    async fn decided(&self, sequence: u64, has_failed: impl Fn(&Failed) -> bool) -> Result<(), StoreError> {
        let mut progress = self.progress.clone();
        let now = progress.wait_for(|progress| progress.decided >= sequence).await;
        let now = now.map_err(|_| StoreError::Closing)?;
        let in_blocks_below = self.shared.in_blocks_below.load(Ordering::Acquire);
        let mut missing = now.failed.iter().filter(|failed| failed.generation >= in_blocks_below);
        if missing.any(has_failed) {
            return Err(StoreError::Io { what: "log".to_owned(), reason: now.reason.to_string() });
        }
        Ok(())
    }

    /// A generation and all before it are in blocks that the catalogue names: what of them the log could not keep is on
    /// disk all the same.
    pub(crate) fn in_blocks(&self, generation: u64) {
        self.shared.in_blocks_below.fetch_max(generation.saturating_add(1), Ordering::Release);
    }

    /// Which records are on disk now.
    pub(crate) fn durable_now(&self) -> DurableNow {
        let progress = self.progress.borrow();
        DurableNow { decided: progress.decided, failed: Arc::clone(&progress.failed) }
    }

    /// What has been done since start.
    pub(crate) fn stats(&self) -> LogStats {
        self.progress.borrow().stats
    }

    /// Writes what waits and ends the thread.
    pub(crate) fn close(&self) {
        self.shared.queue().closing = true;
        self.shared.wake.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the log's thread has panicked");
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}

/// The thread's own state.
struct Committer {
    disk: Arc<dyn Disk>,
    shared: Arc<Shared>,
    publisher: watch::Sender<Progress>,
    file: Option<OpenFile>,
    buffer: Vec<u8>,
    /// No sync begins before; `None` = at any time.
    resume: Option<Instant>,
}

/// How long after the begin of a sync, which took `taken`, the next one may begin: syncs keep the thread busy for a small
/// share of the time, and no record waits long for company.
fn pause_after(taken: Duration) -> Duration {
    taken.saturating_mul(SYNC_SHARE).min(SYNC_DISTANCE_MAX)
}

/// The log file of a generation.
struct OpenFile {
    generation: u64,
    marker: Marker,
    file: Box<dyn DiskFile>,
}

/// Where writing stopped.
struct Failure {
    error: io::Error,
    /// A sync failed: no file may be trusted any more.
    is_final: bool,
}

impl Committer {
    fn run(mut self) {
        let mut records = Vec::new();
        while self.wait(&mut records) {
            let mut rest = records.as_slice();
            while let Some(first) = rest.first() {
                let length = rest.iter().take_while(|record| record.generation == first.generation).count();
                let (batch, later) = rest.split_at(length);
                self.commit(batch);
                rest = later;
            }
            records.clear();
        }
    }

    /// Waits for records, then until a sync may begin, and takes all; `false` at the end.
    fn wait(&mut self, records: &mut Vec<Queued>) -> bool {
        let mut queue = self.shared.queue();
        while queue.records.is_empty() {
            if queue.closing {
                return false;
            }
            queue = self.shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(resume) = self.resume.take().filter(|_| !queue.closing) {
            drop(queue);
            // Not on the condition: each further record would wake this thread only to go on waiting.
            std::thread::sleep(resume.saturating_duration_since(Instant::now()));
            queue = self.shared.queue();
        }
        std::mem::swap(&mut queue.records, records);
        queue.bytes = 0;
        true
    }

    /// Writes and syncs records of one generation, and says so.
    fn commit(&mut self, batch: &[Queued]) {
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return };
        let refusal = {
            let mut queue = self.shared.queue();
            // A failed append ends with its generation; a failed sync never does.
            if queue.refusal.as_ref().is_some_and(|(of, _)| of.is_some_and(|of| of != first.generation)) {
                queue.refusal = None;
            }
            queue.refusal.as_ref().map(|(_, reason)| reason.clone())
        };
        let failed = match refusal {
            Some(reason) => Some(reason),
            None => self.write(batch).err().map(|failure| self.refuse(first.generation, &failure)),
        };
        let bytes = self.buffer.len() as u64;
        self.publisher.send_modify(|progress| {
            progress.decided = last.sequence;
            match failed {
                None => {
                    progress.stats.bytes += bytes;
                    progress.stats.records += batch.len() as u64;
                    progress.stats.syncs += 1;
                }
                Some(reason) => {
                    Arc::make_mut(&mut progress.failed).push(Failed {
                        generation: first.generation,
                        first: first.sequence,
                        last: last.sequence,
                    });
                    progress.reason = reason.into();
                }
            }
        });
    }

    fn refuse(&mut self, generation: u64, failure: &Failure) -> String {
        let reason = format!("{}: {}", file_name(generation), failure.error);
        tracing::error!(file = file_name(generation), error = %failure.error, "log not written");
        self.file = None;
        let of = (!failure.is_final).then_some(generation);
        self.shared.queue().refusal = Some((of, reason.clone()));
        reason
    }

    fn write(&mut self, batch: &[Queued]) -> Result<(), Failure> {
        let Some(first) = batch.first() else { return Ok(()) };
        self.buffer.clear();
        let recoverable = |error| Failure { error, is_final: false };
        let known = self.file.take().filter(|known| known.generation == first.generation);
        let is_new = known.is_none();
        let open = match known {
            Some(known) => self.file.insert(known),
            None => {
                let file = self.disk.create(&file_name(first.generation)).map_err(recoverable)?;
                let (generation, marker) = (first.generation, frame::random_marker());
                self.buffer.extend_from_slice(&frame::file_header(generation, marker));
                self.file.insert(OpenFile { generation, marker, file })
            }
        };
        for record in batch {
            frame::write_frame(
                &mut self.buffer,
                open.marker,
                record.sequence,
                record.raw_length,
                &record.payload,
            );
        }
        let file = &mut open.file;
        file.append(&self.buffer).map_err(recoverable)?;
        let last = |error| Failure { error, is_final: true };
        let begun = Instant::now();
        file.sync_data().map_err(last)?;
        self.resume = Some(begun + pause_after(begun.elapsed()));
        if is_new {
            self.disk.sync_dir(LOG_FOLDER).map_err(last)?;
        }
        // Some µs beside a sync. Only with its name is the file there for the next start.
        if !file.has_name().map_err(last)? {
            let reason = "the file was removed while it was in use, so pushes are refused: what is written to it would \
                          be lost. Start again";
            return Err(last(io::Error::new(io::ErrorKind::NotFound, reason)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_keep_a_distance_that_is_bounded_and_small_on_a_fast_disk() {
        assert_eq!(pause_after(Duration::from_micros(10)), Duration::from_micros(200));
        assert_eq!(pause_after(Duration::from_millis(30)), SYNC_DISTANCE_MAX);
        assert_eq!(pause_after(Duration::MAX), SYNC_DISTANCE_MAX);
    }
}
