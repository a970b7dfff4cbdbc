//! First step of every query: which profiles of which datasets the selection's labels, range and ids choose.
//!
//! Reads series and profile tables only, no rows. Where a matcher names a label that a series does not have, the rows of
//! its profiles answer (D6): such profiles carry a [`RowFilter`].

use std::{collections::HashSet, sync::Arc};

use block::{Dataset, Series};
use profile::{ProfileId, ProfileType, SeriesType};

use crate::{
    Matcher, QueryError, Selection, SpanFilter,
    profile_types::Candidates,
    progress::Progress,
    row_filter::{RowFilter, SPAN_LABEL, TRACE_LABEL},
};

/// The profiles of one dataset that are chosen.
pub(crate) struct Part<'a> {
    /// The dataset.
    pub dataset: Arc<dyn Dataset>,
    /// By position in the dataset; `None` = not chosen.
    pub series: Vec<Option<SeriesMatch>>,
    /// Chosen profiles in the dataset's order, at least one.
    pub profiles: Vec<ChosenProfile>,
    /// What [`ChosenProfile::filter`] points into.
    pub filters: Vec<RowFilter<'a>>,
}

/// A chosen series.
#[derive(Clone, Debug)]
pub(crate) struct SeriesMatch {
    /// Whether the matchers on `__name__`, `__type__` and so on take each column; at least one is taken.
    pub columns: Vec<bool>,
    /// Positions of the matchers that rows answer.
    pub deferred: Vec<usize>,
}

/// A chosen profile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenProfile {
    /// Position in the dataset.
    pub profile: u32,
    /// Position in [`Part::filters`]; `None` = all rows.
    pub filter: Option<u32>,
}

/// Labels that are not stored but follow from the profile type, as Pyroscope names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeLabel {
    Name,
    ProfileType,
    SampleType,
    SampleUnit,
    PeriodType,
    PeriodUnit,
}

impl TypeLabel {
    /// All of them with their names, sorted by name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("__name__", Self::Name),
        ("__period_type__", Self::PeriodType),
        ("__period_unit__", Self::PeriodUnit),
        ("__profile_type__", Self::ProfileType),
        ("__type__", Self::SampleType),
        ("__unit__", Self::SampleUnit),
    ];

    /// The label of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, label)| *label)
    }

    /// Its value for a column.
    pub fn value(self, profile_type: &ProfileType) -> String {
        match self {
            Self::Name => profile_type.name.clone(),
            Self::ProfileType => profile_type.to_string(),
            Self::SampleType => profile_type.sample_type.clone(),
            Self::SampleUnit => profile_type.sample_unit.clone(),
            Self::PeriodType => profile_type.period_type.clone(),
            Self::PeriodUnit => profile_type.period_unit.clone(),
        }
    }
}

/// Chooses profiles.
pub(crate) fn scan<'a>(
    datasets: Vec<Arc<dyn Dataset>>,
    selection: &'a Selection,
    progress: &Progress<'_>,
) -> Result<Vec<Part<'a>>, QueryError> {
    let ids: HashSet<ProfileId> = selection.profile_ids.iter().copied().collect();
    let service = selection.selector.exact(profile::SERVICE_NAME);
    let mut parts = Vec::new();
    progress.check()?;
    for dataset in datasets {
        progress.check()?;
        if service.is_some_and(|service| service != dataset.service()) {
            continue;
        }
        if let Some(part) = scan_dataset(dataset, selection, &ids, progress)? {
            parts.push(part);
        }
    }
    Ok(parts)
}

fn scan_dataset<'a>(
    dataset: Arc<dyn Dataset>,
    selection: &'a Selection,
    ids: &HashSet<ProfileId>,
    progress: &Progress<'_>,
) -> Result<Option<Part<'a>>, QueryError> {
    let matchers = selection.selector.matchers();
    let series: Vec<Option<SeriesMatch>> = (0..dataset.series_count())
        .map(|position| match_series(dataset.series(position), matchers))
        .collect();
    if series.iter().all(Option::is_none) {
        return Ok(None);
    }
    let asks_spans = !matches!(selection.spans, SpanFilter::None);
    let mut filters: Vec<RowFilter<'a>> = Vec::new();
    let mut profiles = Vec::new();
    for profile in 0..dataset.profile_count() {
        let meta = dataset.profile(profile);
        let Some(matched) = &series[meta.series as usize] else { continue };
        if !selection.range.contains(meta.time) || !(ids.is_empty() || ids.contains(&meta.id)) {
            continue;
        }
        if matched.deferred.is_empty() && !asks_spans {
            profiles.push(ChosenProfile { profile, filter: None });
            continue;
        }
        let position = match filters.iter().position(|filter| filter.is_for(&matched.deferred)) {
            Some(position) => position,
            None => {
                let spans = &selection.spans;
                filters.push(RowFilter::new(&*dataset, matchers, &matched.deferred, spans, progress)?);
                filters.len() - 1
            }
        };
        let asks_links = asks_spans
            || matched.deferred.iter().any(|&at| matches!(matchers[at].name(), SPAN_LABEL | TRACE_LABEL));
        if filters[position].takes_all() {
            profiles.push(ChosenProfile { profile, filter: None });
        } else if meta.has_labels || asks_links {
            let filter = u32::try_from(position).ok();
            profiles.push(ChosenProfile { profile, filter });
        } else if filters[position].takes_plain_row() {
            profiles.push(ChosenProfile { profile, filter: None });
        }
    }
    Ok((!profiles.is_empty()).then_some(Part { dataset, series, profiles, filters }))
}

/// Tries one series; `None` = not chosen.
pub(crate) fn match_series(series: &Series, matchers: &[Matcher]) -> Option<SeriesMatch> {
    let mut columns = vec![true; series.series_type.columns.len()];
    let mut deferred = Vec::new();
    for (position, matcher) in matchers.iter().enumerate() {
        if let Some(label) = TypeLabel::of(matcher.name()) {
            for (column, taken) in columns.iter_mut().enumerate() {
                let of_column = series.series_type.profile_type(column);
                *taken &= of_column.is_some_and(|of_column| matcher.accepts(&label.value(&of_column)));
            }
            continue;
        }
        match series.labels.get(matcher.name()) {
            Some(value) if !matcher.accepts(value) => return None,
            Some(_) => {}
            None => deferred.push(position),
        }
    }
    columns.contains(&true).then_some(SeriesMatch { columns, deferred })
}

impl Part<'_> {
    /// The chosen series that have a chosen profile, by position.
    pub fn used_series(&self) -> Vec<u32> {
        let mut used: Vec<u32> =
            self.profiles.iter().map(|chosen| self.dataset.profile(chosen.profile).series).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Keeps only columns of these types, and drops what has none left.
    pub fn keep_types(&mut self, types: &[ProfileType]) {
        for (position, slot) in (0_u32..).zip(&mut self.series) {
            let Some(matched) = slot else { continue };
            let series_type = &self.dataset.series(position).series_type;
            for (column, taken) in matched.columns.iter_mut().enumerate() {
                *taken &=
                    series_type.profile_type(column).is_some_and(|of_column| types.contains(&of_column));
            }
            if !matched.columns.contains(&true) {
                *slot = None;
            }
        }
        let (dataset, series) = (&self.dataset, &self.series);
        self.profiles.retain(|chosen| series[dataset.profile(chosen.profile).series as usize].is_some());
    }

    /// Leaves out profiles none of whose rows is taken.
    pub fn verify_rows(&mut self, progress: &mut Progress<'_>) -> Result<(), QueryError> {
        let mut rows = block::Rows::default();
        let mut kept = Vec::with_capacity(self.profiles.len());
        for &chosen in &self.profiles {
            let taken = match chosen.filter {
                None => true,
                Some(filter) => {
                    let bytes = self.dataset.rows(chosen.profile, &mut rows)?;
                    progress.read(bytes, rows.nodes.len() as u64)?;
                    let filter = &self.filters[filter as usize];
                    (0..rows.nodes.len()).any(|row| filter.accepts(&rows, row))
                }
            };
            if taken {
                kept.push(chosen);
            }
        }
        self.profiles = kept;
        Ok(())
    }
}

/// The profile types and series types of what was chosen, sorted, each once.
pub(crate) fn types_of<'p>(parts: &'p [Part<'_>]) -> (Vec<ProfileType>, Vec<&'p SeriesType>) {
    let mut types = Vec::new();
    let mut series_types: Vec<&SeriesType> = Vec::new();
    for part in parts {
        let mut seen: Vec<(&SeriesType, &[bool])> = Vec::new();
        for position in part.used_series() {
            let series_type = &part.dataset.series(position).series_type;
            let Some(matched) = &part.series[position as usize] else { continue };
            // Thousands of series share a few types.
            if seen.contains(&(series_type, &matched.columns)) {
                continue;
            }
            seen.push((series_type, &matched.columns));
            let taken = matched.columns.iter().enumerate().filter(|(_, taken)| **taken);
            types.extend(taken.filter_map(|(column, _)| series_type.profile_type(column)));
            series_types.push(series_type);
        }
    }
    types.sort();
    types.dedup();
    series_types.sort();
    series_types.dedup();
    (types, series_types)
}

/// As [`Candidates`].
pub(crate) fn candidates<'p>(types: &'p [ProfileType], series_types: &'p [&'p SeriesType]) -> Candidates<'p> {
    Candidates { types, series_types }
}
