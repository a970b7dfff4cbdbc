//! A dataset that counts what is asked of its symbols and can cancel a query in the middle: for tests of the work that
//! queries take and of when they stop.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use block::{
    BlockError, Dataset, DatasetId, Frame, FunctionNode, LabelPair, Node, NodeSums, Pick, ProfileMeta, Rows,
    Series, StoredFrame, StoredFunction, StoredHeader, StoredLine, StoredLocation, StoredMapping, Symbols,
};
use query::Engine;

use super::Service;

/// Counts how often strings, label sets and frames are asked for, and tells a query to stop after so many.
struct Watched {
    inner: Arc<dyn Dataset>,
    watch: Arc<Watch>,
}

#[derive(Default)]
pub struct Watch {
    pub asked: AtomicU64,
    pub cancel_after: AtomicU64,
    pub cancelled: Arc<AtomicBool>,
}

impl Watch {
    fn count(&self) {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if asked == self.cancel_after.load(Ordering::Relaxed) {
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

struct WatchedSymbols<'a> {
    inner: Arc<dyn Symbols + 'a>,
    watch: &'a Watch,
}

impl Symbols for WatchedSymbols<'_> {
    fn node_count(&self) -> u32 {
        self.inner.node_count()
    }
    fn function_node_count(&self) -> u32 {
        self.inner.function_node_count()
    }
    fn frame_count(&self) -> u32 {
        self.inner.frame_count()
    }
    fn node(&self, id: u32) -> Node {
        self.inner.node(id)
    }
    fn function_node(&self, id: u32) -> FunctionNode {
        self.inner.function_node(id)
    }
    fn stored_frame(&self, id: u32) -> StoredFrame {
        self.inner.stored_frame(id)
    }
    fn frame(&self, id: u32) -> Frame<'_> {
        self.watch.count();
        self.inner.frame(id)
    }
    fn location(&self, id: u32) -> StoredLocation {
        self.inner.location(id)
    }
    fn line(&self, id: u32) -> StoredLine {
        self.inner.line(id)
    }
    fn function(&self, id: u32) -> StoredFunction {
        self.inner.function(id)
    }
    fn mapping(&self, id: u32) -> StoredMapping {
        self.inner.mapping(id)
    }
    fn string(&self, id: u32) -> Cow<'_, [u8]> {
        self.watch.count();
        self.inner.string(id)
    }
    fn label_set(&self, id: u32) -> Cow<'_, [LabelPair]> {
        self.watch.count();
        self.inner.label_set(id)
    }
    fn label_set_count(&self) -> u32 {
        self.inner.label_set_count()
    }
    fn header(&self, id: u32) -> Cow<'_, StoredHeader> {
        self.inner.header(id)
    }
}

impl Dataset for Watched {
    fn id(&self) -> DatasetId {
        self.inner.id()
    }
    fn service(&self) -> &str {
        self.inner.service()
    }
    fn series_count(&self) -> u32 {
        self.inner.series_count()
    }
    fn series(&self, position: u32) -> &Series {
        self.inner.series(position)
    }
    fn profile_count(&self) -> u32 {
        self.inner.profile_count()
    }
    fn profile(&self, position: u32) -> &ProfileMeta {
        self.inner.profile(position)
    }
    fn symbols(&self) -> Result<Arc<dyn Symbols + '_>, BlockError> {
        Ok(Arc::new(WatchedSymbols { inner: self.inner.symbols()?, watch: &self.watch }))
    }
    fn add_values(&self, picks: &[Pick], sums: &mut NodeSums) -> Result<u64, BlockError> {
        self.inner.add_values(picks, sums)
    }
    fn rows(&self, profile: u32, rows: &mut Rows) -> Result<u64, BlockError> {
        self.inner.rows(profile, rows)
    }
    fn row_bytes(&self, profile: u32) -> u64 {
        self.inner.row_bytes(profile)
    }
    fn is_in_file(&self) -> bool {
        self.inner.is_in_file()
    }
    fn symbol_bytes(&self) -> u64 {
        self.inner.symbol_bytes()
    }
}

/// An engine over a watched service.
pub fn watched(service: &Service) -> (Engine, Arc<Watch>) {
    let watch = Arc::new(Watch::default());
    let dataset = Watched { inner: service.dataset(), watch: Arc::clone(&watch) };
    (Engine::over(vec![Arc::new(dataset)]), watch)
}
