//! What a push leads to: visible at once, once, and still there after flush and restart.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use profile::{ProfileId, Tenant, TimeRange, Timestamp};
use store::{NewAttachment, Outcome, PushError, StoreState};
use support::{Push, Sketch, TIME, content, content_of, keep, open, options, total};
use testkit::ForgetfulDisk;

#[tokio::test]
async fn a_push_is_in_the_next_view_and_stays_through_flush_and_restart() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let sketch = Sketch::cpu(&[("main;work", 7), ("main;idle", 2), ("", 1)]);
    let accepted = keep(&store, &Push::new("a", "1"), &sketch).await.unwrap();
    assert_eq!(accepted.outcome, Outcome::Stored);
    let before = content(&store);
    let expected = [("".into(), vec![1]), ("main;idle".into(), vec![2]), ("main;work".into(), vec![7])];
    assert_eq!(before[&accepted.id], expected.into());
    store.flush().await.unwrap();
    assert_eq!(content(&store), before);
    assert_eq!((store.stats().blocks, store.stats().head_profiles), (1, 0));
    store.close().await.unwrap();
    drop(store);
    let store = open(&disk).await;
    assert_eq!(content(&store), before);
}

#[tokio::test]
async fn recovered_heads_are_read_and_flushed_as_they_were() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    for number in 0..20 {
        let stack = format!("main;f{};g{}", number % 3, number % 7);
        let service = ["a", "b"][number % 2];
        let sketch = Sketch::cpu(&[(&stack, 5), ("main", number as i64 + 1)]);
        keep(&store, &Push::new(service, &number.to_string()), &sketch).await.unwrap();
    }
    let before = content(&store);
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    assert_eq!(store.recovery().records, 20);
    assert_eq!(content(&store), before);
    store.flush().await.unwrap();
    assert_eq!(content(&store), before);
    assert!(disk.file_names().iter().all(|name| !name.starts_with("log/")), "{:?}", disk.file_names());
}

#[tokio::test]
async fn c097_the_same_push_is_kept_once() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let sketch = Sketch::cpu(&[("main", 3)]);
    let push = Push::new("a", "1");
    let first = keep(&store, &push, &sketch).await.unwrap();
    let check = async |store: &store::Store| {
        let again = keep(store, &push, &sketch).await.unwrap();
        assert_eq!((again.id, again.outcome), (first.id, Outcome::Duplicate));
        assert_eq!(total(store), 3);
    };
    check(&store).await;
    store.flush().await.unwrap();
    check(&store).await;
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    check(&store).await;
    // Something else in the head, then a crash: the log knows it too.
    keep(&store, &Push::new("a", "2"), &Sketch::cpu(&[("x", 0), ("y", 4)])).await.unwrap();
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    assert_eq!(keep(&store, &Push::new("a", "2"), &sketch).await.unwrap().outcome, Outcome::Duplicate);
    assert_eq!(total(&store), 7);
}

#[tokio::test]
async fn c097_a_retry_of_a_push_without_a_time_is_known_by_its_digest() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let sketch = Sketch::cpu(&[("main", 3)]);
    let now = Timestamp::now().0;
    let push = |time| Push { time_is_stated: false, ..Push::new("a", "1").at(time) };
    let first = keep(&store, &push(now), &sketch).await.unwrap();
    let again = keep(&store, &push(now + 5_000_000_000), &sketch).await.unwrap();
    assert_eq!((again.id, again.outcome), (first.id, Outcome::Duplicate));
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    let again = keep(&store, &push(now + 9_000_000_000), &sketch).await.unwrap();
    assert_eq!((again.id, again.outcome), (first.id, Outcome::Duplicate));
    store.flush().await.unwrap();
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    let again = keep(&store, &push(now + 12_000_000_000), &sketch).await.unwrap();
    assert_eq!((again.id, again.outcome, total(&store)), (first.id, Outcome::Duplicate, 3));
}

#[tokio::test]
async fn concurrent_equal_pushes_are_kept_once() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Push::new("a", "1").send(&store, &Sketch::cpu(&[("main", 3)])).unwrap()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap().outcome).collect::<Vec<_>>()
    });
    assert_eq!(outcomes.iter().filter(|&&outcome| outcome == Outcome::Stored).count(), 1);
    assert_eq!(total(&store), 3);
}

#[tokio::test]
async fn an_id_that_the_client_gives_is_kept() {
    let store = open(&ForgetfulDisk::new()).await;
    let push = Push { id: Some(ProfileId(77)), ..Push::new("a", "1") };
    let sketch = Sketch::cpu(&[("main", 3)]);
    assert_eq!(keep(&store, &push, &sketch).await.unwrap().id, ProfileId(77));
    let other_body = Push { body: b"2".to_vec(), ..push };
    assert_eq!(keep(&store, &other_body, &sketch).await.unwrap().outcome, Outcome::Duplicate);
}

#[tokio::test]
async fn c096_replicas_with_the_same_labels_and_mixed_times_are_both_kept() {
    let store = open(&ForgetfulDisk::new()).await;
    for (body, time) in [("1", 5), ("2", 3), ("3", 5), ("4", 1)] {
        keep(&store, &Push::new("a", body).at(TIME + time), &Sketch::cpu(&[("main", 1)])).await.unwrap();
    }
    assert_eq!(total(&store), 4);
}

#[tokio::test]
async fn c098_old_profiles_go_to_blocks_of_their_own_day() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let day = 86_400_000_000_000;
    for (body, days) in [("1", 0), ("2", 400), ("3", 0)] {
        keep(&store, &Push::new("a", body).at(TIME - days * day), &Sketch::cpu(&[("main", 1)]))
            .await
            .unwrap();
    }
    store.flush().await.unwrap();
    assert_eq!((store.stats().blocks, total(&store)), (2, 3));
}

#[tokio::test]
async fn c110_a_range_is_honoured_to_the_block() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let hour = 3_600_000_000_000;
    for (body, hours) in [("1", 9), ("2", 10)] {
        keep(&store, &Push::new("a", body).at(TIME + hours * hour), &Sketch::cpu(&[("main", 1)]))
            .await
            .unwrap();
        store.flush().await.unwrap();
    }
    let range = |from: i64, to: i64| TimeRange { from: Timestamp(TIME + from), to: Timestamp(TIME + to) };
    let between = range(9 * hour + 1, 10 * hour);
    assert_eq!(content_of(&store, &Tenant::anonymous(), between).len(), 0);
    assert_eq!(content_of(&store, &Tenant::anonymous(), range(9 * hour, 10 * hour)).len(), 1);
}

#[tokio::test]
async fn tenants_do_not_see_each_other() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let other = Tenant::parse("other").unwrap();
    let push = Push { tenant: other.clone(), ..Push::new("a", "1") };
    keep(&store, &push, &Sketch::cpu(&[("main", 3)])).await.unwrap();
    for _ in 0..2 {
        assert!(content(&store).is_empty());
        assert_eq!(content_of(&store, &other, TimeRange::ALL).len(), 1);
        store.flush().await.unwrap();
    }
}

#[tokio::test]
async fn c007_a_profile_without_samples_is_not_kept() {
    let store = open(&ForgetfulDisk::new()).await;
    let accepted = keep(&store, &Push::new("a", "1"), &Sketch::cpu(&[])).await.unwrap();
    assert_eq!((accepted.outcome, content(&store).len()), (Outcome::Empty, 0));
}

#[tokio::test]
async fn pushes_without_a_service_or_with_too_large_sums_are_refused() {
    let store = open(&ForgetfulDisk::new()).await;
    let refused = Push::new("", "1").send(&store, &Sketch::cpu(&[("main", 1)]));
    assert!(matches!(refused, Err(PushError::Invalid { field, .. }) if field == "service_name"));
    let huge = Sketch::cpu(&[("main", i64::MAX), ("other", 1)]);
    assert!(matches!(Push::new("a", "1").send(&store, &huge), Err(PushError::Invalid { .. })));
    assert!(content(&store).is_empty());
}

#[tokio::test]
async fn c103_a_nearly_full_disk_refuses_pushes_and_recovers_by_itself() {
    let disk = ForgetfulDisk::new();
    let options = store::StoreOptions { free_bytes_min: 1000, ..options() };
    let store = store::Store::open_on(std::sync::Arc::new(disk.clone()), options).await.unwrap();
    let sketch = Sketch::cpu(&[("main", 3)]);
    keep(&store, &Push::new("a", "1"), &sketch).await.unwrap();
    disk.set_free_space(999);
    while store.state() == StoreState::Ready {
        tokio::task::yield_now().await;
    }
    assert!(matches!(Push::new("a", "2").send(&store, &sketch), Err(PushError::ReadOnly { .. })));
    assert_eq!(total(&store), 3);
    disk.set_free_space(1000);
    while store.state() != StoreState::Ready {
        tokio::task::yield_now().await;
    }
    keep(&store, &Push::new("a", "2"), &sketch).await.unwrap();
    assert_eq!(total(&store), 6);
}

#[tokio::test]
async fn attachments_are_kept_whole() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let tenant = Tenant::anonymous();
    let body: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
    let labels = profile::LabelSet::from_pairs([("service_name", "a"), ("pod", "p")]).unwrap();
    let new = NewAttachment { tenant: &tenant, labels, kind: "trace", time: Timestamp(TIME), body: &body };
    let accepted = store.push_attachment(&new).unwrap();
    store.durable(accepted.ticket).await.unwrap();
    assert_eq!(store.push_attachment(&new).unwrap().outcome, Outcome::Duplicate);
    let check = |store: &store::Store| {
        let listed = store.attachments(&tenant, TimeRange::ALL).unwrap();
        assert_eq!(listed.len(), 1);
        let one = &listed[0];
        assert_eq!((one.id, one.kind.as_str(), one.length), (accepted.id, "trace", body.len() as u64));
        assert_eq!(one.labels.get("pod"), Some("p"));
        assert_eq!(store.attachment_body(&tenant, accepted.id).unwrap().as_ref(), Some(&body));
        assert_eq!(store.attachment_body(&Tenant::parse("x").unwrap(), accepted.id).unwrap(), None);
    };
    check(&store);
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    check(&store);
    store.flush().await.unwrap();
    check(&store);
    assert_eq!(store.push_attachment(&new).unwrap().outcome, Outcome::Duplicate);
    drop(store);
    disk.crash();
    check(&*open(&disk).await);
}

#[tokio::test]
async fn a_closed_store_has_everything_and_takes_nothing() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    let sketch = Sketch::cpu(&[("main", 3)]);
    Push::new("a", "1").send(&store, &sketch).unwrap();
    store.close().await.unwrap();
    assert_eq!(store.state(), StoreState::Closing);
    assert!(matches!(Push::new("a", "2").send(&store, &sketch), Err(PushError::ReadOnly { .. })));
    drop(store);
    disk.crash();
    assert_eq!(total(&*open(&disk).await), 3);
}
