//! Interning: from the tables of one profile to the tables of its partition.
//!
//! Strings, mappings, functions and locations are looked up once per profile and then known by position. A stack is
//! hashed from root to leaf; when its hash is known (most are), its node is known and nothing else is read. On a miss
//! the longest known beginning is searched for from the leaf's side, since a new stack mostly differs near the leaf.
//!
//! Long because the tables of one profile refer to each other and are looked up in one go.
//!
//! Nothing in here can fail: what could is checked before (see `check`), so that a refused profile leaves nothing.

use std::hash::BuildHasher;

use block::{NONE, Series, StoredHeader};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use profile::{
    LabelSet, LabelValue, Location, LocationIndex, MappingIndex, Profile, SampleLabel, SeriesType,
    StringIndex, Temporality, TypedColumn, ValueType,
};

use super::{rows::RowBuffer, tables::Tables};
use crate::hash::{HashKeys, PathHash, PathKeys, SymbolTable, high_word, join_words, low_word};

/// Lookup tables of a partition; only its writer has them.
pub(crate) struct Interner {
    keys: HashKeys,
    bytes_hasher: RandomState,
    /// (low half of the hash, id).
    strings: HashTable<(u32, u32)>,
    mappings: SymbolTable,
    functions: SymbolTable,
    locations: SymbolTable,
    frames: SymbolTable,
    /// By parent and frame.
    function_nodes: SymbolTable,
    paths: PathKeys,
    /// By the hash of the whole path from the root.
    nodes: SymbolTable,
    label_sets: SymbolTable,
    headers: HashMap<StoredHeader, u32, RandomState>,
    series: HashTable<(u64, u32)>,
    /// Frame of each function; [`NONE`] where it depends on the address.
    function_frames: Vec<u32>,
}

/// Memory that interning one profile needs; kept from one to the next.
#[derive(Default)]
pub(crate) struct InternBuffer {
    string_used: Vec<bool>,
    strings: Vec<u32>,
    mappings: Vec<u32>,
    functions: Vec<u32>,
    locations: Vec<u32>,
    /// Random numbers of the locations, for hashing stacks.
    frames: Vec<[u64; 2]>,
    hashes: Vec<PathHash>,
    /// Node of each sample.
    nodes: Vec<u32>,
    /// Samples whose stacks were not known.
    unknown: Vec<u32>,
    new_text: Vec<u8>,
    new_strings: Vec<(u32, u32)>,
    words: Vec<u64>,
    path: Vec<PathHash>,
    keys: Vec<u64>,
    label_sets: Vec<u32>,
    /// The rows of the profile, ready to encode.
    pub(crate) rows: RowBuffer,
}

/// Stacks whose nodes are made together: enough for cache misses to overlap, few enough to stay in the cache.
const HANDFUL: usize = 16;
/// Ancestors of a new stack's leaf whose places are brought into the cache: most new stacks part from known ones here.
const TOUCHED_NEAR_LEAF: usize = 4;

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
            strings: HashTable::new(),
            mappings: SymbolTable::default(),
            functions: SymbolTable::default(),
            locations: SymbolTable::default(),
            frames: SymbolTable::default(),
            function_nodes: SymbolTable::default(),
            paths: PathKeys::random(),
            nodes: SymbolTable::default(),
            label_sets: SymbolTable::default(),
            headers: HashMap::default(),
            series: HashTable::new(),
            function_frames: Vec::new(),
        }
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        let tables =
            [&self.mappings, &self.functions, &self.locations, &self.frames, &self.nodes, &self.label_sets];
        tables.iter().map(|table| table.bytes()).sum::<u64>()
            + (self.strings.allocation_size()
                + self.headers.allocation_size()
                + self.series.allocation_size()
                + self.function_frames.capacity() * size_of::<u32>()) as u64
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
        buffer.new_text.clear();
        buffer.new_strings.clear();
        let first_new = tables.strings.len();
        let chunk = tables.text.len();
        for (position, &range) in profile.columns.strings.iter().enumerate() {
            if range.length == 0 || !buffer.string_used[position] {
                buffer.strings.push(0);
                continue;
            }
            let bytes = &profile.text[range.start as usize..][..range.length as usize];
            let hash = low_word(self.bytes_hasher.hash_one(bytes));
            let (new_text, new_strings) = (&buffer.new_text, &buffer.new_strings);
            let is_same = |&(known_hash, id): &(u32, u32)| {
                known_hash == hash
                    && match id.checked_sub(first_new) {
                        None => tables.string(id) == bytes,
                        Some(new) => {
                            let (start, length) = new_strings[new as usize];
                            &new_text[start as usize..][..length as usize] == bytes
                        }
                    }
            };
            if let Some(&(_, id)) = self.strings.find(spread(hash), is_same) {
                buffer.strings.push(id);
                continue;
            }
            let id = first_new + index(buffer.new_strings.len());
            buffer.new_strings.push((index(buffer.new_text.len()), range.length));
            buffer.new_text.extend_from_slice(bytes);
            self.strings.insert_unique(spread(hash), (hash, id), |&(hash, _)| spread(hash));
            buffer.strings.push(id);
        }
        if !buffer.new_strings.is_empty() {
            tables.text.push(buffer.new_text.as_slice().into());
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
        for function in &profile.columns.functions {
            let name = buffer.strings[function.name.position()];
            let system_name = buffer.strings[function.system_name.position()];
            let file = buffer.strings[function.file.position()];
            let start_line = function.start_line.cast_unsigned();
            let hash = self.keys.of(&[join_words(name, system_name), u64::from(file), start_line]);
            let id = self.functions.get(hash).unwrap_or_else(|| {
                let id = tables.functions.push([
                    name,
                    system_name,
                    file,
                    low_word(start_line),
                    high_word(start_line),
                ]);
                self.functions.insert(hash, id);
                let frame = self.named_frame(tables, name, system_name, file);
                self.function_frames.push(frame);
                id
            });
            buffer.functions.push(id);
        }
    }

    /// Appends a function that a log record brings.
    pub(super) fn replay_function(&mut self, tables: &Tables, record: [u32; 5]) -> u32 {
        let [name, system_name, file, ..] = record;
        let frame = self.named_frame(tables, name, system_name, file);
        self.function_frames.push(frame);
        tables.functions.push(record)
    }

    /// The frame of a function that has a name of some kind.
    fn named_frame(&mut self, tables: &Tables, name: u32, system_name: u32, file: u32) -> u32 {
        if name == 0 && system_name == 0 {
            return NONE;
        }
        let (kind, identity) = if name == 0 { (1, system_name) } else { (0, name) };
        let hash = self.keys.of(&[join_words(identity, file), kind]);
        self.frames.get(hash).unwrap_or_else(|| {
            let id = tables.frames.push([name, system_name, file, 0, 0, 0, 0]);
            self.frames.insert(hash, id);
            id
        })
    }

    /// The frame of an address without a name: where it is in the mapped file.
    fn address_frame(&mut self, tables: &Tables, mapping: u32, address: u64, file: u32) -> u32 {
        let [start_low, start_high, _, _, offset_low, offset_high, mapping_file, build_id, _] =
            if mapping == NONE { [0; 9] } else { tables.mappings.get(mapping) };
        let start = join_words(start_low, start_high);
        let inside = if mapping == NONE || address < start {
            address
        } else {
            (address - start).wrapping_add(join_words(offset_low, offset_high))
        };
        let (kind, identity) = if build_id == 0 { (2, mapping_file) } else { (3, build_id) };
        let hash = self.keys.of(&[u64::from(identity), kind, inside]);
        self.frames.get(hash).unwrap_or_else(|| {
            let id =
                tables.frames.push([0, 0, file, mapping_file, build_id, low_word(inside), high_word(inside)]);
            self.frames.insert(hash, id);
            id
        })
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

    /// Finds or makes the nodes of stacks that were not known when the profile was begun. They are taken in handfuls:
    /// all hashes first, with a look at the places where the search will go, so that cache misses do not add up.
    fn new_stacks(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let columns = profile.columns;
        let stack_of = |sample: u32| {
            let sample = sample as usize;
            let start = if sample == 0 { 0 } else { columns.stack_ends[sample - 1] as usize };
            &columns.stacks[start..columns.stack_ends[sample] as usize]
        };
        let unknown = std::mem::take(&mut buffer.unknown);
        for handful in unknown.chunks(HANDFUL) {
            buffer.path.clear();
            buffer.hashes.clear();
            for &sample in handful {
                let begin = buffer.path.len();
                let frames = stack_of(sample).iter().rev().map(|location| buffer.frames[location.position()]);
                self.paths.beginnings(frames, &mut buffer.path);
                buffer.hashes.extend(buffer.path[begin..].iter().rev().skip(1).take(TOUCHED_NEAR_LEAF));
            }
            self.nodes.touch(buffer.hashes.iter());
            let mut begin = 0;
            for &sample in handful {
                let stack = stack_of(sample);
                let path = &buffer.path[begin..][..stack.len()];
                begin += stack.len();
                // An earlier one of this profile may have brought it.
                let known = path.last().and_then(|&hash| self.nodes.get(hash));
                buffer.nodes[sample as usize] = match known {
                    Some(node) => node,
                    None => self.new_stack(tables, stack, path, &buffer.locations),
                };
            }
        }
        buffer.unknown = unknown;
    }

    /// Adds the nodes that a stack needs and that are not there.
    fn new_stack(
        &mut self,
        tables: &Tables,
        stack: &[LocationIndex],
        path: &[PathHash],
        locations: &[u32],
    ) -> u32 {
        let (mut depth, mut node) = self.longest_known(path);
        while depth < stack.len() {
            let location = locations[stack[stack.len() - 1 - depth].position()];
            node = self.add_node(tables, node, location);
            self.nodes.insert(path[depth], node);
            depth += 1;
        }
        node
    }

    /// How many frames from the root are known, and the node there. The whole path is known not to be.
    fn longest_known(&self, path: &[PathHash]) -> (usize, u32) {
        // Below `known` all is known (a node's ancestors are); from `unknown` on nothing is.
        let (mut known, mut node) = (0, NONE);
        let mut unknown = path.len();
        let mut step = 1;
        while unknown > known + 1 {
            let probe = unknown.saturating_sub(step).max(known + 1);
            match self.nodes.get(path[probe - 1]) {
                Some(found) => {
                    (known, node) = (probe, found);
                    step = (unknown - known).div_ceil(2);
                }
                None => {
                    unknown = probe;
                    step = (2 * step).min((unknown - known).div_ceil(2)).max(1);
                }
            }
        }
        (known, node)
    }

    /// Appends a node; finds or makes the function nodes of its frames, outermost first.
    pub(super) fn add_node(&mut self, tables: &Tables, parent: u32, location: u32) -> u32 {
        let mut function_node = if parent == NONE { NONE } else { tables.nodes.get(parent)[2] };
        let [mapping, address_low, address_high, first, lines_and_fold] = tables.locations.get(location);
        let address = join_words(address_low, address_high);
        let lines = lines_and_fold >> 1;
        if lines == 0 {
            let frame = self.address_frame(tables, mapping, address, 0);
            function_node = self.function_node(tables, function_node, frame);
        }
        for line in (first..first + lines).rev() {
            let [function, ..] = tables.lines.get(line);
            let mut frame = self.function_frames.get(function as usize).copied().unwrap_or(NONE);
            if frame == NONE {
                let [_, _, file, ..] = tables.functions.get(function);
                frame = self.address_frame(tables, mapping, address, file);
            }
            function_node = self.function_node(tables, function_node, frame);
        }
        tables.nodes.push([parent, location, function_node])
    }

    fn function_node(&mut self, tables: &Tables, parent: u32, frame: u32) -> u32 {
        let hash = self.keys.of(&[join_words(parent, frame)]);
        if let Some(id) = self.function_nodes.get(hash) {
            return id;
        }
        let id = tables.function_nodes.push([parent, frame]);
        self.function_nodes.insert(hash, id);
        id
    }

    /// Nodes of all samples, then rows sorted by (node, label set, link), equal ones added up.
    fn samples(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let columns = profile.columns;
        self.stack_hashes(profile, &buffer.frames, &mut buffer.hashes);
        buffer.nodes.clear();
        buffer.unknown.clear();
        for (sample, &hash) in buffer.hashes.iter().enumerate() {
            // The hash of an empty stack is that of no frame at all, which no node has.
            let node = self.nodes.get(hash);
            if node.is_none() && hash != PathHash::default() {
                buffer.unknown.push(index(sample));
            }
            buffer.nodes.push(node.unwrap_or(NONE));
        }
        self.new_stacks(tables, profile, buffer);
        buffer.keys.clear();
        let keys = buffer.nodes.iter().enumerate();
        buffer.keys.extend(keys.map(|(sample, node)| join_words(index(sample), node.wrapping_add(1))));
        buffer.keys.sort_unstable();
        buffer.rows.clear(columns.sample_types.len());
        if buffer.label_sets.is_empty() && columns.links.is_empty() && columns.timestamp_ends.is_empty() {
            plain_rows(profile, &buffer.keys, &mut buffer.rows);
        } else {
            full_rows(profile, &mut buffer.keys, &buffer.label_sets, &mut buffer.rows);
        }
    }

    /// Hashes of all stacks, their places in the table brought into the cache.
    fn stack_hashes(&mut self, profile: &Profile<'_>, frames: &[[u64; 2]], hashes: &mut Vec<PathHash>) {
        let columns = profile.columns;
        hashes.clear();
        hashes.reserve(columns.sample_count());
        let mut start = 0usize;
        for &end in &columns.stack_ends {
            let stack = &columns.stacks[start..end as usize];
            start = end as usize;
            self.paths.reach(stack.len());
            let hash = self.paths.path(stack.iter().rev().map(|location| frames[location.position()]));
            hashes.push(hash);
        }
        self.nodes.touch(hashes.iter());
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

/// Rows of samples that have neither labels nor links nor times.
fn plain_rows(profile: &Profile<'_>, keys: &[u64], rows: &mut RowBuffer) {
    let columns = profile.columns;
    let width = columns.sample_types.len();
    rows.nodes.reserve(keys.len());
    rows.nodes.extend(keys.iter().map(|&key| high_word(key)));
    let all_different = rows.nodes.windows(2).all(|pair| pair[0] != pair[1]);
    if all_different {
        for (column, values) in rows.columns.iter_mut().enumerate() {
            values.extend(keys.iter().map(|&key| columns.values[low_word(key) as usize * width + column]));
        }
        return;
    }
    for (column, values) in rows.columns.iter_mut().enumerate() {
        let mut last = None;
        for (&key, &node) in keys.iter().zip(&rows.nodes) {
            let value = columns.values[low_word(key) as usize * width + column];
            match values.last_mut() {
                Some(sum) if last == Some(node) => *sum += value,
                _ => values.push(value),
            }
            last = Some(node);
        }
    }
    rows.nodes.dedup();
}

/// Rows of samples of any kind.
fn full_rows(profile: &Profile<'_>, keys: &mut [u64], label_sets: &[u32], rows: &mut RowBuffer) {
    let columns = profile.columns;
    let detail = |key: u64| {
        let position = low_word(key) as usize;
        let label_set = label_sets.get(position).copied().unwrap_or(0);
        let link = columns.links.get(position).copied().unwrap_or_default();
        (high_word(key), label_set, link.trace_id, link.span_id)
    };
    keys.sort_by_key(|&key| detail(key));
    let mut last = None;
    for &key in &*keys {
        let sample = profile.sample(low_word(key) as usize);
        let identity = detail(key);
        let is_new = last != Some(identity);
        last = Some(identity);
        for (values, &value) in rows.columns.iter_mut().zip(sample.values) {
            match values.last_mut() {
                Some(sum) if !is_new => *sum += value,
                _ => values.push(value),
            }
        }
        rows.timestamps.extend_from_slice(sample.timestamps);
        if !is_new {
            if let Some(end) = rows.timestamp_ends.last_mut() {
                *end = index(rows.timestamps.len());
            }
            continue;
        }
        rows.nodes.push(identity.0);
        if !label_sets.is_empty() {
            rows.label_sets.push(identity.1);
        }
        if !columns.links.is_empty() {
            rows.links.push(sample.link);
        }
        if !columns.timestamp_ends.is_empty() {
            rows.timestamp_ends.push(index(rows.timestamps.len()));
        }
    }
}

/// Spreads a 32-bit hash over 64 bits, of which tables use both ends.
#[inline]
fn spread(hash: u32) -> u64 {
    join_words(hash, hash)
}

/// A count as an id. Bodies have at most 256 MiB after inflation, so no count in a profile passes 32 bits.
#[inline]
fn index(count: usize) -> u32 {
    debug_assert!(u32::try_from(count).is_ok());
    u32::try_from(count).unwrap_or(u32::MAX)
}
