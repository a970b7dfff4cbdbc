//! A flame graph as `/pyroscope/render` exports it, read back: levels into stacks with their own values, as pprof.
//!
//! Grafana's apps export flame graphs in this form, and people upload what they exported. Two sides laid over each other
//! (`double`) are refused: which of them should be shown is not said.

use buffa::Message as _;
use rpc::google::v1::{Function, Line, Location, Profile, Sample, ValueType};
use serde::Deserialize;

use crate::{ApiError, ErrorKind, limits};

/// Bytes of such a document: its numbers take up to four times as many in memory.
const BYTES_MAX: usize = 16 << 20;

/// How many bytes are looked at to tell such a document from folded stacks.
const LOOKED_AT: usize = 4 << 10;

#[derive(Deserialize)]
struct Document {
    flamebearer: Flames,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Flames {
    names: Vec<String>,
    levels: Vec<Vec<i64>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    format: String,
    units: String,
    name: String,
    sample_rate: i64,
}

/// A node of the level before, to find parents by place.
#[derive(Clone, Copy)]
struct Placed {
    x: i64,
    end: i64,
    /// Position among all nodes.
    node: usize,
}

/// A node of the graph; its parent stands before it.
struct Node {
    parent: usize,
    name: usize,
    depth: usize,
    own: i64,
}

/// Whether a text is such a document rather than folded stacks.
pub(super) fn is_flame_json(text: &[u8]) -> bool {
    let start = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    let looked_at = &start[..start.len().min(LOOKED_AT)];
    start.first() == Some(&b'{')
        && [&b"\"flamebearer\""[..], b"\"version\""]
            .iter()
            .any(|key| looked_at.windows(key.len()).any(|part| part == *key))
}

/// The document as a profile of one column.
pub(crate) fn to_pprof(text: &[u8]) -> Result<Vec<u8>, ApiError> {
    if text.len() > BYTES_MAX {
        let message = format!("the flame graph has {} bytes (limit {BYTES_MAX})", text.len());
        return Err(ApiError::new(ErrorKind::TooLarge, "profile", message));
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let document: Document = serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
    if !matches!(document.metadata.format.as_str(), "" | "single") {
        return Err(wrong("only a flame graph of one side can be read"));
    }
    let nodes = nodes(&document.flamebearer)?;
    Ok(profile(&document.flamebearer.names, &nodes, &document.metadata)?.encode_to_vec())
}

fn wrong(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorKind::Malformed, "profile", message)
}

/// The graph's nodes, level by level.
fn nodes(flames: &Flames) -> Result<Vec<Node>, ApiError> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut above: Vec<Placed> = Vec::new();
    for (depth, level) in flames.levels.iter().enumerate() {
        let fail = |reason: &str| Err(wrong(format!("flamebearer.levels[{depth}] {reason}")));
        if !level.len().is_multiple_of(4) {
            return fail("does not have four numbers for each node");
        }
        let mut placed = Vec::with_capacity(level.len() / 4);
        let (mut end, mut parents) = (0_i64, above.iter().peekable());
        for node in level.chunks_exact(4) {
            let [gap, total, own, name] = [node[0], node[1], node[2], node[3]];
            let Ok(name) = usize::try_from(name) else { return fail("has a negative name") };
            if name >= flames.names.len() {
                return fail("has a name that is not there");
            }
            let x = end.checked_add(gap);
            let Some((x, after)) = x.and_then(|x| Some((x, x.checked_add(total)?))) else {
                return fail("has numbers that do not fit in 64 bits");
            };
            if gap < 0 || total < 0 || own < 0 || own > total {
                return fail("has a value below zero, or an own value above the total");
            }
            end = after;
            let parent = if depth == 0 {
                0
            } else {
                while parents
                    .next_if(|parent| parent.end <= x && (parent.end < after || parent.x < x))
                    .is_some()
                {}
                match parents.peek() {
                    Some(parent) if parent.x <= x && after <= parent.end => parent.node,
                    _ => return fail("has a node outside of those above it"),
                }
            };
            placed.push(Placed { x, end: after, node: nodes.len() });
            nodes.push(Node { parent, name, depth, own });
        }
        above = placed;
    }
    Ok(nodes)
}

fn profile(names: &[String], nodes: &[Node], metadata: &Metadata) -> Result<Profile, ApiError> {
    let frames: usize = nodes.iter().filter(|node| node.own > 0).map(|node| node.depth).sum();
    if frames > limits::AD_HOC_FRAMES_MAX {
        let message = format!("the stacks have {frames} frames (limit {})", limits::AD_HOC_FRAMES_MAX);
        return Err(ApiError::new(ErrorKind::TooLarge, "profile", message));
    }
    // String 0 is empty; names follow, then type and unit.
    let id = |position: usize| u64::try_from(position + 1).unwrap_or(u64::MAX);
    let text = |position: usize| i64::try_from(position).unwrap_or(i64::MAX);
    let (sample_type, unit) = type_and_unit(metadata);
    let strings = std::iter::once("").chain(names.iter().map(String::as_str)).chain([sample_type, unit]);
    let sample_type = ValueType { r#type: text(names.len() + 1), unit: text(names.len() + 2) };
    Ok(Profile {
        sample_type: vec![sample_type],
        sample: nodes.iter().filter(|node| node.own > 0).map(|node| sample(nodes, node, id)).collect(),
        location: (0..names.len())
            .map(|name| Location {
                id: id(name),
                line: vec![Line { function_id: id(name), ..Default::default() }],
                ..Default::default()
            })
            .collect(),
        function: (0..names.len())
            .map(|name| Function { id: id(name), name: text(name + 1), ..Default::default() })
            .collect(),
        string_table: strings.map(str::to_owned).collect(),
        ..Default::default()
    })
}

/// A node's own value under the names from it up to the root, which itself is no frame.
fn sample(nodes: &[Node], node: &Node, id: impl Fn(usize) -> u64) -> Sample {
    let mut location_id = Vec::with_capacity(node.depth);
    let mut at = node;
    while at.depth > 0 {
        location_id.push(id(at.name));
        at = &nodes[at.parent];
    }
    Sample { location_id, value: vec![node.own], ..Default::default() }
}

/// Sample type and unit behind the words of such documents: `cpu` in "samples" of 1 ns is time.
fn type_and_unit(metadata: &Metadata) -> (&str, &str) {
    let name = if metadata.name.is_empty() { "samples" } else { &metadata.name };
    let unit = match (metadata.units.as_str(), metadata.sample_rate) {
        ("samples", 1_000_000_000) => "nanoseconds",
        ("" | "samples" | "objects", _) => "count",
        (unit, _) => unit,
    };
    (name, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: serde_json::Value) -> Result<Vec<(String, i64)>, ApiError> {
        let pprof = to_pprof(json.to_string().as_bytes())?;
        let mut decoder = formats::Decoder::new();
        let (profile, _) = decoder.pprof(&pprof, &limits::decoder()).unwrap();
        assert_eq!(profile.columns.sample_types.len(), 1);
        let decoded = Profile::decode_from_slice(&pprof).unwrap();
        let name = |id: &u64| decoded.string_table[usize::try_from(*id).unwrap()].clone();
        let stack = |sample: &Sample| -> Vec<String> { sample.location_id.iter().rev().map(name).collect() };
        let mut stacks: Vec<_> =
            decoded.sample.iter().map(|sample| (stack(sample).join(";"), sample.value[0])).collect();
        stacks.sort();
        Ok(stacks)
    }

    #[test]
    fn an_exported_flame_graph_gives_its_stacks_back() {
        let document = serde_json::json!({
            "version": 1,
            "flamebearer": {
                "names": ["total", "main", "b", "c", "a"],
                "levels": [[0, 6, 0, 0], [0, 6, 1, 1], [1, 3, 3, 4, 0, 2, 0, 2], [4, 2, 2, 3]],
                "numTicks": 6, "maxSelf": 3,
            },
            "metadata": { "format": "single", "sampleRate": 1_000_000_000, "units": "samples", "name": "cpu" },
            "timeline": null,
        });
        assert!(is_flame_json(document.to_string().as_bytes()));
        let wanted = [("main".to_owned(), 1), ("main;a".to_owned(), 3), ("main;b;c".to_owned(), 2)];
        assert_eq!(read(document).unwrap(), wanted);
    }

    #[test]
    fn nodes_of_no_width_and_gaps_find_their_parents() {
        let document = serde_json::json!({ "flamebearer": {
            "names": ["total", "a", "z", "b"],
            // a 0–2, z 2–2, b 2–4; below them one child each, z's without width.
            "levels": [[0, 4, 0, 0], [0, 2, 1, 1, 0, 0, 0, 2, 0, 2, 1, 3], [1, 1, 1, 1, 0, 0, 0, 2, 1, 1, 1, 3]],
        } });
        let wanted = [("a", 1), ("a;a", 1), ("b", 1), ("b;b", 1)].map(|(stack, own)| (stack.to_owned(), own));
        assert_eq!(read(document).unwrap(), wanted);
    }

    #[test]
    fn what_is_no_flame_graph_is_named() {
        let levels = |levels: serde_json::Value| {
            read(serde_json::json!({ "flamebearer": { "names": ["total", "a"], "levels": levels } }))
        };
        for (value, word) in [
            (serde_json::json!([[0, 6, 0]]), "levels[0]"),
            (serde_json::json!([[0, 6, 0, 2]]), "name"),
            (serde_json::json!([[0, 6, 0, -1]]), "name"),
            (serde_json::json!([[0, 6, 7, 0]]), "own value"),
            (serde_json::json!([[0, -6, 0, 0]]), "below zero"),
            (serde_json::json!([[0, 6, 0, 0], [3, 4, 4, 1]]), "outside"),
            (serde_json::json!([[0, i64::MAX, 0, 0, 1, 1, 0, 0]]), "64 bits"),
            (serde_json::json!([["a"]]), "invalid type"),
        ] {
            let error = levels(value.clone()).unwrap_err();
            assert!(error.text().contains(word), "{value}: {error}");
            assert_eq!(error.status().as_u16(), 400);
        }
        let double = serde_json::json!({
            "flamebearer": { "names": [], "levels": [] }, "metadata": { "format": "double" },
        });
        assert!(read(double).unwrap_err().text().contains("one side"));
        assert!(!is_flame_json(b"main;{\"version\" 3\n"));
    }

    #[test]
    fn frames_grow_with_the_square_and_are_bounded() {
        // 8,000 levels with an own value at each: 32 million frames.
        let levels: Vec<[i64; 4]> = (0..8_000).map(|depth| [depth.min(1), 8_000 - depth, 1, 0]).collect();
        let document = serde_json::json!({ "flamebearer": { "names": ["f"], "levels": levels } });
        assert_eq!(read(document).unwrap_err().status().as_u16(), 413);
    }
}
