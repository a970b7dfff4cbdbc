//! Where the boxes of a tree stand: depth, left edge and width, from own values alone.
//!
//! A box is as wide as the *sizes* of the own values below it, so a profile with negative values (a difference) still
//! has boxes that lie inside their parent and are never of negative width (C028). Without negative values that is
//! the total.

use query::{DiffTree, FlameTree};

/// One box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Position of the parent; the root is its own parent.
    pub parent: u32,
    /// Rows above it.
    pub depth: u32,
    /// Left edge, in the unit of `width`.
    pub left: u64,
    /// Width; the root's is that of everything.
    pub width: u64,
    /// Position after the last node below this one (nodes stand in depth-first order).
    pub end: u32,
}

/// The places of all nodes of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// One per node, in the tree's order.
    pub places: Vec<Place>,
    /// Rows of the whole drawing.
    pub rows: u32,
}

impl Shape {
    /// The places of a merged tree.
    #[must_use]
    pub fn of_flame(tree: &FlameTree) -> Self {
        Self::build(tree.nodes.iter().map(|node| (node.parent, node.self_value.unsigned_abs())))
    }

    /// The places of a comparison: both sides together, so that what is on one side only has a box, too.
    #[must_use]
    pub fn of_diff(tree: &DiffTree) -> Self {
        Self::build(tree.nodes.iter().map(|node| {
            (node.parent, node.left_self.unsigned_abs().saturating_add(node.right_self.unsigned_abs()))
        }))
    }

    /// Width of everything.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.places.first().map_or(0, |root| root.width)
    }

    fn build(nodes: impl Iterator<Item = (u32, u64)>) -> Self {
        let mut places: Vec<Place> =
            nodes.map(|(parent, width)| Place { parent, depth: 0, left: 0, width, end: 0 }).collect();
        let mut rows = 0;
        for position in (0..places.len()).rev() {
            let at = u32::try_from(position).unwrap_or(u32::MAX);
            let place = &mut places[position];
            place.end = place.end.max(at.saturating_add(1));
            let (width, end, parent) = (place.width, place.end, place.parent as usize);
            if parent < position {
                places[parent].width = places[parent].width.saturating_add(width);
                places[parent].end = places[parent].end.max(end);
            }
        }
        // `cursor[p]` is where the next child of p begins.
        let mut cursor = vec![0u64; places.len()];
        for position in 0..places.len() {
            let parent = places[position].parent as usize;
            if parent < position {
                places[position].depth = places[parent].depth + 1;
                places[position].left = cursor[parent];
                cursor[parent] = cursor[parent].saturating_add(places[position].width);
            }
            cursor[position] = places[position].left;
            rows = rows.max(places[position].depth + 1);
        }
        Self { places, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::{DiffNode, FlameNode};

    fn flame(nodes: &[(u32, i64)]) -> FlameTree {
        FlameTree {
            nodes: nodes
                .iter()
                .map(|&(parent, self_value)| FlameNode { parent, name: 0, self_value, total: 0 })
                .collect(),
            ..FlameTree::default()
        }
    }

    #[test]
    fn children_lie_side_by_side_inside_their_parent() {
        let shape = Shape::of_flame(&flame(&[(0, 0), (0, 1), (1, 2), (1, 3), (0, 4)]));
        let seen: Vec<_> =
            shape.places.iter().map(|place| (place.depth, place.left, place.width, place.end)).collect();
        assert_eq!(seen, [(0, 0, 10, 5), (1, 0, 6, 4), (2, 0, 2, 3), (2, 2, 3, 4), (1, 6, 4, 5)]);
        assert_eq!(shape.rows, 3);
    }

    #[test]
    fn c026_deep_recursion_is_laid_out_without_recursion() {
        let nodes: Vec<(u32, i64)> = (0..100_000u32).map(|depth| (depth.saturating_sub(1), 1)).collect();
        let shape = Shape::of_flame(&flame(&nodes));
        assert_eq!(shape.rows, 100_000);
        assert_eq!(shape.places[99_999].width, 1);
        assert_eq!(shape.width(), 100_000);
    }

    #[test]
    fn c028_differences_never_have_negative_widths() {
        let node = |left_self, right_self| DiffNode {
            parent: 0,
            name: 0,
            left_self,
            left_total: 0,
            right_self,
            right_total: 0,
        };
        let tree = DiffTree {
            nodes: vec![node(0, 0), node(10, 4), node(0, 7), node(-3, 0)],
            names: vec![String::new()],
            ..DiffTree::default()
        };
        let shape = Shape::of_diff(&tree);
        assert_eq!(shape.places.iter().map(|place| place.width).collect::<Vec<_>>(), [24, 14, 7, 3]);
    }
}
