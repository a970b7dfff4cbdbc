//! One pass over the bytes of a profile: fields into columns.
//!
//! The *quick* pass takes ids for positions (nearly every producer numbers from 1 without gaps), keeps only the largest
//! id and string index that it saw, and gives up with [`Fault::Odd`] as soon as that is not enough. The *careful* pass
//! then runs from the start with the ids looked up beforehand ([`Ids`]) and names the field of every error. Both are
//! this one piece of code, so they cannot disagree.
//!
//! Not here: reading ids beforehand (`ids`), what is decided when all tables are known (`finish`).

use profile::{
    Columns, Function, FunctionIndex, LabelValue, Line, Location, LocationIndex, Mapping, MappingFlags,
    MappingIndex, SampleLabel, StringIndex, StringRange, ValueType,
};

use super::{
    ids::Ids,
    stack::push_packed_ids,
    wire::{Fault, delimited, low32, narrow, signed, skip, varint},
};
use crate::{DecodeError, Limits, budget::Budget, work};

/// Counts of what was dropped or kept with a remark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) samples: u64,
    pub(super) value_count_mismatch: u64,
    pub(super) negative: u64,
    pub(super) zero: u64,
    pub(super) no_stack: u64,
    pub(super) string_too_long: u64,
    pub(super) invalid_utf8: u64,
}

/// The largest of what the quick pass took on trust.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trusted {
    pub(super) location_id: u64,
    pub(super) function_id: u64,
    pub(super) mapping_id: u64,
    pub(super) string: u64,
}

/// State of one pass.
pub(super) struct Pass<'a, const CAREFUL: bool> {
    pub(super) text: &'a [u8],
    pub(super) columns: &'a mut Columns,
    pub(super) budget: &'a mut Budget,
    pub(super) limits: &'a Limits,
    /// Empty in the quick pass.
    pub(super) ids: &'a Ids,
    pub(super) trusted: Trusted,
    pub(super) counts: Counts,
    pub(super) times_seen: u32,
    pub(super) depth_max: usize,
    pub(super) lines_max: usize,
    pub(super) noted: Option<DecodeError>,
}

impl<'a, const CAREFUL: bool> Pass<'a, CAREFUL> {
    /// Reads all fields of the profile.
    ///
    /// # Errors
    /// `Odd` (quick pass only), `Noted` with the error in `noted`, or a fault of the wire format, which is noted too.
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        let text = self.text;
        let mut rest = text;
        work::count(text.len());
        self.columns.strings.clear();
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            let mut tag = 0;
            let result = varint(&mut rest).and_then(|found| {
                tag = found;
                self.field(found, &mut rest)
            });
            match result {
                Ok(()) => {}
                Err(fault @ (Fault::Odd | Fault::Noted)) => return Err(fault),
                Err(fault) => return Err(self.note_fault(fault, tag, at)),
            }
        }
        if self.columns.strings.is_empty() {
            self.columns.strings.push(StringRange::default());
        }
        Ok(())
    }

    #[inline(always)]
    fn field(&mut self, tag: u64, rest: &mut &'a [u8]) -> Result<(), Fault> {
        match tag {
            0x12 => self.sample(delimited(rest)?),
            0x22 => self.location(delimited(rest)?),
            0x2a => self.function(delimited(rest)?),
            0x32 => {
                let string = delimited(rest)?;
                self.string_entry(string, self.text.len() - rest.len() - string.len())
            }
            _ => self.rare_field(tag, rest),
        }
    }

    #[inline(never)]
    fn rare_field(&mut self, tag: u64, rest: &mut &'a [u8]) -> Result<(), Fault> {
        match tag {
            0x0a => {
                let position = self.columns.sample_types.len();
                let value_type = self.value_type(delimited(rest)?, || format!("sample_type[{position}]"))?;
                self.budget.room(&mut self.columns.sample_types, 1)?;
                self.columns.sample_types.push(value_type);
            }
            0x1a => self.mapping(delimited(rest)?)?,
            0x38 => self.columns.header.drop_frames = self.named_string(rest, "drop_frames")?,
            0x40 => self.columns.header.keep_frames = self.named_string(rest, "keep_frames")?,
            0x48 => {
                self.columns.header.time_nanos = signed(varint(rest)?);
                self.times_seen += 1;
                if self.times_seen == 2 {
                    let at = self.text.len() - rest.len();
                    let reason = format!(
                        "a second time before byte {at}: two profiles glued together; send them one by one"
                    );
                    return Err(self.note(DecodeError::malformed("time_nanos", reason)));
                }
            }
            0x50 => self.columns.header.duration_nanos = signed(varint(rest)?),
            0x5a => {
                let value_type = self.value_type(delimited(rest)?, || "period_type".to_owned())?;
                self.columns.header.period_type = Some(value_type);
            }
            0x60 => self.columns.header.period = signed(varint(rest)?),
            0x68 => {
                let index = varint(rest)?;
                self.comment(index)?;
            }
            0x6a => {
                let mut packed = delimited(rest)?;
                while !packed.is_empty() {
                    let index = varint(&mut packed)?;
                    self.comment(index)?;
                }
            }
            0x70 => {
                self.columns.header.default_sample_type = self.named_string(rest, "default_sample_type")?
            }
            0x78 => self.columns.header.doc_url = self.named_string(rest, "doc_url")?,
            _ => skip(tag, 15, rest)?,
        }
        Ok(())
    }

    fn named_string(&mut self, rest: &mut &'a [u8], field: &str) -> Result<StringIndex, Fault> {
        let index = varint(rest)?;
        self.string(index, || field.to_owned())
    }

    fn comment(&mut self, index: u64) -> Result<(), Fault> {
        let position = self.columns.header.comments.len();
        let comment = self.string(index, || format!("comment[{position}]"))?;
        self.budget.room(&mut self.columns.header.comments, 1)?;
        self.columns.header.comments.push(comment);
        Ok(())
    }

    fn value_type(&mut self, mut message: &[u8], path: impl Fn() -> String) -> Result<ValueType, Fault> {
        let mut value_type = ValueType::default();
        while !message.is_empty() {
            match varint(&mut message)? {
                0x08 => {
                    let index = varint(&mut message)?;
                    value_type.kind = self.string(index, || format!("{}.type", path()))?;
                }
                0x10 => {
                    let index = varint(&mut message)?;
                    value_type.unit = self.string(index, || format!("{}.unit", path()))?;
                }
                tag => skip(tag, 2, &mut message)?,
            }
        }
        Ok(value_type)
    }

    #[inline(always)]
    fn sample(&mut self, mut message: &[u8]) -> Result<(), Fault> {
        let stack_start = self.columns.stacks.len();
        let values_start = self.columns.values.len();
        let labels_start = self.columns.labels.len();
        self.counts.samples += 1;
        while !message.is_empty() {
            match varint(&mut message)? {
                0x0a => {
                    let packed = delimited(&mut message)?;
                    self.budget.room(&mut self.columns.stacks, packed.len())?;
                    if CAREFUL {
                        self.careful_ids(packed, stack_start)?;
                    } else {
                        let id_max = push_packed_ids(packed, &mut self.columns.stacks)?;
                        self.trusted.location_id = self.trusted.location_id.max(id_max);
                    }
                }
                0x12 => {
                    let mut packed = delimited(&mut message)?;
                    self.budget.room(&mut self.columns.values, packed.len())?;
                    while !packed.is_empty() {
                        self.columns.values.push(signed(varint(&mut packed)?));
                    }
                }
                0x1a => {
                    let label = delimited(&mut message)?;
                    self.label(label, labels_start)?;
                }
                0x08 => {
                    let id = varint(&mut message)?;
                    self.budget.room(&mut self.columns.stacks, 1)?;
                    self.one_id(id, stack_start)?;
                }
                0x10 => {
                    let value = varint(&mut message)?;
                    self.budget.room(&mut self.columns.values, 1)?;
                    self.columns.values.push(signed(value));
                }
                tag => skip(tag, 3, &mut message)?,
            }
        }
        self.end_sample(stack_start, values_start, labels_start)
    }

    #[cold]
    #[inline(never)]
    fn careful_ids(&mut self, mut packed: &[u8], stack_start: usize) -> Result<(), Fault> {
        while !packed.is_empty() {
            let id = varint(&mut packed)?;
            self.one_id(id, stack_start)?;
        }
        Ok(())
    }

    fn one_id(&mut self, id: u64, stack_start: usize) -> Result<(), Fault> {
        let location = if CAREFUL {
            match self.ids.locations.position(id) {
                Some(position) => LocationIndex(position),
                None => {
                    let entry = self.columns.stacks.len() - stack_start;
                    let field = format!("sample[{}].location_id[{entry}]", self.counts.samples - 1);
                    return Err(self.note(dangling(field, id, "location")));
                }
            }
        } else {
            // id 0 wraps to the largest value and is caught with the others
            let position = id.wrapping_sub(1);
            self.trusted.location_id = self.trusted.location_id.max(position);
            LocationIndex(low32(position))
        };
        self.columns.stacks.push(location);
        Ok(())
    }

    /// Keeps or drops the sample whose parts were just pushed.
    #[inline(always)]
    fn end_sample(
        &mut self,
        stack_start: usize,
        values_start: usize,
        labels_start: usize,
    ) -> Result<(), Fault> {
        let columns = &mut *self.columns;
        let width = if CAREFUL { self.ids.sample_types } else { columns.sample_types.len() };
        let values = &columns.values[values_start..];
        let mut bits = 0_i64;
        for &value in values {
            bits |= value;
        }
        let depth = columns.stacks.len() - stack_start;
        // a sum of bits is positive when some value is not zero and none is negative
        if bits <= 0 || values.len() != width || depth == 0 {
            let keep = self.judge_odd_sample(bits, values_start, labels_start, depth == 0)?;
            if !keep {
                self.columns.stacks.truncate(stack_start);
                self.columns.values.truncate(values_start);
                self.columns.labels.truncate(labels_start);
                return Ok(());
            }
        }
        let columns = &mut *self.columns;
        self.depth_max = self.depth_max.max(depth);
        self.budget.room(&mut columns.stack_ends, 1)?;
        columns.stack_ends.push(narrow(columns.stacks.len()));
        if !columns.labels.is_empty() || !columns.label_ends.is_empty() {
            self.budget.room(&mut columns.label_ends, 1)?;
            columns.label_ends.push(narrow(columns.labels.len()));
        }
        Ok(())
    }

    /// Whether a sample is kept that has wrong, negative or no values or no stack (C006, C008, C009).
    #[cold]
    #[inline(never)]
    fn judge_odd_sample(
        &mut self,
        bits: i64,
        values_start: usize,
        labels_start: usize,
        is_empty_stack: bool,
    ) -> Result<bool, Fault> {
        let count = self.columns.values.len() - values_start;
        if CAREFUL {
            if count != self.ids.sample_types {
                self.counts.value_count_mismatch += 1;
                return Ok(false);
            }
        } else if count != self.columns.sample_types.len() || count == 0 {
            // sample types may come later in the body, or not at all
            return Err(Fault::Odd);
        }
        if bits < 0 && !self.limits.keep_negative {
            if !CAREFUL {
                return Err(Fault::Odd);
            }
            let is_difference = self.columns.labels[labels_start..]
                .iter()
                .any(|label| Some(label.key) == self.ids.difference_key);
            if !is_difference {
                self.counts.negative += 1;
                return Ok(false);
            }
        }
        if bits == 0 {
            self.counts.zero += 1;
            return Ok(false);
        }
        if is_empty_stack {
            self.counts.no_stack += 1;
        }
        Ok(true)
    }

    fn label(&mut self, mut message: &[u8], labels_start: usize) -> Result<(), Fault> {
        let (mut key, mut text, mut unit) = (0, 0, 0);
        let (mut number, mut has_number) = (0, false);
        while !message.is_empty() {
            match varint(&mut message)? {
                0x08 => key = varint(&mut message)?,
                0x10 => text = varint(&mut message)?,
                0x18 => {
                    number = signed(varint(&mut message)?);
                    has_number = number != 0;
                }
                0x20 => unit = varint(&mut message)?,
                tag => skip(tag, 4, &mut message)?,
            }
        }
        let (sample, entry) = (self.counts.samples - 1, self.columns.labels.len() - labels_start);
        let path = move |part: &str| format!("sample[{sample}].label[{entry}].{part}");
        let key = self.string(key, || path("key"))?;
        let text = self.string(text, || path("str"))?;
        let unit = self.string(unit, || path("num_unit"))?;
        // Room for the ends of all samples so far as well: only the first label needs it.
        self.budget.room(&mut self.columns.labels, 2)?;
        if self.columns.label_ends.len() < self.columns.stack_ends.len() {
            let missing = self.columns.stack_ends.len() - self.columns.label_ends.len();
            self.budget.room(&mut self.columns.label_ends, missing)?;
            let end = narrow(labels_start);
            self.columns.label_ends.resize(self.columns.stack_ends.len(), end);
        }
        if text != StringIndex::EMPTY {
            self.columns.labels.push(SampleLabel { key, value: LabelValue::Text(text) });
            if !has_number {
                return Ok(());
            }
        }
        self.columns.labels.push(SampleLabel { key, value: LabelValue::Number { value: number, unit } });
        Ok(())
    }

    #[inline(always)]
    fn location(&mut self, mut message: &[u8]) -> Result<(), Fault> {
        let position = self.columns.locations.len();
        let lines_start = self.columns.lines.len();
        let (mut id, mut mapping_id, mut address, mut folded) = (0, 0, 0, 0);
        while !message.is_empty() {
            match varint(&mut message)? {
                0x08 => id = varint(&mut message)?,
                0x10 => mapping_id = varint(&mut message)?,
                0x18 => address = varint(&mut message)?,
                0x22 => {
                    let line = delimited(&mut message)?;
                    self.line(line, position, lines_start)?;
                }
                0x28 => folded = varint(&mut message)?,
                tag => skip(tag, 5, &mut message)?,
            }
        }
        let mapping = if CAREFUL {
            match self.ids.mappings.position(mapping_id) {
                Some(found) => MappingIndex(found),
                None if mapping_id == 0 => MappingIndex::NONE,
                None => {
                    return Err(self.note(dangling(
                        format!("location[{position}].mapping_id"),
                        mapping_id,
                        "mapping",
                    )));
                }
            }
        } else {
            if id != position as u64 + 1 {
                return Err(Fault::Odd);
            }
            self.trusted.mapping_id = self.trusted.mapping_id.max(mapping_id);
            // id 0 wraps to `MappingIndex::NONE`
            MappingIndex(low32(mapping_id.wrapping_sub(1)))
        };
        let lines_length = self.columns.lines.len() - lines_start;
        self.lines_max = self.lines_max.max(lines_length);
        self.budget.room(&mut self.columns.locations, 1)?;
        self.columns.locations.push(Location {
            mapping,
            address,
            lines_start: narrow(lines_start),
            lines_length: narrow(lines_length),
            is_folded: folded != 0,
        });
        Ok(())
    }

    #[inline(always)]
    fn line(&mut self, mut message: &[u8], location: usize, lines_start: usize) -> Result<(), Fault> {
        let (mut function_id, mut line, mut column) = (0, 0, 0);
        while !message.is_empty() {
            match varint(&mut message)? {
                0x08 => function_id = varint(&mut message)?,
                0x10 => line = signed(varint(&mut message)?),
                0x18 => column = signed(varint(&mut message)?),
                tag => skip(tag, 3, &mut message)?,
            }
        }
        let function = if CAREFUL {
            match self.ids.functions.position(function_id) {
                Some(found) => FunctionIndex(found),
                None => {
                    let entry = self.columns.lines.len() - lines_start;
                    let field = format!("location[{location}].line[{entry}].function_id");
                    return Err(self.note(dangling(field, function_id, "function")));
                }
            }
        } else {
            let position = function_id.wrapping_sub(1);
            self.trusted.function_id = self.trusted.function_id.max(position);
            FunctionIndex(low32(position))
        };
        self.budget.room(&mut self.columns.lines, 1)?;
        self.columns.lines.push(Line { function, line, column });
        Ok(())
    }

    #[inline(always)]
    fn function(&mut self, mut message: &[u8]) -> Result<(), Fault> {
        let position = self.columns.functions.len();
        let (mut id, mut name, mut system_name, mut file, mut start_line) = (0, 0, 0, 0, 0);
        while !message.is_empty() {
            match varint(&mut message)? {
                0x08 => id = varint(&mut message)?,
                0x10 => name = varint(&mut message)?,
                0x18 => system_name = varint(&mut message)?,
                0x20 => file = varint(&mut message)?,
                0x28 => start_line = signed(varint(&mut message)?),
                tag => skip(tag, 5, &mut message)?,
            }
        }
        if !CAREFUL && id != position as u64 + 1 {
            return Err(Fault::Odd);
        }
        let function = Function {
            name: self.string(name, || format!("function[{position}].name"))?,
            system_name: self.string(system_name, || format!("function[{position}].system_name"))?,
            file: self.string(file, || format!("function[{position}].filename"))?,
            start_line,
        };
        self.budget.room(&mut self.columns.functions, 1)?;
        self.columns.functions.push(function);
        Ok(())
    }

    #[inline(never)]
    fn mapping(&mut self, mut message: &[u8]) -> Result<(), Fault> {
        let position = self.columns.mappings.len();
        let mut mapping = Mapping::default();
        let (mut id, mut file, mut build_id) = (0, 0, 0);
        while !message.is_empty() {
            let tag = varint(&mut message)?;
            let flag = match tag {
                0x38 => MappingFlags::FUNCTIONS,
                0x40 => MappingFlags::FILENAMES,
                0x48 => MappingFlags::LINE_NUMBERS,
                0x50 => MappingFlags::INLINE_FRAMES,
                _ => 0,
            };
            match tag {
                0x08 => id = varint(&mut message)?,
                0x10 => mapping.start = varint(&mut message)?,
                0x18 => mapping.limit = varint(&mut message)?,
                0x20 => mapping.offset = varint(&mut message)?,
                0x28 => file = varint(&mut message)?,
                0x30 => build_id = varint(&mut message)?,
                0x38 | 0x40 | 0x48 | 0x50 => {
                    let is_set = varint(&mut message)? != 0;
                    mapping.flags.0 = if is_set { mapping.flags.0 | flag } else { mapping.flags.0 & !flag };
                }
                _ => skip(tag, 10, &mut message)?,
            }
        }
        if !CAREFUL && id != position as u64 + 1 {
            return Err(Fault::Odd);
        }
        mapping.file = self.string(file, || format!("mapping[{position}].filename"))?;
        mapping.build_id = self.string(build_id, || format!("mapping[{position}].build_id"))?;
        self.budget.room(&mut self.columns.mappings, 1)?;
        self.columns.mappings.push(mapping);
        Ok(())
    }

    #[inline(always)]
    fn string_entry(&mut self, string: &[u8], start: usize) -> Result<(), Fault> {
        let mut range = StringRange { start: narrow(start), length: narrow(string.len()) };
        if string.len() > self.limits.string_bytes_max
            || !string.is_ascii()
            || self.columns.strings.is_empty()
        {
            range = self.odd_string(string, start)?;
        }
        self.budget.room(&mut self.columns.strings, 1)?;
        self.columns.strings.push(range);
        Ok(())
    }

    /// Looks closer at the first string and at strings that are too long or not ASCII.
    #[inline(never)]
    fn odd_string(&mut self, string: &[u8], start: usize) -> Result<StringRange, Fault> {
        let position = self.columns.strings.len();
        if position == 0 && !string.is_empty() {
            let shown: String = String::from_utf8_lossy(string).chars().take(64).collect();
            let reason = format!("must be empty and is {shown:?}");
            return Err(self.note(DecodeError::malformed("string_table[0]", reason)));
        }
        let mut kept = string;
        if string.len() > self.limits.string_bytes_max {
            self.counts.string_too_long += 1;
            kept = &string[string.len() - self.limits.string_bytes_max..];
            // not in the middle of a character
            let continuation = kept.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
            kept = &kept[continuation..];
        }
        if let Err(error) = std::str::from_utf8(kept) {
            if self.limits.strict_utf8 {
                let reason = format!("invalid UTF-8 at its byte {}", error.valid_up_to());
                return Err(self.note(DecodeError::malformed(format!("string_table[{position}]"), reason)));
            }
            self.counts.invalid_utf8 += 1;
        }
        Ok(StringRange { start: narrow(start + string.len() - kept.len()), length: narrow(kept.len()) })
    }

    /// Takes a string index: on trust, or checked with the name of its field.
    #[inline(always)]
    fn string(&mut self, index: u64, path: impl FnOnce() -> String) -> Result<StringIndex, Fault> {
        if CAREFUL {
            let count = self.ids.strings.max(1);
            if index >= count {
                let reason = format!("string index {} out of range (table has {count})", signed(index));
                return Err(self.note(DecodeError::malformed(path(), reason)));
            }
        } else {
            self.trusted.string = self.trusted.string.max(index);
        }
        Ok(StringIndex(low32(index)))
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, error: DecodeError) -> Fault {
        self.noted = Some(error);
        Fault::Noted
    }

    /// Gives a fault of the wire format its place.
    #[cold]
    #[inline(never)]
    fn note_fault(&mut self, fault: Fault, tag: u64, at: usize) -> Fault {
        if fault == Fault::Full {
            return Fault::Full;
        }
        let columns = &*self.columns;
        let field = match tag >> 3 {
            1 => format!("sample_type[{}]", columns.sample_types.len()),
            2 => format!("sample[{}]", self.counts.samples.saturating_sub(1)),
            3 => format!("mapping[{}]", columns.mappings.len()),
            4 => format!("location[{}]", columns.locations.len()),
            5 => format!("function[{}]", columns.functions.len()),
            6 => format!("string_table[{}]", columns.strings.len()),
            9 => "time_nanos".to_owned(),
            10 => "duration_nanos".to_owned(),
            11 => "period_type".to_owned(),
            _ => "profile".to_owned(),
        };
        self.note(DecodeError::malformed(field, format!("{fault} (in the field at byte {at})")))
    }
}

#[cold]
fn dangling(field: String, id: u64, table: &str) -> DecodeError {
    let reason = if id == 0 {
        format!("0 names no {table}")
    } else {
        format!("{id} names no {table} (there is none with that id)")
    };
    DecodeError::malformed(field, reason)
}
