//! A folder with more blocks than the process may have files open. Alone in its file: the limit is the process's.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::{Store, StoreOptions};
use support::{Push, Sketch, TIME, content, options};

/// One block each: blocks are cut at midnight.
const DAYS: i64 = 150;
const DAY: i64 = 86_400_000_000_000;

#[tokio::test]
async fn more_blocks_than_open_files_are_written_queried_and_found_by_a_start() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = || StoreOptions { data_dir: folder.path().join("data"), ..options() };
    let store = Store::open(options()).await.unwrap();
    let mut last = None;
    for day in 0..DAYS {
        let push = Push::new("a", &day.to_string()).at(TIME + day * DAY);
        last = Some(push.send(&store, &Sketch::cpu(&[("main;work", day + 1)])).unwrap().ticket);
    }
    store.durable(last.unwrap()).await.unwrap();
    let all = content(&store);
    store.flush().await.unwrap();
    assert_eq!((store.stats().blocks, store.stats().head_profiles), (150, 0));
    assert_eq!(content(&store), all);
    store.close().await.unwrap();
    drop(store);
    let store = Store::open(options()).await.unwrap();
    assert_eq!(content(&store), all);
    assert_eq!(store.stats().blocks_unreadable, 0);
}
