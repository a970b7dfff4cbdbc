//! The binary flame reply over a real socket holds what the JSON reply holds, to the last digit.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{collections::BTreeMap, io::Read};

use serde_json::Value;
use support::{Reply, TestServer, encoded};
use testkit::{FlameDump, fixture, read_flame};

const BINARY: (&str, &str) = ("accept", "application/vnd.everflame.flame");

fn numbers(reply: &Value, column: &str) -> Vec<i64> {
    reply[column].as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect()
}

/// Path of each node, own values, totals; and totals of what was cut by the path of its parent.
type Content = (Vec<(String, Vec<i64>, Vec<i64>)>, BTreeMap<String, Vec<i64>>);

/// Content of a JSON reply; `selfs` and `totals` name its value columns.
fn of_json(reply: &Value, selfs: &[&str], totals: &[&str]) -> Content {
    let names: Vec<&str> =
        reply["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let (parents, name_of) = (numbers(reply, "parent"), numbers(reply, "name"));
    let columns = |words: &[&str]| words.iter().map(|word| numbers(reply, word)).collect::<Vec<_>>();
    let (selfs, totals) = (columns(selfs), columns(totals));
    let row = |columns: &[Vec<i64>], node: usize| columns.iter().map(|of| of[node]).collect::<Vec<_>>();
    let (mut paths, mut content, mut rest) = (Vec::<String>::new(), Vec::new(), BTreeMap::new());
    for node in 0..parents.len() {
        let parent = usize::try_from(parents[node]).unwrap();
        if node > 0 && reply["other"].as_i64() == Some(name_of[node]) {
            rest.insert(paths[parent].clone(), row(&totals, node));
            paths.push(String::new());
            continue;
        }
        let name = names[usize::try_from(name_of[node]).unwrap()];
        let path = if node == 0 { String::new() } else { format!("{}\n{name}", paths[parent]) };
        content.push((path.clone(), row(&selfs, node), row(&totals, node)));
        paths.push(path);
    }
    content.sort();
    (content, rest)
}

fn of_binary(dump: &FlameDump) -> Content {
    let mut open: Vec<&str> = Vec::new();
    let paths: Vec<String> = dump
        .nodes
        .iter()
        .map(|node| {
            open.truncate(usize::from(node.depth));
            open.push(&dump.frames[node.frame as usize].name);
            open.join("\n")
        })
        .collect();
    let rest = dump.rest.iter().map(|rest| (paths[rest.parent as usize].clone(), rest.totals.clone()));
    (dump.paths(), rest.collect())
}

#[track_caller]
fn assert_same(server: &TestServer, path: &str, selfs: &[&str], totals: &[&str]) -> FlameDump {
    let json = server.get(path).expect(200).json();
    let binary = server.call("GET", path, &[BINARY], None).expect(200);
    assert_eq!(binary.header("content-type"), Some("application/vnd.everflame.flame"));
    let dump = read_flame(&binary.body).unwrap();
    assert_eq!(of_binary(&dump), of_json(&json, selfs, totals), "{path}");
    let mut stats = json["stats"].clone();
    // The end of the range is the moment of each request.
    stats["to"] = dump.meta["stats"]["to"].clone();
    stats["from"] = dump.meta["stats"]["from"].clone();
    assert_eq!(dump.meta["stats"], stats);
    assert_eq!(dump.meta["unit"], json["unit"]);
    let counted: u64 = dump.rest.iter().map(|rest| u64::from(rest.count)).sum();
    assert_eq!(Some(counted), json["stats"]["cut_nodes"].as_u64());
    dump
}

fn server_with_fixtures() -> TestServer {
    let server = TestServer::start(&[]);
    for (parameters, name) in [
        ("service=hot", "go-hot/cpu.pb.gz"),
        ("service=hot&type=heap", "go-hot/heap.pb.gz"),
        ("service=compiler", "go-compiler/cpu.pb.gz"),
        ("service=rust", "rust-hot/cpu.pb"),
        ("service=node", "node-hot/cpu.pb.gz"),
    ] {
        server.post(&format!("/api/v1/push?{parameters}"), &fixture(name)).expect(200);
    }
    server
}

#[test]
fn it_holds_what_json_holds() {
    let server = server_with_fixtures();
    let (selfs, totals) = (["self"], ["node_total"]);
    for selector in [
        r#"cpu{service_name="hot"}"#,
        r#"inuse_space{service_name="hot"}"#,
        r#"cpu{service_name="compiler"}"#,
        r#"cpu{service_name="rust"}"#,
        r#"cpu{service_name="node"}"#,
        r#"cpu{service_name="nobody"}"#,
    ] {
        for rest in ["max_nodes=40", "max_nodes=100000", "max_nodes=100000&names=raw"] {
            let path = format!("/api/v1/flame?q={}&from=0&{rest}", encoded(selector));
            let dump = assert_same(&server, &path, &selfs, &totals);
            assert_eq!(dump.flags & 1, 0);
            let total = dump.nodes[0].totals[0].to_string();
            assert_eq!(dump.meta["totals"], serde_json::json!([total]));
        }
    }
    let side = |side: &str, service: &str| {
        format!("{side}={}&{side}_from=0", encoded(&format!("cpu{{service_name=\"{service}\"}}")))
    };
    for (left, right) in [("hot", "compiler"), ("hot", "nobody"), ("compiler", "compiler")] {
        for rest in ["max_nodes=60", "max_nodes=100000"] {
            let path = format!("/api/v1/diff?{}&{}&{rest}", side("left", left), side("right", right));
            let columns = (["left_self", "right_self"], ["left_total", "right_total"]);
            let dump = assert_same(&server, &path, &columns.0, &columns.1);
            assert_eq!(dump.flags & 1, 1);
        }
    }
}

#[test]
fn packages_and_kinds_are_said() {
    let server = server_with_fixtures();
    let path = format!("/api/v1/flame?q={}&from=0", encoded(r#"cpu{service_name="hot"}"#));
    let dump = read_flame(&server.call("GET", &path, &[BINARY], None).expect(200).body).unwrap();
    assert_eq!(dump.meta["sample_type"], "cpu");
    let runtime: Vec<_> = dump.frames.iter().filter(|frame| frame.name.starts_with("runtime.")).collect();
    assert!(runtime.iter().any(|frame| frame.file.ends_with(".go")));
    for frame in runtime {
        // What is written in assembly is native code.
        let kind = if frame.file.ends_with(".go") { 2 } else { 0 };
        assert_eq!((frame.package.as_str(), frame.kind), ("runtime", kind), "{frame:?}");
    }
}

fn inflated(reply: &Reply) -> Vec<u8> {
    let mut body = Vec::new();
    match reply.header("content-encoding") {
        None => body.clone_from(&reply.body),
        Some("gzip") => _ = flate2::read::GzDecoder::new(&*reply.body).read_to_end(&mut body).unwrap(),
        Some(other) => panic!("{other}"),
    }
    body
}

#[test]
fn it_is_compressed_for_who_can_read_that() {
    let server = server_with_fixtures();
    let path =
        format!("/api/v1/flame?q={}&from=0&to=1900000000000", encoded(r#"cpu{service_name="compiler"}"#));
    let of = |accept: &str, encoding: &str| {
        server.call("GET", &path, &[("accept", accept), ("accept-encoding", encoding)], None).expect(200)
    };
    for accept in [BINARY.1, "application/json"] {
        let plain = of(accept, "identity");
        let packed = of(accept, "gzip");
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert_eq!(packed.header("vary"), Some("accept, accept-encoding"));
        assert!(packed.body.len() * 2 < plain.body.len());
        let same = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).len();
        assert_eq!(same(inflated(&packed)), same(inflated(&plain)));
        let zstd = of(accept, "gzip, deflate, br, zstd");
        assert_eq!(zstd.header("content-encoding"), Some("zstd"));
        assert_eq!(zstd.body[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    }
    let top = format!("/api/v1/top?q={}&from=0", encoded(r#"cpu{service_name="compiler"}"#));
    let top = server.call("GET", &top, &[("accept-encoding", "gzip")], None).expect(200);
    assert_eq!(top.header("content-encoding"), Some("gzip"));
}
