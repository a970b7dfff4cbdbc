//! A comparison as functions: how each one's own value and total changed.

use query::DiffTree;

/// A function on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    /// Its name.
    pub name: String,
    /// Own value, left.
    pub left_self: i64,
    /// Own value, right.
    pub right_self: i64,
    /// Value of every stack that it is on, once each, left.
    pub left_total: i64,
    /// The same, right.
    pub right_total: i64,
}

impl DiffRow {
    /// Change of the own value.
    #[must_use]
    pub fn self_delta(&self) -> i64 {
        self.right_self.saturating_sub(self.left_self)
    }

    /// Change of the total.
    #[must_use]
    pub fn total_delta(&self) -> i64 {
        self.right_total.saturating_sub(self.left_total)
    }
}

/// All functions of a comparison, largest change of the own value first, then of the total, then by name.
#[must_use]
pub fn diff_functions(tree: &DiffTree) -> Vec<DiffRow> {
    let mut rows: Vec<DiffRow> = tree
        .names
        .iter()
        .map(|name| DiffRow {
            name: name.clone(),
            left_self: 0,
            right_self: 0,
            left_total: 0,
            right_total: 0,
        })
        .collect();
    // How often each name is on the current path: a recursive function's total counts once.
    let mut open = vec![0u32; rows.len()];
    let mut path: Vec<usize> = Vec::new();
    for (position, node) in tree.nodes.iter().enumerate() {
        while path.last().is_some_and(|&top| top != node.parent as usize) {
            if let Some(left) = path.pop() {
                open[tree.nodes[left].name as usize] -= 1;
            }
        }
        path.push(position);
        let name = node.name as usize;
        let row = &mut rows[name];
        row.left_self = row.left_self.saturating_add(node.left_self);
        row.right_self = row.right_self.saturating_add(node.right_self);
        if open[name] == 0 {
            row.left_total = row.left_total.saturating_add(node.left_total);
            row.right_total = row.right_total.saturating_add(node.right_total);
        }
        open[name] += 1;
    }
    if let Some(root) = tree.nodes.first() {
        // The root stands for no function.
        rows.swap_remove(root.name as usize);
    }
    rows.sort_by(|one, other| {
        let key = |row: &DiffRow| (row.self_delta().unsigned_abs(), row.total_delta().unsigned_abs());
        key(other).cmp(&key(one)).then_with(|| one.name.cmp(&other.name))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::DiffNode;

    #[test]
    fn c028_diff_signs_and_recursion() {
        let node = |parent, name, left_self, left_total, right_self, right_total| DiffNode {
            parent,
            name,
            left_self,
            left_total,
            right_self,
            right_total,
        };
        let tree = DiffTree {
            nodes: vec![
                node(0, 0, 0, 10, 0, 11),
                node(0, 1, 7, 10, 2, 4),
                node(1, 1, 3, 3, 2, 2),
                node(0, 2, 0, 0, 7, 7),
            ],
            names: vec!["total".into(), "A".into(), "B".into()],
            unit: "count".into(),
            ..DiffTree::default()
        };
        let rows = diff_functions(&tree);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].name.as_str(), rows[0].self_delta(), rows[0].total_delta()), ("B", 7, 7));
        assert_eq!((rows[1].name.as_str(), rows[1].self_delta(), rows[1].total_delta()), ("A", -6, -6));
        assert_eq!((rows[1].left_total, rows[1].right_total), (10, 4));
    }
}
