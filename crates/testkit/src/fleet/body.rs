//! Writes drawn rows as a pprof body: dense ids, only what the rows use, one gzip member.

use super::{
    draw::{Drawer, Frame, HashMap},
    template::Template,
};

/// A finished body.
pub(super) struct Written {
    pub body: Vec<u8>,
    pub raw_bytes: usize,
    pub totals: Vec<i64>,
}

/// Buffers that are used again for the next body.
pub(super) struct BodyWriter {
    samples: Vec<u8>,
    locations: Vec<u8>,
    functions: Vec<u8>,
    scratch: Vec<u8>,
    inner: Vec<u8>,
    compressor: libdeflater::Compressor,
    compressed: Vec<u8>,
}

impl Default for BodyWriter {
    fn default() -> Self {
        // The Go runtime compresses its profiles for speed, too.
        let level = libdeflater::CompressionLvl::new(1).expect("level 1 is a level");
        Self {
            samples: Vec::new(),
            locations: Vec::new(),
            functions: Vec::new(),
            scratch: Vec::new(),
            inner: Vec::new(),
            compressor: libdeflater::Compressor::new(level),
            compressed: Vec::new(),
        }
    }
}

/// Ids given out so far in one body.
#[derive(Default)]
struct Ids {
    locations: HashMap<Frame, u64>,
    functions: HashMap<u32, u64>,
    mappings: Vec<u64>,
    strings: HashMap<u64, u64>,
    string_order: Vec<u64>,
}

impl Ids {
    /// The id of a template string in this body.
    fn string(&mut self, template: &Template, position: u64) -> u64 {
        if template.strings[usize::try_from(position).expect("a table position")].is_empty() {
            return 0;
        }
        *self.strings.entry(position).or_insert_with(|| {
            self.string_order.push(position);
            self.string_order.len() as u64
        })
    }

    /// The id of a mapping of the template, given as position + 1.
    fn mapping(&mut self, mapping: u64) -> u64 {
        if mapping == 0 {
            return 0;
        }
        let place = self.mappings.iter().position(|&known| known == mapping).unwrap_or_else(|| {
            self.mappings.push(mapping);
            self.mappings.len() - 1
        });
        place as u64 + 1
    }
}

impl BodyWriter {
    pub(super) fn write(&mut self, drawer: &Drawer, rows: &[(u32, i64)], time_nanos: i64) -> Written {
        let template = &drawer.template;
        let mut ids = Ids::default();
        let mut head = Vec::new();
        for &types in &template.sample_types {
            self.value_type(template, &mut ids, types);
            bytes(&mut head, 1, &self.scratch);
        }
        let mut totals = vec![0; template.sample_types.len()];
        self.samples.clear();
        self.locations.clear();
        self.functions.clear();
        for &(stack, count) in rows {
            self.sample(drawer, &mut ids, stack, count, &mut totals);
        }
        let mut raw = head;
        raw.extend_from_slice(&self.samples);
        for mapping in ids.mappings.clone() {
            self.mapping(template, &mut ids, mapping);
            bytes(&mut raw, 3, &self.scratch);
        }
        raw.extend_from_slice(&self.locations);
        raw.extend_from_slice(&self.functions);
        let period_type = template.period_type.map(|types| {
            self.value_type(template, &mut ids, types);
            self.scratch.clone()
        });
        bytes(&mut raw, 6, &[]);
        for &position in &ids.string_order {
            bytes(&mut raw, 6, &template.strings[usize::try_from(position).expect("a table position")]);
        }
        number(&mut raw, 9, time_nanos.cast_unsigned());
        number(&mut raw, 10, template.duration_nanos.cast_unsigned());
        if let Some(message) = period_type {
            bytes(&mut raw, 11, &message);
        }
        number(&mut raw, 12, template.period.cast_unsigned());
        Written { body: self.gzip(&raw), raw_bytes: raw.len(), totals }
    }

    fn sample(&mut self, drawer: &Drawer, ids: &mut Ids, stack: u32, count: i64, totals: &mut [i64]) {
        let (frames, unit) = drawer.stack(stack);
        self.inner.clear();
        for &frame in frames {
            let id = match ids.locations.get(&frame) {
                Some(&id) => id,
                None => self.location(&drawer.template, ids, frame),
            };
            varint(&mut self.inner, id);
        }
        self.scratch.clear();
        bytes(&mut self.scratch, 1, &self.inner);
        self.inner.clear();
        for (total, value) in totals.iter_mut().zip(unit) {
            *total += value * count;
            varint(&mut self.inner, (value * count).cast_unsigned());
        }
        bytes(&mut self.scratch, 2, &self.inner);
        bytes(&mut self.samples, 2, &self.scratch);
    }

    /// Adds a location that the body does not have yet. A variant moves address and innermost line.
    fn location(&mut self, template: &Template, ids: &mut Ids, frame: Frame) -> u64 {
        let entry = &template.locations[frame.location() as usize];
        let variant = u64::from(frame.variant());
        let mut message = Vec::with_capacity(64);
        let id = ids.locations.len() as u64 + 1;
        ids.locations.insert(frame, id);
        number(&mut message, 1, id);
        number(&mut message, 2, ids.mapping(entry.mapping));
        number(&mut message, 3, if entry.address == 0 { 0 } else { entry.address + variant * 4 });
        for (depth, &(function, line, column)) in entry.lines.iter().enumerate() {
            let function = self.function(template, ids, function);
            let mut inner = Vec::with_capacity(16);
            number(&mut inner, 1, function);
            let moved = if depth == 0 { i64::from(frame.variant()) } else { 0 };
            number(&mut inner, 2, (line + moved).cast_unsigned());
            number(&mut inner, 3, column.cast_unsigned());
            bytes(&mut message, 4, &inner);
        }
        bytes(&mut self.locations, 4, &message);
        id
    }

    fn function(&mut self, template: &Template, ids: &mut Ids, function: u32) -> u64 {
        if let Some(&id) = ids.functions.get(&function) {
            return id;
        }
        let entry = &template.functions[function as usize];
        let id = ids.functions.len() as u64 + 1;
        ids.functions.insert(function, id);
        let mut message = Vec::with_capacity(16);
        number(&mut message, 1, id);
        number(&mut message, 2, ids.string(template, entry.name));
        number(&mut message, 3, ids.string(template, entry.system_name));
        number(&mut message, 4, ids.string(template, entry.file));
        number(&mut message, 5, entry.start_line.cast_unsigned());
        bytes(&mut self.functions, 5, &message);
        id
    }

    /// Puts a mapping into the scratch buffer.
    fn mapping(&mut self, template: &Template, ids: &mut Ids, mapping: u64) {
        let entry = &template.mappings[usize::try_from(mapping - 1).expect("a table position")];
        let id = ids.mapping(mapping);
        self.scratch.clear();
        number(&mut self.scratch, 1, id);
        number(&mut self.scratch, 2, entry.start);
        number(&mut self.scratch, 3, entry.limit);
        number(&mut self.scratch, 4, entry.offset);
        number(&mut self.scratch, 5, ids.string(template, entry.file));
        number(&mut self.scratch, 6, ids.string(template, entry.build_id));
        for (field, &flag) in (7..).zip(&entry.flags) {
            number(&mut self.scratch, field, flag);
        }
    }

    /// Puts a value type into the scratch buffer.
    fn value_type(&mut self, template: &Template, ids: &mut Ids, (kind, unit): (u64, u64)) {
        self.scratch.clear();
        number(&mut self.scratch, 1, ids.string(template, kind));
        number(&mut self.scratch, 2, ids.string(template, unit));
    }

    fn gzip(&mut self, raw: &[u8]) -> Vec<u8> {
        self.compressed.resize(self.compressor.gzip_compress_bound(raw.len()), 0);
        let length =
            self.compressor.gzip_compress(raw, &mut self.compressed).expect("the bound is large enough");
        self.compressed[..length].to_vec()
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A number field; 0 is left out, as in proto3.
fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    if value != 0 {
        varint(out, field << 3);
        varint(out, value);
    }
}

/// A field of bytes.
fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}
