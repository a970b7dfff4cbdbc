//! What goes into a block comes out of it, and a block is in the order that it promises.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;

use block::{
    AttachmentPart, Block, BlockInput, Dataset, DatasetPart, MemoryFile, NONE, NodeSums, Pick, write_block,
};
use profile::{LabelSet, ProfileId, Tenant, TimeRange, Timestamp};
use proptest::prelude::*;
use support::{MemoryDataset, NOON, describe, varied_dataset};

fn write(datasets: Vec<DatasetPart<'_>>, attachments: Vec<AttachmentPart<'_>>) -> Vec<u8> {
    let tenant = Tenant::anonymous();
    let input = BlockInput { tenant: &tenant, datasets, attachments, arrived: Timestamp(NOON + 5) };
    let mut bytes = Vec::new();
    let summary = write_block(&input, &mut bytes).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

fn open(bytes: Vec<u8>) -> Arc<Block> {
    Block::open(Arc::new(MemoryFile::new("blocks/test.block", bytes))).unwrap()
}

fn all(dataset: &MemoryDataset) -> DatasetPart<'_> {
    DatasetPart { dataset, profiles: (0..dataset.profile_count()).collect() }
}

/// All profiles in words, sorted by id.
fn everything(dataset: &dyn Dataset, profiles: impl Iterator<Item = u32>) -> Vec<(ProfileId, Vec<String>)> {
    let mut all: Vec<_> =
        profiles.map(|position| (dataset.profile(position).id, describe(dataset, position))).collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn everything_comes_back(seed in any::<u64>(), profiles in 1_usize..20, skip in 1_usize..4) {
        let dataset = varied_dataset(seed, profiles);
        let chosen: Vec<u32> = (0..dataset.profile_count()).rev().step_by(skip).collect();
        let block = open(write(vec![DatasetPart { dataset: &dataset, profiles: chosen.clone() }], vec![]));
        let read = block.dataset(0).unwrap();
        prop_assert_eq!(read.profile_count() as usize, chosen.len());
        prop_assert_eq!(
            everything(&read, 0..read.profile_count()),
            everything(&dataset, chosen.iter().copied())
        );
        let rows: u64 = chosen.iter().map(|&position| u64::from(dataset.profile(position).rows)).sum();
        prop_assert_eq!(block.summary().rows, rows);
    }

    #[test]
    fn sums_are_those_of_the_rows(seed in any::<u64>()) {
        let dataset = varied_dataset(seed, 12);
        let block = open(write(vec![all(&dataset)], vec![]));
        let read = block.dataset(0).unwrap();
        let symbols = read.symbols().unwrap();
        let picks: Vec<Pick> = (0..read.profile_count())
            .rev()
            .map(|profile| Pick { profile, column: profile % 2 })
            .filter(|pick| (pick.column as usize) < read.profile(pick.profile).totals.len())
            .collect();
        let mut sums = NodeSums::new(symbols.node_count(), None);
        read.add_values(&picks, &mut sums).unwrap();
        let mut expected = vec![0_i64; symbols.node_count() as usize];
        for pick in &picks {
            let mut rows = Default::default();
            read.rows(pick.profile, &mut rows).unwrap();
            let width = read.profile(pick.profile).totals.len();
            for (row, &node) in rows.nodes.iter().enumerate().filter(|(_, node)| **node != NONE) {
                let value = rows.values[row * width + pick.column as usize];
                expected[node as usize] = expected[node as usize].wrapping_add(value);
            }
        }
        prop_assert_eq!(sums.to_vec(), expected);
    }
}

#[test]
fn nodes_are_depth_first_with_children_in_frame_order() {
    let dataset = varied_dataset(7, 20);
    let block = open(write(vec![all(&dataset)], vec![]));
    let read = block.dataset(0).unwrap();
    let symbols = read.symbols().unwrap();
    let path_of = |mut id: u32| {
        let mut path = vec![];
        while id != NONE {
            let node = symbols.function_node(id);
            let frame = symbols.frame(node.frame);
            path.push((frame.name.to_vec(), frame.file.to_vec(), node.frame));
            id = node.parent;
        }
        path.reverse();
        path
    };
    let paths: Vec<_> = (0..symbols.function_node_count()).map(path_of).collect();
    assert!(paths.is_sorted());
    for id in 0..symbols.node_count() {
        let parent = symbols.node(id).parent;
        assert!(parent == NONE || parent < id);
    }
}

#[test]
fn profiles_are_found_by_id_and_others_are_not() {
    let dataset = varied_dataset(3, 30);
    let block = open(write(vec![all(&dataset)], vec![]));
    for profile in &dataset.profiles {
        assert!(block.contains(profile.id).unwrap());
        assert!(
            !block.contains(ProfileId(profile.id.0 ^ 1)).unwrap(),
            "differs in the digest's last bit only"
        );
        assert!(
            !block.contains(ProfileId(profile.id.0 ^ 1 << 100)).unwrap(),
            "differs in its milliseconds only"
        );
    }
    block.drop_digests();
    assert!(block.contains(dataset.profiles[0].id).unwrap());
}

#[test]
fn several_datasets_and_attachments() {
    let mut first = varied_dataset(1, 5);
    first.service = "zebra".into();
    let (second, empty) = (varied_dataset(2, 5), varied_dataset(3, 1));
    let labels = LabelSet::from_pairs([("service_name", "app")]).unwrap();
    let body: Vec<u8> =
        (0..700_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let attachment = |number: u128, body| AttachmentPart {
        id: ProfileId(number),
        labels: labels.clone(),
        kind: "trace",
        time: Timestamp(NOON - number as i64),
        body,
    };
    let bytes = write(
        vec![all(&first), DatasetPart { dataset: &empty, profiles: vec![] }, all(&second)],
        vec![attachment(1, b"one".as_slice()), attachment(2, &body), attachment(3, b"")],
    );
    let block = open(bytes);
    assert_eq!([block.dataset_service(0), block.dataset_service(1)], ["app", "zebra"]);
    assert_eq!(block.dataset_count(), 2);
    assert_ne!(block.dataset_id(0), block.dataset_id(1));
    assert_eq!(block.dataset(0).unwrap().id(), block.dataset_id(0));
    let listed: Vec<_> = block.attachments().unwrap().iter().map(|one| (one.id.0, one.length)).collect();
    assert_eq!(listed, [(3, 0), (2, 700_000), (1, 3)]);
    assert_eq!(block.attachment_body(ProfileId(2)).unwrap().unwrap(), body);
    assert_eq!(block.attachment_body(ProfileId(1)).unwrap().unwrap(), b"one");
    assert_eq!(block.attachment_body(ProfileId(9)).unwrap(), None);
    assert!(block.contains(ProfileId(3)).unwrap());
    assert_eq!(block.dataset_label_names(0).collect::<Vec<_>>(), ["pod", "service_name"]);
    let read = block.dataset(1).unwrap();
    assert_eq!(everything(&read, 0..5), everything(&first, 0..5));
}

#[test]
fn the_summary_covers_all_profiles() {
    let dataset = varied_dataset(5, 10);
    let block = open(write(vec![all(&dataset)], vec![]));
    let summary = block.summary();
    assert_eq!(summary.time_first, dataset.profiles[0].time);
    assert_eq!(summary.time_last, dataset.profiles[9].time);
    assert_eq!(summary.data_end.0, dataset.profiles[9].time.0 + dataset.profiles[9].duration_nanos);
    assert_eq!(summary.arrived, Timestamp(NOON + 5));
    assert_eq!(summary.profiles, 10);
    let before = TimeRange { from: Timestamp(0), to: summary.time_first };
    assert!(!block.dataset_touches(0, before));
    assert!(block.dataset_touches(0, TimeRange { to: Timestamp(summary.time_first.0 + 1), ..before }));
    let expected: i128 = dataset
        .profiles
        .iter()
        .filter(|profile| profile.series != 1)
        .map(|profile| i128::from(profile.totals[1]))
        .sum();
    let cpu = block.dataset_totals(0).find(|(profile_type, _)| profile_type.contains(":cpu:nanoseconds:"));
    assert_eq!(cpu, Some(("process_cpu:cpu:nanoseconds:cpu:nanoseconds", expected)));
}

#[test]
fn symbols_can_be_dropped_and_come_back() {
    let dataset = varied_dataset(6, 3);
    let block = open(write(vec![all(&dataset)], vec![]));
    let read = block.dataset(0).unwrap();
    let before = read.loaded_bytes();
    let nodes = read.symbols().unwrap().node_count();
    assert_eq!(read.loaded_bytes(), before + read.symbol_bytes());
    read.drop_symbols();
    assert_eq!(read.loaded_bytes(), before);
    assert_eq!(read.symbols().unwrap().node_count(), nodes);
}
