//! Arguments that nobody sends by accident: bounded, and refused in words.

use serde_json::{Value, json};

use crate::server::{ALL, CPU, START, Server, body, list, number};

fn filled() -> Server {
    let server = Server::start();
    for number in 0..20 {
        let pod = format!("p{number}");
        let labels = [("service_name", "shop"), ("pod", pod.as_str())];
        server.push(
            &labels,
            &body(START + number * 1_000, &[("main;work", 10, Vec::new()), ("main;rest", 5, Vec::new())]),
        );
    }
    server
}

fn with(fields: Value) -> Value {
    let mut message = json!({ "profileTypeID": CPU, "labelSelector": "{}", "start": ALL.0, "end": ALL.1 });
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

#[track_caller]
fn refused(server: &Server, method: &str, message: &Value, word: &str) {
    let reply = server.json(method, message);
    assert_eq!(reply.status, 400, "{method}: {reply:?}");
    assert!(reply.json()["message"].as_str().unwrap().contains(word), "{word}: {reply:?}");
}

#[test]
fn huge_ranges_with_tiny_steps_are_refused_in_words() {
    let server = filled();
    for method in ["SelectSeries", "SelectHeatmap"] {
        refused(&server, method, &with(json!({ "step": 0.001 })), "choose a longer step");
        for step in [0.0, -1.0, 1e300, 0.000_999] {
            refused(&server, method, &with(json!({ "step": step })), "step");
        }
        for step in ["NaN", "Infinity", "-Infinity"] {
            refused(&server, method, &with(json!({ "step": step })), "step");
        }
        // The largest range that can be said is answered with a step to match; no step lies before all time.
        let all = with(json!({ "start": 1, "end": i64::MAX.to_string(), "step": 1e9 }));
        assert_eq!(list(&server.json(method, &all).ok().json()["series"]).len(), 1, "{method}");
        let early = with(json!({ "start": i64::MIN.to_string(), "step": 1e9 }));
        refused(&server, method, &early, "start");
        refused(&server, method, &with(json!({ "step": 1e6, "limit": -1 })), "limit");
        let many: Vec<String> = (0..1_000).map(|number| format!("label{number}")).collect();
        refused(&server, method, &with(json!({ "step": 1e6, "groupBy": many })), "group_by");
    }
}

#[test]
fn the_native_api_names_its_own_parameters() {
    let server = filled();
    let pprof = body(START, &[("main", 10, Vec::new())]);
    server.call("POST", "/api/v1/push?service=shop&name=other_cpu", &[], &pprof).ok();
    let many: Vec<String> = (0..65).map(|number| format!("label{number}")).collect();
    for (question, field) in [
        (format!("timeline?type={CPU}&by={}", many.join(",")), "by"),
        ("top?type=cpu&from=1971-01-01T00:00:00Z".to_owned(), "type"),
    ] {
        let reply = server.get(&format!("/api/v1/{question}"));
        assert_eq!(reply.status, 400, "{reply:?}");
        assert_eq!(reply.json()["field"], field, "{reply:?}");
        assert!(reply.json()["message"].as_str().unwrap().starts_with(&format!("{field}: ")), "{reply:?}");
    }
}

#[test]
fn c086_node_numbers_of_every_size_are_bounded() {
    let server = filled();
    for (method, field) in [
        ("SelectMergeStacktraces", "maxNodes"),
        ("SelectMergeSpanProfile", "max_nodes"),
        ("SelectMergeProfile", "maxNodes"),
    ] {
        for nodes in [json!(-1), json!("-9223372036854775808")] {
            refused(&server, method, &with(json!({ field: nodes })), "max_nodes");
        }
        for nodes in [json!(0), json!(1_048_577), json!("9223372036854775807")] {
            server.json(method, &with(json!({ field: nodes }))).ok();
        }
    }
    let side = with(json!({ "maxNodes": -1 }));
    refused(&server, "Diff", &json!({ "left": side, "right": side }), "left.max_nodes");
}

#[test]
fn c089_patterns_are_bounded_wherever_they_stand() {
    let server = filled();
    let selector = |pattern: &str| with(json!({ "labelSelector": format!("{{pod=~\"{pattern}\"}}") }));
    for pattern in ["(", "a{1000}{1000}{1000}", &"a".repeat(20_000)] {
        refused(&server, "SelectMergeStacktraces", &selector(pattern), "regular expression");
        for field in ["includeFunctionNameRegexes", "excludeFunctionNameRegexes"] {
            let filter = json!({ "stackTraceSelector": { "frameFilter": { field: [pattern] } } });
            for method in ["SelectMergeStacktraces", "SelectMergeProfile"] {
                refused(&server, method, &with(filter.clone()), "frame_filter");
            }
        }
    }
    // Patterns that make other engines hang are answered.
    let slow = with(
        json!({ "stackTraceSelector": { "frameFilter": { "includeFunctionNameRegexes": ["(m+)+$", "^(a|ma|main)*$"] } } }),
    );
    server.json("SelectMergeStacktraces", &slow).ok();
    let many = |count: usize| {
        let patterns: Vec<String> = (0..count).map(|number| format!("x{number}")).collect();
        with(json!({ "stackTraceSelector": { "frameFilter": { "excludeFunctionNameRegexes": patterns } } }))
    };
    server.json("SelectMergeStacktraces", &many(64)).ok();
    refused(&server, "SelectMergeStacktraces", &many(65), "at most 64");
}

#[test]
fn long_lists_are_answered_or_refused_with_the_limit() {
    let server = filled();
    // Ten thousand frames of a call site: no stack is like that, and the answer is empty.
    let site = |count: usize| {
        let frames: Vec<Value> = (0..count).map(|_| json!({ "name": "main" })).collect();
        with(json!({ "stackTraceSelector": { "callSite": frames }, "step": 1e6 }))
    };
    for method in ["SelectMergeStacktraces", "SelectSeries"] {
        let answer = server.json(method, &site(10_000)).ok().json();
        assert_eq!(number(&answer["flamegraph"]["total"]), 0, "{method}");
        refused(&server, method, &site(16_385), "call_site");
    }
    let spans: Vec<String> = (1..=20_000).map(|number| format!("{number:016x}")).collect();
    refused(&server, "SelectMergeStacktraces", &with(json!({ "spanSelector": spans })), "span_selector");
    server.json("SelectMergeStacktraces", &with(json!({ "spanSelector": spans[..10_000] }))).ok();
    let ids: Vec<String> = (0..1_025).map(|number| format!("00000000-0000-0000-0000-{number:012}")).collect();
    refused(&server, "SelectMergeProfile", &with(json!({ "profileIdSelector": ids })), "profile_id_selector");
    let matchers: Vec<String> = (0..65).map(|number| format!("{{pod=\"p{number}\"}}")).collect();
    for method in ["LabelValues", "LabelNames", "Series"] {
        let message = |matchers: &[String]| json!({ "name": "pod", "matchers": matchers, "start": ALL.0, "end": ALL.1 });
        refused(&server, method, &message(&matchers), "matchers");
        server.json(method, &message(&matchers[..64])).ok();
    }
    let wide =
        format!("{{{}}}", (0..200).map(|number| format!("l{number}=\"\"")).collect::<Vec<_>>().join(","));
    refused(&server, "SelectMergeStacktraces", &with(json!({ "labelSelector": wide })), "selector");
    let both = json!({ "spanSelector": ["00000000000000ff"], "traceIdSelector": ["000000000000000000000000000000ff"] });
    refused(&server, "SelectMergeStacktraces", &with(both), "cannot be combined");
}

/// A variable with several values is one alternation; a value's own dots and pipes are escaped by the data source.
#[test]
fn c088_grafana_multi_value() {
    let server = Server::start();
    for (pod, value) in [("a", 1), ("b", 10), ("a.b|c", 100), ("axb|c", 1_000), ("a,b", 10_000)] {
        server.push(&[("service_name", "shop"), ("pod", pod)], &body(START, &[("main", value, Vec::new())]));
    }
    let total = |selector: &str| {
        let message = with(json!({ "labelSelector": selector }));
        number(&server.json("SelectMergeStacktraces", &message).ok().json()["flamegraph"]["total"])
    };
    assert_eq!(total(r#"{pod=~"(a|b)"}"#), 11);
    assert_eq!(total(r#"{pod=~"a|b"}"#), 11);
    assert_eq!(total(r#"{pod=~"(a\\.b\\|c|b)"}"#), 110, "an escaped dot is no other character");
    assert_eq!(total(r#"{pod=~"a.b\\|c"}"#), 1_100);
    // Between backticks it is as Grafana's `${pod:regex}` writes it, which `docs/grafana.md` tells to use.
    assert_eq!(total(r"{pod=~`(a\.b\|c|b)`}"), 110);
    refused(
        &server,
        "SelectMergeStacktraces",
        &with(json!({ "labelSelector": r#"{pod=~"(a\.b\|c|b)"}"# })),
        "unknown escape",
    );
    // A data source that joins values like a glob asks for one value of that name, never for all.
    assert_eq!(total(r#"{pod="{a,b}"}"#), 0);
    refused(
        &server,
        "SelectMergeStacktraces",
        &with(json!({ "labelSelector": r#"{pod=~"{a,b}"}"# })),
        "selector",
    );
    assert_eq!(total(r#"{pod=~".+"}"#), 11_111);
}

/// Two years of a service: no limit of 24 hours, no silent clamp; what is too fine is refused in words.
#[test]
fn c090_years_range() {
    let server = Server::start();
    let day = 86_400_000;
    let first = START - 730 * day;
    for month in 0..24 {
        let time = first + month * 30 * day;
        server.push(&[("service_name", "shop")], &body(time, &[("main;work", 1, Vec::new())]));
    }
    server.flush();
    let years = |fields: Value| {
        let mut message = with(fields);
        (message["start"], message["end"]) = (json!(first), json!(START));
        message
    };
    let flames = server.json("SelectMergeStacktraces", &years(json!({}))).ok().json();
    assert_eq!(flames["flamegraph"]["total"], "24");
    let series = server.json("SelectSeries", &years(json!({ "step": 86_400 }))).ok().json();
    assert_eq!(list(&series["series"][0]["points"]).len(), 24);
    refused(&server, "SelectSeries", &years(json!({ "step": 15 })), "limit");
    let side = years(json!({}));
    let diff = server.json("Diff", &json!({ "left": side, "right": side })).ok().json();
    assert_eq!(diff["flamegraph"]["leftTicks"], "24");
}

#[test]
fn c087_nothing_is_a_valid_answer_of_every_call() {
    let server = filled();
    let nothing = with(json!({ "labelSelector": "{pod=\"none\"}", "step": 1e6 }));
    for (format, field) in [("TREE", "tree"), ("DOT", "dot"), ("PPROF", "pprof")] {
        let mut message = nothing.clone();
        message["format"] = json!(format!("PROFILE_FORMAT_{format}"));
        let answer = server.json("SelectMergeStacktraces", &message).ok().json();
        let wanted = match field {
            "tree" => json!("AAAA"),
            "dot" => Value::Null,
            _ => answer["pprof"].clone(),
        };
        assert_eq!(answer[field], wanted, "{answer}");
    }
    for method in ["SelectSeries", "SelectHeatmap"] {
        assert_eq!(server.json(method, &nothing).ok().json(), json!({}));
    }
    let diff = server.json("Diff", &json!({ "left": nothing, "right": nothing })).ok().json();
    assert_eq!(diff["flamegraph"]["levels"], json!([{ "values": vec!["0"; 7] }]));
    let analysis = json!({ "query": "{pod=\"none\"}", "start": ALL.0, "end": ALL.1 });
    let analysis = server.json("AnalyzeQuery", &analysis).ok().json();
    assert_eq!(number(&analysis["queryImpact"]["totalQueriedSeries"]), 0);
}
