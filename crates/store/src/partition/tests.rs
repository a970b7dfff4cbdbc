//! What is read equals what was interned, for profiles of any shape.

use std::{collections::BTreeMap, sync::Arc};

use block::{Dataset, NONE, NodeSums, Pick, Rows, StoredLabelValue, Symbols};
use profile::Tenant;
use profile::{
    Columns, Function, LabelSet, LabelValue, Line, Link, Location, LocationIndex, Mapping, MappingFlags,
    MappingIndex, Profile, ProfileId, SampleLabel, StringIndex, StringRange, Temporality, Timestamp,
    ValueType,
};
use proptest::prelude::*;

use super::{HeadProfile, Partition, PushBuffer, Wanted, check_sums, rows};
use crate::PushError;

/// Columns with their text.
#[derive(Clone, Debug, Default)]
struct Sketch {
    text: Vec<u8>,
    columns: Columns,
}

impl Sketch {
    fn new() -> Self {
        let mut sketch = Self::default();
        sketch.columns.clear();
        sketch
    }

    fn string(&mut self, text: &str) -> StringIndex {
        if text.is_empty() {
            return StringIndex::EMPTY;
        }
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text.as_bytes());
        self.columns.strings.push(StringRange { start, length: text.len() as u32 });
        StringIndex(self.columns.strings.len() as u32 - 1)
    }

    fn profile(&self) -> Profile<'_> {
        Profile { text: &self.text, columns: &self.columns }
    }
}

/// Everything that tells one row from another, in words.
type Key = (Vec<String>, Vec<String>, ([u8; 16], [u8; 8]));

/// A profile as sums by key; times are counted.
type Model = BTreeMap<Key, (Vec<i64>, Vec<u64>)>;

fn model_of(profile: &Profile<'_>) -> Model {
    let columns = profile.columns;
    let text = |index: StringIndex| profile.text_of(index).into_owned();
    let mut model = Model::new();
    for sample in profile.samples() {
        let stack = sample.stack.iter().map(|&location| {
            let location = &columns.locations[location.position()];
            let lines: Vec<_> = columns
                .location_lines(location)
                .iter()
                .map(|line| {
                    let function = &columns.functions[line.function.position()];
                    (text(function.name), text(function.file), line.line, line.column)
                })
                .collect();
            let mapping = (location.mapping != MappingIndex::NONE)
                .then(|| text(columns.mappings[location.mapping.position()].file));
            format!("{:x} {mapping:?} {lines:?} {}", location.address, location.is_folded)
        });
        let labels = sample.labels.iter().map(|label| match label.value {
            LabelValue::Text(value) => format!("{}={}", text(label.key), text(value)),
            LabelValue::Number { value, unit } => format!("{}={value}{}", text(label.key), text(unit)),
        });
        let entry = model
            .entry((stack.collect(), labels.collect(), (sample.link.trace_id, sample.link.span_id)))
            .or_default();
        entry.0.resize(sample.values.len(), 0);
        entry.0.iter_mut().zip(sample.values).for_each(|(sum, value)| *sum += value);
        entry.1.extend_from_slice(sample.timestamps);
        entry.1.sort_unstable();
    }
    model
}

fn read_model(dataset: &dyn Dataset, position: u32) -> Model {
    let symbols = dataset.symbols().unwrap();
    let mut rows = Rows::default();
    dataset.rows(position, &mut rows).unwrap();
    let width = dataset.series(dataset.profile(position).series).series_type.columns.len();
    let mut model = Model::new();
    let text = |id| String::from_utf8_lossy(&symbols.string(id)).into_owned();
    for (row, &leaf) in rows.nodes.iter().enumerate() {
        let mut stack = Vec::new();
        let mut at = leaf;
        while at != NONE {
            let node = symbols.node(at);
            assert!(node.parent == NONE || node.parent < at);
            stack.push(location_text(&*symbols, node.location));
            at = node.parent;
        }
        let set = rows.label_sets.get(row).copied().unwrap_or(0);
        let labels = symbols
            .label_set(set)
            .iter()
            .map(|pair| match pair.value {
                StoredLabelValue::Text(value) => format!("{}={}", text(pair.key), text(value)),
                StoredLabelValue::Number { value, unit } => {
                    format!("{}={value}{}", text(pair.key), text(unit))
                }
            })
            .collect();
        let link = rows.links.get(row).copied().unwrap_or_default();
        let values = rows.values[row * width..][..width].to_vec();
        let times = match rows.timestamp_ends.get(row) {
            None => Vec::new(),
            Some(&end) => {
                let start = if row == 0 { 0 } else { rows.timestamp_ends[row - 1] };
                let mut times = rows.timestamps[start as usize..end as usize].to_vec();
                times.sort_unstable();
                times
            }
        };
        assert!(
            model.insert((stack, labels, (link.trace_id, link.span_id)), (values, times)).is_none(),
            "a row comes twice"
        );
    }
    model
}

fn location_text(symbols: &dyn Symbols, id: u32) -> String {
    let text = |id| String::from_utf8_lossy(&symbols.string(id)).into_owned();
    let location = symbols.location(id);
    let lines: Vec<_> = (location.lines_start..location.lines_start + location.lines_length)
        .map(|line| {
            let line = symbols.line(line);
            let function = symbols.function(line.function);
            (text(function.name), text(function.file), line.line, line.column)
        })
        .collect();
    let mapping = (location.mapping != NONE).then(|| text(symbols.mapping(location.mapping).file));
    format!("{:x} {mapping:?} {lines:?} {}", location.address, location.is_folded)
}

/// A profile with few different things of each kind, so that everything meets everything.
fn sketches() -> impl Strategy<Value = Sketch> {
    let line = (0u32..6, prop_oneof![0i64..3, Just(i64::MAX), Just(-1)], prop_oneof![Just(0i64), Just(7)]);
    let location =
        (0u32..4, prop_oneof![0u64..3, Just(u64::MAX)], prop::collection::vec(line, 0..3), any::<bool>());
    let locations = prop::collection::vec(location, 1..12);
    let value =
        prop_oneof![0i64..4, -3i64..3, Just(1 << 40), (0i64..300).prop_map(|count| count * 10_000_000)];
    let label = (0u32..3, prop_oneof![Just(None), (-2i64..2).prop_map(Some)]);
    let sample = (
        prop::collection::vec(0usize..12, 0..8),
        prop::collection::vec(value, 3),
        prop::collection::vec(label, 0..3),
        0u8..3,
        prop::collection::vec(0u64..9, 0..3),
    );
    let samples = prop::collection::vec(sample, 0..40);
    (locations, samples, any::<[bool; 3]>()).prop_map(|(locations, samples, [labelled, linked, timed])| {
        let mut sketch = Sketch::new();
        let names: Vec<_> = (0..6).map(|name| sketch.string(&format!("f{}", name / 2))).collect();
        let files: Vec<_> = ["", "a.go", "b.go"].map(|file| sketch.string(file)).to_vec();
        for position in 0..6 {
            sketch.columns.functions.push(Function {
                name: names[position],
                file: files[position % 3],
                start_line: position as i64,
                ..Function::default()
            });
        }
        for position in 0..3u64 {
            let file = files[position as usize];
            let flags = MappingFlags::ALL;
            sketch.columns.mappings.push(Mapping { start: position, file, flags, ..Mapping::default() });
        }
        for (mapping, address, lines, is_folded) in &locations {
            let lines_start = sketch.columns.lines.len() as u32;
            for &(function, line, column) in lines {
                let function = profile::FunctionIndex(function);
                sketch.columns.lines.push(Line { function, line, column });
            }
            sketch.columns.locations.push(Location {
                mapping: if *mapping == 3 { MappingIndex::NONE } else { MappingIndex(*mapping) },
                address: *address,
                lines_start,
                lines_length: lines.len() as u32,
                is_folded: *is_folded,
            });
        }
        for kind in ["samples", "cpu", "odd"] {
            let kind = sketch.string(kind);
            sketch.columns.sample_types.push(ValueType { kind, unit: kind });
        }
        for (stack, values, labels, link, times) in samples {
            let stack = stack.into_iter().map(|frame| LocationIndex((frame % locations.len()) as u32));
            sketch.columns.stacks.extend(stack);
            sketch.columns.stack_ends.push(sketch.columns.stacks.len() as u32);
            // The first two columns are what Go writes: a count and the same count in nanoseconds.
            let count = values[0].rem_euclid(100);
            sketch.columns.values.extend([count, count * 10_000_000, values[2]]);
            if labelled {
                for (key, number) in labels {
                    let key = names[key as usize];
                    let value = match number {
                        None => LabelValue::Text(files[1]),
                        Some(value) => LabelValue::Number { value, unit: files[0] },
                    };
                    sketch.columns.labels.push(SampleLabel { key, value });
                }
                sketch.columns.label_ends.push(sketch.columns.labels.len() as u32);
            }
            if linked {
                sketch.columns.links.push(Link { trace_id: [link / 2; 16], span_id: [link; 8] });
            }
            if timed {
                sketch.columns.timestamps.extend(times);
                sketch.columns.timestamp_ends.push(sketch.columns.timestamps.len() as u32);
            }
        }
        sketch
    })
}

fn add(partition: &Partition, sketch: &Sketch, buffer: &mut PushBuffer) {
    let labels = LabelSet::from_pairs([("service_name", "s")]).unwrap();
    let wanted = Wanted {
        labels: &labels,
        name: "process_cpu",
        temporality: Temporality::Delta,
        time: Timestamp(1),
        id: ProfileId(1),
    };
    check_sums(&sketch.profile()).unwrap();
    let mut writer = partition.lock();
    let interned = partition.intern(&mut writer, &wanted, &sketch.profile(), buffer);
    let meta = partition.encode_rows(interned, &wanted, &sketch.profile(), buffer);
    partition.publish_profile(HeadProfile { meta, rows: buffer.rows.as_slice().into(), sequence: 0 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_interned_is_read(sketches in prop::collection::vec(sketches(), 1..5)) {
        let partition = Arc::new(Partition::new(Tenant::anonymous(), "s", 0));
        let mut buffer = PushBuffer::default();
        for sketch in &sketches {
            add(&partition, sketch, &mut buffer);
        }
        let snapshot = partition.snapshot();
        let nodes = snapshot.symbols().unwrap().node_count();
        for (position, sketch) in sketches.iter().enumerate() {
            let profile = position as u32;
            let model = model_of(&sketch.profile());
            prop_assert_eq!(&read_model(&snapshot, profile), &model);
            for column in 0..3 {
                let mut sums = NodeSums::new(nodes, None);
                snapshot.add_values(&[Pick { profile, column }], &mut sums).unwrap();
                let with_stack = model.iter().filter(|(key, _)| !key.0.is_empty());
                let expected: i64 = with_stack.map(|(_, (values, _))| values[column as usize]).sum();
                prop_assert_eq!(sums.to_vec().iter().sum::<i64>(), expected);
                let total: i64 = model.values().map(|(values, _)| values[column as usize]).sum();
                prop_assert_eq!(snapshot.profile(profile).totals[column as usize], total);
            }
        }
    }

    #[test]
    fn damaged_rows_are_an_error_or_other_rows(
        sketch in sketches(),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
        cut in any::<prop::sample::Index>(),
    ) {
        let partition = Arc::new(Partition::new(Tenant::anonymous(), "s", 0));
        add(&partition, &sketch, &mut PushBuffer::default());
        let mut bytes = partition.tables.profiles.get(0).unwrap().rows.to_vec();
        let position = at.index(bytes.len());
        bytes[position] ^= 1 << bit;
        bytes.truncate(cut.index(bytes.len()) + 1);
        let mut sums = NodeSums::new(100, None);
        let mut rows = Rows::default();
        if rows::decode(&bytes, &mut rows).is_ok() {
            prop_assert!(rows.nodes.len() <= bytes.len() * 8 + 1);
        }
        for column in 0..4 {
            let _ = rows::add_values(&bytes, column, &mut sums, &mut rows::ReadBuffer::default());
        }
    }
}

/// One sample per stack; frames are names, leaf first.
fn simple(stacks: &[(&[&str], &[i64])]) -> Sketch {
    let mut sketch = Sketch::new();
    let mut known = BTreeMap::new();
    for (stack, values) in stacks {
        for name in *stack {
            let location = *known.entry(*name).or_insert_with(|| {
                let name = sketch.string(name);
                let lines_start = sketch.columns.lines.len() as u32;
                let function = profile::FunctionIndex(sketch.columns.functions.len() as u32);
                sketch.columns.functions.push(Function { name, ..Function::default() });
                sketch.columns.lines.push(Line { function, ..Line::default() });
                sketch.columns.locations.push(Location {
                    mapping: MappingIndex::NONE,
                    address: 0,
                    lines_start,
                    lines_length: 1,
                    is_folded: false,
                });
                LocationIndex(sketch.columns.locations.len() as u32 - 1)
            });
            sketch.columns.stacks.push(location);
        }
        sketch.columns.stack_ends.push(sketch.columns.stacks.len() as u32);
        sketch.columns.sample_types.resize(values.len(), ValueType::default());
        sketch.columns.values.extend_from_slice(values);
    }
    sketch
}

#[test]
fn equal_stacks_are_added_up_and_share_nodes() {
    let partition = Arc::new(Partition::new(Tenant::anonymous(), "s", 0));
    let mut buffer = PushBuffer::default();
    add(&partition, &simple(&[(&["b", "a"], &[10]), (&["b", "a"], &[10]), (&["a"], &[1])]), &mut buffer);
    add(&partition, &simple(&[(&["c", "b", "a"], &[5])]), &mut buffer);
    let snapshot = partition.snapshot();
    assert_eq!(snapshot.symbols().unwrap().node_count(), 3);
    assert_eq!((snapshot.profile(0).rows, snapshot.profile(1).rows), (2, 1));
    assert_eq!(&*snapshot.profile(0).totals, &[21]);
}

#[test]
fn function_nodes_ignore_lines_and_addresses_of_named_frames() {
    let partition = Arc::new(Partition::new(Tenant::anonymous(), "s", 0));
    let mut sketch = simple(&[(&["f"], &[1])]);
    let mut second = sketch.columns.locations[0];
    second.address = 99;
    sketch.columns.locations.push(second);
    sketch.columns.stacks.push(LocationIndex(1));
    sketch.columns.stack_ends.push(2);
    sketch.columns.values.push(1);
    add(&partition, &sketch, &mut PushBuffer::default());
    let snapshot = partition.snapshot();
    assert_eq!(
        (snapshot.symbols().unwrap().node_count(), snapshot.symbols().unwrap().function_node_count()),
        (2, 1)
    );
}

#[test]
fn c018_frames_without_names_are_known_by_their_place_in_the_file() {
    let partition = Arc::new(Partition::new(Tenant::anonymous(), "s", 0));
    let mut buffer = PushBuffer::default();
    for start in [0xffff_ffff_8100_0000u64, 0x1000] {
        let mut sketch = Sketch::new();
        let file = sketch.string("kernel");
        sketch.columns.mappings.push(Mapping {
            start,
            limit: start + 0x1000,
            offset: 16,
            file,
            ..Mapping::default()
        });
        sketch.columns.locations.push(Location {
            mapping: MappingIndex(0),
            address: start + 5,
            lines_start: 0,
            lines_length: 0,
            is_folded: false,
        });
        sketch.columns.stacks.push(LocationIndex(0));
        sketch.columns.stack_ends.push(1);
        sketch.columns.sample_types.push(ValueType::default());
        sketch.columns.values.push(1);
        add(&partition, &sketch, &mut buffer);
    }
    let snapshot = partition.snapshot();
    assert_eq!(
        (snapshot.symbols().unwrap().node_count(), snapshot.symbols().unwrap().function_node_count()),
        (2, 1)
    );
    let symbols = snapshot.symbols().unwrap();
    let frame = symbols.frame(0);
    assert_eq!((&*frame.mapping_file, frame.address), (&b"kernel"[..], 21));
}

#[test]
fn sums_that_do_not_fit_are_refused_before_anything_is_kept() {
    let sketch = simple(&[(&["a"], &[i64::MAX, 0]), (&["b"], &[1, 0])]);
    assert!(matches!(check_sums(&sketch.profile()), Err(PushError::Invalid { .. })));
    let half = i64::MAX / 2 + 1;
    for (values, fits) in
        [([half, half], false), ([half, half - 1], true), ([i64::MIN, 0], false), ([half - 1, -half], true)]
    {
        let sketch = simple(&[(&["a"], &[0, values[0]]), (&["b"], &[1, values[1]])]);
        assert_eq!(check_sums(&sketch.profile()).is_ok(), fits, "{values:?}");
    }
}

#[test]
fn snapshots_do_not_grow() {
    let partition = Arc::new(Partition::new(Tenant::anonymous(), "s", 0));
    let mut buffer = PushBuffer::default();
    add(&partition, &simple(&[(&["a"], &[1])]), &mut buffer);
    let before = partition.snapshot();
    add(&partition, &simple(&[(&["b"], &[1])]), &mut buffer);
    assert_eq!((before.profile_count(), before.symbols().unwrap().node_count()), (1, 1));
    assert_eq!((partition.snapshot().profile_count(), before.id()), (2, partition.snapshot().id()));
}
