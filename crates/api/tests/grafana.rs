//! Requests as Grafana's data source, Explore and the Profiles Drilldown app send them, and what they make of the answers.
//!
//! Built from the protocol, not recorded. The data source is a Connect client in Go: protobuf, gzip. The app speaks JSON
//! through Grafana's proxy. Both are rebuilt here as far as they look into answers.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use buffa::Message as _;
use rpc::{querier::v1::*, types::v1 as types};
use serde_json::{Value, json};
use support::{Reply, Server};

const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
const START: i64 = 1_730_000_000;
const SECOND: f64 = 1e9;

async fn filled() -> Server {
    let server = Server::start().await;
    for (pod, from) in [("a", START), ("b", START + 15)] {
        let path = format!("/ingest?name=checkout%7Bpod%3D{pod}%7D&from={from}&sampleRate=100");
        server.call("POST", &path, &[], "main;a 300\nmain;b;c 200\nmain 100\n").await.expect(200);
    }
    server
}

/// As the data source's backend: protobuf in gzip, gzip accepted, headers of the Go client.
async fn backend(server: &Server, method: &str, message: &[u8]) -> Reply {
    let headers = [
        ("content-type", "application/proto"),
        ("content-encoding", "gzip"),
        ("accept-encoding", "identity"),
        ("connect-protocol-version", "1"),
        ("connect-timeout-ms", "30000"),
        ("user-agent", "connect-go/1.19.1 (go1.25)"),
        ("x-grafana-org-id", "1"),
    ];
    let path = format!("/querier.v1.QuerierService/{method}");
    let reply = server.call("POST", &path, &headers, formats::gzip(message)).await.expect(200);
    assert_eq!(reply.header("content-type"), "application/proto");
    reply
}

/// As the app: JSON through the proxy.
async fn app(server: &Server, path: &str, message: Value) -> Value {
    let headers = [("accept", "*/*;allow-utf8-labelnames=true"), ("x-grafana-device-id", "x")];
    server.rpc_with(path, &headers, message).await.expect(200).json()
}

/// A row of a nested set: level, total, own value, label.
type Row = (usize, i64, i64, String);

/// Levels to a nested set, as the data source turns them: each node goes below the node above it whose place holds its own.
fn nested_set(flames: &FlameGraph) -> Vec<Row> {
    fn walk(levels: &[Vec<(i64, Row)>], depth: usize, (from, to): (i64, i64), rows: &mut Vec<Row>) {
        let Some(level) = levels.get(depth) else { return };
        for (x, row) in level.iter().filter(|(x, row)| from <= *x && x + row.1 <= to) {
            rows.push(row.clone());
            walk(levels, depth + 1, (*x, x + row.1), rows);
        }
    }
    let levels: Vec<Vec<(i64, Row)>> = flames
        .levels
        .iter()
        .enumerate()
        .map(|(depth, level)| {
            let mut end = 0;
            let place = |node: &[i64]| {
                let x = end + node[0];
                end = x + node[1];
                let label = flames.names[usize::try_from(node[3]).unwrap()].clone();
                (x, (depth, node[1], node[2], label))
            };
            level.values.chunks_exact(4).map(place).collect()
        })
        .collect();
    let mut rows = Vec::new();
    walk(&levels, 0, (0, flames.total), &mut rows);
    rows
}

#[tokio::test]
async fn the_health_check_has_no_range() {
    let server = Server::start().await;
    let reply = backend(&server, "ProfileTypes", b"").await;
    assert!(ProfileTypesResponse::decode_from_slice(&reply.body).unwrap().profile_types.is_empty());
    server.call("POST", "/ingest?name=app&from=now-5m", &[], "main 1\n").await.expect(200);
    let reply = backend(&server, "ProfileTypes", b"").await;
    assert_eq!(ProfileTypesResponse::decode_from_slice(&reply.body).unwrap().profile_types[0].ID, CPU);
}

/// Go's heap says the size of each allocation as a number at the sample, which is no label of the series.
#[tokio::test]
async fn series_of_a_heap_are_one_for_each_type() {
    let server = Server::start().await;
    let path = "/ingest?name=checkout%7Bpod%3Da%7D&format=pprof";
    server.call("POST", path, &[], testkit::fixture("go-hot/heap.pb.gz")).await.expect(200);
    let series = "/querier.v1.QuerierService/Series";
    // The time is the profile's own.
    let range = json!({ "start": 1, "end": 4_000_000_000_000_i64 });
    for names in [json!([]), json!(["service_name", "pod", "bytes", "__profile_type__"])] {
        let mut message = range.clone();
        message["labelNames"] = names;
        let answer = app(&server, series, message).await;
        let sets = answer["labelsSet"].as_array().unwrap();
        let value = |set: &Value, name: &str| {
            let labels = set["labels"].as_array().unwrap().iter();
            let mut found = labels.filter(|label| label["name"] == name);
            found.next().map(|label| label["value"].as_str().unwrap().to_owned())
        };
        let types: Vec<_> = sets.iter().map(|set| value(set, "__profile_type__").unwrap()).collect();
        let kinds = ["alloc_objects:count", "alloc_space:bytes", "inuse_objects:count", "inuse_space:bytes"];
        assert_eq!(types, kinds.map(|kind| format!("memory:{kind}:space:bytes")), "{answer}");
        for set in sets {
            assert_eq!(value(set, "bytes"), None);
            assert_eq!(value(set, "pod").as_deref(), Some("a"));
        }
    }
}

#[tokio::test]
async fn explore_shows_the_flame_graph_and_the_series() {
    let server = filled().await;
    let (start, end) = (START * 1000, (START + 60) * 1000);
    let merge = SelectMergeStacktracesRequest {
        profile_typeID: CPU.into(),
        label_selector: "{service_name=\"checkout\"}".into(),
        start,
        end,
        max_nodes: Some(16_384),
        ..Default::default()
    };
    let reply = backend(&server, "SelectMergeStacktraces", &merge.encode_to_vec()).await;
    let answer = SelectMergeStacktracesResponse::decode_from_slice(&reply.body).unwrap();
    let ns = 10_000_000;
    let row = |level, total: i64, own: i64, label: &str| (level, total * ns, own * ns, label.to_owned());
    let wanted = [
        row(0, 1200, 0, "total"),
        row(1, 1200, 200, "main"),
        row(2, 600, 600, "a"),
        row(2, 400, 0, "b"),
        row(3, 400, 400, "c"),
    ];
    assert_eq!(nested_set(answer.flamegraph.as_option().unwrap()), wanted);
    let series = SelectSeriesRequest {
        profile_typeID: CPU.into(),
        label_selector: "{service_name=\"checkout\"}".into(),
        start,
        end,
        group_by: vec!["pod".into()],
        step: 15.0,
        limit: Some(10),
        exemplar_type: types::ExemplarType::EXEMPLAR_TYPE_INDIVIDUAL.into(),
        ..Default::default()
    };
    let reply = backend(&server, "SelectSeries", &series.encode_to_vec()).await;
    let answer = SelectSeriesResponse::decode_from_slice(&reply.body).unwrap();
    // A frame per series: its name from the labels, CPU time by the step as cores.
    let mut frames: Vec<(String, i64, f64)> = answer
        .series
        .iter()
        .map(|series| {
            let point = &series.points[0];
            assert_eq!(series.points.len(), 1);
            assert_eq!(point.exemplars[0].profile_id.len(), 36);
            (series.labels[0].value.clone(), point.timestamp, point.value / SECOND / 15.0)
        })
        .collect();
    frames.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(frames, [("a".to_owned(), start, 0.4), ("b".to_owned(), start + 15_000, 0.4)]);
}

#[tokio::test]
async fn drilldown_makes_its_calls() {
    let server = filled().await;
    let (start, end) = (START * 1000, (START + 60) * 1000);
    let landing = json!({ "start": start, "end": end, "labelNames": ["service_name", "__profile_type__"], "matchers": [] });
    let sets = app(&server, "/querier.v1.QuerierService/Series", landing).await;
    let pair = |name: &str, value: &str| json!({ "name": name, "value": value });
    let labels = json!([pair("__profile_type__", CPU), pair("service_name", "checkout")]);
    assert_eq!(sets, json!({ "labelsSet": [{ "labels": labels }] }));
    let matcher = format!("{{__profile_type__=\"{CPU}\",service_name=\"checkout\"}}");
    let names = json!({ "matchers": [matcher], "start": start, "end": end });
    let names = app(&server, "/querier.v1.QuerierService/LabelNames", names).await;
    assert!(names["names"].as_array().unwrap().contains(&json!("pod")), "{names}");
    let values = json!({ "name": "pod", "matchers": [matcher], "start": start, "end": end });
    let values = app(&server, "/querier.v1.QuerierService/LabelValues", values).await;
    assert_eq!(values, json!({ "names": ["a", "b"] }));
    // Snake case, as the app spells these two.
    let details = json!({ "profile_typeID": CPU, "label_selector": "{service_name=\"checkout\"}", "start": start, "end": end,
        "max_nodes": 500, "stackTraceSelector": { "call_site": [{ "name": "main" }, { "name": "b" }] } });
    let profile = app(&server, "/querier.v1.QuerierService/SelectMergeProfile", details).await;
    let sum: i64 = profile["sample"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["value"][0].as_str().unwrap().parse::<i64>().unwrap())
        .sum();
    assert_eq!(sum, 4_000_000_000);
    let stats = app(&server, "/querier.v1.QuerierService/GetProfileStats", json!({})).await;
    assert_eq!(stats["oldestProfileTime"], start.to_string());
    let setting = json!({ "setting": { "name": "pluginSettings", "value": "{\"maxNodes\":16384}", "modifiedAt": end } });
    app(&server, "/settings.v1.SettingsService/Set", setting).await;
    let settings = app(&server, "/settings.v1.SettingsService/Get", json!({})).await;
    assert_eq!(settings["settings"][0]["name"], "pluginSettings");
    let flags = app(&server, "/capabilities.v1.FeatureFlagsService/GetFeatureFlags", json!({})).await;
    assert!(flags["featureFlags"].as_array().is_some_and(|flags| flags.len() == 4), "{flags}");
}

/// Where Grafana finds the data source, and each query of the dashboard, made as it would make it.
#[tokio::test]
async fn the_dashboard_asks_for_what_is_served() {
    let server = filled().await;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let dashboard: Value = serde_json::from_str(&read("everflame-service.json")).unwrap();
    let source = read("provisioning/datasources/everflame.yaml");
    assert!(
        source.contains("\n    uid: everflame\n") && source.contains("type: grafana-pyroscope-datasource\n")
    );
    let uid = json!({ "type": "grafana-pyroscope-datasource", "uid": "everflame" });
    let (start, end) = (START * 1000, (START + 60) * 1000);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert_eq!(
        variables.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["profile_type", "service"]
    );
    assert_eq!(variables[0]["current"]["value"], CPU);
    for variable in variables {
        assert_eq!(variable["datasource"], uid);
        let (method, message, found) = match variable["query"]["type"].as_str().unwrap() {
            "profileType" => ("ProfileTypes", json!({}), "profileTypes"),
            "labelValue" => ("LabelValues", json!({ "name": variable["query"]["labelName"] }), "names"),
            other => panic!("{other} is no question of the data source"),
        };
        let mut message = message;
        message["start"] = json!(start);
        message["end"] = json!(end);
        let answer = app(&server, &format!("/querier.v1.QuerierService/{method}"), message).await;
        assert_eq!(answer[found].as_array().unwrap().len(), 1, "{answer}");
    }
    let mut kinds = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        kinds.push(panel["type"].as_str().unwrap());
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"], uid);
            let filled_in = |field: &str| {
                let text = target[field].as_str().unwrap();
                text.replace("$profile_type", CPU).replace("$service", "checkout")
            };
            let mut message = json!({ "profileTypeID": filled_in("profileTypeId"), "start": start, "end": end,
                "labelSelector": filled_in("labelSelector") });
            let answer = match target["queryType"].as_str().unwrap() {
                "metrics" => {
                    message["groupBy"] = target["groupBy"].clone();
                    message["step"] = json!(15);
                    let answer = app(&server, "/querier.v1.QuerierService/SelectSeries", message).await;
                    answer["series"].as_array().unwrap().len()
                }
                "profile" => {
                    let path = "/querier.v1.QuerierService/SelectMergeStacktraces";
                    app(&server, path, message).await["flamegraph"]["levels"].as_array().unwrap().len()
                }
                other => panic!("{other} is no kind of query"),
            };
            assert!(answer > target["groupBy"].as_array().unwrap().len(), "{target}");
        }
    }
    assert_eq!(kinds, ["timeseries", "timeseries", "flamegraph"]);
}
