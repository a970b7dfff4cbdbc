//! What Grafana does with levels: nodes by their places, then a nested set (level, value, self, label) in depth-first
//! order. The tree in it is the native API's.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{Random, encoded};

use crate::{
    model::{self, DoubleTree, Profile, Tree},
    server::{CPU, Server, levels, number, texts},
};

/// A row of a nested set: level, values (total and self per side), label.
pub type Row = (usize, Vec<(i64, i64)>, String);

/// Levels of `sides` sides to a nested set. Both sides of a comparison are laid out side by side: places are summed.
#[track_caller]
pub fn nested_set(names: &[String], levels: &[Vec<i64>], sides: usize) -> Vec<Row> {
    struct Placed {
        from: i64,
        to: i64,
        row: Row,
        children: Vec<Placed>,
    }
    fn flatten(node: Placed, rows: &mut Vec<Row>) {
        rows.push(node.row);
        node.children.into_iter().for_each(|child| flatten(child, rows));
    }
    let width = sides * 3 + 1;
    let mut rows_of_levels: Vec<Vec<Placed>> = Vec::new();
    for (depth, values) in levels.iter().enumerate() {
        assert_eq!(values.len() % width, 0);
        let mut ends = vec![0; sides];
        let place = |node: &[i64]| {
            let mut from = 0;
            let mut sums = Vec::new();
            for (side, end) in ends.iter_mut().enumerate() {
                let x = *end + node[side * 3];
                *end = x + node[side * 3 + 1];
                from += x;
                sums.push((node[side * 3 + 1], node[side * 3 + 2]));
            }
            let to = from + sums.iter().map(|(total, _)| total).sum::<i64>();
            let name = names[usize::try_from(node[width - 1]).unwrap()].clone();
            Placed { from, to, row: (depth, sums, name), children: Vec::new() }
        };
        rows_of_levels.push(values.chunks_exact(width).map(place).collect());
    }
    // From the deepest level up every node goes into the one whose place it lies in.
    let mut below: Vec<Placed> = Vec::new();
    while let Some(mut level) = rows_of_levels.pop() {
        for child in below {
            let parent = level.iter_mut().find(|parent| parent.from <= child.from && child.to <= parent.to);
            parent.unwrap_or_else(|| panic!("{:?} lies in no node", child.row)).children.push(child);
        }
        below = level;
    }
    let mut rows = Vec::new();
    below.into_iter().for_each(|root| flatten(root, &mut rows));
    rows
}

/// Paths of a nested set with (own, total) per side; equal paths are added up.
fn paths(rows: &[Row]) -> BTreeMap<Vec<String>, Vec<(i64, i64)>> {
    let mut path: Vec<String> = Vec::new();
    let mut found: BTreeMap<Vec<String>, Vec<(i64, i64)>> = BTreeMap::new();
    for (level, values, name) in rows {
        path.truncate(level.saturating_sub(1));
        if *level > 0 {
            path.push(name.clone());
        }
        let sums = found.entry(path.clone()).or_insert_with(|| vec![(0, 0); values.len()]);
        for (sum, (total, own)) in sums.iter_mut().zip(values) {
            *sum = (sum.0 + own, sum.1 + total);
        }
    }
    found
}

/// The tree of a flame graph message; what must hold of any is checked on the way.
#[track_caller]
pub fn single(message: &Value) -> Tree {
    let (names, levels) = (texts(&message["names"]), levels(&message["levels"]));
    assert_eq!(names[0], "total");
    assert_eq!(levels[0], [0, number(&message["total"]), 0, 0], "Grafana reads the root from here");
    let mut once = names.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), names.len(), "a name is there once: {names:?}");
    let rows = nested_set(&names, &levels, 1);
    let max_self = rows.iter().map(|(_, values, _)| values[0].1).max().unwrap();
    assert_eq!(number(&message["maxSelf"]), max_self);
    // The rest of a cut is the last child.
    for (at, (level, _, name)) in rows.iter().enumerate() {
        let next = rows[at + 1..].iter().find(|(other, ..)| other <= level);
        assert!(name != "other" || next.is_none_or(|(other, ..)| other < level), "{rows:?}");
    }
    paths(&rows).into_iter().map(|(path, values)| (path, values[0])).collect()
}

#[track_caller]
pub fn double(message: &Value) -> DoubleTree {
    let (names, levels) = (texts(&message["names"]), levels(&message["levels"]));
    let (left, right) = (number(&message["leftTicks"]), number(&message["rightTicks"]));
    assert_eq!((names[0].as_str(), &levels[0][..]), ("total", &[0, left, 0, 0, right, 0, 0][..]));
    assert_eq!(number(&message["total"]), left + right);
    let rows = nested_set(&names, &levels, 2);
    let max_self = rows.iter().flat_map(|(_, values, _)| values).map(|(_, own)| *own).max().unwrap();
    assert_eq!(number(&message["maxSelf"]), max_self);
    paths(&rows).into_iter().map(|(path, values)| (path, [values[0], values[1]])).collect()
}

/// The native API's tree as a nested set, without names of its own.
fn native(reply: &Value, columns: &[(&str, &str)]) -> Vec<Row> {
    let numbers = |field: &str| -> Vec<i64> {
        reply[field].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
    };
    let (parents, names) = (numbers("parent"), numbers("name"));
    let values: Vec<_> = columns.iter().map(|(own, total)| (numbers(total), numbers(own))).collect();
    let labels = texts(&reply["names"]);
    let mut depths: Vec<usize> = Vec::new();
    (0..parents.len())
        .map(|node| {
            let depth = if node == 0 { 0 } else { depths[usize::try_from(parents[node]).unwrap()] + 1 };
            depths.push(depth);
            let label = labels[usize::try_from(names[node]).unwrap()].clone();
            (depth, values.iter().map(|(total, own)| (total[node], own[node])).collect(), label)
        })
        .collect()
}

/// Functions really named `other` are folded by these APIs alone.
fn without_other(mut profiles: Vec<Profile>) -> Vec<Profile> {
    for sample in profiles.iter_mut().flat_map(|profile| &mut profile.samples) {
        sample.stack.iter_mut().filter(|name| **name == "other").for_each(|name| *name = "another");
    }
    profiles
}

#[test]
fn grafanas_nested_set_is_the_native_tree() {
    for seed in 0..12 {
        let mut random = Random::new(seed, 1);
        let profiles = without_other(model::profiles(&mut random));
        let server = Server::start();
        model::push(&server, &profiles, &mut random);
        for selector in ["{}", "{service_name=\"shop\"}", "{endpoint=\"/x\"}"] {
            let message = json!({ "profileTypeID": CPU, "labelSelector": selector });
            let flames = &server.ask("SelectMergeStacktraces", message)["flamegraph"];
            let ours = nested_set(&texts(&flames["names"]), &levels(&flames["levels"]), 1);
            let query = encoded(&format!("cpu{selector}"));
            let reply = server.get(&format!("/api/v1/flame?q={query}&from=1971-01-01T00:00:00Z")).ok().json();
            assert_eq!(ours, native(&reply, &[("self", "node_total")]), "seed {seed} {selector}");
        }
    }
}

#[test]
fn grafanas_comparison_is_the_native_one() {
    for seed in 0..12 {
        let mut random = Random::new(seed, 2);
        let profiles = without_other(model::profiles(&mut random));
        let server = Server::start();
        model::push(&server, &profiles, &mut random);
        let side = |selector: &str| json!({ "profileTypeID": CPU, "labelSelector": selector, "start": 1, "end": "4000000000000" });
        let sides = ["{service_name=\"shop\"}", "{service_name=\"cart\"}"];
        let diff =
            &server.ask("Diff", json!({ "left": side(sides[0]), "right": side(sides[1]) }))["flamegraph"];
        let ours = nested_set(&texts(&diff["names"]), &levels(&diff["levels"]), 2);
        let [left, right] = sides.map(|selector| encoded(&format!("cpu{selector}")));
        let range = "left_from=1971-01-01T00:00:00Z&right_from=1971-01-01T00:00:00Z";
        let reply = server.get(&format!("/api/v1/diff?left={left}&right={right}&{range}")).ok().json();
        let columns = [("left_self", "left_total"), ("right_self", "right_total")];
        assert_eq!(ours, native(&reply, &columns), "seed {seed}");
    }
}
