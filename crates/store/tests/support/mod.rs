//! Shared by the store's system tests: small profiles, and what a store says it holds.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(dead_code)]

use std::{collections::BTreeMap, sync::Arc};

use block::{NONE, Rows};
use profile::{
    Columns, Function, FunctionIndex, LabelSet, Line, Location, LocationIndex, MappingIndex, Profile,
    ProfileId, StringIndex, StringRange, Temporality, Tenant, TimeRange, Timestamp, ValueType,
};
use store::{Accepted, NewProfile, PushError, Store, StoreError, StoreOptions, disk::Disk};

/// A time in 2025, ns.
pub const TIME: i64 = 1_750_000_000_000_000_000;

/// Options that flush only when told to.
pub fn options() -> StoreOptions {
    StoreOptions::by_hand("unused")
}

/// Opens a store on a disk.
pub async fn open(disk: &impl DiskHandle) -> Arc<Store> {
    Store::open_on(disk.handle(), options()).await.unwrap()
}

/// Anything that is a disk and can be shared.
pub trait DiskHandle {
    fn handle(&self) -> Arc<dyn Disk>;
}

impl DiskHandle for testkit::ForgetfulDisk {
    fn handle(&self) -> Arc<dyn Disk> {
        Arc::new(self.until_crash())
    }
}

/// A decoded profile with its text.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    text: Vec<u8>,
    columns: Columns,
}

impl Sketch {
    /// Stacks are `root;…;leaf`; columns are `cpu` in `nanoseconds`.
    pub fn cpu(stacks: &[(&str, i64)]) -> Self {
        let stacks: Vec<_> = stacks.iter().map(|&(stack, value)| (stack, vec![value])).collect();
        Self::new(&[("cpu", "nanoseconds")], &stacks)
    }

    /// Stacks with several columns.
    pub fn new(types: &[(&str, &str)], stacks: &[(&str, Vec<i64>)]) -> Self {
        let mut sketch = Self::default();
        sketch.columns.clear();
        for (kind, unit) in types {
            let value_type = ValueType { kind: sketch.string(kind), unit: sketch.string(unit) };
            sketch.columns.sample_types.push(value_type);
        }
        let mut known: BTreeMap<String, LocationIndex> = BTreeMap::new();
        for (stack, values) in stacks {
            for name in stack.split(';').filter(|name| !name.is_empty()).rev() {
                let location = match known.get(name) {
                    Some(&location) => location,
                    None => sketch.location(name),
                };
                known.insert(name.to_owned(), location);
                sketch.columns.stacks.push(location);
            }
            sketch.columns.stack_ends.push(sketch.columns.stacks.len() as u32);
            sketch.columns.values.extend(values);
        }
        sketch
    }

    fn string(&mut self, text: &str) -> StringIndex {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text.as_bytes());
        self.columns.strings.push(StringRange { start, length: text.len() as u32 });
        StringIndex(self.columns.strings.len() as u32 - 1)
    }

    fn location(&mut self, name: &str) -> LocationIndex {
        let name = self.string(name);
        let function = FunctionIndex(self.columns.functions.len() as u32);
        self.columns.functions.push(Function { name, ..Function::default() });
        let lines_start = self.columns.lines.len() as u32;
        self.columns.lines.push(Line { function, line: 1, column: 0 });
        self.columns.locations.push(Location {
            mapping: MappingIndex::NONE,
            address: 0,
            lines_start,
            lines_length: 1,
            is_folded: false,
        });
        LocationIndex(self.columns.locations.len() as u32 - 1)
    }

    pub fn profile(&self) -> Profile<'_> {
        Profile { text: &self.text, columns: &self.columns }
    }
}

/// A push to be.
pub struct Push<'a> {
    pub tenant: Tenant,
    pub service: &'a str,
    pub name: &'a str,
    pub temporality: Temporality,
    pub time: i64,
    pub time_is_stated: bool,
    pub body: Vec<u8>,
    pub id: Option<ProfileId>,
}

impl<'a> Push<'a> {
    pub fn new(service: &'a str, body: &str) -> Self {
        Self {
            tenant: Tenant::anonymous(),
            service,
            name: "process_cpu",
            temporality: Temporality::Delta,
            time: TIME,
            time_is_stated: true,
            body: body.as_bytes().to_vec(),
            id: None,
        }
    }

    pub fn at(mut self, time: i64) -> Self {
        self.time = time;
        self
    }

    pub fn cumulative(mut self) -> Self {
        self.temporality = Temporality::Cumulative;
        self
    }

    pub fn send(&self, store: &Store, sketch: &Sketch) -> Result<Accepted, PushError> {
        store.push(&NewProfile {
            tenant: &self.tenant,
            labels: LabelSet::from_pairs([("service_name", self.service)]).unwrap(),
            name: self.name,
            temporality: self.temporality,
            profile: sketch.profile(),
            digest_bytes: &self.body,
            time: Timestamp(self.time),
            time_is_stated: self.time_is_stated,
            id: self.id,
        })
    }
}

/// Pushes and waits until it is durable.
pub async fn keep(store: &Store, push: &Push<'_>, sketch: &Sketch) -> Result<Accepted, StoreError> {
    let accepted = push.send(store, sketch).unwrap();
    store.durable(accepted.ticket).await.map(|()| accepted)
}

/// All profiles of the anonymous tenant: stacks (`root;…;leaf`) with their values.
pub type Content = BTreeMap<ProfileId, BTreeMap<String, Vec<i64>>>;

/// Reads everything. No profile may come twice.
pub fn content(store: &Store) -> Content {
    content_of(store, &Tenant::anonymous(), TimeRange::ALL)
}

pub fn content_of(store: &Store, tenant: &Tenant, range: TimeRange) -> Content {
    let mut content = Content::new();
    let view = store.view(tenant, range);
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    for dataset in view.datasets {
        let symbols = dataset.symbols().unwrap();
        for position in 0..dataset.profile_count() {
            let meta = dataset.profile(position);
            if !range.contains(meta.time) {
                continue;
            }
            let width = dataset.series(meta.series).series_type.columns.len();
            let mut rows = Rows::default();
            dataset.rows(position, &mut rows).unwrap();
            let mut stacks = BTreeMap::new();
            for (row, &leaf) in rows.nodes.iter().enumerate() {
                let mut names = Vec::new();
                let mut at = leaf;
                while at != NONE {
                    let node = symbols.node(at);
                    let line = symbols.line(symbols.location(node.location).lines_start);
                    let name = symbols.string(symbols.function(line.function).name).into_owned();
                    names.push(String::from_utf8(name).unwrap());
                    at = node.parent;
                }
                names.reverse();
                let values = rows.values[row * width..][..width].to_vec();
                assert!(stacks.insert(names.join(";"), values).is_none(), "a stack comes twice");
            }
            let mut totals = vec![0; width];
            for values in stacks.values() {
                totals.iter_mut().zip(values).for_each(|(total, value)| *total += value);
            }
            assert_eq!(*meta.totals, totals, "totals of {}", meta.id);
            assert!(content.insert(meta.id, stacks).is_none(), "{} comes twice", meta.id);
        }
    }
    content
}

/// Sum of the first column over everything.
pub fn total(store: &Store) -> i64 {
    content(store).values().flat_map(|stacks| stacks.values()).map(|values| values[0]).sum()
}
