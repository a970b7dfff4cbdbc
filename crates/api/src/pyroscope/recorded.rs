//! Tests against answers recorded from the original server: same JSON, same layout. Test code only.

use query::{FlameNode, FlameTree};
use serde_json::Value;

use super::flamebearer::{Flamebearer, tree_bytes};
use rpc::{querier::v1 as querier, types::v1 as types};

fn recorded(test: &str, name: &str) -> Option<String> {
    let folder = testkit::skip_without_shared(test)?.join("corpus/wire/pyroscope-connect-json");
    Some(std::fs::read_to_string(folder.join(name)).unwrap())
}

/// Reading a recorded answer and writing it again changes nothing: names, numbers as strings, what is left out.
fn round_trip<M>(json: &str)
where
    M: serde::Serialize + serde::de::DeserializeOwned,
{
    let message: M = serde_json::from_str(json).unwrap();
    let expected: Value = serde_json::from_str(json).unwrap();
    let mut written = serde_json::to_value(&message).unwrap();
    if expected.get("names").is_some_and(|names| names.as_array().is_some_and(Vec::is_empty)) {
        // The original's front end writes an empty list where the rule of the format leaves it out.
        written["names"] = Value::Array(Vec::new());
    }
    assert_eq!(written, without_float_noise(expected));
}

/// JSON has one kind of number: `123` and `123.0` are the same point.
fn without_float_noise(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if name == "value" && field.is_number() {
                    *field = Value::from(field.as_f64().unwrap());
                } else {
                    *field = without_float_noise(field.take());
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_float_noise(item.take())),
        _ => {}
    }
    value
}

#[test]
fn recorded_answers_round_trip() {
    let test = "recorded_answers_round_trip";
    let Some(flames) = recorded(test, "flamegraph.json") else { return };
    round_trip::<querier::SelectMergeStacktracesResponse>(&flames);
    round_trip::<querier::SeriesResponse>(&recorded(test, "series.json").unwrap());
    round_trip::<querier::SelectSeriesResponse>(&recorded(test, "selectseries.json").unwrap());
    round_trip::<types::LabelNamesResponse>(&recorded(test, "labelnames.json").unwrap());
}

#[test]
fn requests_are_read_in_both_spellings() {
    let camel = r#"{"profileTypeID":"a:b:c:d:e","labelSelector":"{}","start":1,"end":"2","maxNodes":"8192","unknown":{"x":1}}"#;
    let snake =
        r#"{"profile_typeID":"a:b:c:d:e","label_selector":"{}","start":"1","end":2,"max_nodes":8192}"#;
    let read = |json| serde_json::from_str::<querier::SelectMergeStacktracesRequest>(json).unwrap();
    assert_eq!(read(camel), read(snake));
    assert_eq!(read(camel).max_nodes, Some(8192));
    let named: querier::SelectMergeStacktracesRequest =
        serde_json::from_str(r#"{"format":"PROFILE_FORMAT_PPROF"}"#).unwrap();
    let numbered: querier::SelectMergeStacktracesRequest = serde_json::from_str(r#"{"format":4}"#).unwrap();
    assert_eq!(named, numbered);
}

/// A recorded flame graph, decoded as clients decode it and laid out again, is the recorded one.
#[test]
fn recorded_layout_is_ours() {
    let Some(json) = recorded("recorded_layout_is_ours", "flamegraph.json") else { return };
    let answer: querier::SelectMergeStacktracesResponse = serde_json::from_str(&json).unwrap();
    let flame = answer.flamegraph.into_option().unwrap();
    let levels: Vec<Vec<i64>> = flame.levels.into_iter().map(|level| level.values).collect();
    let tree = decoded(&flame.names, &levels);
    let ours = Flamebearer::new(tree);
    assert_eq!(named(&ours.names, &ours.levels), named(&flame.names, &levels));
    assert_eq!((ours.total, ours.max_self), (flame.total, flame.max_self));
    assert_eq!(ours.names[0], "total");
}

fn named<'a>(names: &'a [String], levels: &[Vec<i64>]) -> Vec<Vec<(i64, i64, i64, &'a str)>> {
    let node = |four: &[i64]| (four[0], four[1], four[2], names[usize::try_from(four[3]).unwrap()].as_str());
    levels.iter().map(|level| level.chunks_exact(4).map(node).collect()).collect()
}

/// The tree behind levels; a node lies in the parent whose extent it is in.
fn decoded(names: &[String], levels: &[Vec<i64>]) -> FlameTree {
    let mut nodes = Vec::new();
    let mut above: Vec<(u32, i64, i64)> = Vec::new();
    for level in levels {
        let mut row = Vec::new();
        let mut end = 0;
        for four in level.chunks_exact(4) {
            let start = end + four[0];
            end = start + four[1];
            let parent =
                above.iter().find(|(_, from, to)| *from <= start && end <= *to).map_or(0, |found| found.0);
            row.push((u32::try_from(nodes.len()).unwrap(), start, end));
            let name = u32::try_from(four[3]).unwrap();
            nodes.push(FlameNode { parent, name, self_value: four[2], total: four[1] });
        }
        above = row;
    }
    let other = names.iter().position(|name| name == "other").and_then(|name| u32::try_from(name).ok());
    FlameTree { nodes, names: names.to_vec(), other, ..FlameTree::default() }
}

/// Both recorded trees, read and written again in the order in which they came.
#[test]
fn recorded_trees_come_back_byte_for_byte() {
    let Some(shared) = testkit::skip_without_shared("recorded_trees_come_back_byte_for_byte") else { return };
    for side in ["left", "right"] {
        let bytes = std::fs::read(shared.join(format!("corpus/tree/diff_{side}_tree.bin"))).unwrap();
        let records: Vec<_> = formats::TreeReader::new(&bytes).map(Result::unwrap).collect();
        let count = records.len();
        // Siblings come last first, so places are given from the end.
        let place = |index: usize| if index == 0 { 0 } else { count - index };
        let mut names: Vec<String> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let mut nodes = vec![FlameNode { parent: 0, name: 0, self_value: 0, total: 0 }; count];
        let mut open: Vec<(usize, u64)> = Vec::new();
        for (index, record) in records.iter().enumerate() {
            let name = *known.entry(record.name).or_insert_with(|| {
                names.push(String::from_utf8(record.name.to_vec()).unwrap());
                names.len() - 1
            });
            let parent = open.last().map_or(0, |(parent, _)| place(*parent));
            nodes[place(index)] = FlameNode {
                parent: u32::try_from(parent).unwrap(),
                name: u32::try_from(name).unwrap(),
                self_value: i64::try_from(record.self_value).unwrap(),
                total: 0,
            };
            open.push((index, record.children));
            while open.pop_if(|(_, left)| *left == 0).is_some() {
                if let Some((_, left)) = open.last_mut() {
                    *left -= 1;
                }
            }
        }
        let tree = FlameTree { nodes, names, ..FlameTree::default() };
        assert!(tree_bytes(&tree).unwrap() == bytes, "{side}: other bytes");
    }
}
