//! The naming of functions for a query: when it stops, and that what was named by then is not named again.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::sync::{Arc, atomic::Ordering};

use query::{Control, NameMode, QueryError, limits};
use support::{watched::watched, *};

#[test]
fn naming_stops_when_it_is_told_to_and_goes_on_from_there() {
    const FUNCTIONS: u64 = 2_000;
    let mut service = Service::new("a");
    let stacks: Vec<String> = (0..FUNCTIONS).map(|number| format!("_Z1fIXna{number}")).collect();
    let stacks: Vec<(&str, i64)> = stacks.iter().map(|name| (name.as_str(), 1)).collect();
    service.cpu(&[], 0, &stacks);
    let (engine, watch) = watched(&service);
    watch.cancel_after.store(500, Ordering::Relaxed);
    let told = Control { cancelled: Arc::clone(&watch.cancelled), ..control() };
    let result = engine.top(&select("{}"), NameMode::Display, &told);
    assert!(matches!(result, Err(QueryError::Cancelled)), "{result:?}");
    let asked = watch.asked.swap(0, Ordering::Relaxed);
    let most = 500 + u64::from(limits::FRAMES_NAMED_PER_CHECK);
    assert!(asked <= most, "{asked} frames were named, told to stop after 500");

    let top = engine.top(&select("{}"), NameMode::Display, &control()).unwrap().data;
    assert_eq!((top.total, top.rows.len() as u64), (2_000, FUNCTIONS));
    let again = watch.asked.load(Ordering::Relaxed);
    assert!(again <= FUNCTIONS - 500 + u64::from(limits::FRAMES_NAMED_PER_CHECK), "{again} were named again");
}
