//! Blocks of every version stay readable, and say what they said when they were written.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::{fs, path::PathBuf, sync::Arc};

use block::{AttachmentPart, Block, BlockInput, Dataset, DatasetPart, MemoryFile, write_block};
use profile::{LabelSet, ProfileId, Tenant, Timestamp};
use support::{NOON, describe, varied_dataset};
use xxhash_rust::xxh3::xxh3_64;

fn compat(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("compat").join(file)
}

fn in_words(bytes: Vec<u8>) -> String {
    let block = Block::open(Arc::new(MemoryFile::new("v1.block", bytes))).unwrap();
    let mut words = format!("{} {:?}\n", block.tenant(), block.summary());
    for attachment in block.attachments().unwrap() {
        words += &format!("{attachment:?} {:?}\n", block.attachment_body(attachment.id).unwrap());
    }
    for position in 0..block.dataset_count() {
        let dataset = block.dataset(position).unwrap();
        words += &format!("{} {:?}\n", dataset.service(), block.dataset_totals(position).collect::<Vec<_>>());
        for profile in 0..dataset.profile_count() {
            let mut described = describe(&dataset, profile);
            let about = described.split_off(described.len() - 2);
            // Some hundred rows per profile: their words are compared by checksum.
            let checksum = xxh3_64(described.join("\n").as_bytes());
            words += &format!("{}\n{} rows, {checksum:016x}\n", about.join("\n"), described.len());
        }
    }
    words
}

/// What `compat/v1.block` was made from. `BLESS=1` writes the file where it is missing, and never over one that is
/// there: its bytes are the test. The words beside it are written again.
fn make() -> Vec<u8> {
    let dataset = varied_dataset(1, 3);
    let tenant = Tenant::parse("team-1").unwrap();
    let attachment = AttachmentPart {
        id: ProfileId(7),
        labels: LabelSet::from_pairs([("service_name", "app")]).unwrap(),
        kind: "trace",
        time: Timestamp(NOON),
        body: b"a trace",
    };
    let input = BlockInput {
        tenant: &tenant,
        datasets: vec![DatasetPart { dataset: &dataset, profiles: vec![0, 1, 2] }],
        attachments: vec![attachment],
        arrived: Timestamp(NOON),
    };
    let mut bytes = Vec::new();
    write_block(&input, &mut bytes).unwrap();
    bytes
}

#[test]
fn version_1_stays_readable() {
    let is_blessing = std::env::var_os("BLESS").is_some();
    if is_blessing && !compat("v1.block").exists() {
        fs::create_dir_all(compat("")).unwrap();
        fs::write(compat("v1.block"), make()).unwrap();
    }
    let words = in_words(fs::read(compat("v1.block")).unwrap());
    if is_blessing {
        fs::write(compat("v1.txt"), &words).unwrap();
    }
    assert_eq!(words, fs::read_to_string(compat("v1.txt")).unwrap());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(make(), make());
}
