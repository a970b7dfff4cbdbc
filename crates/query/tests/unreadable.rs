//! A block that cannot be read is an error of every query that needs it, by name; never an answer that only looks whole.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(clippy::print_stdout, reason = "a run says what it was made of")]

mod support;

use std::sync::Arc;

use profile::Tenant;
use query::{Engine, EngineOptions, NameMode, QueryError, Selection};
use store::{Store, StoreOptions, disk::Disk as _};
use support::*;
use testkit::ForgetfulDisk;

fn options() -> StoreOptions {
    StoreOptions::by_hand("unused")
}

fn other_tenant() -> Tenant {
    Tenant::parse("other").unwrap()
}

fn push(store: &Store, tenant: &Tenant, service: &str, number: i64) {
    let own = format!("main;{service}_handler{};leaf{number}", number % 3);
    let made = cpu(&[("main;work", 1_000 + number), (&own, 10)]);
    let digest = format!("{service} {number}");
    push_cpu(store, tenant, &[("service_name", service)], &made, seconds(number), &digest);
}

/// A disk with one block for each of two tenants: services `a` and `b` of one, `a` of the other.
async fn written() -> ForgetfulDisk {
    let disk = ForgetfulDisk::new();
    let store = Store::open_on(Arc::new(disk.clone()), options()).await.unwrap();
    for number in 0..6 {
        push(&store, &Tenant::anonymous(), "a", number);
        push(&store, &Tenant::anonymous(), "b", number);
        push(&store, &other_tenant(), "a", number);
    }
    store.flush().await.unwrap();
    store.close().await.unwrap();
    disk
}

fn block_name(disk: &ForgetfulDisk) -> String {
    let mut names = disk.file_names();
    names.retain(|name| name.starts_with("blocks/anonymous/"));
    assert_eq!(names.len(), 1, "{names:?}");
    names.remove(0)
}

/// All that is asked here of a service, in words.
fn answer(engine: &Engine, tenant: Tenant, service: &str) -> Result<String, QueryError> {
    let selector = format!("{{service_name=\"{service}\"}}");
    let selection = Selection { tenants: vec![tenant], ..select(&selector) };
    let flame = engine.flame(&selection, NameMode::Display, 50, &control())?;
    let table = engine.top(&selection, NameMode::Raw, &control())?;
    let profiles = engine.profiles(&selection, 0, &control())?;
    Ok(format!("{:?} {:?} {:?}", lines(&flame.data), table.data.rows, profiles.data))
}

/// What a fresh start answers for the services of the damaged block, and for the other tenant.
async fn answers(disk: &ForgetfulDisk) -> ([Result<String, QueryError>; 2], String) {
    let store = Store::open_on(Arc::new(disk.clone()), options()).await.unwrap();
    let engine = Engine::new(Arc::clone(&store), EngineOptions::default());
    let own = ["a", "b"].map(|service| answer(&engine, Tenant::anonymous(), service));
    let neighbour = answer(&engine, other_tenant(), "a").unwrap();
    store.close().await.unwrap();
    (own, neighbour)
}

#[tokio::test]
async fn a_flipped_bit_anywhere_in_a_block_gives_an_error_that_names_it_or_changes_nothing() {
    let disk = written().await;
    let name = block_name(&disk);
    let (whole, neighbour) = answers(&disk).await;
    let whole = whole.map(Result::unwrap);
    let length = disk.read(&name).unwrap().len();
    let (mut refused, mut one_refused) = (0, 0);
    let positions: Vec<usize> = (0..length).step_by(5).chain(length - 24..length).collect();
    for &position in &positions {
        disk.damage(&name, |bytes| bytes[position] ^= 4).unwrap();
        let (found, beside) = answers(&disk).await;
        assert_eq!(beside, neighbour, "the other tenant's block is whole");
        let errors = found.iter().filter(|found| found.is_err()).count();
        for (found, whole) in found.iter().zip(&whole) {
            match found {
                Ok(found) => assert_eq!(found, whole, "byte {position}"),
                Err(error) => assert!(error.to_string().contains(&name), "byte {position}: {error}"),
            }
        }
        refused += usize::from(errors == 2);
        one_refused += usize::from(errors == 1);
        disk.damage(&name, |bytes| bytes[position] ^= 4).unwrap();
    }
    println!(
        "{} flipped bits: both services refused {refused} times, one of them {one_refused} times",
        positions.len()
    );
    assert!(refused > 0 && one_refused > 0, "damage to one service's rows leaves the other alone");
    assert!((refused + one_refused) * 2 > positions.len(), "most of a block is needed");
}

#[tokio::test]
async fn a_block_that_is_gone_gives_an_error_that_names_it() {
    let disk = written().await;
    let name = block_name(&disk);
    let (_, neighbour) = answers(&disk).await;
    disk.remove(&name).unwrap();
    let (found, beside) = answers(&disk).await;
    assert_eq!(beside, neighbour);
    for found in found {
        let error = found.unwrap_err();
        assert!(matches!(error, QueryError::Block(_)) && error.to_string().contains(&name), "{error}");
    }
    // Outside of the block's time nobody needs it, and what is pushed now can be read.
    let store = Store::open_on(Arc::new(disk.clone()), options()).await.unwrap();
    let engine = Engine::new(Arc::clone(&store), EngineOptions::default());
    push(&store, &Tenant::anonymous(), "a", 1_000_000);
    let range = profile::TimeRange { from: seconds(999_000), to: seconds(1_001_000) };
    let selection = Selection { tenants: vec![Tenant::anonymous()], range, ..select("{service_name=\"a\"}") };
    let later = engine.top(&selection, NameMode::Raw, &control()).unwrap();
    assert_eq!(later.data.total, 1_000 + 1_000_000 + 10);
    assert!(answer(&engine, Tenant::anonymous(), "a").is_err());
}
