//! Trees of call paths by maps and loops, and the cut of Pyroscope's calls: the judge of flame graphs and comparisons.
//! Used by tests of the API in process and of the program over sockets.

#![allow(clippy::unwrap_used, reason = "a judge stops where something cannot be")]

use std::collections::BTreeMap;

/// Own and total value by path.
pub type Tree = BTreeMap<Vec<String>, (i64, i64)>;

/// Both by path, left and right.
pub type DoubleTree = BTreeMap<Vec<String>, [(i64, i64); 2]>;

/// Adds stacks up; the root is the empty path.
#[must_use]
pub fn tree<'a>(stacks: impl Iterator<Item = (Vec<&'a str>, i64)>) -> Tree {
    let mut tree = Tree::new();
    tree.insert(Vec::new(), (0, 0));
    for (stack, value) in stacks {
        let stack: Vec<String> = stack.into_iter().map(str::to_owned).collect();
        for length in 0..=stack.len() {
            tree.entry(stack[..length].to_vec()).or_default().1 += value;
        }
        tree.get_mut(&stack).unwrap().0 += value;
    }
    tree
}

fn children<'t, V>(tree: &'t BTreeMap<Vec<String>, V>, path: &[String]) -> Vec<(&'t Vec<String>, &'t V)> {
    // Paths sort before what is below them.
    let below = tree.range(path.to_vec()..).take_while(|(key, _)| key.starts_with(path));
    below.filter(|(key, _)| key.len() == path.len() + 1).collect()
}

/// The smallest weight that stays when so many of the largest do.
fn smallest_kept(mut weights: Vec<i64>, nodes_max: usize) -> i64 {
    weights.sort_unstable_by(|left, right| right.cmp(left));
    weights.get(nodes_max - 1).copied().unwrap_or(0)
}

/// The cut of these APIs: what is smaller than the smallest kept total, and what is named `other`, is one node `other`.
#[must_use]
pub fn cut(tree: &Tree, nodes_max: usize) -> Tree {
    let weights = tree.iter().filter(|(path, _)| !path.is_empty()).map(|(_, (_, total))| *total).collect();
    let smallest = smallest_kept(weights, nodes_max);
    let mut kept = Tree::new();
    let mut pending = vec![Vec::new()];
    while let Some(path) = pending.pop() {
        kept.insert(path.clone(), tree[&path]);
        let mut other = 0;
        for (child, (_, total)) in children(tree, &path) {
            if *total >= smallest && child.last().unwrap() != "other" {
                pending.push(child.clone());
            } else {
                other += total;
            }
        }
        if other != 0 {
            kept.insert([&path[..], &["other".to_owned()]].concat(), (other, other));
        }
    }
    kept
}

/// Two trees laid over each other.
#[must_use]
pub fn double(left: &Tree, right: &Tree) -> DoubleTree {
    let mut both = DoubleTree::new();
    for (side, tree) in [left, right].into_iter().enumerate() {
        for (path, values) in tree {
            both.entry(path.clone()).or_default()[side] = *values;
        }
    }
    both
}

/// The cut of a comparison: a node stays when either side is large enough; the root is counted.
#[must_use]
pub fn cut_double(tree: &DoubleTree, nodes_max: usize) -> DoubleTree {
    let largest = |[left, right]: &[(i64, i64); 2]| left.1.max(right.1);
    let smallest = smallest_kept(tree.values().map(largest).collect(), nodes_max);
    let mut kept = DoubleTree::new();
    let mut pending = vec![Vec::new()];
    while let Some(path) = pending.pop() {
        add(kept.entry(path.clone()).or_default(), &tree[&path]);
        let mut rest = [(0, 0); 2];
        for (child, values) in children(tree, &path) {
            if largest(values) >= smallest {
                pending.push(child.clone());
            } else {
                let totals = values.map(|(_, total)| (total, total));
                add(&mut rest, &totals);
            }
        }
        if rest != [(0, 0); 2] {
            add(kept.entry([&path[..], &["other".to_owned()]].concat()).or_default(), &rest);
        }
    }
    kept
}

/// Adds values of both sides up.
pub fn add(sums: &mut [(i64, i64); 2], values: &[(i64, i64); 2]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        sum.0 += value.0;
        sum.1 += value.1;
    }
}
