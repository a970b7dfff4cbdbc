//! From stored rows back to a profile, to take a baseline from one generation into the next.
//!
//! Symbols start afresh with each generation, so rows mean nothing in another partition. Their stacks are written out
//! as a decoded profile once more, which the other partition interns as any other.

use std::collections::HashMap;

use block::{NONE, Rows, Series, StoredLabelValue, Symbols};
use profile::{
    Columns, Function, FunctionIndex, LabelValue, Line, Link, Location, LocationIndex, Mapping, MappingIndex,
    Profile, SampleLabel, StringIndex, StringRange, ValueType,
};

/// A profile that owns its text.
pub(crate) struct OwnedProfile {
    text: Vec<u8>,
    columns: Columns,
}

impl OwnedProfile {
    /// As a profile.
    pub(crate) fn profile(&self) -> Profile<'_> {
        Profile { text: &self.text, columns: &self.columns }
    }
}

/// Writes out rows of a series.
pub(crate) fn owned_profile(symbols: &dyn Symbols, series: &Series, rows: &Rows) -> OwnedProfile {
    let mut carrier = Carrier {
        symbols,
        out: OwnedProfile { text: Vec::new(), columns: Columns::default() },
        strings: HashMap::new(),
        mappings: HashMap::new(),
        functions: HashMap::new(),
        locations: HashMap::new(),
    };
    carrier.out.columns.clear();
    let kind = &series.series_type;
    let sample_types = kind.columns.iter().map(|column| (&column.sample_type, &column.sample_unit));
    for (kind, unit) in sample_types {
        let value_type =
            ValueType { kind: carrier.text(kind.as_bytes()), unit: carrier.text(unit.as_bytes()) };
        carrier.out.columns.sample_types.push(value_type);
    }
    if !(kind.period_type.is_empty() && kind.period_unit.is_empty()) {
        let (kind, unit) = (&kind.period_type, &kind.period_unit);
        let period = ValueType { kind: carrier.text(kind.as_bytes()), unit: carrier.text(unit.as_bytes()) };
        carrier.out.columns.header.period_type = Some(period);
    }
    for row in 0..rows.nodes.len() {
        carrier.row(rows, row);
    }
    carrier.out.columns.values.clone_from(&rows.values);
    carrier.out
}

struct Carrier<'a> {
    symbols: &'a dyn Symbols,
    out: OwnedProfile,
    strings: HashMap<u32, StringIndex>,
    mappings: HashMap<u32, MappingIndex>,
    functions: HashMap<u32, FunctionIndex>,
    locations: HashMap<u32, LocationIndex>,
}

/// A position in a table that began as one of 32-bit ids, so it fits.
fn position(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl Carrier<'_> {
    fn text(&mut self, bytes: &[u8]) -> StringIndex {
        if bytes.is_empty() {
            return StringIndex::EMPTY;
        }
        let range = StringRange { start: position(self.out.text.len()), length: position(bytes.len()) };
        self.out.text.extend_from_slice(bytes);
        self.out.columns.strings.push(range);
        StringIndex(position(self.out.columns.strings.len() - 1))
    }

    fn string(&mut self, id: u32) -> StringIndex {
        if let Some(&known) = self.strings.get(&id) {
            return known;
        }
        let bytes = self.symbols.string(id).into_owned();
        let index = self.text(&bytes);
        self.strings.insert(id, index);
        index
    }

    fn row(&mut self, rows: &Rows, row: usize) {
        let mut at = rows.nodes[row];
        while at != NONE {
            let node = self.symbols.node(at);
            let location = self.location(node.location);
            self.out.columns.stacks.push(location);
            at = node.parent;
        }
        self.out.columns.stack_ends.push(position(self.out.columns.stacks.len()));
        if let Some(&set) = rows.label_sets.get(row) {
            for pair in self.symbols.label_set(set).into_owned() {
                let key = self.string(pair.key);
                let value = match pair.value {
                    StoredLabelValue::Text(text) => LabelValue::Text(self.string(text)),
                    StoredLabelValue::Number { value, unit } => {
                        LabelValue::Number { value, unit: self.string(unit) }
                    }
                };
                self.out.columns.labels.push(SampleLabel { key, value });
            }
            self.out.columns.label_ends.push(position(self.out.columns.labels.len()));
        }
        if !rows.links.is_empty() {
            let link: Link = rows.links.get(row).copied().unwrap_or_default();
            self.out.columns.links.push(link);
        }
    }

    fn location(&mut self, id: u32) -> LocationIndex {
        if let Some(&known) = self.locations.get(&id) {
            return known;
        }
        let stored = self.symbols.location(id);
        let mapping = if stored.mapping == NONE { MappingIndex::NONE } else { self.mapping(stored.mapping) };
        let mut lines = Vec::new();
        for line in stored.lines_start..stored.lines_start + stored.lines_length {
            let line = self.symbols.line(line);
            lines.push(Line { function: self.function(line.function), line: line.line, column: line.column });
        }
        let location = Location {
            mapping,
            address: stored.address,
            lines_start: position(self.out.columns.lines.len()),
            lines_length: stored.lines_length,
            is_folded: stored.is_folded,
        };
        self.out.columns.lines.extend(lines);
        self.out.columns.locations.push(location);
        let index = LocationIndex(position(self.out.columns.locations.len() - 1));
        self.locations.insert(id, index);
        index
    }

    fn mapping(&mut self, id: u32) -> MappingIndex {
        if let Some(&known) = self.mappings.get(&id) {
            return known;
        }
        let stored = self.symbols.mapping(id);
        let mapping = Mapping {
            start: stored.start,
            limit: stored.limit,
            offset: stored.offset,
            file: self.string(stored.file),
            build_id: self.string(stored.build_id),
            flags: stored.flags,
        };
        self.out.columns.mappings.push(mapping);
        let index = MappingIndex(position(self.out.columns.mappings.len() - 1));
        self.mappings.insert(id, index);
        index
    }

    fn function(&mut self, id: u32) -> FunctionIndex {
        if let Some(&known) = self.functions.get(&id) {
            return known;
        }
        let stored = self.symbols.function(id);
        let function = Function {
            name: self.string(stored.name),
            system_name: self.string(stored.system_name),
            file: self.string(stored.file),
            start_line: stored.start_line,
        };
        self.out.columns.functions.push(function);
        let index = FunctionIndex(position(self.out.columns.functions.len() - 1));
        self.functions.insert(id, index);
        index
    }
}
