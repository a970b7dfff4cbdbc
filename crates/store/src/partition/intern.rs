//! Interning: from the tables of one profile to the tables of its partition.
//!
//! Strings, mappings, functions and locations are looked up once per profile and then known by position. All of a kind are
//! hashed first and their places in the table brought into the cache, so that cache misses do not add up.
//!
//! Not here: stacks (`stacks`), rows (`sample_rows`), what follows from nodes (`functions`).
//!
//! Nothing in here can fail: what could is checked before (see `check`), so that a refused profile leaves nothing.

use std::hash::BuildHasher;

use block::{NONE, Series, StoredHeader, sort_by_node};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use profile::{
    Function, LabelSet, LabelValue, Location, MappingIndex, Profile, SampleLabel, SeriesType, StringIndex,
    StringRange, Temporality, TypedColumn, ValueType,
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
    keys: HashKeys,
    bytes_hasher: RandomState,
    strings: SymbolTable,
    mappings: SymbolTable,
    functions: SymbolTable,
    locations: SymbolTable,
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
    string_used: Vec<bool>,
    strings: Vec<u32>,
    mappings: Vec<u32>,
    functions: Vec<u32>,
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
    new_text: Vec<u8>,
    new_strings: Vec<(u32, u32)>,
    words: Vec<u64>,
    pub(super) path: Path,
    pub(super) near_leaf: Vec<PathHash>,
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
        self.strings(tables, profile, buffer);
        self.mappings(tables, profile, buffer);
        self.functions(tables, profile, buffer);
        self.locations(tables, profile, buffer);
        self.sample_labels(tables, profile, buffer);
        self.samples(tables, profile, buffer);
        self.header(tables, profile, buffer)
    }

    fn strings(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        mark_strings(profile, &mut buffer.string_used);
        buffer.strings.clear();
        buffer.hashes.clear();
        buffer.new_text.clear();
        buffer.new_strings.clear();
        let strings = || profile.columns.strings.iter().zip(&buffer.string_used);
        let wanted = || strings().filter(|&(range, &is_used)| is_used && range.length > 0);
        let bytes_of = |range: &StringRange| &profile.text[range.start as usize..][..range.length as usize];
        buffer.hashes.extend(wanted().map(|(range, _)| self.keys.of_bytes(bytes_of(range))));
        self.strings.touch(buffer.hashes.iter());
        let first_new = tables.strings.len();
        let mut hashes = buffer.hashes.iter();
        for (range, &is_used) in strings() {
            let hash = if is_used && range.length > 0 { hashes.next() } else { None };
            let Some(&hash) = hash else {
                buffer.strings.push(0);
                continue;
            };
            let id = self.strings.get(hash).unwrap_or_else(|| {
                let id = first_new + index(buffer.new_strings.len());
                buffer.new_strings.push((index(buffer.new_text.len()), range.length));
                buffer.new_text.extend_from_slice(bytes_of(range));
                self.strings.insert(hash, id);
                id
            });
            buffer.strings.push(id);
        }
        if !buffer.new_strings.is_empty() {
            let chunk = tables.text.push(buffer.new_text.as_slice().into());
            for &(start, length) in &buffer.new_strings {
                tables.strings.push([chunk, start, length]);
            }
        }
    }

    fn mappings(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        buffer.mappings.clear();
        for mapping in &profile.columns.mappings {
            let file = buffer.strings[mapping.file.position()];
            let build_id = buffer.strings[mapping.build_id.position()];
            let flags = u32::from(mapping.flags.0);
            let hash = self.keys.of(&[
                mapping.start,
                mapping.limit,
                mapping.offset,
                join_words(file, build_id),
                u64::from(flags),
            ]);
            let id = self.mappings.get(hash).unwrap_or_else(|| {
                let (start, limit, offset) = (mapping.start, mapping.limit, mapping.offset);
                let id = tables.mappings.push([
                    low_word(start),
                    high_word(start),
                    low_word(limit),
                    high_word(limit),
                    low_word(offset),
                    high_word(offset),
                    file,
                    build_id,
                    flags,
                ]);
                self.mappings.insert(hash, id);
                id
            });
            buffer.mappings.push(id);
        }
    }

    fn functions(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        buffer.functions.clear();
        buffer.hashes.clear();
        let strings = &buffer.strings;
        let words = |function: &Function| {
            let name = strings[function.name.position()];
            let system_name = strings[function.system_name.position()];
            let file = strings[function.file.position()];
            [name, system_name, file]
        };
        buffer.hashes.extend(profile.columns.functions.iter().map(|function| {
            let [name, system_name, file] = words(function);
            let start_line = function.start_line.cast_unsigned();
            self.keys.of(&[join_words(name, system_name), u64::from(file), start_line])
        }));
        self.functions.touch(buffer.hashes.iter());
        for (function, &hash) in profile.columns.functions.iter().zip(&buffer.hashes) {
            let id = self.functions.get(hash).unwrap_or_else(|| {
                let [name, system_name, file] = words(function);
                let start_line = function.start_line.cast_unsigned();
                let (low, high) = (low_word(start_line), high_word(start_line));
                let id = tables.functions.push([name, system_name, file, low, high]);
                self.functions.insert(hash, id);
                id
            });
            buffer.functions.push(id);
        }
    }

    fn locations(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        self.location_hashes(profile, buffer);
        buffer.locations.clear();
        buffer.frames.clear();
        let columns = profile.columns;
        for (location, &hash) in columns.locations.iter().zip(&buffer.hashes) {
            let id = self.locations.get(hash).unwrap_or_else(|| {
                let first = tables.lines.len();
                for line in columns.location_lines(location) {
                    let (number, column) = (line.line.cast_unsigned(), line.column.cast_unsigned());
                    tables.lines.push([
                        buffer.functions[line.function.position()],
                        low_word(number),
                        high_word(number),
                        low_word(column),
                        high_word(column),
                    ]);
                }
                let mapping = mapping_of(location, &buffer.mappings);
                let (low, high) = (low_word(location.address), high_word(location.address));
                let lines_and_fold = location.lines_length << 1 | u32::from(location.is_folded);
                let id = tables.locations.push([mapping, low, high, first, lines_and_fold]);
                self.locations.insert(hash, id);
                id
            });
            buffer.locations.push(id);
            buffer.frames.push(self.paths.frame(id));
        }
    }

    /// Hashes of all locations, their places in the table brought into the cache.
    fn location_hashes(&self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let columns = profile.columns;
        buffer.hashes.clear();
        for location in &columns.locations {
            let mapping = mapping_of(location, &buffer.mappings);
            let mut hash =
                self.keys.of(&[join_words(mapping, u32::from(location.is_folded)), location.address]);
            for line in columns.location_lines(location) {
                let function = buffer.functions[line.function.position()];
                match u32::try_from(line.line) {
                    // Nearly every line: one word tells it all.
                    Ok(short) if short < 1 << 31 && line.column == 0 => {
                        hash = self.keys.add(hash, join_words(function, short));
                    }
                    _ => {
                        hash = self.keys.add(hash, join_words(function, 1 << 31));
                        hash = self.keys.add(hash, line.line.cast_unsigned());
                        hash = self.keys.add(hash, line.column.cast_unsigned());
                    }
                }
            }
            buffer.hashes.push(hash);
        }
        self.locations.touch(buffer.hashes.iter());
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

/// The partition's id of a location's mapping.
#[inline]
fn mapping_of(location: &Location, mappings: &[u32]) -> u32 {
    match location.mapping {
        MappingIndex::NONE => NONE,
        known => mappings[known.position()],
    }
}

/// Marks the strings that the partition needs: not those of sample types, nor what a decoder took elsewhere.
fn mark_strings(profile: &Profile<'_>, used: &mut Vec<bool>) {
    let columns = profile.columns;
    used.clear();
    used.resize(columns.strings.len(), false);
    for function in &columns.functions {
        used[function.name.position()] = true;
        used[function.system_name.position()] = true;
        used[function.file.position()] = true;
    }
    for mapping in &columns.mappings {
        used[mapping.file.position()] = true;
        used[mapping.build_id.position()] = true;
    }
    for label in &columns.labels {
        used[label.key.position()] = true;
        match label.value {
            LabelValue::Text(text) => used[text.position()] = true,
            LabelValue::Number { unit, .. } => used[unit.position()] = true,
        }
    }
    let header = &columns.header;
    for &comment in &header.comments {
        used[comment.position()] = true;
    }
    for one in [header.default_sample_type, header.drop_frames, header.keep_frames, header.doc_url] {
        used[one.position()] = true;
    }
}

/// A count as an id. Bodies have at most 256 MiB after inflation, so no count in a profile passes 32 bits.
#[inline]
pub(super) fn index(count: usize) -> u32 {
    debug_assert!(u32::try_from(count).is_ok());
    u32::try_from(count).unwrap_or(u32::MAX)
}
