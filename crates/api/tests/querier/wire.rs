//! One answer in every protocol, and protojson as clients depend on it.

use serde_json::{Value, json};

use crate::server::{ALL, CPU, START, Server, body, list};

/// Two pods of one service, with a span in one.
fn filled() -> Server {
    let server = Server::start();
    let span = vec![("span_id", "00000000000000ff".to_owned())];
    server.push(
        &[("service_name", "shop"), ("pod", "p1")],
        &body(START, &[("main;work", 30, Vec::new()), ("main;rest", 10, span)]),
    );
    server.push(
        &[("service_name", "shop"), ("pod", "p2")],
        &body(START + 500, &[("main;work", 60, Vec::new())]),
    );
    server
}

fn merge() -> Value {
    json!({ "profileTypeID": CPU, "labelSelector": "{}", "start": ALL.0, "end": ALL.1 })
}

/// A question per method.
fn questions() -> Vec<(&'static str, Value)> {
    let with = |fields: Value| {
        let mut message = merge();
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    vec![
        ("ProfileTypes", json!({ "start": ALL.0, "end": ALL.1 })),
        ("LabelValues", json!({ "name": "pod", "start": ALL.0, "end": ALL.1 })),
        ("LabelNames", json!({ "start": ALL.0, "end": ALL.1 })),
        ("Series", json!({ "labelNames": ["pod"], "start": ALL.0, "end": ALL.1 })),
        ("SelectMergeStacktraces", merge()),
        ("SelectMergeStacktraces", with(json!({ "format": "PROFILE_FORMAT_TREE" }))),
        ("SelectMergeStacktraces", with(json!({ "format": "PROFILE_FORMAT_DOT" }))),
        ("SelectMergeStacktraces", with(json!({ "format": "PROFILE_FORMAT_PPROF" }))),
        ("SelectMergeSpanProfile", with(json!({ "spanSelector": ["00000000000000ff"] }))),
        ("SelectMergeProfile", merge()),
        (
            "SelectSeries",
            with(
                json!({ "step": 1.5, "start": START, "end": START + 5_000, "groupBy": ["pod"], "exemplarType": "EXEMPLAR_TYPE_INDIVIDUAL" }),
            ),
        ),
        (
            "SelectHeatmap",
            with(
                json!({ "step": 1, "start": START, "end": START + 5_000, "queryType": "HEATMAP_QUERY_TYPE_SPAN", "exemplarType": "EXEMPLAR_TYPE_SPAN" }),
            ),
        ),
        ("Diff", json!({ "left": merge(), "right": with(json!({ "labelSelector": "{pod=\"p1\"}" })) })),
        ("GetProfileStats", json!({})),
        ("AnalyzeQuery", json!({ "query": "{}", "start": ALL.0, "end": ALL.1 })),
    ]
}

/// Reads an answer in proto.
type ReadAnswer = fn(&[u8]) -> Value;

/// The request as proto, and what reads an answer in proto.
fn in_proto(method: &str, message: &Value) -> (Vec<u8>, ReadAnswer) {
    use buffa::Message;
    use rpc::{google::v1 as google, querier::v1 as querier, types::v1 as types};
    fn request<M: Message + serde::de::DeserializeOwned>(message: &Value) -> Vec<u8> {
        serde_json::from_value::<M>(message.clone()).unwrap().encode_to_vec()
    }
    fn answer<M: Message + serde::Serialize>(bytes: &[u8]) -> Value {
        serde_json::to_value(M::decode_from_slice(bytes).unwrap()).unwrap()
    }
    match method {
        "ProfileTypes" => {
            (request::<querier::ProfileTypesRequest>(message), answer::<querier::ProfileTypesResponse>)
        }
        "LabelValues" => {
            (request::<types::LabelValuesRequest>(message), answer::<types::LabelValuesResponse>)
        }
        "LabelNames" => (request::<types::LabelNamesRequest>(message), answer::<types::LabelNamesResponse>),
        "Series" => (request::<querier::SeriesRequest>(message), answer::<querier::SeriesResponse>),
        "SelectMergeStacktraces" => (
            request::<querier::SelectMergeStacktracesRequest>(message),
            answer::<querier::SelectMergeStacktracesResponse>,
        ),
        "SelectMergeSpanProfile" => (
            request::<querier::SelectMergeSpanProfileRequest>(message),
            answer::<querier::SelectMergeSpanProfileResponse>,
        ),
        "SelectMergeProfile" => {
            (request::<querier::SelectMergeProfileRequest>(message), answer::<google::Profile>)
        }
        "SelectSeries" => {
            (request::<querier::SelectSeriesRequest>(message), answer::<querier::SelectSeriesResponse>)
        }
        "SelectHeatmap" => {
            (request::<querier::SelectHeatmapRequest>(message), answer::<querier::SelectHeatmapResponse>)
        }
        "Diff" => (request::<querier::DiffRequest>(message), answer::<querier::DiffResponse>),
        "GetProfileStats" => {
            (request::<types::GetProfileStatsRequest>(message), answer::<types::GetProfileStatsResponse>)
        }
        _ => (request::<querier::AnalyzeQueryRequest>(message), answer::<querier::AnalyzeQueryResponse>),
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

#[test]
fn row_8_every_method_says_the_same_in_every_protocol() {
    let server = filled();
    for (method, message) in questions() {
        let path = format!("/querier.v1.QuerierService/{method}");
        let in_json = server.json(method, &message).ok().json();
        assert_ne!(in_json, json!({}), "{method} {message}: an answer has something in it");
        let (request, read) = in_proto(method, &message);
        let plain = server.call("POST", &path, &[("content-type", "application/proto")], &request).ok();
        assert_eq!(plain.headers["content-type"], "application/proto");
        assert_eq!(read(&plain.body), in_json, "{method} {message}");
        let packed = formats::gzip(&request);
        let headers = [("content-type", "application/proto"), ("content-encoding", "gzip")];
        assert_eq!(server.call("POST", &path, &headers, &packed).ok().body, plain.body, "{method}");
        for (protocol, in_body) in [("application/grpc+proto", false), ("application/grpc-web+proto", true)] {
            let headers = [("content-type", protocol), ("te", "trailers")];
            let reply = server.call("POST", &path, &headers, &framed(&request)).ok();
            let answer = framed(&plain.body);
            assert_eq!(reply.body[..answer.len()], answer, "{method} {protocol}");
            let rest = String::from_utf8_lossy(&reply.body[answer.len()..]).to_lowercase();
            let is_ok = if in_body {
                rest.contains("grpc-status: 0") || rest.contains("grpc-status:0")
            } else {
                reply.headers.get("grpc-status").is_some_and(|status| status == "0")
            };
            assert!(is_ok, "{method} {protocol}: {reply:?}");
        }
    }
}

#[test]
fn row_8_numbers_names_and_unknown_fields_are_those_of_protojson() {
    let server = filled();
    let flames = server.json("SelectMergeStacktraces", &merge()).ok().json()["flamegraph"].clone();
    assert_eq!(flames["total"], "100");
    assert_eq!(flames["levels"][0]["values"], json!(["0", "100", "0", "0"]));
    assert_eq!(flames["maxSelf"], "90");
    let original = json!({
        "profile_typeID": CPU, "label_selector": "{}", "start": "1", "end": "4000000000000", "max_nodes": 8192,
        "stack_trace_selector": { "call_site": [{ "name": "main", "new": 1 }] }, "format": 1, "nonsense": { "a": [] },
        "async": { "type": "ASYNC_QUERY_TYPE_DISABLED" },
    });
    assert_eq!(server.json("SelectMergeStacktraces", &original).ok().json()["flamegraph"], flames);
    // What is zero is left out.
    let nothing = json!({ "profileTypeID": CPU, "labelSelector": "{pod=\"none\"}" });
    let answer = server.json("SelectMergeStacktraces", &nothing).ok().json();
    assert_eq!(
        answer,
        json!({ "flamegraph": { "names": ["total"], "levels": [{ "values": ["0", "0", "0", "0"] }] } })
    );
    assert_eq!(server.json("LabelValues", &json!({ "name": "nothing" })).ok().json(), json!({}));
}

#[test]
fn row_14_errors_have_connects_code_and_status() {
    let server = filled();
    let with = |field: &str, value: Value| {
        let mut message = merge();
        message[field] = value;
        message
    };
    for (method, message, status, code, word) in [
        ("SelectMergeStacktraces", json!({}), 400, "invalid_argument", "profile_typeID"),
        ("SelectMergeStacktraces", with("labelSelector", json!("{a=")), 400, "invalid_argument", "selector"),
        ("SelectMergeStacktraces", with("format", json!(99)), 400, "invalid_argument", "format"),
        ("SelectMergeStacktraces", with("start", json!("x")), 400, "invalid_argument", ""),
        ("SelectMergeStacktraces", with("async", json!({ "type": 1 })), 501, "unimplemented", "async"),
        ("SelectMergeStacktraces", with("async", json!({ "requestId": "a" })), 501, "unimplemented", "async"),
        ("SelectSeries", with("step", json!(0)), 400, "invalid_argument", "step"),
        ("SelectSeries", with("aggregation", json!(7)), 400, "invalid_argument", ""),
        ("SelectHeatmap", with("queryType", json!(9)), 400, "invalid_argument", ""),
        ("Diff", json!({ "left": merge() }), 400, "invalid_argument", "right"),
        ("Diff", json!({ "left": merge(), "right": {} }), 400, "invalid_argument", "right.profile_typeID"),
        ("AnalyzeQuery", json!({ "query": "{" }), 400, "invalid_argument", "selector"),
        ("LabelValues", json!({}), 400, "invalid_argument", "name"),
    ] {
        let reply = server.json(method, &message);
        assert_eq!(reply.status, status, "{method} {message}: {reply:?}");
        let error = reply.json();
        assert_eq!(error["code"], code, "{method} {message}: {error}");
        assert!(error["message"].as_str().unwrap_or_default().contains(word), "{method}: {error}");
    }
    assert_eq!(server.json("Nonsense", &json!({})).status, 404);
}

#[test]
fn row_9_the_worked_examples_come_out_number_for_number() {
    let server = Server::start();
    let samples = [("main;a", 3, Vec::new()), ("main;b;c", 2, Vec::new()), ("main", 1, Vec::new())];
    server.push(&[("service_name", "left")], &body(START, &samples));
    server.push(
        &[("service_name", "right")],
        &body(START, &[("main;a", 1, Vec::new()), ("main;d", 4, Vec::new())]),
    );
    let of = |service: &str| json!({ "profileTypeID": CPU, "labelSelector": format!("{{service_name=\"{service}\"}}"), "start": ALL.0, "end": ALL.1 });
    let level =
        |numbers: &[i64]| json!({ "values": numbers.iter().map(ToString::to_string).collect::<Vec<_>>() });
    let single = server.json("SelectMergeStacktraces", &of("left")).ok().json();
    let wanted = json!({ "flamegraph": {
        "names": ["total", "main", "b", "c", "a"],
        "levels": [level(&[0, 6, 0, 0]), level(&[0, 6, 1, 1]), level(&[1, 3, 3, 4, 0, 2, 0, 2]), level(&[4, 2, 2, 3])],
        "total": "6", "maxSelf": "3",
    } });
    assert_eq!(single, wanted);
    let mut tree = of("left");
    tree["format"] = json!("PROFILE_FORMAT_TREE");
    let tree = server.json("SelectMergeStacktraces", &tree).ok().json();
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(tree["tree"].as_str().unwrap()).unwrap();
    assert_eq!(bytes, b"\0\0\x01\x04main\x01\x02\x01b\0\x01\x01c\x02\0\x01a\x03\0");
    let diff = server.json("Diff", &json!({ "left": of("left"), "right": of("right") })).ok().json();
    let wanted = json!({ "flamegraph": {
        "names": ["total", "main", "d", "b", "c", "a"],
        "levels": [
            level(&[0, 6, 0, 0, 5, 0, 0]),
            level(&[0, 6, 1, 0, 5, 0, 1]),
            level(&[1, 3, 3, 0, 1, 1, 5, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 4, 2]),
            level(&[4, 2, 2, 1, 0, 0, 4]),
        ],
        "total": "11", "maxSelf": "4", "leftTicks": "6", "rightTicks": "5",
    } });
    assert_eq!(diff, wanted);
    let series = json!({ "start": START, "end": START + 1, "labelNames": ["service_name", "__profile_type__"], "matchers": [] });
    let series = server.json("Series", &series).ok().json();
    let of_cpu = json!({ "labels": [{ "name": "__profile_type__", "value": CPU }, { "name": "service_name", "value": "left" }] });
    assert!(list(&series["labelsSet"]).contains(&of_cpu), "{series}");
    let points = json!({ "profileTypeID": CPU, "labelSelector": "{}", "start": START - 15_000, "end": START + 15_000, "groupBy": ["service_name"], "step": 15, "limit": 1 });
    let points = server.json("SelectSeries", &points).ok().json();
    let wanted = json!({ "series": [{
        "labels": [{ "name": "service_name", "value": "left" }],
        "points": [{ "value": 6.0, "timestamp": START.to_string() }],
    }] });
    assert_eq!(points, wanted);
}

/// Row 11: without a range and with any header the calls answer; names that Prometheus would not take are listed too.
#[test]
fn row_11_profile_types_need_no_range_and_all_label_names_are_listed() {
    let server = Server::start();
    let now = profile::Timestamp::now().millis();
    let labels = [("service_name", "shop"), ("k8s.pod", "p1"), ("温度", "高")];
    server.push(&labels, &body(now - 60_000, &[("main", 1, Vec::new())]));
    assert_eq!(list(&server.json("ProfileTypes", &json!({})).ok().json()["profileTypes"]).len(), 2);
    let path = "/querier.v1.QuerierService/LabelNames";
    for accept in ["*/*", "*/*; allow-utf8-labelnames=true"] {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let names = server.call("POST", path, &headers, b"{}").ok().json();
        for name in ["k8s.pod", "温度", "service_name"] {
            assert!(list(&names["names"]).contains(&json!(name)), "{accept}: {names}");
        }
    }
    // Whoever lists them may name them, quoted or not.
    for selector in ["{k8s.pod=\"p1\"}", "{\"k8s.pod\"=\"p1\",\"温度\"=~\"高|低\"}"] {
        let message = json!({ "profileTypeID": CPU, "labelSelector": selector });
        let total =
            server.json("SelectMergeStacktraces", &message).ok().json()["flamegraph"]["total"].clone();
        assert_eq!(total, "1", "{selector}");
    }
}
