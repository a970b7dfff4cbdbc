//! Samples: stack, values and labels, and which samples are kept.

use profile::{LabelValue, LocationIndex, SampleLabel, StringIndex};

use super::{
    packed::{EXCESS, large, push_packed_values, read_packed_ids},
    pass::{Pass, dangling},
    wire::{Fault, Reader, low32, narrow, signed},
};

impl<'a, const CAREFUL: bool> Pass<'a, CAREFUL> {
    #[inline(always)]
    pub(super) fn sample(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let end = reader.delimited()?;
        let stack_start = self.frames;
        let values_start = self.columns.values.len();
        let labels_start = self.columns.labels.len();
        self.counts.samples += 1;
        // Go writes two values one by one and before the stack, most others both packed and the stack first.
        while reader.is_next(0x10, end) {
            self.value(reader)?;
        }
        if reader.is_next(0x0a, end) {
            self.stack(reader, stack_start)?;
        }
        if reader.is_next(0x12, end) {
            self.values(reader)?;
        }
        while reader.is_next(0x1a, end) {
            self.label(reader, labels_start)?;
        }
        if reader.at() < end {
            let at = self.rest_of_sample(reader.at(), end, stack_start, labels_start)?;
            reader.skip_to(at);
        }
        reader.done(end)?;
        self.end_sample(stack_start, values_start, labels_start)
    }

    /// Fields of a sample in any order and form.
    #[inline(never)]
    fn rest_of_sample(
        &mut self,
        at: usize,
        end: usize,
        stack_start: usize,
        labels_start: usize,
    ) -> Result<usize, Fault> {
        let mut reader = Reader::new(self.text, at);
        while reader.at() < end {
            match reader.varint()? {
                0x0a => self.stack(&mut reader, stack_start)?,
                0x12 => self.values(&mut reader)?,
                0x1a => self.label(&mut reader, labels_start)?,
                0x08 => {
                    let id = reader.varint()?;
                    self.stack_room(1)?;
                    self.one_id(id, stack_start)?;
                }
                0x10 => self.value(&mut reader)?,
                tag => reader.skip(tag, 3)?,
            }
        }
        Ok(reader.at())
    }

    #[inline(always)]
    fn stack(&mut self, reader: &mut Reader<'a>, stack_start: usize) -> Result<(), Fault> {
        let end = reader.delimited()?;
        self.stack_room(end - reader.at() + EXCESS)?;
        if CAREFUL {
            self.careful_ids(reader, end, stack_start)?;
        } else {
            let room = self.columns.stacks.get_mut(self.frames..).unwrap_or_default();
            let (count, long_max) = read_packed_ids(reader, end, room)?;
            self.frames += count;
            self.trusted.location_id = self.trusted.location_id.max(long_max);
        }
        reader.done(end)
    }

    /// Makes room for so many further entries of stacks.
    #[inline(always)]
    fn stack_room(&mut self, extra: usize) -> Result<(), Fault> {
        if self.columns.stacks.len() - self.frames >= extra { Ok(()) } else { self.more_stack_room(extra) }
    }

    #[inline(never)]
    fn more_stack_room(&mut self, extra: usize) -> Result<(), Fault> {
        /// Entries that are made at once: their memory is still in the cache when they are written.
        const ENTRIES: usize = 1024;
        let stacks = &mut self.columns.stacks;
        let wanted = extra.max(ENTRIES);
        self.budget.room(stacks, wanted)?;
        stacks.resize(stacks.len() + wanted, LocationIndex(0));
        Ok(())
    }

    #[inline(always)]
    fn value(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let value = reader.varint()?;
        self.budget.room(&mut self.columns.values, 1)?;
        self.columns.values.push(signed(value));
        Ok(())
    }

    #[inline(always)]
    fn values(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let end = reader.delimited()?;
        self.budget.room(&mut self.columns.values, end - reader.at() + EXCESS)?;
        push_packed_values(reader, end, &mut self.columns.values)?;
        reader.done(end)
    }

    #[cold]
    #[inline(never)]
    fn careful_ids(&mut self, reader: &mut Reader<'a>, end: usize, stack_start: usize) -> Result<(), Fault> {
        while reader.at() < end {
            let id = reader.varint()?;
            self.one_id(id, stack_start)?;
        }
        Ok(())
    }

    fn one_id(&mut self, id: u64, stack_start: usize) -> Result<(), Fault> {
        let location = if CAREFUL {
            match self.ids.locations.position(id) {
                Some(position) => LocationIndex(position),
                None => {
                    let entry = self.frames - stack_start;
                    let field = format!("sample[{}].location_id[{entry}]", self.counts.samples - 1);
                    return Err(self.note(dangling(field, id, "location")));
                }
            }
        } else {
            let position = id.wrapping_sub(1);
            self.trusted.location_id = self.trusted.location_id.max(large(id));
            LocationIndex(low32(position))
        };
        self.columns.stacks[self.frames] = location;
        self.frames += 1;
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
        let depth = self.frames - stack_start;
        // a sum of bits is positive when some value is not zero and none is negative
        if bits <= 0 || values.len() != width || depth == 0 {
            let keep = self.judge_odd_sample(bits, values_start, labels_start, depth == 0)?;
            if !keep {
                self.trust_dropped(stack_start);
                self.frames = stack_start;
                self.columns.values.truncate(values_start);
                self.columns.labels.truncate(labels_start);
                return Ok(());
            }
        }
        let columns = &mut *self.columns;
        self.depth_max = self.depth_max.max(depth);
        self.budget.room(&mut columns.stack_ends, 1)?;
        columns.stack_ends.push(narrow(self.frames));
        if !columns.labels.is_empty() || !columns.label_ends.is_empty() {
            self.budget.room(&mut columns.label_ends, 1)?;
            columns.label_ends.push(narrow(columns.labels.len()));
        }
        Ok(())
    }

    /// Ids of a dropped sample must point somewhere as well.
    #[cold]
    #[inline(never)]
    fn trust_dropped(&mut self, stack_start: usize) {
        if CAREFUL {
            return;
        }
        let largest = self.columns.stacks[stack_start..self.frames]
            .iter()
            .map(|location| u64::from(location.0) + 1)
            .max();
        self.trusted.location_id = self.trusted.location_id.max(largest.unwrap_or(0));
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

    #[inline(always)]
    fn label(&mut self, reader: &mut Reader<'a>, labels_start: usize) -> Result<(), Fault> {
        let end = reader.delimited()?;
        let mut key = reader.varint_if(0x08, end)?;
        let mut text = reader.varint_if(0x10, end)?;
        let mut number = reader.varint_if(0x18, end)?;
        let mut unit = reader.varint_if(0x20, end)?;
        while reader.at() < end {
            match reader.varint()? {
                0x08 => key = reader.varint()?,
                0x10 => text = reader.varint()?,
                0x18 => number = reader.varint()?,
                0x20 => unit = reader.varint()?,
                tag => reader.skip(tag, 4)?,
            }
        }
        reader.done(end)?;
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
            if number == 0 {
                return Ok(());
            }
        }
        self.columns
            .labels
            .push(SampleLabel { key, value: LabelValue::Number { value: signed(number), unit } });
        Ok(())
    }
}
