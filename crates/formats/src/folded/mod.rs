//! Folded stacks: one stack per line, frames from the root separated by `;`, a count at the end.
//!
//! Text only: strings of the profile are ranges of it. What is skipped and what is refused is in `LENIENCY.md`.
//!
//! Not here: what the numbers mean (the caller names type and unit), compression (`inflate`).

mod frame;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use profile::{
    Altered, AlteredReason, Columns, Function, FunctionIndex, Line, Location, LocationIndex, MappingIndex,
    StringIndex, StringRange, ValueType,
};
use std::hash::BuildHasher;

use self::frame::Frame;
use crate::{
    DecodeError, Limits,
    budget::{Budget, Full},
    inflate::Buffer,
    pprof::TRUNCATED,
    work,
};

/// Bytes that one entry of a hash table may take, with the table's slack.
const ENTRY_BYTES: usize = 12;

/// Where the weight of a stack stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// A number behind the last space.
    AtEndOfLine,
    /// Each line counts once.
    One,
}

/// The text with its lines, then the name of the type, then that of the unit.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) lines_end: usize,
    pub(crate) unit_start: usize,
}

/// Turns UTF-16 with a byte-order mark into UTF-8 and takes the mark of UTF-8 away (C058).
pub(crate) fn to_utf8(buffer: &mut Buffer) {
    let decode_units = |bytes: &[u8], read: fn([u8; 2]) -> u16| -> Vec<u8> {
        let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
        let mut text = String::with_capacity(bytes.len());
        text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        text.into_bytes()
    };
    let text = match buffer.bytes() {
        [0xff, 0xfe, rest @ ..] => decode_units(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_units(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
        _ => return,
    };
    work::count(buffer.bytes().len());
    buffer.clear();
    buffer.extend(&text);
}

/// Decodes the lines of `source` into `columns`. Text that is needed beside it is put into `added`.
pub(crate) fn decode(
    source: Source<'_>,
    weights: Weights,
    columns: &mut Columns,
    added: &mut Vec<u8>,
    limits: &Limits,
) -> Result<Altered, DecodeError> {
    let mut budget = Budget::new(source.text.len(), columns.allocated_bytes(), limits);
    columns.clear();
    added.clear();
    let mut stacks = Stacks {
        source,
        columns,
        added,
        budget: &mut budget,
        limits,
        altered: Altered::default(),
        hasher: FixedState::default(),
        strings: HashTable::new(),
        functions: HashTable::new(),
        locations: HashTable::new(),
        marker: None,
    };
    match stacks.run(weights) {
        Ok(()) => {}
        Err(Stop::Wrong(error)) => return Err(error),
        Err(Stop::Full) => {
            *stacks.columns = Columns::default();
            return Err(stacks.budget.error());
        }
    }
    Ok(stacks.altered)
}

/// Why decoding ends early.
enum Stop {
    Full,
    Wrong(DecodeError),
}

impl From<Full> for Stop {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

struct Stacks<'a> {
    source: Source<'a>,
    columns: &'a mut Columns,
    added: &'a mut Vec<u8>,
    budget: &'a mut Budget,
    limits: &'a Limits,
    altered: Altered,
    hasher: FixedState,
    strings: HashTable<u32>,
    functions: HashTable<u32>,
    locations: HashTable<u32>,
    marker: Option<LocationIndex>,
}

impl Stacks<'_> {
    fn run(&mut self, weights: Weights) -> Result<(), Stop> {
        let Source { text, lines_end, unit_start } = self.source;
        work::count(text.len());
        let kind = self.string(&text[lines_end..unit_start], lines_end)?;
        let unit = self.string(&text[unit_start..], unit_start)?;
        self.columns.sample_types.push(ValueType { kind, unit });
        let (mut bad, mut good) = (0_u64, 0_u64);
        let mut start = 0;
        for line in text[..lines_end].split(|&byte| byte == b'\n') {
            let trimmed = line.trim_ascii();
            // `trim_ascii` gives a part of `line`; where it starts is found by what it left out
            let indent = line.len() - line.trim_ascii_start().len();
            let at = start + if trimmed.is_empty() { 0 } else { indent };
            start += line.len() + 1;
            if trimmed.is_empty() || trimmed.starts_with(b"#") {
                continue;
            }
            match weigh(trimmed, weights) {
                Some((stack, value)) => {
                    good += 1;
                    self.stack(stack, at, value)?;
                }
                None => bad += 1,
            }
        }
        if good == 0 {
            let reason = match (bad, weights) {
                (0, _) => "the text has no stack".to_owned(),
                (_, Weights::AtEndOfLine) => {
                    format!("these are no folded stacks: none of {bad} lines ends with a count")
                }
                (_, Weights::One) => format!("none of {bad} lines has a frame"),
            };
            return Err(Stop::Wrong(DecodeError::malformed("line", reason)));
        }
        self.altered.add(AlteredReason::BadLine, bad);
        Ok(())
    }

    fn stack(&mut self, stack: &[u8], start: usize, value: i64) -> Result<(), Stop> {
        if value == 0 {
            self.altered.add(AlteredReason::ZeroValue, 1);
            return Ok(());
        }
        if value < 0 && !self.limits.keep_negative {
            self.altered.add(AlteredReason::NegativeValue, 1);
            return Ok(());
        }
        let depth_max = self.limits.stack_depth_max;
        let depth = stack.split(|&byte| byte == b';').filter(|frame| !frame.trim_ascii().is_empty()).count();
        let kept = if depth > depth_max { depth_max - 1 } else { depth };
        self.budget.room(&mut self.columns.stacks, kept + 1)?;
        // leaf first: frames are taken from the end of the line
        let mut end = stack.len();
        let mut taken = 0;
        while taken < kept {
            let from = stack[..end].iter().rposition(|&byte| byte == b';').map_or(0, |position| position + 1);
            let frame = &stack[from..end];
            let indent = frame.len() - frame.trim_ascii_start().len();
            let name = frame.trim_ascii();
            if !name.is_empty() {
                let location = self.location(name, start + from + indent)?;
                self.columns.stacks.push(location);
                taken += 1;
            }
            end = from.saturating_sub(1);
        }
        if kept < depth {
            let marker = self.marker()?;
            self.columns.stacks.push(marker);
            self.altered.add(AlteredReason::StackTooDeep, 1);
        }
        if depth == 0 {
            self.altered.add(AlteredReason::NoStack, 1);
        }
        self.budget.room(&mut self.columns.stack_ends, 1)?;
        self.budget.room(&mut self.columns.values, 1)?;
        let stacks_end = narrow(self.columns.stacks.len());
        self.columns.stack_ends.push(stacks_end);
        self.columns.values.push(value);
        Ok(())
    }

    fn marker(&mut self) -> Result<LocationIndex, Stop> {
        if let Some(marker) = self.marker {
            return Ok(marker);
        }
        let start = self.source.text.len() + self.added.len();
        self.added.extend_from_slice(TRUNCATED.as_bytes());
        let name = self.push_string(StringRange { start: narrow(start), length: narrow(TRUNCATED.len()) })?;
        let function = self.function(name, StringIndex::EMPTY)?;
        let marker = self.place(function, 0)?;
        self.marker = Some(marker);
        Ok(marker)
    }

    fn location(&mut self, text: &[u8], start: usize) -> Result<LocationIndex, Stop> {
        let frame = Frame::read(text);
        let name = self.string(&text[frame.name.clone()], start + frame.name.start)?;
        let file = self.string(&text[frame.file.clone()], start + frame.file.start)?;
        let function = self.function(name, file)?;
        self.place(function, frame.line)
    }

    fn string(&mut self, string: &[u8], start: usize) -> Result<StringIndex, Stop> {
        if string.is_empty() {
            return Ok(StringIndex::EMPTY);
        }
        let (mut kept, mut start) = (string, start);
        if string.len() > self.limits.string_bytes_max {
            self.altered.add(AlteredReason::StringTooLong, 1);
            let cut = string.len() - self.limits.string_bytes_max;
            let continuation = string[cut..].iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
            kept = &string[cut + continuation..];
            start += cut + continuation;
        }
        let text = self.source.text;
        let ranges = &self.columns.strings;
        let content = |index: u32| {
            let range = ranges[index as usize];
            &text[range.start as usize..][..range.length as usize]
        };
        let hash = self.hasher.hash_one(kept);
        work::count(kept.len());
        if let Some(&index) = self.strings.find(hash, |&index| content(index) == kept) {
            return Ok(StringIndex(index));
        }
        if std::str::from_utf8(kept).is_err() {
            if self.limits.strict_utf8 {
                let reason = format!("invalid UTF-8 in the name at byte {start}");
                return Err(Stop::Wrong(DecodeError::malformed("line", reason)));
            }
            self.altered.add(AlteredReason::InvalidUtf8, 1);
        }
        self.budget.take(ENTRY_BYTES)?;
        let index = self.push_string(StringRange { start: narrow(start), length: narrow(kept.len()) })?;
        let ranges = &self.columns.strings;
        let hasher = &self.hasher;
        self.strings.insert_unique(hash, index.0, |&known| {
            let range = ranges[known as usize];
            hasher.hash_one(&text[range.start as usize..][..range.length as usize])
        });
        Ok(index)
    }

    fn push_string(&mut self, range: StringRange) -> Result<StringIndex, Stop> {
        let index = StringIndex(narrow(self.columns.strings.len()));
        self.budget.room(&mut self.columns.strings, 1)?;
        self.columns.strings.push(range);
        Ok(index)
    }

    fn function(&mut self, name: StringIndex, file: StringIndex) -> Result<FunctionIndex, Stop> {
        let functions = &mut self.columns.functions;
        let hasher = &self.hasher;
        let hash = hasher.hash_one((name, file));
        let is_it = |&index: &u32| {
            let function: &Function = &functions[index as usize];
            function.name == name && function.file == file
        };
        if let Some(&index) = self.functions.find(hash, is_it) {
            return Ok(FunctionIndex(index));
        }
        self.budget.take(ENTRY_BYTES)?;
        self.budget.room(functions, 1)?;
        let index = narrow(functions.len());
        functions.push(Function { name, file, ..Function::default() });
        self.functions.insert_unique(hash, index, |&known| {
            let function = &functions[known as usize];
            hasher.hash_one((function.name, function.file))
        });
        Ok(FunctionIndex(index))
    }

    fn place(&mut self, function: FunctionIndex, line: i64) -> Result<LocationIndex, Stop> {
        let lines = &mut self.columns.lines;
        let hasher = &self.hasher;
        let hash = hasher.hash_one((function, line));
        // location `k` has line `k` alone
        let is_it =
            |&index: &u32| lines[index as usize].function == function && lines[index as usize].line == line;
        if let Some(&index) = self.locations.find(hash, is_it) {
            return Ok(LocationIndex(index));
        }
        self.budget.take(ENTRY_BYTES)?;
        self.budget.room(lines, 1)?;
        self.budget.room(&mut self.columns.locations, 1)?;
        let index = narrow(lines.len());
        lines.push(Line { function, line, column: 0 });
        self.columns.locations.push(Location {
            mapping: MappingIndex::NONE,
            address: 0,
            lines_start: index,
            lines_length: 1,
            is_folded: false,
        });
        self.locations.insert_unique(hash, index, |&known| {
            hasher.hash_one((lines[known as usize].function, lines[known as usize].line))
        });
        Ok(LocationIndex(index))
    }
}

/// Splits a line into stack and value.
fn weigh(line: &[u8], weights: Weights) -> Option<(&[u8], i64)> {
    let (stack, value) = match weights {
        Weights::One => (line, 1),
        Weights::AtEndOfLine => {
            let space = line.iter().rposition(u8::is_ascii_whitespace)?;
            let value = std::str::from_utf8(&line[space + 1..]).ok()?.parse().ok()?;
            (line[..space].trim_ascii_end(), value)
        }
    };
    let has_frame = stack.iter().any(|&byte| byte != b';' && !byte.is_ascii_whitespace());
    has_frame.then_some((stack, value))
}

/// Positions in a body, which is below 2 GiB.
fn narrow(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    u32::try_from(value).unwrap_or(u32::MAX)
}
