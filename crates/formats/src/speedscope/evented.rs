//! Evented profiles: frames that open and close along time. The time between two events belongs to the stack that is open
//! then.
//!
//! Stacks that come again are added up here, because a profile may open and close the same one a million times.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use profile::{AlteredReason, LocationIndex};

use super::{Fixed, frames::Frames, json::Json, narrow, number};
use crate::{
    DecodeError,
    stacks::{ENTRY_BYTES, Stacks, Stop},
    work,
};

/// Where the events stand.
pub(super) struct Place<'a> {
    pub(super) text: &'a [u8],
    /// The profile, for errors.
    pub(super) path: &'a str,
    pub(super) events: usize,
    /// When what is still open ends.
    pub(super) end_value: Option<Fixed>,
    pub(super) exponent: i32,
}

/// A node of the call tree.
struct Node {
    /// Position of the node above; at the root the node itself.
    above: u32,
    location: LocationIndex,
    /// Frames up to the root.
    depth: u32,
    self_value: i64,
}

/// A frame that is open.
struct Open {
    frame: u32,
    node: u32,
}

#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    by_path: HashTable<u32>,
    hasher: FixedState,
    open: Vec<Open>,
}

/// Reads all events.
pub(super) fn read(stacks: &mut Stacks<'_>, frames: &mut Frames, place: &Place<'_>) -> Result<(), Stop> {
    let mut json = Json::at(place.text, place.events);
    json.expect(b'[')?;
    let mut is_first = true;
    let mut tree = Tree::default();
    let mut last = None;
    let mut index = 0_usize;
    while json.has_next(&mut is_first, b']')? {
        let event = event(stacks, frames, &mut json, place, index)?;
        let at = tree.pass(last, event.at).map_err(|reason| wrong(place, index, &reason))?;
        last = Some(at);
        if event.is_open {
            tree.open(stacks, event.frame, event.location)?;
        } else {
            tree.close(event.frame).map_err(|reason| wrong(place, index, &reason))?;
        }
        index += 1;
    }
    work::count(json.position - place.events);
    if !tree.open.is_empty() {
        // A program that was ended has no time to close its frames.
        stacks.altered.add(AlteredReason::NotClosed, u64::try_from(tree.open.len()).unwrap_or(u64::MAX));
        let end = place.end_value.filter(|&end| last.is_some_and(|last| end > last));
        if let Some(end) = end {
            tree.pass(last, end).map_err(|reason| wrong(place, index, &reason))?;
        }
    }
    tree.samples(stacks)
}

fn wrong(place: &Place<'_>, index: usize, reason: &str) -> DecodeError {
    DecodeError::malformed(format!("{}.events[{index}]", place.path), reason)
}

struct Event {
    is_open: bool,
    frame: u32,
    location: LocationIndex,
    at: Fixed,
}

fn event(
    stacks: &mut Stacks<'_>,
    frames: &mut Frames,
    json: &mut Json<'_>,
    place: &Place<'_>,
    index: usize,
) -> Result<Event, Stop> {
    let (mut is_open, mut frame, mut at) = (None, None, None);
    json.object(|json, field| {
        match field {
            b"type" => {
                let word = json.string()?;
                is_open = Some(match &json.text[word.range] {
                    b"O" => true,
                    b"C" => false,
                    other => {
                        let said: String = String::from_utf8_lossy(other).chars().take(32).collect();
                        let reason = format!("{said:?} is neither O (open) nor C (close)");
                        return Err(DecodeError::malformed(
                            format!("{}.events[{index}].type", place.path),
                            reason,
                        ));
                    }
                });
            }
            b"frame" => {
                let _ = json.peek();
                frame = Some(json.position);
                json.number()?;
            }
            b"at" => at = Some(json.number()?),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let (Some(is_open), Some(frame), Some(at)) = (is_open, frame, at) else {
        return Err(wrong(place, index, "needs type, frame and at").into());
    };
    let field = |name: &str| format!("{}.events[{index}].{name}", place.path);
    let mut frame = Json::at(place.text, frame);
    let (frame, location) = frames.read(stacks, &mut frame, || field("frame"))?;
    let at = number(at, place.exponent, || field("at"))?;
    Ok(Event { is_open, frame, location, at })
}

impl Tree {
    /// Gives the time since the last event to the stack that is open; gives back the new time. Times are rounded before
    /// they are subtracted, so that all of them together lose nothing.
    fn pass(&mut self, last: Option<Fixed>, at: Fixed) -> Result<Fixed, String> {
        let Some(last) = last else { return Ok(at) };
        if at < last {
            return Err("its time goes back".into());
        }
        let passed = at.rounded().zip(last.rounded()).and_then(|(at, last)| at.checked_sub(last));
        let passed = passed.ok_or("the time since the event before does not fit in 64 bits")?;
        if let Some(open) = self.open.last() {
            let node = &mut self.nodes[open.node as usize];
            let sum = node.self_value.checked_add(passed);
            node.self_value = sum.ok_or("the time of its stack does not fit in 64 bits")?;
        }
        Ok(at)
    }

    fn open(&mut self, stacks: &mut Stacks<'_>, frame: u32, location: LocationIndex) -> Result<(), Stop> {
        let above = self.open.last().map(|open| open.node);
        let depth = above.map_or(1, |above| self.nodes[above as usize].depth + 1);
        let hash = self.hasher.hash_one((above, location));
        let next = narrow(self.nodes.len());
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        let above_of = |index: u32| Some(nodes[index as usize].above).filter(|&above| above != index);
        let is_it = |&index: &u32| nodes[index as usize].location == location && above_of(index) == above;
        let node = match self.by_path.find(hash, is_it) {
            Some(&known) => known,
            None => {
                stacks.budget.take(ENTRY_BYTES)?;
                self.by_path.insert_unique(hash, next, |&index| {
                    hasher.hash_one((above_of(index), nodes[index as usize].location))
                });
                stacks.budget.room(&mut self.nodes, 1)?;
                self.nodes.push(Node { above: above.unwrap_or(next), location, depth, self_value: 0 });
                next
            }
        };
        stacks.budget.room(&mut self.open, 1)?;
        self.open.push(Open { frame, node });
        Ok(())
    }

    fn close(&mut self, frame: u32) -> Result<(), String> {
        match self.open.last() {
            Some(open) if open.frame == frame => {
                self.open.pop();
                Ok(())
            }
            Some(open) => Err(format!("closes frame {frame} while frame {} is open inside it", open.frame)),
            None => Err(format!("closes frame {frame}, which is not open")),
        }
    }

    /// A sample for each node that time was given to.
    fn samples(&self, stacks: &mut Stacks<'_>) -> Result<(), Stop> {
        for (position, node) in self.nodes.iter().enumerate() {
            if node.self_value == 0 {
                continue;
            }
            let Some(value) = stacks.counted(node.self_value)? else { continue };
            let depth = node.depth as usize;
            let kept = stacks.kept(depth);
            stacks.room_for(kept)?;
            let mut at = position;
            for _ in 0..kept {
                stacks.push_frame(self.nodes[at].location);
                at = self.nodes[at].above as usize;
            }
            stacks.end_sample(kept, depth, value)?;
        }
        Ok(())
    }
}
