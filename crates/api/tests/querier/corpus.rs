//! Recorded answers and trees of the original server, where the corpus is there.

use std::collections::{BTreeSet, HashMap};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::{
    model,
    server::{ALL, CPU, START, Server, body, levels, texts},
};

/// Names of all fields, by the path that leads to them, with the kind of what is there; lists count as one.
fn shape(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                shape(field, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| shape(item, &format!("{path}[]"), found)),
        Value::String(_) => drop(found.insert(format!("{path} text"))),
        Value::Number(_) => drop(found.insert(format!("{path} number"))),
        other => drop(found.insert(format!("{path} {other}"))),
    }
}

fn shape_of(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    shape(value, "", &mut found);
    found
}

#[test]
fn recorded_answers_have_our_answers_shape() {
    let Some(shared) = testkit::skip_without_shared("recorded_answers_have_our_answers_shape") else {
        return;
    };
    let recorded = |name: &str| -> Value {
        let path = shared.join("corpus/wire/pyroscope-connect-json").join(name);
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let server = Server::start();
    let samples = [("main;work", 3, Vec::new()), ("main", 1, Vec::new())];
    server.push(&[("service_name", "shop")], &body(START, &samples));
    let message = json!({ "profileTypeID": CPU, "labelSelector": "{}", "start": START, "end": START, "step": 15, "labelNames": ["service_name", "__profile_type__"] });
    for (method, file) in [
        ("SelectMergeStacktraces", "flamegraph.json"),
        ("Series", "series.json"),
        ("SelectSeries", "selectseries.json"),
    ] {
        let answer = server.json(method, &message).ok().json();
        assert_eq!(shape_of(&answer), shape_of(&recorded(file)), "{method}");
    }
}

/// Nodes of both sides under one number per path; a parent has a smaller one than its children.
#[derive(Default)]
struct Paths {
    numbers: HashMap<(usize, String), usize>,
    parents: Vec<usize>,
}

/// (Own, total) of both sides by the number of the path.
type Sums = Vec<[(i64, i64); 2]>;

impl Paths {
    fn child(&mut self, parent: usize, name: &str) -> usize {
        let next = self.parents.len() + 1;
        let number = *self.numbers.entry((parent, name.to_owned())).or_insert(next);
        if number == next {
            self.parents.push(parent);
        }
        number
    }
}

fn at(sums: &mut Sums, number: usize) -> &mut [(i64, i64); 2] {
    if sums.len() <= number {
        sums.resize(number + 1, Default::default());
    }
    &mut sums[number]
}

/// Reads a tree into one side of the sums, and gives its stacks.
fn read(bytes: &[u8], side: usize, paths: &mut Paths, sums: &mut Sums) -> Vec<(String, i64)> {
    let mut open: Vec<(usize, u64, usize)> = Vec::new();
    let mut stack = String::new();
    let mut stacks = Vec::new();
    for record in formats::TreeReader::new(bytes) {
        let record = record.unwrap();
        let value = i64::try_from(record.self_value).unwrap();
        let length = stack.len();
        let number = match open.last() {
            None => 0,
            Some((parent, ..)) => {
                let name = std::str::from_utf8(record.name).unwrap();
                stack.push_str(if length == 0 { "" } else { ";" });
                stack.push_str(name);
                paths.child(*parent, name)
            }
        };
        at(sums, number)[side] = (value, value);
        if value > 0 {
            stacks.push((stack.clone(), value));
        }
        open.push((number, record.children, length));
        while let Some((_, _, length)) = open.pop_if(|(_, left, _)| *left == 0) {
            stack.truncate(length);
            if let Some((_, left, _)) = open.last_mut() {
                *left -= 1;
            }
        }
    }
    stacks
}

/// Adds every path to the one above it.
fn roll_up(paths: &Paths, sums: &mut Sums) {
    for number in (1..sums.len()).rev() {
        let [left, right] = sums[number];
        let above = &mut sums[paths.parents[number - 1]];
        above[0].1 += left.1;
        above[1].1 += right.1;
    }
}

/// The cut of a comparison: what is small goes to the nearest parent that stays.
fn cut(paths: &mut Paths, sums: &Sums, nodes_max: usize) -> Sums {
    let largest = |[left, right]: &[(i64, i64); 2]| left.1.max(right.1);
    let mut weights: Vec<i64> = sums.iter().map(largest).collect();
    weights.sort_unstable_by(|left, right| right.cmp(left));
    let smallest = weights[nodes_max - 1];
    let mut kept = Sums::new();
    for (number, values) in sums.iter().enumerate() {
        if largest(values) >= smallest {
            model::add(at(&mut kept, number), values);
            continue;
        }
        let parent = paths.parents[number - 1];
        if largest(&sums[parent]) >= smallest {
            let other = paths.child(parent, "other");
            model::add(at(&mut kept, other), &values.map(|(_, total)| (total, total)));
        }
    }
    kept
}

/// A comparison's nodes: each level is walked beside the one above it.
fn placed(message: &Value, paths: &mut Paths) -> Sums {
    let (names, levels) = (texts(&message["names"]), levels(&message["levels"]));
    let mut sums = Sums::new();
    let mut above: Vec<(i64, usize)> = vec![(i64::MAX, 0)];
    for (depth, values) in levels.iter().enumerate() {
        let (mut ends, mut row, mut parent) = ([0, 0], Vec::new(), 0);
        for node in values.chunks_exact(7) {
            let places = [ends[0] + node[0], ends[1] + node[3]];
            ends = [places[0] + node[1], places[1] + node[4]];
            while ends[0] + ends[1] > above[parent].0 {
                parent += 1;
            }
            let number = match depth {
                0 => 0,
                _ => paths.child(above[parent].1, &names[usize::try_from(node[6]).unwrap()]),
            };
            model::add(at(&mut sums, number), &[(node[2], node[1]), (node[5], node[4])]);
            row.push((ends[0] + ends[1], number));
        }
        above = row;
    }
    sums
}

/// Without numbers that nothing has.
fn there(sums: &Sums) -> Vec<(usize, [(i64, i64); 2])> {
    sums.iter().copied().enumerate().filter(|(_, values)| *values != [(0, 0); 2]).collect()
}

#[test]
fn recorded_trees_come_back_and_their_difference_is_a_naive_one() {
    let test = "recorded_trees_come_back_and_their_difference_is_a_naive_one";
    let Some(shared) = testkit::skip_without_shared(test) else { return };
    let server = Server::start();
    let (mut paths, mut wanted) = (Paths::default(), Sums::new());
    let of = |service: &str, nodes: usize| {
        json!({
            "profileTypeID": CPU, "labelSelector": format!("{{service_name=\"{service}\"}}"), "start": ALL.0,
            "end": ALL.1, "maxNodes": nodes,
        })
    };
    let (mut values, mut again) = (Sums::new(), Sums::new());
    for (side, service) in ["left", "right"].into_iter().enumerate() {
        let bytes = std::fs::read(shared.join(format!("corpus/tree/diff_{service}_tree.bin"))).unwrap();
        let stacks = read(&bytes, side, &mut paths, &mut wanted);
        let samples: Vec<_> =
            stacks.iter().map(|(stack, value)| (stack.as_str(), *value, Vec::new())).collect();
        server.push(&[("service_name", service)], &body(START, &samples));
        let mut message = of(service, 1_048_576);
        message["format"] = json!("PROFILE_FORMAT_TREE");
        let answer = server.json("SelectMergeStacktraces", &message).ok().json();
        let tree =
            base64::engine::general_purpose::STANDARD.decode(answer["tree"].as_str().unwrap()).unwrap();
        // The recorded order of siblings is that of names which were replaced later, so trees are compared by path.
        read(&tree, side, &mut paths, &mut again);
        read(&bytes, side, &mut paths, &mut values);
        assert_eq!(tree.len(), bytes.len(), "{service}");
    }
    assert!(there(&again) == there(&values), "the trees are others");
    roll_up(&paths, &mut wanted);
    let diff = json!({ "left": of("left", 1_048_576), "right": of("right", 0) });
    let diff = server.json("Diff", &diff).ok().json();
    let found = placed(&diff["flamegraph"], &mut paths);
    assert!(there(&found) == there(&wanted), "the difference is another");
    let diff = json!({ "left": of("left", 200), "right": of("right", 0) });
    let diff = server.json("Diff", &diff).ok().json();
    let found = placed(&diff["flamegraph"], &mut paths);
    let wanted = cut(&mut paths, &wanted, 200);
    assert!(there(&found) == there(&wanted), "the cut difference is another");
}
