//! Why a service is missing: what was refused, changed or passed over is told to its tenant, and to nobody else.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use serde_json::{Value, json};
use support::{TestServer, body::Body, now_nanos, run};

fn explained(server: &TestServer, query: &str, tenant: Option<&str>) -> Value {
    let headers: Vec<(&str, &str)> = tenant.map(|tenant| ("x-scope-orgid", tenant)).into_iter().collect();
    server.call("GET", &format!("/api/v1/ingest/explain{query}"), &headers, None).expect(200).json()
}

/// Reason, API, service, client and count of each entry.
fn entries(reply: &Value, list: &str) -> Vec<Value> {
    let mut entries: Vec<Value> = reply[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["reason"], one["api"], one["service"], one["client"], one["count"]]))
        .collect();
    entries.sort_by_key(Value::to_string);
    entries
}

#[test]
fn every_way_to_be_refused_is_told_with_its_sentence() {
    let server = TestServer::start(&[]);
    let empty = explained(&server, "", None);
    assert_eq!(
        (&empty["accepted"], &empty["refused"], &empty["accepted_last"]),
        (&json!(0), &json!([]), &json!(""))
    );
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    let from = [("user-agent", "agent/1")];
    let post = |path: &str, body: &[u8]| server.call("POST", path, &from, Some(body));
    // Refused by the decoder, by a parameter, by its size, by an unknown compression; by each API.
    post("/api/v1/push?service=cart", b"no profile at all").expect(415);
    post("/api/v1/push?service=cart", b"neither is this").expect(415);
    post("/api/v1/push?servce=cart", &body).expect(400);
    post("/api/0/profiles?service=shop&type=nonsense", &body).expect(400);
    post("/ingest?name=web%7Bx%3Dy%7D&format=jfr", &body).expect(415);
    let rpc = json!({"series": [{"labels": [{"name": "service_name", "value": "rpc"}], "samples": [{"rawProfile": "AAAA"}]}]});
    let connect = [("user-agent", "agent/2"), ("content-type", "application/json")];
    let rpc = rpc.to_string();
    let refused = server.call("POST", "/push.v1.PusherService/Push", &connect, Some(rpc.as_bytes()));
    assert!(refused.status >= 400, "{refused:?}");
    let none = json!({"series": []}).to_string();
    let refused = server.call("POST", "/push.v1.PusherService/Push", &connect, Some(none.as_bytes()));
    assert!(refused.status >= 400, "{refused:?}");

    let reply = explained(&server, "", None);
    let refused = entries(&reply, "refused");
    for expected in [
        json!(["unsupported", "native", "cart", "agent/1", 2]),
        json!(["invalid", "native", "", "agent/1", 1]),
        json!(["invalid", "profefe", "shop", "agent/1", 1]),
        json!(["unsupported", "ingest", "web", "agent/1", 1]),
        json!(["invalid", "push", "", "agent/2", 1]),
    ] {
        assert!(refused.contains(&expected), "{expected} is not in {refused:#?}");
    }
    assert!(
        refused.iter().any(|one| one[1] == "push" && one[2] == "rpc" && one[3] == "agent/2"),
        "{refused:#?}"
    );
    assert_eq!(refused.len(), 6, "{refused:#?}");
    for one in reply["refused"].as_array().unwrap() {
        assert!(!one["example"].as_str().unwrap().is_empty(), "{one}");
        assert!(one["first"].as_str().unwrap() <= one["last"].as_str().unwrap(), "{one}");
    }
    // Each says which request it was, and a body of it can be had as it was sent where one came so far.
    let of = |api: &str, service: &str| {
        let all = reply["refused"].as_array().unwrap();
        all.iter().find(|one| one["api"] == api && one["service"] == service).unwrap().clone()
    };
    let cart = of("native", "cart");
    assert_eq!(
        (&cart["request"], &cart["body_bytes"]),
        (&json!("POST /api/v1/push?service=cart"), &json!(b"no profile at all".len()))
    );
    assert_eq!(server.get(cart["body"].as_str().unwrap()).expect(200).body, b"no profile at all");
    let web = of("ingest", "web");
    assert_eq!(web["request"], "POST /ingest?name=web%7Bx%3Dy%7D&format=jfr");
    assert_eq!(of("native", "")["body"], "");
    server.get("/api/v1/ingest/explain/bodies/4711").expect(404);

    let of_cart = explained(&server, "?service=cart", None);
    let services: Vec<&Value> =
        of_cart["refused"].as_array().unwrap().iter().map(|one| &one["service"]).collect();
    assert!(services.iter().all(|service| **service == "cart" || **service == ""), "{services:?}");
    assert!(services.len() < refused.len());
    server.get("/api/v1/ingest/explain?form=x").expect(400);
}

#[test]
fn clients_are_told_with_what_they_speak() {
    let server = TestServer::start(&[]);
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    let call =
        |path: &str, headers: &[(&str, &str)], body: &[u8]| server.call("POST", path, headers, Some(body));
    let agent = ("user-agent", "sdk-go/1.2.0 (linux)");
    call("/ingest?name=web", &[agent], &body).expect(200);
    call("/ingest?name=web&format=folded", &[agent], b"main;hot 3\n").expect(200);
    call("/ingest?name=web", &[agent], b"no profile").expect(422);
    call("/ingest?name=web", &[("user-agent", "sdk-go/1.3.0")], &body).expect(200);
    call("/api/v1/push?service=cart", &[("user-agent", "")], &body).expect(200);
    let reply = explained(&server, "", None);
    let clients: Vec<Value> = reply["clients"].as_array().unwrap().clone();
    let client = |name: &str, version: &str| {
        clients.iter().find(|one| one["name"] == name && one["version"] == version).unwrap().clone()
    };
    assert_eq!(clients.len(), 3, "{clients:#?}");
    let old = client("sdk-go", "1.2.0");
    assert_eq!(old["speaks"], json!(["ingest body", "ingest folded"]));
    assert_eq!((&old["accepted"], &old["refused"], &old["service"]), (&json!(2), &json!(1), &json!("web")));
    assert!(!old["refused_example"].as_str().unwrap().is_empty());
    assert!(old["accepted_last"].as_str().unwrap() <= old["refused_last"].as_str().unwrap());
    assert_eq!(client("sdk-go", "1.3.0")["refused_last"], "");
    assert_eq!(client("", "")["speaks"], json!(["native body"]));

    let at = ["explain", "--server", &server.url];
    let told = run(&at).stdout;
    for part in
        ["sdk-go 1.2.0  ingest body, ingest folded", "POST /ingest?name=web", "everflame explain --body"]
    {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    let number = told.split("--body ").nth(1).unwrap().split(' ').next().unwrap();
    let body = run(&[at[0], at[1], at[2], "--body", number, "-o", "-"]);
    assert_eq!((body.code, body.stdout.as_str()), (Some(0), "no profile"), "{}", body.stderr);
}

#[test]
fn what_was_changed_or_passed_over_is_told() {
    let server = TestServer::start(&[]);
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    server.post("/api/v1/push?service=a", &body).expect(200);
    server.post("/api/v1/push?service=a", &body).expect(200);
    server.post("/api/v1/push?service=a", &Body::cpu(now_nanos()).gzip()).expect(200);
    server.post("/api/v1/push?format=folded", b"main;hot 3\n").expect(200);
    let reply = explained(&server, "", None);
    assert_eq!(reply["accepted"], 4);
    assert_eq!(reply["refused"], json!([]));
    let reasons: Vec<(Value, Value)> =
        entries(&reply, "altered").into_iter().map(|one| (one[0].clone(), one[2].clone())).collect();
    for (reason, service) in [
        ("duplicate", "a"),
        ("empty", "a"),
        ("no_time", "unknown_service"),
        ("service_name_defaulted", "unknown_service"),
    ] {
        assert!(reasons.contains(&(json!(reason), json!(service))), "{reason}: {reasons:?}");
    }
}

/// Late profiles, altered labels and losses: each once, with the request it was said to and a body that can be tried
/// again, on the command line too.
#[test]
fn every_entry_has_an_example() {
    let server = TestServer::start(&[]);
    let from = [("user-agent", "agent/1")];
    let post = |path: &str, body: &[u8]| server.call("POST", path, &from, Some(body)).expect(200);
    let late = Body::cpu(now_nanos() - 3 * 3_600_000_000_000).sample("main", &[1, 10]).gzip();
    let late_path = "/api/v1/push?service=late";
    post(late_path, &late);
    let now = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    // No service_name: another label took its place.
    let labelled = "/api/v1/push?label=app%3Dshop";
    post(labelled, &now);
    let lossy = Body::cpu(now_nanos()).sample("main", &[1, 10]).sample("other", &[1, -10]).gzip();
    let lossy_path = "/ingest?name=lossy";
    post(lossy_path, &lossy);
    let reply = explained(&server, "", None);
    let altered = reply["altered"].as_array().unwrap();
    for (reason, service, path, body, words) in [
        ("late", "late", late_path, &late, "3 hours before it arrived"),
        ("service_name_defaulted", "shop", labelled, &now, "another label or unknown_service took its place"),
        ("negative_value", "lossy", lossy_path, &lossy, "negative values were left out"),
    ] {
        let one = altered.iter().find(|one| one["reason"] == reason).unwrap();
        assert_eq!(
            (&one["service"], &one["client"], &one["count"]),
            (&json!(service), &json!("agent/1"), &json!(1))
        );
        assert_eq!(one["request"], format!("POST {path}"));
        assert!(one["example"].as_str().unwrap().contains(words), "{one}");
        assert_eq!(&server.get(one["body"].as_str().unwrap()).expect(200).body, body, "{reason}");
        let told = run(&["explain", "--server", &server.url, "--service", service]).stdout;
        for part in [reason, words, path, "an example of "] {
            assert!(told.contains(part), "{part} is not in\n{told}");
        }
    }
    assert_eq!(altered.len(), 3, "{altered:#?}");
    // What is kept of the service comes first, and where that is nothing, what its name may be.
    let first = |service: &str| {
        let told = run(&["explain", "--server", &server.url, "--service", service]);
        assert_eq!(told.code, Some(0), "{told:?}");
        told.stdout.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    let kept = first("late");
    assert!(
        kept.starts_with("service late: profiles kept: 1, of profile types: 2; the latest is of "),
        "{kept}"
    );
    assert!(kept.contains("that is 3 h ago: what asks for the last hour"), "{kept}");
    let missing = first("Shop");
    let expected =
        "service Shop: nothing is kept under this name\n  services that are there: shop, late, lossy";
    assert_eq!(missing, expected);
}

#[test]
fn c099_a_tenant_is_told_of_its_own_pushes_alone() {
    let server = TestServer::start(&["--multi-tenant"]);
    for (tenant, service) in [("a", "secret-service-of-a"), ("b", "service-of-b")] {
        let path = format!("/api/v1/push?service={service}");
        server.call("POST", &path, &[("x-scope-orgid", tenant)], Some(b"no profile")).expect(415);
        let early = format!("/api/v1/push?service={service}&odd=1");
        server.call("POST", &early, &[("x-scope-orgid", tenant)], Some(b"no profile")).expect(400);
    }
    // Nobody's: no tenant, and one that is no name.
    server.post("/api/v1/push?service=nobodys", b"no profile").expect(401);
    server.call("POST", "/api/v1/push?service=odd", &[("x-scope-orgid", "../a")], Some(b"x")).expect(400);
    let of_b = explained(&server, "", Some("b"));
    assert_eq!(of_b["refused"].as_array().unwrap().len(), 2, "{of_b:#}");
    let body = explained(&server, "", Some("a"))["refused"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|one| one["body"].as_str().filter(|path| !path.is_empty()))
        .unwrap()
        .to_owned();
    for (tenant, status) in [("a", 200), ("b", 404)] {
        server.call("GET", &body, &[("x-scope-orgid", tenant)], None).expect(status);
    }
    for word in ["secret-service-of-a", "nobodys", "odd\""] {
        assert!(!of_b["refused"].to_string().contains(&format!("\"service\":\"{word}")), "{of_b:#}");
    }
    assert!(!of_b.to_string().contains("secret-service-of-a"), "{of_b:#}");
    let of_both = explained(&server, "", Some("a|b"));
    assert_eq!(of_both["refused"].as_array().unwrap().len(), 4);
    assert_eq!(explained(&server, "", Some("c"))["refused"], json!([]));
    server.get("/api/v1/ingest/explain").expect(401);
}
