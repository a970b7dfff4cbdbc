//! Queries over a store that is being pushed to and flushed: nothing missing, nothing twice, at any moment.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use profile::Tenant;
use query::{Engine, EngineOptions, NameMode, Selection};
use store::{Store, StoreOptions};
use support::*;

const PUSHERS: i64 = 3;
const PROFILES: i64 = 150;
/// Value of every profile.
const VALUE: i64 = 1_000;

/// New functions come all the time, so that display trees grow under the queries.
fn profile_of(pusher: i64, number: i64) -> Made {
    let own = format!("main;handler{};leaf{pusher}_{number}", number % 7);
    cpu(&[("main;work", VALUE - 10), (&own, 10)])
}

fn push(store: &Store, tenant: &Tenant, pusher: i64, number: i64) {
    let made = profile_of(pusher, number);
    let digest = format!("{pusher} {number}");
    let pod = pusher.to_string();
    let pairs = [("service_name", "live"), ("pod", pod.as_str())];
    push_cpu(store, tenant, &pairs, &made, seconds(number), &digest);
}

#[test]
fn totals_lie_between_what_was_pushed_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = StoreOptions::by_hand(folder.path());
    let store = runtime.block_on(Store::open(options)).unwrap();
    let engine = Engine::new(Arc::clone(&store), EngineOptions::default());
    let tenant = Tenant::anonymous();
    let selection = Selection { tenants: vec![tenant.clone()], ..select("{service_name=\"live\"}") };
    let (begun, ended, done) = (AtomicI64::new(0), AtomicI64::new(0), AtomicBool::new(false));
    let mut flushes = 0;
    std::thread::scope(|scope| {
        let pushers: Vec<_> = (0..PUSHERS)
            .map(|pusher| {
                let (store, tenant, begun, ended) = (&store, &tenant, &begun, &ended);
                scope.spawn(move || {
                    for number in 0..PROFILES {
                        begun.fetch_add(VALUE, Ordering::SeqCst);
                        push(store, tenant, pusher, number);
                        ended.fetch_add(VALUE, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for mode in [NameMode::Display, NameMode::Raw] {
            let (engine, selection, begun, ended, done) = (&engine, &selection, &begun, &ended, &done);
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let before = ended.load(Ordering::SeqCst);
                    let total = engine.flame(selection, mode, 50, &control()).unwrap().data.nodes[0].total;
                    let after = begun.load(Ordering::SeqCst);
                    assert!((before..=after).contains(&total), "{before} ≤ {total} ≤ {after}");
                    assert_eq!(total % VALUE, 0, "a profile was read in part");
                }
            });
        }
        while !pushers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            runtime.block_on(store.flush()).unwrap();
            flushes += 1;
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(flushes > 0);
    let table = engine.top(&selection, NameMode::Display, &control()).unwrap().data;
    assert_eq!(table.total, PUSHERS * PROFILES * VALUE);
    let work = table.rows.iter().find(|row| row.name == "work").unwrap();
    assert_eq!(work.self_value, PUSHERS * PROFILES * (VALUE - 10));
    let profiles = engine.profiles(&selection, 0, &control()).unwrap().data;
    assert_eq!(profiles.len() as i64, PUSHERS * PROFILES);
    runtime.block_on(store.close()).unwrap();
}
