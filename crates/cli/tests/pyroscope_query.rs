//! Pyroscope's query calls over sockets, by every protocol, and `/pyroscope/render`.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;

use base64::Engine as _;
use pyroscope::*;
use serde_json::{Value, json as value};
use support::{TestServer, body::Body, encoded, now_nanos};

const SECOND: i64 = 1_000_000_000;
const METHODS: [&str; 7] = [
    "ProfileTypes",
    "LabelNames",
    "LabelValues",
    "Series",
    "SelectMergeStacktraces",
    "SelectMergeProfile",
    "SelectSeries",
];

/// Two pods of one service, `main;work` and `main;rest`.
fn filled() -> TestServer {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    for (pod, work) in [("p1", 30_000_000), ("p2", 50_000_000)] {
        let body = Body::cpu(now - 60 * SECOND)
            .sample("main;work", &[3, work])
            .sample("main;rest", &[1, 10_000_000]);
        push(&server, "shop", &[("pod", pod)], &body.gzip()).expect(200);
    }
    server
}

fn of_flames(answer: &Value) -> (Vec<String>, Vec<Vec<i64>>) {
    let numbers = |level: &Value| -> Vec<i64> {
        level["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|number| number.as_str().unwrap().parse().unwrap())
            .collect()
    };
    let flames = &answer["flamegraph"];
    let names =
        flames["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    (names, flames["levels"].as_array().unwrap().iter().map(numbers).collect())
}

#[test]
fn the_seven_calls_in_json() {
    let server = filled();
    let range = |mut message: Value| {
        message["start"] = value!((now_nanos() / 1_000_000 - 3_600_000).to_string());
        message["end"] = value!(now_nanos() / 1_000_000);
        message
    };
    let types = ask(&server, "ProfileTypes", &range(value!({})));
    assert_eq!(
        types["profileTypes"][0],
        value!({ "ID": CPU, "name": "process_cpu", "sampleType": "cpu", "sampleUnit": "nanoseconds", "periodType": "cpu", "periodUnit": "nanoseconds" })
    );
    assert_eq!(ask(&server, "ProfileTypes", &value!({})), types);
    let names = ask(&server, "LabelNames", &range(value!({ "matchers": ["{service_name=\"shop\"}"] })));
    assert!(names["names"].as_array().unwrap().contains(&value!("pod")), "{names}");
    let pods = ask(&server, "LabelValues", &range(value!({ "name": "pod" })));
    assert_eq!(pods, value!({ "names": ["p1", "p2"] }));
    let matcher = format!("{{__profile_type__=\"{CPU}\",service_name=\"shop\"}}");
    let pods = ask(&server, "LabelValues", &range(value!({ "name": "pod", "matchers": [matcher] })));
    assert_eq!(pods, value!({ "names": ["p1", "p2"] }));
    let series = ask(
        &server,
        "Series",
        &range(value!({ "labelNames": ["service_name", "__profile_type__"], "matchers": [] })),
    );
    let labels =
        value!([{ "name": "__profile_type__", "value": CPU }, { "name": "service_name", "value": "shop" }]);
    assert_eq!(series["labelsSet"][0]["labels"], labels);
    let merge = value!({ "profile_typeID": CPU, "label_selector": "{service_name=\"shop\"}", "max_nodes": 8192, "unknown": 1 });
    let (names, levels) = of_flames(&ask(&server, "SelectMergeStacktraces", &range(merge.clone())));
    assert_eq!(names, ["total", "main", "work", "rest"]);
    let levels_wanted = [
        vec![0, 100_000_000, 0, 0],
        vec![0, 100_000_000, 0, 1],
        vec![0, 20_000_000, 20_000_000, 3, 0, 80_000_000, 80_000_000, 2],
    ];
    assert_eq!(levels, levels_wanted);
    let profile = ask(&server, "SelectMergeProfile", &range(merge));
    let sum: i64 = profile["sample"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["value"][0].as_str().unwrap().parse::<i64>().unwrap())
        .sum();
    assert_eq!(sum, 100_000_000);
    let points =
        value!({ "profileTypeID": CPU, "labelSelector": "{}", "groupBy": ["pod"], "step": 15, "limit": 1 });
    let points = ask(&server, "SelectSeries", &range(points));
    assert_eq!(points["series"].as_array().unwrap().len(), 1);
    assert_eq!(points["series"][0]["labels"], value!([{ "name": "pod", "value": "p2" }]));
    assert_eq!(points["series"][0]["points"][0]["value"].as_f64(), Some(60_000_000.0));
    assert!(points["series"][0]["points"][0]["timestamp"].is_string(), "{points}");
}

#[test]
fn select_series_buckets() {
    let server = TestServer::start(&[]);
    let start = (now_nanos() / SECOND - 600) / 15 * 15;
    // At the start, at its end, one ns later, within, and after the last point.
    for (nanos, number) in
        [(0, 1), (15 * SECOND, 10), (15 * SECOND + 1, 100), (40 * SECOND, 1000), (61 * SECOND, 10_000)]
    {
        let body = Body::cpu(start * SECOND + nanos).sample("main", &[1, number]);
        push(&server, "a", &[], &body.gzip()).expect(200);
    }
    let message = value!({ "profileTypeID": CPU, "labelSelector": "{}", "start": start * 1000, "end": (start + 60) * 1000, "step": 15.0 });
    let answer = ask(&server, "SelectSeries", &message);
    let points: Vec<(i64, f64)> = answer["series"][0]["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| {
            (
                point["timestamp"].as_str().unwrap().parse::<i64>().unwrap() - start * 1000,
                point["value"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(points, [(0, 1.0), (15_000, 10.0), (30_000, 100.0), (45_000, 1000.0)]);
    assert_eq!(answer["series"][0].get("labels"), None);
}

#[test]
fn proto_json_grpc_web_and_gzip_say_the_same() {
    let server = filled();
    let start = now_nanos() / 1_000_000 - 3_600_000;
    let message =
        Message::default().bytes(1, CPU).bytes(2, "{}").number(3, start).number(4, start + 3_600_000);
    let path = "/querier.v1.QuerierService/SelectMergeStacktraces";
    let plain = connect(&server, path, &message.0).expect(200);
    assert_eq!(plain.header("content-type"), Some("application/proto"));
    let headers = [("content-type", "application/proto"), ("content-encoding", "gzip")];
    let packed = server.call("POST", path, &headers, Some(&formats::gzip(&message.0))).expect(200);
    assert_eq!(packed.body, plain.body);
    let headers = [("content-type", "application/grpc-web+proto")];
    let web = server.call("POST", path, &headers, Some(&frame(&message.0))).expect(200);
    assert_eq!(web.body[..5 + plain.body.len()], frame(&plain.body));
    let trailers = String::from_utf8_lossy(&web.body[5 + plain.body.len() + 5..]).to_lowercase();
    assert!(trailers.contains("grpc-status: 0") || trailers.contains("grpc-status:0"), "{trailers}");
    // The body of the pprof call is a pprof file.
    let pprof = connect(&server, "/querier.v1.QuerierService/SelectMergeProfile", &message.0).expect(200);
    let content = support::body::content(&pprof.body);
    assert_eq!(
        content.samples,
        [("main;rest".into(), vec![20_000_000]), ("main;work".into(), vec![80_000_000])]
    );
    assert_eq!(server.get(path).status, 405);
    assert_eq!(connect(&server, "/querier.v1.QuerierService/Nonsense", &[]).status, 404);
}

#[test]
fn push_by_every_protocol() {
    let server = TestServer::start(&[]);
    let body = |number: i64| Body::cpu(now_nanos()).sample("main", &[1, number]).raw();
    let labels = |service| [("__name__", "process_cpu"), ("service_name", service)];
    let message = |service, number| push_message(&[series(&labels(service), &[&body(number)])]).0;
    connect(&server, PUSH, &message("proto", 1)).expect(200);
    let headers = [("content-type", "application/proto"), ("content-encoding", "gzip")];
    server.call("POST", PUSH, &headers, Some(&formats::gzip(&message("gzip", 10)))).expect(200);
    let headers = [("content-type", "application/grpc-web+proto")];
    let web = server.call("POST", PUSH, &headers, Some(&frame(&message("web", 100)))).expect(200);
    assert!(web.text().contains("grpc-status"), "{web:?}");
    let pairs: Vec<Value> =
        labels("json").iter().map(|(name, text)| value!({ "name": name, "value": text })).collect();
    let raw = base64::engine::general_purpose::STANDARD.encode(body(1000));
    json(&server, PUSH, &value!({ "series": [{ "labels": pairs, "samples": [{ "rawProfile": raw }] }] }))
        .expect(200);
    assert_eq!(total(&server, CPU, "{}"), 1111);
}

#[test]
fn errors_have_connects_shape() {
    let server = TestServer::start(&[]);
    let path = "/querier.v1.QuerierService/SelectMergeStacktraces";
    for (message, field) in [
        (value!({}), "profile_typeID"),
        (value!({ "profileTypeID": "a:b" }), "profile_typeID"),
        (value!({ "profileTypeID": CPU, "labelSelector": "{a=" }), "selector"),
        (value!({ "profileTypeID": CPU, "profileIdSelector": ["x"] }), "profile_id_selector"),
        (value!({ "profileTypeID": CPU, "spanSelector": ["00"] }), "span_selector"),
    ] {
        let error = json(&server, path, &message).expect(400).json();
        assert_eq!(error["code"], "invalid_argument");
        assert!(error["message"].as_str().unwrap().contains(field), "{error}");
    }
    let later =
        json(&server, path, &value!({ "profileTypeID": CPU, "async": { "type": "ASYNC_QUERY_TYPE_FORCE" } }));
    assert_eq!(later.expect(501).json()["code"], "unimplemented");
    let rendered = server.get("/pyroscope/render?query=").expect(400).json();
    assert_eq!(rendered["code"], "invalid_argument");
}

#[test]
fn c085_range_inverted_or_missing() {
    let server = filled();
    let now = now_nanos() / 1_000_000;
    let merge = |start: i64, end: i64| {
        let message = value!({ "profileTypeID": CPU, "labelSelector": "{}", "start": start, "end": end });
        json(&server, "/querier.v1.QuerierService/SelectMergeStacktraces", &message)
    };
    assert_eq!(merge(now, now - 1000).status, 400);
    // Missing both: the last hour. Missing end: now.
    for (start, end) in [(0, 0), (now - 3_600_000, 0)] {
        assert_eq!(merge(start, end).expect(200).json()["flamegraph"]["total"], "100000000");
    }
    let query = encoded(&format!("{CPU}{{}}"));
    assert_eq!(server.get(&format!("/pyroscope/render?query={query}&from=now&until=now-1h")).status, 400);
    let rendered = server.get(&format!("/pyroscope/render?query={query}")).expect(200).json();
    assert_eq!(rendered["flamebearer"]["numTicks"], 100_000_000);
}

#[test]
fn c086_max_nodes_extremes() {
    let server = filled();
    let merge = |nodes: Value| {
        let message = value!({ "profileTypeID": CPU, "labelSelector": "{}", "maxNodes": nodes });
        json(&server, "/querier.v1.QuerierService/SelectMergeStacktraces", &message)
    };
    let usual = merge(Value::Null).expect(200).json();
    assert_eq!(merge(value!("9223372036854775807")).expect(200).json(), usual);
    assert_eq!(merge(value!(0)).expect(200).json(), usual);
    assert_eq!(merge(value!(-1)).status, 400);
    assert_eq!(merge(value!("abc")).status, 400);
    let query = encoded(&format!("{CPU}{{}}"));
    for (nodes, status) in [("9223372036854775807", 200), ("0", 200), ("-1", 400), ("abc", 400)] {
        assert_eq!(
            server.get(&format!("/pyroscope/render?query={query}&max-nodes={nodes}")).status,
            status,
            "{nodes}"
        );
    }
    // A cut keeps the sum.
    let cut = merge(value!(2)).expect(200).json();
    let (names, levels) = of_flames(&cut);
    assert_eq!(levels[0], [0, 100_000_000, 0, 0]);
    assert!(names.contains(&"other".to_owned()), "{names:?}");
}

#[test]
fn c087_empty_result_forms() {
    let server = filled();
    let selector = "{service_name=\"nobody\"}";
    let (names, levels) = of_flames(&flames(&server, CPU, selector));
    assert_eq!((names, levels), (vec!["total".to_owned()], vec![vec![0, 0, 0, 0]]));
    let unknown = "nothing:like:this:at:all";
    assert_eq!(total(&server, unknown, "{}"), 0);
    for method in METHODS {
        for kind in [CPU, unknown] {
            let message = value!({
                "name": "nothing", "profileTypeID": kind, "labelSelector": selector, "matchers": [selector], "step": 15,
                "start": 1000, "end": 2000,
            });
            json(&server, &format!("/querier.v1.QuerierService/{method}"), &message).expect(200);
        }
    }
    let message =
        Message::default().bytes(1, CPU).bytes(2, selector).number(3, 1).number(4, 4_000_000_000_000);
    let pprof = connect(&server, "/querier.v1.QuerierService/SelectMergeProfile", &message.0).expect(200);
    let content = support::body::content(&pprof.body);
    assert_eq!((content.types, content.samples), (vec!["cpu/nanoseconds".to_owned()], Vec::new()));
    let rendered =
        server.get(&format!("/pyroscope/render?query={}", encoded(&format!("{CPU}{selector}")))).expect(200);
    assert_eq!(rendered.json()["flamebearer"]["levels"], value!([[0, 0, 0, 0]]));
}

#[test]
fn c110_time_filter_honoured() {
    let server = TestServer::start(&[]);
    let day = now_nanos() / (86_400 * SECOND) * 86_400 - 86_400;
    let at = |minutes: i64| (day + minutes * 60) * 1_000;
    for (hour, value) in [(9, 10), (10, 100)] {
        let body = Body::cpu((day + hour * 3_600) * SECOND).sample("main", &[1, value]);
        push(&server, "a", &[], &body.gzip()).expect(200);
    }
    let total = |from: i64, until: i64| {
        let message = value!({ "profileTypeID": CPU, "labelSelector": "{}", "start": from, "end": until });
        let merged = ask(&server, "SelectMergeStacktraces", &message);
        let query = encoded(&format!("{CPU}{{}}"));
        let path = format!("/pyroscope/render?query={query}&from={from}&until={until}");
        let rendered = server.get(&path).expect(200).json();
        let ticks = rendered["flamebearer"]["numTicks"].as_i64().unwrap();
        let sum = merged["flamegraph"]["total"].as_str().map_or(0, |total| total.parse().unwrap());
        assert_eq!(ticks, sum, "both calls say the same");
        sum
    };
    assert_eq!(total(at(570), at(585)), 0, "09:30 to 09:45: never a neighbour's data");
    // Inclusive at both ends, as there (D10).
    assert_eq!((total(at(540), at(585)), total(at(570), at(600)), total(at(540), at(600))), (10, 100, 110));
    let message = value!({
        "profileTypeID": CPU, "labelSelector": "{}", "step": 60, "start": at(570), "end": at(585),
        "labelNames": ["service_name"], "matchers": [], "name": "service_name",
    });
    for (method, field) in [("SelectSeries", "series"), ("Series", "labelsSet"), ("LabelValues", "names")] {
        let answer = ask(&server, method, &message);
        assert!(answer[field].as_array().is_none_or(Vec::is_empty), "{method}: {answer}");
    }
}

#[test]
fn render_has_the_shape_that_clients_know() {
    let server = filled();
    let query = encoded(&format!("{CPU}{{service_name=\"shop\"}}"));
    let path = format!("/pyroscope/render?query={query}&from=now-1h&until=now&format=json&groupBy=pod");
    let rendered = server.get(&path).expect(200).json();
    assert_eq!(rendered["version"], 1);
    assert_eq!(
        rendered["metadata"],
        value!({ "format": "single", "spyName": "", "sampleRate": 1_000_000_000, "units": "samples", "name": "cpu" })
    );
    assert_eq!(rendered["flamebearer"]["levels"][0], value!([0, 100_000_000, 0, 0]));
    let timeline = &rendered["timeline"];
    let sum = |timeline: &Value| -> i64 {
        timeline["samples"].as_array().unwrap().iter().map(|sample| sample.as_i64().unwrap()).sum()
    };
    assert_eq!(sum(timeline), 100_000_000);
    assert_eq!(
        (timeline["durationDelta"].as_i64(), timeline["startTime"].as_i64().unwrap() % 15),
        (Some(15), 0)
    );
    assert_eq!(sum(&rendered["groups"]["p1"]), 40_000_000);
    assert_eq!(rendered["heatmap"], Value::Null);
}

/// Connect's own statuses would be 501 and 429.
#[test]
fn c024_c040_wrong_encodings_and_bombs_have_their_statuses() {
    let server = TestServer::start(&[]);
    let names = "/querier.v1.QuerierService/LabelNames";
    for path in [PUSH, names] {
        for encoding in ["br", "gzip, gzip", "deflate", "nonsense", ""] {
            let headers = [("content-type", "application/json"), ("content-encoding", encoding)];
            let reply = server.call("POST", path, &headers, Some(b"{}")).expect(415);
            assert_eq!(reply.json()["code"], "invalid_argument", "{path} {encoding}: {reply:?}");
            assert_eq!(reply.header("accept-encoding"), Some("gzip, zstd"), "{path} {encoding}: {reply:?}");
        }
        let bomb = formats::gzip(&vec![0; 65 << 20]);
        let headers = [("content-type", "application/proto"), ("content-encoding", "gzip")];
        let reply = server.call("POST", path, &headers, Some(&bomb)).expect(413);
        assert_eq!(reply.json()["code"], "resource_exhausted", "{path}: {reply:?}");
    }
    let packed = formats::gzip(b"{}");
    for (encoding, body) in [("GZIP", &packed[..]), ("gzip", &packed), ("identity", b"{}")] {
        let headers = [("content-type", "application/json"), ("content-encoding", encoding)];
        server.call("POST", names, &headers, Some(body)).expect(200);
    }
    // gRPC-Web has its own status, in trailers.
    let headers = [("content-type", "application/grpc-web+proto"), ("grpc-encoding", "br")];
    let mut framed = frame(b"x");
    framed[0] = 1;
    let reply = server.call("POST", names, &headers, Some(&framed)).expect(200);
    assert!(reply.text().contains("12") || reply.header("grpc-status") == Some("12"), "{reply:?}");
}

/// The library would take a list for a message with its fields in order.
#[test]
fn a_message_that_is_a_list_is_refused() {
    let server = TestServer::start(&[]);
    let json = [("content-type", "application/json")];
    for path in [PUSH, "/querier.v1.QuerierService/ProfileTypes", "/settings.v1.SettingsService/Get"] {
        for list in ["[]", " [[]]", "[1]"] {
            let reply = server.call("POST", path, &json, Some(list.as_bytes())).expect(400);
            assert_eq!(reply.json()["code"], "invalid_argument", "{path} {list}: {reply:?}");
            assert!(reply.text().contains("an object such as {}, not a list"), "{path} {list}: {reply:?}");
        }
    }
    let names = "/querier.v1.QuerierService/LabelNames";
    server.call("POST", names, &json, Some(b"{}")).expect(200);
    let packed = [json[0], ("content-encoding", "gzip")];
    server.call("POST", names, &packed, Some(&formats::gzip(b"[]"))).expect(400);
    let web = [("content-type", "application/grpc-web+json")];
    let reply = server.call("POST", names, &web, Some(&frame(b"[]"))).expect(200);
    assert!(reply.text().contains("not a list") || reply.header("grpc-status") == Some("3"), "{reply:?}");
}

#[test]
fn select_series_sums_or_averages_the_profiles_of_a_step() {
    let server = filled();
    let path = "/querier.v1.QuerierService/SelectSeries";
    let message = |aggregation: &str| value!({ "profileTypeID": CPU, "labelSelector": "{}", "step": 15, "aggregation": aggregation });
    for (aggregation, wanted) in [("SUM", 100_000_000.0), ("AVERAGE", 50_000_000.0)] {
        let reply = json(&server, path, &message(&format!("TIME_SERIES_AGGREGATION_TYPE_{aggregation}")));
        let points = reply.expect(200).json()["series"][0]["points"].clone();
        assert_eq!(points.as_array().unwrap().len(), 1, "{points}");
        assert_eq!(points[0]["value"].as_f64(), Some(wanted), "{points}");
    }
    let number = value!({ "profileTypeID": CPU, "labelSelector": "{}", "step": 15, "aggregation": 7 });
    assert_eq!(json(&server, path, &number).status, 400);
}
