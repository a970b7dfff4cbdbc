//! The append-only tables of one service: what readers see of a partition.
//!
//! Order matters: whatever an entry refers to is appended before it, so a reader who takes lengths from the last table
//! to the first ([`Lengths::of`]) never meets a reference that leads nowhere.

use block::{ProfileMeta, Series, StoredHeader};
use profile::{LabelSet, ProfileId, Timestamp};

use crate::{
    append::{ObjectColumn, WordColumn},
    hash::{high_word, low_word},
};

/// A profile in the head.
#[derive(Debug)]
pub(crate) struct HeadProfile {
    /// What is said of it.
    pub(crate) meta: ProfileMeta,
    /// Its rows, see `rows`.
    pub(crate) rows: Box<[u8]>,
    /// Its place in the log.
    pub(crate) sequence: u64,
}

/// An upload kept whole, in the head.
#[derive(Debug)]
pub(crate) struct HeadAttachment {
    /// Its id.
    pub(crate) id: ProfileId,
    /// Labels with `service_name`.
    pub(crate) labels: LabelSet,
    /// What it is.
    pub(crate) kind: String,
    /// When it was taken.
    pub(crate) time: Timestamp,
    /// The bytes as sent.
    pub(crate) body: Box<[u8]>,
}

/// All tables. Frames and function nodes have a writer of their own (`functions`). The word columns hold, in this order:
pub(crate) struct Tables {
    /// Bytes of strings, one chunk per profile that brought new ones.
    pub(crate) text: ObjectColumn<Box<[u8]>>,
    /// Chunk, start, length. String 0 is empty.
    pub(crate) strings: WordColumn<3>,
    /// Start, limit and offset (two words each), file, build id, flags.
    pub(crate) mappings: WordColumn<9>,
    /// Name, system name, file, start line (two words).
    pub(crate) functions: WordColumn<5>,
    /// Function, line and column (two words each).
    pub(crate) lines: WordColumn<5>,
    /// Mapping, address (two words), first line, number of lines times two plus "is folded".
    pub(crate) locations: WordColumn<5>,
    /// Name, system name, file, mapping file, build id, address (two words).
    pub(crate) frames: WordColumn<7>,
    /// Parent, frame.
    pub(crate) function_nodes: WordColumn<2>,
    /// Parent, location.
    pub(crate) nodes: WordColumn<2>,
    /// Function node of the innermost frame of each node that was read (see `functions`).
    pub(crate) node_functions: WordColumn<1>,
    /// Key, kind (0 = text, 1 = number), text or unit, number (two words).
    pub(crate) label_pairs: WordColumn<5>,
    /// First pair, number of pairs. Set 0 is empty.
    pub(crate) label_sets: WordColumn<2>,
    /// What is said once per profile.
    pub(crate) headers: ObjectColumn<StoredHeader>,
    /// Labels and types.
    pub(crate) series: ObjectColumn<Series>,
    /// Profiles.
    pub(crate) profiles: ObjectColumn<HeadProfile>,
    /// Uploads kept whole.
    pub(crate) attachments: ObjectColumn<HeadAttachment>,
}

impl Tables {
    /// Empty tables but for the empty string and the empty label set.
    pub(crate) fn new() -> Self {
        let tables = Self {
            text: ObjectColumn::new(),
            strings: WordColumn::new(),
            mappings: WordColumn::new(),
            functions: WordColumn::new(),
            lines: WordColumn::new(),
            locations: WordColumn::new(),
            frames: WordColumn::new(),
            function_nodes: WordColumn::new(),
            nodes: WordColumn::new(),
            node_functions: WordColumn::new(),
            label_pairs: WordColumn::new(),
            label_sets: WordColumn::new(),
            headers: ObjectColumn::new(),
            series: ObjectColumn::new(),
            profiles: ObjectColumn::new(),
            attachments: ObjectColumn::new(),
        };
        tables.text.push(Box::default());
        tables.strings.push([0; 3]);
        tables.label_sets.push([0; 2]);
        tables
    }

    /// Appends a mapping: start, limit and offset, file and build id, flags.
    pub(crate) fn push_mapping(&self, places: [u64; 3], strings: [u32; 2], flags: u32) -> u32 {
        let [start, limit, offset] = places;
        let [file, build_id] = strings;
        self.mappings.push([
            low_word(start),
            high_word(start),
            low_word(limit),
            high_word(limit),
            low_word(offset),
            high_word(offset),
            file,
            build_id,
            flags,
        ])
    }

    /// The bytes of a string.
    #[inline]
    pub(crate) fn string(&self, id: u32) -> &[u8] {
        let [chunk, start, length] = self.strings.get(id);
        let range = start as usize..start as usize + length as usize;
        self.text.get(chunk).and_then(|text| text.get(range)).unwrap_or_default()
    }

    /// Bytes allocated, rows and texts left out.
    pub(crate) fn bytes(&self) -> u64 {
        [
            self.text.bytes(),
            self.strings.bytes(),
            self.mappings.bytes(),
            self.functions.bytes(),
            self.lines.bytes(),
            self.locations.bytes(),
            self.frames.bytes(),
            self.function_nodes.bytes(),
            self.nodes.bytes(),
            self.node_functions.bytes(),
            self.label_pairs.bytes(),
            self.label_sets.bytes(),
            self.headers.bytes(),
            self.series.bytes(),
            self.profiles.bytes(),
            self.attachments.bytes(),
        ]
        .iter()
        .sum()
    }
}

/// Lengths at one instant of all tables but those that follow from others: frames and function nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) strings: u32,
    pub(crate) mappings: u32,
    pub(crate) functions: u32,
    pub(crate) lines: u32,
    pub(crate) locations: u32,
    pub(crate) nodes: u32,
    pub(crate) label_pairs: u32,
    pub(crate) label_sets: u32,
    pub(crate) headers: u32,
    pub(crate) series: u32,
    pub(crate) profiles: u32,
}

impl Lengths {
    /// Takes lengths, those that refer first.
    pub(crate) fn of(tables: &Tables) -> Self {
        let profiles = tables.profiles.len();
        let series = tables.series.len();
        let headers = tables.headers.len();
        let label_sets = tables.label_sets.len();
        let label_pairs = tables.label_pairs.len();
        let nodes = tables.nodes.len();
        let locations = tables.locations.len();
        let lines = tables.lines.len();
        let functions = tables.functions.len();
        let mappings = tables.mappings.len();
        let strings = tables.strings.len();
        Self {
            strings,
            mappings,
            functions,
            lines,
            locations,
            nodes,
            label_pairs,
            label_sets,
            headers,
            series,
            profiles,
        }
    }
}
