//! Writes a profile as pprof.
//!
//! What pprof has no field for is written as labels (span and trace ids) or left out (times of single samples).

use foldhash::fast::FixedState;
use hashbrown::{HashMap, hash_map::Entry};
use profile::{LabelValue, Link, MappingFlags, MappingIndex, Profile, SampleView, StringIndex, ValueType};

/// Writes a profile as pprof (not compressed): index 0 of the string table is empty, ids are dense, every string once.
#[must_use]
pub fn encode_pprof(profile: &Profile<'_>) -> Vec<u8> {
    let link_text = link_text(&profile.columns.links);
    let mut encoder = Encoder::new(*profile, &link_text);
    encoder.write_samples();
    encoder.write_tables();
    encoder.write_header();
    encoder.finish()
}

/// Digits of a span id, and of a span and a trace id together.
const SPAN_DIGITS: usize = 16;
const LINK_DIGITS: usize = 48;

/// Output under construction. The string table comes last, when all strings are known.
struct Encoder<'a> {
    profile: Profile<'a>,
    link_text: &'a [u8],
    out: Vec<u8>,
    message: Vec<u8>,
    inner: Vec<u8>,
    /// Position of each string of the profile in the output, `u32::MAX` = not used so far.
    known: Vec<u32>,
    strings: Vec<&'a [u8]>,
    by_content: HashMap<&'a [u8], u32, FixedState>,
}

impl<'a> Encoder<'a> {
    fn new(profile: Profile<'a>, link_text: &'a [u8]) -> Self {
        let mut by_content = HashMap::with_hasher(FixedState::default());
        by_content.insert(&[][..], 0);
        Self {
            profile,
            link_text,
            out: Vec::with_capacity(profile.text.len()),
            message: Vec::new(),
            inner: Vec::new(),
            known: vec![u32::MAX; profile.columns.strings.len()],
            strings: vec![&[]],
            by_content,
        }
    }

    fn string(&mut self, index: StringIndex) -> u64 {
        let known = self.known[index.position()];
        if known != u32::MAX {
            return u64::from(known);
        }
        let position = self.content(self.profile.string(index));
        self.known[index.position()] = position;
        u64::from(position)
    }

    fn content(&mut self, content: &'a [u8]) -> u32 {
        match self.by_content.entry(content) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                // as many strings as the profile has, whose positions have 32 bits, and two label keys
                let position = u32::try_from(self.strings.len()).unwrap_or(u32::MAX);
                self.strings.push(content);
                *entry.insert(position)
            }
        }
    }

    fn write_value_type(&mut self, field: u8, value_type: ValueType) {
        let (kind, unit) = (self.string(value_type.kind), self.string(value_type.unit));
        self.message.clear();
        number(&mut self.message, 1, kind);
        number(&mut self.message, 2, unit);
        delimited(&mut self.out, field, &self.message);
    }

    fn write_samples(&mut self) {
        let columns = self.profile.columns;
        for &value_type in &columns.sample_types {
            self.write_value_type(1, value_type);
        }
        for position in 0..columns.sample_count() {
            self.write_sample(position, &self.profile.sample(position));
        }
    }

    fn write_sample(&mut self, position: usize, sample: &SampleView<'a>) {
        let mut message = std::mem::take(&mut self.message);
        let mut inner = std::mem::take(&mut self.inner);
        message.clear();
        inner.clear();
        for location in sample.stack {
            varint(&mut inner, u64::from(location.0) + 1);
        }
        if !inner.is_empty() {
            delimited(&mut message, 1, &inner);
        }
        inner.clear();
        for value in sample.values {
            varint(&mut inner, value.cast_unsigned());
        }
        delimited(&mut message, 2, &inner);
        // first, because decoding lifts the first label of that name
        for (key, digits) in self.link_labels(position, sample.link) {
            inner.clear();
            number(&mut inner, 1, u64::from(self.content(key)));
            number(&mut inner, 2, u64::from(self.content(digits)));
            delimited(&mut message, 3, &inner);
        }
        for label in sample.labels {
            inner.clear();
            number(&mut inner, 1, self.string(label.key));
            match label.value {
                LabelValue::Text(text) => number(&mut inner, 2, self.string(text)),
                LabelValue::Number { value, unit } => {
                    number(&mut inner, 3, value.cast_unsigned());
                    number(&mut inner, 4, self.string(unit));
                }
            }
            delimited(&mut message, 3, &inner);
        }
        delimited(&mut self.out, 2, &message);
        self.message = message;
        self.inner = inner;
    }

    /// Span and trace as the labels that decoding lifts them from.
    fn link_labels(&self, sample: usize, link: Link) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let digits = self.link_text.get(sample * LINK_DIGITS..(sample + 1) * LINK_DIGITS).unwrap_or_default();
        let (span, trace) = digits.split_at(SPAN_DIGITS.min(digits.len()));
        let span = (link.span_id != [0; 8]).then_some((&b"span_id"[..], span));
        let trace = (link.trace_id != [0; 16]).then_some((&b"trace_id"[..], trace));
        span.into_iter().chain(trace)
    }

    fn write_tables(&mut self) {
        let columns = self.profile.columns;
        let mut message = Vec::new();
        for (position, mapping) in (1_u64..).zip(&columns.mappings) {
            message.clear();
            number(&mut message, 1, position);
            number(&mut message, 2, mapping.start);
            number(&mut message, 3, mapping.limit);
            number(&mut message, 4, mapping.offset);
            number(&mut message, 5, self.string(mapping.file));
            number(&mut message, 6, self.string(mapping.build_id));
            let flags = [
                (7, MappingFlags::FUNCTIONS),
                (8, MappingFlags::FILENAMES),
                (9, MappingFlags::LINE_NUMBERS),
                (10, MappingFlags::INLINE_FRAMES),
            ];
            for (field, flag) in flags {
                number(&mut message, field, u64::from(mapping.flags.0 & flag != 0));
            }
            delimited(&mut self.out, 3, &message);
        }
        for (position, location) in (1_u64..).zip(&columns.locations) {
            message.clear();
            number(&mut message, 1, position);
            let mapping =
                if location.mapping == MappingIndex::NONE { 0 } else { u64::from(location.mapping.0) + 1 };
            number(&mut message, 2, mapping);
            number(&mut message, 3, location.address);
            for line in columns.location_lines(location) {
                self.inner.clear();
                number(&mut self.inner, 1, u64::from(line.function.0) + 1);
                number(&mut self.inner, 2, line.line.cast_unsigned());
                number(&mut self.inner, 3, line.column.cast_unsigned());
                delimited(&mut message, 4, &self.inner);
            }
            number(&mut message, 5, u64::from(location.is_folded));
            delimited(&mut self.out, 4, &message);
        }
        for (position, function) in (1_u64..).zip(&columns.functions) {
            message.clear();
            number(&mut message, 1, position);
            number(&mut message, 2, self.string(function.name));
            number(&mut message, 3, self.string(function.system_name));
            number(&mut message, 4, self.string(function.file));
            number(&mut message, 5, function.start_line.cast_unsigned());
            delimited(&mut self.out, 5, &message);
        }
    }

    fn write_header(&mut self) {
        let header = &self.profile.columns.header;
        let [drop, keep] = [header.drop_frames, header.keep_frames].map(|index| self.string(index));
        number(&mut self.out, 7, drop);
        number(&mut self.out, 8, keep);
        number(&mut self.out, 9, header.time_nanos.cast_unsigned());
        number(&mut self.out, 10, header.duration_nanos.cast_unsigned());
        if let Some(period_type) = header.period_type {
            self.write_value_type(11, period_type);
        }
        number(&mut self.out, 12, header.period.cast_unsigned());
        if !header.comments.is_empty() {
            let mut packed = Vec::new();
            for &comment in &header.comments {
                let index = self.string(comment);
                varint(&mut packed, index);
            }
            delimited(&mut self.out, 13, &packed);
        }
        let [default_type, doc_url] =
            [header.default_sample_type, header.doc_url].map(|index| self.string(index));
        number(&mut self.out, 14, default_type);
        number(&mut self.out, 15, doc_url);
    }

    fn finish(mut self) -> Vec<u8> {
        for string in &self.strings {
            delimited(&mut self.out, 6, string);
        }
        self.out
    }
}

/// Hexadecimal digits of all links, [`LINK_DIGITS`] each: span, then trace.
fn link_text(links: &[Link]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = Vec::with_capacity(links.len() * LINK_DIGITS);
    for link in links {
        for &byte in link.span_id.iter().chain(&link.trace_id) {
            text.push(DIGITS[usize::from(byte >> 4)]);
            text.push(DIGITS[usize::from(byte & 15)]);
        }
    }
    text
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// A number; 0 is what an absent field means.
fn number(out: &mut Vec<u8>, field: u8, value: u64) {
    if value != 0 {
        out.push(field << 3);
        varint(out, value);
    }
}

fn delimited(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
