//! Values along time.
//!
//! Points come from the totals in the profile tables alone; rows are read only where sample labels, spans, a call site
//! or a group by a sample label choose among them (D6). Instant types are averaged within each step: per series the sum
//! of the step divided by its rounds there (D7).
//!
//! A group whose values do not fit in 64 bits is named and has no values (D5); groups beside it are none the worse.

use std::collections::BTreeMap;

use profile::{LabelSet, TimeRange, Timestamp};

use crate::{
    Aggregation, Answer, Control, Engine, QueryError, QueryResult, Selection,
    amount::divide_rounded,
    events::{Collected, Event, EventKind, check_group_by, group_labels},
    limits,
    plan::{Sums, common_denominator, plan},
};

/// A range cut into steps; point k covers `[from + k·step, from + (k+1)·step)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRange {
    /// The range.
    pub range: TimeRange,
    /// Width of a step, ns, at least 1 ms.
    pub step_nanos: i64,
}

/// Values along time for one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineSeries {
    /// The labels grouped by; a label that is not there has no entry.
    pub labels: LabelSet,
    /// (index of step, value), steps without profiles left out.
    pub points: Vec<(u32, i64)>,
    /// Sum over all points.
    pub total: i64,
}

/// Values along time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Unit of the values.
    pub unit: String,
    /// One per group, largest total first.
    pub series: Vec<TimelineSeries>,
    /// Labels of the groups that have no series because a value or the total does not fit in 64 bits, sorted.
    pub overflowing: Vec<LabelSet>,
}

impl Timeline {
    /// For answers that cannot name a group without values.
    ///
    /// # Errors
    /// Where a group does not fit in 64 bits.
    pub fn whole(self) -> Result<Self, QueryError> {
        if self.overflowing.is_empty() { Ok(self) } else { Err(QueryError::Overflow) }
    }
}

impl Engine {
    /// Values along time, grouped by labels.
    ///
    /// # Errors
    /// See [`QueryError`]; for a step of no length, for too many steps or groups, and, where nothing is grouped, for values
    /// that do not fit in 64 bits.
    pub fn timeline(
        &self,
        selection: &Selection,
        steps: StepRange,
        group_by: &[String],
        control: &Control,
    ) -> QueryResult<Timeline> {
        steps.check()?;
        check_group_by(group_by)?;
        let mut progress = self.progress(control);
        // A step has its own last round, so the plan must not choose one for the whole range.
        let chosen = Selection {
            range: steps.within(selection.range),
            aggregation: match selection.aggregation {
                Aggregation::Last => Aggregation::Native,
                other => other,
            },
            ..selection.clone()
        };
        let mut plan = plan(self.scan(&chosen, &progress)?, &chosen, Sums::Several)?;
        let mut collected = Collected::new(steps, group_by, EventKind::Profile);
        collected.add_plan(self, &plan, chosen.stacks(), &mut progress)?;
        plan.count_taken(&mut progress);
        let kind = match selection.aggregation {
            Aggregation::Last => "last",
            _ if plan.averages => "avg",
            _ => "sum",
        };
        plan.stats.aggregation = kind;
        let (series, overflowing) = collected.series(kind, &mut plan.stats.rounds);
        if !overflowing.is_empty() {
            if group_by.is_empty() {
                return Err(QueryError::Overflow);
            }
            let notice =
                format!("groups left out because their values do not fit in 64 bits: {}", overflowing.len());
            plan.stats.notices.push(notice);
        }
        let data = Timeline { unit: plan.unit(), series, overflowing };
        Ok(Answer { data, stats: progress.stats(plan.stats) })
    }
}

impl StepRange {
    /// What a point's value is divided by to get it per second of its step. Times become cores in use: 10 s of CPU time in
    /// a step of 10 s are 1. Values are divided once, by the step; neither period nor duration of a profile matter (C033).
    #[must_use]
    pub fn rate_divisor(&self, unit: &str) -> f64 {
        let per_unit = match unit {
            "nanoseconds" => 1e9,
            "microseconds" => 1e6,
            "milliseconds" => 1e3,
            _ => 1.0,
        };
        // Far below 2⁵³ for any step that can be drawn.
        per_unit * self.step_nanos as f64 / 1e9
    }

    /// The part of a range that has steps.
    pub(crate) fn within(&self, range: TimeRange) -> TimeRange {
        TimeRange { from: range.from.max(self.range.from), to: range.to.min(self.range.to) }
    }

    pub(crate) fn check(&self) -> Result<(), QueryError> {
        if self.step_nanos < 1_000_000 {
            return Err(QueryError::invalid("step", "is shorter than 1 ms"));
        }
        let length = i128::from(self.range.to.0) - i128::from(self.range.from.0);
        if length / i128::from(self.step_nanos) > i128::from(limits::STEPS_MAX) {
            let reason =
                format!("cuts the range into more than {} steps; choose a longer one", limits::STEPS_MAX);
            return Err(QueryError::invalid("step", reason));
        }
        Ok(())
    }

    pub(crate) fn step(&self, time: Timestamp) -> u32 {
        let offset = (i128::from(time.0) - i128::from(self.range.from.0)).max(0);
        u32::try_from(offset / i128::from(self.step_nanos)).unwrap_or(u32::MAX)
    }
}

impl Collected<'_> {
    /// Puts events together, first per series and step, then per group and step. Groups whose values do not fit come
    /// second, by their labels.
    fn series(mut self, kind: &str, rounds_max: &mut u64) -> (Vec<TimelineSeries>, Vec<LabelSet>) {
        self.events.sort_unstable_by_key(|event| (event.group, event.step, event.series, event.time));
        let mut points: Vec<BTreeMap<u32, i64>> = vec![BTreeMap::new(); self.groups.len()];
        for of_step in self.events.chunk_by(|a, b| (a.group, a.step) == (b.group, b.step)) {
            let per_series = of_step.chunk_by(|a, b| a.series == b.series);
            let terms: Vec<(i128, u32)> = per_series.map(|events| term(events, kind)).collect();
            let denominator = common_denominator(terms.iter().map(|(_, rounds)| *rounds));
            let sum: i128 = terms
                .iter()
                .map(|(sum, rounds)| divide_rounded(sum * denominator, i128::from(*rounds)))
                .sum();
            let most = terms.iter().map(|(_, rounds)| u64::from(*rounds)).max().unwrap_or(1);
            *rounds_max = if kind == "avg" { (*rounds_max).max(most) } else { 1 };
            let Some(first) = of_step.first() else { continue };
            match i64::try_from(divide_rounded(sum, denominator)) {
                Ok(value) => drop(points[first.group as usize].insert(first.step, value)),
                Err(_) => drop(self.overflowing.insert(first.group)),
            }
        }
        let mut series = Vec::with_capacity(points.len());
        let mut overflowing = Vec::new();
        for (group, number) in self.groups {
            let points: Vec<(u32, i64)> = std::mem::take(&mut points[number as usize]).into_iter().collect();
            let total = points.iter().try_fold(0_i64, |sum, (_, value)| sum.checked_add(*value));
            let labels = group_labels(self.group_by, group);
            match total {
                Some(total) if !self.overflowing.contains(&number) => {
                    if !points.is_empty() {
                        series.push(TimelineSeries { labels, points, total });
                    }
                }
                _ => overflowing.push(labels),
            }
        }
        series
            .sort_by(|left, right| right.total.cmp(&left.total).then_with(|| left.labels.cmp(&right.labels)));
        overflowing.sort();
        (series, overflowing)
    }
}

/// One series within one step: the sum and what it is divided by. Events are sorted by time.
fn term(events: &[Event], kind: &str) -> (i128, u32) {
    let sum = |events: &[Event]| events.iter().map(|event| i128::from(event.value)).sum::<i128>();
    match kind {
        "last" => {
            let last = events.last().map(|event| event.time);
            let first = events.partition_point(|event| Some(event.time) < last);
            (sum(&events[first..]), 1)
        }
        "avg" => {
            let rounds = events.chunk_by(|left, right| left.time == right.time).count();
            (sum(events), u32::try_from(rounds).unwrap_or(u32::MAX).max(1))
        }
        _ => (sum(events), 1),
    }
}
