//! From stacks to nodes of the location-level tree.
//!
//! A stack is hashed from root to leaf; when its hash is known (most are), its node is known and nothing else is read. On
//! a miss the longest known beginning is searched for from the leaf's side, since a new stack mostly differs near the leaf.

use block::NONE;
use profile::{LocationIndex, Profile};

use super::{
    intern::{InternBuffer, Interner},
    tables::Tables,
};
use crate::hash::{PathHash, PathKeys};

/// Stacks whose nodes are made together: enough for cache misses to overlap, few enough to stay in the cache.
const HANDFUL: usize = 16;
/// Ancestors of a new stack's leaf whose places are brought into the cache: most new stacks part from known ones here.
const TOUCHED_NEAR_LEAF: usize = 4;

/// Hashes of the beginnings of one stack, longest first: entry `n` is that of the stack without the `n` frames at its
/// leaf.
#[derive(Default)]
pub(super) struct Path {
    hashes: Vec<PathHash>,
}

impl Path {
    /// Begins with the whole stack.
    #[inline]
    fn start(&mut self, whole: PathHash) {
        self.hashes.clear();
        self.hashes.push(whole);
    }

    /// Goes on to the stack without `left_out` frames, at most all.
    #[inline]
    fn reach(&mut self, left_out: usize, keys: &PathKeys, stack: &[LocationIndex], frames: &[u64]) {
        for gone in self.hashes.len() - 1..left_out.min(stack.len()) {
            let depth = stack.len() - 1 - gone;
            let hash = keys.without(self.hashes[gone], frames[stack[gone].position()], depth);
            self.hashes.push(hash);
        }
    }
}

impl Interner {
    /// Hashes of all stacks, their places in the table brought into the cache.
    pub(super) fn stack_hashes(&mut self, profile: &Profile<'_>, frames: &[u64], hashes: &mut Vec<PathHash>) {
        let columns = profile.columns;
        hashes.clear();
        hashes.reserve(columns.sample_count());
        let mut start = 0usize;
        for &end in &columns.stack_ends {
            let stack = &columns.stacks[start..end as usize];
            start = end as usize;
            self.paths.reach(stack.len());
            let hash = self.paths.path(stack.iter().rev().map(|location| frames[location.position()]));
            hashes.push(hash);
        }
        self.nodes.touch(hashes.iter());
    }

    /// Finds or makes the nodes of stacks that were not known when the profile was begun. They are taken in handfuls: first
    /// a look at the places where the search will go, so that cache misses do not add up.
    pub(super) fn new_stacks(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let columns = profile.columns;
        let stack_of = |sample: u32| {
            let sample = sample as usize;
            let start = if sample == 0 { 0 } else { columns.stack_ends[sample - 1] as usize };
            &columns.stacks[start..columns.stack_ends[sample] as usize]
        };
        let InternBuffer { unknown, hashes, path, frames, locations, nodes, near_leaf, .. } = buffer;
        for handful in unknown.chunks(HANDFUL) {
            near_leaf.clear();
            for &sample in handful {
                path.start(hashes[sample as usize]);
                path.reach(TOUCHED_NEAR_LEAF, &self.paths, stack_of(sample), frames);
                near_leaf.extend_from_slice(&path.hashes[1..]);
            }
            self.nodes.touch(near_leaf.iter());
            for &sample in handful {
                // An earlier one of this profile may have brought it.
                let hash = hashes[sample as usize];
                nodes[sample as usize] = match self.nodes.get(hash) {
                    Some(node) => node,
                    None => {
                        path.start(hash);
                        self.new_stack(tables, stack_of(sample), path, frames, locations)
                    }
                };
            }
        }
    }

    /// Adds the nodes that a stack needs and that are not there.
    fn new_stack(
        &mut self,
        tables: &Tables,
        stack: &[LocationIndex],
        path: &mut Path,
        frames: &[u64],
        locations: &[u32],
    ) -> u32 {
        let (mut missing, mut node) = self.longest_known(stack, path, frames);
        while missing > 0 {
            missing -= 1;
            node = tables.nodes.push([node, locations[stack[missing].position()]]);
            self.nodes.insert(path.hashes[missing], node);
        }
        node
    }

    /// How many frames at the leaf are not known below the longest beginning that is, and the node there. The whole path
    /// is known not to be. A new stack mostly parts from known ones near the leaf, so the search begins there.
    fn longest_known(&self, stack: &[LocationIndex], path: &mut Path, frames: &[u64]) -> (usize, u32) {
        // Without `unknown` frames the rest is not known; without `known` it is (a node's ancestors are).
        let (mut unknown, mut known, mut node) = (0, stack.len(), NONE);
        let mut step = 1;
        while known > unknown + 1 {
            let probe = (unknown + step).min(known - 1);
            path.reach(probe, &self.paths, stack, frames);
            match self.nodes.get(path.hashes[probe]) {
                Some(found) => {
                    (known, node) = (probe, found);
                    step = (known - unknown) / 2;
                }
                None => {
                    unknown = probe;
                    step = if known == stack.len() { 2 * step } else { (known - unknown) / 2 };
                }
            }
            step = step.max(1);
        }
        (known, node)
    }
}
