//! The open blocks of a data folder and what is kept of them in memory.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use block::{
    Block, BlockDataset, BlockError, Dataset, DatasetId, NodeSums, Pick, ProfileMeta, ReadAt, Rows, Series,
    Symbols,
};
use object_store::path::Path;
use profile::{ProfileId, Tenant, TimeRange, Timestamp};

use crate::{
    catalogue::BlockEntry,
    disk::DiskReader,
    limits::{BLOCK_FILES_MAX, BLOCK_FILES_SHARE},
    object::DurableLocal,
    retention::LOST_SUFFIX,
};

/// Files of blocks that are open now. A folder can have more blocks than a process may have files, so each is opened
/// when it is read and closed when others were used since.
pub(crate) struct OpenFiles {
    objects: Arc<DurableLocal>,
    state: Mutex<FilesState>,
    files_max: usize,
}

#[derive(Default)]
struct FilesState {
    readers: HashMap<String, UsedReader>,
    clock: u64,
}

struct UsedReader {
    reader: Arc<dyn DiskReader>,
    used: u64,
}

impl OpenFiles {
    /// No file is open yet, and no more than so many will stay open.
    pub(crate) fn new(objects: Arc<DurableLocal>, files_max: usize) -> Self {
        Self { objects, state: Mutex::default(), files_max }
    }

    /// How many files may stay open: a part of what the system grants, the rest is for sockets and the log.
    pub(crate) fn files_max() -> usize {
        let granted = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let granted = granted.and_then(|granted| usize::try_from(granted).ok()).unwrap_or(usize::MAX);
        (granted / BLOCK_FILES_SHARE).clamp(1, BLOCK_FILES_MAX)
    }

    fn state(&self) -> MutexGuard<'_, FilesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file of an object.
    fn reader(&self, name: &str) -> io::Result<Arc<dyn DiskReader>> {
        {
            let mut state = self.state();
            state.clock += 1;
            let clock = state.clock;
            if let Some(known) = state.readers.get_mut(name) {
                known.used = clock;
                return Ok(Arc::clone(&known.reader));
            }
        }
        // Opened without the lock; when two do it at once, the later one stays and the other is closed after its read.
        let path = Path::parse(name).map_err(io::Error::other)?;
        let reader: Arc<dyn DiskReader> = Arc::from(self.objects.open_reader(&path)?);
        let mut state = self.state();
        state.clock += 1;
        let used = state.clock;
        state.readers.insert(name.to_owned(), UsedReader { reader: Arc::clone(&reader), used });
        while state.readers.len() > self.files_max {
            let oldest = state.readers.iter().min_by_key(|(_, known)| known.used);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { break };
            state.readers.remove(&oldest);
        }
        Ok(reader)
    }

    fn close(&self, name: &str) {
        self.state().readers.remove(name);
    }
}

/// An object that is read by position.
struct ObjectFile {
    name: String,
    length: u64,
    files: Arc<OpenFiles>,
}

impl ObjectFile {
    fn open(files: &Arc<OpenFiles>, name: &str) -> io::Result<Self> {
        let length = files.reader(name)?.length();
        Ok(Self { name: name.to_owned(), length, files: Arc::clone(files) })
    }
}

impl ReadAt for ObjectFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let reader = self.files.reader(&self.name)?;
        if reader.length() != self.length {
            return Err(io::Error::other("the file is not the one that was there before"));
        }
        reader.read_at(offset, buffer)
    }
}

impl Drop for ObjectFile {
    fn drop(&mut self) {
        self.files.close(&self.name);
    }
}

/// A block of the catalogue.
pub(crate) struct OpenBlock {
    /// What the catalogue says of it.
    pub(crate) entry: BlockEntry,
    /// The block, or why it cannot be read.
    block: Result<Arc<Block>, BlockError>,
    /// Whether it was said that it cannot be read.
    is_reported: AtomicBool,
    /// Whether retention has taken it out of the catalogue: its object goes, and whoever still reads it may fail.
    is_dropped: AtomicBool,
}

impl OpenBlock {
    /// Opens the object. An error is kept: queries over its range say so, everything else goes on.
    pub(crate) fn open(files: &Arc<OpenFiles>, entry: BlockEntry) -> Self {
        let opened = match ObjectFile::open(files, &entry.name) {
            Ok(file) => Block::open(Arc::new(file)),
            Err(error) => Err(BlockError::Io { file: entry.name.clone(), reason: error.to_string() }),
        };
        let mut open = Self {
            entry,
            block: opened,
            is_reported: AtomicBool::new(false),
            is_dropped: AtomicBool::new(false),
        };
        if let Err(error) = &open.block {
            open.block = Err(open.unreadable(error.clone()));
        }
        open
    }

    /// The block.
    pub(crate) fn block(&self) -> Result<&Arc<Block>, BlockError> {
        self.block.as_ref().map_err(Clone::clone)
    }

    /// Whether it was found that it cannot be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.is_reported.load(Ordering::Relaxed)
    }

    /// To be called before the object goes.
    pub(crate) fn set_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
    }

    /// Reports the first error of this block, and says with each what can be done about it. A block that was dropped is
    /// not damaged.
    pub(crate) fn unreadable(&self, error: BlockError) -> BlockError {
        let name = &self.entry.name;
        if self.is_dropped.load(Ordering::Acquire) {
            return BlockError::Dropped { file: name.clone() };
        }
        let way_out = format!(
            "; every query that touches it is refused until it is restored from a copy, or given up by naming it \
             {name}{LOST_SUFFIX} (an empty file of that name will do); then start again"
        );
        let error = match error {
            BlockError::Io { file, reason } => BlockError::Io { file, reason: reason + &way_out },
            BlockError::Corrupt { file, section, reason } => {
                BlockError::Corrupt { file, section, reason: reason + &way_out }
            }
            other => other,
        };
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            tracing::error!(block = name, %error, "block cannot be read");
        }
        error
    }

    /// Whether a profile is inside. Blocks that cannot be read are taken not to have it.
    pub(crate) fn contains(&self, tenant: &Tenant, id: ProfileId, time: Timestamp) -> bool {
        let millis = time.millis();
        let (first, last) =
            (Timestamp(self.entry.time_first).millis(), Timestamp(self.entry.time_last).millis());
        if self.entry.tenant != tenant.as_str() || millis < first || last < millis {
            return false;
        }
        let Ok(block) = &self.block else { return false };
        block.contains(id).map_err(|error| self.unreadable(error)).unwrap_or(false)
    }
}

/// A block's dataset whose block hears of what turns out not to be readable: rows and symbols are read when they are
/// needed, long after the block was opened.
pub(crate) struct HeardDataset {
    open: Arc<OpenBlock>,
    dataset: Arc<BlockDataset>,
}

impl HeardDataset {
    pub(crate) fn new(open: &Arc<OpenBlock>, dataset: Arc<BlockDataset>) -> Self {
        Self { open: Arc::clone(open), dataset }
    }

    fn heard<T>(&self, read: Result<T, BlockError>) -> Result<T, BlockError> {
        read.map_err(|error| self.open.unreadable(error))
    }
}

impl Dataset for HeardDataset {
    fn id(&self) -> DatasetId {
        self.dataset.id()
    }

    fn service(&self) -> &str {
        self.dataset.service()
    }

    fn series_count(&self) -> u32 {
        self.dataset.series_count()
    }

    fn series(&self, position: u32) -> &Series {
        self.dataset.series(position)
    }

    fn profile_count(&self) -> u32 {
        self.dataset.profile_count()
    }

    fn profile(&self, position: u32) -> &ProfileMeta {
        self.dataset.profile(position)
    }

    fn symbols(&self) -> Result<Arc<dyn Symbols + '_>, BlockError> {
        self.heard(self.dataset.symbols())
    }

    fn add_values(&self, picks: &[Pick], sums: &mut NodeSums) -> Result<u64, BlockError> {
        self.heard(self.dataset.add_values(picks, sums))
    }

    fn rows(&self, profile: u32, rows: &mut Rows) -> Result<u64, BlockError> {
        self.heard(self.dataset.rows(profile, rows))
    }

    fn symbol_bytes(&self) -> u64 {
        self.dataset.symbol_bytes()
    }

    fn row_bytes(&self, profile: u32) -> u64 {
        self.dataset.row_bytes(profile)
    }

    fn is_in_file(&self) -> bool {
        self.dataset.is_in_file()
    }
}

/// Datasets of blocks that were used lately.
pub(crate) struct BlockCache {
    state: Mutex<CacheState>,
    bytes_max: u64,
}

#[derive(Default)]
struct CacheState {
    datasets: HashMap<(String, usize), Cached>,
    clock: u64,
}

struct Cached {
    dataset: Arc<BlockDataset>,
    used: u64,
}

impl BlockCache {
    /// An empty cache of some size.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { state: Mutex::default(), bytes_max }
    }

    /// The datasets of a block that touch a range.
    pub(crate) fn datasets(
        &self,
        open: &OpenBlock,
        range: TimeRange,
    ) -> Result<Vec<Arc<BlockDataset>>, BlockError> {
        let block = open.block()?;
        let touching = (0..block.dataset_count()).filter(|&position| block.dataset_touches(position, range));
        let datasets = touching.map(|position| self.dataset(block, position)).collect::<Result<_, _>>();
        datasets.map_err(|error| open.unreadable(error))
    }

    fn dataset(&self, block: &Arc<Block>, position: usize) -> Result<Arc<BlockDataset>, BlockError> {
        let key = (block.name().to_owned(), position);
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.clock += 1;
            let clock = state.clock;
            if let Some(known) = state.datasets.get_mut(&key) {
                known.used = clock;
                return Ok(Arc::clone(&known.dataset));
            }
        }
        // Read without the lock; when two queries read the same one, the first to be done stays.
        let dataset = Arc::new(block.dataset(position)?);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock += 1;
        let used = state.clock;
        let known = state.datasets.entry(key).or_insert(Cached { dataset, used });
        let dataset = Arc::clone(&known.dataset);
        state.evict(self.bytes_max);
        Ok(dataset)
    }

    /// Forgets all datasets of a block.
    pub(crate) fn remove(&self, name: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.datasets.retain(|(block, _), _| block != name);
    }

    /// Gives memory back that queries have filled since.
    pub(crate) fn trim(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).evict(self.bytes_max);
    }
}

impl CacheState {
    /// Lets go of what was used longest ago until the rest fits; the newest stays in any case.
    fn evict(&mut self, bytes_max: u64) {
        let mut total: u64 = self.datasets.values().map(|cached| cached.dataset.loaded_bytes()).sum();
        while total > bytes_max && self.datasets.len() > 1 {
            let oldest = self.datasets.iter().min_by_key(|(_, cached)| cached.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            if let Some(cached) = self.datasets.remove(&key) {
                tracing::debug!(block = key.0, dataset = key.1, "dataset let go");
                total = total.saturating_sub(cached.dataset.loaded_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use profile::{LabelSet, Temporality};

    use super::*;
    use crate::{
        NewProfile, Store, StoreOptions, View,
        disk::{Disk, LocalDisk},
    };

    /// A store whose two days are in a block each, the first one's name, and a view of both.
    async fn two_blocks(folder: &std::path::Path) -> (Arc<Store>, String, View) {
        let options = StoreOptions::by_hand(folder);
        let store = Store::open(options).await.unwrap();
        for day in [20_000, 20_001] {
            let mut decoder = formats::Decoder::new();
            let measure = formats::Measure::plain("cpu", "nanoseconds");
            let (profile, _) = decoder.folded(b"main;work 5", measure, &formats::Limits::default()).unwrap();
            let accepted = store.push(&NewProfile {
                tenant: &Tenant::anonymous(),
                labels: LabelSet::from_pairs([("service_name", "a")]).unwrap(),
                name: "process_cpu",
                temporality: Temporality::Delta,
                profile,
                digest_bytes: b"body",
                time: Timestamp(day * 86_400_000_000_000),
                time_is_stated: true,
                id: None,
            });
            store.durable(accepted.unwrap().ticket).await.unwrap();
        }
        store.flush().await.unwrap();
        let first = store.shared().published().blocks[0].entry.name.clone();
        let view = store.view(&Tenant::anonymous(), TimeRange::ALL);
        assert_eq!((view.datasets.len(), view.unreadable.len()), (2, 0));
        (store, first, view)
    }

    /// Another query may have needed its place among the open files, and then there is no way back to it.
    #[tokio::test]
    async fn a_block_that_retention_drops_while_it_is_read_says_so_and_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let (store, first, view) = two_blocks(folder.path()).await;
        let before = store.shared().published();
        store.shared().drop_blocks(std::slice::from_ref(&first)).await.unwrap();
        store.shared().files.close(&first);
        for error in [
            view.datasets[0].rows(0, &mut Rows::default()).unwrap_err(),
            view.datasets[0].symbols().err().unwrap(),
            store.shared().cache.datasets(&before.blocks[0], TimeRange::ALL).err().unwrap(),
        ] {
            assert!(matches!(&error, BlockError::Dropped { file } if *file == first), "{error}");
        }
        view.datasets[1].rows(0, &mut Rows::default()).unwrap();
        assert_eq!((store.stats().blocks, store.stats().blocks_unreadable), (1, 0));
        let view = store.view(&Tenant::anonymous(), TimeRange::ALL);
        assert_eq!((view.datasets.len(), view.unreadable.len()), (1, 0));
    }

    #[tokio::test]
    async fn damage_that_a_query_finds_is_counted_once_for_its_block() {
        let folder = tempfile::tempdir().unwrap();
        let (store, first, view) = two_blocks(folder.path()).await;
        let path = folder.path().join(&first);
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::write(&path, vec![0xa5; usize::try_from(length).unwrap()]).unwrap();
        assert_eq!(store.stats().blocks_unreadable, 0, "nobody has read rows yet");
        for error in [
            view.datasets[0].rows(0, &mut Rows::default()).unwrap_err(),
            view.datasets[0].symbols().err().unwrap(),
        ] {
            assert!(matches!(error, BlockError::Corrupt { .. }), "{error}");
            assert!(error.to_string().contains(".lost"), "it says what can be done: {error}");
            assert_eq!(store.stats().blocks_unreadable, 1);
        }
        view.datasets[1].rows(0, &mut Rows::default()).unwrap();
    }

    #[test]
    fn any_number_of_files_is_read_with_few_open() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(LocalDisk::open(folder.path()).unwrap());
        for number in 0..9_u8 {
            disk.create(&number.to_string()).unwrap().append(&[number; 10]).unwrap();
        }
        let objects = Arc::new(DurableLocal::open(Arc::clone(&disk)).unwrap());
        let files = Arc::new(OpenFiles::new(objects, 3));
        let opened: Vec<ObjectFile> =
            (0..9).map(|number| ObjectFile::open(&files, &number.to_string()).unwrap()).collect();
        for round in 0..3 {
            for (number, file) in (0_u8..).zip(&opened) {
                let mut buffer = [0xff; 2];
                file.read_at(round, &mut buffer).unwrap();
                assert_eq!((buffer, file.length()), ([number; 2], 10));
                assert!(files.state().readers.len() <= 3);
            }
        }
        // One that is open stays readable when its name goes; one that was closed says so.
        disk.remove("8").unwrap();
        disk.remove("0").unwrap();
        opened[8].read_at(0, &mut [0; 1]).unwrap();
        assert_eq!(opened[0].read_at(0, &mut [0; 1]).unwrap_err().kind(), io::ErrorKind::NotFound);
        drop(opened);
        assert_eq!(files.state().readers.len(), 0);
    }
}
