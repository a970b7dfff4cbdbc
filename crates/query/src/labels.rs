//! Which labels, values, label sets and profile types a selection has.
//!
//! Series labels come from the series tables. Sample labels (D6) come from the rows of the chosen profiles as long as
//! those are few ([`limits::SAMPLE_LABEL_ROWS_MAX`]), else from the label sets of their datasets, with a notice.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use block::{LabelPair, Rows, Symbols};
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
        each_sample_label_set(&parts, &mut progress, &mut notices, |_, _, symbols, pairs| {
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
        each_sample_label_set(&parts, &mut progress, &mut notices, |_, labels, symbols, pairs| {
            if labels.is_none_or(|labels| labels.get(name).is_none()) {
                values.extend(label_values(symbols, pairs, name));
            }
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
    /// sample label too).
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn series(
        &self,
        selection: &Selection,
        label_names: &[String],
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
            each_sample_label_set(&parts, &mut progress, &mut notices, |_, labels, symbols, pairs| {
                let (Some(labels), false) = (labels, pairs.is_empty()) else { return true };
                if let Some(joined) = with_sample_labels(labels, symbols, pairs, &wanted) {
                    let size = label_set_bytes(&joined);
                    if from_samples.insert(joined) {
                        bytes = bytes.saturating_add(size);
                    }
                }
                is_cut = from_samples.len() >= limits::SAMPLE_LABEL_VALUES_MAX;
                is_large = bytes > limits::SAMPLE_LABEL_SET_BYTES_MAX;
                !is_cut && !is_large
            })?;
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

    fn of_series<'l>(&self, labels: &'l LabelSet) -> impl Iterator<Item = (&'l str, &'l str)> {
        labels.iter().filter(|(name, _)| self.names.contains(name))
    }
}

/// Label sets of series reduced to some names; a name that follows from the type gives one set per column.
fn reduced_series(
    parts: &[Part<'_>],
    wanted: &WantedLabels<'_>,
    sets: &mut HashSet<LabelSet>,
    progress: &mut Progress<'_>,
) -> Result<(), QueryError> {
    for part in parts {
        progress.check()?;
        for position in part.used_series() {
            let series = part.dataset.series(position);
            let Some(matched) = &part.series[position as usize] else { continue };
            for column in (0..matched.columns.len()).filter(|&column| matched.columns[column]) {
                let mut pairs: BTreeMap<&str, String> =
                    wanted.of_series(&series.labels).map(|(name, value)| (name, value.to_owned())).collect();
                if let Some(of_column) = series.series_type.profile_type(column) {
                    let values = wanted.of_types.iter().map(|(name, label)| (*name, label.value(&of_column)));
                    pairs.extend(values.filter(|(_, value)| !value.is_empty()));
                }
                sets.insert(LabelSet::from_pairs(pairs).unwrap_or_default());
                if wanted.of_types.is_empty() {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The reduced label set of a row; `None` where its sample labels add nothing. Of several values of one key the first is
/// taken.
fn with_sample_labels(
    labels: &LabelSet,
    symbols: &dyn Symbols,
    pairs: &[LabelPair],
    wanted: &WantedLabels<'_>,
) -> Option<LabelSet> {
    let mut joined: HashMap<String, String> = HashMap::new();
    for pair in pairs {
        let key = symbols.string(pair.key);
        let Ok(name) = std::str::from_utf8(&key) else { continue };
        if wanted.names.contains(name) && labels.get(name).is_none() && !joined.contains_key(name) {
            joined.insert(name.to_owned(), value_text(symbols, pair.value));
        }
    }
    if joined.is_empty() {
        return None;
    }
    joined.extend(wanted.of_series(labels).map(|(name, value)| (name.to_owned(), value.to_owned())));
    Some(LabelSet::from_pairs(joined).unwrap_or_default())
}

/// Memory of a label set, about.
fn label_set_bytes(set: &LabelSet) -> usize {
    set.iter().map(|(name, value)| name.len() + value.len() + 2 * size_of::<Box<str>>()).sum()
}

/// Visits the sample label sets of the chosen profiles with their part and the labels of their series (`None` where it
/// is not known which profiles have them). The visitor says whether it wants more.
pub(crate) fn each_sample_label_set(
    parts: &[Part<'_>],
    progress: &mut Progress<'_>,
    notices: &mut Notices,
    mut visit: impl FnMut(&Part<'_>, Option<&LabelSet>, &dyn Symbols, &[LabelPair]) -> bool,
) -> Result<(), QueryError> {
    let labelled = |part: &Part<'_>| -> Vec<u32> {
        let profiles = part.profiles.iter().map(|chosen| chosen.profile);
        profiles.filter(|&profile| part.dataset.profile(profile).has_labels).collect()
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
                    let labels = &part.dataset.series(series).labels;
                    let pairs = symbols.label_set(id);
                    unchecked += 1 + pairs.len();
                    if unchecked >= limits::SAMPLE_LABELS_PER_CHECK {
                        progress.check()?;
                        unchecked = 0;
                    }
                    if !visit(part, Some(labels), &*symbols, &pairs) {
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
