//! Bounds and merging of notes.

use profile::AlteredReason;

use super::*;

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn subject<'a>(tenant: &'a Tenant, service: &'a str) -> Subject<'a> {
    Subject { tenant, api: "native", service, body: None }
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
    explain.accepted(&subject(&b, "cart"), Outcome::Empty, &altered, Timestamp::now());

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
    assert_eq!(state.tenants.len(), limits::EXPLAINED_TENANTS_MAX);
    for notes in state.tenants.values() {
        for (key, note) in &notes.notes {
            // The mark of a cut has three bytes.
            assert!(key.service.len() <= limits::EXPLAINED_NAME_BYTES_MAX + 3);
            assert!(note.example.len() <= limits::EXPLAINED_EXAMPLE_BYTES_MAX + 3);
        }
    }
}

#[test]
fn the_first_body_of_an_entry_is_kept_and_only_for_its_tenant() {
    let explain = Explain::default();
    let (a, b) = (tenant("a"), tenant("b"));
    let refused = |body: &'static [u8]| {
        let body = Bytes::from_static(body);
        let subject = Subject { body: Some(&body), ..subject(&a, "cart") };
        explain.refused(&subject, ErrorKind::Malformed, "body: no");
    };
    refused(b"first");
    refused(b"second");
    let of_a = explain.of(&a);
    let (bytes, id) = of_a.entries[0].body.unwrap();
    assert_eq!(
        (bytes, explain.body(std::slice::from_ref(&a), id).unwrap()),
        (5, Bytes::from_static(b"first"))
    );
    assert_eq!(explain.body(&[b], id), None);
    assert_eq!(explain.body(&[a], id + 1), None);
}

#[test]
fn a_profile_of_long_ago_is_called_late_and_one_of_now_is_not() {
    let explain = Explain::default();
    let a = tenant("a");
    let now = Timestamp::now();
    let nanos = i64::try_from(limits::LATE_AFTER.as_nanos()).unwrap();
    for (start, outcome) in [
        (Timestamp(now.0 - nanos / 2), Outcome::Stored),
        (Timestamp(now.0 + nanos), Outcome::Stored),
        (Timestamp(now.0 - 3 * nanos), Outcome::Empty),
    ] {
        explain.accepted(&subject(&a, "cart"), outcome, &Altered::default(), start);
    }
    assert!(explain.of(&a).entries.iter().all(|one| one.reason == "empty"));
    let start = Timestamp(now.0 - 3 * nanos);
    explain.accepted(&subject(&a, "cart"), Outcome::Stored, &Altered::default(), start);
    let of_a = explain.of(&a);
    let late = of_a.entries.iter().find(|one| one.reason == "late").unwrap();
    assert!(!late.is_refusal && late.example.contains("3 hours before"), "{late:?}");
}

#[test]
fn how_late_a_profile_is_stands_in_a_unit_of_its_size() {
    let now = Timestamp::now();
    for (minutes, words) in [
        (60, ", 60 minutes before"),
        (119, ", 119 minutes before"),
        (120, ", 2 hours before"),
        (1_277, ", 21 hours before"),
        (2_879, ", 47 hours before"),
        (2_880, ", 2 days before"),
    ] {
        let said = late_sentence(Timestamp(now.0 - minutes * 60_000_000_000), now).unwrap();
        assert!(said.contains(words), "{said}");
    }
}
