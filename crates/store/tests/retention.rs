//! Retention, garbage and the watermark.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use object_store::{ObjectStoreExt as _, path::Path};
use profile::{Tenant, TimeRange, Timestamp};
use store::{
    Store, StoreOptions,
    catalogue::{BlockEntry, Catalogue, Edit},
    disk::Disk,
    object::DurableLocal,
    retention::{FreeSpace, Retention, remove_blocks, remove_garbage},
};
use support::{Push, Sketch, TIME, content, keep, options};
use testkit::ForgetfulDisk;

const DAY: i64 = 86_400_000_000_000;

fn block(name: &str, bytes: u64, data_end: i64, arrived: i64) -> BlockEntry {
    BlockEntry {
        name: format!("blocks/{name}"),
        tenant: "anonymous".into(),
        bytes,
        generation: 0,
        time_first: data_end - 1,
        time_last: data_end,
        data_end,
        arrived,
        profiles: 1,
        rows: 1,
    }
}

async fn catalogue(objects: &DurableLocal, added: Vec<BlockEntry>) -> Catalogue {
    let mut catalogue = Catalogue::open(Arc::new(objects.clone())).await.unwrap();
    catalogue.append(&Edit { added, ..Edit::default() }).await.unwrap();
    catalogue
}

fn names(retention: Retention, catalogue: &Catalogue, now: i64) -> Vec<&str> {
    let expired = retention.expired(catalogue.state(), Timestamp(now));
    expired.into_iter().map(|block| block.name.trim_start_matches("blocks/")).collect()
}

#[tokio::test]
async fn the_oldest_whole_blocks_go_at_the_byte_cap() {
    let objects = DurableLocal::open(Arc::new(ForgetfulDisk::new())).unwrap();
    let blocks = vec![
        block("new", 40, 3 * DAY, 3 * DAY),
        block("old", 40, DAY, DAY),
        block("middle", 40, 2 * DAY, 2 * DAY),
    ];
    let catalogue = catalogue(&objects, blocks).await;
    let at = |bytes_max| names(Retention { bytes_max, age_max: None }, &catalogue, 9 * DAY);
    assert_eq!(at(0), Vec::<&str>::new(), "0 is no limit");
    assert_eq!(at(120), Vec::<&str>::new());
    assert_eq!(at(119), ["old"]);
    assert_eq!(at(80), ["old"]);
    assert_eq!(at(79), ["old", "middle"]);
}

#[tokio::test]
async fn age_runs_from_the_later_of_data_and_arrival() {
    let objects = DurableLocal::open(Arc::new(ForgetfulDisk::new())).unwrap();
    let blocks = vec![
        block("imported", 1, DAY, 10 * DAY),
        block("old", 1, DAY, DAY),
        block("ahead", 1, 11 * DAY, DAY),
    ];
    let catalogue = catalogue(&objects, blocks).await;
    let after = |days: u64| Retention { bytes_max: 0, age_max: Some(Duration::from_secs(days * 86_400)) };
    assert_eq!(names(after(5), &catalogue, 12 * DAY), ["old"]);
    assert_eq!(names(after(1), &catalogue, 12 * DAY), ["old", "imported"]);
    assert_eq!(names(after(11), &catalogue, 12 * DAY), Vec::<&str>::new());
}

#[tokio::test]
async fn c106_objects_that_no_entry_names_are_removed_at_start() {
    let disk = ForgetfulDisk::new();
    let objects = DurableLocal::open(Arc::new(disk.clone())).unwrap();
    for name in ["kept", "half"] {
        objects.put(&Path::parse(format!("blocks/{name}")).unwrap(), b"x".to_vec().into()).await.unwrap();
    }
    disk.create("tmp/put-77").unwrap();
    drop(objects);
    let objects = DurableLocal::open(Arc::new(disk.clone())).unwrap();
    let catalogue = catalogue(&objects, vec![block("kept", 1, DAY, DAY)]).await;
    let removed = remove_garbage(&objects, catalogue.state(), &BTreeSet::new()).await.unwrap();
    assert_eq!(removed, ["blocks/half"]);
    assert_eq!(disk.file_names(), ["blocks/kept", "catalogue/00000000000000000001.edit"]);
    remove_blocks(&objects, ["blocks/kept".to_owned(), "blocks/gone".to_owned()]).await.unwrap();
    assert_eq!(disk.file_names(), ["catalogue/00000000000000000001.edit"]);
}

#[test]
fn c103_disk_nearly_full_and_by_itself_back() {
    let disk = ForgetfulDisk::new();
    let look = || FreeSpace::look(&disk, 512 << 20).unwrap();
    assert_eq!(look().reason(), None);
    disk.set_free_space((512 << 20) - 1);
    let low = look();
    assert_eq!(low.bytes(), (512 << 20) - 1);
    assert!(low.reason().unwrap().contains("536870912"), "{low:?}");
    disk.set_free_space(512 << 20);
    assert_eq!(look(), FreeSpace::Enough { free: 512 << 20 });
}

/// A store with one block per number of days after [`TIME`].
async fn store_with_blocks(disk: &ForgetfulDisk, days: &[i64]) -> Arc<Store> {
    let store = support::open(disk).await;
    for day in days {
        let (service, body) = (format!("service-{day}"), format!("body {day}"));
        let push = Push::new(&service, &body).at(TIME + day * DAY);
        keep(&store, &push, &Sketch::cpu(&[("main;work", 10 + day)])).await.unwrap();
        store.flush().await.unwrap();
    }
    store
}

fn block_names(disk: &ForgetfulDisk) -> Vec<String> {
    disk.file_names().into_iter().filter(|name| name.starts_with("blocks/")).collect()
}

#[tokio::test]
async fn a_store_drops_its_oldest_block_and_its_object() {
    let disk = ForgetfulDisk::new();
    let store = store_with_blocks(&disk, &[0, 1, 2]).await;
    let held = store.view(&Tenant::anonymous(), TimeRange::ALL);
    let (blocks, bytes) = (store.stats().blocks, store.stats().block_bytes);
    assert_eq!(blocks, 3);
    store.close().await.unwrap();
    let options = StoreOptions { retention_bytes: bytes - 1, ..options() };
    let store = Store::open_on(Arc::new(disk.clone()), options).await.unwrap();
    let started = Instant::now();
    while block_names(&disk).len() == 3 {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing was dropped");
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(5));
    }
    let left: Vec<i64> =
        content(&store).values().flat_map(|stacks| stacks.values()).map(|sums| sums[0]).collect();
    assert_eq!(left, [11, 12], "the oldest went, and nothing else");
    assert_eq!(store.stats().blocks_dropped, 1);
    // A view from before goes on being readable.
    for dataset in held.datasets {
        dataset.rows(0, &mut block::Rows::default()).unwrap();
    }
}

#[tokio::test]
async fn c106_a_half_written_block_does_not_keep_the_others_from_being_read() {
    for half in [0, 1, 31, 200] {
        let disk = ForgetfulDisk::new();
        store_with_blocks(&disk, &[0, 1, 2]).await.close().await.unwrap();
        let name = block_names(&disk).swap_remove(1);
        disk.damage(&name, |bytes| bytes.truncate(half)).unwrap();
        let store = support::open(&disk).await;
        let view = store.view(&Tenant::anonymous(), TimeRange::ALL);
        assert_eq!(view.datasets.len(), 2);
        let [error] = view.unreadable.as_slice() else { panic!("{:?}", view.unreadable) };
        assert!(error.to_string().contains(&name), "{error}");
        let push = Push::new("new", "body").at(TIME + 9 * DAY);
        keep(&store, &push, &Sketch::cpu(&[("main;work", 1)])).await.unwrap();
        store.flush().await.unwrap();
        assert_eq!(store.view(&Tenant::anonymous(), TimeRange::ALL).datasets.len(), 3);
    }
}

#[tokio::test]
async fn c106_a_block_that_cannot_be_read_is_counted_and_can_be_given_up() {
    let disk = ForgetfulDisk::new();
    store_with_blocks(&disk, &[0, 1, 2]).await.close().await.unwrap();
    let name = block_names(&disk).swap_remove(1);
    let lost = format!("{name}.lost");
    disk.damage(&name, |bytes| bytes.truncate(200)).unwrap();
    let store = support::open(&disk).await;
    let view = store.view(&Tenant::anonymous(), TimeRange::ALL);
    let [error] = view.unreadable.as_slice() else { panic!("{:?}", view.unreadable) };
    let error = error.to_string();
    assert!(error.starts_with(&name) && error.contains(&lost), "{error}");
    assert_eq!((store.stats().blocks, store.stats().blocks_unreadable), (3, 1));
    store.close().await.unwrap();
    drop(store);
    {
        use store::disk::Disk as _;
        disk.rename(&name, &lost).unwrap();
    }
    for _ in 0..2 {
        let store = support::open(&disk).await;
        assert_eq!((store.stats().blocks, store.stats().blocks_unreadable), (2, 0));
        assert_eq!(content(&store).len(), 2);
        assert!(disk.file_names().contains(&lost), "what was given up is left for whoever wants it");
        store.close().await.unwrap();
    }
}
