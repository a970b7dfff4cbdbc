//! Small profiles whose numbers a test knows.

use std::collections::HashMap;

use profile::{
    Columns, Function, FunctionIndex, Line, Location, LocationIndex, MappingIndex, Profile, StringIndex,
    StringRange, ValueType,
};

/// A pprof body under construction.
#[derive(Default)]
pub struct Body {
    text: Vec<u8>,
    columns: Columns,
    locations: HashMap<String, LocationIndex>,
}

impl Body {
    /// A profile with columns of the given types and units.
    pub fn new(types: &[(&str, &str)]) -> Self {
        let mut body = Self::default();
        body.columns.clear();
        for (kind, unit) in types {
            let value_type = ValueType { kind: body.string(kind), unit: body.string(unit) };
            body.columns.sample_types.push(value_type);
        }
        body
    }

    /// A CPU profile as Go writes it: 100 samples per second.
    pub fn cpu(time_nanos: i64) -> Self {
        let mut body = Self::new(&[("samples", "count"), ("cpu", "nanoseconds")]);
        let period_type = ValueType { kind: body.string("cpu"), unit: body.string("nanoseconds") };
        body.columns.header.period_type = Some(period_type);
        body.columns.header.period = 10_000_000;
        body.columns.header.duration_nanos = 10_000_000_000;
        body.time(time_nanos)
    }

    /// Its start.
    pub fn time(mut self, nanos: i64) -> Self {
        self.columns.header.time_nanos = nanos;
        self
    }

    /// Adds a sample: a stack from root to leaf, `a;b;c`, and its values.
    pub fn sample(mut self, stack: &str, values: &[i64]) -> Self {
        assert_eq!(values.len(), self.columns.sample_types.len());
        let frames: Vec<&str> = stack.split(';').filter(|frame| !frame.is_empty()).collect();
        for frame in frames.iter().rev() {
            let location = self.location(frame);
            self.columns.stacks.push(location);
        }
        self.columns.stack_ends.push(u32::try_from(self.columns.stacks.len()).unwrap());
        self.columns.values.extend_from_slice(values);
        self
    }

    /// The bytes, not compressed.
    pub fn raw(&self) -> Vec<u8> {
        formats::encode_pprof(&Profile { text: &self.text, columns: &self.columns })
    }

    /// The bytes, gzip.
    pub fn gzip(&self) -> Vec<u8> {
        formats::gzip(&self.raw())
    }

    fn location(&mut self, name: &str) -> LocationIndex {
        if let Some(&known) = self.locations.get(name) {
            return known;
        }
        let string = self.string(name);
        let position = u32::try_from(self.columns.functions.len()).unwrap();
        self.columns.functions.push(Function { name: string, ..Function::default() });
        self.columns.lines.push(Line { function: FunctionIndex(position), line: 1, column: 0 });
        self.columns.locations.push(Location {
            mapping: MappingIndex::NONE,
            address: 0,
            lines_start: position,
            lines_length: 1,
            is_folded: false,
        });
        self.locations.insert(name.to_owned(), LocationIndex(position));
        LocationIndex(position)
    }

    fn string(&mut self, text: &str) -> StringIndex {
        let start = u32::try_from(self.text.len()).unwrap();
        let length = u32::try_from(text.len()).unwrap();
        self.text.extend_from_slice(text.as_bytes());
        self.columns.strings.push(StringRange { start, length });
        StringIndex(u32::try_from(self.columns.strings.len() - 1).unwrap())
    }
}

/// What is in a pprof body: sample types, and the values of each stack (root to leaf).
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    /// `type/unit`
    pub types: Vec<String>,
    /// Stacks with their values, sorted.
    pub samples: Vec<(String, Vec<i64>)>,
}

/// Reads a pprof body.
pub fn content(body: &[u8]) -> Content {
    let limits = formats::Limits {
        body_bytes_max: 1 << 30,
        inflated_bytes_max: 1 << 30,
        stack_depth_max: 100_000,
        string_bytes_max: 65_535,
        strict_utf8: true,
        keep_negative: true,
        ..formats::Limits::default()
    };
    let mut decoder = formats::Decoder::new();
    let (profile, _) = decoder.pprof(body, &limits).unwrap();
    let columns = profile.columns;
    let frame = |location: &LocationIndex| {
        let location = &columns.locations[location.position()];
        let line = columns.location_lines(location)[0];
        profile.text_of(columns.functions[line.function.position()].name).into_owned()
    };
    let stack = |stack: &[LocationIndex]| {
        let frames: Vec<String> = stack.iter().rev().map(frame).collect();
        frames.join(";")
    };
    let mut samples: Vec<(String, Vec<i64>)> =
        profile.samples().map(|sample| (stack(sample.stack), sample.values.to_vec())).collect();
    samples.sort();
    let types = columns
        .sample_types
        .iter()
        .map(|typed| format!("{}/{}", profile.text_of(typed.kind), profile.text_of(typed.unit)))
        .collect();
    Content { types, samples }
}
