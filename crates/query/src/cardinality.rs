//! Which label makes how many series: what to look at when a fleet has more of them than it should (C084).
//!
//! For each label: its values, the series that have it, the series that would be left without it, and the services that
//! bring most of its values. Values of sample labels (D6) make no series; they are counted up to a limit, because each of
//! them costs a column entry all the same. Only so many labels are reported, those with most values: the series that
//! would be left are counted for each of these anew, which for as many names as series would never end.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    hash::{BuildHasher as _, Hash},
};

use foldhash::fast::FixedState;
use profile::{LabelSet, SERVICE_NAME};

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
    /// By number of values, the largest first; equal ones by name. At most [`limits::CARDINALITY_LABELS_MAX`].
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
    /// The services that have most of its values, with the number of these; empty for the label that names the service.
    pub services: Vec<(String, u64)>,
}

/// What is known of a label while counting.
#[derive(Default)]
struct Counts {
    of_series: HashMap<String, u64>,
    of_samples: HashMap<String, u64>,
    /// Values by service.
    of_services: HashMap<String, u64>,
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
        let mut owners = Owners::default();
        for (labels_of_one, _) in series.keys() {
            let service = labels_of_one.service_name();
            for (name, value) in labels_of_one.iter() {
                if !labels.contains_key(name) {
                    labels.insert(name.to_owned(), Counts::default());
                }
                let Some(counts) = labels.get_mut(name) else { continue };
                counts.series += 1;
                owners.note(counts, service, name, value);
                match counts.of_series.get_mut(value) {
                    Some(count) => *count += 1,
                    None => drop(counts.of_series.insert(value.to_owned(), 1)),
                }
            }
        }
        let mut notices = Notices::default();
        let mut left = limits::SAMPLE_LABEL_VALUES_MAX;
        let any = |_: &LabelSet| true;
        each_sample_label_set(&parts, any, &mut progress, &mut notices, |part, _, symbols, pairs| {
            for pair in pairs {
                let name = text(symbols, pair.key);
                let counts = labels.entry(name.clone()).or_default();
                let value = value_text(symbols, pair.value);
                if !counts.of_samples.contains_key(&value) {
                    if left == 0 {
                        return false;
                    }
                    left -= 1;
                }
                owners.note(counts, part.dataset.service(), &name, &value);
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
        let mut labels: Vec<(String, Counts)> = labels.into_iter().collect();
        // Stable, so that equal ones stay in the order of their names.
        labels.sort_by_cached_key(|(_, counts)| Reverse(counts.values()));
        if labels.len() > limits::CARDINALITY_LABELS_MAX {
            notices.say(format!(
                "there are {} labels; the report has the {} with most values",
                labels.len(),
                limits::CARDINALITY_LABELS_MAX
            ));
            labels.truncate(limits::CARDINALITY_LABELS_MAX);
        }
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
        let data = Cardinality { series: series.len() as u64, labels: counted };
        let mut stats = listing_stats(&parts, &progress);
        stats.notices = notices.0;
        Ok(Answer { data, stats })
    }
}

impl Counts {
    /// Values that stand in samples alone.
    fn only_in_samples(&self) -> usize {
        self.of_samples.keys().filter(|value| !self.of_series.contains_key(*value)).count()
    }

    fn values(&self) -> usize {
        self.of_series.len() + self.only_in_samples()
    }

    fn finish(self, name: String, series_without: u64, top_max: usize) -> LabelCardinality {
        let (values, sample_values) = (self.values() as u64, self.of_samples.len() as u64);
        let mut top: Vec<(bool, String, u64)> =
            self.of_series.iter().map(|(value, &count)| (false, value.clone(), count)).collect();
        top.extend(
            self.of_samples
                .into_iter()
                .filter(|(value, _)| !self.of_series.contains_key(value))
                .map(|(value, count)| (true, value, count)),
        );
        top.sort_by(|left, right| (left.0, right.2, &left.1).cmp(&(right.0, left.2, &right.1)));
        top.truncate(top_max);
        let mut services: Vec<(String, u64)> = self.of_services.into_iter().collect();
        services.sort_by(|left, right| (right.1, &left.0).cmp(&(left.1, &right.0)));
        services.truncate(top_max);
        LabelCardinality {
            name,
            values,
            series: self.series,
            series_without,
            sample_values,
            top: top.into_iter().map(|(_, value, count)| (value, count)).collect(),
            services,
        }
    }
}

/// Which service has which value of which label, each told once.
#[derive(Default)]
struct Owners {
    seen: HashSet<u64>,
}

impl Owners {
    fn note(&mut self, counts: &mut Counts, service: &str, name: &str, value: &str) {
        if name == SERVICE_NAME || !self.seen.insert(hash(&(service, name, value))) {
            return;
        }
        match counts.of_services.get_mut(service) {
            Some(count) => *count += 1,
            None => drop(counts.of_services.insert(service.to_owned(), 1)),
        }
    }
}

/// Sums of these tell label sets apart in any order; two hashes that fall together make a count one too small.
fn hash(part: &impl Hash) -> u64 {
    FixedState::default().hash_one(part)
}
