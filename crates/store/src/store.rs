//! The store of one data folder: opening, closing, and the state that all its parts share.
//!
//! ```text
//! push ──► live generation ──► log            view ──► one Arc of { live, sealed, blocks }
//!              │ seal                                      ▲
//!              ▼                                           │ replaced whole
//!          sealed generation ──► blocks ──► catalogue ─────┘
//! ```

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use profile::{LabelSet, ProfileId, Tenant, TimeRange, Timestamp};
use tokio::{sync::Notify, task::JoinHandle};

use crate::{
    Accepted, Attachment, Documents, NewAttachment, NewProfile, Place, PushError, RecoveryReport, StoreError,
    StoreOptions, StoreState, StoreStats, Tally, Ticket, View,
    blocks::{BlockCache, OpenBlock, OpenFiles},
    catalogue::{Catalogue, Edit},
    disk::{Disk, LocalDisk},
    generation::Generation,
    limits::{BLOCK_CACHE_BYTES, DIGEST_MEMORY, DIGESTS_MAX},
    lock::FolderLock,
    log::Log,
    maintenance,
    object::DurableLocal,
    push::Buffers,
    recent::RecentDigests,
    recover,
    retention::given_up,
    tally::TallyKeeper,
};

/// The store of one data folder. See the functions for what each promises.
pub struct Store {
    shared: Arc<Shared>,
    maintenance: Mutex<Option<JoinHandle<()>>>,
}

/// What pushes and queries see, replaced as a whole: each profile is in exactly one of the three at any instant.
pub(crate) struct Published {
    /// Takes pushes.
    pub(crate) live: Arc<Generation>,
    /// On their way into blocks, oldest first.
    pub(crate) sealed: Vec<Arc<Generation>>,
    /// Blocks of the catalogue.
    pub(crate) blocks: Vec<Arc<OpenBlock>>,
}

/// What all parts of a store share.
pub(crate) struct Shared {
    pub(crate) options: StoreOptions,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) objects: Arc<DurableLocal>,
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) catalogue: tokio::sync::Mutex<Catalogue>,
    pub(crate) log: Log,
    published: RwLock<Arc<Published>>,
    /// Held for reading by every push while it interns and queues, for writing while the live generation is replaced:
    /// so a sealed generation never grows.
    pub(crate) gate: RwLock<()>,
    pub(crate) buffers: Buffers,
    pub(crate) recent: Mutex<RecentDigests>,
    pub(crate) cache: BlockCache,
    pub(crate) documents: Documents,
    pub(crate) counters: Counters,
    /// Why pushes are refused, beside the log's own reasons.
    pub(crate) read_only: Mutex<Option<String>>,
    pub(crate) is_closing: AtomicBool,
    /// Held by the one flush that runs.
    pub(crate) flushing: tokio::sync::Mutex<()>,
    /// Wakes the maintenance task.
    pub(crate) wake: Notify,
    pub(crate) recovery: RecoveryReport,
    /// Who adds profiles up, if anybody does.
    pub(crate) tally: Option<TallyKeeper>,
    /// The first generation of this process; older ones were found in logs.
    pub(crate) first_generation: u64,
    /// Keeps other processes out; given back last.
    _lock: Option<FolderLock>,
}

/// Counts since start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) profiles: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) blocks_dropped: AtomicU64,
    pub(crate) free_bytes: AtomicU64,
}

impl Shared {
    /// What is visible now.
    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes something else visible.
    pub(crate) fn publish(&self, change: impl FnOnce(&Published) -> Published) {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        *published = Arc::new(change(&published));
    }

    /// The digests of pushes without a time.
    pub(crate) fn recent(&self) -> MutexGuard<'_, RecentDigests> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why pushes are refused, if they are.
    pub(crate) fn state(&self) -> StoreState {
        if self.is_closing.load(Ordering::Relaxed) {
            return StoreState::Closing;
        }
        if let Some(reason) = self.read_only.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return StoreState::ReadOnly(reason);
        }
        match self.log.refusal(self.published().live.number) {
            Some(reason) => StoreState::ReadOnly(reason),
            None => StoreState::Ready,
        }
    }
}

impl Store {
    /// Opens or creates the folder, recovers what was acknowledged, and starts flushing in the background (on the
    /// current Tokio runtime).
    ///
    /// # Errors
    /// When the folder is held by another process or cannot be read.
    pub async fn open(options: StoreOptions) -> Result<Arc<Self>, StoreError> {
        Self::open_counting(options, None).await
    }

    /// Like [`Store::open`] with somebody who adds up what is accepted. A folder that had a tally once must not be
    /// flushed without it: those profiles would not be counted.
    ///
    /// # Errors
    /// Beside those of [`Store::open`] when what was counted cannot be read.
    pub async fn open_counting(
        options: StoreOptions,
        tally: Option<Arc<dyn Tally>>,
    ) -> Result<Arc<Self>, StoreError> {
        let disk = LocalDisk::open(&options.data_dir).map_err(|error| StoreError::Io {
            what: format!("data folder {}", options.data_dir.display()),
            // The system says of it that it exists.
            reason: if options.data_dir.is_file() { "is a file".into() } else { error.to_string() },
        })?;
        let lock = FolderLock::acquire(disk.root())?;
        Self::open_locked(Arc::new(disk), options, Some(lock), tally).await
    }

    /// Like [`Store::open`] on any disk; the caller sees to it that nobody else uses it.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub async fn open_on(disk: Arc<dyn Disk>, options: StoreOptions) -> Result<Arc<Self>, StoreError> {
        Self::open_locked(disk, options, None, None).await
    }

    /// Like [`Store::open_on`] with somebody who adds up.
    ///
    /// # Errors
    /// As [`Store::open_counting`].
    pub async fn open_counting_on(
        disk: Arc<dyn Disk>,
        options: StoreOptions,
        tally: Arc<dyn Tally>,
    ) -> Result<Arc<Self>, StoreError> {
        Self::open_locked(disk, options, None, Some(tally)).await
    }

    async fn open_locked(
        disk: Arc<dyn Disk>,
        options: StoreOptions,
        lock: Option<FolderLock>,
        tally: Option<Arc<dyn Tally>>,
    ) -> Result<Arc<Self>, StoreError> {
        let io = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| StoreError::Io { what, reason: error.to_string() }
        };
        let objects = Arc::new(DurableLocal::open(Arc::clone(&disk)).map_err(io("data folder"))?);
        let mut catalogue =
            Catalogue::open(Arc::clone(&objects) as Arc<dyn object_store::ObjectStore>).await?;
        let removed = given_up(&*disk, catalogue.state()).map_err(io("blocks"))?;
        if !removed.is_empty() {
            tracing::warn!(blocks = ?removed, "blocks given up, as their files' names ask for");
            catalogue.append(&Edit { removed, ..Edit::default() }).await?;
        }
        let files = Arc::new(OpenFiles::new(Arc::clone(&objects), OpenFiles::files_max()));
        let mut recent = RecentDigests::new(DIGEST_MEMORY, DIGESTS_MAX);
        let recovered = recover::recover(&disk, &objects, &files, catalogue.state(), &mut recent).await?;
        let tally = match tally {
            Some(tally) => Some(TallyKeeper::open(tally, &objects, catalogue.state()).await?),
            None => None,
        };
        let counted = tally.as_ref().map_or(0, TallyKeeper::last_sequence);
        let log = Log::start(Arc::clone(&disk), recovered.last_sequence.max(counted)).map_err(io("log"))?;
        let shared = Arc::new(Shared {
            options,
            disk,
            documents: Documents::new(Arc::clone(&objects)),
            objects,
            files,
            catalogue: tokio::sync::Mutex::new(catalogue),
            log,
            published: RwLock::new(Arc::new(Published {
                live: Arc::new(Generation::new(recovered.next_generation)),
                sealed: recovered.sealed,
                blocks: recovered.blocks,
            })),
            gate: RwLock::new(()),
            buffers: Buffers::default(),
            recent: Mutex::new(recent),
            cache: BlockCache::new(BLOCK_CACHE_BYTES),
            counters: Counters::default(),
            read_only: Mutex::new(None),
            is_closing: AtomicBool::new(false),
            flushing: tokio::sync::Mutex::new(()),
            wake: Notify::new(),
            recovery: recovered.report,
            tally,
            first_generation: recovered.next_generation,
            _lock: lock,
        });
        maintenance::look_at_free_space(&shared);
        if !shared.published().sealed.is_empty() {
            // What was found in logs becomes blocks at once.
            shared.wake.notify_one();
        }
        let task = tokio::spawn(maintenance::run(Arc::clone(&shared)));
        Ok(Arc::new(Self { shared, maintenance: Mutex::new(Some(task)) }))
    }

    /// Interns a profile and hands its record to the log: CPU work without waiting, visible to the next view.
    /// Several threads may call at once.
    ///
    /// # Errors
    /// When the profile is refused; nothing is kept then.
    pub fn push(&self, new: &NewProfile<'_>) -> Result<Accepted, PushError> {
        self.shared.push(new)
    }

    /// Like [`Store::push`] for an upload that is kept whole.
    ///
    /// # Errors
    /// When it is refused.
    pub fn push_attachment(&self, new: &NewAttachment<'_>) -> Result<Accepted, PushError> {
        self.shared.push_attachment(new)
    }

    /// Waits until the log is on disk up to the ticket. Only then may a push be acknowledged.
    ///
    /// # Errors
    /// When writing failed: what waits was not kept for sure, and the store takes no more writes.
    pub async fn durable(&self, ticket: Ticket) -> Result<(), StoreError> {
        self.shared.log.durable(ticket.0).await
    }

    /// The tenant's data at this instant. Waits for no push and makes none wait.
    #[must_use]
    pub fn view(&self, tenant: &Tenant, range: TimeRange) -> View {
        self.shared.view(tenant, range)
    }

    /// Start of the tenant's earliest and latest profile; `None` where there is none. Reads no block.
    #[must_use]
    pub fn time_bounds(&self, tenant: &Tenant) -> Option<(Timestamp, Timestamp)> {
        self.shared.time_bounds(tenant)
    }

    /// The tenant's attachments of a range, sorted by time.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn attachments(&self, tenant: &Tenant, range: TimeRange) -> Result<Vec<Attachment>, StoreError> {
        self.shared.attachments(tenant, range)
    }

    /// The bytes of an attachment; `None` where there is none of that id.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn attachment_body(&self, tenant: &Tenant, id: ProfileId) -> Result<Option<Vec<u8>>, StoreError> {
        self.shared.attachment_body(tenant, id)
    }

    /// Settings and uploads beside the profiles.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.shared.documents
    }

    /// Turns the head into blocks now and waits until they are in the catalogue.
    ///
    /// # Errors
    /// When writing fails; nothing is lost then, the log is still there.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.shared.flush().await
    }

    /// Has the tally count every profile that is durable by now: CPU work on this thread.
    pub fn count_durable(&self) {
        self.shared.count_durable();
    }

    /// Keeps what `change` makes of the tally. It is told the place behind which profiles count; none is counted between
    /// the two. When this returns, the next start finds it; `done` is called when it is kept and before anything else of
    /// the tally can be.
    ///
    /// # Errors
    /// What `change` says; when writing fails, it is not known whether the next start will find it.
    pub async fn change_tally<E: From<StoreError>>(
        &self,
        change: impl FnOnce(Place) -> Result<Vec<u8>, E>,
        done: impl FnOnce(),
    ) -> Result<(), E> {
        self.shared.change_tally(change, done).await
    }

    /// Refuses further pushes, makes everything durable and stops the background work.
    ///
    /// # Errors
    /// When the last sync fails.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.shared.is_closing.store(true, Ordering::Relaxed);
        self.shared.wake.notify_one();
        let task = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the maintenance task has panicked");
        }
        // Whoever holds the gate has not queued its record yet.
        let last = {
            let _gate = self.shared.gate.write().unwrap_or_else(PoisonError::into_inner);
            self.shared.log.last_sequence()
        };
        let kept = self.shared.log.durable(last).await;
        let shared = Arc::clone(&self.shared);
        let closed = tokio::task::spawn_blocking(move || shared.log.close()).await;
        if let Err(error) = closed {
            tracing::error!(%error, "closing the log has panicked");
        }
        kept
    }

    /// What is behind it, for tests of its parts.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether pushes are taken.
    #[must_use]
    pub fn state(&self) -> StoreState {
        self.shared.state()
    }

    /// Counters and sizes.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let shared = &self.shared;
        let published = shared.published();
        let log = shared.log.stats();
        let heads = || published.sealed.iter().chain([&published.live]);
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreStats {
            profiles: count(&shared.counters.profiles),
            duplicates: count(&shared.counters.duplicates),
            log_bytes: log.bytes,
            log_records: log.records,
            log_syncs: log.syncs,
            head_bytes: heads().map(|generation| generation.bytes()).sum(),
            head_profiles: heads().map(|generation| generation.profiles()).sum(),
            blocks: published.blocks.len() as u64,
            blocks_unreadable: published.blocks.iter().filter(|block| block.is_unreadable()).count() as u64,
            block_bytes: published.blocks.iter().fold(0, |sum, block| sum.saturating_add(block.entry.bytes)),
            flushes: count(&shared.counters.flushes),
            blocks_dropped: count(&shared.counters.blocks_dropped),
            free_bytes: count(&shared.counters.free_bytes),
        }
    }

    /// What was found when the folder was opened.
    #[must_use]
    pub fn recovery(&self) -> &RecoveryReport {
        &self.shared.recovery
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::Relaxed);
        self.shared.wake.notify_one();
    }
}

/// Labels must name their service; everything else about them is the API's business.
pub(crate) fn check_labels(labels: &LabelSet) -> Result<(), PushError> {
    if labels.service_name().is_empty() {
        return Err(PushError::Invalid {
            field: profile::SERVICE_NAME.to_owned(),
            reason: "is missing".to_owned(),
        });
    }
    Ok(())
}

/// The clock; all times in this crate that are not a client's come from here.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
