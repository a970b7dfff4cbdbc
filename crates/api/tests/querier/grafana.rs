//! What Grafana does with levels: nodes by their places, then a nested set (level, value, self, label) in depth-first
//! order. The tree in it is the native API's.

use serde_json::{Value, json};
pub use testkit::grafana::{double, nested_set, single};
use testkit::{Random, encoded, grafana::Row};

use crate::{
    model::{self, Profile},
    server::{CPU, Server, levels, texts},
};

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
