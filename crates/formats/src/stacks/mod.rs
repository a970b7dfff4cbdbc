//! Columns from stacks of named frames: what folded stacks, lines, tries, trees and speedscope files have in common.
//!
//! A decoder names frames and gives stacks with one value each; here strings, functions and locations are found again by
//! their content, stacks that are too deep are cut at the root, and everything that grows is held against the body.
//! Strings are ranges of the body or of the text that is added behind it.
//!
//! Not here: the syntax of any format, what the numbers mean (the caller names type and unit).

mod frame;

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use profile::{
    Altered, AlteredReason, Columns, Function, FunctionIndex, Line, Location, LocationIndex, MappingIndex,
    StringIndex, StringRange, ValueType,
};

use self::frame::Frame;
use crate::{
    DecodeError, Limits, Measure, Scale,
    budget::{Budget, Full},
    measure,
    pprof::TRUNCATED,
    work,
};

/// Bytes that one entry of a hash table may take, with the table's slack.
pub(crate) const ENTRY_BYTES: usize = 12;

/// Why decoding ends early.
pub(crate) enum Stop {
    /// The tables would pass their budget.
    Full,
    /// The body is wrong.
    Wrong(DecodeError),
}

impl From<Full> for Stop {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Wrong(error)
    }
}

/// What a decoder reads from and writes to.
pub(crate) struct Target<'a> {
    /// The text that strings may be ranges of.
    pub(crate) text: &'a [u8],
    /// Bytes of the body, which memory is held against.
    pub(crate) body_bytes: usize,
    /// Tables to fill.
    pub(crate) columns: &'a mut Columns,
    /// Takes text that is not in `text`; belongs right behind it.
    pub(crate) added: &'a mut Vec<u8>,
    /// What may be used at most.
    pub(crate) limits: &'a Limits,
}

/// Lets `fill` build the columns of one profile.
pub(crate) fn build(
    target: Target<'_>,
    measure: Measure<'_>,
    fill: impl FnOnce(&mut Stacks<'_>) -> Result<(), Stop>,
) -> Result<Altered, DecodeError> {
    let Target { text, body_bytes, columns, added, limits } = target;
    let mut budget = Budget::new(body_bytes, columns.allocated_bytes(), limits);
    columns.clear();
    added.clear();
    let mut stacks = Stacks {
        text,
        columns,
        added,
        budget: &mut budget,
        limits,
        altered: Altered::default(),
        scale: measure.scale,
        hasher: FixedState::default(),
        strings: HashTable::new(),
        functions: HashTable::new(),
        locations: HashTable::new(),
        marker: None,
    };
    match stacks.measured_by(&measure).and_then(|()| fill(&mut stacks)) {
        Ok(()) => Ok(stacks.altered),
        Err(Stop::Wrong(error)) => Err(error),
        Err(Stop::Full) => {
            *stacks.columns = Columns::default();
            Err(stacks.budget.error())
        }
    }
}

/// The profile under way.
pub(crate) struct Stacks<'a> {
    text: &'a [u8],
    columns: &'a mut Columns,
    added: &'a mut Vec<u8>,
    /// What tables may still take; a decoder's own tables come from it too.
    pub(crate) budget: &'a mut Budget,
    pub(crate) limits: &'a Limits,
    pub(crate) altered: Altered,
    scale: Scale,
    hasher: FixedState,
    strings: HashTable<u32>,
    functions: HashTable<u32>,
    locations: HashTable<u32>,
    marker: Option<LocationIndex>,
}

impl Stacks<'_> {
    fn measured_by(&mut self, measure: &Measure<'_>) -> Result<(), Stop> {
        let kind = self.added_string(measure.sample_type.as_bytes())?;
        let unit = self.added_string(measure.sample_unit.as_bytes())?;
        self.columns.sample_types.push(ValueType { kind, unit });
        let (kind, unit) = match measure.scale {
            Scale::Plain => (StringIndex::EMPTY, StringIndex::EMPTY),
            _ => (self.added_string(b"cpu")?, self.added_string(b"nanoseconds")?),
        };
        measure::state(self.columns, measure, kind, unit);
        Ok(())
    }

    /// The value of a sample as it is stored; `None` where it makes none, which is counted.
    pub(crate) fn counted(&mut self, value: i64) -> Result<Option<i64>, Stop> {
        if value < 0 && !self.limits.keep_negative {
            self.altered.add(AlteredReason::NegativeValue, 1);
            return Ok(None);
        }
        let stored = self.scale.stored(value)?;
        if stored == 0 {
            self.altered.add(AlteredReason::ZeroValue, 1);
        }
        Ok((stored != 0).then_some(stored))
    }

    /// How many frames of a stack of `depth` are kept at the leaf; where that is not all, a marker follows.
    pub(crate) fn kept(&self, depth: usize) -> usize {
        let depth_max = self.limits.stack_depth_max;
        if depth > depth_max { depth_max.saturating_sub(1) } else { depth }
    }

    /// Makes room for a stack of `frames` and its marker.
    pub(crate) fn room_for(&mut self, frames: usize) -> Result<(), Stop> {
        self.budget.room(&mut self.columns.stacks, frames + 1)?;
        work::count(frames);
        Ok(())
    }

    /// The next frame of the stack under way, from the leaf on. Room must have been made.
    pub(crate) fn push_frame(&mut self, location: LocationIndex) {
        self.columns.stacks.push(location);
    }

    /// Ends the stack under way, of which `kept` of `depth` frames were pushed, and gives it its counted value.
    pub(crate) fn end_sample(&mut self, kept: usize, depth: usize, value: i64) -> Result<(), Stop> {
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

    /// A sample of a counted value, its stack given from the root.
    pub(crate) fn sample_of_path(&mut self, path: &[LocationIndex], value: i64) -> Result<(), Stop> {
        let kept = self.kept(path.len());
        self.room_for(kept)?;
        self.columns.stacks.extend(path[path.len() - kept..].iter().rev());
        self.end_sample(kept, path.len(), value)
    }

    fn marker(&mut self) -> Result<LocationIndex, Stop> {
        if let Some(marker) = self.marker {
            return Ok(marker);
        }
        let name = self.new_string(TRUNCATED.as_bytes())?;
        let function = self.function(name, StringIndex::EMPTY)?;
        let marker = self.location(function, 0)?;
        self.marker = Some(marker);
        Ok(marker)
    }

    /// The frame whose name stands at `start` of the text, with file and line apart where they were glued to it.
    pub(crate) fn frame(&mut self, name: &[u8], start: usize) -> Result<LocationIndex, Stop> {
        let frame = Frame::read(name);
        let file = self.string(&name[frame.file.clone()], Place::Text(start + frame.file.start))?;
        let name = self.string(&name[frame.name.clone()], Place::Text(start + frame.name.start))?;
        let function = self.function(name, file)?;
        self.location(function, frame.line)
    }

    /// The same for a name that is not in the text.
    pub(crate) fn added_frame(&mut self, name: &[u8]) -> Result<LocationIndex, Stop> {
        let frame = Frame::read(name);
        let file = self.added_string(&name[frame.file.clone()])?;
        let name = self.added_string(&name[frame.name.clone()])?;
        let function = self.function(name, file)?;
        self.location(function, frame.line)
    }

    /// A string that stands at `start` of the text.
    pub(crate) fn text_string(&mut self, string: &[u8], start: usize) -> Result<StringIndex, Stop> {
        self.string(string, Place::Text(start))
    }

    /// A string that is put behind the text where it is new.
    pub(crate) fn added_string(&mut self, string: &[u8]) -> Result<StringIndex, Stop> {
        self.string(string, Place::Added)
    }

    fn string(&mut self, string: &[u8], place: Place) -> Result<StringIndex, Stop> {
        if string.is_empty() {
            return Ok(StringIndex::EMPTY);
        }
        let kept = self.within_length(string);
        let hash = self.hasher.hash_one(kept);
        work::count(kept.len());
        let (ranges, text, added) = (&self.columns.strings, self.text, &*self.added);
        if let Some(&index) = self.strings.find(hash, |&index| content(ranges, text, added, index) == kept) {
            return Ok(StringIndex(index));
        }
        if std::str::from_utf8(kept).is_err() {
            if self.limits.strict_utf8 {
                let at = match place {
                    Place::Text(start) => format!(" at byte {start}"),
                    Place::Added => String::new(),
                };
                return Err(DecodeError::malformed("line", format!("invalid UTF-8 in the name{at}")).into());
            }
            self.altered.add(AlteredReason::InvalidUtf8, 1);
        }
        self.budget.take(ENTRY_BYTES)?;
        let index = match place {
            Place::Text(start) => {
                let start = start + string.len() - kept.len();
                self.push_string(StringRange { start: narrow(start), length: narrow(kept.len()) })?
            }
            Place::Added => self.new_string(kept)?,
        };
        let (ranges, text, added) = (&self.columns.strings, self.text, &*self.added);
        let hasher = &self.hasher;
        self.strings
            .insert_unique(hash, index.0, |&known| hasher.hash_one(content(ranges, text, added, known)));
        Ok(index)
    }

    /// The end of a string that is too long, from the beginning of a character on.
    fn within_length<'s>(&mut self, string: &'s [u8]) -> &'s [u8] {
        let Some(cut) = string.len().checked_sub(self.limits.string_bytes_max).filter(|&cut| cut > 0) else {
            return string;
        };
        self.altered.add(AlteredReason::StringTooLong, 1);
        let continuation = string[cut..].iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
        &string[cut + continuation..]
    }

    fn new_string(&mut self, string: &[u8]) -> Result<StringIndex, Stop> {
        let start = self.text.len() + self.added.len();
        self.budget.room(self.added, string.len())?;
        self.added.extend_from_slice(string);
        self.push_string(StringRange { start: narrow(start), length: narrow(string.len()) })
    }

    fn push_string(&mut self, range: StringRange) -> Result<StringIndex, Stop> {
        let index = StringIndex(narrow(self.columns.strings.len()));
        self.budget.room(&mut self.columns.strings, 1)?;
        self.columns.strings.push(range);
        Ok(index)
    }

    /// The function of that name and file.
    pub(crate) fn function(&mut self, name: StringIndex, file: StringIndex) -> Result<FunctionIndex, Stop> {
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

    /// The location of a line of a function.
    pub(crate) fn location(&mut self, function: FunctionIndex, line: i64) -> Result<LocationIndex, Stop> {
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

/// Where a string stands.
#[derive(Clone, Copy)]
enum Place {
    /// In the text, from that byte on.
    Text(usize),
    /// Nowhere yet.
    Added,
}

/// The bytes of a string of the profile under way.
fn content<'a>(ranges: &[StringRange], text: &'a [u8], added: &'a [u8], index: u32) -> &'a [u8] {
    let range = ranges[index as usize];
    let start = range.start as usize;
    let (bytes, start) = if start < text.len() { (text, start) } else { (added, start - text.len()) };
    &bytes[start..][..range.length as usize]
}

/// Positions in a body, which is below 2 GiB, and in what is added to it.
pub(crate) fn narrow(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    u32::try_from(value).unwrap_or(u32::MAX)
}
