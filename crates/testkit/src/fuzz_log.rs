//! What a fuzzer does with one log file (D33): replay it as a start does, read all that came out, write its blocks and
//! read those too. `fuzz/` calls this with libFuzzer's inputs, the tests of `store` with seeded damage.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use block::{Dataset, NONE, NodeSums, Pick, Rows, Symbols};
use profile::ProfileId;
use store::{RecoveryReport, log_of, replay_log};

use crate::fuzz_block;

/// What a log file gave.
#[derive(Debug)]
pub struct FuzzedLog {
    /// Bytes that memory may be held against: the file and its inflated records.
    pub charged: usize,
    /// What a start would report.
    pub report: RecoveryReport,
    /// A digest of the content of each profile: frames, labels, values.
    pub profiles: BTreeMap<ProfileId, u64>,
    /// Whether a flush of it would write blocks.
    pub is_flushed: bool,
}

/// Replays a log file. Damage is an answer; a panic, an id that leads nowhere or a block that cannot be read is a bug.
///
/// # Panics
/// When it has found one.
#[must_use]
pub fn fuzz_log(bytes: &[u8]) -> FuzzedLog {
    let replayed = replay_log(bytes).expect("room for a decompressor");
    let mut profiles = BTreeMap::new();
    for dataset in &replayed.datasets {
        read_dataset(&**dataset, &mut profiles);
    }
    if let Ok(blocks) = &replayed.blocks {
        for block in blocks {
            fuzz_block(block).expect("what was written can be read");
        }
    }
    FuzzedLog {
        charged: bytes.len() + usize::try_from(replayed.record_bytes).unwrap_or(usize::MAX),
        report: replayed.report,
        profiles,
        is_flushed: replayed.blocks.is_ok(),
    }
}

/// A log file whose records a fuzzer has made up: each is two bytes of length and as many bytes, or what is left. The
/// checksums are right, so that damage gets to the decoder of records.
#[must_use]
pub fn sealed_records(mut bytes: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (record, rest) = rest.split_at(length);
        records.push(record.to_vec());
        bytes = rest;
    }
    log_of(&records)
}

fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Digests of every node's stack, and a look at every symbol that there is.
fn read_stacks(symbols: &dyn Symbols) -> Vec<u64> {
    for id in 0..symbols.function_node_count() {
        let node = symbols.function_node(id);
        assert!(node.parent == NONE || node.parent < id);
        assert!(node.frame < symbols.frame_count());
    }
    for id in 0..symbols.frame_count() {
        symbols.frame(id);
    }
    let mut stacks: Vec<u64> = Vec::new();
    for id in 0..symbols.node_count() {
        let node = symbols.node(id);
        assert!(node.parent == NONE || node.parent < id);
        assert!(node.function_node < symbols.function_node_count());
        let parent = stacks.get(node.parent as usize).copied().unwrap_or_default();
        stacks.push(digest((parent, read_location(symbols, node.location))));
    }
    stacks
}

fn read_location(symbols: &dyn Symbols, id: u32) -> u64 {
    let location = symbols.location(id);
    let mut parts = vec![digest((location.address, location.is_folded))];
    for line in location.lines_start..location.lines_start + location.lines_length {
        let line = symbols.line(line);
        let function = symbols.function(line.function);
        let names = [function.name, function.system_name, function.file].map(|id| symbols.string(id));
        parts.push(digest((line.line, line.column, function.start_line, names)));
    }
    if location.mapping != NONE {
        let mapping = symbols.mapping(location.mapping);
        let names = [mapping.file, mapping.build_id].map(|id| symbols.string(id));
        parts.push(digest((mapping.start, mapping.limit, mapping.offset, names)));
    }
    digest(parts)
}

fn read_labels(symbols: &dyn Symbols) -> Vec<u64> {
    let sets = (0..symbols.label_set_count()).map(|id| {
        let pairs = symbols.label_set(id);
        let texts = pairs.iter().map(|pair| match pair.value {
            block::StoredLabelValue::Text(text) => (symbols.string(pair.key), 0, symbols.string(text)),
            block::StoredLabelValue::Number { value, unit } => {
                (symbols.string(pair.key), value, symbols.string(unit))
            }
        });
        digest(texts.collect::<Vec<_>>())
    });
    sets.collect()
}

fn read_dataset(dataset: &dyn Dataset, profiles: &mut BTreeMap<ProfileId, u64>) {
    let symbols = dataset.symbols().expect("a head has its symbols");
    let (stacks, labels) = (read_stacks(&*symbols), read_labels(&*symbols));
    let mut sums = NodeSums::new(symbols.node_count(), None);
    let mut rows = Rows::default();
    let mut ids = BTreeSet::new();
    for position in 0..dataset.profile_count() {
        let meta = dataset.profile(position);
        let series = dataset.series(meta.series);
        let header = symbols.header(meta.header);
        header.comments.iter().for_each(|&id| drop(symbols.string(id)));
        let mappings = header.mappings.iter().map(|&id| symbols.mapping(id).start);
        let width = series.series_type.columns.len();
        assert_eq!(meta.totals.len(), width);
        dataset.rows(position, &mut rows).expect("rows were looked at when they were replayed");
        assert_eq!(rows.nodes.len(), meta.rows as usize);
        assert_eq!(rows.values.len(), rows.nodes.len() * width);
        for column in 0..u32::try_from(width).unwrap_or_default() {
            dataset.add_values(&[Pick { profile: position, column }], &mut sums).expect("and so were values");
        }
        let mut content =
            digest((&series.labels, &series.series_type.name, meta.time.0, mappings.collect::<Vec<_>>()));
        for (row, &node) in rows.nodes.iter().enumerate() {
            let stack = if node == NONE { 0 } else { stacks[node as usize] };
            let label_set = rows.label_sets.get(row).map(|&id| labels[id as usize]);
            let link = rows.links.get(row).map(|link| (link.trace_id, link.span_id));
            // rows of a block are in another order than those of a head
            let values = &rows.values[row * width..][..width];
            content = content.wrapping_add(digest((stack, label_set, link, values)));
        }
        assert!(ids.insert(meta.id), "a profile comes twice");
        profiles.insert(meta.id, content);
    }
}
