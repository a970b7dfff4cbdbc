//! Seeded damage to log files: a start never panics, never holds more than its bounds, and takes no damaged profile for
//! one that was pushed (R1, D20, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(clippy::print_stdout, reason = "a run says which cases it was made of")]

mod support;

use profile::{LabelSet, Temporality, Tenant, Timestamp};
use store::{NewAttachment, NewProfile, Store, disk::Disk as _, log_of, log_records};
use support::{TIME, open};
use testkit::{
    CountingAllocator, ForgetfulDisk, FuzzRun, FuzzedLog, Random, arbitrary, fuzz_log, mutate, peak_of,
    sealed_records,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Pushes profiles of all shapes: three services of two tenants, cumulative ones, an upload kept whole.
async fn push_all(store: &Store, seed: u64) {
    let tenants = [Tenant::anonymous(), Tenant::parse("other").unwrap()];
    let mut last = None;
    for number in 0..18 {
        // the last ones bring no symbols of their own
        let owned = arbitrary::random_profile(seed * 100 + number % 12, 12, 1 + (number as usize) % 3);
        let service = ["a", "b", "c"][number as usize % 3];
        let accepted = store.push(&NewProfile {
            tenant: &tenants[usize::from(number % 12 == 3)],
            labels: LabelSet::from_pairs([("service_name", service)]).unwrap(),
            name: "process_cpu",
            temporality: if number % 3 == 2 { Temporality::Cumulative } else { Temporality::Delta },
            profile: owned.view(),
            digest_bytes: &number.to_le_bytes(),
            time: Timestamp(TIME + i64::try_from(number).unwrap() * 7_200_000_000_000),
            time_is_stated: number % 2 == 0,
            id: None,
        });
        // one whose sums are too large is refused, which is well
        if let Ok(accepted) = accepted {
            last = Some(accepted.ticket);
        }
    }
    let attachment = store.push_attachment(&NewAttachment {
        tenant: &tenants[0],
        labels: LabelSet::from_pairs([("service_name", "a")]).unwrap(),
        kind: "trace",
        time: Timestamp(TIME),
        body: b"some bytes of a trace",
    });
    store.durable(attachment.unwrap().ticket.max(last.unwrap())).await.unwrap();
}

/// Log files as the store writes them.
fn seeds() -> Vec<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut logs = Vec::new();
        for seed in 0..12 {
            let disk = ForgetfulDisk::new();
            let store = open(&disk).await;
            push_all(&store, seed).await;
            store.close().await.unwrap();
            let name = disk.file_names().into_iter().find(|name| name.starts_with("log/")).unwrap();
            logs.push(disk.read(&name).unwrap());
        }
        logs
    })
}

/// The body within the bounds of D20.
fn within_bounds(name: &str, case: u64, bytes: &[u8]) -> FuzzedLog {
    let (fuzzed, peak) = peak_of(|| fuzz_log(bytes));
    let limit = 8 * fuzzed.charged + (16 << 20);
    assert!(peak <= limit, "{name}, case {case}: {peak} bytes at the peak (at most {limit})");
    fuzzed
}

/// Runs the body on damaged logs; `damage` makes one of a good one.
fn fuzz(
    name: &str,
    mut damage: impl FnMut(&[u8], &mut Random) -> Vec<u8>,
    mut check: impl FnMut(usize, FuzzedLog),
) {
    let run = FuzzRun::begin(name, 20_260_102, 2_000);
    let seeds = seeds();
    let mut random = run.random(12);
    for case in 0..run.cases {
        let chosen = random.below(seeds.len());
        let damaged = damage(&seeds[chosen], &mut random);
        check(chosen, within_bounds(name, case, &damaged));
    }
}

#[test]
fn fuzz_log_files_within_bounds() {
    let whole: Vec<FuzzedLog> = seeds().iter().map(|log| fuzz_log(log)).collect();
    for log in &whole {
        assert!(log.profiles.len() >= 5 && log.is_flushed && log.report.records >= 8, "{log:?}");
        assert_eq!((log.report.damaged_bytes, log.report.torn_bytes), (0, 0));
    }
    let (mut found, mut all) = (0, 0);
    let damage = |log: &[u8], random: &mut Random| {
        let mut damaged = log.to_vec();
        mutate(&mut damaged, random);
        damaged
    };
    fuzz("log files", damage, |chosen, fuzzed| {
        for (id, content) in &fuzzed.profiles {
            assert_eq!(whole[chosen].profiles.get(id), Some(content), "profile {id} is not what was pushed");
        }
        assert!(fuzzed.is_flushed, "whole records make blocks");
        found += fuzzed.profiles.len();
        all += whole[chosen].profiles.len();
    });
    println!("log files: {found} of {all} profiles read in spite of the damage");
    assert!(found * 3 > all, "damage takes too much with it: {found} of {all}");
}

#[test]
fn fuzz_log_records_within_bounds() {
    let (mut cases, mut damaged, mut unusable) = (0, 0, 0);
    let damage = |log: &[u8], random: &mut Random| {
        let mut records = log_records(log).unwrap();
        for _ in 0..=random.below(2) {
            let chosen = random.below(records.len());
            match random.below(8) {
                0 => drop(records.remove(chosen)),
                1 => records.insert(chosen, records[random.below(records.len())].clone()),
                _ => mutate(&mut records[chosen], random),
            }
        }
        let mut log = log_of(&records);
        // a hole in the file lets blanks stand for what is missing
        if random.below(2) == 0 {
            log.splice(32..32, [0; 200]);
        }
        log
    };
    fuzz("log records", damage, |_, fuzzed| {
        cases += 1;
        unusable += u64::from(fuzzed.report.unusable_records > 0);
        damaged += u64::from(!fuzzed.is_flushed);
    });
    println!("log records: {unusable} of {cases} logs with unusable records, {damaged} that a flush refuses");
    assert!(unusable > cases / 4);
}

#[test]
fn fuzz_log_anything_within_bounds() {
    let run = FuzzRun::begin("any log", 20_260_102, 2_000);
    let mut random = run.random(13);
    for case in 0..run.cases {
        let length = random.below(400);
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(random.next_u64() >> 56).unwrap()).collect();
        assert!(within_bounds("any file", case, &bytes).profiles.is_empty());
        within_bounds("any records", case, &sealed_records(&bytes));
    }
}
