//! The frames that all profiles of a file share: where they stand, and which of them the profile under way has met.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use profile::{LocationIndex, StringIndex};

use super::{
    json::{Json, Text, unescaped},
    narrow, number,
};
use crate::{
    DecodeError,
    budget::Budget,
    limits::{SPELLED_BYTES_MIN, SPELLED_BYTES_PER_BYTE_MAX},
    stacks::{ENTRY_BYTES, Stacks, Stop},
    work,
};

/// Where frames stand; met ones by their index.
#[derive(Debug, Default)]
pub(super) struct Frames {
    starts: Vec<u32>,
    met: HashTable<(u32, LocationIndex)>,
    hasher: FixedState,
    /// Bytes of frames that were read, in all profiles together.
    read_bytes: usize,
}

impl Frames {
    /// Notes where each frame of a list begins.
    pub(super) fn scan(&mut self, json: &mut Json<'_>, budget: &mut Budget) -> Result<(), DecodeError> {
        self.starts.clear();
        json.expect(b'[')?;
        let mut is_first = true;
        while json.has_next(&mut is_first, b']')? {
            let _ = json.peek();
            budget.room(&mut self.starts, 1).map_err(|_| budget.error())?;
            self.starts.push(narrow(json.position));
            json.skip()?;
        }
        Ok(())
    }

    /// Forgets what the last profile has met.
    pub(super) fn forget(&mut self) {
        self.met = HashTable::new();
    }

    /// The frame whose index stands next in a text. `place` says where that is, for errors.
    pub(super) fn read(
        &mut self,
        stacks: &mut Stacks<'_>,
        json: &mut Json<'_>,
        place: impl Fn() -> String,
    ) -> Result<(u32, LocationIndex), Stop> {
        let digits = json.number()?;
        let said = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok());
        let start = said.and_then(|index| Some((index, *self.starts.get(index as usize)?)));
        let Some((index, start)) = start else {
            let said: String = String::from_utf8_lossy(digits).chars().take(32).collect();
            let reason = format!("{said} is no frame; there are {}", self.starts.len());
            return Err(DecodeError::malformed(place(), reason).into());
        };
        let hash = self.hasher.hash_one(index);
        if let Some(&(_, location)) = self.met.find(hash, |(known, _)| *known == index) {
            return Ok((index, location));
        }
        let (location, bytes) = location(stacks, json.text, index, start)?;
        self.read_bytes = self.read_bytes.saturating_add(bytes);
        let limit =
            json.text.len().saturating_mul(SPELLED_BYTES_PER_BYTE_MAX).saturating_add(SPELLED_BYTES_MIN);
        if self.read_bytes > limit {
            let reason = format!(
                "the frames that its profiles name are more than {limit} bytes together (limit for a file of this size)"
            );
            return Err(DecodeError::too_large("shared.frames", reason).into());
        }
        stacks.budget.take(ENTRY_BYTES)?;
        let hasher = &self.hasher;
        self.met.insert_unique(hash, (index, location), |(known, _)| hasher.hash_one(known));
        Ok((index, location))
    }
}

/// The location of the frame that stands at `start`, and of how many bytes it is.
fn location(
    stacks: &mut Stacks<'_>,
    text: &[u8],
    index: u32,
    start: u32,
) -> Result<(LocationIndex, usize), Stop> {
    let mut json = Json::at(text, start as usize);
    let (mut name, mut file, mut line) = (None, None, None);
    json.object(|json, field| {
        match (field, json.peek()) {
            (b"name", _) => name = Some(json.string()?),
            (b"file", Some(b'"')) => file = Some(json.string()?),
            (b"line", Some(b'0'..=b'9')) => line = Some(json.number()?),
            // `null` where a writer has nothing to say
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let bytes = json.position - start as usize;
    work::count(bytes);
    let field = |name: &str| format!("shared.frames[{index}].{name}");
    let Some(name) = name else {
        return Err(DecodeError::malformed(field("name"), "the field is missing").into());
    };
    let line = match line {
        Some(text) => number(text, 0, || field("line"))?.rounded().unwrap_or_default(),
        None => 0,
    };
    let name = string(stacks, text, &name)?;
    let file = file.map_or(Ok(StringIndex::EMPTY), |file| string(stacks, text, &file))?;
    let function = stacks.function(name, file)?;
    Ok((stacks.location(function, line)?, bytes))
}

fn string(stacks: &mut Stacks<'_>, text: &[u8], string: &Text) -> Result<StringIndex, Stop> {
    let raw = &text[string.range.clone()];
    if string.is_escaped {
        return stacks.added_string(&unescaped(raw));
    }
    stacks.text_string(raw, string.range.start)
}
