//! Reads a recorded pprof profile into the plain tables that stacks are drawn from.
//!
//! Trusts its input: fixtures of this checkout. A damaged one panics.

use super::{INTERVAL_NANOS, Kind};

/// A recorded profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    pub strings: Vec<Vec<u8>>,
    /// `type` and `unit` of each column, as positions in `strings`.
    pub sample_types: Vec<(u64, u64)>,
    pub period_type: Option<(u64, u64)>,
    pub period: i64,
    pub duration_nanos: i64,
    pub samples: Vec<TemplateSample>,
    pub mappings: Vec<TemplateMapping>,
    pub locations: Vec<TemplateLocation>,
    pub functions: Vec<TemplateFunction>,
}

/// Stack (positions of locations, leaf first) and values.
#[derive(Clone, Debug, Default)]
pub(super) struct TemplateSample {
    pub stack: Vec<u32>,
    pub values: Vec<i64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TemplateMapping {
    pub id: u64,
    pub start: u64,
    pub limit: u64,
    pub offset: u64,
    pub file: u64,
    pub build_id: u64,
    /// `has_*`, fields 7 to 10.
    pub flags: [u64; 4],
}

#[derive(Clone, Debug, Default)]
pub(super) struct TemplateLocation {
    pub id: u64,
    /// Position of the mapping plus 1, 0 = none.
    pub mapping: u64,
    pub address: u64,
    /// Position of the function, line, column; innermost first.
    pub lines: Vec<(u32, i64, i64)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TemplateFunction {
    pub id: u64,
    pub name: u64,
    pub system_name: u64,
    pub file: u64,
    pub start_line: i64,
}

impl Template {
    /// Reads a fixture. CPU profiles get the columns samples and cpu at 10 ms, so that all can be asked for by one type.
    pub(super) fn load(kind: &Kind) -> Self {
        let body = crate::fixture(kind.fixture);
        let raw = if body.starts_with(&[0x1f, 0x8b]) { inflate(&body) } else { body };
        let mut template = Self::parse(&raw);
        if kind.name == "process_cpu" {
            const PERIOD: i64 = 10_000_000;
            for sample in &mut template.samples {
                let count = sample.values[0].max(1);
                sample.values = vec![count, count * PERIOD];
            }
            let mut string = |text: &str| {
                template.strings.push(text.as_bytes().to_vec());
                template.strings.len() as u64 - 1
            };
            let (samples, count) = (string("samples"), string("count"));
            let (cpu, nanoseconds) = (string("cpu"), string("nanoseconds"));
            template.sample_types = vec![(samples, count), (cpu, nanoseconds)];
            template.period_type = Some((cpu, nanoseconds));
            template.period = PERIOD;
            template.duration_nanos = INTERVAL_NANOS;
        }
        template
    }

    fn parse(raw: &[u8]) -> Self {
        let mut template = Self::default();
        let mut samples: Vec<(Vec<u64>, Vec<i64>)> = Vec::new();
        let mut line_functions: Vec<Vec<(u64, i64, i64)>> = Vec::new();
        fields(raw, |number, field| match number {
            1 => template.sample_types.push(pair(field.bytes)),
            2 => samples.push(sample(field.bytes)),
            3 => template.mappings.push(mapping(field.bytes)),
            4 => {
                let (location, lines) = location(field.bytes);
                template.locations.push(location);
                line_functions.push(lines);
            }
            5 => template.functions.push(function(field.bytes)),
            6 => template.strings.push(field.bytes.to_vec()),
            10 => template.duration_nanos = field.number.cast_signed(),
            11 => template.period_type = Some(pair(field.bytes)),
            12 => template.period = field.number.cast_signed(),
            _ => {}
        });
        let position = |ids: &dyn Fn(usize) -> u64, count: usize| -> std::collections::HashMap<u64, u32> {
            (0..count).map(|place| (ids(place), u32::try_from(place).expect("a small fixture"))).collect()
        };
        let functions = position(&|place| template.functions[place].id, template.functions.len());
        let locations = position(&|place| template.locations[place].id, template.locations.len());
        let mappings = position(&|place| template.mappings[place].id, template.mappings.len());
        for (location, lines) in template.locations.iter_mut().zip(line_functions) {
            location.mapping = mappings.get(&location.mapping).map_or(0, |&place| u64::from(place) + 1);
            location.lines =
                lines.into_iter().map(|(id, line, column)| (functions[&id], line, column)).collect();
        }
        template.samples = samples
            .into_iter()
            .filter(|(stack, _)| !stack.is_empty())
            .map(|(stack, values)| TemplateSample {
                stack: stack.iter().map(|id| locations[id]).collect(),
                values,
            })
            .collect();
        template
    }

    /// Function that a location's innermost line is in; locations without lines stand for themselves.
    pub(super) fn leaf(&self, location: u32) -> u64 {
        let entry = &self.locations[location as usize];
        entry
            .lines
            .first()
            .map_or(u64::MAX - u64::from(location), |line| self.functions[line.0 as usize].name)
    }
}

/// One field of a message: its number (wire types 0, 1, 5) or its bytes (wire type 2).
struct Field<'a> {
    number: u64,
    bytes: &'a [u8],
}

/// Calls `visit` for each field of a message.
fn fields<'a>(mut message: &'a [u8], mut visit: impl FnMut(u64, Field<'a>)) {
    while !message.is_empty() {
        let key = varint(&mut message);
        let mut field = Field { number: 0, bytes: &[] };
        match key & 7 {
            0 => field.number = varint(&mut message),
            2 => {
                let length = usize::try_from(varint(&mut message)).expect("a small fixture");
                let (bytes, rest) = message.split_at(length);
                field.bytes = bytes;
                message = rest;
            }
            other => panic!("a fixture with wire type {other}"),
        }
        visit(key >> 3, field);
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a fixture that ends inside a number");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a fixture with a number of more than ten bytes");
}

/// A repeated number, packed or not.
fn numbers(field: &Field<'_>, out: &mut Vec<u64>) {
    if field.bytes.is_empty() {
        out.push(field.number);
    }
    let mut rest = field.bytes;
    while !rest.is_empty() {
        out.push(varint(&mut rest));
    }
}

fn pair(message: &[u8]) -> (u64, u64) {
    let mut out = (0, 0);
    fields(message, |number, field| match number {
        1 => out.0 = field.number,
        2 => out.1 = field.number,
        _ => {}
    });
    out
}

fn sample(message: &[u8]) -> (Vec<u64>, Vec<i64>) {
    let (mut stack, mut values) = (Vec::new(), Vec::new());
    fields(message, |number, field| match number {
        1 => numbers(&field, &mut stack),
        2 => numbers(&field, &mut values),
        _ => {}
    });
    (stack, values.into_iter().map(u64::cast_signed).collect())
}

fn mapping(message: &[u8]) -> TemplateMapping {
    let mut out = TemplateMapping::default();
    fields(message, |number, field| match number {
        1 => out.id = field.number,
        2 => out.start = field.number,
        3 => out.limit = field.number,
        4 => out.offset = field.number,
        5 => out.file = field.number,
        6 => out.build_id = field.number,
        7..=10 => out.flags[usize::try_from(number - 7).expect("0 to 3")] = field.number,
        _ => {}
    });
    out
}

fn location(message: &[u8]) -> (TemplateLocation, Vec<(u64, i64, i64)>) {
    let mut out = TemplateLocation::default();
    let mut lines = Vec::new();
    fields(message, |number, field| match number {
        1 => out.id = field.number,
        2 => out.mapping = field.number,
        3 => out.address = field.number,
        4 => {
            let mut line = (0, 0, 0);
            fields(field.bytes, |inner, value| match inner {
                1 => line.0 = value.number,
                2 => line.1 = value.number.cast_signed(),
                3 => line.2 = value.number.cast_signed(),
                _ => {}
            });
            lines.push(line);
        }
        _ => {}
    });
    (out, lines)
}

fn function(message: &[u8]) -> TemplateFunction {
    let mut out = TemplateFunction::default();
    fields(message, |number, field| match number {
        1 => out.id = field.number,
        2 => out.name = field.number,
        3 => out.system_name = field.number,
        4 => out.file = field.number,
        5 => out.start_line = field.number.cast_signed(),
        _ => {}
    });
    out
}

fn inflate(body: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut raw = Vec::new();
    flate2::read::MultiGzDecoder::new(body).read_to_end(&mut raw).expect("a fixture that is no gzip");
    raw
}
