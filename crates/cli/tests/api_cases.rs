//! Cases of the case log that hold in every API alike, over sockets: labels of any name, ranges and counts that are none,
//! tenants that are none, clocks that are wrong, and questions that are too large.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use pyroscope::*;
use serde_json::{Value, json as value};
use support::{Reply, TestServer, body::Body, encoded, now_nanos};

const QUERIER: &str = "/querier.v1.QuerierService/";

/// Calls of the querier that take one range.
const METHODS: [&str; 10] = [
    "ProfileTypes",
    "LabelNames",
    "LabelValues",
    "Series",
    "SelectMergeStacktraces",
    "SelectMergeSpanProfile",
    "SelectMergeProfile",
    "SelectSeries",
    "SelectHeatmap",
    "AnalyzeQuery",
];

fn cpu() -> Vec<u8> {
    Body::cpu(now_nanos()).sample("main;work", &[1, 10]).gzip()
}

/// Sends a CPU profile by each of the four ways in, each to a service of its own with the same labels.
fn by_every_way(server: &TestServer, labels: &[(&str, &str)]) -> Vec<(&'static str, Reply)> {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let pairs = pairs.join(",");
    let path = |start: &str, text: &str| format!("{start}{}", encoded(text));
    vec![
        ("native", server.post(&path("/api/v1/push?service=native&labels=", &pairs), &cpu())),
        ("profefe", server.post(&path("/api/0/profiles?service=profefe&type=cpu&labels=", &pairs), &cpu())),
        ("ingest", server.post(&path("/ingest?format=pprof&name=", &format!("ingest{{{pairs}}}")), &cpu())),
        ("push", push(server, "push", labels, &cpu())),
    ]
}

#[test]
fn c080_dotted_labels_are_the_same_by_every_way_in() {
    let server = TestServer::start(&[]);
    let twins = [("label.dot", "v2"), ("foo.bar", "v1"), ("foo.bar", "v1")];
    for (way, reply) in by_every_way(&server, &twins) {
        reply.expect(200);
        let found =
            server.get(&format!("/api/v1/series?q={}", encoded(&format!("{{service_name=\"{way}\"}}"))));
        let text = found.expect(200).text();
        // In order, once, and as they came: what a selector has to say is what was sent.
        assert!(text.contains(r#"{"foo.bar":"v1","label.dot":"v2","#), "{way}: {text}");
        let selector = format!("{{service_name=\"{way}\",\"foo.bar\"=\"v1\",\"label.dot\"=~\"v.\"}}");
        assert_eq!(total(&server, CPU, &selector), 10, "{way}");
    }
    for (way, reply) in by_every_way(&server, &[("foo.bar", "v1"), ("foo.bar", "v2")]) {
        let reply = reply.expect(400);
        assert!(reply.text().contains("foo.bar") && reply.text().contains("twice"), "{way}: {reply:?}");
    }
    // `service.name` beside the same `service_name` is no second service.
    for (way, labels) in [("native", "service.name=native"), ("profefe", "service.name=profefe")] {
        let start = if way == "native" { "/api/v1/push?" } else { "/api/0/profiles?type=cpu&" };
        server.post(&format!("{start}service={way}&labels={}", encoded(labels)), &cpu()).expect(200);
    }
    server.post(&format!("/ingest?name={}", encoded("ingest{service.name=ingest}")), &cpu()).expect(200);
    push(&server, "push", &[("service.name", "push")], &cpu()).expect(200);
    let names = server.get("/api/v1/labels").expect(200).json();
    assert_eq!(names["names"], value!(["foo.bar", "label.dot", "pyroscope_spy", "service_name"]));
}

/// Each call that takes a selector, with one whose label names need quotes: the one service is chosen, the other is not.
#[test]
fn c081_quoted_matchers_work_in_every_api() {
    let server = TestServer::start(&[]);
    for (service, place) in [("chosen", "a"), ("unwanted", "b")] {
        let body = Body::cpu(now_nanos()).sample(&format!("main;{service}"), &[1, 10]).gzip();
        push(&server, service, &[("服务", place), ("k8s-app", place)], &body).expect(200);
    }
    for selector in [r#"{"服务"="a"}"#, r#"{"k8s-app"!="b"}"#, r#"{"服务"=~"a|c","k8s-app"="a"}"#] {
        let mut answers = Vec::new();
        let now = now_nanos() / 1_000_000;
        let typed = format!("{CPU}{selector}");
        let message = value!({
            "profileTypeID": CPU, "labelSelector": selector, "matchers": [selector], "query": typed, "step": 15,
            "name": "service_name", "labelNames": ["service_name"], "groupBy": ["service_name"], "queryType": 1,
            "start": now - 3_600_000, "end": now + 60_000,
        });
        for method in [
            "LabelValues",
            "Series",
            "SelectMergeStacktraces",
            "SelectMergeSpanProfile",
            "SelectMergeProfile",
            "SelectSeries",
            "SelectHeatmap",
        ] {
            answers.push((method.to_owned(), ask(&server, method, &message).to_string()));
        }
        let diff = ask(&server, "Diff", &value!({ "left": message, "right": message }));
        answers.push(("Diff".to_owned(), diff.to_string()));
        let analysis = ask(&server, "AnalyzeQuery", &message);
        assert_eq!(analysis["queryImpact"]["totalQueriedSeries"], "1", "{selector}: {analysis}");

        let (q, cpu, typed) = (encoded(selector), encoded(&format!("cpu{selector}")), encoded(&typed));
        for path in [
            format!("/api/v1/labels/service_name?q={q}"),
            format!("/api/v1/series?q={q}"),
            format!("/api/v1/services?q={q}"),
            format!("/api/v1/profiles?q={q}"),
            format!("/api/v1/top?q={cpu}"),
            format!("/api/v1/flame?q={cpu}"),
            format!("/api/v1/callers?function=main&q={cpu}"),
            format!("/api/v1/timeline?by=service_name&q={cpu}"),
            format!("/api/v1/diff?left={cpu}&right={cpu}"),
            format!("/pyroscope/render?query={typed}&from=now-1h&groupBy=service_name"),
            format!("/pyroscope/render?query={typed}&from=now-1h&format=dot"),
            format!("/pyroscope/render-diff?leftQuery={typed}&rightQuery={typed}"),
            format!("/pyroscope/label-values?label=service_name&query={q}"),
        ] {
            let text = server.get(&path).expect(200).text();
            answers.push((path, text));
        }
        let pprof = support::body::content(&server.get(&format!("/api/v1/pprof?q={q}")).expect(200).body);
        answers.push(("pprof".to_owned(), format!("{:?}", pprof.samples)));
        for (call, answer) in answers {
            assert!(answer.contains("chosen") && !answer.contains("unwanted"), "{selector} {call}: {answer}");
        }
    }
    // profefe has no selectors: its labels are pairs.
    let range = "from=2001-01-01T00:00:00&to=2100-01-01T00:00:00";
    for (label, status) in [("服务=a", 200), ("k8s-app=a", 200), ("服务=b", 204)] {
        let path = format!("/api/0/profiles?service=chosen&type=cpu&labels={}&{range}", encoded(label));
        server.get(&path).expect(status);
    }
}

/// What `/ingest` cannot say in its name, because a comma ends a value there, other ways can.
#[test]
fn c082_odd_label_values_are_kept_whole_or_refused() {
    let server = TestServer::start(&[]);
    let odd = ["{id}", "a=b", "a,b", "two words", " around ", "🔥", "a\"quote\\", "%2Fx"];
    for text in odd {
        push(&server, "team/app.v2", &[("odd", text)], &cpu()).expect(200);
        let path = format!("/api/v1/push?service={}&label=", encoded("team/app.v2"));
        server.post(&format!("{path}{}", encoded(&format!("odd={text}"))), &cpu()).expect(200);
        let selector = format!("{{odd={}}}", value!(text));
        assert_eq!(total(&server, CPU, &selector), 20, "{text:?}");
    }
    let mut wanted = odd.map(str::to_owned).to_vec();
    wanted.sort();
    let kept = server.get("/api/v1/labels/odd").expect(200).json();
    assert_eq!(kept["values"], value!(wanted));
    let longest = "x".repeat(2_048);
    push(&server, "a", &[("long", &longest)], &cpu()).expect(200);
    let refused = push(&server, "a", &[("long", &format!("{longest}x"))], &cpu()).expect(400);
    assert!(refused.text().contains("2049 bytes (limit 2048)"), "{refused:?}");
    assert_eq!(server.get("/api/v1/labels/long").expect(200).json()["values"], value!([longest]));
}

#[test]
fn c085_inverted_ranges_are_refused_by_every_call() {
    let server = TestServer::start(&[]);
    push(&server, "a", &[], &cpu()).expect(200);
    let now = now_nanos() / 1_000_000;
    let message = value!({
        "profileTypeID": CPU, "labelSelector": "{}", "query": format!("{CPU}{{}}"), "name": "service_name", "step": 15,
        "queryType": 1, "start": now, "end": now - 1_000,
    });
    for method in METHODS {
        let refused = json(&server, &format!("{QUERIER}{method}"), &message).expect(400).json();
        assert!(refused["message"].as_str().unwrap().contains("before the start"), "{method}: {refused}");
    }
    let typed = encoded(&format!("{CPU}{{}}"));
    let sides = format!("leftQuery={typed}&rightQuery={typed}");
    for path in [
        format!("/pyroscope/render?query={typed}&from=now&until=now-1h"),
        format!("/pyroscope/render-diff?{sides}&leftFrom=now&leftUntil=now-1h"),
        format!("/pyroscope/render-diff?{sides}&rightFrom=now&rightUntil=now-1h"),
        "/pyroscope/label-values?label=a&from=now&until=now-1h".to_owned(),
        "/pyroscope/labels?from=now&until=now-1h".to_owned(),
        "/api/v1/diff?left=cpu&right=cpu&left_from=now&left_to=now-1h".to_owned(),
        "/pprof/a/debug/pprof/profile?from=now&to=now-1h".to_owned(),
        "/api/0/profiles?service=a&type=cpu&from=2026-12-01T00:00:00&to=2026-11-01T00:00:00".to_owned(),
        "/api/0/profiles/merge?service=a&type=cpu&from=2026-12-01T00:00:00&to=2026-11-01T00:00:00".to_owned(),
    ] {
        server.get(&path).expect(400);
    }
    for operation in [
        "services?",
        "labels?",
        "labels/a?",
        "series?",
        "profiles?",
        "flame?",
        "top?",
        "callers?function=main&",
        "timeline?",
        "pprof?",
        "cardinality?",
    ] {
        let refused = server.get(&format!("/api/v1/{operation}from=now&to=now-1h")).expect(400).json();
        assert_eq!(refused["field"], "from", "{operation}: {refused}");
    }
}

/// Two years of a service that is larger than a query may read: the limit is named, and smaller questions are answered.
#[test]
fn c090_years_of_a_busy_service_are_refused_with_the_limit() {
    const DAY: i64 = 86_400_000_000_000;
    let server = TestServer::start(&["--query-bytes-max=1KiB"]);
    for month in 0..24_i64 {
        let body = (0..200).fold(Body::cpu(now_nanos() - month * 30 * DAY), |body, number| {
            body.sample(&format!("main;f{number};g{}", month * 200 + number), &[1, 10])
        });
        push(&server, "busy", &[], &body.gzip()).expect(200);
    }
    push(&server, "other", &[], &cpu()).expect(200);
    let q = encoded("cpu{service_name=\"busy\"}");
    for operation in ["flame", "top", "pprof"] {
        let refused = server.get(&format!("/api/v1/{operation}?q={q}&from=now-730d")).expect(400).json();
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("more than 1024 bytes; choose a smaller range"), "{operation}: {refused}");
        server.get(&format!("/api/v1/{operation}?q={q}&from=now-1h")).expect(200);
    }
    let now = now_nanos() / 1_000_000;
    let message = value!({
        "profileTypeID": CPU, "labelSelector": "{service_name=\"busy\"}", "start": now - 730 * DAY / 1_000_000,
        "end": now,
    });
    let refused = json(&server, &format!("{QUERIER}SelectMergeStacktraces"), &message);
    assert!(refused.expect(400).text().contains("more than 1024 bytes"));
    let typed = encoded(&format!("{CPU}{{service_name=\"busy\"}}"));
    let refused = server.get(&format!("/pyroscope/render?query={typed}&from=now-730d")).expect(400);
    assert!(refused.text().contains("more than 1024 bytes"), "{refused:?}");
    assert_eq!(total(&server, CPU, "{service_name=\"other\"}"), 10, "the server stays healthy");
}

/// A selector that nobody has encoded never becomes a request; the words say what to do.
#[test]
fn c092_a_url_with_bare_quotes_is_refused_in_words() {
    let server = TestServer::start(&[]);
    let mut socket = TcpStream::connect(&server.address).unwrap();
    socket.write_all(b"GET /api/v1/top?q=cpu{service_name=\"a\"} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("--data-urlencode"), "{answer}");
}

/// The skew is told to the client, and to whoever asks why its service is missing.
#[test]
fn c098_the_skew_of_each_client_is_shown() {
    const HOUR: i64 = 3_600_000_000_000;
    let server = TestServer::start(&[]);
    let from = [("user-agent", "agent/7")];
    let path = "/api/v1/push?service=skewed";
    let sent = |offset: i64| Body::cpu(now_nanos() + offset).sample("main", &[1, 10]).gzip();
    let refused = server.call("POST", path, &from, Some(&sent(12 * HOUR + HOUR / 60))).expect(400);
    assert!(refused.text().contains("12 h 0 min ahead of this server's clock"), "{refused:?}");
    server.call("POST", path, &[("user-agent", "good/1")], Some(&sent(0))).expect(200);
    let told = server.get("/api/v1/ingest/explain?service=skewed").expect(200).json();
    let entry = &told["refused"][0];
    assert_eq!((&entry["client"], &entry["count"]), (&value!("agent/7"), &value!(1)));
    assert!(entry["example"].as_str().unwrap().contains("12 h 0 min ahead"), "{entry}");
    let clients = told["clients"].as_array().unwrap();
    let skew = |name: &str| {
        let client = clients.iter().find(|client| client["name"] == name).unwrap();
        client["refused_example"].as_str().unwrap().contains("ahead")
    };
    assert!(skew("agent") && !skew("good"), "{told}");
    assert_eq!(total(&server, CPU, "{}"), 10, "good data is unaffected");
}

/// Profiles at 09:00 and 10:00, asked for from 09:30 to 09:45: no call shows anything of them, be they still in memory or in
/// one block whose own range has the question within it.
#[test]
fn c110_no_call_shows_a_neighbours_data() {
    const HOUR: i64 = 3_600_000_000_000;
    let yesterday = now_nanos() / (24 * HOUR) * 24 * HOUR - 24 * HOUR;
    let server = TestServer::start(&[]);
    for hour in [9, 10] {
        let body = Body::cpu(yesterday + hour * HOUR).sample("main;neighbour", &[1, 10]).gzip();
        push(&server, "neighbour", &[("pod", "neighbour"), ("neighbour", "x")], &body).expect(200);
    }
    nothing_between(&server, yesterday);
    let (_, data) = server.stop();
    let server = TestServer::start_in(data, &["--flush-interval=200ms"]);
    server.wait_for("/metrics", |reply| {
        let metrics = reply.text();
        metrics.contains("everflame_blocks 1\n") && metrics.contains("everflame_head_profiles 0\n")
    });
    nothing_between(&server, yesterday);
}

fn nothing_between(server: &TestServer, day: i64) {
    const MINUTE: i64 = 60_000;
    let at = |minutes: i64| day / 1_000_000 + minutes * MINUTE;
    let typed = encoded(&format!("{CPU}{{}}"));
    let calls = |from: i64, to: i64| {
        let range = format!("from={from}&to={to}");
        let until = format!("from={from}&until={to}");
        let operations = [
            "services?",
            "labels?",
            "labels/pod?",
            "series?",
            "profiles?",
            "cardinality?",
            "flame?type=cpu&",
            "top?type=cpu&",
            "callers?type=cpu&function=main&",
            "timeline?type=cpu&step=1m&by=pod&",
        ];
        let mut answers: Vec<(String, String)> = Vec::new();
        let mut get = |path: String| answers.push((path.clone(), server.get(&path).expect(200).text()));
        operations.iter().for_each(|operation| get(format!("/api/v1/{operation}{range}")));
        get(format!("/pyroscope/render?query={typed}&{until}&groupBy=pod"));
        get(format!("/pyroscope/labels?{until}"));
        get(format!("/pyroscope/label-values?label=pod&{until}"));
        for path in
            [format!("/api/v1/pprof?{range}"), format!("/pprof/neighbour/debug/pprof/profile?{range}")]
        {
            let samples = support::body::content(&server.get(&path).expect(200).body).samples;
            answers.push((path, format!("{samples:?}")));
        }
        let message = value!({
            "profileTypeID": CPU, "labelSelector": "{}", "query": format!("{CPU}{{}}"), "name": "pod",
            "groupBy": ["pod"], "labelNames": ["pod"], "step": 60, "queryType": 1, "start": from, "end": to,
        });
        for method in METHODS {
            answers.push((method.to_owned(), ask(server, method, &message).to_string()));
        }
        answers
    };
    for (call, answer) in calls(at(570), at(585)) {
        assert!(!answer.contains("neighbour"), "{call}: {answer}");
    }
    // The same calls over both hours show them, so the words above mean something.
    let silent = ["ProfileTypes", "AnalyzeQuery", "SelectHeatmap", "SelectMergeSpanProfile"];
    for (call, answer) in calls(at(530), at(610)) {
        assert!(silent.contains(&call.as_str()) || answer.contains("neighbour"), "{call}: {answer}");
    }
    let time = |minutes| {
        let time = jiff::Timestamp::from_millisecond(at(minutes)).unwrap();
        time.strftime("%Y-%m-%dT%H:%M:%S").to_string()
    };
    for path in ["/api/0/profiles", "/api/0/profiles/merge"] {
        let asked = |from, to| {
            let range = format!("from={}&to={}", time(from), time(to));
            server.get(&format!("{path}?service=neighbour&type=cpu&{range}")).status
        };
        assert_eq!((asked(570, 585), asked(530, 610)), (204, 200), "{path}");
    }
}

/// A call of each service that a tenant's name comes to: some keep files under it.
fn of_each_service() -> Vec<(&'static str, &'static str, Value, bool)> {
    let rule = value!({
        "metricName": "profiles_recorded_x",
        "matchers": [format!("{{service_name=\"a\",__profile_type__=\"{CPU}\"}}")],
    });
    vec![
        ("POST", "/querier.v1.QuerierService/LabelNames", value!({}), true),
        ("POST", "/settings.v1.SettingsService/Get", value!({}), false),
        ("POST", "/settings.v1.SettingsService/Set", value!({"setting": {"name": "n", "value": "v"}}), false),
        ("POST", "/settings.v1.RecordingRulesService/UpsertRecordingRule", rule, false),
        ("POST", "/adhocprofiles.v1.AdHocProfileService/List", value!({}), false),
        ("GET", "/pyroscope/labels", Value::Null, true),
        ("GET", "/api/v1/ingest/explain", Value::Null, true),
        ("GET", "/api/v1/cardinality", Value::Null, true),
        ("GET", "/api/0/services", Value::Null, true),
    ]
}

#[test]
fn c099_c100_tenants_are_names_in_every_service() {
    let server = TestServer::start(&["--multi-tenant"]);
    let call = |method: &str, path: &str, message: &Value, tenant: &str| {
        let headers = [("x-scope-orgid", tenant), ("content-type", "application/json")];
        let body = message.to_string().into_bytes();
        server.call(method, path, &headers, (method == "POST").then_some(&body)).status
    };
    let long = "x".repeat(151);
    for (method, path, message, takes_lists) in of_each_service() {
        for bad in ["../x", "a/b", "..", ".", "", "a%2Fb", "🔥", "a|../x", "a||b", "|", &long] {
            assert_eq!(call(method, path, &message, bad), 400, "{path} {bad:?}");
        }
        assert_eq!(call(method, path, &message, "one"), 200, "{path}");
        assert_eq!(call(method, path, &message, "b|a|b"), if takes_lists { 200 } else { 400 }, "{path}");
    }
    // Nothing of it has become a path: outside there is nothing new, inside only the good name.
    let folder = server.data();
    assert!(!folder.path().parent().unwrap().join("x").exists());
    let settings: Vec<_> = std::fs::read_dir(folder.path().join("settings")).unwrap().collect();
    let names: Vec<_> = settings.iter().map(|entry| entry.as_ref().unwrap().file_name()).collect();
    assert_eq!(names, ["one"]);
}
