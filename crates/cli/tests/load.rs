//! A server under load answers every query exactly: pushers, queriers, pairs of a push and its query, merges at once.
//!
//! A smaller size of what `make bench-server` does with 10,240 profiles; nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use support::TestServer;
use testkit::{Fleet, FleetOptions, LoadPlan, LoadProfile, run_load};

#[test]
fn totals_are_exact_while_pushes_run_and_heads_become_blocks() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let end_nanos = i64::try_from(now.as_nanos()).unwrap();
    let options = FleetOptions { pods: 16, intervals: 30, end_nanos, ..FleetOptions::one() };
    let profiles: Vec<LoadProfile> = Fleet::new(options).map(LoadProfile::of).collect();
    let server = TestServer::start(&["--flush-interval", "1s"]);

    let plan = LoadPlan {
        pushers: 8,
        queriers: 2,
        merges: 20,
        pairs: 200,
        flushes: 1,
        selector: r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="checkout-go"}"#.to_owned(),
        pair_selector: r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="pairs""#.to_owned(),
    };
    let report = run_load(&server.url, &plan, &profiles);

    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    assert_eq!(report.acknowledged, profiles.len());
    assert_eq!(report.value, profiles.iter().map(|profile| profile.value).sum::<i64>());
    assert!(report.pairs >= 200, "{} pairs", report.pairs);
    assert_eq!(report.pairs, report.pairs_tried);
    assert_eq!(report.merges, 20);
    assert!(report.queries_least > 0, "a querier got no answer while profiles were pushed");
    assert!(report.pairs_flushes > 0, "no head became a block");
}
