//! Pyroscope's tree: what its older agents send as `format=tree`, and what its querier answers as format TREE.
//!
//! A tree is its nodes from the root on, each followed by all that is below it: `uvarint length of the name, name,
//! uvarint self value, uvarint number of children`. The root has no name. Both uses have the same layout and differ in
//! the order of siblings alone, which is kept here as it is in the bytes: agents write the first child first, the
//! querier the last one. What is accepted and what is refused is in `LENIENCY.md`.
//!
//! Not here: what the numbers mean (the caller names type and unit), compression (`inflate`).

mod records;

use profile::{Altered, LocationIndex};

pub use self::records::{TreeReader, TreeRecord, write_tree};
use crate::{
    DecodeError, Measure,
    stacks::{Stacks, Stop, Target, build, narrow},
};

/// A node whose children are still to come.
struct Open {
    /// Children to come.
    left: u32,
    /// Frames of the path above the node's own.
    frames_above: u32,
}

/// Decodes a tree: every node with a self value is a sample.
pub(crate) fn decode(target: Target<'_>, measure: Measure<'_>) -> Result<Altered, DecodeError> {
    let text = target.text;
    build(target, measure, |stacks| nodes(stacks, text))
}

fn nodes(stacks: &mut Stacks<'_>, text: &[u8]) -> Result<(), Stop> {
    let mut open: Vec<Open> = Vec::new();
    let mut frames = 0_usize;
    walk(stacks, text, &mut open, |stacks, _, record, depth| {
        if record.self_value > 0 {
            frames = frames.saturating_add(stacks.kept(depth) + 1);
        }
        Ok(())
    })?;
    // Stacks take many times the room of everything else; a table that grew step by step would need the room twice.
    stacks.room_for(frames)?;
    let mut path: Vec<LocationIndex> = Vec::new();
    walk(stacks, text, &mut open, |stacks, reader, record, depth| {
        if !record.name.is_empty() {
            path.truncate(depth - 1);
            let location = stacks.frame(record.name, reader.name_start())?;
            stacks.budget.room(&mut path, 1)?;
            path.push(location);
        }
        if record.self_value == 0 {
            return Ok(());
        }
        match stacks.counted(reader.value_of(record)?)? {
            Some(value) => stacks.sample_of_path(&path[..depth], value),
            None => Ok(()),
        }
    })
}

/// Visits all nodes with their depth: how many frames lead to them, their own included.
fn walk<'a>(
    stacks: &mut Stacks<'_>,
    text: &'a [u8],
    open: &mut Vec<Open>,
    mut visit: impl FnMut(&mut Stacks<'_>, &TreeReader<'a>, &TreeRecord<'a>, usize) -> Result<(), Stop>,
) -> Result<(), Stop> {
    open.clear();
    let mut frames_above = 0_usize;
    let mut reader = TreeReader::new(text);
    while let Some(record) = reader.next() {
        let record = record?;
        let depth = frames_above + usize::from(!record.name.is_empty());
        visit(stacks, &reader, &record, depth)?;
        stacks.budget.room(open, 1)?;
        // the reader has checked that so many can follow
        let left = u32::try_from(record.children).unwrap_or(u32::MAX);
        open.push(Open { left, frames_above: narrow(frames_above) });
        frames_above = depth;
        // what has all its children goes, and so does what had it as its last
        while let Some(done) = open.pop_if(|node| node.left == 0) {
            frames_above = done.frames_above as usize;
            if let Some(parent) = open.last_mut() {
                parent.left -= 1;
            }
        }
    }
    Ok(())
}
