//! Datasets for tests, made from text stacks or from pprof bodies.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(dead_code, reason = "each test file uses a part")]

pub mod watched;

use std::sync::Arc;

use block::{Block, BlockInput, Dataset, DatasetPart, MemoryFile, write_block};
use formats::{Decoder, Limits};
use profile::{
    Columns, Function, FunctionIndex, LabelSet, LabelValue, Line, Link, Location, LocationIndex, Mapping,
    MappingIndex, Profile, ProfileId, SampleLabel, StringIndex, StringRange, Temporality, Tenant, TimeRange,
    Timestamp, ValueType,
};
use query::{Control, Engine, FlameTree, NameMode, Selection, Selector, StepRange};
use store::{MemoryDataset, NewProfile, Store};

/// Builds columns by hand.
#[derive(Clone)]
pub struct Made {
    pub text: Vec<u8>,
    pub columns: Columns,
}

impl Made {
    pub fn new(types: &[(&str, &str)]) -> Self {
        let mut columns = Columns::default();
        columns.clear();
        let mut made = Self { text: Vec::new(), columns };
        for (kind, unit) in types {
            let one = ValueType { kind: made.string(kind), unit: made.string(unit) };
            made.columns.sample_types.push(one);
        }
        made.columns.header.period_type = made.columns.sample_types.last().copied();
        made.columns.header.period = 1;
        made
    }

    pub fn string(&mut self, text: &str) -> StringIndex {
        if text.is_empty() {
            return StringIndex::EMPTY;
        }
        let known =
            self.columns.strings.iter().position(|range| {
                &self.text[range.start as usize..][..range.length as usize] == text.as_bytes()
            });
        if let Some(known) = known {
            return StringIndex(known as u32);
        }
        self.columns.strings.push(StringRange { start: self.text.len() as u32, length: text.len() as u32 });
        self.text.extend_from_slice(text.as_bytes());
        StringIndex(self.columns.strings.len() as u32 - 1)
    }

    pub fn mapping(&mut self, file: &str, build_id: &str) -> MappingIndex {
        let mapping = Mapping {
            start: 0x1000,
            limit: 0x9000,
            offset: 0,
            file: self.string(file),
            build_id: self.string(build_id),
            ..Mapping::default()
        };
        self.columns.mappings.push(mapping);
        MappingIndex(self.columns.mappings.len() as u32 - 1)
    }

    pub fn function(&mut self, name: &str, system_name: &str, file: &str) -> FunctionIndex {
        let function = Function {
            name: self.string(name),
            system_name: self.string(system_name),
            file: self.string(file),
            start_line: 0,
        };
        let known = self.columns.functions.iter().position(|known| *known == function);
        FunctionIndex(known.unwrap_or_else(|| {
            self.columns.functions.push(function);
            self.columns.functions.len() - 1
        }) as u32)
    }

    pub fn location(
        &mut self,
        mapping: MappingIndex,
        address: u64,
        lines: &[FunctionIndex],
    ) -> LocationIndex {
        let location = Location {
            mapping,
            address,
            lines_start: self.columns.lines.len() as u32,
            lines_length: lines.len() as u32,
            is_folded: false,
        };
        self.columns.lines.extend(lines.iter().map(|&function| Line { function, line: 1, column: 0 }));
        self.columns.locations.push(location);
        LocationIndex(self.columns.locations.len() as u32 - 1)
    }

    /// A location of one function.
    pub fn named(&mut self, name: &str) -> LocationIndex {
        let function = self.function(name, "", "");
        let known = self.columns.locations.iter().position(|location| {
            location.address == 0
                && self.columns.location_lines(location).first().map(|line| line.function) == Some(function)
        });
        match known {
            Some(known) => LocationIndex(known as u32),
            None => self.location(MappingIndex::NONE, 0, &[function]),
        }
    }

    /// A sample; locations leaf first.
    pub fn sample(&mut self, stack: &[LocationIndex], values: &[i64]) {
        self.columns.stacks.extend_from_slice(stack);
        self.columns.stack_ends.push(self.columns.stacks.len() as u32);
        self.columns.values.extend_from_slice(values);
        if !self.columns.label_ends.is_empty() {
            self.columns.label_ends.push(self.columns.labels.len() as u32);
        }
        if !self.columns.links.is_empty() {
            self.columns.links.push(Link::default());
        }
    }

    /// A sample of names, `root;…;leaf`.
    pub fn stack(&mut self, names: &str, values: &[i64]) {
        let mut stack: Vec<LocationIndex> = Vec::new();
        for name in names.split(';').filter(|name| !name.is_empty()) {
            stack.push(self.named(name));
        }
        stack.reverse();
        self.sample(&stack, values);
    }

    /// Gives the last sample a label.
    pub fn label(&mut self, key: &str, value: &str) {
        let value = LabelValue::Text(self.string(value));
        self.label_of(key, value);
    }

    /// Gives the last sample a number for a label.
    pub fn number(&mut self, key: &str, value: i64, unit: &str) {
        let value = LabelValue::Number { value, unit: self.string(unit) };
        self.label_of(key, value);
    }

    fn label_of(&mut self, key: &str, value: LabelValue) {
        let key = self.string(key);
        let count = self.columns.sample_count();
        while self.columns.label_ends.len() < count {
            self.columns.label_ends.push(self.columns.labels.len() as u32);
        }
        self.columns.labels.push(SampleLabel { key, value });
        self.columns.label_ends[count - 1] = self.columns.labels.len() as u32;
    }

    /// Gives the last sample a span and a trace.
    pub fn link(&mut self, span: u8, trace: u8) {
        let count = self.columns.sample_count();
        self.columns.links.resize(count, Link::default());
        self.columns.links[count - 1] = Link { span_id: [span; 8], trace_id: [trace; 16] };
    }

    pub fn profile(&self) -> Profile<'_> {
        Profile { text: &self.text, columns: &self.columns }
    }
}

/// Stacks with values, as one profile with the column `cpu` in nanoseconds.
pub fn cpu(stacks: &[(&str, i64)]) -> Made {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    for (names, value) in stacks {
        made.stack(names, &[*value]);
    }
    made
}

pub fn labels(pairs: &[(&str, &str)]) -> LabelSet {
    LabelSet::from_pairs(pairs.iter().copied()).unwrap()
}

pub fn seconds(seconds: i64) -> Timestamp {
    Timestamp((1_700_000_000 + seconds) * 1_000_000_000)
}

/// A dataset that profiles are pushed into, one after the other.
pub struct Service {
    name: String,
    memory: MemoryDataset,
}

impl Service {
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), memory: MemoryDataset::new(name) }
    }

    pub fn push(&mut self, name: &str, extra: &[(&str, &str)], at: i64, profile: &Profile<'_>) -> ProfileId {
        let pairs = [("service_name", self.name.as_str())].into_iter().chain(extra.iter().copied());
        let digest = format!("{name} {extra:?} {at} {:?} {:?}", profile.text, profile.columns.values);
        let tenant = Tenant::anonymous();
        let new = NewProfile {
            tenant: &tenant,
            labels: LabelSet::from_pairs(pairs).unwrap(),
            name,
            temporality: Temporality::Delta,
            profile: *profile,
            digest_bytes: digest.as_bytes(),
            time: seconds(at),
            time_is_stated: true,
            id: None,
        };
        self.memory.add(&new).unwrap()
    }

    pub fn cpu(&mut self, extra: &[(&str, &str)], at: i64, stacks: &[(&str, i64)]) -> ProfileId {
        self.push("process_cpu", extra, at, &cpu(stacks).profile())
    }

    pub fn dataset(&self) -> Arc<dyn Dataset> {
        self.memory.snapshot()
    }

    /// The same as read back from a block file.
    pub fn packed(&self) -> Arc<dyn Dataset> {
        let head = self.dataset();
        let profiles = (0..head.profile_count()).collect();
        let tenant = Tenant::anonymous();
        let input = BlockInput {
            tenant: &tenant,
            datasets: vec![DatasetPart { dataset: &*head, profiles }],
            attachments: Vec::new(),
            arrived: seconds(0),
        };
        let mut bytes = Vec::new();
        write_block(&input, &mut bytes).unwrap();
        let block = Block::open(Arc::new(MemoryFile::new("test.block", bytes))).unwrap();
        Arc::new(block.dataset(0).unwrap())
    }

    pub fn engine(&self) -> Engine {
        Engine::over(vec![self.dataset()])
    }
}

pub fn select(selector: &str) -> Selection {
    Selection { selector: Selector::parse(selector).unwrap(), ..Selection::default() }
}

pub fn control() -> Control {
    Control::default()
}

/// A tree as lines `root;…;name self total`, in order.
pub fn lines(tree: &FlameTree) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (position, node) in tree.nodes.iter().enumerate() {
        let mark = if tree.is_other(node) { "*" } else { "" };
        let name = format!("{}{mark}", tree.names[node.name as usize]);
        paths.push(if position == 0 { name } else { format!("{};{name}", paths[node.parent as usize]) });
    }
    paths
        .iter()
        .zip(&tree.nodes)
        .map(|(path, node)| format!("{path} {} {}", node.self_value, node.total))
        .collect()
}

/// Decodes a pprof body; negative values stay, as in a difference (C009).
pub fn decode<R>(body: &[u8], use_profile: impl FnOnce(&Profile<'_>) -> R) -> Result<R, String> {
    let mut decoder = Decoder::new();
    let limits = Limits { keep_negative: true, ..Limits::default() };
    let (profile, _) = decoder.pprof(body, &limits).map_err(|error| error.to_string())?;
    Ok(use_profile(&profile))
}

/// Pushes a CPU profile; `digest` tells it from others of the same labels and time.
pub fn push_cpu(
    store: &Store,
    tenant: &Tenant,
    pairs: &[(&str, &str)],
    made: &Made,
    time: Timestamp,
    digest: &str,
) {
    let new = NewProfile {
        tenant,
        labels: labels(pairs),
        name: "process_cpu",
        temporality: Temporality::Delta,
        profile: made.profile(),
        digest_bytes: digest.as_bytes(),
        time,
        time_is_stated: true,
        id: None,
    };
    store.push(&new).unwrap();
}

pub fn flame_lines(engine: &Engine, selection: &Selection) -> Vec<String> {
    lines(&engine.flame(selection, NameMode::Display, 0, &control()).unwrap().data)
}

pub fn range(from: i64, to: i64) -> TimeRange {
    TimeRange { from: seconds(from), to: seconds(to) }
}

pub fn steps(from: i64, to: i64, step_seconds: i64) -> StepRange {
    StepRange { range: range(from, to), step_nanos: step_seconds * 1_000_000_000 }
}
