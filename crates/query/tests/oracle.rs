//! Trees of real profiles against the test kit's oracle, from a head and from a block (D9).

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{collections::BTreeMap, path::PathBuf};

use query::{Engine, FlameTree, NameMode, TypeSelector};
use support::*;
use testkit::Oracle;

/// Own value of every path of display names, root first.
type Paths = BTreeMap<Vec<String>, i64>;

/// What stands for any frame without a name: where its address is counted from differs.
const NAMELESS: &str = "?";

fn of_oracle(oracle: &Oracle, column: usize) -> Paths {
    let mut paths = Paths::new();
    for (path, value) in oracle.tree(column) {
        let shown = |(name, _): &(String, String)| match names::display_name(name, "") {
            Some(shown) if !shown.starts_with("0x") => shown.into_owned(),
            _ => NAMELESS.to_owned(),
        };
        let mut path: Vec<String> = path.iter().map(shown).collect();
        if path.is_empty() {
            path.push("(no stack)".into());
        }
        *paths.entry(path).or_default() += value;
    }
    paths.retain(|_, value| *value != 0);
    paths
}

fn of_tree(tree: &FlameTree) -> Paths {
    let mut paths = Paths::new();
    let mut at: Vec<Vec<String>> = vec![Vec::new()];
    for node in &tree.nodes[1..] {
        let name = &tree.names[node.name as usize];
        let is_address = name.rsplit(' ').next().is_some_and(|last| last.starts_with("0x"));
        let mut path = at[node.parent as usize].clone();
        path.push(if is_address { NAMELESS.into() } else { name.clone() });
        if node.self_value != 0 {
            *paths.entry(path.clone()).or_default() += node.self_value;
        }
        at.push(path);
    }
    paths
}

/// Bytes of a file that the slow judge is still asked about.
const BODY_BYTES_MAX: usize = 200_000;

/// pprof files of the fixtures, and of the shared corpus where it is there.
fn bodies() -> Vec<(String, Vec<u8>)> {
    let mut folders: Vec<PathBuf> = vec![testkit::fixture_path("")];
    if let Some(shared) = testkit::skip_without_shared("trees of the corpus against the oracle") {
        folders.push(shared.join("corpus/pprof"));
    }
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let bodies = files.into_iter().map(|file| (file.display().to_string(), std::fs::read(file).unwrap()));
    bodies.filter(|(_, body)| body.len() <= BODY_BYTES_MAX).collect()
}

#[test]
fn trees_equal_the_oracle() {
    let mut compared = 0;
    for (file, body) in bodies() {
        let mut service = Service::new("a");
        let mut oracle = None;
        let read = decode(&body, |profile| {
            // The oracle knows no negative values.
            if profile.columns.sample_count() > 0 && profile.columns.values.iter().all(|&value| value >= 0) {
                service.push("any", &[], 0, profile);
                oracle = Some(Oracle::of(profile));
            }
        });
        let (Ok(()), Some(oracle)) = (read, oracle) else { continue };
        for dataset in [service.dataset(), service.packed()] {
            let series_type = dataset.series(0).series_type.clone();
            let engine = Engine::over(vec![dataset]);
            for column in 0..series_type.columns.len() {
                let profile_type = TypeSelector::Exact(series_type.profile_type(column).unwrap());
                let selection = query::Selection { profile_type, ..select("{}") };
                let tree = engine.flame(&selection, NameMode::Display, 0, &control()).unwrap().data;
                assert_eq!(tree.nodes[0].total, oracle.total(column), "{file}");
                assert!(of_tree(&tree) == of_oracle(&oracle, column), "{file}, column {column}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0, "no fixture was read");
}
