//! What a start makes of log files that a crash or a bad disk left behind.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::sync::Arc;

use profile::Tenant;
use store::{DocumentChange, DocumentKey, Outcome, Store, StoreError, StoreState};
use support::{Content, Push, Sketch, content, keep, open, options, total};
use testkit::ForgetfulDisk;

/// Bytes of a log file's header.
const FILE_HEADER: usize = 32;
/// Bytes of a frame before its payload.
const FRAME_HEADER: usize = 32;

/// A disk with one log of some pushes of two services, and what they are.
async fn written(pushes: usize) -> (ForgetfulDisk, Content) {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    for number in 0..pushes {
        let stack = format!("main;f{};g{}", number % 5, number % 3);
        let sketch = Sketch::cpu(&[(&stack, 5), ("main", number as i64 + 1)]);
        let service = ["a", "b"][number % 2];
        keep(&store, &Push::new(service, &number.to_string()), &sketch).await.unwrap();
    }
    let content = content(&store);
    store.close().await.unwrap();
    drop(store);
    disk.crash();
    (disk, content)
}

fn log_name(disk: &ForgetfulDisk) -> String {
    let mut names = disk.file_names();
    names.retain(|name| name.starts_with("log/"));
    assert_eq!(names.len(), 1, "{names:?}");
    names.remove(0)
}

/// Where each frame begins, and the end.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![FILE_HEADER];
    while let Some(&start) = starts.last().filter(|&&start| start < bytes.len()) {
        let length = u32::from_le_bytes(*bytes[start + 8..].first_chunk().unwrap()) as usize;
        starts.push(start + FRAME_HEADER + length);
    }
    starts
}

/// The same file as another generation would have it.
fn of_generation(generation: u64, mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[12..20].copy_from_slice(&generation.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..FILE_HEADER - 4]);
    bytes[FILE_HEADER - 4..FILE_HEADER].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// A fresh disk with a log of these bytes.
async fn with_log(name: &str, bytes: &[u8]) -> (ForgetfulDisk, Arc<Store>) {
    let disk = ForgetfulDisk::new();
    {
        use store::disk::Disk as _;
        disk.create_folder("log").unwrap();
        let mut file = disk.create(name).unwrap();
        file.append(bytes).unwrap();
    }
    let store = Store::open_on(Arc::new(disk.clone()), options()).await.unwrap();
    (disk, store)
}

fn read(disk: &ForgetfulDisk, name: &str) -> Vec<u8> {
    use store::disk::Disk as _;
    disk.read(name).unwrap()
}

#[tokio::test]
async fn c105_the_log_cut_at_every_byte_of_the_last_record() {
    let (disk, all) = written(6).await;
    let name = log_name(&disk);
    let bytes = read(&disk, &name);
    let starts = frames(&bytes);
    let last = starts[starts.len() - 2];
    for length in last..=bytes.len() {
        let (_, store) = with_log(&name, &bytes[..length]).await;
        let report = store.recovery();
        let found = content(&store);
        assert!(found.iter().all(|(id, stacks)| all.get(id) == Some(stacks)));
        if length == bytes.len() {
            assert_eq!((found.len(), report.records, report.torn_bytes), (6, 6, 0));
            continue;
        }
        assert_eq!((found.len(), report.records, report.damaged_bytes), (5, 5, 0), "cut at {length}");
        assert_eq!(report.torn_bytes, (length - last) as u64);
    }
}

#[tokio::test]
async fn c105_one_flipped_bit_in_the_middle_costs_no_more_than_its_record_and_what_needs_it() {
    let (disk, all) = written(10).await;
    let name = log_name(&disk);
    let bytes = read(&disk, &name);
    let starts = frames(&bytes);
    for record in 0..9 {
        for position in [starts[record], starts[record] + 9, starts[record] + 29, starts[record + 1] - 1] {
            let mut damaged = bytes.clone();
            damaged[position] ^= 16;
            let (_, store) = with_log(&name, &damaged).await;
            let report = store.recovery();
            let found = content(&store);
            assert!(found.iter().all(|(id, stacks)| all.get(id) == Some(stacks)), "record {record}");
            assert_eq!(report.records, 9, "record {record}");
            assert_eq!(report.damaged_bytes, (starts[record + 1] - starts[record]) as u64);
            assert_eq!(found.len() as u64 + report.unusable_records, 9);
            // The other service is not touched at all.
            assert!(found.len() >= 5, "record {record}: {}", found.len());
            store.flush().await.unwrap();
            assert_eq!(content(&store), found);
        }
    }
}

#[tokio::test]
async fn a_record_that_a_disk_has_written_twice_is_used_once() {
    let (disk, all) = written(40).await;
    let name = log_name(&disk);
    let mut bytes = read(&disk, &name);
    let starts = frames(&bytes);
    bytes.extend_from_within(starts[39]..);
    let (_, store) = with_log(&name, &bytes).await;
    assert_eq!(content(&store), all);
    assert_eq!((store.recovery().records, store.recovery().unusable_records), (41, 1));
}

#[tokio::test]
async fn c105_damage_in_one_log_file_leaves_the_later_ones_alone() {
    let (disk, first) = written(6).await;
    let mut bytes = read(&disk, &log_name(&disk));
    let starts = frames(&bytes);
    bytes[starts[2] + FRAME_HEADER] ^= 16;
    // The later file is one of a store of its own: a start would turn the first one into blocks at once.
    let later_disk = ForgetfulDisk::new();
    let store = open(&later_disk).await;
    for number in 6..10 {
        let sketch = Sketch::cpu(&[("main;later", number)]);
        keep(&store, &Push::new("c", &number.to_string()), &sketch).await.unwrap();
    }
    let later = content(&store);
    store.close().await.unwrap();
    drop(store);
    let both = ForgetfulDisk::new();
    {
        use store::disk::Disk as _;
        both.create_folder("log").unwrap();
        both.create(&log_name(&disk)).unwrap().append(&bytes).unwrap();
        let later_log = of_generation(1, read(&later_disk, &log_name(&later_disk)));
        both.create("log/00000000000000000001.log").unwrap().append(&later_log).unwrap();
    }
    let store = open(&both).await;
    let found = content(&store);
    assert_eq!(store.recovery().damaged_bytes, (starts[3] - starts[2]) as u64);
    assert!(found.iter().all(|(id, stacks)| first.get(id).or(later.get(id)) == Some(stacks)));
    assert_eq!(later.keys().filter(|id| found.contains_key(*id)).count(), 4, "the later file is whole");
    assert!(found.len() >= 7, "{}", found.len());
}

#[tokio::test]
async fn a_damaged_file_header_costs_nothing() {
    let (disk, all) = written(4).await;
    let name = log_name(&disk);
    let mut bytes = read(&disk, &name);
    bytes[3] ^= 1;
    let (_, store) = with_log(&name, &bytes).await;
    assert_eq!((content(&store), store.recovery().damaged_bytes), (all, FILE_HEADER as u64));
}

#[tokio::test]
async fn a_damaged_file_header_and_first_frame_are_reported_and_nothing_is_guessed() {
    let (disk, _) = written(4).await;
    let name = log_name(&disk);
    let mut bytes = read(&disk, &name);
    bytes[3] ^= 1;
    bytes[FILE_HEADER + 1] ^= 1;
    let (_, store) = with_log(&name, &bytes).await;
    let report = store.recovery();
    assert_eq!((report.records, report.damaged_bytes, report.torn_bytes), (0, bytes.len() as u64, 0));
    assert_eq!(content(&store).len(), 0);
}

#[tokio::test]
async fn frames_within_an_upload_are_never_taken_for_ours() {
    // What somebody who has a store of the same kind can put together.
    let (other, forged) = written(6).await;
    let planted = read(&other, &log_name(&other));
    let mut random = testkit::Random::new(7, 7);
    let mut noise = || (0..4096).map(|_| (random.next_u64() >> 56) as u8).collect::<Vec<u8>>();
    let body = [noise(), planted.clone(), noise()].concat();

    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    keep(&store, &Push::new("a", "mine"), &Sketch::cpu(&[("main", 1)])).await.unwrap();
    let attachment = store.push_attachment(&store::NewAttachment {
        tenant: &Tenant::anonymous(),
        labels: profile::LabelSet::from_pairs([("service_name", "a")]).unwrap(),
        kind: "trace",
        time: profile::Timestamp(support::TIME),
        body: &body,
    });
    store.durable(attachment.unwrap().ticket).await.unwrap();
    let mine = content(&store);
    store.close().await.unwrap();
    drop(store);
    let name = log_name(&disk);
    let bytes = read(&disk, &name);
    let place = bytes.windows(planted.len()).position(|window| window == planted).expect("kept as it came");
    for is_torn in [true, false] {
        let mut damaged = bytes.clone();
        damaged[place - 10] ^= 1;
        if is_torn {
            damaged.truncate(place + planted.len());
        }
        let (_, store) = with_log(&name, &damaged).await;
        assert!(content(&store).keys().all(|id| !forged.contains_key(id)), "torn: {is_torn}");
        assert_eq!((content(&store), store.recovery().records), (mine.clone(), 1), "torn: {is_torn}");
    }
}

#[tokio::test]
async fn a_log_of_another_version_stops_the_start_and_is_left_alone() {
    let mut bytes = b"EVERFLOG\x01\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes.extend_from_slice(b"Rec1 and so on");
    let disk = ForgetfulDisk::new();
    let name = "log/00000000000000000000.log";
    {
        use store::disk::Disk as _;
        disk.create_folder("log").unwrap();
        disk.create(name).unwrap().append(&bytes).unwrap();
    }
    let error = Store::open_on(Arc::new(disk.clone()), options()).await.err().unwrap().to_string();
    assert!(error.contains(name) && error.contains("version 1"), "{error}");
    assert_eq!(read(&disk, name), bytes);
}

#[tokio::test]
async fn a_log_under_another_number_stops_the_start_and_is_left_alone() {
    use store::disk::Disk as _;
    let (disk, all) = written(3).await;
    let name = log_name(&disk);
    let bytes = read(&disk, &name);
    let put = |name: &str, bytes: &[u8]| {
        let mut file = disk.create(name).unwrap();
        file.append(bytes).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir("log").unwrap();
    };
    let later = "log/00000000000000000077.log";
    put(later, &bytes);
    let refusal = async || Store::open_on(Arc::new(disk.clone()), options()).await.err().unwrap().to_string();
    let error = refusal().await;
    assert!(error.contains(later) && error.contains(&format!("was written as {name}")), "{error}");
    assert_eq!(read(&disk, later), bytes);
    disk.remove(later).unwrap();
    let store = open(&disk).await;
    assert_eq!((content(&store), store.recovery().records), (all.clone(), 3));
    store.flush().await.unwrap();
    store.close().await.unwrap();
    drop(store);
    // Under the number of a generation that is done it would be removed, and may be the only copy of what it holds.
    let renamed = of_generation(5, bytes);
    put(&name, &renamed);
    let error = refusal().await;
    assert!(error.contains(&format!("{name}: was written as log/00000000000000000005.log")), "{error}");
    assert_eq!(read(&disk, &name), renamed);
    disk.remove(&name).unwrap();
    let store = open(&disk).await;
    assert_eq!(content(&store), all);
}

#[tokio::test]
async fn what_was_dropped_as_torn_can_be_pushed_again() {
    let (disk, _) = written(3).await;
    let name = log_name(&disk);
    let bytes = read(&disk, &name);
    let (_, store) = with_log(&name, &bytes[..bytes.len() - 1]).await;
    let sketch = Sketch::cpu(&[("main;f2;g2", 5), ("main", 3)]);
    assert_eq!(keep(&store, &Push::new("a", "2"), &sketch).await.unwrap().outcome, Outcome::Stored);
    assert_eq!(keep(&store, &Push::new("b", "1"), &sketch).await.unwrap().outcome, Outcome::Duplicate);
}

#[tokio::test]
async fn c105_a_log_cut_within_its_file_header_holds_nothing() {
    let (disk, _) = written(1).await;
    let name = log_name(&disk);
    let bytes = read(&disk, &name);
    for length in 0..16 {
        let (_, store) = with_log(&name, &bytes[..length]).await;
        assert_eq!((content(&store).len(), store.recovery().records), (0, 0), "{length} bytes");
    }
}

#[tokio::test]
async fn a_log_of_a_finished_generation_is_not_read_again() {
    let (disk, all) = written(4).await;
    let name = log_name(&disk);
    let bytes = read(&disk, &name);
    let store = open(&disk).await;
    store.flush().await.unwrap();
    store.close().await.unwrap();
    drop(store);
    // The process died between the catalogue's edit and the removal of the log.
    {
        use store::disk::Disk as _;
        let mut file = disk.create(&name).unwrap();
        file.append(&bytes).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir("log").unwrap();
    }
    let store = open(&disk).await;
    assert_eq!((content(&store), store.recovery().records), (all, 0));
    assert!(!disk.file_names().contains(&name));
}

#[tokio::test]
async fn a_block_that_never_came_into_the_catalogue_is_removed() {
    let (disk, all) = written(2).await;
    {
        use store::disk::Disk as _;
        disk.create_folder("blocks/anonymous").unwrap();
        // Of the generation whose log is there.
        disk.create("blocks/anonymous/00000001-00000000000000000000.block").unwrap();
    }
    let store = open(&disk).await;
    assert_eq!((store.recovery().orphans, content(&store)), (1, all));
}

#[tokio::test]
async fn a_block_is_no_garbage_when_the_edit_that_names_it_is_missing() {
    use store::disk::Disk as _;
    let (disk, all) = written(2).await;
    let store = open(&disk).await;
    store.flush().await.unwrap();
    store.close().await.unwrap();
    drop(store);
    let names = |folder: &str| {
        let mut names = disk.file_names();
        names.retain(|name| name.starts_with(folder));
        names
    };
    let (blocks, edits) = (names("blocks/"), names("catalogue/"));
    let kept: Vec<_> = edits.iter().map(|name| (name.clone(), read(&disk, name))).collect();
    for name in &edits {
        disk.remove(name).unwrap();
    }
    disk.sync_dir("catalogue").unwrap();
    let error = Store::open_on(Arc::new(disk.clone()), options()).await.err().unwrap().to_string();
    assert!(error.contains(&blocks[0]) && error.starts_with("catalogue: "), "{error}");
    assert_eq!(names("blocks/"), blocks, "nothing was removed");
    for (name, bytes) in kept {
        let mut file = disk.create(&name).unwrap();
        file.append(&bytes).unwrap();
        file.sync_data().unwrap();
    }
    disk.sync_dir("catalogue").unwrap();
    let store = open(&disk).await;
    assert_eq!(content(&store), all);
}

#[tokio::test]
async fn a_folder_that_a_start_cannot_use_is_named() {
    let (disk, _) = written(1).await;
    disk.stop_after(0);
    let error = Store::open_on(Arc::new(disk.clone()), options()).await.err().unwrap().to_string();
    assert!(error.starts_with("data folder: tmp: "), "{error}");
}

#[tokio::test]
async fn a_block_without_an_edit_can_be_given_up() {
    use store::disk::Disk as _;
    let (disk, all) = written(2).await;
    disk.create_folder("blocks/anonymous").unwrap();
    disk.create("blocks/anonymous/00000001-00000000000000000009.block.lost").unwrap();
    let store = open(&disk).await;
    assert_eq!((store.recovery().orphans, content(&store)), (0, all));
}

#[tokio::test]
async fn after_a_failed_append_the_next_generation_goes_on() {
    let disk = ForgetfulDisk::new();
    let store = open(&disk).await;
    keep(&store, &Push::new("a", "1"), &Sketch::cpu(&[("main", 1)])).await.unwrap();
    disk.stop_after(0);
    let lost = keep(&store, &Push::new("a", "2"), &Sketch::cpu(&[("main;new", 10)])).await;
    assert!(lost.is_err());
    assert!(matches!(store.state(), StoreState::ReadOnly(_)));
    drop(store);
    disk.crash();
    let store = open(&disk).await;
    assert_eq!(total(&store), 1);
}

/// A push that the log could not keep is in the head all the same. Its retry is told so, and is acknowledged only when the
/// head is in blocks, however the retry is recognised.
#[tokio::test]
async fn a_retry_of_a_push_that_the_log_could_not_keep_is_acknowledged_once_it_is_durable() {
    for time_is_stated in [true, false] {
        let disk = ForgetfulDisk::new();
        let store = open(&disk).await;
        keep(&store, &Push::new("a", "1"), &Sketch::cpu(&[("main", 1)])).await.unwrap();
        let push = Push { time_is_stated, ..Push::new("a", "2") };
        let sketch = Sketch::cpu(&[("main;new", 10)]);
        disk.stop_after(0);
        assert!(keep(&store, &push, &sketch).await.is_err());
        assert!(store.flush().await.is_err(), "the disk is still full");
        disk.go_on();
        assert_eq!(store.state(), StoreState::Ready);
        let refused = keep(&store, &push, &sketch).await;
        assert!(refused.is_err(), "not on disk, but acknowledged: {refused:?}");
        store.flush().await.unwrap();
        assert_eq!(keep(&store, &push, &sketch).await.unwrap().outcome, Outcome::Duplicate);
        disk.crash();
        drop(store);
        let store = open(&disk).await;
        assert_eq!(total(&store), 11);
    }
}

#[tokio::test]
async fn what_a_start_has_found_does_not_make_pushes_wait() {
    let (disk, all) = written(40).await;
    // As if the size of a head had been lowered between two starts.
    let options = store::StoreOptions { flush_bytes: 1, ..options() };
    let store = Store::open_on(Arc::new(disk.clone()), options).await.unwrap();
    assert!(store.stats().head_bytes > 1_000);
    // No await in between: nothing has been flushed yet.
    let mut last = None;
    for number in 100..140 {
        let accepted = Push::new("a", &number.to_string()).send(&store, &Sketch::cpu(&[("main", number)]));
        last = Some(accepted.unwrap().ticket);
    }
    store.durable(last.unwrap()).await.unwrap();
    assert_eq!(content(&store).len(), all.len() + 40);
    store.flush().await.unwrap();
    assert_eq!((content(&store).len(), store.stats().head_bytes), (all.len() + 40, 0));
}

#[tokio::test]
async fn a_log_that_was_removed_while_in_use_makes_the_store_read_only() {
    let disk = ForgetfulDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let local = store::disk::LocalDisk::open(folder.path()).unwrap();
    let disks: [Arc<dyn store::disk::Disk>; 2] = [Arc::new(disk), Arc::new(local)];
    for disk in disks {
        let store = Store::open_on(Arc::clone(&disk), options()).await.unwrap();
        keep(&store, &Push::new("a", "1"), &Sketch::cpu(&[("main", 1)])).await.unwrap();
        let entry = disk.list("log").unwrap().remove(0);
        disk.remove(&format!("log/{}", entry.name)).unwrap();
        let lost = keep(&store, &Push::new("a", "2"), &Sketch::cpu(&[("main", 10)])).await;
        assert!(lost.unwrap_err().to_string().contains("was removed"));
        let StoreState::ReadOnly(reason) = store.state() else { panic!("{:?}", store.state()) };
        assert!(reason.contains(&entry.name) && reason.contains("was removed"), "{reason}");
        assert_eq!(total(&store), 11, "queries go on");
        drop(store);
    }
}

/// A setting that was acknowledged is there after a power cut at whatever step a later one was; that one is there or not,
/// never in part.
#[tokio::test]
async fn acknowledged_documents_survive_a_cut_at_every_step() {
    let tenant = Tenant::anonymous();
    let key = DocumentKey::Settings(&tenant);
    let write = async |store: &Store, content: &'static [u8]| {
        let written = DocumentChange::Write(content.to_vec());
        store.documents().change(key, |_| Ok::<_, StoreError>((written, ()))).await
    };
    let mut cuts = 0;
    for step in 0.. {
        let disk = ForgetfulDisk::new();
        let store = open(&disk).await;
        write(&store, b"first").await.unwrap();
        disk.stop_after(step);
        let acknowledged = write(&store, b"the second one").await.is_ok();
        disk.crash_with_seed(step);
        drop(store);
        let found = open(&disk).await.documents().read(key).await.unwrap().unwrap();
        match acknowledged {
            true => assert_eq!(found, b"the second one", "step {step}"),
            false => assert!([&b"first"[..], b"the second one"].contains(&&*found), "step {step}"),
        }
        if acknowledged {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 3, "{cuts} steps were cut");
}
