//! Pyroscope's flame graph: names and levels of numbers, four per node, seven in a comparison.
//!
//! A node is `x offset, total, self, name`; the offset counts from the end of the node before it in the same level. In a
//! comparison it is the first three for the left side, the same for the right one, then the name. Children lie from
//! `parent.x + parent.self` on, in the order of their names, the synthetic `other` last. Level 0 is `[0, total, 0, 0]` and
//! name 0 is `total`, which Grafana relies on. Names are numbered as nodes are visited, the last child first.
//!
//! In a single graph functions that are really named `other` are folded into the synthetic node with all that they call,
//! as in the original; a comparison leaves them where they are.

use formats::{TreeRecord, write_tree};
use query::{DiffTree, FlameTree};

use crate::ApiError;

/// Names, levels and sums, as both the RPC and `/pyroscope/render` answer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flamebearer {
    pub(super) names: Vec<String>,
    pub(super) levels: Vec<Vec<i64>>,
    pub(super) total: i64,
    pub(super) max_self: i64,
}

/// A comparison: as [`Flamebearer`], and the total of each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DoubleFlamebearer {
    pub(super) names: Vec<String>,
    pub(super) levels: Vec<Vec<i64>>,
    /// Of both sides together.
    pub(super) total: i64,
    pub(super) max_self: i64,
    pub(super) left_ticks: i64,
    pub(super) right_ticks: i64,
}

/// "No node" and "no name yet" in the tables below.
const NONE: u32 = u32::MAX;

/// What stands for nodes that were left out.
const OTHER: &str = "other";

impl Flamebearer {
    /// Lays a merged tree out.
    pub(super) fn new(mut tree: FlameTree) -> Self {
        let folded = Folded::of(&tree);
        let total = tree.nodes.first().map_or(0, |root| root.total);
        let mut names = Names::new(&mut tree.names, tree.nodes.first().map(|root| root.name));
        let mut levels: Levels<4> = Levels::default();
        let mut max_self = 0;
        levels.push(0, [0, total, 0, 0]);
        let mut stack = vec![Visit { node: 0, x: 0, total, depth: 0 }];
        while let Some(visit) = stack.pop() {
            let node = tree.nodes.get(visit.node as usize);
            let own = node.map_or(visit.total, |node| node.self_value);
            if visit.depth > 0 {
                let name = match node {
                    Some(node) => names.number(node.name),
                    None => names.other(),
                };
                levels.push(visit.depth, [visit.x, visit.total, own, name]);
                max_self = max_self.max(own);
            }
            let mut x = visit.x + own;
            let depth = visit.depth + 1;
            for child in folded.children.of_node(visit.node) {
                let total = tree.nodes[child as usize].total;
                stack.push(Visit { node: child, x, total, depth });
                x += total;
            }
            let other = folded.other(visit.node);
            if other != 0 {
                stack.push(Visit { node: NONE, x, total: other, depth });
            }
        }
        Self { names: names.texts, levels: levels.finish([0]), total, max_self }
    }
}

impl DoubleFlamebearer {
    /// Lays a comparison out.
    pub(super) fn new(mut tree: DiffTree) -> Self {
        let root = tree.nodes.first().copied();
        let (left_ticks, right_ticks) = root.map_or((0, 0), |root| (root.left_total, root.right_total));
        let children = Children::of(tree.nodes.len(), |node| {
            let node = &tree.nodes[node];
            (node.parent, Some(node.name) == tree.other)
        });
        let mut names = Names::new(&mut tree.names, root.map(|root| root.name));
        let mut levels: Levels<7> = Levels::default();
        let mut max_self = 0;
        levels.push(0, [0, left_ticks, 0, 0, right_ticks, 0, 0]);
        let mut stack = vec![(0_u32, 0_i64, 0_i64, 0_usize)];
        while let Some((position, left_x, right_x, depth)) = stack.pop() {
            let Some(node) = tree.nodes.get(position as usize) else { continue };
            if depth > 0 {
                let name = names.number(node.name);
                let left = [left_x, node.left_total, node.left_self];
                let right = [right_x, node.right_total, node.right_self];
                levels.push(depth, [left[0], left[1], left[2], right[0], right[1], right[2], name]);
                max_self = max_self.max(node.left_self).max(node.right_self);
            }
            let (mut left_x, mut right_x) = (left_x + node.left_self, right_x + node.right_self);
            for child in children.of_node(position) {
                let node = &tree.nodes[child as usize];
                stack.push((child, left_x, right_x, depth + 1));
                left_x += node.left_total;
                right_x += node.right_total;
            }
        }
        Self {
            names: names.texts,
            levels: levels.finish([0, 3]),
            // Each side fits in 64 bits; of both only what fits can be said.
            total: left_ticks.saturating_add(right_ticks),
            max_self,
            left_ticks,
            right_ticks,
        }
    }
}

/// A merged tree as bytes: per node the length of its name, the name, its own value and its number of children; a node
/// stands before its children, the last child first. The root has no name.
///
/// # Errors
/// 400 for a negative value: the format has none.
pub(super) fn tree_bytes(tree: &FlameTree) -> Result<Vec<u8>, ApiError> {
    let folded = Folded::of(tree);
    let mut records = Vec::with_capacity(tree.nodes.len());
    let mut stack = vec![(0_u32, 0_i64)];
    while let Some((position, other_total)) = stack.pop() {
        let node = tree.nodes.get(position as usize);
        let (name, own) = match node {
            Some(node) if position != 0 => (tree.names[node.name as usize].as_str(), node.self_value),
            Some(root) => ("", root.self_value),
            None if position == 0 => ("", 0),
            None => (OTHER, other_total),
        };
        let own = u64::try_from(own).map_err(|_| {
            ApiError::invalid("format", "a tree cannot hold negative values; ask for a flame graph or pprof")
        })?;
        let before = stack.len();
        stack.extend(folded.children.of_node(position).map(|child| (child, 0)));
        let other = folded.other(position);
        if other != 0 {
            stack.push((NONE, other));
        }
        let children = (stack.len() - before) as u64;
        records.push(TreeRecord { name: name.as_bytes(), self_value: own, children });
    }
    Ok(write_tree(records))
}

/// A node to be written.
struct Visit {
    /// Position in the tree; [`NONE`] = what was left out of its parent.
    node: u32,
    x: i64,
    total: i64,
    depth: usize,
}

/// A tree without the nodes that are named `other`, and what they add up to below each parent.
struct Folded {
    children: Children,
    others: Vec<i64>,
}

impl Folded {
    fn of(tree: &FlameTree) -> Self {
        let is_other: Vec<bool> = tree.names.iter().map(|name| name == OTHER).collect();
        let count = tree.nodes.len();
        let mut others = Vec::new();
        if is_other.contains(&true) {
            others.resize(count, 0);
            for node in tree.nodes.iter().skip(1).filter(|node| is_other[node.name as usize]) {
                others[node.parent as usize] += node.total;
            }
        }
        // A root of that name stays: node 0 is never looked at.
        let mut children = Children { first: vec![NONE; count], next: vec![NONE; count] };
        for node in (1..count).rev().filter(|&node| !is_other[tree.nodes[node].name as usize]) {
            children.put_first(tree.nodes[node].parent, node);
        }
        Self { children, others }
    }

    fn other(&self, node: u32) -> i64 {
        self.others.get(node as usize).copied().unwrap_or(0)
    }
}

/// The children of every node, in the order in which they are drawn.
struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Children {
    /// `of_node` says each node's parent and whether it comes last among its siblings.
    fn of(count: usize, of_node: impl Fn(usize) -> (u32, bool)) -> Self {
        let mut children = Self { first: vec![NONE; count], next: vec![NONE; count] };
        // A list grows at its front, so nodes are added last to first: "other" before the rest.
        for pass in [true, false] {
            for node in (1..count).rev() {
                let (parent, is_last) = of_node(node);
                if is_last == pass {
                    children.put_first(parent, node);
                }
            }
        }
        children
    }

    fn put_first(&mut self, parent: u32, node: usize) {
        self.next[node] = self.first[parent as usize];
        self.first[parent as usize] = u32::try_from(node).unwrap_or(NONE);
    }

    fn of_node(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let known = |node: u32| (node != NONE).then_some(node);
        let first = self.first.get(node as usize).copied().and_then(known);
        std::iter::successors(first, move |&node| known(self.next[node as usize]))
    }
}

/// Names in the order in which they are first met; the root's is `total`.
struct Names<'a> {
    source: &'a mut [String],
    numbers: Vec<u32>,
    texts: Vec<String>,
    other: Option<i64>,
}

impl<'a> Names<'a> {
    fn new(source: &'a mut [String], root: Option<u32>) -> Self {
        let mut numbers = vec![NONE; source.len()];
        // A function that is named like the root has its number, as names are told apart by their text alone.
        for (number, name) in numbers.iter_mut().zip(source.iter()) {
            if name == "total" {
                *number = 0;
            }
        }
        if let Some(root) = root {
            numbers[root as usize] = 0;
        }
        Self { source, numbers, texts: vec!["total".into()], other: None }
    }

    /// The number of a name of the tree.
    fn number(&mut self, name: u32) -> i64 {
        let position = name as usize;
        if self.numbers[position] == NONE {
            let text = std::mem::take(&mut self.source[position]);
            let number = if text == OTHER {
                self.other()
            } else {
                self.texts.push(text);
                i64::try_from(self.texts.len() - 1).unwrap_or(i64::MAX)
            };
            self.numbers[position] = u32::try_from(number).unwrap_or(NONE);
        }
        i64::from(self.numbers[position])
    }

    /// The number of what stands for nodes that were left out.
    fn other(&mut self) -> i64 {
        *self.other.get_or_insert_with(|| {
            self.texts.push(OTHER.into());
            i64::try_from(self.texts.len() - 1).unwrap_or(i64::MAX)
        })
    }
}

/// Levels while they are filled from the right, with places instead of offsets.
struct Levels<const N: usize>(Vec<Vec<[i64; N]>>);

impl<const N: usize> Default for Levels<N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<const N: usize> Levels<N> {
    fn push(&mut self, depth: usize, node: [i64; N]) {
        if self.0.len() <= depth {
            self.0.resize_with(depth + 1, Vec::new);
        }
        self.0[depth].push(node);
    }

    /// Turns places into offsets; `places` says where in a node they stand, each followed by the node's width.
    fn finish<const P: usize>(self, places: [usize; P]) -> Vec<Vec<i64>> {
        let level = |nodes: Vec<[i64; N]>| {
            let mut values = Vec::with_capacity(nodes.len() * N);
            let mut ends = [0; P];
            for mut node in nodes.into_iter().rev() {
                for (&place, end) in places.iter().zip(&mut ends) {
                    let x = node[place];
                    node[place] = x - *end;
                    *end = x + node[place + 1];
                }
                values.extend(node);
            }
            values
        };
        self.0.into_iter().map(level).collect()
    }
}

#[cfg(test)]
mod tests;
