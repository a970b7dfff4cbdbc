//! Laws of the merge and of the cut, over generated profiles, against a slow and obvious tree.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use query::{Engine, FlameTree, NameMode};
use support::*;

type Stacks = Vec<(Vec<u8>, i64)>;

/// Names repeat, recur within a stack, and one of them is "other".
const NAMES: [&str; 6] = ["a", "b", "c", "other", "zeta", "main"];

fn profiles() -> impl Strategy<Value = Vec<Stacks>> {
    let stack = (prop::collection::vec(0..6_u8, 0..7), 1..40_i64);
    prop::collection::vec(prop::collection::vec(stack, 1..25), 1..7)
}

fn texts(stacks: &Stacks) -> Vec<(String, i64)> {
    let text = |stack: &Vec<u8>| {
        let names: Vec<&str> = stack.iter().map(|&name| NAMES[name as usize]).collect();
        names.join(";")
    };
    stacks.iter().map(|(stack, value)| (text(stack), *value)).collect()
}

/// Each group of profiles becomes a dataset of its own.
fn engine(groups: &[Vec<Stacks>]) -> Engine {
    Engine::over(services(groups).iter().map(Service::dataset).collect())
}

fn services(groups: &[Vec<Stacks>]) -> Vec<Service> {
    let mut services = Vec::new();
    let mut at = 0;
    for group in groups {
        let mut service = Service::new("a");
        for stacks in group {
            let texts = texts(stacks);
            let borrowed: Vec<(&str, i64)> =
                texts.iter().map(|(text, value)| (text.as_str(), *value)).collect();
            service.cpu(&[], at, &borrowed);
            at += 1;
        }
        services.push(service);
    }
    services
}

fn flame(engine: &Engine, nodes_max: usize) -> FlameTree {
    engine.flame(&select("{}"), NameMode::Display, nodes_max, &control()).unwrap().data
}

/// Path → (own value, total), the root under the empty path.
type Oracle = BTreeMap<Vec<String>, (i64, i64)>;

fn oracle(profiles: &[Stacks]) -> Oracle {
    let mut tree = Oracle::new();
    for (text, value) in profiles.iter().flat_map(texts) {
        let path: Vec<String> = match text.as_str() {
            "" => vec!["(no stack)".into()],
            names => names.split(';').map(Into::into).collect(),
        };
        for length in 0..=path.len() {
            let node = tree.entry(path[..length].to_vec()).or_default();
            node.1 += value;
            node.0 += if length == path.len() { value } else { 0 };
        }
    }
    tree
}

/// Takes the heaviest node whose parent is taken, one after the other.
fn oracle_cut(tree: &Oracle, nodes_max: usize) -> Vec<String> {
    let mut kept: Vec<&Vec<String>> = Vec::new();
    while kept.len() < nodes_max.min(tree.len()) {
        let next = tree
            .iter()
            .filter(|(path, _)| !kept.contains(path))
            .filter(|(path, _)| path.is_empty() || kept.iter().any(|kept| **kept == path[..path.len() - 1]))
            .min_by_key(|(path, value)| (-value.1, path.last(), *path))
            .unwrap();
        kept.push(next.0);
    }
    // (path, is other) sorts as the answer does: a function of that name before the rest.
    let mut nodes: BTreeMap<(Vec<String>, bool), (i64, i64)> = BTreeMap::new();
    for path in &kept {
        nodes.insert(((*path).clone(), false), tree[*path]);
        let below: i64 = tree
            .iter()
            .filter(|(child, _)| {
                child.len() == path.len() + 1 && child.starts_with(path) && !kept.contains(child)
            })
            .map(|(_, value)| value.1)
            .sum();
        if below != 0 {
            let mut other = (*path).clone();
            other.push("other".into());
            nodes.insert((other, true), (below, below));
        }
    }
    let mut written: Vec<String> = nodes
        .iter()
        .map(|((path, is_other), (own, total))| {
            let mark = if *is_other { "*" } else { "" };
            let path: Vec<&str> = std::iter::once("total").chain(path.iter().map(String::as_str)).collect();
            format!("{}{mark} {own} {total}", path.join(";"))
        })
        .collect();
    written.sort();
    written
}

fn sorted(tree: &FlameTree) -> Vec<String> {
    let mut lines = lines(tree);
    lines.sort();
    lines
}

/// What every tree must be: parents first, children by name, totals that add up.
fn assert_sound(tree: &FlameTree) {
    let mut totals: Vec<i64> = tree.nodes.iter().map(|node| node.self_value).collect();
    for position in (1..tree.nodes.len()).rev() {
        assert!((tree.nodes[position].parent as usize) < position);
        totals[tree.nodes[position].parent as usize] += totals[position];
    }
    let stated: Vec<i64> = tree.nodes.iter().map(|node| node.total).collect();
    assert_eq!(totals, stated);
    let mut last_child: BTreeMap<u32, (&str, bool)> = BTreeMap::new();
    for node in &tree.nodes[1..] {
        let name = (tree.names[node.name as usize].as_str(), tree.is_other(node));
        if let Some(before) = last_child.insert(node.parent, name) {
            assert!(before < name, "{before:?} before {name:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_tree_equals_the_oracle_however_profiles_are_spread(
        profiles in profiles(),
        split in 0..7_usize,
        turn in 0..7_usize,
    ) {
        let expected = oracle_cut(&oracle(&profiles), usize::MAX);
        let whole = flame(&engine(std::slice::from_ref(&profiles)), 0);
        assert_sound(&whole);
        prop_assert_eq!(sorted(&whole), expected);
        // Commutative and associative: other order, other datasets, the same answer.
        let mut turned = profiles.clone();
        turned.rotate_left(turn % profiles.len());
        let (left, right) = turned.split_at(split % (turned.len() + 1));
        prop_assert_eq!(&flame(&engine(&[left.to_vec(), right.to_vec()]), 0), &whole);
        let single: Vec<Vec<Stacks>> = turned.iter().map(|one| vec![one.clone()]).collect();
        prop_assert_eq!(&flame(&engine(&single), 0), &whole);
        // Some in blocks, some in heads.
        let mixed = services(&[left.to_vec(), right.to_vec()]);
        let mixed = mixed.iter().filter(|service| service.dataset().profile_count() > 0).enumerate();
        let mixed = mixed.map(|(number, service)| if number == 0 { service.packed() } else { service.dataset() });
        prop_assert_eq!(&flame(&Engine::over(mixed.collect()), 0), &whole);
    }

    #[test]
    fn c091_flame_trim_root(profiles in profiles(), nodes_max in 1..40_usize) {
        let uncut = flame(&engine(std::slice::from_ref(&profiles)), 0);
        let answer = engine(std::slice::from_ref(&profiles))
            .flame(&select("{}"), NameMode::Display, nodes_max, &control())
            .unwrap();
        assert_sound(&answer.data);
        prop_assert_eq!(answer.data.nodes[0].total, uncut.nodes[0].total);
        prop_assert_eq!(sorted(&answer.data), oracle_cut(&oracle(&profiles), nodes_max));
        let real = answer.data.nodes.iter().filter(|node| !answer.data.is_other(node)).count();
        prop_assert_eq!(real, nodes_max.min(uncut.nodes.len()));
        prop_assert_eq!(answer.stats.cut_nodes as usize, uncut.nodes.len() - real);
        // Spread over datasets the cut is the same.
        let single: Vec<Vec<Stacks>> = profiles.iter().map(|one| vec![one.clone()]).collect();
        prop_assert_eq!(&flame(&engine(&single), nodes_max), &answer.data);
    }

    #[test]
    fn tables_come_from_the_uncut_tree(profiles in profiles()) {
        let engine = engine(std::slice::from_ref(&profiles));
        let table = engine.top(&select("{}"), NameMode::Display, &control()).unwrap().data;
        let mut expected: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (text, value) in profiles.iter().flat_map(texts) {
            let mut names: Vec<&str> = if text.is_empty() { vec!["(no stack)"] } else { text.split(';').collect() };
            expected.entry((*names.last().unwrap()).into()).or_default().0 += value;
            names.sort_unstable();
            names.dedup();
            for name in names {
                expected.entry(name.into()).or_default().1 += value;
            }
        }
        let rows: BTreeMap<String, (i64, i64)> =
            table.rows.iter().map(|row| (row.name.clone(), (row.self_value, row.total))).collect();
        prop_assert_eq!(rows, expected);
        prop_assert_eq!(table.rows.iter().map(|row| row.self_value).sum::<i64>(), table.total);
    }

    #[test]
    fn a_difference_keeps_both_sides(left in profiles(), right in profiles(), nodes_max in 0..30_usize) {
        let mut service = Service::new("a");
        for (side, profiles) in [("left", &left), ("right", &right)] {
            for (at, stacks) in (0..).zip(profiles) {
                let texts = texts(stacks);
                let borrowed: Vec<(&str, i64)> = texts.iter().map(|(text, value)| (text.as_str(), *value)).collect();
                service.cpu(&[("side", side)], at, &borrowed);
            }
        }
        let diff = service
            .engine()
            .diff(&select("{side=\"left\"}"), &select("{side=\"right\"}"), NameMode::Display, nodes_max, &control())
            .unwrap()
            .data;
        let root = |profiles: &Vec<Stacks>| oracle(profiles)[&Vec::new()].1;
        prop_assert_eq!((diff.nodes[0].left_total, diff.nodes[0].right_total), (root(&left), root(&right)));
        let mut totals: Vec<(i64, i64)> = diff.nodes.iter().map(|node| (node.left_self, node.right_self)).collect();
        for position in (1..diff.nodes.len()).rev() {
            let parent = diff.nodes[position].parent as usize;
            totals[parent].0 += totals[position].0;
            totals[parent].1 += totals[position].1;
        }
        let stated: Vec<(i64, i64)> = diff.nodes.iter().map(|node| (node.left_total, node.right_total)).collect();
        prop_assert_eq!(totals, stated);
        if nodes_max > 0 {
            let real = diff.nodes.iter().filter(|node| Some(node.name) != diff.other).count();
            prop_assert!(real <= nodes_max);
        }
    }

    #[test]
    fn a_merged_pprof_holds_the_same_tree(profiles in profiles(), split in 0..7_usize) {
        let (left, right) = profiles.split_at(split % (profiles.len() + 1));
        let engine = engine(&[left.to_vec(), right.to_vec()]);
        let body = engine.pprof(&select("{}"), &control()).unwrap().data;
        let mut again = Service::new("b");
        decode(&body, |profile| again.push("process_cpu", &[], 0, profile)).unwrap();
        prop_assert_eq!(flame(&again.engine(), 0), flame(&engine, 0));
    }
}
