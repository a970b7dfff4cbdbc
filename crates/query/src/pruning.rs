//! A profile's own `drop_frames` and `keep_frames`, applied as pprof does when it loads a profile.
//!
//! From the root on, the first location with a dropped function cuts the stack: the function and everything that it calls
//! go, and its value counts for its caller. Nothing is cut before the first location that is wholly kept, so that a
//! profile never loses everything. Where only inlined functions of a location match, the location keeps its outer ones.

use block::Symbols;
use names::FramePruner;

use crate::NameMode;

/// Which expressions; key of caches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PruningKey {
    /// `drop_frames`, not empty.
    pub drop: String,
    /// `keep_frames`, may be empty.
    pub keep: String,
}

/// Compiled expressions with an answer per frame.
#[derive(Clone, Debug)]
pub(crate) struct Pruning {
    pruner: FramePruner,
    /// Per frame: 0 = not asked yet, 1 = keep, 2 = drop.
    answers: Vec<u8>,
}

/// A location that is wholly kept was seen.
const FOUND_USER: u8 = 1;
/// The stack was cut.
const CUT: u8 = 2;

impl Pruning {
    /// Compiles a key.
    ///
    /// # Errors
    /// A sentence when an expression cannot be used; the view then shows all frames.
    pub fn new(key: &PruningKey) -> Result<Self, String> {
        let pruner = FramePruner::new(&key.drop, &key.keep)
            .map_err(|error| format!("frames are not dropped: {error}"))?;
        Ok(Self { pruner, answers: Vec::new() })
    }

    /// Looks at a location whose frames are given innermost first, below a caller in `state`. Returns how many frames at
    /// the end of `frames` are shown and the state for its callees.
    pub fn location(&mut self, symbols: &dyn Symbols, frames: &[u32], state: u8) -> (usize, u8) {
        if state & CUT != 0 {
            return (0, state);
        }
        let matched = frames.iter().rposition(|&frame| self.drops(symbols, frame));
        let Some(matched) = matched else { return (frames.len(), state | FOUND_USER) };
        let outer = frames.len() - 1 - matched;
        let state = if state & FOUND_USER != 0 { state | CUT } else { state };
        match (outer, state & CUT != 0) {
            (0, true) => (0, state),
            (0, false) => (frames.len(), state),
            (outer, _) => (outer, state),
        }
    }

    fn drops(&mut self, symbols: &dyn Symbols, frame: u32) -> bool {
        let position = frame as usize;
        if self.answers.len() <= position {
            self.answers.resize(symbols.frame_count().max(frame + 1) as usize, 0);
        }
        if self.answers[position] == 0 {
            let name = symbols.frame(frame).name;
            let dropped = self.pruner.drops(&String::from_utf8_lossy(&name));
            self.answers[position] = 1 + u8::from(dropped);
        }
        self.answers[position] == 2
    }
}

impl PruningKey {
    /// What a header's two texts ask for in a mode: pprof's own views are the raw ones.
    pub fn of(mode: NameMode, drop: String, keep: String) -> Option<Self> {
        (mode == NameMode::Raw && !drop.is_empty()).then_some(Self { drop, keep })
    }
}
