//! The catalogue's contract, over `object_store`'s own memory and over our disk; and a power cut at every step.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeSet, sync::Arc};

use futures::TryStreamExt as _;
use object_store::{ObjectStore, ObjectStoreExt as _, memory::InMemory, path::Path};
use store::{
    StoreError,
    catalogue::{BlockEntry, Catalogue, Edit},
    disk::Disk,
    object::DurableLocal,
};
use testkit::ForgetfulDisk;

fn block(name: &str, generation: u64) -> BlockEntry {
    BlockEntry {
        name: name.into(),
        tenant: "anonymous".into(),
        bytes: 10,
        generation,
        time_first: 1,
        time_last: 2,
        data_end: 3,
        arrived: 4,
        profiles: 5,
        rows: 6,
    }
}

fn add(name: &str, generation: u64) -> Edit {
    Edit { added: vec![block(name, generation)], generations_done: vec![generation], ..Edit::default() }
}

fn remove(name: &str) -> Edit {
    Edit { removed: vec![name.into()], ..Edit::default() }
}

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.state().blocks().map(|block| block.name.as_str()).collect()
}

/// Every store that must keep the contract.
fn stores() -> Vec<Arc<dyn ObjectStore>> {
    vec![Arc::new(InMemory::new()), Arc::new(DurableLocal::open(Arc::new(ForgetfulDisk::new())).unwrap())]
}

#[tokio::test]
async fn edits_are_there_after_opening_again() {
    for objects in stores() {
        let mut catalogue = Catalogue::open(Arc::clone(&objects)).await.unwrap();
        assert_eq!(catalogue.state().generation_unused(), 0);
        catalogue.append(&add("a", 0)).await.unwrap();
        catalogue.append(&add("b", 2)).await.unwrap();
        catalogue.append(&remove("a")).await.unwrap();
        let again = Catalogue::open(objects).await.unwrap();
        assert_eq!(again.state(), catalogue.state());
        assert_eq!(names(&again), ["b"]);
        assert_eq!(
            [0, 1, 2, 3].map(|number| again.state().is_generation_done(number)),
            [true, false, true, false]
        );
        assert_eq!(again.state().generation_unused(), 3);
    }
}

#[tokio::test]
async fn an_edit_may_be_repeated_but_must_fit() {
    for objects in stores() {
        let mut catalogue = Catalogue::open(objects).await.unwrap();
        catalogue.append(&add("a", 1)).await.unwrap();
        catalogue.append(&add("a", 1)).await.unwrap();
        assert_eq!(catalogue.sequence(), 1, "the second changed nothing");
        let mut other = add("a", 1);
        other.added[0].bytes = 11;
        assert!(catalogue.append(&other).await.is_err());
        let both = Edit { removed: vec!["a".into(), "x".into()], ..Edit::default() };
        assert!(catalogue.append(&both).await.unwrap_err().to_string().contains("removes block x"));
        assert_eq!(names(&catalogue), ["a"]);
    }
}

#[tokio::test]
async fn of_racing_writers_none_loses_an_edit() {
    for objects in stores() {
        let writers = (0..8_u64).map(|writer| {
            let objects = Arc::clone(&objects);
            tokio::spawn(async move {
                let mut catalogue = Catalogue::open(objects).await.unwrap();
                for number in 0..40 {
                    let edit = add(&format!("{writer}-{number:02}"), writer * 40 + number);
                    // A busy machine can make one writer lose every race for a while; it may try again.
                    while let Err(error) = catalogue.append(&edit).await {
                        assert!(error.to_string().contains("races"), "{error}");
                    }
                }
            })
        });
        futures::future::join_all(writers).await.into_iter().for_each(|done| done.unwrap());
        let catalogue = Catalogue::open(objects).await.unwrap();
        assert_eq!(catalogue.state().blocks().len(), 320);
        assert_eq!(catalogue.sequence(), 320);
        assert_eq!(catalogue.state().generation_unused(), 320);
    }
}

#[tokio::test]
async fn of_racing_creators_exactly_one_wins() {
    for objects in stores() {
        for round in 0..30 {
            let path = Path::from(format!("race/{round}"));
            let creators = (0..16_u8).map(|creator| {
                let (objects, path) = (Arc::clone(&objects), path.clone());
                let mode = object_store::PutMode::Create;
                tokio::spawn(async move {
                    objects.put_opts(&path, vec![creator].into(), mode.into()).await.is_ok()
                })
            });
            let won =
                futures::future::join_all(creators).await.into_iter().filter(|won| *won.as_ref().unwrap());
            assert_eq!(won.count(), 1);
        }
    }
}

#[tokio::test]
async fn checkpoints_replace_old_edits() {
    for objects in stores() {
        let mut catalogue = Catalogue::open(Arc::clone(&objects)).await.unwrap();
        for number in 0..600 {
            catalogue.append(&add(&format!("{number:03}"), number)).await.unwrap();
        }
        let files: BTreeSet<String> = objects
            .list(Some(&Path::from("catalogue")))
            .map_ok(|object| object.location.filename().unwrap_or_default().to_owned())
            .try_collect()
            .await
            .unwrap();
        assert!(files.contains("00000000000000000512.checkpoint"));
        assert!(files.contains("00000000000000000256.checkpoint"), "the one before stays");
        assert!(!files.contains("00000000000000000256.edit"));
        assert!(files.contains("00000000000000000257.edit"));
        let again = Catalogue::open(Arc::clone(&objects)).await.unwrap();
        assert_eq!(again.state(), catalogue.state());
        assert_eq!(again.sequence(), 600);
        objects.delete(&Path::from("catalogue/00000000000000000512.checkpoint")).await.unwrap();
        let from_the_one_before = Catalogue::open(objects).await.unwrap();
        assert_eq!(from_the_one_before.state(), catalogue.state());
    }
}

#[tokio::test]
async fn a_writer_that_slept_through_a_checkpoint_loses_nothing() {
    for objects in stores() {
        let mut sleeper = Catalogue::open(Arc::clone(&objects)).await.unwrap();
        let mut busy = Catalogue::open(Arc::clone(&objects)).await.unwrap();
        for number in 0..600 {
            busy.append(&add(&format!("{number:03}"), number)).await.unwrap();
        }
        sleeper.append(&add("late", 900)).await.unwrap();
        let again = Catalogue::open(objects).await.unwrap();
        assert_eq!(again.state().blocks().len(), 601);
    }
}

#[tokio::test]
async fn damage_is_an_error_that_names_the_file() {
    let disk = ForgetfulDisk::new();
    let objects: Arc<dyn ObjectStore> = Arc::new(DurableLocal::open(Arc::new(disk.clone())).unwrap());
    let mut catalogue = Catalogue::open(Arc::clone(&objects)).await.unwrap();
    for number in 0..3 {
        catalogue.append(&add(&number.to_string(), number)).await.unwrap();
    }
    let file = "catalogue/00000000000000000002.edit";
    let whole = disk.read(file).unwrap();
    for length in 0..whole.len() {
        disk.damage(file, |bytes| bytes.truncate(length)).unwrap();
        let error = Catalogue::open(Arc::clone(&objects)).await.unwrap_err();
        assert!(matches!(error, StoreError::Block(_)) && error.to_string().contains(file), "{error}");
        disk.damage(file, |bytes| bytes.clone_from(&whole)).unwrap();
    }
    disk.remove(file).unwrap();
    let error = Catalogue::open(objects).await.unwrap_err();
    assert!(error.to_string().contains(file) && error.to_string().contains("missing"), "{error}");
}

#[tokio::test]
async fn a_damaged_checkpoint_is_replaced_by_the_files_before_it() {
    for appended in [300, 600] {
        let disk = ForgetfulDisk::new();
        let objects: Arc<dyn ObjectStore> = Arc::new(DurableLocal::open(Arc::new(disk.clone())).unwrap());
        let mut catalogue = Catalogue::open(Arc::clone(&objects)).await.unwrap();
        for number in 0..appended {
            catalogue.append(&add(&format!("{number:03}"), number)).await.unwrap();
        }
        let file = format!("catalogue/{:020}.checkpoint", appended / 256 * 256);
        disk.damage(&file, |bytes| bytes[100] ^= 1).unwrap();
        let again = Catalogue::open(Arc::clone(&objects)).await.unwrap();
        assert_eq!((again.state(), again.sequence()), (catalogue.state(), appended));
        // Nothing is left to stand in for it: the start stops, and says which file it is.
        disk.remove(&format!("catalogue/{:020}.edit", appended / 256 * 256)).unwrap();
        let error = Catalogue::open(objects).await.unwrap_err().to_string();
        assert!(error.starts_with(&file) && error.contains("from a copy"), "{error}");
    }
}

#[tokio::test]
async fn a_damaged_last_edit_is_never_left_out() {
    let disk = ForgetfulDisk::new();
    let objects: Arc<dyn ObjectStore> = Arc::new(DurableLocal::open(Arc::new(disk.clone())).unwrap());
    let mut catalogue = Catalogue::open(Arc::clone(&objects)).await.unwrap();
    for number in 0..3 {
        catalogue.append(&add(&number.to_string(), number)).await.unwrap();
    }
    let file = "catalogue/00000000000000000003.edit";
    let length = disk.read(file).unwrap().len();
    disk.damage(file, |bytes| bytes.truncate(length - 1)).unwrap();
    let error = Catalogue::open(objects).await.unwrap_err().to_string();
    assert!(error.contains(file) && error.contains("removed as garbage"), "{error}");
}

/// Appends a few edits until the power goes; the names of the acknowledged ones.
async fn append_until_the_end(disk: &ForgetfulDisk) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(objects) = DurableLocal::open(Arc::new(disk.clone())) else { return acknowledged };
    let Ok(mut catalogue) = Catalogue::open(Arc::new(objects)).await else { return acknowledged };
    let first = catalogue.state().generation_unused();
    for number in first..first + 4 {
        let name = number.to_string();
        if catalogue.append(&add(&name, number)).await.is_err() {
            break;
        }
        acknowledged.push(name);
    }
    acknowledged
}

/// Whether everything acknowledged is there after a power cut at some step.
async fn survives(disk: &ForgetfulDisk, steps: u64, seed: u64) -> bool {
    disk.stop_after(steps);
    let mut acknowledged = append_until_the_end(disk).await;
    disk.crash_with_seed(seed);
    acknowledged.extend(append_until_the_end(disk).await);
    disk.crash();
    let objects = DurableLocal::open(Arc::new(disk.clone())).unwrap();
    let Ok(catalogue) = Catalogue::open(Arc::new(objects)).await else { return false };
    acknowledged.iter().all(|name| catalogue.state().block(name).is_some())
}

#[tokio::test]
async fn an_acknowledged_edit_survives_a_power_cut_at_every_step() {
    let whole = ForgetfulDisk::new();
    append_until_the_end(&whole).await;
    let steps = whole.steps();
    assert!(steps > 20, "{steps}");
    for step in 0..=steps {
        for seed in 0..8 {
            assert!(survives(&ForgetfulDisk::new(), step, seed).await, "step {step}, seed {seed}");
        }
    }
}

#[tokio::test]
async fn without_syncs_an_acknowledged_edit_is_lost() {
    for take_out in [ForgetfulDisk::ignore_sync_data, ForgetfulDisk::ignore_sync_dir] {
        let mut lost = false;
        for step in 0..40 {
            let disk = ForgetfulDisk::new();
            take_out(&disk);
            lost |= !survives(&disk, step, 1).await;
        }
        assert!(lost);
    }
}
