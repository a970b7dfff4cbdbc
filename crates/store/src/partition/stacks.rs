//! From stacks to nodes of the location-level tree.
//!
//! A stack is hashed from root to leaf; when its hash is known (most are), its node is known and nothing else is read. On
//! a miss the longest known beginning is searched for from the leaf's side, since a new stack mostly differs near the leaf.

use block::{NONE, prefetch};
use profile::{Columns, LocationIndex, Profile};

use super::{
    intern::{InternBuffer, Interner, index},
    tables::Tables,
};
use crate::hash::{PathHash, PathKeys};

/// Stacks that are worked on together: enough for cache misses to overlap, few enough for what they bring to stay in the
/// first cache; each has several places.
const HANDFUL: usize = 16;
/// New stacks are looked up without so many frames at the leaf first: most part from known ones here.
const NEAR_LEAF: usize = 4;
/// Then without so many, all of a round at once: cache misses of one round do not add up.
const ROUNDS: [usize; 3] = [NEAR_LEAF, 2 * NEAR_LEAF, 4 * NEAR_LEAF];

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
            let hash = keys.without_leaf(self.hashes[gone], &stack[gone..], frames);
            self.hashes.push(hash);
        }
    }
}

/// The stack of a sample, leaf first.
#[inline]
fn stack_of(columns: &Columns, sample: u32) -> &[LocationIndex] {
    let sample = sample as usize;
    let start = if sample == 0 { 0 } else { columns.stack_ends[sample - 1] as usize };
    &columns.stacks[start..columns.stack_ends[sample] as usize]
}

/// Asks for a stack to be brought into the cache.
#[inline]
fn prefetch_stack(stack: &[LocationIndex]) {
    /// Locations that share a cache line.
    const LINE: usize = 64 / size_of::<LocationIndex>();
    stack.iter().step_by(LINE).for_each(prefetch);
}

/// Fills in the samples by the depth of their stacks; very deep ones come last in any order.
fn order_by_depth(stack_ends: &[u32], order: &mut Vec<u32>) {
    /// Depths that are told apart.
    const DEPTHS: usize = 256;
    let depths = || {
        let starts = std::iter::once(&0).chain(stack_ends);
        stack_ends.iter().zip(starts).map(|(end, start)| ((end - start) as usize).min(DEPTHS - 1))
    };
    let mut places = [0u32; DEPTHS];
    depths().for_each(|depth| places[depth] += 1);
    let mut begin = 0;
    for place in &mut places {
        begin += std::mem::replace(place, begin);
    }
    order.clear();
    order.resize(stack_ends.len(), 0);
    for (sample, depth) in depths().enumerate() {
        order[places[depth] as usize] = index(sample);
        places[depth] += 1;
    }
}

impl Interner {
    /// Looks up the stacks of all samples: hashes, nodes, and which of them are not known.
    pub(super) fn known_stacks(&mut self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        self.stack_hashes(profile, buffer);
        let InternBuffer { hashes, nodes, unknown, .. } = buffer;
        nodes.clear();
        unknown.clear();
        for &hash in &*hashes {
            // The hash of an empty stack is that of no frame at all, which no node has.
            let node = self.nodes.get(hash);
            if node.is_none() && hash != PathHash::default() {
                unknown.push(index(nodes.len()));
            }
            nodes.push(node.unwrap_or(NONE));
        }
    }

    /// Hashes the stacks of all samples, those of one depth after the other: how often the loop over a stack goes round is
    /// then mostly what it was before, where a processor that has to guess it loses as much time as the sums take. The
    /// places of their nodes are asked for meanwhile.
    fn stack_hashes(&mut self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let columns = profile.columns;
        let InternBuffer { frames, hashes, by_depth, .. } = buffer;
        hashes.clear();
        hashes.resize(columns.stack_ends.len(), PathHash::default());
        order_by_depth(&columns.stack_ends, by_depth);
        for handful in by_depth.chunks(HANDFUL) {
            let stacks = || handful.iter().map(|&sample| (sample, stack_of(columns, sample)));
            stacks().for_each(|(_, stack)| prefetch_stack(stack));
            for (sample, stack) in stacks() {
                self.paths.reach(stack.len());
                let hash = self.paths.path(stack, frames);
                self.nodes.prefetch(hash);
                hashes[sample as usize] = hash;
            }
        }
    }

    /// Finds or makes the nodes of stacks that were not known when the profile was begun. They are taken in handfuls: first
    /// a look at the places where the search will go, so that cache misses do not add up.
    pub(super) fn new_stacks(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let stack_of = |sample: u32| stack_of(profile.columns, sample);
        let InternBuffer { unknown, hashes, path, frames, locations, nodes, .. } = buffer;
        for handful in unknown.chunks(HANDFUL) {
            for &sample in handful {
                path.start(hashes[sample as usize]);
                path.reach(NEAR_LEAF, &self.paths, stack_of(sample), frames);
                path.hashes[1..].iter().for_each(|&hash| self.nodes.prefetch(hash));
            }
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
        // Without `unknown` frames the rest is not known.
        let mut unknown = 0;
        for round in ROUNDS {
            let last = round.min(stack.len() - 1);
            path.reach(last, &self.paths, stack, frames);
            // All of a round are looked up, since where the first known one is no processor could predict. Ancestors of
            // a known one are known, so counting those that are not tells where it is.
            let (mut missing, mut nearest) = (unknown + 1, 0);
            for &hash in path.hashes[unknown + 1..=last].iter().rev() {
                let found = self.nodes.find(hash);
                missing += usize::from(found == 0);
                nearest = if found == 0 { nearest } else { found };
            }
            if nearest != 0 {
                return (missing, nearest - 1);
            }
            unknown = last;
        }
        // Without `known` frames it is (a node's ancestors are).
        let (mut known, mut node) = (stack.len(), NONE);
        let mut step = unknown;
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
