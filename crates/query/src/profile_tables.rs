//! Symbol tables of a profile being written: strings, mappings, functions and locations, each once, taken over from the
//! tables of one or several datasets.

use block::{NONE, Symbols};
use foldhash::fast::RandomState;
use profile::{
    Columns, Function, FunctionIndex, LabelValue, Line, Location, LocationIndex, Mapping, MappingFlags,
    MappingIndex, SampleLabel, StringIndex, StringRange,
};

/// A map with a fast hash; its seed is chosen by each process, so that no client can steer keys to collide.
pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, RandomState>;

/// A set of the same kind.
pub(crate) type Set<K> = hashbrown::HashSet<K, RandomState>;

/// Whether mappings of one file at different addresses are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MappingRule {
    /// Everything stays as it was sent (D4).
    Kept,
    /// One file is one mapping, addresses are moved to its first place, and symbolised mappings say so in all flags, so
    /// that `go tool pprof` looks for no symbols itself (D23).
    Joined,
}

type FunctionKey = (StringIndex, StringIndex, StringIndex, i64);
type MappingKey = (StringIndex, u64, u64, u64, u64);
type LocationKey = (MappingIndex, u64, bool, Box<[(FunctionIndex, i64, i64)]>);

/// The tables.
pub(crate) struct Tables {
    /// All bytes of strings.
    pub text: Vec<u8>,
    /// The columns; only the tables of symbols are filled here.
    pub columns: Columns,
    rule: MappingRule,
    strings: Map<Box<[u8]>, StringIndex>,
    mappings: Map<MappingKey, MappingIndex>,
    functions: Map<FunctionKey, FunctionIndex>,
    locations: Map<LocationKey, LocationIndex>,
}

/// What the ids of one dataset have become.
pub(crate) struct Translation<'a> {
    /// The dataset's tables.
    pub symbols: &'a dyn Symbols,
    strings: Map<u32, StringIndex>,
    functions: Map<u32, FunctionIndex>,
    mappings: Map<u32, (MappingIndex, u64)>,
    locations: ById<LocationIndex>,
    callees: Map<u32, LocationIndex>,
}

/// What ids have become that are numbered without gaps and asked for once per node, by id.
struct ById<T>(Vec<Option<T>>);

impl<T: Copy> ById<T> {
    fn get(&self, id: u32) -> Option<T> {
        self.0.get(id as usize).copied().flatten()
    }

    fn insert(&mut self, id: u32, value: T) {
        let place = id as usize;
        if self.0.len() <= place {
            // In leaps, as a vector grows by itself.
            self.0.resize(place.saturating_add(1).next_power_of_two(), None);
        }
        self.0[place] = Some(value);
    }
}

impl<'a> Translation<'a> {
    /// Nothing is known yet.
    pub fn new(symbols: &'a dyn Symbols) -> Self {
        Self {
            symbols,
            strings: Map::default(),
            functions: Map::default(),
            mappings: Map::default(),
            locations: ById(Vec::new()),
            callees: Map::default(),
        }
    }
}

impl Tables {
    /// Empty tables.
    pub fn new(rule: MappingRule) -> Self {
        let mut columns = Columns::default();
        columns.clear();
        let strings = [(Box::default(), StringIndex::EMPTY)].into_iter().collect();
        Self {
            text: Vec::new(),
            columns,
            rule,
            strings,
            mappings: Map::default(),
            functions: Map::default(),
            locations: Map::default(),
        }
    }

    /// A string.
    pub fn string(&mut self, bytes: &[u8]) -> StringIndex {
        if let Some(&known) = self.strings.get(bytes) {
            return known;
        }
        let index = StringIndex(position(self.columns.strings.len()));
        let range = StringRange { start: position(self.text.len()), length: position(bytes.len()) };
        self.text.extend_from_slice(bytes);
        self.columns.strings.push(range);
        self.strings.insert(bytes.into(), index);
        index
    }

    /// A string of a dataset.
    pub fn stored_string(&mut self, from: &mut Translation<'_>, id: u32) -> StringIndex {
        if let Some(&known) = from.strings.get(&id) {
            return known;
        }
        let index = self.string(&from.symbols.string(id));
        from.strings.insert(id, index);
        index
    }

    /// A mapping of a dataset, and how far addresses move.
    pub fn mapping(&mut self, from: &mut Translation<'_>, id: u32) -> (MappingIndex, u64) {
        if id == NONE {
            return (MappingIndex::NONE, 0);
        }
        if let Some(&known) = from.mappings.get(&id) {
            return known;
        }
        let stored = from.symbols.mapping(id);
        let file = self.stored_string(from, stored.file);
        let build_id = self.stored_string(from, stored.build_id);
        let name = if build_id == StringIndex::EMPTY { file } else { build_id };
        let size = stored.limit.wrapping_sub(stored.start);
        let key = match self.rule {
            MappingRule::Joined if name != StringIndex::EMPTY => (name, size, stored.offset, 0, 0),
            // The stored id keeps twins apart that only the round trip tells apart.
            MappingRule::Kept => (file, u64::from(id), u64::MAX, u64::MAX, u64::MAX),
            MappingRule::Joined => (name, stored.limit, stored.offset, stored.start, 1),
        };
        let next = MappingIndex(position(self.columns.mappings.len()));
        let index = *self.mappings.entry(key).or_insert(next);
        if index == next {
            self.columns.mappings.push(Mapping {
                start: stored.start,
                limit: stored.limit,
                offset: stored.offset,
                file,
                build_id,
                flags: stored.flags,
            });
        }
        let known = &mut self.columns.mappings[index.position()];
        if self.rule == MappingRule::Joined && stored.flags.0 & MappingFlags::FUNCTIONS != 0 {
            known.flags = MappingFlags::ALL;
        }
        let moved = (index, known.start.wrapping_sub(stored.start));
        from.mappings.insert(id, moved);
        moved
    }

    fn function(&mut self, from: &mut Translation<'_>, id: u32) -> FunctionIndex {
        if let Some(&known) = from.functions.get(&id) {
            return known;
        }
        let stored = from.symbols.function(id);
        let name = self.stored_string(from, stored.name);
        let system_name = self.stored_string(from, stored.system_name);
        let file = self.stored_string(from, stored.file);
        let next = FunctionIndex(position(self.columns.functions.len()));
        let index = *self.functions.entry((name, system_name, file, stored.start_line)).or_insert(next);
        if index == next {
            let start_line = stored.start_line;
            self.columns.functions.push(Function { name, system_name, file, start_line });
        }
        from.functions.insert(id, index);
        index
    }

    /// A location of a dataset.
    pub fn location(&mut self, from: &mut Translation<'_>, id: u32) -> LocationIndex {
        if let Some(known) = from.locations.get(id) {
            return known;
        }
        let index = self.new_location(from, id, false);
        from.locations.insert(id, index);
        index
    }

    /// A location of a dataset as the place that is called: without address and, in its innermost function, without
    /// line, so that calls of one function are one whatever happens within it. Without functions it stays as it is.
    pub fn callee(&mut self, from: &mut Translation<'_>, id: u32) -> LocationIndex {
        if let Some(&known) = from.callees.get(&id) {
            return known;
        }
        let index = self.new_location(from, id, true);
        from.callees.insert(id, index);
        index
    }

    fn new_location(&mut self, from: &mut Translation<'_>, id: u32, as_callee: bool) -> LocationIndex {
        let stored = from.symbols.location(id);
        let as_callee = as_callee && stored.lines_length > 0;
        let (mapping, moved) = self.mapping(from, stored.mapping);
        let address = match stored.address {
            0 => 0,
            _ if as_callee => 0,
            address => address.wrapping_add(moved),
        };
        let lines: Box<[(FunctionIndex, i64, i64)]> = (0..stored.lines_length)
            .map(|number| {
                let line = from.symbols.line(stored.lines_start + number);
                let function = self.function(from, line.function);
                if as_callee && number == 0 { (function, 0, 0) } else { (function, line.line, line.column) }
            })
            .collect();
        if self.rule == MappingRule::Joined
            && !lines.is_empty()
            && let Some(symbolised) = self.columns.mappings.get_mut(mapping.position())
        {
            symbolised.flags = MappingFlags::ALL;
        }
        let next = LocationIndex(position(self.columns.locations.len()));
        let key = (mapping, address, stored.is_folded, lines);
        if let Some(&known) = self.locations.get(&key) {
            return known;
        }
        let lines_start = position(self.columns.lines.len());
        let written = key.3.iter().map(|&(function, line, column)| Line { function, line, column });
        self.columns.lines.extend(written);
        self.columns.locations.push(Location {
            mapping,
            address,
            lines_start,
            lines_length: stored.lines_length,
            is_folded: stored.is_folded,
        });
        self.locations.insert(key, next);
        next
    }

    /// A label set of a dataset.
    pub fn labels(&mut self, from: &mut Translation<'_>, id: u32) -> Vec<SampleLabel> {
        let pairs = from.symbols.label_set(id).into_owned();
        let label = |pair: &block::LabelPair| SampleLabel {
            key: self.stored_string(from, pair.key),
            value: match pair.value {
                block::StoredLabelValue::Text(text) => LabelValue::Text(self.stored_string(from, text)),
                block::StoredLabelValue::Number { value, unit } => {
                    LabelValue::Number { value, unit: self.stored_string(from, unit) }
                }
            },
        };
        pairs.iter().map(label).collect()
    }
}

/// A position in a table. All come from tables with 32-bit ids, whose sum over the datasets of a query stays below.
pub(crate) fn position(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
