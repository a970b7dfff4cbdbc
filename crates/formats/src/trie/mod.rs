//! Pyroscope's trie: folded stacks whose common beginnings are written once (`format=trie`).
//!
//! The same records as a tree's, but a name only adds to the key of the node above; the whole key of a node is its stack,
//! frames from the root separated by `;`. What is accepted and what is refused is in `../tree/LENIENCY.md`.
//!
//! A trie may spell out far more than its bytes: each node may end a long name that was begun above it. What is spelled
//! is therefore counted and bounded, beside the tables that come of it.
//!
//! Not here: what the numbers mean (the caller names type and unit), compression (`inflate`).

use profile::{Altered, LocationIndex};

use crate::{
    DecodeError, Measure,
    limits::{SPELLED_BYTES_MIN, SPELLED_BYTES_PER_BYTE_MAX},
    stacks::{Stacks, Stop, Target, build, narrow},
    tree::TreeReader,
};

/// A node whose children are still to come, and the state of the key above it.
struct Open {
    /// Children to come.
    left: u32,
    key_above: u32,
    tail_above: u32,
    frames_above: u32,
}

/// Decodes a trie: every node with a value is a sample. No string is a range of `bytes`, so the target has no text.
pub(crate) fn decode(bytes: &[u8], target: Target<'_>, measure: Measure<'_>) -> Result<Altered, DecodeError> {
    let spelled_max =
        bytes.len().saturating_mul(SPELLED_BYTES_PER_BYTE_MAX).saturating_add(SPELLED_BYTES_MIN);
    build(target, measure, |stacks| {
        Key { bytes: Vec::new(), tail: 0, path: Vec::new(), spelled: 0, spelled_max }.nodes(stacks, bytes)
    })
}

/// The key of the node under way.
struct Key {
    bytes: Vec<u8>,
    /// Where its last frame begins, which a child may go on with.
    tail: usize,
    /// The frames before that.
    path: Vec<LocationIndex>,
    /// Bytes of all names so far, as often as they had to be looked at.
    spelled: usize,
    spelled_max: usize,
}

impl Key {
    fn nodes(&mut self, stacks: &mut Stacks<'_>, bytes: &[u8]) -> Result<(), Stop> {
        let mut open: Vec<Open> = Vec::new();
        let mut reader = TreeReader::new(bytes);
        while let Some(record) = reader.next() {
            let record = record?;
            let (key_above, tail_above, frames_above) = (self.bytes.len(), self.tail, self.path.len());
            self.add(stacks, record.name)?;
            if record.self_value > 0
                && let Some(value) = stacks.counted(reader.value_of(&record)?)?
            {
                self.sample(stacks, value)?;
            }
            stacks.budget.room(&mut open, 1)?;
            open.push(Open {
                // the reader has checked that so many can follow
                left: u32::try_from(record.children).unwrap_or(u32::MAX),
                key_above: narrow(key_above),
                tail_above: narrow(tail_above),
                frames_above: narrow(frames_above),
            });
            // what has all its children goes, and so does what had it as its last
            while let Some(done) = open.pop_if(|node| node.left == 0) {
                self.bytes.truncate(done.key_above as usize);
                self.path.truncate(done.frames_above as usize);
                self.tail = done.tail_above as usize;
                if let Some(parent) = open.last_mut() {
                    parent.left -= 1;
                }
            }
        }
        Ok(())
    }

    /// Adds to the key; frames that end in it go to the path.
    fn add(&mut self, stacks: &mut Stacks<'_>, name: &[u8]) -> Result<(), Stop> {
        let start = self.bytes.len();
        stacks.budget.room(&mut self.bytes, name.len())?;
        self.bytes.extend_from_slice(name);
        for end in memchr::memchr_iter(b';', name) {
            self.end_frame(stacks, start + end)?;
            self.tail = start + end + 1;
        }
        Ok(())
    }

    /// The frame from the tail to `end` belongs to the path.
    fn end_frame(&mut self, stacks: &mut Stacks<'_>, end: usize) -> Result<(), Stop> {
        let frame = &self.bytes[self.tail..end];
        if frame.is_empty() {
            return Ok(());
        }
        self.spelled = self.spelled.saturating_add(frame.len());
        if self.spelled > self.spelled_max {
            let reason = format!(
                "its names spelled out are more than {} bytes (limit for a body of this size)",
                self.spelled_max
            );
            return Err(DecodeError::too_large("trie", reason).into());
        }
        let location = stacks.added_frame(frame)?;
        stacks.budget.room(&mut self.path, 1)?;
        self.path.push(location);
        Ok(())
    }

    fn sample(&mut self, stacks: &mut Stacks<'_>, value: i64) -> Result<(), Stop> {
        let before = self.path.len();
        self.end_frame(stacks, self.bytes.len())?;
        let result = stacks.sample_of_path(&self.path, value);
        self.path.truncate(before);
        result
    }
}
