//! A partition as it was at one instant: what queries and flushes read.

use std::{
    borrow::Cow,
    cell::RefCell,
    sync::{Arc, atomic::Ordering},
};

use block::{
    BlockError, Dataset, DatasetId, FunctionNode, LabelPair, Node, NodeOutOfRange, NodeSums, Pick,
    ProfileMeta, Rows, Series, StoredFrame, StoredFunction, StoredHeader, StoredLabelValue, StoredLine,
    StoredLocation, StoredMapping, Symbols,
};
use profile::MappingFlags;

use super::{
    Partition,
    bytes::Damaged,
    rows::{self, ReadBuffer},
    tables::{HeadProfile, Lengths},
};
use crate::hash::join_words;

/// A partition up to some lengths. Cheap to take and to clone.
#[derive(Clone)]
pub(crate) struct HeadSnapshot {
    partition: Arc<Partition>,
    lengths: Lengths,
}

thread_local! {
    /// One buffer per querying thread; rows of one profile are small.
    static READ_BUFFER: RefCell<ReadBuffer> = RefCell::default();
}

impl HeadSnapshot {
    /// Takes the lengths.
    pub(super) fn of(partition: Arc<Partition>) -> Self {
        let lengths = Lengths::of(&partition.tables);
        Self { partition, lengths }
    }

    /// Symbols for who needs neither function nodes nor frames: those that nobody has read yet are missing.
    pub(super) fn symbols_without_functions(&self) -> HeadSymbols {
        let tables = &self.partition.tables;
        // What refers is counted before what it refers to, as in `Lengths::of`.
        let function_nodes = tables.function_nodes.len();
        let frames = tables.frames.len();
        HeadSymbols { partition: Arc::clone(&self.partition), lengths: self.lengths, function_nodes, frames }
    }

    /// A profile's place in the log.
    pub(crate) fn sequence(&self, position: u32) -> u64 {
        self.head_profile(position).sequence
    }

    fn head_profile(&self, position: u32) -> &HeadProfile {
        debug_assert!(position < self.lengths.profiles);
        self.partition.tables.profiles.get(position).expect("a profile below the snapshot's length is there")
    }

    fn corrupt(&self, Damaged(reason): Damaged) -> BlockError {
        BlockError::Corrupt {
            file: format!("head of {}", self.partition.service),
            section: "rows".to_owned(),
            reason: reason.to_owned(),
        }
    }
}

impl Dataset for HeadSnapshot {
    fn id(&self) -> DatasetId {
        self.partition.id
    }

    fn service(&self) -> &str {
        &self.partition.service
    }

    fn series_count(&self) -> u32 {
        self.lengths.series
    }

    fn series(&self, position: u32) -> &Series {
        debug_assert!(position < self.lengths.series);
        self.partition.tables.series.get(position).expect("a series below the snapshot's length is there")
    }

    fn profile_count(&self) -> u32 {
        self.lengths.profiles
    }

    fn profile(&self, position: u32) -> &ProfileMeta {
        &self.head_profile(position).meta
    }

    fn symbols(&self) -> Result<Arc<dyn Symbols + '_>, BlockError> {
        self.partition.derive_functions(self.lengths.nodes);
        Ok(Arc::new(self.symbols_without_functions()))
    }

    fn add_values(&self, picks: &[Pick], sums: &mut NodeSums) -> Result<u64, BlockError> {
        READ_BUFFER.with_borrow_mut(|buffer| {
            let mut bytes = 0;
            for pick in picks {
                let rows = &self.head_profile(pick.profile).rows;
                rows::add_values(rows, pick.column as usize, sums, buffer)
                    .map_err(|damage| self.corrupt(damage))?;
                bytes += rows.len() as u64;
            }
            sums.finish().map_err(|NodeOutOfRange| self.corrupt(Damaged("node beyond the table")))?;
            Ok(bytes)
        })
    }

    fn rows(&self, profile: u32, rows: &mut Rows) -> Result<u64, BlockError> {
        let bytes = &self.head_profile(profile).rows;
        rows::decode(bytes, rows).map_err(|damage| self.corrupt(damage))?;
        Ok(bytes.len() as u64)
    }

    fn row_symbols(&self, profile: u32, rows: &mut Rows) -> Result<(), BlockError> {
        let bytes = &self.head_profile(profile).rows;
        rows::decode_symbols(bytes, rows).map_err(|damage| self.corrupt(damage))
    }

    fn row_bytes(&self, profile: u32) -> u64 {
        self.head_profile(profile).rows.len() as u64
    }

    fn is_in_file(&self) -> bool {
        false
    }

    fn symbol_bytes(&self) -> u64 {
        self.partition.tables.bytes() + self.partition.payload_bytes.load(Ordering::Relaxed)
    }
}

/// The symbols of a snapshot.
pub(crate) struct HeadSymbols {
    partition: Arc<Partition>,
    lengths: Lengths,
    function_nodes: u32,
    frames: u32,
}

impl Symbols for HeadSymbols {
    fn node_count(&self) -> u32 {
        self.lengths.nodes
    }

    fn function_node_count(&self) -> u32 {
        self.function_nodes
    }

    fn frame_count(&self) -> u32 {
        self.frames
    }

    #[inline]
    fn node(&self, id: u32) -> Node {
        let [parent, location] = self.partition.tables.nodes.get(id);
        let [function_node] = self.partition.tables.node_functions.get(id);
        Node { parent, location, function_node }
    }

    #[inline]
    fn function_node(&self, id: u32) -> FunctionNode {
        let [parent, frame] = self.partition.tables.function_nodes.get(id);
        FunctionNode { parent, frame }
    }

    fn stored_frame(&self, id: u32) -> StoredFrame {
        let [name, system_name, file, mapping_file, build_id, low, high] =
            self.partition.tables.frames.get(id);
        StoredFrame { name, system_name, file, mapping_file, build_id, address: join_words(low, high) }
    }

    fn location(&self, id: u32) -> StoredLocation {
        let [mapping, low, high, lines_start, lines_and_fold] = self.partition.tables.locations.get(id);
        StoredLocation {
            mapping,
            address: join_words(low, high),
            lines_start,
            lines_length: lines_and_fold >> 1,
            is_folded: lines_and_fold & 1 != 0,
        }
    }

    fn line(&self, id: u32) -> StoredLine {
        let [function, line_low, line_high, column_low, column_high] = self.partition.tables.lines.get(id);
        StoredLine {
            function,
            line: join_words(line_low, line_high).cast_signed(),
            column: join_words(column_low, column_high).cast_signed(),
        }
    }

    fn function(&self, id: u32) -> StoredFunction {
        let [name, system_name, file, low, high] = self.partition.tables.functions.get(id);
        StoredFunction { name, system_name, file, start_line: join_words(low, high).cast_signed() }
    }

    fn mapping(&self, id: u32) -> StoredMapping {
        let [start_low, start_high, limit_low, limit_high, offset_low, offset_high, file, build_id, flags] =
            self.partition.tables.mappings.get(id);
        StoredMapping {
            start: join_words(start_low, start_high),
            limit: join_words(limit_low, limit_high),
            offset: join_words(offset_low, offset_high),
            file,
            build_id,
            flags: MappingFlags(flags.to_le_bytes()[0]),
        }
    }

    fn string(&self, id: u32) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.partition.tables.string(id))
    }

    fn label_set(&self, id: u32) -> Cow<'_, [LabelPair]> {
        let [first, length] = self.partition.tables.label_sets.get(id);
        let pairs = (first..first + length).map(|pair| {
            let [key, kind, text, low, high] = self.partition.tables.label_pairs.get(pair);
            let value = match kind {
                0 => StoredLabelValue::Text(text),
                _ => StoredLabelValue::Number { value: join_words(low, high).cast_signed(), unit: text },
            };
            LabelPair { key, value }
        });
        Cow::Owned(pairs.collect())
    }

    fn label_set_count(&self) -> u32 {
        self.lengths.label_sets
    }

    fn header(&self, id: u32) -> Cow<'_, StoredHeader> {
        debug_assert!(id < self.lengths.headers);
        Cow::Borrowed(
            self.partition.tables.headers.get(id).expect("a header below the snapshot's length is there"),
        )
    }
}
