//! Ids of the wire format, looked up beforehand for the careful pass: they are only keys, may be sparse and up to 64
//! bits (C005), and are unique and not 0 within their table.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use profile::StringIndex;

use super::wire::{Fault, delimited, skip, varint};
use crate::{DecodeError, budget::Budget, work};

/// Key of the label that marks samples of a difference (C009).
const DIFFERENCE_KEY: &[u8] = b"pprof::base";

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

    fn add(&mut self, id: u64, table: &str, budget: &mut Budget) -> Result<(), IdError> {
        let position = self.count;
        self.count += 1;
        if id == 0 {
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
    pub(super) functions: IdMap,
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
        let mut rest = text;
        work::count(text.len());
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            ids.field(&mut rest, &mut samples, budget).map_err(|error| match error {
                FieldError::Id(error) => error,
                FieldError::Wire(fault) => IdError::Wrong(DecodeError::malformed(
                    "profile",
                    format!("{fault} (in the field at byte {at})"),
                )),
            })?;
        }
        if samples > 0 && ids.sample_types == 0 {
            let reason = format!("none, but there are {samples} samples");
            return Err(DecodeError::malformed("sample_type", reason).into());
        }
        Ok(ids)
    }

    fn field(&mut self, rest: &mut &[u8], samples: &mut u64, budget: &mut Budget) -> Result<(), FieldError> {
        match varint(rest)? {
            0x0a => {
                delimited(rest)?;
                self.sample_types += 1;
            }
            0x12 => {
                delimited(rest)?;
                *samples += 1;
            }
            0x1a => self.mappings.add(id_of(delimited(rest)?)?, "mapping", budget)?,
            0x22 => self.locations.add(id_of(delimited(rest)?)?, "location", budget)?,
            0x2a => self.functions.add(id_of(delimited(rest)?)?, "function", budget)?,
            0x32 => {
                if delimited(rest)? == DIFFERENCE_KEY {
                    self.difference_key = u32::try_from(self.strings).ok().map(StringIndex);
                }
                self.strings += 1;
            }
            0x6a => {
                delimited(rest)?;
            }
            0x5a => {
                delimited(rest)?;
            }
            0x38 | 0x40 | 0x48 | 0x50 | 0x60 | 0x68 | 0x70 | 0x78 => {
                varint(rest)?;
            }
            tag => skip(tag, 15, rest)?,
        }
        Ok(())
    }
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
fn id_of(mut message: &[u8]) -> Result<u64, Fault> {
    let mut id = 0;
    while !message.is_empty() {
        match varint(&mut message)? {
            0x08 => id = varint(&mut message)?,
            tag => match tag & 7 {
                0 => {
                    varint(&mut message)?;
                }
                2 => {
                    delimited(&mut message)?;
                }
                // fixed-size and unknown types are judged by the pass that knows the message
                _ => skip(tag | 1 << 20, 0, &mut message)?,
            },
        }
    }
    Ok(id)
}
