//! Arbitrary valid profiles for property tests.

use profile::{
    Columns, Function, FunctionIndex, LabelValue, Line, Link, Location, LocationIndex, Mapping, MappingFlags,
    MappingIndex, Profile, SampleLabel, StringIndex, StringRange, ValueType,
};
use proptest::prelude::*;

use crate::Random;

/// A profile that owns its text.
#[derive(Clone, Debug)]
pub struct OwnedProfile {
    /// The text.
    pub text: Vec<u8>,
    /// The tables.
    pub columns: Columns,
}

impl OwnedProfile {
    /// The profile.
    #[must_use]
    pub fn view(&self) -> Profile<'_> {
        Profile { text: &self.text, columns: &self.columns }
    }
}

/// Any profile that a decoder could have made: all tables, labels, links, odd names, every size from nothing to some
/// hundred samples. Shrinks to smaller ones.
pub fn profile() -> impl Strategy<Value = OwnedProfile> {
    (any::<u64>(), 0_usize..40, 1_usize..5).prop_map(|(seed, size, width)| random_profile(seed, size, width))
}

/// The profile of a seed, with about `size` entries per table and `width` value columns.
#[must_use]
pub fn random_profile(seed: u64, size: usize, width: usize) -> OwnedProfile {
    let mut maker = Maker {
        random: Random::new(seed, 7),
        profile: OwnedProfile { text: Vec::new(), columns: Columns::default() },
    };
    maker.profile.columns.clear();
    maker.strings(size + 8);
    maker.tables(size);
    maker.header(width);
    for _ in 0..maker.random.below(size * 4 + 1) {
        maker.sample(width);
    }
    maker.tidy();
    maker.profile
}

struct Maker {
    random: Random,
    profile: OwnedProfile,
}

impl Maker {
    fn strings(&mut self, count: usize) {
        const PARTS: [&str; 10] = ["main", ".", "(*T)", "::", "функция", "帧", " ", "$$Lambda", "[...]", "a"];
        for _ in 0..count {
            let start = u32::try_from(self.profile.text.len()).unwrap_or(u32::MAX);
            // unique and never empty: a label whose text is empty is not told from a number 0
            let mut string = format!("{}:", self.profile.columns.strings.len()).into_bytes();
            for _ in 0..self.random.below(5) {
                string.extend_from_slice(PARTS[self.random.below(PARTS.len())].as_bytes());
            }
            if self.random.below(20) == 0 {
                string.push(0xff);
            }
            let length = u32::try_from(string.len()).unwrap_or(u32::MAX);
            self.profile.text.extend_from_slice(&string);
            self.profile.columns.strings.push(StringRange { start, length });
        }
    }

    fn string(&mut self) -> StringIndex {
        let count = self.profile.columns.strings.len();
        StringIndex(small(self.random.below(count)))
    }

    fn full_string(&mut self) -> StringIndex {
        let count = self.profile.columns.strings.len();
        StringIndex(small(self.random.below(count - 1) + 1))
    }

    fn number(&mut self) -> i64 {
        let shift = self.random.below(64);
        (self.random.next_u64() >> shift).cast_signed()
    }

    fn tables(&mut self, size: usize) {
        for _ in 0..self.random.below(size / 4 + 1) {
            let mapping = Mapping {
                start: self.random.next_u64(),
                limit: self.random.next_u64(),
                offset: self.random.next_u64() >> 40,
                file: self.string(),
                build_id: self.string(),
                flags: MappingFlags(u8::try_from(self.random.below(16)).unwrap_or_default()),
            };
            self.profile.columns.mappings.push(mapping);
        }
        for _ in 0..self.random.below(size + 1) {
            let function = Function {
                name: self.string(),
                system_name: self.string(),
                file: self.string(),
                start_line: self.number(),
            };
            self.profile.columns.functions.push(function);
        }
        for _ in 0..self.random.below(size + 1) {
            self.location();
        }
    }

    fn location(&mut self) {
        let lines_start = small(self.profile.columns.lines.len());
        let functions = self.profile.columns.functions.len();
        if functions > 0 {
            for _ in 0..self.random.below(4) {
                let line = Line {
                    function: FunctionIndex(small(self.random.below(functions))),
                    line: self.number(),
                    column: self.number(),
                };
                self.profile.columns.lines.push(line);
            }
        }
        let mappings = self.profile.columns.mappings.len();
        let mapping = match self.random.below(mappings + 1) {
            0 => MappingIndex::NONE,
            position => MappingIndex(small(position - 1)),
        };
        let shift = self.random.below(64);
        self.profile.columns.locations.push(Location {
            mapping,
            address: self.random.next_u64() >> shift,
            lines_start,
            lines_length: small(self.profile.columns.lines.len()) - lines_start,
            is_folded: self.random.below(8) == 0,
        });
    }

    fn value_type(&mut self) -> ValueType {
        ValueType { kind: self.string(), unit: self.string() }
    }

    fn header(&mut self, width: usize) {
        while self.profile.columns.sample_types.len() < width {
            let value_type = self.value_type();
            // twins would be renamed on the way
            if !self.profile.columns.sample_types.contains(&value_type) {
                self.profile.columns.sample_types.push(value_type);
            }
        }
        let period_type = (self.random.below(2) == 0).then(|| self.value_type());
        let comments = (0..self.random.below(4)).map(|_| self.string()).collect();
        let header = &mut self.profile.columns.header.clone();
        header.time_nanos = self.number();
        header.duration_nanos = self.number();
        header.period_type = period_type;
        header.period = self.number();
        header.comments = comments;
        header.default_sample_type = self.string();
        header.drop_frames = self.string();
        header.keep_frames = self.string();
        header.doc_url = self.string();
        self.profile.columns.header = header.clone();
    }

    fn sample(&mut self, width: usize) {
        let locations = self.profile.columns.locations.len();
        if locations > 0 {
            for _ in 0..self.random.below(30) {
                let location = LocationIndex(small(self.random.below(locations)));
                self.profile.columns.stacks.push(location);
            }
        }
        let stack_end = small(self.profile.columns.stacks.len());
        self.profile.columns.stack_ends.push(stack_end);
        let first = self.number().checked_abs().unwrap_or(1).max(1);
        self.profile.columns.values.push(first);
        for _ in 1..width {
            let value = self.number().checked_abs().unwrap_or(0);
            self.profile.columns.values.push(value);
        }
        if self.random.below(3) == 0 {
            for _ in 0..self.random.below(4) {
                let value = if self.random.below(2) == 0 {
                    LabelValue::Text(self.full_string())
                } else {
                    LabelValue::Number { value: self.number(), unit: self.string() }
                };
                let key = self.string();
                self.profile.columns.labels.push(SampleLabel { key, value });
            }
        }
        let label_end = small(self.profile.columns.labels.len());
        self.profile.columns.label_ends.push(label_end);
        let mut link = Link::default();
        if self.random.below(4) == 0 {
            link.span_id = self.random.next_u64().to_le_bytes();
        }
        if self.random.below(8) == 0 {
            link.trace_id = (u128::from(self.random.next_u64()) << 64 | 1).to_le_bytes();
        }
        self.profile.columns.links.push(link);
    }

    /// Columns that nothing uses are empty.
    fn tidy(&mut self) {
        let columns = &mut self.profile.columns;
        if columns.labels.is_empty() {
            columns.label_ends.clear();
        }
        if columns.links.iter().all(|&link| link == Link::default()) {
            columns.links.clear();
        }
    }
}

fn small(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
