//! The native API over a real socket: what is pushed comes back, and odd requests get right answers.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
};

use serde_json::{Value, json};
use support::{
    Reply, TestServer,
    body::{Body, content},
    encoded, now_nanos, run,
};

const SECOND: i64 = 1_000_000_000;

/// RFC 3339 for a query string.
fn at(nanos: i64) -> String {
    encoded(&jiff::Timestamp::from_nanosecond(i128::from(nanos)).unwrap().to_string())
}

#[track_caller]
fn push(server: &TestServer, parameters: &str, body: &[u8]) -> Value {
    server.post(&format!("/api/v1/push?{parameters}"), body).expect(200).json()["profiles"][0].clone()
}

/// Rows of `/api/v1/top` as name, self and total.
fn rows(reply: &Reply) -> Vec<(String, i64, i64)> {
    let number = |value: &Value| value.as_i64().unwrap();
    let rows = reply.json()["rows"].as_array().unwrap().clone();
    rows.iter()
        .map(|row| (row["name"].as_str().unwrap().to_owned(), number(&row["self"]), number(&row["total"])))
        .collect()
}

#[test]
fn what_is_pushed_comes_back_as_graph_table_timeline_and_pprof() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    let first =
        Body::cpu(now - 120 * SECOND).sample("main;work;hot", &[30, 300]).sample("main;idle", &[1, 10]);
    let second = Body::cpu(now - 60 * SECOND).sample("main;work;hot", &[20, 200]);
    push(&server, "service=a&label=pod%3Dp1", &first.gzip());
    push(&server, "service=a&label=pod%3Dp2", &second.raw());
    let q = encoded(r#"cpu{service_name="a"}"#);

    let top = server.get(&format!("/api/v1/top?q={q}")).expect(200);
    let own = |name: &str, own, total| (name.to_owned(), own, total);
    assert_eq!(
        rows(&top),
        [own("hot", 500, 500), own("idle", 10, 10), own("main", 0, 510), own("work", 0, 500)]
    );
    let stats = &top.json()["stats"];
    assert_eq!((&stats["profiles"], &stats["aggregation"]), (&json!(2), &json!("sum")));
    assert_eq!(stats["profile_type"], "process_cpu:cpu:nanoseconds:cpu:nanoseconds");

    let flame = server.get(&format!("/api/v1/flame?q={q}")).expect(200).json();
    assert_eq!((&flame["total"], &flame["unit"]), (&json!(510), &json!("nanoseconds")));
    assert_eq!(flame["parent"], json!([0, 0, 1, 1, 3]));
    assert_eq!(flame["node_total"], json!([510, 510, 10, 500, 500]));

    let callers = server.get(&format!("/api/v1/callers?q={q}&function=work")).expect(200).json();
    assert_eq!(
        (&callers["callers"][0]["name"], &callers["callees"][0]["name"]),
        (&json!("main"), &json!("hot"))
    );
    assert_eq!(callers["function"]["total"], 500);

    let timeline = server.get(&format!("/api/v1/timeline?q={q}&step=1m&by=pod")).expect(200).json();
    let totals: Vec<_> = timeline["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["labels"].clone(), one["total"].clone()))
        .collect();
    assert_eq!(totals, [(json!({"pod": "p1"}), json!(310)), (json!({"pod": "p2"}), json!(200))]);

    let merged = server.get(&format!("/api/v1/pprof?q={}", encoded(r#"{service_name="a"}"#))).expect(200);
    let merged_content = content(&merged.body);
    assert_eq!(merged_content.types, ["samples/count", "cpu/nanoseconds"]);
    assert_eq!(
        merged_content.samples,
        [("main;idle".to_owned(), vec![1, 10]), ("main;work;hot".to_owned(), vec![50, 500])]
    );
    assert!(merged.header("everflame-stats").unwrap().contains("\"profiles\":2"));
}

#[test]
fn one_profile_comes_back_equal_by_its_id() {
    let server = TestServer::start(&[]);
    let body = Body::cpu(now_nanos()).sample("main;a", &[1, 10]).sample("main;b", &[2, 20]);
    let pushed = push(&server, "service=a", &body.gzip());
    let id = pushed["id"].as_str().unwrap();
    let reply = server.get(&format!("/api/v1/profiles/{id}")).expect(200);
    assert_eq!(content(&reply.body), content(&body.raw()));
    let entry = server.get(&format!("/api/v1/profiles/{id}?format=json")).expect(200).json();
    assert_eq!((&entry["profile"]["id"], &entry["profile"]["totals"]), (&pushed["id"], &json!([3, 30])));
    let listed = server.get("/api/v1/profiles").expect(200).json();
    assert_eq!(listed["profiles"], json!([entry["profile"]]));
}

#[test]
fn c097_the_same_push_twice_is_stored_once() {
    let server = TestServer::start(&[]);
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    let (first, again) = (push(&server, "service=a", &body), push(&server, "service=a", &body));
    assert_eq!((&first["outcome"], &again["outcome"]), (&json!("stored"), &json!("duplicate")));
    assert_eq!(first["id"], again["id"]);
    assert_eq!(server.get("/api/v1/top?type=cpu").json()["total"], 10);
}

#[test]
fn c007_a_profile_without_samples_is_accepted_and_counted() {
    let server = TestServer::start(&[]);
    let pushed = push(&server, "service=a", &Body::cpu(now_nanos()).gzip());
    assert_eq!(pushed["outcome"], "empty");
    assert_eq!(server.get("/api/v1/profiles").json()["profiles"], json!([]));
    assert!(server.get("/metrics").text().contains("everflame_empty_profile_total 1\n"));
}

#[test]
fn c020_a_text_dump_posted_as_pprof_is_named() {
    let server = TestServer::start(&[]);
    let dump = "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:7 +0x1d\n";
    let reply = server.post("/api/v1/push?service=a", dump.as_bytes());
    assert!([400, 415].contains(&reply.status), "{reply:?}");
    assert!(reply.text().contains("debug=0"), "{reply:?}");
}

#[test]
fn folded_stacks_sent_as_pprof_are_told_the_way() {
    let server = TestServer::start(&[]);
    let stacks = b"main;work 7\nmain;idle 3\n";
    let speedscope = br#"{"$schema": "x"}"#;
    for (path, stacks_way, speedscope_way) in [
        ("/api/v1/push?service=a", "need format=folded", "needs format=speedscope"),
        (
            "/api/0/profiles?service=a&type=cpu",
            "/api/v1/push?service=NAME&format=folded",
            "format=speedscope",
        ),
        ("/ingest?name=a&format=pprof", "with format=folded or without", "with format=speedscope"),
    ] {
        for body in [&stacks[..], &formats::gzip(stacks)] {
            let reply = server.post(path, body);
            assert!(
                [400, 415].contains(&reply.status) && reply.text().contains(stacks_way),
                "{path}: {reply:?}"
            );
        }
        let reply = server.post(path, speedscope);
        assert!(reply.text().contains(speedscope_way), "{path}: {reply:?}");
        let reply = server.post(path, b"<html>no page of ours\n</html>\n");
        assert!(reply.status >= 400 && !reply.text().contains("format="), "{path}: {reply:?}");
    }
    server.post("/ingest?name=a", stacks).expect(200);
    server.post("/ingest?name=a&format=folded", stacks).expect(200);
    server.post("/api/v1/push?service=a&format=folded", stacks).expect(200);
}

#[test]
fn c034_cumulative_profiles_become_differences_where_the_client_says_so() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    for (age, total) in [(45, 100), (30, 150), (15, 200)] {
        let body = Body::new(&[("alloc_space", "bytes")]).time(now - age * SECOND).sample("main", &[total]);
        push(&server, "service=a&type=heap&temporality=cumulative", &body.gzip());
        let body = Body::new(&[("inuse_space", "bytes")]).time(now - age * SECOND).sample("main", &[total]);
        push(&server, "service=b&type=heap", &body.gzip());
    }
    let total = |q: &str, agg: &str| server.get(&format!("/api/v1/top?q={}&agg={agg}", encoded(q))).json();
    let allocated = total(r#"alloc_space{service_name="a"}"#, "avg");
    assert_eq!((&allocated["total"], &allocated["stats"]["aggregation"]), (&json!(100), &json!("sum")));
    for (agg, value) in [("avg", 150), ("last", 200), ("sum", 450)] {
        let used = total(r#"inuse_space{service_name="b"}"#, agg);
        assert_eq!((&used["total"], &used["stats"]["aggregation"]), (&json!(value), &json!(agg)), "{used}");
    }
}

#[test]
fn c085_ranges_inverted_or_missing() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    push(&server, "service=a", &Body::cpu(now - 1_800 * SECOND).sample("recent", &[1, 10]).gzip());
    push(&server, "service=a", &Body::cpu(now - 7_200 * SECOND).sample("old", &[1, 1_000]).gzip());
    let total =
        |range: &str| server.get(&format!("/api/v1/top?type=cpu{range}")).expect(200).json()["total"].clone();
    assert_eq!(total(""), 10, "without a range: the last hour");
    assert_eq!(total("&from=now-3h"), 1_010, "without an end: until now");
    assert_eq!(total("&to=now-90m"), 1_000, "without a beginning: the hour before the end");
    assert_eq!(total(&format!("&from={}&to={}", at(now - 7_200 * SECOND), at(now))), 1_010, "RFC 3339");
    assert_eq!(total(&format!("&from={}", (now - 3_600 * SECOND) / 1_000_000)), 10, "ms since the epoch");
    let wrong = server.get("/api/v1/top?type=cpu&from=now&to=now-1h").expect(400).json();
    assert_eq!((&wrong["code"], &wrong["field"]), (&json!("invalid_argument"), &json!("from")));
}

#[test]
fn c086_max_nodes_extremes() {
    let server = TestServer::start(&[]);
    let body = (0..50)
        .fold(Body::cpu(now_nanos()), |body, number| body.sample(&format!("main;f{number}"), &[1, 10]));
    push(&server, "service=a", &body.gzip());
    let nodes = |max_nodes: &str| {
        let reply = server.get(&format!("/api/v1/flame?type=cpu&max_nodes={max_nodes}")).expect(200).json();
        assert_eq!(reply["total"], 500, "a cut changes no total");
        reply["parent"].as_array().unwrap().len()
    };
    assert_eq!(nodes("9223372036854775807"), 52);
    assert_eq!(nodes("0"), 52);
    assert!(nodes("10") < 20, "ten, and one for what was cut");
    for bad in ["-1", "abc"] {
        let reply = server.get(&format!("/api/v1/flame?type=cpu&max_nodes={bad}")).expect(400);
        assert_eq!(reply.json()["field"], "max_nodes");
    }
}

#[test]
fn c087_nothing_found_is_a_valid_empty_document_in_each_format() {
    let server = TestServer::start(&[]);
    push(&server, "service=a", &Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip());
    let q = encoded(r#"cpu{service_name="nobody"}"#);
    let flame = server.get(&format!("/api/v1/flame?q={q}")).expect(200).json();
    assert_eq!(flame["total"], 0);
    let top = server.get(&format!("/api/v1/top?q={q}")).expect(200).json();
    assert_eq!((&top["total"], &top["rows"]), (&json!(0), &json!([])));
    let timeline = server.get(&format!("/api/v1/timeline?q={q}")).expect(200).json();
    assert_eq!(timeline["series"], json!([]));
    let pprof = server.get(&format!("/api/v1/pprof?q={q}")).expect(200);
    assert_eq!(content(&pprof.body).samples, []);
    let pprof = content(&server.get("/pprof/nobody/debug/pprof/profile").expect(200).body);
    assert_eq!((pprof.types.len(), pprof.samples.len()), (2, 0), "the tool can compare with it");
}

#[test]
fn c092_an_encoded_filter_survives() {
    let server = TestServer::start(&[]);
    let value = r#"starts_with("std::vec<&T>")"#;
    let label = encoded(&format!("filter={value}"));
    push(
        &server,
        &format!("service=a&label={label}"),
        &Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip(),
    );
    let q = encoded(r#"cpu{filter="starts_with(\"std::vec<&T>\")"}"#);
    assert_eq!(server.get(&format!("/api/v1/top?q={q}")).expect(200).json()["total"], 10);
    let values = server.get("/api/v1/labels/filter").expect(200).json();
    assert_eq!(values["values"], json!([value]));
}

#[test]
fn c081_label_names_of_any_script_are_kept_and_asked_for() {
    let server = TestServer::start(&[]);
    let labels = encoded("服务=a,k8s-app=b,foo.bar=c");
    push(
        &server,
        &format!("service=s&labels={labels}"),
        &Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip(),
    );
    let names = server.get("/api/v1/labels").expect(200).json();
    assert_eq!(names["names"], json!(["foo.bar", "k8s-app", "service_name", "服务"]));
    let q = encoded(r#"cpu{"服务"="a","k8s-app"="b","foo.bar"="c"}"#);
    assert_eq!(server.get(&format!("/api/v1/top?q={q}")).expect(200).json()["total"], 10);
    let values = server.get(&format!("/api/v1/labels/{}", encoded("服务"))).expect(200).json();
    assert_eq!(values["values"], json!(["a"]));
}

#[test]
fn c089_a_pattern_over_the_limit_is_refused_with_the_limit() {
    let server = TestServer::start(&[]);
    // A value that an engine with backtracking would never be done with.
    let value = format!("{}!", "a".repeat(1_500));
    let parameters = format!("service=a&label={}", encoded(&format!("trap={value}")));
    push(&server, &parameters, &Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip());
    let many = ".*".repeat(100);
    for (pattern, total) in [("(a+)+$", 0), ("(a+)+!$", 10), (many.as_str(), 10), ("(a|aa)+", 0)] {
        let q = encoded(&format!("cpu{{trap=~\"{pattern}\"}}"));
        let reply = server.get(&format!("/api/v1/top?q={q}")).expect(200);
        assert_eq!(reply.json()["total"], total, "{pattern}");
    }
    let large = |bytes: usize| format!("{{service_name=~\"{}\"}}", "x".repeat(bytes));
    let reply = server.get(&format!("/api/v1/top?q={}", encoded(&large(60_000)))).expect(400);
    assert!(reply.json()["message"].as_str().unwrap().contains("at most 16384"), "{reply:?}");
    // Both are more than a URL may have; in a body they get as far as the limit.
    for bytes in [70_000, 1 << 20] {
        let mut socket = TcpStream::connect(&server.address).unwrap();
        let q = encoded(&large(bytes));
        socket.write_all(format!("GET /api/v1/top?q={q} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 414 "), "{answer}");
        assert!(answer.contains("a URL has at most 65534 bytes") && answer.contains("POST"), "{answer}");
    }
    let finished = run(&["top", "--server", &server.url, &large(70_000)]);
    assert!(finished.code == Some(1) && finished.stderr.contains("which may have 65534"), "{finished:?}");
    let message = json!({ "matchers": [large(1 << 20)], "start": 1, "end": 2 }).to_string();
    let path = "/querier.v1.QuerierService/LabelNames";
    let headers = [("content-type", "application/json")];
    let reply = server.call("POST", path, &headers, Some(message.as_bytes())).expect(400);
    assert!(reply.text().contains("at most 65536"), "{reply:?}");
    server.get("/api/v1/services").expect(200);
}

#[test]
fn c096_replicas_with_the_same_labels_are_both_stored() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    for (age, value) in [(10, 1), (12, 2), (9, 4), (12, 8)] {
        let body = Body::cpu(now - age * SECOND).sample("main", &[1, value]);
        assert_eq!(push(&server, "service=a", &body.gzip())["outcome"], "stored");
    }
    assert_eq!(server.get("/api/v1/top?type=cpu").json()["total"], 15);
}

#[test]
fn c098_future_and_ancient() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    let day = 86_400 * SECOND;
    for good in [now - 400 * day, now + 9 * 60 * SECOND] {
        push(&server, "service=a", &Body::cpu(good).sample("main", &[1, 10]).gzip());
    }
    for bad in [now + day / 2, -day, i64::MAX] {
        let reply = server
            .post("/api/v1/push?service=a", &Body::cpu(bad).sample("main", &[1, 10]).gzip())
            .expect(400);
        assert_eq!(reply.json()["field"], "time_nanos", "{reply:?}");
    }
    push(&server, "service=a", &Body::cpu(now).sample("main", &[1, 100]).gzip());
    let total =
        server.get("/api/v1/top?type=cpu&from=now-500d&to=now%2B1h").expect(200).json()["total"].clone();
    assert_eq!(total, 120);
}

#[test]
fn c110_a_range_between_two_profiles_holds_nothing() {
    let server = TestServer::start(&[]);
    let day = now_nanos() / (86_400 * SECOND) * 86_400 * SECOND - 86_400 * SECOND;
    let hour = 3_600 * SECOND;
    for time in [day + 9 * hour, day + 10 * hour] {
        push(&server, "service=a", &Body::cpu(time).sample("main", &[1, 10]).gzip());
    }
    let (from, to) = (at(day + 9 * hour + hour / 2), at(day + 9 * hour + 3 * hour / 4));
    let found = server.get(&format!("/api/v1/profiles?from={from}&to={to}")).expect(200).json();
    assert_eq!(found["profiles"], json!([]));
    assert_eq!(
        server.get(&format!("/api/v1/top?type=cpu&from={from}&to={to}")).expect(200).json()["total"],
        0
    );
    // Half-open: the beginning is inside, the end is not (D10).
    let (from, to) = (at(day + 9 * hour), at(day + 10 * hour));
    assert_eq!(
        server.get(&format!("/api/v1/top?type=cpu&from={from}&to={to}")).expect(200).json()["total"],
        10
    );
}

#[test]
fn unknown_paths_methods_and_parameters_are_told_what_is_right() {
    let server = TestServer::start(&[]);
    let reply = server.get("/api/v1/nowhere").expect(404);
    assert!(reply.json()["message"].as_str().unwrap().contains("/api/v1/"), "{reply:?}");
    let reply = server.get("/nowhere").expect(404);
    assert!(reply.text().contains("docs/api.md"), "{reply:?}");
    assert_eq!(server.get("/api/v1/push").expect(405).json()["code"], "unimplemented");
    let reply = server.get("/api/v1/top?typ=cpu").expect(400).json();
    assert_eq!(reply["field"], "typ");
    assert!(
        reply["message"].as_str().unwrap().contains("max_nodes")
            || reply["message"].as_str().unwrap().contains("limit")
    );
    assert_eq!(server.get("/api/v1/top?type=cpu&type=heap").expect(400).json()["field"], "type");
}

#[test]
fn short_forms_that_fit_several_types_are_listed() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    push(&server, "service=a&name=process_cpu", &Body::cpu(now).sample("main", &[1, 10]).gzip());
    push(&server, "service=a&name=other_cpu", &Body::cpu(now).sample("main", &[1, 10]).gzip());
    let reply = server.get("/api/v1/top?type=cpu").expect(400).json();
    let message = reply["message"].as_str().unwrap();
    assert!(message.contains("process_cpu:cpu:") && message.contains("other_cpu:cpu:"), "{message}");
}

#[test]
fn folded_text_is_taken_and_scaled_by_its_rate() {
    let server = TestServer::start(&[]);
    let parameters = "service=a&name=process_cpu&format=folded&sample_rate=100";
    let pushed = push(&server, parameters, b"main;work 3\nmain;idle 1\n\n# comment\nno count here\n");
    assert!(pushed["altered"]["bad_line"].as_u64().unwrap() >= 1, "{pushed}");
    assert_eq!(server.get("/api/v1/top?type=cpu").expect(200).json()["total"], 40_000_000);
}

#[test]
fn the_server_profiles_itself() {
    let server = TestServer::start(&[]);
    let reply = server.get("/debug/pprof/profile?seconds=1").expect(200);
    assert_eq!(content(&reply.body).types, ["samples/count", "cpu/nanoseconds"]);
    let reply = server.get("/debug/pprof/heap").expect(404);
    assert!(reply.text().contains("cannot measure") && reply.header("x-go-pprof").is_some(), "{reply:?}");
}

#[test]
fn health_readiness_and_metrics() {
    let server = TestServer::start(&[]);
    push(&server, "service=a", &Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip());
    assert_eq!(server.get("/healthz").expect(200).text(), "ok\n");
    server.get("/ready").expect(200);
    server.get("/readyz").expect(200);
    let metrics = server.get("/metrics").expect(200).text();
    for name in [
        "everflame_pushes_total{",
        "everflame_log_syncs_total",
        "everflame_process_resident_bytes",
        "everflame_connections",
    ] {
        assert!(metrics.contains(name), "{name} is not in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"));
}

#[test]
fn a_body_that_breaks_off_and_a_path_that_is_no_text_are_errors_of_this_api() {
    let server = TestServer::start(&[]);
    for path in ["/api/v1/labels/%ff", "/api/v1/profiles/%ff"] {
        let error = server.get(path).expect(400).json();
        assert_eq!(error["code"], "invalid_argument", "{path}: {error}");
        assert!(["name", "id"].contains(&error["field"].as_str().unwrap()), "{path}: {error}");
    }
    for (name, framing) in [
        ("wrong chunk", "transfer-encoding: chunked\r\n\r\nzz\r\n"),
        ("cut chunk", "transfer-encoding: chunked\r\n\r\n5\r\nab"),
        ("cut body", "content-length: 100\r\n\r\nab"),
    ] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
        let head = format!("POST /api/v1/push?service=a HTTP/1.1\r\nhost: x\r\n{framing}");
        stream.write_all(head.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // Whether the connection ends in good order after the answer does not matter here.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{name}: {answer:?}"));
        assert!(head.starts_with("HTTP/1.1 400 "), "{name}: {answer}");
        let error: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{name}: {answer}"));
        assert_eq!((&error["code"], &error["field"]), (&json!("invalid_argument"), &json!("body")), "{name}");
    }
}
