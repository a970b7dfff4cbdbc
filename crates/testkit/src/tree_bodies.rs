//! Bodies of Pyroscope's older agents: trees and tries made of stacks, written as the agents write them.

use std::collections::BTreeMap;

use formats::{TreeRecord, write_tree};

/// In which order the children of a node are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Siblings {
    /// By name, as agents do.
    FirstFirst,
    /// The other way round, as Pyroscope's querier does.
    LastFirst,
}

#[derive(Default)]
struct Node {
    self_value: u64,
    children: BTreeMap<Vec<u8>, Node>,
}

/// The tree of stacks, frames from the root. Depth is that of the stacks, so tests keep it sane.
#[must_use]
pub fn tree_body<'a>(stacks: impl IntoIterator<Item = (Vec<&'a [u8]>, u64)>, siblings: Siblings) -> Vec<u8> {
    let mut root = Node::default();
    for (frames, value) in stacks {
        let mut node = &mut root;
        for frame in frames {
            node = node.children.entry(frame.to_vec()).or_default();
        }
        node.self_value += value;
    }
    let mut records = Vec::new();
    let mut open: Vec<(&[u8], &Node)> = vec![(b"", &root)];
    while let Some((name, node)) = open.pop() {
        let children = node.children.len() as u64;
        records.push(TreeRecord { name, self_value: node.self_value, children });
        let children = node.children.iter().map(|(name, child)| (name.as_slice(), child));
        match siblings {
            Siblings::FirstFirst => open.extend(children.rev()),
            Siblings::LastFirst => open.extend(children),
        }
    }
    write_tree(records)
}

/// A stack as a trie has it, and its value.
type Key<'a> = (&'a [u8], u64);

/// The trie of stacks, frames from the root: keys share their beginnings to the byte.
#[must_use]
pub fn trie_body<'a>(stacks: impl IntoIterator<Item = (Vec<&'a [u8]>, u64)>) -> Vec<u8> {
    let mut keys: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for (frames, value) in stacks {
        *keys.entry(frames.join(&b';')).or_default() += value;
    }
    let keys: Vec<(Vec<u8>, u64)> = keys.into_iter().collect();
    let mut records = Vec::new();
    let own = keys.first().filter(|(key, _)| key.is_empty()).map_or(0, |(_, value)| *value);
    let keys: Vec<Key<'_>> =
        keys.iter().filter(|(key, _)| !key.is_empty()).map(|(key, value)| (key.as_slice(), *value)).collect();
    let first = groups(&keys, 0);
    records.push(TreeRecord { name: b"", self_value: own, children: first.len() as u64 });
    // each entry: keys that share their first bytes, and how many of those are written already
    let mut open: Vec<(&[Key<'_>], usize)> = first.into_iter().rev().map(|group| (group, 0)).collect();
    while let Some((group, written)) = open.pop() {
        let shared = shared(group);
        let (own, rest) = match group.split_first() {
            Some(((key, value), rest)) if key.len() == shared => (*value, rest),
            _ => (0, group),
        };
        let below = groups(rest, shared);
        let name = &group[0].0[written..shared];
        records.push(TreeRecord { name, self_value: own, children: below.len() as u64 });
        open.extend(below.into_iter().rev().map(|group| (group, shared)));
    }
    write_tree(records)
}

/// Sorted keys by their byte at `position`.
fn groups<'a, 'k>(keys: &'a [Key<'k>], position: usize) -> Vec<&'a [Key<'k>]> {
    keys.chunk_by(|one, other| one.0[position] == other.0[position]).collect()
}

/// How many first bytes all keys share; they are sorted.
fn shared(keys: &[Key<'_>]) -> usize {
    let (first, last) = (keys[0].0, keys[keys.len() - 1].0);
    first.iter().zip(last).take_while(|(one, other)| one == other).count()
}
