//! Layouts, number for number.

use query::{DiffNode, FlameNode};

use super::*;

fn position(names: &mut Vec<String>, name: &str) -> u32 {
    let position = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    });
    u32::try_from(position).unwrap()
}

/// `(parent, name, self, total)` per node.
fn tree(nodes: &[(u32, &str, i64, i64)]) -> FlameTree {
    let mut names: Vec<String> = Vec::new();
    let nodes = nodes
        .iter()
        .map(|&(parent, name, self_value, total)| {
            let name = position(&mut names, name);
            FlameNode { parent, name, self_value, total }
        })
        .collect();
    FlameTree {
        nodes,
        files: vec![String::new(); names.len()],
        names,
        unit: "count".into(),
        ..FlameTree::default()
    }
}

/// main;a = 3, main;b;c = 2, main = 1.
fn example() -> FlameTree {
    tree(&[(0, "total", 0, 6), (0, "main", 1, 6), (1, "a", 3, 3), (1, "b", 0, 2), (3, "c", 2, 2)])
}

#[test]
fn the_worked_flame_graph_comes_out_number_for_number() {
    let flame = Flamebearer::new(example());
    assert_eq!(flame.names, ["total", "main", "b", "c", "a"]);
    assert_eq!(
        flame.levels,
        [vec![0, 6, 0, 0], vec![0, 6, 1, 1], vec![1, 3, 3, 4, 0, 2, 0, 2], vec![4, 2, 2, 3]]
    );
    assert_eq!((flame.total, flame.max_self), (6, 3));
}

#[test]
fn the_worked_tree_comes_out_byte_for_byte() {
    let wanted = b"\0\0\x01\x04main\x01\x02\x01b\0\x01\x01c\x02\0\x01a\x03\0";
    assert_eq!(tree_bytes(&example()).unwrap(), wanted);
    assert_eq!(tree_bytes(&FlameTree::default()).unwrap(), [0, 0, 0]);
    let negative = tree(&[(0, "total", 0, -1), (0, "a", -1, -1)]);
    assert_eq!(tree_bytes(&negative).unwrap_err().status(), 400);
}

/// Against main;a = 1, main;d = 4.
#[test]
fn the_worked_comparison_comes_out_number_for_number() {
    let mut names = Vec::new();
    let nodes = [
        (0, "total", 0, 6, 0, 5),
        (0, "main", 1, 6, 0, 5),
        (1, "a", 3, 3, 1, 1),
        (1, "b", 0, 2, 0, 0),
        (3, "c", 2, 2, 0, 0),
        (1, "d", 0, 0, 4, 4),
    ];
    let nodes = nodes.map(|(parent, name, left_self, left_total, right_self, right_total)| DiffNode {
        parent,
        name: position(&mut names, name),
        left_self,
        left_total,
        right_self,
        right_total,
    });
    let flame = DoubleFlamebearer::new(DiffTree { nodes: nodes.to_vec(), names, ..DiffTree::default() });
    assert_eq!(flame.names, ["total", "main", "d", "b", "c", "a"]);
    assert_eq!(
        flame.levels,
        [
            vec![0, 6, 0, 0, 5, 0, 0],
            vec![0, 6, 1, 0, 5, 0, 1],
            vec![1, 3, 3, 0, 1, 1, 5, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 4, 2],
            vec![4, 2, 2, 1, 0, 0, 4],
        ]
    );
    assert_eq!((flame.total, flame.left_ticks, flame.right_ticks, flame.max_self), (11, 6, 5, 4));
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
fn functions_named_other_are_folded_with_what_they_call_and_with_the_rest() {
    let mut names = tree(&[
        (0, "total", 0, 20),
        (0, "main", 1, 20),
        (1, "a", 3, 3),
        (1, "other", 4, 9),
        (3, "z", 5, 5),
        (1, "other", 7, 7),
    ]);
    // The last of them is what a cut left out; a function of the name has a position of its own.
    names.names.push("other".into());
    names.nodes[5].name = u32::try_from(names.names.len() - 1).unwrap();
    names.other = Some(names.nodes[5].name);
    let flame = Flamebearer::new(names.clone());
    assert_eq!(flame.names, ["total", "main", "other", "a"]);
    assert_eq!(flame.levels[2..], [vec![1, 3, 3, 3, 0, 16, 16, 2]]);
    assert_eq!(flame.max_self, 16);
    assert_eq!(tree_bytes(&names).unwrap(), b"\0\0\x01\x04main\x01\x02\x05other\x10\0\x01a\x03\0");
}

#[test]
fn a_comparison_keeps_functions_named_other_and_puts_the_rest_last() {
    let node = |parent, name, left, right| DiffNode {
        parent,
        name,
        left_self: left,
        left_total: left,
        right_self: right,
        right_total: right,
    };
    let mut root = node(0, 0, 0, 0);
    (root.left_total, root.right_total) = (6, 60);
    let tree = DiffTree {
        nodes: vec![root, node(0, 1, 1, 10), node(0, 2, 2, 20), node(0, 3, 3, 30)],
        names: ["total", "other", "other", "z"].map(str::to_owned).to_vec(),
        other: Some(2),
        ..DiffTree::default()
    };
    let flame = DoubleFlamebearer::new(tree);
    assert_eq!(flame.names, ["total", "other", "z"]);
    let level = [[0, 1, 1, 0, 10, 10, 1], [0, 3, 3, 0, 30, 30, 2], [0, 2, 2, 0, 20, 20, 1]];
    assert_eq!(flame.levels[1], level.concat());
}

#[test]
fn c087_nothing_is_a_valid_flame_graph() {
    let empty =
        Flamebearer { names: vec!["total".into()], levels: vec![vec![0, 0, 0, 0]], total: 0, max_self: 0 };
    assert_eq!(Flamebearer::new(FlameTree::default()), empty);
    assert_eq!(Flamebearer::new(tree(&[(0, "total", 0, 0)])), empty);
    let double = DoubleFlamebearer::new(DiffTree::default());
    assert_eq!((double.names, double.levels), (vec!["total".to_owned()], vec![vec![0; 7]]));
}

#[test]
fn c026_deep_recursion_is_laid_out_without_recursion() {
    let mut nodes = vec![(0, "total", 0, 1)];
    for depth in 0..16_384 {
        nodes.push((depth, "f", i64::from(depth == 16_383), 1));
    }
    let tree = tree(&nodes);
    assert_eq!(tree_bytes(&tree).unwrap().len(), 3 + 16_384 * 4);
    assert_eq!(Flamebearer::new(tree).levels.len(), 16_385);
}
