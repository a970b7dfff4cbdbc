//! Keeps display trees between queries, the least recently used go first when they are too large together.
//!
//! A tree that a query is using stays alive until the query ends; the bound is on what is kept.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard},
};

use block::{DatasetId, Symbols};

use crate::{
    NameMode, QueryError,
    display::DisplayTree,
    progress::Progress,
    pruning::{Pruning, PruningKey},
};

/// What a tree is built for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DisplayKey {
    /// The dataset.
    pub dataset: DatasetId,
    /// The mode.
    pub mode: NameMode,
    /// The frames to drop.
    pub pruning: Option<PruningKey>,
    /// Number of the naming rules ([`names::RULES_VERSION`]).
    pub rules: u32,
}

/// A tree that several queries read, and one may extend.
pub(crate) type SharedTree = Arc<RwLock<DisplayTree>>;

struct Entry {
    tree: SharedTree,
    /// What is to be said wherever the tree is used.
    notice: Option<String>,
    bytes: u64,
    used: u64,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<DisplayKey, Entry>,
    bytes: u64,
    clock: u64,
}

/// The cache.
pub(crate) struct DisplayCache {
    bytes_max: u64,
    entries: Mutex<Entries>,
}

impl DisplayCache {
    /// Keeps at most so many bytes.
    pub fn new(bytes_max: u64) -> Self {
        Self { bytes_max, entries: Mutex::default() }
    }

    /// The tree of a key, extended to what the symbols have, and a sentence where frames could not be dropped.
    ///
    /// # Errors
    /// When the query is over before that; the tree is kept as far as it has come.
    pub fn tree(
        &self,
        key: &DisplayKey,
        symbols: &dyn Symbols,
        progress: &Progress<'_>,
    ) -> Result<(SharedTree, Option<String>), QueryError> {
        let (tree, notice) = self.find(key).unwrap_or_else(|| {
            let (pruning, notice) = match key.pruning.as_ref().map(Pruning::new).transpose() {
                Ok(pruning) => (pruning, None),
                Err(reason) => (None, Some(reason)),
            };
            (Arc::new(RwLock::new(DisplayTree::new(key.mode, pruning))), notice)
        });
        let mut extended = Ok(());
        if !read(&tree).covers(symbols) {
            let mut writing = tree.write().unwrap_or_else(PoisonError::into_inner);
            extended = writing.extend(symbols, progress);
        }
        let bytes = read(&tree).bytes();
        self.keep(key, &tree, notice.clone(), bytes);
        extended.map(|()| (tree, notice))
    }

    fn find(&self, key: &DisplayKey) -> Option<(SharedTree, Option<String>)> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clock += 1;
        let clock = entries.clock;
        let entry = entries.by_key.get_mut(key)?;
        entry.used = clock;
        Some((entry.tree.clone(), entry.notice.clone()))
    }

    fn keep(&self, key: &DisplayKey, tree: &SharedTree, notice: Option<String>, bytes: u64) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clock += 1;
        let entry = Entry { tree: tree.clone(), notice, bytes, used: entries.clock };
        if let Some(before) = entries.by_key.insert(key.clone(), entry) {
            entries.bytes -= before.bytes;
        }
        entries.bytes += bytes;
        while entries.bytes > self.bytes_max {
            let oldest =
                entries.by_key.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(gone) = oldest.and_then(|oldest| entries.by_key.remove(&oldest)) else { break };
            entries.bytes -= gone.bytes;
        }
    }

    /// Bytes kept at the moment.
    pub fn bytes(&self) -> u64 {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }
}

/// Reads a tree. A thread that panicked while it wrote left at worst a shorter tree, which is extended again.
pub(crate) fn read(tree: &SharedTree) -> RwLockReadGuard<'_, DisplayTree> {
    tree.read().unwrap_or_else(PoisonError::into_inner)
}
