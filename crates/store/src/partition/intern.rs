//! Interning: from the tables of one profile to the tables of its partition.
//!
//! What a profile's tables hold is looked up once per profile and then known by position.
//!
//! Not here: strings, functions, mappings and locations (`code`), stacks (`stacks`), rows (`sample_rows`), what follows
//! from nodes (`functions`).
//!
//! Nothing in here can fail: what could is checked before (see `check`), so that a refused profile leaves nothing.

use std::hash::BuildHasher;

use block::{Series, StoredHeader, sort_by_node};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use profile::{
    LabelSet, LabelValue, Profile, SampleLabel, SeriesType, StringIndex, Temporality, TypedColumn, ValueType,
};

use super::{
    rows::RowBuffer,
    sample_rows::{full_rows, plain_rows},
    stacks::Path,
    tables::Tables,
};
use crate::hash::{HashKeys, PathHash, PathKeys, SymbolTable, high_word, join_words, low_word};

/// Lookup tables of a partition; only its writer has them.
pub(crate) struct Interner {
    pub(super) keys: HashKeys,
    bytes_hasher: RandomState,
    pub(super) strings: SymbolTable,
    pub(super) mappings: SymbolTable,
    pub(super) functions: SymbolTable,
    pub(super) locations: SymbolTable,
    pub(super) paths: PathKeys,
    /// By the hash of the whole path from the root.
    pub(super) nodes: SymbolTable,
    label_sets: SymbolTable,
    headers: HashMap<StoredHeader, u32, RandomState>,
    series: HashTable<(u64, u32)>,
}

/// Memory that interning one profile needs; kept from one to the next.
#[derive(Default)]
pub(crate) struct InternBuffer {
    /// Strings that are wanted, by position.
    pub(super) string_wanted: Vec<bool>,
    pub(super) string_hashes: Vec<PathHash>,
    pub(super) strings: Vec<u32>,
    pub(super) mapping_hashes: Vec<PathHash>,
    pub(super) mappings: Vec<u32>,
    pub(super) function_hashes: Vec<PathHash>,
    /// Functions of locations that are not known.
    pub(super) function_wanted: Vec<bool>,
    pub(super) new_functions: Vec<u32>,
    pub(super) functions: Vec<u32>,
    pub(super) new_locations: Vec<u32>,
    pub(super) locations: Vec<u32>,
    /// Numbers of the locations, for hashing stacks.
    pub(super) frames: Vec<u64>,
    pub(super) hashes: Vec<PathHash>,
    /// Samples by the depth of their stacks.
    pub(super) by_depth: Vec<u32>,
    /// Node of each sample.
    pub(super) nodes: Vec<u32>,
    /// Samples whose stacks were not known.
    pub(super) unknown: Vec<u32>,
    pub(super) new_text: Vec<u8>,
    pub(super) new_strings: Vec<(u32, u32)>,
    words: Vec<u64>,
    pub(super) path: Path,
    keys: Vec<u64>,
    sorted: Vec<u64>,
    label_sets: Vec<u32>,
    /// The rows of the profile, ready to encode.
    pub(crate) rows: RowBuffer,
}

/// Entries of a buffer that are kept from one profile to the next; a giant's memory goes back.
const KEPT_ENTRIES_MAX: usize = 1 << 16;

impl InternBuffer {
    /// Gives back memory that a very large profile left behind.
    pub(crate) fn shrink(&mut self) {
        if self.keys.capacity() > KEPT_ENTRIES_MAX
            || self.locations.capacity() > KEPT_ENTRIES_MAX
            || self.strings.capacity() > KEPT_ENTRIES_MAX
            || self.new_text.capacity() > 16 * KEPT_ENTRIES_MAX
        {
            *self = Self::default();
        }
        self.rows.shrink(KEPT_ENTRIES_MAX);
    }
}

impl Interner {
    /// Knows the empty string and the empty label set.
    pub(crate) fn new() -> Self {
        Self {
            keys: HashKeys::random(),
            bytes_hasher: RandomState::default(),
            strings: SymbolTable::default(),
            mappings: SymbolTable::default(),
            functions: SymbolTable::default(),
            locations: SymbolTable::default(),
            paths: PathKeys::random(),
            nodes: SymbolTable::default(),
            label_sets: SymbolTable::default(),
            headers: HashMap::default(),
            series: HashTable::new(),
        }
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        let tables =
            [&self.strings, &self.mappings, &self.functions, &self.locations, &self.nodes, &self.label_sets];
        tables.iter().map(|table| table.bytes()).sum::<u64>()
            + (self.headers.allocation_size() + self.series.allocation_size()) as u64
    }

    /// Interns all symbols and fills `buffer.rows`. Returns the header's id.
    pub(crate) fn profile(
        &mut self,
        tables: &Tables,
        profile: &Profile<'_>,
        buffer: &mut InternBuffer,
    ) -> u32 {
        self.code(tables, profile, buffer);
        self.sample_labels(tables, profile, buffer);
        self.samples(tables, profile, buffer);
        self.header(tables, profile, buffer)
    }

    /// Fills `buffer.label_sets`, one per sample, or leaves it empty.
    fn sample_labels(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        buffer.label_sets.clear();
        let columns = profile.columns;
        if columns.labels.is_empty() {
            return;
        }
        let mut start = 0usize;
        for &end in &columns.label_ends {
            let labels = &columns.labels[start..end as usize];
            start = end as usize;
            let id = self.label_set(tables, labels, &buffer.strings, &mut buffer.words);
            buffer.label_sets.push(id);
        }
    }

    fn label_set(
        &mut self,
        tables: &Tables,
        labels: &[SampleLabel],
        strings: &[u32],
        words: &mut Vec<u64>,
    ) -> u32 {
        if labels.is_empty() {
            return 0;
        }
        words.clear();
        for label in labels {
            let key = strings[label.key.position()];
            let (kind, text, number) = match label.value {
                LabelValue::Text(text) => (0, strings[text.position()], 0),
                LabelValue::Number { value, unit } => (1, strings[unit.position()], value.cast_unsigned()),
            };
            words.extend([join_words(key, kind), u64::from(text), number]);
        }
        let hash = self.keys.of(words);
        self.label_sets.get(hash).unwrap_or_else(|| {
            let first = tables.label_pairs.len();
            for pair in words.chunks_exact(3) {
                let (key, kind) = (low_word(pair[0]), high_word(pair[0]));
                let number = pair[2];
                let text = low_word(pair[1]);
                tables.label_pairs.push([key, kind, text, low_word(number), high_word(number)]);
            }
            let id = tables.label_sets.push([first, index(labels.len())]);
            self.label_sets.insert(hash, id);
            id
        })
    }

    /// Nodes of all samples, then rows sorted by (node, label set, link), equal ones added up.
    fn samples(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let columns = profile.columns;
        self.known_stacks(profile, buffer);
        self.new_stacks(tables, profile, buffer);
        buffer.keys.clear();
        let keys = buffer.nodes.iter().enumerate();
        buffer.keys.extend(keys.map(|(sample, node)| join_words(index(sample), node.wrapping_add(1))));
        sort_by_node(&mut buffer.keys, &mut buffer.sorted);
        buffer.rows.clear(columns.sample_types.len());
        if buffer.label_sets.is_empty() && columns.links.is_empty() && columns.timestamp_ends.is_empty() {
            plain_rows(profile, &buffer.keys, &mut buffer.rows);
        } else {
            full_rows(profile, &mut buffer.keys, &buffer.label_sets, &mut buffer.rows);
        }
    }

    fn header(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &InternBuffer) -> u32 {
        let header = &profile.columns.header;
        let string = |index: StringIndex| buffer.strings[index.position()];
        let stored = StoredHeader {
            comments: header.comments.iter().map(|&comment| string(comment)).collect(),
            default_sample_type: string(header.default_sample_type),
            drop_frames: string(header.drop_frames),
            keep_frames: string(header.keep_frames),
            doc_url: string(header.doc_url),
            has_period_type: header.period_type.is_some(),
            mappings: buffer.mappings.clone(),
        };
        if let Some(&id) = self.headers.get(&stored) {
            return id;
        }
        let id = tables.headers.push(stored.clone());
        self.headers.insert(stored, id);
        id
    }

    /// The id of a series; one that is new is appended.
    pub(crate) fn series(
        &mut self,
        tables: &Tables,
        labels: &LabelSet,
        name: &str,
        temporality: Temporality,
        profile: &Profile<'_>,
    ) -> u32 {
        let columns = profile.columns;
        let period = columns.header.period_type.unwrap_or_default();
        let string = |index: StringIndex| profile.string(index);
        let types = || columns.sample_types.iter();
        let hash = self.bytes_hasher.hash_one((
            labels,
            name,
            temporality,
            string(period.kind),
            string(period.unit),
            types().fold(0u64, |hash, column| {
                hash.rotate_left(5) ^ self.bytes_hasher.hash_one((string(column.kind), string(column.unit)))
            }),
        ));
        let wanted = series_of(labels, name, temporality, profile, period);
        let same = |&(known, id): &(u64, u32)| known == hash && tables.series.get(id) == Some(&wanted);
        if let Some(&(_, id)) = self.series.find(hash, same) {
            return id;
        }
        let id = tables.series.push(wanted);
        self.series.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        id
    }
}

fn series_of(
    labels: &LabelSet,
    name: &str,
    temporality: Temporality,
    profile: &Profile<'_>,
    period: ValueType,
) -> Series {
    let text = |index: StringIndex| profile.text_of(index).into_owned();
    Series {
        labels: labels.clone(),
        series_type: SeriesType {
            name: name.to_owned(),
            period_type: text(period.kind),
            period_unit: text(period.unit),
            columns: profile
                .columns
                .sample_types
                .iter()
                .map(|column| TypedColumn { sample_type: text(column.kind), sample_unit: text(column.unit) })
                .collect(),
        },
        temporality,
    }
}

/// A count as an id. Bodies have at most 256 MiB after inflation, so no count in a profile passes 32 bits.
#[inline]
pub(super) fn index(count: usize) -> u32 {
    debug_assert!(u32::try_from(count).is_ok());
    u32::try_from(count).unwrap_or(u32::MAX)
}
