//! Cycles of work and power cuts on a disk that forgets everything not synced.
//!
//! What was acknowledged must be there after every cut, once and as it was; what was not may be there or not, but never
//! in part. The same cycles on a disk with one kind of sync taken out, be it the log's `fdatasync` alone, must be found
//! out, or the test would prove nothing.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use profile::{ProfileId, Tenant, TimeRange};
use store::{Store, StoreOptions};
use support::{Push, Sketch, TIME, content, options};
use testkit::ForgetfulDisk;

/// Power cuts of one run.
const CYCLES: u64 = 50;

/// What a push was, by its number: enough to say what must be read.
fn sketch_of(number: u64) -> Sketch {
    let stack = format!("main;f{};g{};h{}", number % 7, number % 31, number % 101);
    Sketch::cpu(&[(&stack, 1 + i64::try_from(number % 1000).unwrap()), ("main", 3)])
}

fn push_of(number: u64, body: &str) -> Push<'_> {
    let service = ["a", "b", "c"][usize::try_from(number % 3).unwrap()];
    // Two days, so that a flush writes several blocks.
    Push::new(service, body)
        .at(TIME + i64::try_from(number).unwrap() * 40_000_000_000_000 % 172_800_000_000_000)
}

/// What a run has seen so far.
#[derive(Default)]
struct Ledger {
    next: AtomicU64,
    /// Numbers of acknowledged pushes by id.
    acknowledged: Mutex<BTreeMap<ProfileId, u64>>,
    /// Numbers of all pushes by id.
    sent: Mutex<BTreeMap<ProfileId, u64>>,
}

/// Why a run is not as it must be.
type Fault = String;

impl Ledger {
    /// Pushes until the disk stops, or as often as is said.
    async fn push_until_cut(&self, store: &Store, pushes_max: usize) {
        for _ in 0..pushes_max {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let body = number.to_string();
            let Ok(accepted) = push_of(number, &body).send(store, &sketch_of(number)) else { return };
            self.sent.lock().unwrap().insert(accepted.id, number);
            if store.durable(accepted.ticket).await.is_err() {
                return;
            }
            self.acknowledged.lock().unwrap().insert(accepted.id, number);
        }
    }

    /// Compares what a store holds with what was sent and acknowledged.
    fn check(&self, store: &Store) -> Result<(), Fault> {
        let view = store.view(&Tenant::anonymous(), TimeRange::ALL);
        if let Some(error) = view.unreadable.first() {
            return Err(format!("a block of the catalogue is lost: {error}"));
        }
        // `content` panics when a profile comes twice or its totals are wrong.
        let found = content(store);
        let sent = self.sent.lock().unwrap();
        for id in self.acknowledged.lock().unwrap().keys() {
            if !found.contains_key(id) {
                return Err(format!("acknowledged push {} is lost", sent[id]));
            }
        }
        for (id, stacks) in &found {
            let number = sent.get(id).ok_or_else(|| format!("{id} was never sent"))?;
            let own = 1 + i64::try_from(number % 1000).unwrap();
            let values: Vec<i64> = stacks.values().flatten().copied().collect();
            if values.iter().sum::<i64>() != own + 3 || stacks.len() != 2 {
                return Err(format!("push {number} reads {stacks:?}"));
            }
        }
        Ok(())
    }
}

/// Where the cuts came, by what the store was doing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cuts {
    pushing: u64,
    flushing: u64,
    recovering: u64,
    /// Flushes, in any of them, that came to their end before the cut.
    flushed: u64,
}

async fn open(disk: &ForgetfulDisk) -> Result<Arc<Store>, Fault> {
    let options = StoreOptions { flush_interval: Duration::from_secs(3600), ..options() };
    Store::open_on(Arc::new(disk.until_crash()), options).await.map_err(|error| error.to_string())
}

/// Runs the cycles. Each starts a store, pushes from three tasks, sometimes flushes, and cuts the power after a number of
/// disk operations that the seed gives.
async fn run(disk: &ForgetfulDisk, seed: u64) -> Result<Cuts, Fault> {
    let mut random = testkit::Random::new(seed, 0);
    let ledger = Ledger::default();
    let mut cuts = Cuts::default();
    for _ in 0..CYCLES {
        // Every third cycle the power fails while the store recovers and flushes what it has found.
        if random.below(3) == 0 {
            disk.stop_after(random.below(80) as u64);
            if let Ok(store) = open(disk).await {
                cuts.flushed += u64::from(store.flush().await.is_ok());
                drop(store);
            }
            cuts.recovering += 1;
            disk.crash_with_seed(random.next_u64());
        }
        let store = open(disk).await?;
        ledger.check(&store)?;
        let flushes = random.below(2) == 0;
        disk.stop_after(1 + random.below(if flushes { 300 } else { 40 }) as u64);
        let flushing = async {
            if !flushes {
                return false;
            }
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            store.flush().await.is_ok()
        };
        // A disk in memory is so fast that pushes without end would leave a flush no steps of its own.
        let pushes_max = if flushes { 1 + random.below(16) } else { usize::MAX };
        let push = || ledger.push_until_cut(&store, pushes_max);
        let (.., flushed) = futures::future::join4(push(), push(), push(), flushing).await;
        cuts.flushed += u64::from(flushed);
        if flushes {
            cuts.flushing += 1
        } else {
            cuts.pushing += 1
        }
        drop(store);
        disk.crash_with_seed(random.next_u64());
    }
    let store = open(disk).await?;
    ledger.check(&store)?;
    store.flush().await.map_err(|error| error.to_string())?;
    ledger.check(&store)?;
    let acknowledged = ledger.acknowledged.lock().unwrap().len();
    assert!(acknowledged > 500, "only {acknowledged} pushes were acknowledged; the cycles are too short");
    Ok(cuts)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c104_fifty_power_cuts_lose_nothing_acknowledged_and_double_nothing() {
    let disk = ForgetfulDisk::new();
    let cuts = run(&disk, 1).await.unwrap();
    assert!(cuts.pushing >= 10 && cuts.flushing >= 10 && cuts.recovering >= 5, "{cuts:?}");
    assert!(cuts.flushed >= 5, "{cuts:?}");
    #[allow(clippy::print_stderr)]
    {
        eprintln!("power cuts while pushing, flushing, recovering: {cuts:?}");
    }
}

/// Runs the cycles on a disk from which a sync was taken out, and returns what they found.
async fn fault_of(take_out: impl FnOnce(&ForgetfulDisk)) -> Fault {
    let disk = ForgetfulDisk::new();
    take_out(&disk);
    let fault = run(&disk, 1).await.unwrap_err();
    #[allow(clippy::print_stderr)]
    {
        eprintln!("found out: {fault}");
    }
    fault
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_cycles_find_out_that_the_logs_fdatasync_alone_is_missing() {
    let fault = fault_of(|disk| disk.ignore_sync_data_in("log")).await;
    assert!(fault.starts_with("acknowledged push") && fault.ends_with("is lost"), "{fault}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_cycles_find_out_that_the_sync_of_blocks_alone_is_missing() {
    let fault = fault_of(|disk| disk.ignore_sync_data_in("blocks")).await;
    assert!(fault.starts_with("a block of the catalogue is lost"), "{fault}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_cycles_find_out_that_the_sync_of_the_catalogue_alone_is_missing() {
    let fault = fault_of(|disk| disk.ignore_sync_data_in("catalogue")).await;
    assert!(fault.contains("catalogue") || fault.contains("lost"), "{fault}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_cycles_find_out_that_the_logs_names_alone_are_not_synced() {
    let fault = fault_of(|disk| disk.ignore_sync_dir_in("log")).await;
    assert!(fault.starts_with("acknowledged push") && fault.ends_with("is lost"), "{fault}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_cycles_find_out_that_the_blocks_names_alone_are_not_synced() {
    let fault = fault_of(|disk| disk.ignore_sync_dir_in("blocks")).await;
    assert!(fault.starts_with("a block of the catalogue is lost"), "{fault}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_cycles_find_out_that_the_catalogues_names_alone_are_not_synced() {
    let fault = fault_of(|disk| disk.ignore_sync_dir_in("catalogue")).await;
    assert!(fault.contains("lost") || fault.contains("catalogue"), "{fault}");
}
