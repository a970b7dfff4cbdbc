//! Symbols on their way into a log record and back.
//!
//! A record carries what the partition has learned since the record before it: per table the id of the first new
//! entry, how many there are, and the entries. Function nodes and frames are not written; they follow from the nodes.
//!
//! When a record is lost to damage, later ones still say where their entries belong. What is missing in between is
//! filled with blanks and remembered in [`Holes`]; an entry that refers to a hole is one itself, and a profile that
//! refers to one is not used.

use std::collections::HashSet;

use block::{NONE, Series, StoredHeader};
use profile::{LabelSet, SeriesType, Temporality, TypedColumn};

use super::{
    bytes::{Damaged, Reader, put_bytes, put_varint, put_words, zigzag_decode, zigzag_encode},
    tables::{Lengths, Tables},
};
use crate::hash::{high_word, join_words, low_word};

/// Tables in the order in which they stand in a record; the position is the bit in the mask.
const STRINGS: usize = 0;
const MAPPINGS: usize = 1;
const FUNCTIONS: usize = 2;
const LINES: usize = 3;
const LOCATIONS: usize = 4;
const NODES: usize = 5;
const LABEL_PAIRS: usize = 6;
const LABEL_SETS: usize = 7;
const HEADERS: usize = 8;
const SERIES: usize = 9;
const TABLES: usize = 10;

const fn logged_lengths(lengths: &Lengths) -> [u32; TABLES] {
    [
        lengths.strings,
        lengths.mappings,
        lengths.functions,
        lengths.lines,
        lengths.locations,
        lengths.nodes,
        lengths.label_pairs,
        lengths.label_sets,
        lengths.headers,
        lengths.series,
    ]
}

/// Writes everything between two lengths.
pub(super) fn encode(tables: &Tables, from: &Lengths, to: &Lengths, out: &mut Vec<u8>) {
    let (from, to) = (logged_lengths(from), logged_lengths(to));
    let mask = (0..TABLES).filter(|&table| from[table] < to[table]).fold(0, |mask, table| mask | 1 << table);
    put_varint(out, mask);
    for table in (0..TABLES).filter(|table| mask & 1 << table != 0) {
        put_varint(out, u64::from(from[table]));
        put_varint(out, u64::from(to[table] - from[table]));
        encode_table(tables, table, from[table]..to[table], out);
    }
}

fn encode_table(tables: &Tables, table: usize, ids: std::ops::Range<u32>, out: &mut Vec<u8>) {
    let mut put = |value: u32| put_varint(out, u64::from(value));
    match table {
        STRINGS => {
            ids.clone().for_each(|id| put(tables.strings.get(id)[2]));
            ids.for_each(|id| out.extend_from_slice(tables.string(id)));
        }
        MAPPINGS => ids.for_each(|id| {
            let record = tables.mappings.get(id);
            for pair in record[..6].chunks_exact(2) {
                put_varint(out, join_words(pair[0], pair[1]));
            }
            record[6..].iter().for_each(|&word| put_varint(out, u64::from(word)));
        }),
        FUNCTIONS => ids.for_each(|id| {
            let [name, system_name, file, low, high] = tables.functions.get(id);
            [name, system_name, file].iter().for_each(|&word| put_varint(out, u64::from(word)));
            put_varint(out, zigzag_encode(join_words(low, high).cast_signed()));
        }),
        LINES => ids.for_each(|id| {
            let [function, line_low, line_high, column_low, column_high] = tables.lines.get(id);
            put_varint(out, u64::from(function));
            put_varint(out, zigzag_encode(join_words(line_low, line_high).cast_signed()));
            put_varint(out, zigzag_encode(join_words(column_low, column_high).cast_signed()));
        }),
        LOCATIONS => {
            // Lines are appended with their locations, so only the first start is needed.
            put(tables.locations.get(ids.start)[3]);
            ids.for_each(|id| {
                let [mapping, low, high, _, lines_and_fold] = tables.locations.get(id);
                put_varint(out, u64::from(mapping.wrapping_add(1)));
                put_varint(out, join_words(low, high));
                put_varint(out, u64::from(lines_and_fold));
            });
        }
        NODES => {
            // Distance to the parent: 0 for a child of the node before, the id itself for a root.
            let ids = || (0..ids.len()).zip(ids.clone()).map(|(_, id)| (id, tables.nodes.get(id)));
            put_words(out, ids().map(|(id, [parent, _])| id - parent.wrapping_add(1)));
            put_words(out, ids().map(|(_, [_, location])| location));
        }
        LABEL_PAIRS => ids.for_each(|id| {
            let [key, kind, text, low, high] = tables.label_pairs.get(id);
            [key, kind, text].iter().for_each(|&word| put_varint(out, u64::from(word)));
            put_varint(out, zigzag_encode(join_words(low, high).cast_signed()));
        }),
        LABEL_SETS => {
            put(tables.label_sets.get(ids.start)[0]);
            ids.for_each(|id| put(tables.label_sets.get(id)[1]));
        }
        HEADERS => ids.filter_map(|id| tables.headers.get(id)).for_each(|header| encode_header(header, out)),
        _ => ids.filter_map(|id| tables.series.get(id)).for_each(|series| encode_series(series, out)),
    }
}

fn encode_header(header: &StoredHeader, out: &mut Vec<u8>) {
    for list in [&header.comments, &header.mappings] {
        put_varint(out, list.len() as u64);
        list.iter().for_each(|&id| put_varint(out, u64::from(id)));
    }
    for id in [header.default_sample_type, header.drop_frames, header.keep_frames, header.doc_url] {
        put_varint(out, u64::from(id));
    }
    out.push(u8::from(header.has_period_type));
}

fn encode_series(series: &Series, out: &mut Vec<u8>) {
    let kind = &series.series_type;
    out.push(match series.temporality {
        Temporality::Delta => 0,
        Temporality::Instant => 1,
        Temporality::Cumulative => 2,
    });
    encode_labels(&series.labels, out);
    for text in [&kind.name, &kind.period_type, &kind.period_unit] {
        put_bytes(out, text.as_bytes());
    }
    put_varint(out, kind.columns.len() as u64);
    for column in &kind.columns {
        put_bytes(out, column.sample_type.as_bytes());
        put_bytes(out, column.sample_unit.as_bytes());
    }
}

/// Writes labels.
pub(super) fn encode_labels(labels: &LabelSet, out: &mut Vec<u8>) {
    put_varint(out, labels.len() as u64);
    for (name, value) in labels.iter() {
        put_bytes(out, name.as_bytes());
        put_bytes(out, value.as_bytes());
    }
}

/// Entries that are blank because the record that brought them is damaged, per table.
#[derive(Debug, Default)]
pub(super) struct Holes {
    tables: [HashSet<u32>; TABLES],
}

impl Holes {
    /// Whether an entry is there and whole.
    fn has(&self, table: usize, id: u32, length: u32) -> bool {
        id < length && (self.tables[table].is_empty() || !self.tables[table].contains(&id))
    }

    fn add(&mut self, table: usize, id: u32) {
        self.tables[table].insert(id);
    }

    /// Whether a series can be used.
    pub(super) fn has_series(&self, tables: &Tables, series: u32) -> bool {
        self.has(SERIES, series, tables.series.len())
    }

    /// Whether a profile of this series and header can be used.
    pub(super) fn has_profile(&self, tables: &Tables, series: u32, header: u32) -> bool {
        self.has_series(tables, series) && self.has(HEADERS, header, tables.headers.len())
    }

    /// Whether a row's node can be used.
    pub(super) fn has_node(&self, tables: &Tables, node: u32) -> bool {
        node == NONE || self.has(NODES, node, tables.nodes.len())
    }

    /// Whether a row's labels can be used.
    pub(super) fn has_label_set(&self, tables: &Tables, label_set: u32) -> bool {
        self.has(LABEL_SETS, label_set, tables.label_sets.len())
    }
}

/// Appends to a partition what a record brings.
pub(super) struct Replay<'a> {
    pub(super) tables: &'a Tables,
    pub(super) holes: &'a mut Holes,
    /// How many blanks may stand for lost entries; bounded by what was lost.
    pub(super) blanks_left: &'a mut u64,
}

impl Replay<'_> {
    /// Reads the symbols at the front of `input`.
    pub(super) fn decode(&mut self, input: &mut Reader<'_>) -> Result<(), Damaged> {
        let mask = input.varint()?;
        if mask >> TABLES != 0 {
            return Err(Damaged("table mask"));
        }
        for table in (0..TABLES).filter(|table| mask & 1 << table != 0) {
            let first = input.word()?;
            let count = input.word()?;
            // Every entry takes at least one byte.
            if count as usize > input.rest().len() || first.checked_add(count).is_none() {
                return Err(Damaged("entry count"));
            }
            self.fill(table, first)?;
            self.table(table, count, input)?;
        }
        Ok(())
    }

    fn length(&self, table: usize) -> u32 {
        logged_lengths(&Lengths::of(self.tables))[table]
    }

    /// Puts blanks in the place of entries that were lost.
    fn fill(&mut self, table: usize, first: u32) -> Result<(), Damaged> {
        let length = self.length(table);
        if first < length {
            return Err(Damaged("first entry"));
        }
        let lost = u64::from(first - length);
        *self.blanks_left = self.blanks_left.checked_sub(lost).ok_or(Damaged("first entry"))?;
        for id in length..first {
            self.holes.add(table, id);
            self.blank(table);
        }
        Ok(())
    }

    fn blank(&mut self, table: usize) {
        let tables = self.tables;
        match table {
            STRINGS => drop(tables.strings.push([0; 3])),
            MAPPINGS => drop(tables.mappings.push([0; 9])),
            FUNCTIONS => drop(tables.functions.push([0; 5])),
            LINES => drop(tables.lines.push([0; 5])),
            LOCATIONS => drop(tables.locations.push([NONE, 0, 0, 0, 0])),
            NODES => {
                if tables.locations.len() == 0 {
                    self.holes.add(LOCATIONS, 0);
                    self.blank(LOCATIONS);
                }
                tables.nodes.push([NONE, 0]);
            }
            LABEL_PAIRS => drop(tables.label_pairs.push([0; 5])),
            LABEL_SETS => drop(tables.label_sets.push([0; 2])),
            HEADERS => drop(tables.headers.push(StoredHeader::default())),
            _ => drop(tables.series.push(Series {
                labels: LabelSet::default(),
                series_type: SeriesType {
                    name: String::new(),
                    period_type: String::new(),
                    period_unit: String::new(),
                    columns: Vec::new(),
                },
                temporality: Temporality::Delta,
            })),
        }
    }

    fn table(&mut self, table: usize, count: u32, input: &mut Reader<'_>) -> Result<(), Damaged> {
        match table {
            STRINGS => self.strings(count, input),
            MAPPINGS => self.each(table, count, input, Self::mapping),
            FUNCTIONS => self.each(table, count, input, Self::function),
            LINES => self.each(table, count, input, Self::line),
            LOCATIONS => {
                let mut start = input.word()?;
                self.each(table, count, input, |replay, input| replay.location(input, &mut start))
            }
            NODES => self.nodes(count, input),
            LABEL_PAIRS => self.each(table, count, input, Self::label_pair),
            LABEL_SETS => {
                let mut start = input.word()?;
                self.each(table, count, input, |replay, input| replay.label_set(input, &mut start))
            }
            HEADERS => self.each(table, count, input, Self::header),
            _ => self.each(table, count, input, Self::series),
        }
    }

    /// Reads entries one by one. `read` appends one and says whether all that it refers to is there; where it is not,
    /// `read` has appended nothing and a blank takes the place.
    fn each(
        &mut self,
        table: usize,
        count: u32,
        input: &mut Reader<'_>,
        mut read: impl FnMut(&mut Self, &mut Reader<'_>) -> Result<bool, Damaged>,
    ) -> Result<(), Damaged> {
        for _ in 0..count {
            let id = self.length(table);
            if !read(self, input)? {
                self.holes.add(table, id);
                self.blank(table);
            }
        }
        Ok(())
    }

    fn has(&self, table: usize, ids: &[u32]) -> bool {
        let length = self.length(table);
        ids.iter().all(|&id| self.holes.has(table, id, length))
    }

    fn strings(&mut self, count: u32, input: &mut Reader<'_>) -> Result<(), Damaged> {
        let lengths: Vec<u32> = (0..count).map(|_| input.word()).collect::<Result<_, _>>()?;
        let total: u64 = lengths.iter().copied().map(u64::from).sum();
        let text = input.take(usize::try_from(total).map_err(|_| Damaged("text length"))?)?;
        let chunk = self.tables.text.push(text.into());
        let mut start = 0;
        for length in lengths {
            self.tables.strings.push([chunk, start, length]);
            start += length;
        }
        Ok(())
    }

    fn mapping(&mut self, input: &mut Reader<'_>) -> Result<bool, Damaged> {
        let places = [input.varint()?, input.varint()?, input.varint()?];
        let strings = [input.word()?, input.word()?];
        let flags = input.word()?;
        let whole = self.has(STRINGS, &strings);
        if whole {
            self.tables.push_mapping(places, strings, flags);
        }
        Ok(whole)
    }

    fn function(&mut self, input: &mut Reader<'_>) -> Result<bool, Damaged> {
        let [name, system_name, file] = [input.word()?, input.word()?, input.word()?];
        let start_line = zigzag_decode(input.varint()?).cast_unsigned();
        let whole = self.has(STRINGS, &[name, system_name, file]);
        if whole {
            let record = [name, system_name, file, low_word(start_line), high_word(start_line)];
            self.tables.functions.push(record);
        }
        Ok(whole)
    }

    fn line(&mut self, input: &mut Reader<'_>) -> Result<bool, Damaged> {
        let function = input.word()?;
        let line = zigzag_decode(input.varint()?).cast_unsigned();
        let column = zigzag_decode(input.varint()?).cast_unsigned();
        let whole = self.has(FUNCTIONS, &[function]);
        if whole {
            self.tables.lines.push([
                function,
                low_word(line),
                high_word(line),
                low_word(column),
                high_word(column),
            ]);
        }
        Ok(whole)
    }

    fn location(&mut self, input: &mut Reader<'_>, start: &mut u32) -> Result<bool, Damaged> {
        let mapping = input.word()?.wrapping_sub(1);
        let address = input.varint()?;
        let lines_and_fold = input.word()?;
        let first = *start;
        let end = first.checked_add(lines_and_fold >> 1).ok_or(Damaged("line count"))?;
        if end > self.tables.lines.len() {
            return Err(Damaged("line count"));
        }
        *start = end;
        let whole = (mapping == NONE || self.has(MAPPINGS, &[mapping]))
            && (first..end).all(|line| self.has(LINES, &[line]));
        if whole {
            let (low, high) = (low_word(address), high_word(address));
            self.tables.locations.push([mapping, low, high, first, lines_and_fold]);
        }
        Ok(whole)
    }

    fn nodes(&mut self, count: u32, input: &mut Reader<'_>) -> Result<(), Damaged> {
        let first = self.tables.nodes.len();
        let mut parents = Vec::with_capacity(count as usize);
        for id in first..first + count {
            let distance = input.word()?;
            parents.push(id.checked_sub(distance).ok_or(Damaged("node parent"))?.wrapping_sub(1));
        }
        let mut parents = parents.into_iter();
        self.each(NODES, count, input, |replay, input| {
            let parent = parents.next().unwrap_or(NONE);
            let location = input.word()?;
            let whole =
                replay.has(LOCATIONS, &[location]) && (parent == NONE || replay.has(NODES, &[parent]));
            if whole {
                replay.tables.nodes.push([parent, location]);
            }
            Ok(whole)
        })
    }

    fn label_pair(&mut self, input: &mut Reader<'_>) -> Result<bool, Damaged> {
        let [key, kind, text] = [input.word()?, input.word()?, input.word()?];
        let number = zigzag_decode(input.varint()?).cast_unsigned();
        let whole = self.has(STRINGS, &[key, text]);
        if whole {
            self.tables.label_pairs.push([key, kind, text, low_word(number), high_word(number)]);
        }
        Ok(whole)
    }

    fn label_set(&mut self, input: &mut Reader<'_>, start: &mut u32) -> Result<bool, Damaged> {
        let length = input.word()?;
        let first = *start;
        let end = first.checked_add(length).ok_or(Damaged("label count"))?;
        if end > self.tables.label_pairs.len() {
            return Err(Damaged("label count"));
        }
        *start = end;
        let whole = (first..end).all(|pair| self.has(LABEL_PAIRS, &[pair]));
        if whole {
            self.tables.label_sets.push([first, length]);
        }
        Ok(whole)
    }

    fn header(&mut self, input: &mut Reader<'_>) -> Result<bool, Damaged> {
        let mut list = || -> Result<Vec<u32>, Damaged> {
            let count = input.count()?;
            if count > input.rest().len() {
                return Err(Damaged("header list"));
            }
            (0..count).map(|_| input.word()).collect()
        };
        let (comments, mappings) = (list()?, list()?);
        let strings = [input.word()?, input.word()?, input.word()?, input.word()?];
        let has_period_type = input.byte()? != 0;
        let whole =
            self.has(STRINGS, &comments) && self.has(STRINGS, &strings) && self.has(MAPPINGS, &mappings);
        if whole {
            let [default_sample_type, drop_frames, keep_frames, doc_url] = strings;
            self.tables.headers.push(StoredHeader {
                comments,
                default_sample_type,
                drop_frames,
                keep_frames,
                doc_url,
                has_period_type,
                mappings,
            });
        }
        Ok(whole)
    }

    fn series(&mut self, input: &mut Reader<'_>) -> Result<bool, Damaged> {
        let temporality = match input.byte()? {
            0 => Temporality::Delta,
            1 => Temporality::Instant,
            2 => Temporality::Cumulative,
            _ => return Err(Damaged("temporality")),
        };
        let labels = decode_labels(input)?;
        let [name, period_type, period_unit] = [text(input)?, text(input)?, text(input)?];
        let count = input.count()?;
        if count > input.rest().len() {
            return Err(Damaged("column count"));
        }
        let columns = (0..count)
            .map(|_| Ok(TypedColumn { sample_type: text(input)?, sample_unit: text(input)? }))
            .collect::<Result<_, _>>()?;
        let series_type = SeriesType { name, period_type, period_unit, columns };
        self.tables.series.push(Series { labels, series_type, temporality });
        Ok(true)
    }
}

/// Reads a text.
pub(super) fn text(input: &mut Reader<'_>) -> Result<String, Damaged> {
    String::from_utf8(input.bytes()?.to_vec()).map_err(|_| Damaged("text"))
}

/// Reads what [`encode_labels`] wrote.
pub(super) fn decode_labels(input: &mut Reader<'_>) -> Result<LabelSet, Damaged> {
    let count = input.count()?;
    if count > input.rest().len() {
        return Err(Damaged("label count"));
    }
    let mut pairs = Vec::with_capacity(count);
    for _ in 0..count {
        pairs.push((text(input)?, text(input)?));
    }
    LabelSet::from_pairs(pairs).map_err(|_| Damaged("labels"))
}
