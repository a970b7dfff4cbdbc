//! The judge of decoders and trees: reads a body with `prost` and adds up with maps, slow and obvious.
//!
//! A sample counts as our decoder counts it: one value per sample type, none negative, not all zero.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use profile::Profile;

use crate::proto::{self, Message};

/// A frame: name (or address where there is none) and file.
pub type OracleFrame = (String, String);

/// Own value of every call path, root first. Paths without a value are not in it.
pub type OracleTree = BTreeMap<Vec<OracleFrame>, i64>;

/// Flat and cumulative value by function name.
pub type OracleTable = BTreeMap<String, (i64, i64)>;

/// Stacks (root first) with their values, one per column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracle {
    /// Names and units of the columns.
    pub sample_types: Vec<(String, String)>,
    /// All samples that count.
    pub samples: Vec<(Vec<OracleFrame>, Vec<i64>)>,
}

impl Oracle {
    /// Reads an inflated pprof body; `None` where `prost` refuses it or an id or index points nowhere.
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Self> {
        let profile = proto::Profile::decode(body).ok()?;
        let text = |index: i64| -> Option<String> {
            if index == 0 {
                return Some(String::new());
            }
            let bytes = profile.string_table.get(usize::try_from(index).ok()?)?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        let mut functions: HashMap<u64, &proto::Function> =
            profile.function.iter().map(|function| (function.id, function)).collect();
        // Old .NET profilers give functions no ids, and lines name them by those of their locations, one for one.
        let has_no_ids = profile.function.iter().all(|function| function.id == 0);
        if has_no_ids && profile.function.len() == profile.location.len() {
            if profile.function.len() > 1 {
                functions.clear();
            }
            functions.extend(profile.location.iter().map(|location| location.id).zip(&profile.function));
        }
        let locations: HashMap<u64, &proto::Location> =
            profile.location.iter().map(|location| (location.id, location)).collect();
        let sample_types = profile
            .sample_type
            .iter()
            .map(|value_type| Some((text(value_type.r#type)?, text(value_type.unit)?)))
            .collect::<Option<Vec<_>>>()?;
        let mut samples = Vec::new();
        for sample in &profile.sample {
            let counts = sample.value.len() == sample_types.len()
                && sample.value.iter().all(|&value| value >= 0)
                && sample.value.iter().any(|&value| value != 0);
            if !counts {
                continue;
            }
            let mut path = Vec::new();
            for id in sample.location_id.iter().rev() {
                let location = locations.get(id)?;
                if location.line.is_empty() {
                    path.push((format!("0x{:x}", location.address), String::new()));
                }
                for line in location.line.iter().rev() {
                    let function = functions.get(&line.function_id)?;
                    path.push((text(function.name)?, text(function.filename)?));
                }
            }
            samples.push((path, sample.value.clone()));
        }
        Some(Self { sample_types, samples })
    }

    /// The same view of a decoded profile.
    #[must_use]
    pub fn of(profile: &Profile<'_>) -> Self {
        let columns = profile.columns;
        let text = |index| profile.text_of(index).into_owned();
        let samples = profile
            .samples()
            .map(|sample| {
                let mut path = Vec::new();
                for location in sample.stack.iter().rev() {
                    let location = &columns.locations[location.position()];
                    let lines = columns.location_lines(location);
                    if lines.is_empty() {
                        path.push((format!("0x{:x}", location.address), String::new()));
                    }
                    for line in lines.iter().rev() {
                        let function = &columns.functions[line.function.position()];
                        path.push((text(function.name), text(function.file)));
                    }
                }
                (path, sample.values.to_vec())
            })
            .collect();
        let sample_types = columns
            .sample_types
            .iter()
            .map(|value_type| (text(value_type.kind), text(value_type.unit)))
            .collect();
        Self { sample_types, samples }
    }

    /// Adds the samples of another profile with the same columns.
    pub fn merge(&mut self, other: &Self) {
        self.samples.extend(other.samples.iter().cloned());
    }

    /// Sum of a column.
    #[must_use]
    pub fn total(&self, column: usize) -> i64 {
        self.samples.iter().map(|(_, values)| values[column]).sum()
    }

    /// The call tree of a column.
    #[must_use]
    pub fn tree(&self, column: usize) -> OracleTree {
        let mut tree = OracleTree::new();
        for (path, values) in &self.samples {
            if values[column] != 0 {
                *tree.entry(path.clone()).or_default() += values[column];
            }
        }
        tree
    }

    /// Flat and cumulative values of a column by name; a name counts once per stack.
    #[must_use]
    pub fn table(&self, column: usize) -> OracleTable {
        let mut table = OracleTable::new();
        for (path, values) in &self.samples {
            let value = values[column];
            if value == 0 {
                continue;
            }
            let names: BTreeSet<&str> = path.iter().map(|(name, _)| name.as_str()).collect();
            for name in names {
                table.entry(name.to_owned()).or_default().1 += value;
            }
            if let Some((name, _)) = path.last() {
                table.entry(name.clone()).or_default().0 += value;
            }
        }
        table
    }
}
