//! The cut: which nodes of a merged tree an answer keeps, and the exact rest under an "other" node of each parent (D9).
//!
//! By the rule of [`NodeLimit::exactly`], kept are the nodes of the largest weight; of equal weight those of the smaller
//! name, and of equal name those of the smaller path. A node is kept only with its parent: nodes are taken one after the
//! other from those whose parent is taken already, so the order is well defined even where a parent and its child weigh
//! the same. The count is of real nodes, the root among them; each kept parent may have one "other" child beside them.
//! By the other rules every node stays that weighs as much as the smallest kept one: that is what Pyroscope's clients
//! know, but of many equal nodes all stay.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{flame::Rest, name_table::NameTable};

/// Stands for "not kept".
const OUT: u32 = u32::MAX;

/// The shape of a tree for a cut.
pub(crate) struct Shape<'a, W> {
    /// Parent of each node, parents first; 0 is the root.
    pub parents: &'a [u32],
    /// Name of each node.
    pub names: &'a [u32],
    /// Weight of each node, at least that of each child; zero = not there.
    pub weights: &'a [W],
    /// The names, sorted.
    pub table: &'a NameTable,
}

/// How many nodes an answer keeps. A plain number is [`NodeLimit::exactly`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLimit {
    max: usize,
    equal: Equal,
}

/// What becomes of nodes that weigh as much as the smallest kept one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equal {
    /// So many of them stay that the count is met.
    Chosen,
    /// All stay; the root is not counted.
    Kept,
    /// All stay; the root is counted.
    KeptWithRoot,
}

impl NodeLimit {
    /// That many, the root among them; 0 = all.
    #[must_use]
    pub fn exactly(max: usize) -> Self {
        Self { max, equal: Equal::Chosen }
    }

    /// That many beside the root, and every further node as large as the smallest of them; 0 = all.
    #[must_use]
    pub fn at_least(max: usize) -> Self {
        Self { max, equal: Equal::Kept }
    }

    /// As [`NodeLimit::at_least`], with the root among them.
    #[must_use]
    pub fn at_least_with_root(max: usize) -> Self {
        Self { max, equal: Equal::KeptWithRoot }
    }
}

impl From<usize> for NodeLimit {
    fn from(max: usize) -> Self {
        Self::exactly(max)
    }
}

/// What a cut keeps.
pub(crate) struct Cut {
    /// Kept nodes, parents first.
    pub kept: Vec<u32>,
    /// Number of nodes left out.
    pub left_out: u64,
    /// Position of each node in `kept`, or [`OUT`].
    slots: Vec<u32>,
}

impl Cut {
    fn new(kept: Vec<u32>, node_count: usize, live_count: usize) -> Self {
        let mut slots = vec![OUT; node_count];
        for (slot, &node) in (0_u32..).zip(&kept) {
            slots[node as usize] = slot;
        }
        Self { left_out: (live_count - kept.len()) as u64, kept, slots }
    }

    /// Position of a kept node among the kept ones.
    #[inline]
    pub fn slot(&self, node: u32) -> usize {
        self.slots[node as usize] as usize
    }
}

/// Decides which nodes stay.
pub(crate) fn cut<W: Copy + Ord + Default>(shape: &Shape<'_, W>, limit: NodeLimit) -> Cut {
    let nothing = W::default();
    // The root is there in any case and is counted from here on.
    let nodes_max = match limit.equal {
        Equal::Chosen | Equal::KeptWithRoot => limit.max,
        Equal::Kept => limit.max.saturating_add(1),
    };
    let nodes = || (0_u32..).zip(shape.weights).skip(1);
    let node_count = shape.weights.len();
    let takes_all = limit.max == 0 || node_count <= nodes_max;
    // Of the others as many as are left.
    let wanted = if takes_all { 0 } else { nodes_max - 1 };
    let Largest { live, threshold } = largest(shape.weights.get(1..).unwrap_or_default(), wanted);
    let live_count = live + 1;
    let mut kept = vec![0_u32];
    let threshold = match limit.equal {
        Equal::Chosen => threshold,
        // The root alone is wanted, and with it all that weighs as much.
        Equal::Kept | Equal::KeptWithRoot => threshold.or(shape.weights.first().copied()),
    };
    if takes_all || live_count <= nodes_max {
        kept.extend(nodes().filter(|(_, weight)| **weight != nothing).map(|(node, _)| node));
    } else if let Some(threshold) = threshold {
        let mut tied = Vec::new();
        for (node, &weight) in nodes().filter(|(_, weight)| **weight >= threshold) {
            if weight > threshold || limit.equal != Equal::Chosen { kept.push(node) } else { tied.push(node) }
        }
        if !tied.is_empty() {
            add_tied(shape, threshold, tied, nodes_max - kept.len(), &mut kept);
            kept.sort_unstable();
        }
    }
    Cut::new(kept, node_count, live_count)
}

/// See [`largest`].
struct Largest<W> {
    /// How many are not zero.
    live: usize,
    /// The smallest of the largest ones; `None` where none was asked for or there are not as many.
    threshold: Option<W>,
}

/// Finds the smallest of the `wanted` largest weights that are not zero. Most weights of a profile with a heavy tail are
/// smaller than it, so they are only compared with what is known of it so far.
fn largest<W: Copy + Ord + Default>(weights: &[W], wanted: usize) -> Largest<W> {
    let nothing = W::default();
    let mut live = 0;
    let mut floor = nothing;
    let mut candidates: Vec<W> = Vec::new();
    for &weight in weights {
        live += usize::from(weight != nothing);
        if weight > floor && wanted > 0 {
            candidates.push(weight);
            if candidates.len() / 2 >= wanted {
                // As many are at least as large as this one, so equal ones that come later change nothing.
                floor = *candidates.select_nth_unstable_by(wanted - 1, |left, right| right.cmp(left)).1;
                candidates.truncate(wanted);
            }
        }
    }
    let is_enough = wanted > 0 && candidates.len() >= wanted;
    let threshold =
        is_enough.then(|| *candidates.select_nth_unstable_by(wanted - 1, |left, right| right.cmp(left)).1);
    Largest { live, threshold }
}

/// Adds `count` of the nodes that weigh exactly the threshold, by name, each after its parent.
fn add_tied<W: Copy + Ord>(
    shape: &Shape<'_, W>,
    threshold: W,
    tied: Vec<u32>,
    count: usize,
    kept: &mut Vec<u32>,
) {
    // Tied nodes are either below a kept node, and may be taken now, or below another tied one, and wait for it. In a
    // profile with a heavy tail almost all nodes are tied, so nothing here sorts them.
    let mut frontier: Vec<u32> = Vec::new();
    let mut first_waiting = vec![OUT; shape.parents.len()];
    let mut next_waiting = vec![OUT; shape.parents.len()];
    for node in tied {
        let parent = shape.parents[node as usize];
        if parent == 0 || shape.weights[parent as usize] > threshold {
            frontier.push(node);
        } else {
            next_waiting[node as usize] = first_waiting[parent as usize];
            first_waiting[parent as usize] = node;
        }
    }
    let mut heap = BinaryHeap::from(smallest_names(shape, frontier, count));
    for _ in 0..count {
        let Some(Candidate { node, .. }) = heap.pop() else { break };
        kept.push(node);
        let mut waiting = first_waiting[node as usize];
        while waiting != OUT {
            heap.push(Candidate { node: waiting, shape });
            waiting = next_waiting[waiting as usize];
        }
    }
}

/// The candidates of which `count` may be taken: those of the `count` smallest names, equal ones all.
fn smallest_names<'a, W>(
    shape: &'a Shape<'a, W>,
    mut candidates: Vec<u32>,
    count: usize,
) -> Vec<Candidate<'a, W>> {
    let rank = |node: u32| shape.table.rank(shape.names[node as usize]);
    if candidates.len() > count {
        let (_, last, _) = candidates.select_nth_unstable_by_key(count - 1, |&node| rank(node));
        let largest = rank(*last);
        candidates.retain(|&node| rank(node) <= largest);
    }
    candidates.into_iter().map(|node| Candidate { node, shape }).collect()
}

/// A tied node; the greatest is taken next.
struct Candidate<'a, W> {
    node: u32,
    shape: &'a Shape<'a, W>,
}

impl<W> Ord for Candidate<'_, W> {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |node: u32| self.shape.table.rank(self.shape.names[node as usize]);
        rank(other.node).cmp(&rank(self.node)).then_with(|| path_order(self.shape, other.node, self.node))
    }
}

impl<W> PartialOrd for Candidate<'_, W> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<W> PartialEq for Candidate<'_, W> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<W> Eq for Candidate<'_, W> {}

/// Compares two paths from the root on, name by name; a path stands before its continuations.
fn path_order<W>(shape: &Shape<'_, W>, left: u32, right: u32) -> Ordering {
    let depth = |mut node: u32| {
        let mut depth = 0_usize;
        while node != 0 {
            node = shape.parents[node as usize];
            depth += 1;
        }
        depth
    };
    let (left_depth, right_depth) = (depth(left), depth(right));
    let lift = |mut node: u32, steps: usize| {
        for _ in 0..steps {
            node = shape.parents[node as usize];
        }
        node
    };
    let mut left = lift(left, left_depth.saturating_sub(right_depth));
    let mut right = lift(right, right_depth.saturating_sub(left_depth));
    let mut order = left_depth.cmp(&right_depth);
    while left != right {
        let rank = |node: u32| shape.table.rank(shape.names[node as usize]);
        match rank(left).cmp(&rank(right)) {
            Ordering::Equal => {}
            different => order = different,
        }
        left = shape.parents[left as usize];
        right = shape.parents[right as usize];
    }
    order
}

/// A kept node in the order of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Position in the merged tree; for an "other" node that of its parent.
    pub node: u32,
    /// Position of the parent in the answer.
    pub parent: u32,
    /// Whether it stands for what was left out below `node`.
    pub is_other: bool,
}

/// Puts kept nodes in depth-first order, children by name; `has_other` says which parents get an "other" child. It
/// stands where its text belongs, after a function of that name.
pub(crate) fn place<W>(shape: &Shape<'_, W>, cut: &Cut, has_other: impl Fn(usize) -> bool) -> Vec<Placed> {
    let kept = &cut.kept;
    let slots = &cut.slots;
    let other_rank = other_rank(shape.table);
    // (slot of the parent, place of the name, function before other, node)
    let mut children: Vec<(u32, u32, bool, u32)> = kept
        .iter()
        .skip(1)
        .map(|&node| {
            let rank = shape.table.rank(shape.names[node as usize]);
            (slots[shape.parents[node as usize] as usize], rank.saturating_mul(2), false, node)
        })
        .collect();
    for (slot, &node) in (0_u32..).zip(kept) {
        if has_other(slot as usize) {
            children.push((slot, other_rank, true, node));
        }
    }
    children.sort_unstable();
    let mut first_child = vec![0_usize; kept.len() + 1];
    for &(parent, ..) in &children {
        first_child[parent as usize + 1] += 1;
    }
    for slot in 0..kept.len() {
        first_child[slot + 1] += first_child[slot];
    }
    let mut placed = Vec::with_capacity(1 + children.len());
    placed.push(Placed { node: 0, parent: 0, is_other: false });
    let mut stack: Vec<(usize, u32)> = Vec::new();
    let push_children = |slot: u32, parent: u32, stack: &mut Vec<(usize, u32)>| {
        let range = first_child[slot as usize]..first_child[slot as usize + 1];
        stack.extend(range.rev().map(|child| (child, parent)));
    };
    push_children(0, 0, &mut stack);
    while let Some((child, parent)) = stack.pop() {
        let (_, _, is_other, node) = children[child];
        let position = u32::try_from(placed.len()).unwrap_or(u32::MAX);
        placed.push(Placed { node, parent, is_other });
        if !is_other {
            push_children(slots[node as usize], position, &mut stack);
        }
    }
    placed
}

/// How many nodes were left out below each placed one, counted at the nearest that was kept.
pub(crate) fn rest_of<W: Copy + Ord + Default>(
    shape: &Shape<'_, W>,
    cut: Cut,
    placed: &[Placed],
) -> Vec<Rest> {
    if cut.left_out == 0 {
        return Vec::new();
    }
    let mut counts = vec![0_u64; cut.kept.len()];
    let mut nearest = cut.slots;
    for node in 1..nearest.len() {
        if nearest[node] == OUT {
            // Parents stand before their children, so the parent's place is known.
            nearest[node] = nearest[shape.parents[node] as usize];
            counts[nearest[node] as usize] += u64::from(shape.weights[node] != W::default());
        }
    }
    let real = (0_u32..).zip(placed).filter(|(_, one)| !one.is_other);
    real.map(|(parent, one)| Rest { parent, count: counts[nearest[one.node as usize] as usize] })
        .filter(|rest| rest.count > 0)
        .collect()
}

/// Where the text "other" stands among the doubled ranks of names.
fn other_rank(table: &NameTable) -> u32 {
    let mut below = 0_u32;
    for position in (0_u32..).take(table.len()) {
        if *table.get(position).text <= *OTHER {
            below += 1;
        }
    }
    // Odd, so between the names; `below` names stand before it.
    below.saturating_mul(2).saturating_sub(1)
}

/// Name of the nodes that stand for what was left out.
pub(crate) const OTHER: &str = "other";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_threshold_is_that_of_all_weights_sorted(
            weights in proptest::collection::vec(prop_oneof![4 => 0_i64..4, 1 => 0_i64..1000], 0..300),
            wanted in 0_usize..40,
        ) {
            let mut sorted: Vec<i64> = weights.iter().copied().filter(|&weight| weight != 0).collect();
            sorted.sort_unstable_by(|left, right| right.cmp(left));
            let found = largest(&weights, wanted);
            prop_assert_eq!(found.live, sorted.len());
            prop_assert_eq!(found.threshold, wanted.checked_sub(1).and_then(|last| sorted.get(last).copied()));
        }
    }

    #[test]
    fn the_root_alone_keeps_what_weighs_as_much_where_equal_ones_are_kept() {
        let table = NameTable::default();
        let shape = Shape { parents: &[0, 0, 1, 1], names: &[0; 4], weights: &[9, 9, 5, 4], table: &table };
        assert_eq!(cut(&shape, NodeLimit::exactly(1)).kept, [0]);
        assert_eq!(cut(&shape, NodeLimit::at_least_with_root(1)).kept, [0, 1]);
        assert_eq!(cut(&shape, NodeLimit::at_least(1)).kept, [0, 1]);
        assert_eq!(cut(&shape, NodeLimit::at_least(0)).kept, [0, 1, 2, 3]);
    }
}
