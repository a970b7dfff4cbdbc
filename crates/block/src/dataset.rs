//! What a query sees of one service's data, be it in memory or in a block.
//!
//! Stacks are a tree of *nodes*: each has a parent and a location. Beside it stands the tree of *function nodes*
//! (identity: raw name and file, or build id and address for a frame without a name, D3); each node knows the
//! function node of its innermost frame, so a flame graph is a dense addition per node and one pass over the nodes.
//! In both trees a parent has a smaller id than its children.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicU64, Ordering},
};

use profile::{LabelSet, Link, MappingFlags, ProfileId, SeriesType, Temporality, Timestamp};

use crate::{BlockError, sums::NodeSums};

/// Stands for "none" in every id column.
pub const NONE: u32 = u32::MAX;

/// Names a dataset within this process; equal ids mean equal symbols so far (a head only grows), so caches may key on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DatasetId(pub u64);

impl DatasetId {
    /// A name that nothing else in this process has.
    #[must_use]
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Labels and type shared by profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Labels, `service_name` among them, without `__…__` labels of the wire.
    pub labels: LabelSet,
    /// Name, period type, columns.
    pub series_type: SeriesType,
    /// How values relate along time (never `Cumulative` in the store).
    pub temporality: Temporality,
}

/// One stored profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileMeta {
    /// Its id.
    pub id: ProfileId,
    /// Position of its series in the dataset.
    pub series: u32,
    /// Start.
    pub time: Timestamp,
    /// Length, ns; 0 = not known.
    pub duration_nanos: i64,
    /// Period as sent.
    pub period: i64,
    /// Number of rows (distinct stack and labels).
    pub rows: u32,
    /// Position of its header, see [`Symbols::header`].
    pub header: u32,
    /// Sum of each column.
    pub totals: Box<[i64]>,
    /// Whether some row has sample labels.
    pub has_labels: bool,
    /// Whether some value is negative (a difference profile).
    pub has_negative: bool,
}

/// One column of one profile, picked for a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Position of the profile in the dataset.
    pub profile: u32,
    /// Position of the column in the series' type.
    pub column: u32,
}

/// All rows of one profile, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Node of each row (the leaf of its stack); `NONE` = empty stack.
    pub nodes: Vec<u32>,
    /// Values, row by row, as many as the series has columns.
    pub values: Vec<i64>,
    /// Label set of each row ([`Symbols::label_set`]), 0 = none. Empty when no row has one.
    pub label_sets: Vec<u32>,
    /// Span and trace of each row. Empty when no row has one.
    pub links: Vec<Link>,
    /// Event times of all rows, ns since the epoch.
    pub timestamps: Vec<u64>,
    /// End of each row's times. Empty when no row has times.
    pub timestamp_ends: Vec<u32>,
}

impl Rows {
    /// Empties everything and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.values.clear();
        self.label_sets.clear();
        self.links.clear();
        self.timestamps.clear();
        self.timestamp_ends.clear();
    }
}

/// A node of the location-level tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Caller's node, or [`NONE`] for a root frame.
    pub parent: u32,
    /// Its location.
    pub location: u32,
    /// Function node of the innermost frame of the location.
    pub function_node: u32,
}

/// A node of the function-level tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionNode {
    /// Caller's function node, or [`NONE`].
    pub parent: u32,
    /// Its frame.
    pub frame: u32,
}

/// The stored identity of a function node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Raw name; empty for a frame that has none yet.
    pub name: Cow<'a, [u8]>,
    /// Linker name of the first function seen with this identity; may be empty.
    pub system_name: Cow<'a, [u8]>,
    /// Source file; may be empty.
    pub file: Cow<'a, [u8]>,
    /// For frames without a name: file of the mapping.
    pub mapping_file: Cow<'a, [u8]>,
    /// For frames without a name: build id of the mapping.
    pub build_id: Cow<'a, [u8]>,
    /// For frames without a name: address in the mapped file (or in the process without a mapping).
    pub address: u64,
}

/// A frame as stored; texts are string ids. The order of fields is the order of frames in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredFrame {
    /// Raw name.
    pub name: u32,
    /// Source file.
    pub file: u32,
    /// For frames without a name: file of the mapping.
    pub mapping_file: u32,
    /// For frames without a name: build id of the mapping.
    pub build_id: u32,
    /// For frames without a name: address, as in [`Frame`].
    pub address: u64,
    /// Linker name.
    pub system_name: u32,
}

/// A location as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredLocation {
    /// Mapping, or [`NONE`].
    pub mapping: u32,
    /// Address in the process.
    pub address: u64,
    /// First line, see [`Symbols::line`].
    pub lines_start: u32,
    /// Number of lines, innermost first.
    pub lines_length: u32,
    /// Several symbols share the address.
    pub is_folded: bool,
}

/// A line as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredLine {
    /// Function.
    pub function: u32,
    /// Line in the file.
    pub line: i64,
    /// Column.
    pub column: i64,
}

/// A function as stored; the fields are string ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFunction {
    /// Name.
    pub name: u32,
    /// Linker name.
    pub system_name: u32,
    /// File.
    pub file: u32,
    /// First line.
    pub start_line: i64,
}

/// A mapping as stored; names are string ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredMapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub limit: u64,
    /// Offset in the file.
    pub offset: u64,
    /// File name.
    pub file: u32,
    /// Build id.
    pub build_id: u32,
    /// Symbols present.
    pub flags: MappingFlags,
}

/// A sample label's value as stored; texts are string ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoredLabelValue {
    /// Text.
    Text(u32),
    /// Number and unit.
    Number {
        /// The number.
        value: i64,
        /// String id of the unit.
        unit: u32,
    },
}

/// A sample label as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelPair {
    /// String id of the key.
    pub key: u32,
    /// Value.
    pub value: StoredLabelValue,
}

/// What a round trip keeps beside rows and symbols (D4); interned, most profiles of a series share one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StoredHeader {
    /// Comments, string ids.
    pub comments: Vec<u32>,
    /// Default sample type, string id.
    pub default_sample_type: u32,
    /// Drop frames, string id.
    pub drop_frames: u32,
    /// Keep frames, string id.
    pub keep_frames: u32,
    /// Documentation link, string id.
    pub doc_url: u32,
    /// Whether the body had a period type at all.
    pub has_period_type: bool,
    /// Mappings of the profile in their order (the first is the main binary).
    pub mappings: Vec<u32>,
}

/// Symbol tables of a dataset. Reading an id that the dataset does not have is a bug of the caller and may panic.
pub trait Symbols: Send + Sync {
    /// Number of nodes.
    fn node_count(&self) -> u32;
    /// Number of function nodes.
    fn function_node_count(&self) -> u32;
    /// Number of frames.
    fn frame_count(&self) -> u32;
    /// A node.
    fn node(&self, id: u32) -> Node;
    /// A function node.
    fn function_node(&self, id: u32) -> FunctionNode;
    /// A frame.
    fn stored_frame(&self, id: u32) -> StoredFrame;
    /// A frame with its texts.
    fn frame(&self, id: u32) -> Frame<'_> {
        let frame = self.stored_frame(id);
        Frame {
            name: self.string(frame.name),
            system_name: self.string(frame.system_name),
            file: self.string(frame.file),
            mapping_file: self.string(frame.mapping_file),
            build_id: self.string(frame.build_id),
            address: frame.address,
        }
    }
    /// A location.
    fn location(&self, id: u32) -> StoredLocation;
    /// A line.
    fn line(&self, id: u32) -> StoredLine;
    /// A function.
    fn function(&self, id: u32) -> StoredFunction;
    /// A mapping.
    fn mapping(&self, id: u32) -> StoredMapping;
    /// A string.
    fn string(&self, id: u32) -> Cow<'_, [u8]>;
    /// A label set; 0 is the empty one.
    fn label_set(&self, id: u32) -> Cow<'_, [LabelPair]>;
    /// Number of label sets, the empty one included.
    fn label_set_count(&self) -> u32;
    /// A header.
    fn header(&self, id: u32) -> Cow<'_, StoredHeader>;
}

/// One service's profiles of one tenant, unchanging while it is held.
pub trait Dataset: Send + Sync {
    /// Its name within this process.
    fn id(&self) -> DatasetId;
    /// The service.
    fn service(&self) -> &str;
    /// Number of series.
    fn series_count(&self) -> u32;
    /// A series.
    fn series(&self, position: u32) -> &Series;
    /// Number of profiles.
    fn profile_count(&self) -> u32;
    /// A profile.
    fn profile(&self, position: u32) -> &ProfileMeta;
    /// Symbol tables; loads them where they are not in memory yet.
    ///
    /// # Errors
    /// When the file cannot be read or is corrupt.
    fn symbols(&self) -> Result<std::sync::Arc<dyn Symbols + '_>, BlockError>;
    /// Adds each picked profile's values of the picked column to `sums`. The caller has made sure from the profiles'
    /// totals that nothing wraps. Returns the encoded bytes read.
    ///
    /// # Errors
    /// When rows cannot be read or are corrupt; `sums` is then of no use.
    fn add_values(&self, picks: &[Pick], sums: &mut NodeSums) -> Result<u64, BlockError>;
    /// Decodes all rows of a profile. Returns the encoded bytes read.
    ///
    /// # Errors
    /// When rows cannot be read or are corrupt.
    fn rows(&self, profile: u32, rows: &mut Rows) -> Result<u64, BlockError>;
    /// Decodes of a profile's rows at least nodes and label sets.
    ///
    /// # Errors
    /// As [`Dataset::rows`].
    fn row_symbols(&self, profile: u32, rows: &mut Rows) -> Result<(), BlockError> {
        self.rows(profile, rows).map(drop)
    }
    /// Memory that the decoded symbols need or would need, bytes.
    fn symbol_bytes(&self) -> u64;
    /// Encoded bytes of a profile's rows.
    fn row_bytes(&self, profile: u32) -> u64;
    /// Whether it is read from a block's file; else it is a head in memory.
    fn is_in_file(&self) -> bool;
}
