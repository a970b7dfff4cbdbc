//! `docs/openapi.json` says what the server does: every operation of the file is called, and every answer, good or bad,
//! is checked against the file's schema.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::collections::BTreeSet;

use serde_json::Value;
use support::{Reply, TestServer, body::Body, encoded, now_nanos, schema};

/// The file.
fn document() -> Value {
    let text = std::fs::read_to_string(support::repository_file("docs/openapi.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

struct Caller<'a> {
    server: &'a TestServer,
    document: &'a Value,
    called: BTreeSet<String>,
}

impl Caller<'_> {
    /// Calls an operation and checks the answer's status, type and content against the file.
    #[track_caller]
    fn call(&mut self, operation_id: &str, path: &str, body: Option<&[u8]>, status: u16) -> Reply {
        let (method, operation) = self.operation(operation_id);
        let reply = self.server.call(&method, path, &[], body).expect(status);
        let described = &operation["responses"][status.to_string()];
        assert!(described.is_object(), "{operation_id} does not describe {status}: {reply:?}");
        let content_type =
            reply.header("content-type").unwrap_or("").split(';').next().unwrap_or("").to_owned();
        let content = &described["content"][&content_type];
        assert!(
            content.is_object(),
            "{operation_id} does not describe {content_type:?} for {status}: {reply:?}"
        );
        if content_type == "application/json" {
            let errors = schema::check(self.document, &content["schema"], &reply.json());
            assert!(errors.is_empty(), "{operation_id}: {errors:#?} in {reply:?}");
        }
        self.called.insert(operation_id.to_owned());
        reply
    }

    fn operation(&self, operation_id: &str) -> (String, Value) {
        for (_, methods) in self.document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                if operation["operationId"] == operation_id {
                    return (method.to_uppercase(), operation.clone());
                }
            }
        }
        panic!("{operation_id} is not in the file")
    }
}

fn operation_ids(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
    operations.map(|operation| operation["operationId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_operation_answers_as_described() {
    let document = document();
    let server = TestServer::start(&[]);
    let mut caller = Caller { server: &server, document: &document, called: BTreeSet::new() };

    let cpu = Body::cpu(now_nanos() - 60_000_000_000)
        .sample("main;work;hot", &[30, 300])
        .sample("main;idle", &[1, 10]);
    let pushed = caller.call("push", "/api/v1/push?service=a&label=pod%3Dp1", Some(&cpu.gzip()), 200).json();
    let id = pushed["profiles"][0]["id"].as_str().unwrap().to_owned();
    let heap = Body::new(&[("inuse_space", "bytes")]).time(now_nanos()).sample("main;keep", &[4096]);
    caller.call("push", "/api/v1/push?service=a&type=heap", Some(&heap.gzip()), 200);
    let trace = b"go 1.22 trace\0\0\0 and what follows";
    let traced = caller.call("push", "/api/v1/push?service=a&type=trace", Some(trace), 200).json();
    let trace_id = traced["profiles"][0]["id"].as_str().unwrap().to_owned();
    caller.call("push", "/api/v1/push?service=a", Some(b"no profile at all"), 415);
    caller.call("push", "/api/v1/push?service=a", Some(&cpu.gzip()[..40]), 400);
    caller.call("push", "/api/v1/push?servce=a", Some(&cpu.gzip()), 400);

    let q = encoded(r#"cpu{service_name="a"}"#);
    let none = encoded(r#"cpu{service_name="nobody"}"#);
    for (operation, path) in [
        ("services", "/api/v1/services?".to_owned()),
        ("labelNames", "/api/v1/labels?".to_owned()),
        ("labelValues", "/api/v1/labels/pod?".to_owned()),
        ("series", "/api/v1/series?by=pod,service_name&".to_owned()),
        ("cardinality", "/api/v1/cardinality?limit=2&".to_owned()),
        ("profiles", "/api/v1/profiles?limit=5&".to_owned()),
        ("pprof", "/api/v1/pprof?".to_owned()),
        ("flame", "/api/v1/flame?max_nodes=3&".to_owned()),
        ("top", "/api/v1/top?limit=0&names=raw&".to_owned()),
        ("callers", "/api/v1/callers?function=work&".to_owned()),
        ("timeline", "/api/v1/timeline?step=15s&by=pod&".to_owned()),
    ] {
        caller.call(operation, &format!("{path}q={q}"), None, 200);
        caller.call(operation, &format!("{path}q={q}&from=now&to=now-1h"), None, 400);
        caller.call(operation, &format!("{path}q=%7Bbroken"), None, 400);
        if operation != "callers" {
            // C087: nothing found is a well-formed answer.
            caller.call(operation, &format!("{path}q={none}"), None, 200);
        }
    }
    // One service whose values do not fit in 64 bits: it is named, and its neighbours are there.
    for minutes in [1, 2] {
        let huge = Body::cpu(now_nanos() - minutes * 60_000_000_000).sample("main", &[1, i64::MAX]);
        caller.call("push", "/api/v1/push?service=huge", Some(&huge.gzip()), 200);
    }
    let grouped = caller.call("timeline", "/api/v1/timeline?type=cpu&by=service_name", None, 200).json();
    assert_eq!(grouped["overflowing"][0]["labels"]["service_name"], "huge", "{grouped}");
    assert_eq!(grouped["series"][0]["labels"]["service_name"], "a", "{grouped}");
    caller.call("timeline", "/api/v1/timeline?type=cpu", None, 400);
    caller.call("targets", "/api/v1/targets", None, 200);
    caller.call("targets", "/api/v1/targets?state=up", None, 400);
    caller.call("rulesMetrics", "/api/v1/rules/metrics", None, 200);
    caller.call("rulesMetrics", "/api/v1/rules/metrics?from=now", None, 400);
    caller.call("ingestExplain", "/api/v1/ingest/explain", None, 200);
    caller.call("ingestExplain", "/api/v1/ingest/explain?service=a", None, 200);
    caller.call("ingestExplain", "/api/v1/ingest/explain?from=now-1h", None, 400);
    caller.call("ingestExplainBody", "/api/v1/ingest/explain/bodies/1", None, 200);
    caller.call("ingestExplainBody", "/api/v1/ingest/explain/bodies/999999", None, 404);
    caller.call("ingestExplainBody", "/api/v1/ingest/explain/bodies/odd", None, 400);
    caller.call("profiles", "/api/v1/profiles", None, 200);
    caller.call("profile", &format!("/api/v1/profiles/{id}"), None, 200);
    caller.call("profile", &format!("/api/v1/profiles/{id}?format=json"), None, 200);
    caller.call("profile", &format!("/api/v1/profiles/{trace_id}"), None, 200);
    caller.call("profile", "/api/v1/profiles/00000000-0000-0000-0000-000000000001", None, 404);
    caller.call("profile", "/api/v1/profiles/odd", None, 400);
    caller.call("callers", &format!("/api/v1/callers?q={q}&function=nowhere"), None, 200);
    let side = |side: &str| format!("{side}={q}&{side}_from=now-1h");
    caller.call("diff", &format!("/api/v1/diff?{}&{}", side("left"), side("right")), None, 200);
    caller.call("diff", &format!("/api/v1/diff?left={none}&right={none}"), None, 200);
    caller.call("diff", "/api/v1/diff?left=%7Bbroken", None, 400);

    assert_eq!(caller.called, operation_ids(&document), "every operation of the file is called");
}

/// The checker itself must find what is wrong, or the test above proves nothing.
#[test]
fn the_checker_finds_what_is_wrong() {
    let document = document();
    let schema = &document["components"]["schemas"]["Function"];
    let good = serde_json::json!({"name": "f", "file": "", "self": 1, "total": 2});
    assert!(schema::check(&document, schema, &good).is_empty());
    for bad in [
        serde_json::json!({"name": "f", "file": "", "self": 1}),
        serde_json::json!({"name": "f", "file": "", "self": "1", "total": 2}),
        serde_json::json!({"name": "f", "file": "", "self": 1.5, "total": 2}),
        serde_json::json!({"name": "f", "file": "", "self": 1, "total": 2, "more": 3}),
        serde_json::json!([]),
    ] {
        assert!(!schema::check(&document, schema, &bad).is_empty(), "{bad}");
    }
}
