//! Which labels, values, label sets and profile types a selection has.
//!
//! Series labels come from the series tables. Sample labels (D6) come from the rows of the chosen profiles as long as
//! those are few ([`limits::SAMPLE_LABEL_ROWS_MAX`]), else from the label sets of their datasets, with a notice.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use block::{LabelPair, Rows, Series, StoredLabelValue, Symbols};
use profile::{LabelSet, ProfileType};

use crate::{
    Answer, Control, Engine, QueryError, QueryResult, Selection,
    engine::listing_stats,
    limits,
    progress::Progress,
    row_filter::{label_values, text, value_text},
    scan::{Part, TypeLabel, types_of},
};

impl Engine {
    /// Profile types that the selection's labels and range have, sorted.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn profile_types(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<ProfileType>> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let (types, _) = types_of(&parts);
        Ok(Answer { data: types, stats: listing_stats(&parts, &progress) })
    }

    /// Names of series labels and sample labels (D6), sorted.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn label_names(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<String>> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let mut names: BTreeSet<String> = BTreeSet::new();
        for part in &parts {
            for position in part.used_series() {
                for (name, _) in part.dataset.series(position).labels.iter() {
                    if !names.contains(name) {
                        names.insert(name.to_owned());
                    }
                }
            }
        }
        let mut notices = Notices::default();
        let any = |_: &LabelSet| true;
        each_sample_label_set(&parts, any, &mut progress, &mut notices, |_, _, symbols, pairs| {
            names.extend(pairs.iter().map(|pair| text(symbols, pair.key)));
            true
        })?;
        names.remove("");
        Ok(answer(names.into_iter().collect(), &parts, &progress, notices))
    }

    /// Values of a label, sorted. `__profile_type__`, `__name__`, `__type__`, `__unit__`, `__period_type__` and
    /// `__period_unit__` answer from the types.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn label_values(
        &self,
        selection: &Selection,
        name: &str,
        control: &Control,
    ) -> QueryResult<Vec<String>> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let mut values: BTreeSet<String> = BTreeSet::new();
        let mut notices = Notices::default();
        if let Some(label) = TypeLabel::of(name) {
            let (types, _) = types_of(&parts);
            values.extend(types.iter().map(|of| label.value(of)));
            values.remove("");
            return Ok(answer(values.into_iter().collect(), &parts, &progress, notices));
        }
        for part in &parts {
            let series = part.used_series().into_iter();
            let found = series.filter_map(|position| part.dataset.series(position).labels.get(name));
            for value in found {
                if !values.contains(value) {
                    values.insert(value.to_owned());
                }
            }
        }
        let of_series = values.len();
        let mut is_cut = false;
        // On equal names the series label stands.
        let asked = |labels: &LabelSet| labels.get(name).is_none();
        each_sample_label_set(&parts, asked, &mut progress, &mut notices, |_, _, symbols, pairs| {
            values.extend(label_values(symbols, pairs, name));
            is_cut = values.len() > of_series + limits::SAMPLE_LABEL_VALUES_MAX;
            !is_cut
        })?;
        values.remove("");
        let mut values: Vec<String> = values.into_iter().collect();
        if is_cut {
            values.truncate(of_series + limits::SAMPLE_LABEL_VALUES_MAX);
            notices.say(format!(
                "label {name:?} has more than {} values in samples; the rest is left out",
                limits::SAMPLE_LABEL_VALUES_MAX
            ));
        }
        Ok(answer(values, &parts, &progress, notices))
    }

    /// Distinct label sets, reduced to `label_names` where any are given (the `__…__` names above may be among them; a
    /// sample label too, of those that `of_samples` says).
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn series(
        &self,
        selection: &Selection,
        label_names: &[String],
        of_samples: SampleLabels,
        control: &Control,
    ) -> QueryResult<Vec<LabelSet>> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let mut sets: HashSet<LabelSet> = HashSet::new();
        let mut notices = Notices::default();
        if label_names.is_empty() {
            for part in &parts {
                for position in part.used_series() {
                    let labels = &part.dataset.series(position).labels;
                    if !sets.contains(labels) {
                        sets.insert(labels.clone());
                    }
                }
            }
        } else {
            let wanted = WantedLabels::new(label_names);
            reduced_series(&parts, &wanted, &mut sets, &mut progress)?;
            let of_series = sets.len();
            let (mut is_cut, mut is_large) = (false, false);
            let mut bytes = 0_usize;
            let mut from_samples: HashSet<LabelSet> = HashSet::new();
            let asked = |labels: &LabelSet| wanted.may_be_of_samples(labels);
            each_sample_label_set(
                &parts,
                asked,
                &mut progress,
                &mut notices,
                |_, series, symbols, pairs| {
                    let Some(series) = series else { return true };
                    let found = sample_labels(&series.series.labels, symbols, pairs, &wanted, of_samples);
                    if found.is_empty() {
                        return true;
                    }
                    wanted.each_set(&series, &found, |joined| {
                        let size = label_set_bytes(&joined);
                        if from_samples.insert(joined) {
                            bytes = bytes.saturating_add(size);
                        }
                    });
                    is_cut = from_samples.len() >= limits::SAMPLE_LABEL_VALUES_MAX;
                    is_large = bytes > limits::SAMPLE_LABEL_SET_BYTES_MAX;
                    !is_cut && !is_large
                },
            )?;
            sets.extend(from_samples);
            if is_cut {
                notices.say(format!(
                    "more than {} label sets differ by sample labels only; the rest is left out",
                    limits::SAMPLE_LABEL_VALUES_MAX
                ));
            } else if is_large {
                notices.say(format!(
                    "label sets that differ by sample labels take more than {} bytes; the rest is left out",
                    limits::SAMPLE_LABEL_SET_BYTES_MAX
                ));
            }
            debug_assert!(sets.len() >= of_series);
        }
        let mut sets: Vec<LabelSet> = sets.into_iter().collect();
        sets.sort_unstable();
        Ok(answer(sets, &parts, &progress, notices))
    }
}

/// Which sample labels make label sets of their own in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleLabels {
    /// All, numbers as text with their unit.
    All,
    /// Texts only, as Pyroscope knows it: there a number at a sample is no label.
    Texts,
}

/// A series of the chosen profiles.
pub(crate) struct ChosenSeries<'p> {
    series: &'p Series,
    /// Which columns are chosen.
    columns: &'p [bool],
}

impl<'p> ChosenSeries<'p> {
    fn of(part: &'p Part<'_>, position: u32) -> Option<Self> {
        let matched = part.series.get(position as usize)?.as_ref()?;
        Some(Self { series: part.dataset.series(position), columns: &matched.columns })
    }
}

/// The labels that a listing is reduced to. Whoever asks for all names may name as many as a profile has strings, so the
/// labels that are there are looked up among the wanted ones, never the other way round.
struct WantedLabels<'n> {
    names: HashSet<&'n str>,
    of_types: Vec<(&'n str, TypeLabel)>,
}

impl<'n> WantedLabels<'n> {
    fn new(names: &'n [String]) -> Self {
        let names: HashSet<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let of_types = names.iter().filter_map(|&name| Some((name, TypeLabel::of(name)?))).collect();
        Self { names, of_types }
    }

    /// Whether samples of a series may have a wanted label: the series has not all of them, and its own stand.
    fn may_be_of_samples(&self, labels: &LabelSet) -> bool {
        self.names.iter().any(|name| TypeLabel::of(name).is_none() && labels.get(name).is_none())
    }

    /// Hands out the label set of each chosen column, together with labels of its samples; one for all columns where no
    /// name follows from the type.
    fn each_set(
        &self,
        series: &ChosenSeries<'_>,
        of_samples: &HashMap<String, String>,
        mut take: impl FnMut(LabelSet),
    ) {
        let of_series = series.series.labels.iter().filter(|(name, _)| self.names.contains(name));
        let mut pairs: BTreeMap<&str, Cow<'_, str>> =
            of_series.map(|(name, value)| (name, Cow::Borrowed(value))).collect();
        pairs.extend(of_samples.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str()))));
        let columns = (0..series.columns.len()).filter(|&column| series.columns[column]);
        for column in columns.take(if self.of_types.is_empty() { 1 } else { usize::MAX }) {
            let mut pairs = pairs.clone();
            if let Some(of_column) = series.series.series_type.profile_type(column) {
                let values = self.of_types.iter().map(|(name, label)| (*name, label.value(&of_column)));
                let values = values.filter(|(_, value)| !value.is_empty());
                pairs.extend(values.map(|(name, value)| (name, Cow::Owned(value))));
            }
            take(LabelSet::from_pairs(pairs).unwrap_or_default());
        }
    }
}

/// Label sets of series reduced to some names; a name that follows from the type gives one set per column.
fn reduced_series(
    parts: &[Part<'_>],
    wanted: &WantedLabels<'_>,
    sets: &mut HashSet<LabelSet>,
    progress: &mut Progress<'_>,
) -> Result<(), QueryError> {
    let of_samples = HashMap::new();
    for part in parts {
        progress.check()?;
        for position in part.used_series() {
            let Some(series) = ChosenSeries::of(part, position) else { continue };
            wanted.each_set(&series, &of_samples, |set| {
                sets.insert(set);
            });
        }
    }
    Ok(())
}

/// The wanted labels of a row that its series does not have. Of several values of one key the first is taken.
fn sample_labels(
    labels: &LabelSet,
    symbols: &dyn Symbols,
    pairs: &[LabelPair],
    wanted: &WantedLabels<'_>,
    of_samples: SampleLabels,
) -> HashMap<String, String> {
    let mut found: HashMap<String, String> = HashMap::new();
    for pair in pairs {
        if of_samples == SampleLabels::Texts && matches!(pair.value, StoredLabelValue::Number { .. }) {
            continue;
        }
        let key = symbols.string(pair.key);
        let Ok(name) = std::str::from_utf8(&key) else { continue };
        let is_open = || TypeLabel::of(name).is_none() && labels.get(name).is_none();
        if wanted.names.contains(name) && is_open() && !found.contains_key(name) {
            found.insert(name.to_owned(), value_text(symbols, pair.value));
        }
    }
    found
}

/// Memory of a label set, about.
fn label_set_bytes(set: &LabelSet) -> usize {
    set.iter().map(|(name, value)| name.len() + value.len() + 2 * size_of::<Box<str>>()).sum()
}

/// Visits the sample label sets of the chosen profiles whose series are asked for, with their part and that series (`None`
/// where it is not known which profiles have them). The visitor says whether it wants more.
pub(crate) fn each_sample_label_set(
    parts: &[Part<'_>],
    asked: impl Fn(&LabelSet) -> bool,
    progress: &mut Progress<'_>,
    notices: &mut Notices,
    mut visit: impl FnMut(&Part<'_>, Option<ChosenSeries<'_>>, &dyn Symbols, &[LabelPair]) -> bool,
) -> Result<(), QueryError> {
    let labelled = |part: &Part<'_>| -> Vec<u32> {
        let is_labelled = |profile: &u32| {
            let meta = part.dataset.profile(*profile);
            meta.has_labels && asked(&part.dataset.series(meta.series).labels)
        };
        part.profiles.iter().map(|chosen| chosen.profile).filter(is_labelled).collect()
    };
    let row_count = |part: &Part<'_>| -> u64 {
        labelled(part).iter().map(|&profile| u64::from(part.dataset.profile(profile).rows)).sum()
    };
    let reads_rows = parts.iter().map(row_count).sum::<u64>() <= limits::SAMPLE_LABEL_ROWS_MAX;
    let mut rows = Rows::default();
    // Sample labels handed out since the last look at the deadline: a profile may have one of very many, or very many.
    let mut unchecked = 0_usize;
    for part in parts {
        let profiles = labelled(part);
        if profiles.is_empty() {
            continue;
        }
        let symbols = part.dataset.symbols()?;
        if !reads_rows {
            notices.say("sample labels are those of whole storage files, beyond the range asked for".into());
            for id in 1..symbols.label_set_count() {
                let pairs = symbols.label_set(id);
                unchecked += 1 + pairs.len();
                if unchecked >= limits::SAMPLE_LABELS_PER_CHECK {
                    progress.check()?;
                    unchecked = 0;
                }
                if !visit(part, None, &*symbols, &pairs) {
                    return Ok(());
                }
            }
            continue;
        }
        let mut seen: HashSet<(u32, u32)> = HashSet::new();
        for profile in profiles {
            let series = part.dataset.profile(profile).series;
            let bytes = part.dataset.rows(profile, &mut rows)?;
            progress.read(bytes, rows.nodes.len() as u64)?;
            for &id in &rows.label_sets {
                if id != 0 && seen.insert((series, id)) {
                    let pairs = symbols.label_set(id);
                    unchecked += 1 + pairs.len();
                    if unchecked >= limits::SAMPLE_LABELS_PER_CHECK {
                        progress.check()?;
                        unchecked = 0;
                    }
                    if !visit(part, ChosenSeries::of(part, series), &*symbols, &pairs) {
                        return Ok(());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Sentences for people, each once.
#[derive(Default)]
pub(crate) struct Notices(pub Vec<String>);

impl Notices {
    pub fn say(&mut self, sentence: String) {
        if !self.0.contains(&sentence) {
            self.0.push(sentence);
        }
    }
}

fn answer<T>(data: T, parts: &[Part<'_>], progress: &Progress<'_>, notices: Notices) -> Answer<T> {
    let mut stats = listing_stats(parts, progress);
    stats.notices = notices.0;
    Answer { data, stats }
}
