//! Answers of Pyroscope's querier in JSON, read as Grafana reads them: nodes by their places, then a nested set (level,
//! value, self, label) in depth-first order. What must hold of any answer is asserted on the way.

#![allow(clippy::unwrap_used, reason = "a judge stops where an answer makes no sense")]

use std::collections::BTreeMap;

use serde_json::Value;

use crate::graphs::{self, DoubleTree, Tree};

/// A row of a nested set: level, values (total and self per side), label.
pub type Row = (usize, Vec<(i64, i64)>, String);

/// Levels of `sides` sides to a nested set. Both sides of a comparison are laid out side by side: places are summed.
#[must_use]
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
#[must_use]
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

/// The tree of a comparison; what must hold of any is checked on the way.
#[must_use]
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

/// The tree of format TREE, read from its bytes.
#[must_use]
pub fn tree_of_bytes(bytes: &[u8]) -> Tree {
    let mut tree = Tree::new();
    let mut path: Vec<String> = Vec::new();
    let mut left: Vec<u64> = Vec::new();
    let mut stacks: Vec<(Vec<String>, i64)> = Vec::new();
    for (number, record) in formats::TreeReader::new(bytes).enumerate() {
        let record = record.unwrap();
        if number > 0 {
            path.push(String::from_utf8(record.name.to_vec()).unwrap());
        }
        tree.entry(path.clone()).or_default();
        stacks.push((path.clone(), i64::try_from(record.self_value).unwrap()));
        left.push(record.children);
        while left.pop_if(|left| *left == 0).is_some() {
            path.pop();
            if let Some(parent) = left.last_mut() {
                *parent -= 1;
            }
        }
    }
    for (stack, value) in stacks {
        for length in 0..=stack.len() {
            tree.entry(stack[..length].to_vec()).or_default().1 += value;
        }
        tree.get_mut(&stack).unwrap().0 += value;
    }
    tree
}

/// The tree of a pprof message's first column; what has no name is its address.
#[must_use]
pub fn tree_of_pprof(profile: &Value) -> Tree {
    let strings = texts(&profile["stringTable"]);
    let functions: BTreeMap<i64, &str> = list(&profile["function"])
        .iter()
        .map(|function| {
            let name = usize::try_from(number(&function["name"])).unwrap();
            (number(&function["id"]), strings[name].as_str())
        })
        .collect();
    let locations: BTreeMap<i64, &Value> =
        list(&profile["location"]).iter().map(|location| (number(&location["id"]), location)).collect();
    let stacks = list(&profile["sample"]).iter().map(|sample| {
        let mut stack = Vec::new();
        for id in list(&sample["locationId"]).iter().rev() {
            let location = locations[&number(id)];
            let lines = list(&location["line"]);
            let address = || {
                let address: u64 = location["address"].as_str().unwrap_or("0").parse().unwrap();
                format!("0x{address:x}")
            };
            // Inlined functions come first.
            for line in lines.iter().rev() {
                let name = functions[&number(&line["functionId"])];
                stack.push(if name.is_empty() { address() } else { name.to_owned() });
            }
            if lines.is_empty() {
                stack.push(address());
            }
        }
        (stack, number(&sample["value"][0]))
    });
    let stacks: Vec<(Vec<String>, i64)> = stacks.collect();
    graphs::tree(stacks.iter().map(|(stack, value)| (stack.iter().map(String::as_str).collect(), *value)))
}

/// A number of protojson: a text for 64 bits, absent for zero.
#[must_use]
#[track_caller]
pub fn number(value: &Value) -> i64 {
    match value {
        Value::Null => 0,
        Value::String(text) => text.parse().unwrap(),
        other => panic!("{other} is no 64-bit number of protojson"),
    }
}

/// A list, empty where there is none.
#[must_use]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Values of a message's `levels`.
#[must_use]
pub fn levels(value: &Value) -> Vec<Vec<i64>> {
    list(value).iter().map(|level| list(&level["values"]).iter().map(number).collect()).collect()
}

/// A list of texts.
#[must_use]
pub fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}
