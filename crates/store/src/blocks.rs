//! The open blocks of a data folder and what is kept of them in memory.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use block::{Block, BlockDataset, BlockError, ReadAt};
use object_store::path::Path;
use profile::{ProfileId, Tenant, TimeRange, Timestamp};

use crate::{catalogue::BlockEntry, disk::DiskReader, object::DurableLocal};

/// An object that is read by position.
struct ObjectFile {
    name: String,
    reader: Box<dyn DiskReader>,
}

impl ReadAt for ObjectFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> u64 {
        self.reader.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.reader.read_at(offset, buffer)
    }
}

/// A block of the catalogue.
pub(crate) struct OpenBlock {
    /// What the catalogue says of it.
    pub(crate) entry: BlockEntry,
    /// The block, or why it cannot be read.
    block: Result<Arc<Block>, BlockError>,
}

impl OpenBlock {
    /// Opens the object. An error is kept: queries over its range say so, everything else goes on.
    pub(crate) fn open(objects: &DurableLocal, entry: BlockEntry) -> Self {
        let path = Path::parse(&entry.name).map_err(io::Error::other);
        let opened = match path.and_then(|path| objects.open_reader(&path)) {
            Ok(reader) => Block::open(Arc::new(ObjectFile { name: entry.name.clone(), reader })),
            Err(error) => Err(BlockError::Io { file: entry.name.clone(), reason: error.to_string() }),
        };
        if let Err(error) = &opened {
            tracing::error!(block = entry.name, %error, "block cannot be read");
        }
        Self { entry, block: opened }
    }

    /// The block.
    pub(crate) fn block(&self) -> Result<&Arc<Block>, BlockError> {
        self.block.as_ref().map_err(Clone::clone)
    }

    /// Whether a profile is inside. Blocks that cannot be read are taken not to have it.
    pub(crate) fn contains(&self, tenant: &Tenant, id: ProfileId, time: Timestamp) -> bool {
        let millis = time.millis();
        let (first, last) =
            (Timestamp(self.entry.time_first).millis(), Timestamp(self.entry.time_last).millis());
        if self.entry.tenant != tenant.as_str() || millis < first || last < millis {
            return false;
        }
        match self.block().and_then(|block| block.contains(id)) {
            Ok(found) => found,
            Err(error) => {
                tracing::error!(block = self.entry.name, %error, "ids of a block cannot be read");
                false
            }
        }
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
        touching.map(|position| self.dataset(block, position)).collect()
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
