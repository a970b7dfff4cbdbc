//! Which label makes how many series: what to look at when a fleet has more of them than it should (C084).
//!
//! For each label: its values, the series that have it, and the series that would be left without it. Values of sample
//! labels (D6) make no series; they are counted up to a limit, because each of them costs a column entry all the same.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{BuildHasher as _, Hash},
};

use foldhash::fast::FixedState;
use profile::LabelSet;

use crate::{
    Answer, Control, Engine, QueryResult, Selection,
    engine::listing_stats,
    labels::{Notices, each_sample_label_set},
    limits,
    row_filter::{text, value_text},
};

/// How much a selection's labels spread it out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cardinality {
    /// Distinct series: label set, profile name and columns.
    pub series: u64,
    /// By number of values, the largest first; equal ones by name.
    pub labels: Vec<LabelCardinality>,
}

/// One label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelCardinality {
    /// Its name.
    pub name: String,
    /// Distinct values, of series and samples together.
    pub values: u64,
    /// Series that have it; 0 for a label of samples only.
    pub series: u64,
    /// Distinct series that would be left if nothing had it.
    pub series_without: u64,
    /// Distinct values that stand in samples.
    pub sample_values: u64,
    /// The values that most series have, then those of samples; with the number of series, or of distinct label sets of
    /// samples.
    pub top: Vec<(String, u64)>,
}

/// What is known of a label while counting.
#[derive(Default)]
struct Counts {
    of_series: HashMap<String, u64>,
    of_samples: HashMap<String, u64>,
    series: u64,
}

impl Engine {
    /// Counts values and series of every label, with at most `top_max` values each.
    ///
    /// # Errors
    /// See [`crate::QueryError`].
    pub fn cardinality(
        &self,
        selection: &Selection,
        top_max: usize,
        control: &Control,
    ) -> QueryResult<Cardinality> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let mut series: HashMap<(&LabelSet, &profile::SeriesType), u64> = HashMap::new();
        for part in &parts {
            progress.check()?;
            for position in part.used_series() {
                let one = part.dataset.series(position);
                series.entry((&one.labels, &one.series_type)).or_insert_with(|| {
                    let of_labels = one.labels.iter().map(|pair| hash(&pair));
                    of_labels.fold(hash(&one.series_type), u64::wrapping_add)
                });
            }
        }
        let mut labels: BTreeMap<String, Counts> = BTreeMap::new();
        for (labels_of_one, _) in series.keys() {
            for (name, value) in labels_of_one.iter() {
                if !labels.contains_key(name) {
                    labels.insert(name.to_owned(), Counts::default());
                }
                let Some(counts) = labels.get_mut(name) else { continue };
                counts.series += 1;
                match counts.of_series.get_mut(value) {
                    Some(count) => *count += 1,
                    None => drop(counts.of_series.insert(value.to_owned(), 1)),
                }
            }
        }
        let mut notices = Notices::default();
        let mut left = limits::SAMPLE_LABEL_VALUES_MAX;
        each_sample_label_set(&parts, &mut progress, &mut notices, |_, symbols, pairs| {
            for pair in pairs {
                let counts = labels.entry(text(symbols, pair.key)).or_default();
                let value = value_text(symbols, pair.value);
                if !counts.of_samples.contains_key(&value) {
                    if left == 0 {
                        return false;
                    }
                    left -= 1;
                }
                *counts.of_samples.entry(value).or_insert(0) += 1;
            }
            true
        })?;
        if left == 0 {
            notices.say(format!(
                "samples have more than {} values of labels; the rest is not counted",
                limits::SAMPLE_LABEL_VALUES_MAX
            ));
        }
        labels.remove("");
        let mut counted = Vec::with_capacity(labels.len());
        for (name, counts) in labels {
            progress.check()?;
            let without: HashSet<u64> = series
                .iter()
                .map(|((labels, _), &sum)| match labels.get(&name) {
                    Some(value) => sum.wrapping_sub(hash(&(name.as_str(), value))),
                    None => sum,
                })
                .collect();
            counted.push(counts.finish(name, without.len() as u64, top_max));
        }
        counted
            .sort_by(|left, right| right.values.cmp(&left.values).then_with(|| left.name.cmp(&right.name)));
        let data = Cardinality { series: series.len() as u64, labels: counted };
        let mut stats = listing_stats(&parts, &progress);
        stats.notices = notices.0;
        Ok(Answer { data, stats })
    }
}

impl Counts {
    fn finish(self, name: String, series_without: u64, top_max: usize) -> LabelCardinality {
        let only_in_samples =
            self.of_samples.keys().filter(|value| !self.of_series.contains_key(*value)).count();
        let mut top: Vec<(bool, String, u64)> =
            self.of_series.iter().map(|(value, &count)| (false, value.clone(), count)).collect();
        let (values, sample_values) = (top.len() + only_in_samples, self.of_samples.len() as u64);
        top.extend(
            self.of_samples
                .into_iter()
                .filter(|(value, _)| !self.of_series.contains_key(value))
                .map(|(value, count)| (true, value, count)),
        );
        top.sort_by(|left, right| (left.0, right.2, &left.1).cmp(&(right.0, left.2, &right.1)));
        top.truncate(top_max);
        LabelCardinality {
            name,
            values: values as u64,
            series: self.series,
            series_without,
            sample_values,
            top: top.into_iter().map(|(_, value, count)| (value, count)).collect(),
        }
    }
}

/// Sums of these tell label sets apart in any order; two that fall together make one count one too small.
fn hash(part: &impl Hash) -> u64 {
    FixedState::default().hash_one(part)
}
