//! Second step: the profile type is resolved, and each chosen profile becomes a column to add up, with the number of
//! collection rounds that its values are divided by (D7).
//!
//! An instant type (in-use heap, goroutines) is averaged by default: for each series its sum over the range is divided by
//! its rounds, which are the distinct start times of its profiles there; series are then added up.

use std::{collections::HashMap, sync::Arc};

use block::{Dataset, Pick};
use profile::{LabelSet, ProfileType, SeriesType, Temporality, Timestamp};

use crate::{
    Aggregation, AnswerStats, QueryError, Selection,
    profile_types::{Columns, Resolved, resolve},
    progress::Progress,
    row_filter::{RowFilter, text},
    scan::{Part, candidates, types_of},
};

/// Everything that a merge needs to know.
pub(crate) struct Plan<'a> {
    /// Datasets with their picks.
    pub parts: Vec<PlanPart<'a>>,
    /// The type; `None` = nothing fits, the answer is empty.
    pub profile_type: Option<ProfileType>,
    /// Some value may be negative.
    pub has_negative: bool,
    /// Values are divided by rounds.
    pub averages: bool,
    /// What values are multiplied with before they are divided by rounds, so that sums of averages stay exact.
    pub denominator: i128,
    /// Filled as far as it is known.
    pub stats: AnswerStats,
}

/// The picks of one dataset.
pub(crate) struct PlanPart<'a> {
    /// The dataset.
    pub dataset: Arc<dyn Dataset>,
    /// What to add up.
    pub picks: Vec<Picked>,
    /// What [`Picked::filter`] points into.
    pub filters: Vec<RowFilter<'a>>,
}

/// A column of a profile that is added up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picked {
    /// Which.
    pub pick: Pick,
    /// Position in [`PlanPart::filters`]; `None` = all rows.
    pub filter: Option<u32>,
    /// Number of its series over all datasets.
    pub series: u32,
    /// Start of the profile.
    pub time: Timestamp,
    /// What its values are divided by.
    pub rounds: u32,
}

/// Largest common multiple of rounds that averages are exact for; beyond it each term is rounded to 2⁻⁴⁰ units.
const DENOMINATOR_MAX: i128 = 1 << 40;

/// Where what is picked will be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sums {
    /// All of it in one sum: that has to fit.
    One,
    /// In sums of their own, each of which the caller checks.
    Several,
}

/// Resolves the type and picks the columns.
pub(crate) fn plan<'a>(
    parts: Vec<Part<'a>>,
    selection: &Selection,
    sums: Sums,
) -> Result<Plan<'a>, QueryError> {
    let resolved = {
        let (types, series_types) = types_of(&parts);
        resolve(
            &selection.profile_type,
            selection.selector.profile_type(),
            &candidates(&types, &series_types),
            Columns::One,
            || default_sample_type(&parts),
        )?
    };
    match resolved {
        Resolved::Type(profile_type) => plan_type(parts, profile_type, selection.aggregation, sums),
        Resolved::Nothing(notice) => Ok(Plan {
            parts: Vec::new(),
            profile_type: None,
            has_negative: false,
            averages: false,
            denominator: 1,
            stats: AnswerStats {
                aggregation: "sum",
                rounds: 1,
                notices: vec![notice],
                ..AnswerStats::default()
            },
        }),
    }
}

/// Picks the columns of a type.
pub(crate) fn plan_type<'a>(
    parts: Vec<Part<'a>>,
    profile_type: ProfileType,
    aggregation: Aggregation,
    sums: Sums,
) -> Result<Plan<'a>, QueryError> {
    let mut numbers = SeriesNumbers::default();
    let mut planned: Vec<PlanPart<'a>> = Vec::new();
    let mut instant_series = profile_type.is_instant();
    for part in parts {
        let columns: Vec<Option<(u32, u32)>> = (0_u32..)
            .zip(&part.series)
            .map(|(position, matched)| {
                let matched = matched.as_ref()?;
                let series = part.dataset.series(position);
                let column = (0..series.series_type.columns.len()).find(|&column| {
                    matched.columns[column]
                        && series.series_type.profile_type(column).as_ref() == Some(&profile_type)
                })?;
                instant_series |= series.temporality == Temporality::Instant;
                Some((u32::try_from(column).ok()?, numbers.number(&series.labels, &series.series_type)))
            })
            .collect();
        let picks: Vec<Picked> = part
            .profiles
            .iter()
            .filter_map(|chosen| {
                let meta = part.dataset.profile(chosen.profile);
                let (column, series) = columns[meta.series as usize]?;
                let pick = Pick { profile: chosen.profile, column };
                Some(Picked { pick, filter: chosen.filter, series, time: meta.time, rounds: 1 })
            })
            .collect();
        if !picks.is_empty() {
            planned.push(PlanPart { dataset: part.dataset, picks, filters: part.filters });
        }
    }
    let mut plan = Plan {
        parts: planned,
        profile_type: Some(profile_type.clone()),
        has_negative: false,
        averages: instant_series && aggregation == Aggregation::Native,
        denominator: 1,
        stats: AnswerStats {
            rounds: 1,
            aggregation: "sum",
            profile_type: Some(profile_type),
            ..AnswerStats::default()
        },
    };
    if aggregation == Aggregation::Last {
        plan.keep_last();
    } else if plan.averages {
        plan.count_rounds();
    }
    plan.sum_up(sums)?;
    Ok(plan)
}

impl Plan<'_> {
    /// The unit of the values.
    pub fn unit(&self) -> String {
        self.profile_type.as_ref().map(|of| of.sample_unit.clone()).unwrap_or_default()
    }

    /// Whether sums must be wider than 64 bits: for averages, and where values of both signs meet.
    pub fn needs_wide(&self) -> bool {
        self.averages || self.has_negative
    }

    /// Keeps the last round of each series.
    fn keep_last(&mut self) {
        let mut last: HashMap<u32, Timestamp> = HashMap::new();
        for picked in self.parts.iter().flat_map(|part| &part.picks) {
            let latest = last.entry(picked.series).or_insert(picked.time);
            *latest = picked.time.max(*latest);
        }
        for part in &mut self.parts {
            part.picks.retain(|picked| last.get(&picked.series) == Some(&picked.time));
        }
        self.parts.retain(|part| !part.picks.is_empty());
        self.stats.aggregation = "last";
    }

    /// Counts each series' distinct start times.
    fn count_rounds(&mut self) {
        let mut times: Vec<(u32, Timestamp)> = self
            .parts
            .iter()
            .flat_map(|part| &part.picks)
            .map(|picked| (picked.series, picked.time))
            .collect();
        times.sort_unstable();
        times.dedup();
        let mut rounds: HashMap<u32, u32> = HashMap::new();
        for (series, _) in times {
            *rounds.entry(series).or_default() += 1;
        }
        for picked in self.parts.iter_mut().flat_map(|part| &mut part.picks) {
            picked.rounds = rounds.get(&picked.series).copied().unwrap_or(1);
        }
        self.denominator = common_denominator(rounds.values().copied());
        self.stats.rounds = u64::from(rounds.values().copied().max().unwrap_or(1));
        self.stats.aggregation = "avg";
    }

    /// Counts profiles and series once rows are read: a profile none of whose rows is taken has no part in the answer,
    /// though it is a round of its series (D7).
    pub fn count_taken(&mut self, progress: &mut Progress<'_>) {
        let mut taken = std::mem::take(&mut progress.taken);
        let whole = self.parts.iter().flat_map(|part| &part.picks).filter(|picked| picked.filter.is_none());
        for picked in whole {
            taken.add(picked.series);
        }
        self.stats.profiles = taken.profiles;
        self.stats.series = taken.series.len() as u64;
    }

    /// Sums what is picked, and refuses one sum that would not fit in 64 bits before anything is added (D5).
    fn sum_up(&mut self, sums: Sums) -> Result<(), QueryError> {
        let mut total = 0_i128;
        for part in &self.parts {
            for picked in &part.picks {
                let meta = part.dataset.profile(picked.pick.profile);
                self.has_negative |= meta.has_negative;
                total += i128::from(meta.totals[picked.pick.column as usize]);
            }
        }
        // Without negative values no sum is larger than the total. With them sums are wide and checked at the end.
        if sums == Sums::One && !self.has_negative && i64::try_from(total).is_err() {
            return Err(QueryError::Overflow);
        }
        Ok(())
    }
}

/// The least common multiple of all rounds, or a power of two that is fine enough.
pub(crate) fn common_denominator(rounds: impl Iterator<Item = u32>) -> i128 {
    let mut common = 1_i128;
    for one in rounds {
        let one = i128::from(one.max(1));
        common = common / greatest_common_divisor(common, one) * one;
        if common > DENOMINATOR_MAX {
            return DENOMINATOR_MAX;
        }
    }
    common
}

fn greatest_common_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Numbers series over all datasets: one series may be in a head and in several blocks.
#[derive(Default)]
pub(crate) struct SeriesNumbers {
    known: HashMap<SeriesType, HashMap<LabelSet, u32>>,
    count: u32,
}

impl SeriesNumbers {
    /// How many there are.
    pub fn count(&self) -> u64 {
        u64::from(self.count)
    }

    /// The number of a series.
    pub fn number(&mut self, labels: &LabelSet, series_type: &SeriesType) -> u32 {
        if !self.known.contains_key(series_type) {
            self.known.insert(series_type.clone(), HashMap::new());
        }
        let Some(of_type) = self.known.get_mut(series_type) else { return 0 };
        if let Some(&number) = of_type.get(labels) {
            return number;
        }
        let number = self.count;
        self.count += 1;
        of_type.insert(labels.clone(), number);
        number
    }
}

/// The default sample type that the first chosen profile names (C014), if any.
pub(crate) fn default_sample_type(parts: &[Part<'_>]) -> Result<Option<String>, QueryError> {
    let Some(part) = parts.first() else { return Ok(None) };
    let Some(chosen) = part.profiles.first() else { return Ok(None) };
    let symbols = part.dataset.symbols()?;
    let header = symbols.header(part.dataset.profile(chosen.profile).header);
    let name = text(&*symbols, header.default_sample_type);
    Ok((!name.is_empty()).then_some(name))
}
