//! profefe's API over a real socket: envelope, statuses, downloads.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use serde_json::{Value, json};
use support::{
    Reply, TestServer,
    body::{Body, content},
    encoded, now_nanos,
};

const SECOND: i64 = 1_000_000_000;

/// profefe's layout: no zone, whole seconds, UTC.
fn layout(nanos: i64) -> String {
    let time = jiff::Timestamp::from_second(nanos.div_euclid(SECOND)).unwrap();
    time.to_string().trim_end_matches('Z').to_owned()
}

/// A range of an hour that ends in a minute.
fn range() -> String {
    let now = now_nanos();
    format!("from={}&to={}", layout(now - 3_600 * SECOND), layout(now + 60 * SECOND))
}

#[track_caller]
fn write(server: &TestServer, parameters: &str, body: &[u8]) -> Value {
    let reply = server.post(&format!("/api/0/profiles?{parameters}"), body).expect(200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let envelope = reply.json();
    assert_eq!(envelope["code"], 200);
    envelope["body"].clone()
}

#[track_caller]
fn assert_error(reply: &Reply, status: u16, text: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    let envelope = reply.json();
    assert_eq!(envelope["code"], status);
    assert!(envelope["error"].as_str().unwrap().contains(text), "{envelope}");
}

#[test]
fn a_profile_is_written_listed_and_downloaded() {
    let server = TestServer::start(&[]);
    let time = now_nanos() - 30 * SECOND;
    let body = Body::cpu(time).sample("main;hot", &[3, 30]).sample("main;idle", &[1, 10]);
    let object = write(&server, "service=a&type=cpu&labels=z%3D1,region%3Deu%252Cwest", &body.gzip());
    let created_at = format!("{}Z", layout(time));
    assert_eq!((&object["type"], &object["service"]), (&json!("cpu"), &json!("a")));
    assert_eq!(object["created_at"], created_at);
    assert_eq!(object["labels"], json!([{"key": "region", "value": "eu,west"}, {"key": "z", "value": "1"}]));

    let listed = server.get(&format!("/api/0/profiles?service=a&type=cpu&{}", range())).expect(200).json();
    assert_eq!(listed, json!({"code": 200, "body": [object]}));
    let filtered = format!("/api/0/profiles?service=a&labels=region%3Deu%252Cwest&{}", range());
    assert_eq!(server.get(&filtered).expect(200).json()["body"].as_array().unwrap().len(), 1);
    server.get(&format!("/api/0/profiles?service=a&labels=region%3Dus&{}", range())).expect(204);

    let id = object["id"].as_str().unwrap();
    for id in [id.to_owned(), id.replace('-', "%2D")] {
        let reply = server.get(&format!("/api/0/profiles/{id}")).expect(200);
        assert_eq!(reply.header("content-type"), Some("application/octet-stream"));
        assert!(reply.header("content-disposition").unwrap().contains("attachment"));
        assert_eq!(content(&reply.body), content(&body.raw()), "equal in content (D4)");
    }
}

#[test]
fn several_profiles_are_merged_by_ids_and_by_kind() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    let one =
        write(&server, "service=a&type=cpu", &Body::cpu(now - 30 * SECOND).sample("main", &[1, 10]).gzip());
    let two =
        write(&server, "service=a&type=cpu", &Body::cpu(now - 20 * SECOND).sample("main", &[2, 20]).gzip());
    write(
        &server,
        "service=a&type=mutex",
        &Body::new(&[("delay", "nanoseconds")]).time(now).sample("lock", &[7]).gzip(),
    );
    let (one, two) = (one["id"].as_str().unwrap(), two["id"].as_str().unwrap());
    for path in [
        format!("/api/0/profiles/{one}+{two}"),
        format!("/api/0/profiles/{one}%2B{two}"),
        format!("/api/0/profiles/merge?service=a&type=cpu&{}", range()),
    ] {
        let merged = content(&server.get(&path).expect(200).body);
        assert_eq!(merged.samples, [("main".to_owned(), vec![3, 30])], "{path}");
    }
    let limited = format!("/api/0/profiles/merge?service=a&type=cpu&limit=1&{}", range());
    assert_eq!(content(&server.get(&limited).expect(200).body).samples, [("main".to_owned(), vec![2, 20])]);
    let all = server.get(&format!("/api/0/profiles?service=a&{}", range())).expect(200).json();
    let types: Vec<&str> =
        all["body"].as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["cpu", "cpu", "mutex"], "sorted by time");
    let unknown = format!("/api/0/profiles?service=a&type=nonsense&{}", range());
    assert_eq!(server.get(&unknown).expect(200).json(), all, "an unknown type filters nothing");
}

#[test]
fn every_kind_of_profile_has_its_word() {
    let server = TestServer::start(&[]);
    let words = ["cpu", "heap", "block", "mutex", "goroutine", "threadcreate", "other"];
    for (age, word) in (0..).zip(words) {
        let body = Body::new(&[("things", "count")]).time(now_nanos() - age * SECOND).sample("main", &[1]);
        assert_eq!(write(&server, &format!("service=a&type={word}"), &body.gzip())["type"], word);
        let listed =
            server.get(&format!("/api/0/profiles?service=a&type={word}&{}", range())).expect(200).json();
        assert_eq!(listed["body"].as_array().unwrap().len(), 1, "{word}");
    }
}

#[test]
fn an_execution_trace_is_kept_whole() {
    let server = TestServer::start(&[]);
    let trace: Vec<u8> =
        b"go 1.22 trace\0\0\0".iter().copied().chain((0..100_000).map(|n| (n % 251) as u8)).collect();
    let created_at = layout(now_nanos() - 5 * SECOND);
    let object = write(&server, &format!("service=a&type=trace&created_at={created_at}"), &trace);
    assert_eq!((&object["type"], &object["created_at"]), (&json!("trace"), &json!(format!("{created_at}Z"))));
    let id = object["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/api/0/profiles/{id}")).expect(200).body, trace);
    for kind in ["&type=trace", ""] {
        let listed = server.get(&format!("/api/0/profiles?service=a{kind}&{}", range())).expect(200).json();
        assert_eq!(listed["body"], json!([object]));
    }
    server.get(&format!("/api/0/profiles?service=a&type=cpu&{}", range())).expect(204);
    let merge = server.get(&format!("/api/0/profiles/merge?service=a&type=trace&{}", range()));
    assert_error(&merge, 405, "can't merge profiles of");
    assert_eq!(server.get("/api/0/services").expect(200).json()["body"], json!(["a"]));
}

#[test]
fn statuses_and_texts_are_profefes() {
    let server = TestServer::start(&[]);
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    let post = |parameters: &str, body: &[u8]| server.post(&format!("/api/0/profiles?{parameters}"), body);
    assert_error(&post("type=cpu", &body), 400, "bad request: missing \"service\"");
    assert_error(&post("service=a&type=nonsense", &body), 400, "unknown profile type");
    assert_error(&post("service=a", &body), 400, "unknown profile type");
    assert_error(&post("service=a&type=cpu", b"odd"), 400, "bad request: ");
    assert_error(&post("service=a&type=cpu&created_at=yesterday", &body), 400, "created_at");
    // C007 with profefe's own answer (D15).
    assert_error(&post("service=a&type=cpu", &Body::cpu(now_nanos()).gzip()), 400, "no samples");

    assert_error(&server.get("/api/0/profiles?type=cpu"), 400, "missing \"service\"");
    assert_error(&server.get("/api/0/profiles?service=a"), 400, "missing \"from\"");
    let inverted = "/api/0/profiles?service=a&from=2026-01-02T00:00:00&to=2026-01-01T00:00:00";
    assert_error(&server.get(inverted), 400, "after");
    assert_error(&server.get(&format!("/api/0/profiles?service=a&limit=x&{}", range())), 400, "limit");
    let nothing = server.get(&format!("/api/0/profiles?service=a&{}", range())).expect(204);
    assert_eq!(nothing.body, b"");
    server.get(&format!("/api/0/profiles/merge?service=a&type=cpu&{}", range())).expect(204);
    let merge = server.get(&format!("/api/0/profiles/merge?service=a&type=nonsense&{}", range()));
    assert_error(&merge, 405, "can't merge profiles of");

    assert_error(&server.get("/api/0/profiles/00000000-0000-0000-0000-000000000001"), 404, "nothing found");
    assert_error(&server.get("/api/0/profiles/odd"), 400, "no profile id");
    assert_error(&server.get("/api/0/profiles/"), 400, "empty");
    assert_error(&server.get("/api/0/nowhere"), 404, "");
    assert_error(&server.call("DELETE", "/api/0/profiles", &[], None), 405, "");
    let version = server.get("/api/0/version").expect(200).json();
    for member in ["version", "commit", "build_time", "go_version"] {
        assert!(version["body"][member].is_string(), "{version}");
    }
    assert_ne!(version["body"]["commit"], "");
}

#[test]
fn created_at_counts_where_the_body_names_no_time() {
    let server = TestServer::start(&[]);
    let created_at = layout(now_nanos() - 600 * SECOND);
    let stated = format!("service=a&type=cpu&created_at={created_at}");
    let object = write(&server, &stated, &Body::cpu(0).sample("main", &[1, 10]).gzip());
    assert_eq!(object["created_at"], format!("{created_at}Z"));
    let own = now_nanos() - 60 * SECOND;
    let object = write(&server, &stated, &Body::cpu(own).sample("main", &[1, 10]).gzip());
    assert_eq!(object["created_at"], format!("{}Z", layout(own)), "the body's own time wins");
}

#[test]
fn c110_a_range_between_two_profiles_holds_nothing() {
    let server = TestServer::start(&[]);
    let day = now_nanos() / (86_400 * SECOND) * 86_400 * SECOND - 86_400 * SECOND;
    let at = |minutes: i64| layout(day + minutes * 60 * SECOND);
    for hour in [9, 10] {
        let body = Body::cpu(day + hour * 3_600 * SECOND).sample("main", &[1, 10]);
        write(&server, "service=a&type=cpu", &body.gzip());
    }
    let between = format!("service=a&type=cpu&from={}&to={}", at(570), at(585));
    server.get(&format!("/api/0/profiles?{between}")).expect(204);
    server.get(&format!("/api/0/profiles/merge?{between}")).expect(204);
    let around = format!("service=a&type=cpu&from={}&to={}", at(540), at(600));
    let listed = server.get(&format!("/api/0/profiles?{around}")).expect(200).json();
    assert_eq!(listed["body"].as_array().unwrap().len(), 2, "both ends belong to the range");
}

#[test]
fn odd_service_names_are_kept_whole() {
    let server = TestServer::start(&[]);
    for service in ["team/app.v2", "a {id} = b, 🔥", "服务"] {
        let parameters = format!("service={}&type=cpu", encoded(service));
        let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
        assert_eq!(write(&server, &parameters, &body)["service"], service);
        let listed = server.get(&format!("/api/0/profiles?{parameters}&{}", range())).expect(200).json();
        assert_eq!(listed["body"][0]["service"], service);
        let merged = server.get(&format!("/pprof/{}/debug/pprof/profile", encoded(service))).expect(200);
        assert_eq!(content(&merged.body).samples, [("main".to_owned(), vec![1, 10])], "{service}");
    }
}
