//! Pyroscope's flame graph: names and levels of four numbers per node.
//!
//! A node is `x offset, total, self, name`; the offset counts from the end of the node before it in the same level.
//! Children lie from `parent.x + parent.self` on, in the order of their names, the synthetic `other` last. Level 0 is
//! `[0, total, 0, 0]` and name 0 is `total`, which Grafana relies on.

use query::FlameTree;

/// Names, levels and sums, as both the RPC and `/pyroscope/render` answer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flamebearer {
    pub(super) names: Vec<String>,
    pub(super) levels: Vec<Vec<i64>>,
    pub(super) total: i64,
    pub(super) max_self: i64,
}

/// "No node" and "no name yet" in the tables below.
const NONE: u32 = u32::MAX;

impl Flamebearer {
    /// Lays a merged tree out.
    pub(super) fn new(mut tree: FlameTree) -> Self {
        let total = tree.nodes.first().map_or(0, |root| root.total);
        let mut flame = Self { names: vec!["total".into()], levels: Vec::new(), total, max_self: 0 };
        flame.levels.push(vec![0, total, 0, 0]);
        let children = Children::of(&tree);
        let mut renamed = vec![NONE; tree.names.len()];
        if let Some(root) = tree.nodes.first() {
            renamed[root.name as usize] = 0;
        }
        // (node, x) of one level, left to right.
        let mut level = vec![(0_u32, 0_i64)];
        let mut values = Vec::new();
        let mut next = Vec::new();
        while !level.is_empty() {
            let mut end = 0;
            for &(parent, parent_x) in &level {
                let Some(node) = tree.nodes.get(parent as usize) else { continue };
                let mut x = parent_x + node.self_value;
                for child in children.of_node(parent) {
                    let node = tree.nodes[child as usize];
                    let name = flame.name(&mut tree.names, &mut renamed, node.name);
                    values.extend([x - end, node.total, node.self_value, name]);
                    flame.max_self = flame.max_self.max(node.self_value);
                    next.push((child, x));
                    x += node.total;
                    end = x;
                }
            }
            if !values.is_empty() {
                flame.levels.push(std::mem::take(&mut values));
            }
            std::mem::swap(&mut level, &mut next);
            next.clear();
        }
        flame
    }

    /// The position of a name in the answer, added at its first use.
    fn name(&mut self, names: &mut [String], renamed: &mut [u32], name: u32) -> i64 {
        let position = name as usize;
        if renamed[position] == NONE {
            renamed[position] = u32::try_from(self.names.len()).unwrap_or(NONE);
            self.names.push(std::mem::take(&mut names[position]));
        }
        i64::from(renamed[position])
    }
}

/// The children of every node, in the order in which they are drawn.
struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Children {
    fn of(tree: &FlameTree) -> Self {
        let count = tree.nodes.len();
        let mut children = Self { first: vec![NONE; count], next: vec![NONE; count] };
        let is_other = |node: usize| Some(tree.nodes[node].name) == tree.other;
        // A list grows at its front, so nodes are added last to first: "other" before the rest.
        for pass in [true, false] {
            for node in (1..count).rev().filter(|&node| is_other(node) == pass) {
                let parent = tree.nodes[node].parent as usize;
                children.next[node] = children.first[parent];
                children.first[parent] = u32::try_from(node).unwrap_or(NONE);
            }
        }
        children
    }

    fn of_node(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.first[node as usize];
        std::iter::successors((first != NONE).then_some(first), |&node| {
            let next = self.next[node as usize];
            (next != NONE).then_some(next)
        })
    }
}

#[cfg(test)]
mod tests {
    use query::FlameNode;

    use super::*;

    /// `(parent, name, self, total)` per node.
    fn tree(nodes: &[(u32, &str, i64, i64)]) -> FlameTree {
        let mut names: Vec<String> = Vec::new();
        let nodes = nodes
            .iter()
            .map(|&(parent, name, self_value, total)| {
                let position = names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.into());
                    names.len() - 1
                });
                FlameNode { parent, name: u32::try_from(position).unwrap(), self_value, total }
            })
            .collect();
        let other = names.iter().position(|name| name == "other").and_then(|name| u32::try_from(name).ok());
        FlameTree {
            nodes,
            files: vec![String::new(); names.len()],
            names,
            unit: "count".into(),
            other,
            ..FlameTree::default()
        }
    }

    #[test]
    fn self_lies_at_the_left_and_offsets_count_from_the_neighbour() {
        // main;a = 3, main;b;c = 2, main = 1
        let flame = Flamebearer::new(tree(&[
            (0, "total", 0, 6),
            (0, "main", 1, 6),
            (1, "a", 3, 3),
            (1, "b", 0, 2),
            (3, "c", 2, 2),
        ]));
        assert_eq!(flame.names, ["total", "main", "a", "b", "c"]);
        assert_eq!(
            flame.levels,
            [vec![0, 6, 0, 0], vec![0, 6, 1, 1], vec![1, 3, 3, 2, 0, 2, 0, 3], vec![4, 2, 2, 4]]
        );
        assert_eq!((flame.total, flame.max_self), (6, 3));
    }

    #[test]
    fn other_is_last_and_equal_names_are_one() {
        let flame = Flamebearer::new(tree(&[
            (0, "total", 0, 9),
            (0, "other", 2, 2),
            (0, "total", 3, 7),
            (2, "total", 4, 4),
        ]));
        assert_eq!(flame.names, ["total", "other"]);
        assert_eq!(flame.levels[1], [0, 7, 3, 0, 0, 2, 2, 1]);
        assert_eq!(flame.levels[2], [3, 4, 4, 0]);
    }

    #[test]
    fn c087_nothing_is_a_valid_flame_graph() {
        let empty = Flamebearer {
            names: vec!["total".into()],
            levels: vec![vec![0, 0, 0, 0]],
            total: 0,
            max_self: 0,
        };
        assert_eq!(Flamebearer::new(FlameTree::default()), empty);
        assert_eq!(Flamebearer::new(tree(&[(0, "total", 0, 0)])), empty);
    }
}
