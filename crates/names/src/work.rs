//! Counts the work of undoing mangled names, so that tests can hold it against their length (D20).
//!
//! Counting happens only where debug assertions are on (the test build); elsewhere [`count`] is nothing at all.

use std::cell::Cell;

thread_local! {
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// Adds steps: rules begun, parts walked, texts written.
#[inline(always)]
pub(crate) fn count(steps: usize) {
    if cfg!(debug_assertions) {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        WORK.with(|work| work.set(work.get().saturating_add(steps)));
    }
}

/// The steps that this thread took since the last call; always 0 in builds without debug assertions.
#[must_use]
pub fn take_work() -> u64 {
    WORK.with(|work| work.replace(0))
}
