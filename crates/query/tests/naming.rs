//! The naming of functions for a query: when it stops, that what was named by then is not named again, and what is said of
//! expressions that cannot be used.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::sync::{Arc, atomic::Ordering};

use query::{Control, Engine, NameMode, QueryError, limits};
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

/// The tree is kept for the next query, and so is what is to be said of it; once, however many datasets there are.
#[test]
fn expressions_that_cannot_be_used_are_told_to_every_query() {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    made.stack("main;work", &[7]);
    made.columns.header.drop_frames = made.string("(work");
    let datasets = ["a", "b"].map(|name| {
        let mut service = Service::new(name);
        service.push("process_cpu", &[], 0, &made.profile());
        service.dataset()
    });
    let engine = Engine::over(datasets.to_vec());
    for time in ["first", "second"] {
        let answer = engine.top(&select("{}"), NameMode::Raw, &control()).unwrap();
        let [notice] = answer.stats.notices.as_slice() else { panic!("{time}: {:?}", answer.stats.notices) };
        assert!(notice.starts_with("frames are not dropped: drop_frames: "), "{time}: {notice}");
        assert_eq!(answer.data.rows.len(), 2);
    }
}
