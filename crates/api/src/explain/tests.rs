//! Bounds and merging of notes.

use super::*;

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn subject<'a>(tenant: &'a Tenant, service: &'a str) -> Subject<'a> {
    Subject { tenant, api: "native", service }
}

#[test]
fn equal_reasons_of_one_service_are_one_entry_with_the_last_example() {
    let explain = Explain::default();
    let (a, b) = (tenant("a"), tenant("b"));
    explain.refused(&subject(&a, "cart"), ErrorKind::Malformed, "body: first");
    explain.refused(&subject(&a, "cart"), ErrorKind::Malformed, "body: second");
    explain.refused(&subject(&a, "shop"), ErrorKind::Malformed, "body: third");
    let mut altered = Altered::default();
    altered.add(AlteredReason::NoTime, 1);
    altered.add(AlteredReason::BadLine, 7);
    explain.accepted(&subject(&b, "cart"), Outcome::Empty, &altered);

    let of_a = explain.of(&a);
    assert_eq!((of_a.accepted, of_a.accepted_last, of_a.entries.len()), (0, None, 2));
    let cart = of_a.entries.iter().find(|one| one.service == "cart").unwrap();
    assert_eq!((cart.count, cart.reason, cart.example.as_str()), (2, "malformed", "body: second"));
    assert!(cart.is_refusal && cart.first <= cart.last);
    let of_b = explain.of(&b);
    assert_eq!(of_b.accepted, 1);
    let counts: Vec<_> = of_b.entries.iter().map(|one| (one.reason, one.count, one.is_refusal)).collect();
    assert_eq!(counts, [("bad_line", 7, false), ("empty", 1, false), ("no_time", 1, false)]);
    assert!(explain.of(&tenant("c")).entries.is_empty());
}

#[test]
fn memory_is_bounded_whatever_clients_send() {
    let explain = Explain::default();
    let long = "é".repeat(100_000);
    for number in 0..limits::EXPLAINED_TENANTS_MAX + 10 {
        let tenant = tenant(&format!("t{number}"));
        explain.refused(&subject(&tenant, &long), ErrorKind::Invalid, &long);
    }
    assert!(explain.of(&tenant("t0")).entries.is_empty(), "the tenant not heard of for longest goes first");
    let last = tenant(&format!("t{}", limits::EXPLAINED_TENANTS_MAX + 9));
    for number in 0..limits::EXPLAINED_ENTRIES_MAX + 5 {
        explain.refused(&subject(&last, &format!("service-{number}")), ErrorKind::Invalid, "x");
    }
    let known = explain.of(&last);
    assert_eq!(known.entries.len(), limits::EXPLAINED_ENTRIES_MAX);
    assert_eq!(known.forgotten, 6);
    let state = explain.state.lock().unwrap();
    assert_eq!(state.0.len(), limits::EXPLAINED_TENANTS_MAX);
    for notes in state.0.values() {
        for (key, note) in &notes.notes {
            // The mark of a cut has three bytes.
            assert!(key.service.len() <= limits::EXPLAINED_NAME_BYTES_MAX + 3);
            assert!(note.example.len() <= limits::EXPLAINED_EXAMPLE_BYTES_MAX + 3);
        }
    }
}

#[test]
fn every_way_to_push_is_watched_and_nothing_else() {
    for (path, api) in [
        ("/api/v1/push", Some(Api::Native)),
        ("/api/0/profiles", Some(Api::Profefe)),
        ("/ingest", Some(Api::Ingest)),
        ("/pyroscope/ingest", Some(Api::Ingest)),
        ("/push.v1.PusherService/Push", Some(Api::Push)),
        ("/api/v1/flame", None),
        ("/querier.v1.QuerierService/Series", None),
    ] {
        assert_eq!(pushing(&Method::POST, path), api, "{path}");
        assert_eq!(pushing(&Method::GET, path), None, "{path}");
    }
    let service = |text: &str| service_of(&text.parse::<Uri>().unwrap());
    assert_eq!(service("/api/v1/push?service=a%20b"), "a b");
    assert_eq!(service("/ingest?name=app.cpu%7Bx%3Dy%7D"), "app.cpu");
    assert_eq!(service("/ingest"), "");
}

#[test]
fn the_sentence_is_found_in_every_shape() {
    for (body, sentence) in [
        (r#"{"code":"invalid_argument","message":"label: no","field":"label"}"#, "label: no"),
        (r#"{"code":400,"error":"malformed profile"}"#, "malformed profile"),
        ("a sentence\n", "a sentence"),
        ("", ""),
    ] {
        assert_eq!(sentence_in(body.as_bytes()), sentence);
    }
}
