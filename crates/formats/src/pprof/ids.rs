//! Ids of the wire format, looked up beforehand for the careful pass: they are only keys, may be sparse and up to 64
//! bits (C005), and are unique and not 0 within their table. Old .NET profilers gave functions no ids at all and had
//! lines name them by those of their locations; there locations' ids stand for functions', one for one.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use profile::StringIndex;

use super::wire::{Fault, Reader};
use crate::{DecodeError, budget::Budget, work};

/// Key of the label that marks samples of a difference (C009).
const DIFFERENCE_KEY: &[u8] = b"pprof::base";

/// Tag of the profile's time.
const TIME_NANOS: u8 = 0x48;

/// Bytes that one entry of a map of ids may take, with the table's slack.
const ENTRY_BYTES: usize = 40;

/// Ids of one table.
#[derive(Debug, Default)]
pub(super) struct IdMap {
    /// Ids `1..=dense` stand at `id - 1`.
    dense: u64,
    /// The ids after the first gap.
    sparse: HashMap<u64, u32, FixedState>,
    count: u64,
}

impl IdMap {
    /// Where the entry with this id stands.
    pub(super) fn position(&self, id: u64) -> Option<u32> {
        if id.wrapping_sub(1) < self.dense {
            return u32::try_from(id - 1).ok();
        }
        self.sparse.get(&id).copied()
    }

    /// Notes the id of the next entry. Id 0 is reserved, but some producers number functions and locations from 0; there
    /// it can be told apart. For mappings it cannot: 0 means "none".
    fn add(&mut self, id: u64, table: &str, budget: &mut Budget) -> Result<(), IdError> {
        let position = self.count;
        self.count += 1;
        if id == 0 && table == "mapping" {
            return Err(DecodeError::malformed(format!("{table}[{position}].id"), "0 is no id").into());
        }
        if self.dense == position && id == position + 1 {
            self.dense += 1;
            return Ok(());
        }
        if let Some(first) = self.position(id) {
            let reason = format!("{id} is the id of {table}[{first}] already");
            return Err(DecodeError::malformed(format!("{table}[{position}].id"), reason).into());
        }
        budget.take(ENTRY_BYTES).map_err(|_| IdError::Full)?;
        self.sparse.insert(id, u32::try_from(position).map_err(|_| IdError::Full)?);
        Ok(())
    }
}

/// Why ids cannot be used.
#[derive(Debug)]
pub(super) enum IdError {
    /// Over the memory budget.
    Full,
    /// Wrong.
    Wrong(DecodeError),
}

impl From<DecodeError> for IdError {
    fn from(error: DecodeError) -> Self {
        Self::Wrong(error)
    }
}

/// What the careful pass must know before it reads the first sample.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pub(super) mappings: IdMap,
    pub(super) locations: IdMap,
    functions: IdMap,
    /// Functions without an id, as long as no function has one.
    unnumbered: u64,
    /// No function has an id, and there are as many as locations: those of locations stand for them.
    has_functions_by_location: bool,
    /// Entries of the string table.
    pub(super) strings: u64,
    /// Value columns.
    pub(super) sample_types: usize,
    /// The key of labels that mark a difference.
    pub(super) difference_key: Option<StringIndex>,
}

impl Ids {
    /// Walks the top level of a profile.
    pub(super) fn read(text: &[u8], budget: &mut Budget) -> Result<Self, IdError> {
        let mut ids = Self::default();
        let mut samples = 0_u64;
        let mut times = 0;
        let mut reader = Reader::new(text, 0);
        work::count(text.len());
        while reader.at() < text.len() {
            let at = reader.at();
            times += u32::from(reader.starts_with(TIME_NANOS));
            if times == 2 {
                return Err(glued(at).into());
            }
            match ids.field(&mut reader, &mut samples, budget) {
                Ok(()) => {}
                Err(FieldError::Id(IdError::Wrong(error))) => {
                    return Err(glued_behind(reader, text.len(), times).unwrap_or(error).into());
                }
                Err(FieldError::Id(IdError::Full)) => return Err(IdError::Full),
                Err(FieldError::Wire(fault)) => {
                    let reason = format!("{fault} (in the field at byte {at})");
                    return Err(DecodeError::malformed("profile", reason).into());
                }
            }
        }
        if ids.unnumbered > 0 && ids.unnumbered == ids.functions.count {
            ids.has_functions_by_location = ids.functions.count == ids.locations.count;
        }
        if ids.unnumbered > 1 && !ids.has_functions_by_location {
            return Err(function_twice().into());
        }
        if samples > 0 && ids.sample_types == 0 {
            let reason = format!("none, but there are {samples} samples");
            return Err(DecodeError::malformed("sample_type", reason).into());
        }
        Ok(ids)
    }

    /// Where the function with this id stands.
    pub(super) fn function(&self, id: u64) -> Option<u32> {
        match self.functions.position(id) {
            None if self.has_functions_by_location => self.locations.position(id),
            found => found,
        }
    }

    /// Notes the id of the next function. Whether several without one are wrong is known at the end.
    fn function_id(&mut self, id: u64, budget: &mut Budget) -> Result<(), IdError> {
        let all_unnumbered = self.unnumbered == self.functions.count;
        match id {
            0 if all_unnumbered && self.unnumbered > 0 => {
                self.functions.sparse.clear();
                self.functions.count += 1;
                self.unnumbered += 1;
                Ok(())
            }
            0 => {
                self.unnumbered += u64::from(all_unnumbered);
                self.functions.add(id, "function", budget)
            }
            _ if self.unnumbered > 1 => Err(function_twice().into()),
            _ => self.functions.add(id, "function", budget),
        }
    }

    fn field(
        &mut self,
        reader: &mut Reader<'_>,
        samples: &mut u64,
        budget: &mut Budget,
    ) -> Result<(), FieldError> {
        let tag = reader.varint()?;
        match tag {
            0x1a => {
                let id = id_of(reader)?;
                self.mappings.add(id, "mapping", budget)?;
            }
            0x22 => self.locations.add(id_of(reader)?, "location", budget)?,
            0x2a => {
                let id = id_of(reader)?;
                self.function_id(id, budget)?;
            }
            0x32 => {
                let end = reader.delimited()?;
                if reader.until(end) == DIFFERENCE_KEY {
                    self.difference_key = u32::try_from(self.strings).ok().map(StringIndex);
                }
                self.strings += 1;
                reader.skip_to(end);
            }
            _ => {
                self.sample_types += usize::from(tag == 0x0a);
                *samples += u64::from(tag == 0x12);
                // wire types that do not fit are judged by the pass that knows the fields
                reader.skip_value(tag, 0)?;
            }
        }
        Ok(())
    }
}

/// Several functions without an id: they cannot be told apart.
#[cold]
fn function_twice() -> DecodeError {
    DecodeError::malformed("function[1].id", "0 is the id of function[0] already")
}

/// Looks behind the first wrong id for a second time: ids that come twice are what gives two glued profiles away, and
/// that the body is two profiles says more. Nothing else is judged there, so a body full of wrong ids costs a walk over
/// its fields and one error.
#[cold]
fn glued_behind(mut reader: Reader<'_>, end: usize, mut times: u32) -> Option<DecodeError> {
    while reader.at() < end {
        let at = reader.at();
        times += u32::from(reader.starts_with(TIME_NANOS));
        if times == 2 {
            return Some(glued(at));
        }
        let tag = reader.varint().ok()?;
        reader.skip_value(tag, 0).ok()?;
    }
    None
}

/// The error for a second time in one body.
#[cold]
pub(super) fn glued(at: usize) -> DecodeError {
    let reason = format!("a second time at byte {at}: two profiles glued together; send them one by one");
    DecodeError::malformed("time_nanos", reason)
}

/// Why a field cannot be read.
enum FieldError {
    Id(IdError),
    Wire(Fault),
}

impl From<IdError> for FieldError {
    fn from(error: IdError) -> Self {
        Self::Id(error)
    }
}

impl From<Fault> for FieldError {
    fn from(fault: Fault) -> Self {
        Self::Wire(fault)
    }
}

/// Field 1 of a mapping, location or function; the last one counts.
fn id_of(reader: &mut Reader<'_>) -> Result<u64, Fault> {
    let end = reader.delimited()?;
    let mut id = 0;
    while reader.at() < end {
        match reader.varint()? {
            0x08 => id = reader.varint()?,
            tag => reader.skip_value(tag, 0)?,
        }
    }
    reader.done(end)?;
    Ok(id)
}
