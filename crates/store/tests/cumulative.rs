//! Cumulative sources become deltas, through retries, flushes and crashes (D8).

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use store::{Outcome, PushError, Store};
use support::{Push, Sketch, TIME, content, keep, open};
use testkit::ForgetfulDisk;

const STEP: i64 = 15_000_000_000;

/// The heap of a process that has allocated so many bytes in `main;a` and `main;b` and holds `used` of them.
fn heap(a: i64, b: i64, used: i64) -> Sketch {
    let types = [("alloc_space", "bytes"), ("inuse_space", "bytes")];
    Sketch::new(&types, &[("main;a", vec![a, used]), ("main;b", vec![b, 0])])
}

async fn send(store: &Store, number: i64, sketch: &Sketch) -> Outcome {
    let push = Push::new("a", &number.to_string()).at(TIME + number * STEP).cumulative();
    keep(store, &push, sketch).await.unwrap().outcome
}

/// `alloc_space` of `main;a` and `main;b`, and `inuse_space` of `main;a`, in order of time.
fn shown(store: &Store) -> Vec<[i64; 3]> {
    let profiles = content(store);
    let value = |stacks: &std::collections::BTreeMap<String, Vec<i64>>, stack: &str, column: usize| {
        stacks.get(stack).map_or(0, |values| values[column])
    };
    let row = |stacks| [value(stacks, "main;a", 0), value(stacks, "main;b", 0), value(stacks, "main;a", 1)];
    profiles.values().map(row).collect()
}

#[tokio::test]
async fn c034_cumulative_heap_is_shown_as_what_was_added() {
    let store = open(&ForgetfulDisk::new()).await;
    for (number, (allocated, used)) in [(100, 50), (150, 40), (200, 40)].into_iter().enumerate() {
        assert_eq!(send(&store, number as i64, &heap(allocated, 7, used)).await, Outcome::Stored);
    }
    assert_eq!(shown(&store), [[0, 0, 50], [50, 0, 40], [50, 0, 40]]);
}

#[tokio::test]
async fn c030_profiles_that_are_deltas_already_are_not_subtracted() {
    let store = open(&ForgetfulDisk::new()).await;
    for (number, value) in [239, 3].into_iter().enumerate() {
        let push =
            Push { name: "memory", ..Push::new("a", &number.to_string()).at(TIME + number as i64 * STEP) };
        keep(&store, &push, &heap(value, 0, 0)).await.unwrap();
    }
    assert_eq!(shown(&store), [[239, 0, 0], [3, 0, 0]]);
}

#[tokio::test]
async fn the_first_profile_of_counters_alone_is_a_baseline() {
    let store = open(&ForgetfulDisk::new()).await;
    assert_eq!(send(&store, 0, &heap(100, 7, 0)).await, Outcome::Baseline);
    assert_eq!(send(&store, 0, &heap(100, 7, 0)).await, Outcome::Duplicate);
    assert_eq!(send(&store, 1, &heap(100, 9, 0)).await, Outcome::Stored);
    assert_eq!(send(&store, 2, &heap(100, 9, 0)).await, Outcome::Empty);
    assert_eq!(shown(&store), [[0, 2, 0]]);
}

#[tokio::test]
async fn a_restarted_process_counts_from_zero() {
    let store = open(&ForgetfulDisk::new()).await;
    for (number, (a, b)) in [(100, 10), (120, 10), (30, 5), (31, 5)].into_iter().enumerate() {
        send(&store, number as i64, &heap(a, b, 1)).await;
    }
    assert_eq!(shown(&store), [[0, 0, 1], [20, 0, 1], [30, 5, 1], [1, 0, 1]]);
}

#[tokio::test]
async fn an_older_profile_than_the_last_is_refused() {
    let store = open(&ForgetfulDisk::new()).await;
    send(&store, 5, &heap(100, 10, 1)).await;
    let late = Push::new("a", "late").at(TIME).cumulative().send(&store, &heap(50, 1, 1));
    assert!(matches!(late, Err(PushError::Invalid { field, .. }) if field == "time"));
    send(&store, 6, &heap(101, 10, 1)).await;
    assert_eq!(shown(&store), [[0, 0, 1], [1, 0, 1]]);
}

#[tokio::test]
async fn deltas_are_right_across_crash_and_flush() {
    let disk = ForgetfulDisk::new();
    let mut store = open(&disk).await;
    let mut expected = vec![[0, 0, 1]];
    send(&store, 0, &heap(100, 7, 1)).await;
    for number in 1..12 {
        match number % 4 {
            0 => store.flush().await.unwrap(),
            1 => {
                drop(store);
                disk.crash();
                store = open(&disk).await;
            }
            2 => {
                store.flush().await.unwrap();
                drop(store);
                disk.crash();
                store = open(&disk).await;
            }
            _ => {}
        }
        assert_eq!(send(&store, number, &heap(100 + 10 * number, 7 + number, 1)).await, Outcome::Stored);
        expected.push([10, 1, 1]);
        assert_eq!(shown(&store), expected, "after {number}");
    }
}

#[tokio::test]
async fn a_flush_between_two_profiles_keeps_the_baseline_of_every_series() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    for service in ["a", "b", "c"] {
        keep(&store, &Push::new(service, "0").cumulative(), &heap(100, 7, 0)).await.unwrap();
    }
    store.flush().await.unwrap();
    store.flush().await.unwrap();
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    for service in ["a", "b", "c"] {
        let push = Push::new(service, "1").at(TIME + STEP).cumulative();
        keep(&store, &push, &heap(101, 9, 0)).await.unwrap();
    }
    assert_eq!(shown(&store), [[1, 2, 0]; 3]);
}
