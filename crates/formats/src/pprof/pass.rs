//! One pass over the bytes of a profile: fields into columns.
//!
//! The *quick* pass takes ids for positions (nearly every producer numbers from 1 without gaps), keeps only the largest
//! id and string index that it saw, and gives up with [`Fault::Odd`] as soon as that is not enough. The *careful* pass
//! then runs from the start with the ids looked up beforehand ([`Ids`]) and names the field of every error. Both are
//! this one piece of code, so they cannot disagree.
//!
//! Not here: reading ids beforehand (`ids`), what is decided when all tables are known (`finish`).

use profile::{Columns, StringIndex, StringRange, ValueType};

use super::{
    ids::{Ids, glued},
    wire::{Fault, Reader, low32, narrow, signed},
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
}

/// The largest of what the quick pass took on trust. Ids in stacks are checked when the stacks are whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trusted {
    /// Of ids that may be longer than what the stacks hold, and of dropped samples.
    pub(super) location_id: u64,
    pub(super) function_id: u64,
    pub(super) mapping_id: u64,
    pub(super) string: u64,
}

/// State of one pass.
pub(super) struct Pass<'a, const CAREFUL: bool> {
    pub(super) text: &'a [u8],
    pub(super) columns: &'a mut Columns,
    /// Entries of `columns.stacks` that are in use; those behind are room to write into.
    pub(super) frames: usize,
    pub(super) budget: &'a mut Budget,
    pub(super) limits: &'a Limits,
    /// Empty in the quick pass.
    pub(super) ids: &'a Ids,
    pub(super) trusted: Trusted,
    pub(super) counts: Counts,
    pub(super) times_seen: u32,
    pub(super) depth_max: usize,
    pub(super) lines_max: usize,
    pub(super) string_length_max: u32,
    pub(super) noted: Option<DecodeError>,
}

impl<'a, const CAREFUL: bool> Pass<'a, CAREFUL> {
    /// Reads all fields of the profile.
    ///
    /// # Errors
    /// `Odd` (quick pass only), `Full`, or `Noted` with the error in `noted`.
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        let end = self.text.len();
        let mut reader = Reader::new(self.text, 0);
        work::count(end);
        self.columns.strings.clear();
        while reader.at() < end {
            let before = reader.at();
            match self.field(&mut reader, end) {
                Ok(()) => {}
                Err(fault @ (Fault::Odd | Fault::Noted | Fault::Full)) => return Err(fault),
                Err(fault) => return Err(self.note_fault(fault, before)),
            }
        }
        self.columns.stacks.truncate(self.frames);
        if self.columns.strings.is_empty() {
            self.columns.strings.push(StringRange::default());
        }
        Ok(())
    }

    #[inline(always)]
    fn field(&mut self, reader: &mut Reader<'a>, end: usize) -> Result<(), Fault> {
        if reader.is_next(0x12, end) {
            self.sample(reader)
        } else if reader.is_next(0x32, end) {
            self.string_entry(reader)
        } else if reader.is_next(0x22, end) {
            self.location(reader)
        } else if reader.is_next(0x2a, end) {
            self.function(reader)
        } else {
            reader.skip_to(self.rare_field(reader.at())?);
            Ok(())
        }
    }

    #[inline(never)]
    fn rare_field(&mut self, at: usize) -> Result<usize, Fault> {
        let reader = &mut Reader::new(self.text, at);
        let tag = reader.varint()?;
        match tag {
            // of these four only tags in more bytes than they need come here
            0x12 => self.sample(reader)?,
            0x22 => self.location(reader)?,
            0x2a => self.function(reader)?,
            0x32 => self.string_entry(reader)?,
            0x0a => {
                let position = self.columns.sample_types.len();
                let value_type = self.value_type(reader, || format!("sample_type[{position}]"))?;
                self.budget.room(&mut self.columns.sample_types, 1)?;
                self.columns.sample_types.push(value_type);
            }
            0x1a => self.mapping(reader)?,
            0x38 => self.columns.header.drop_frames = self.named_string(reader, "drop_frames")?,
            0x40 => self.columns.header.keep_frames = self.named_string(reader, "keep_frames")?,
            0x48 => {
                self.columns.header.time_nanos = signed(reader.varint()?);
                self.times_seen += 1;
                if self.times_seen == 2 {
                    return Err(self.note(glued(at)));
                }
            }
            0x50 => self.columns.header.duration_nanos = signed(reader.varint()?),
            0x5a => {
                let value_type = self.value_type(reader, || "period_type".to_owned())?;
                self.columns.header.period_type = Some(value_type);
            }
            0x60 => self.columns.header.period = signed(reader.varint()?),
            0x68 => self.comment(reader)?,
            0x6a => {
                let end = reader.delimited()?;
                while reader.at() < end {
                    self.comment(reader)?;
                }
                reader.done(end)?;
            }
            0x70 => {
                self.columns.header.default_sample_type = self.named_string(reader, "default_sample_type")?
            }
            0x78 => self.columns.header.doc_url = self.named_string(reader, "doc_url")?,
            _ => reader.skip(tag, 15)?,
        }
        Ok(reader.at())
    }

    fn named_string(&mut self, reader: &mut Reader<'a>, field: &str) -> Result<StringIndex, Fault> {
        let index = reader.varint()?;
        self.string(index, || field.to_owned())
    }

    fn comment(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let index = reader.varint()?;
        let position = self.columns.header.comments.len();
        let comment = self.string(index, || format!("comment[{position}]"))?;
        self.budget.room(&mut self.columns.header.comments, 1)?;
        self.columns.header.comments.push(comment);
        Ok(())
    }

    fn value_type(&mut self, reader: &mut Reader<'a>, path: impl Fn() -> String) -> Result<ValueType, Fault> {
        let end = reader.delimited()?;
        let mut value_type = ValueType::default();
        while reader.at() < end {
            match reader.varint()? {
                0x08 => {
                    let index = reader.varint()?;
                    value_type.kind = self.string(index, || format!("{}.type", path()))?;
                }
                0x10 => {
                    let index = reader.varint()?;
                    value_type.unit = self.string(index, || format!("{}.unit", path()))?;
                }
                tag => reader.skip(tag, 2)?,
            }
        }
        reader.done(end)?;
        Ok(value_type)
    }

    #[inline(always)]
    fn string_entry(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let end = reader.delimited()?;
        let range = StringRange { start: narrow(reader.at()), length: narrow(end - reader.at()) };
        self.string_length_max = self.string_length_max.max(range.length);
        self.budget.room(&mut self.columns.strings, 1)?;
        self.columns.strings.push(range);
        reader.skip_to(end);
        Ok(())
    }

    /// Takes a string index: on trust, or checked with the name of its field.
    #[inline(always)]
    pub(super) fn string(&mut self, index: u64, path: impl FnOnce() -> String) -> Result<StringIndex, Fault> {
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
    pub(super) fn note(&mut self, error: DecodeError) -> Fault {
        self.noted = Some(error);
        Fault::Noted
    }

    /// Gives a fault of the wire format its place: the field that `before` starts with.
    #[cold]
    #[inline(never)]
    fn note_fault(&mut self, fault: Fault, at: usize) -> Fault {
        let columns = &*self.columns;
        let tag = Reader::new(self.text, at).varint().unwrap_or(0);
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

/// A reference to an entry that is not there.
#[cold]
pub(super) fn dangling(field: String, id: u64, table: &str) -> DecodeError {
    let reason = if id == 0 {
        format!("0 names no {table}")
    } else {
        format!("{id} names no {table} (there is none with that id)")
    };
    DecodeError::malformed(field, reason)
}
