//! Values along time.
//!
//! Points come from the totals in the profile tables alone; rows are read only where sample labels, spans, a call site
//! or a group by a sample label choose among them (D6). Instant types are averaged within each step: per series the sum
//! of the step divided by its rounds there (D7).
//!
//! A group whose values do not fit in 64 bits is named and has no values (D5); groups beside it are none the worse.

use std::collections::{BTreeMap, HashMap, HashSet};

use block::{NONE, Rows};
use profile::{LabelSet, TimeRange, Timestamp};

use crate::{
    Aggregation, Answer, Control, Engine, NameMode, QueryError, QueryResult, Selection,
    amount::divide_rounded,
    display_cache::{DisplayKey, read},
    limits,
    plan::{Picked, Plan, PlanPart, Sums, common_denominator, plan},
    progress::Progress,
    row_filter::{SPAN_LABEL, TRACE_LABEL, label_values, link_text},
    scan::TypeLabel,
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

/// Values of the labels grouped by, in their order; `None` = not there.
type Group = Vec<Option<String>>;

/// One value of one series at one instant.
#[derive(Clone, Copy, Debug)]
struct Event {
    group: u32,
    step: u32,
    series: u32,
    time: Timestamp,
    value: i64,
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
        if group_by.len() > limits::GROUP_LABELS_MAX {
            let reason = format!("names {} labels (limit {})", group_by.len(), limits::GROUP_LABELS_MAX);
            return Err(QueryError::invalid("group_by", reason));
        }
        let mut progress = self.progress(control);
        // A step has its own last round, so the plan must not choose one for the whole range.
        let chosen = Selection {
            range: TimeRange {
                from: selection.range.from.max(steps.range.from),
                to: selection.range.to.min(steps.range.to),
            },
            aggregation: match selection.aggregation {
                Aggregation::Last => Aggregation::Native,
                other => other,
            },
            ..selection.clone()
        };
        let mut plan = plan(self.scan(&chosen, &progress)?, &chosen, Sums::Several)?;
        let mut collected = Collected {
            steps,
            group_by,
            groups: HashMap::new(),
            events: Vec::new(),
            overflowing: HashSet::new(),
        };
        for part in &plan.parts {
            collected.add_part(self, &plan, part, &chosen.call_site, &mut progress)?;
        }
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

    fn check(&self) -> Result<(), QueryError> {
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

    fn step(&self, time: Timestamp) -> u32 {
        let offset = time.0.saturating_sub(self.range.from.0).max(0);
        u32::try_from(offset / self.step_nanos).unwrap_or(u32::MAX)
    }
}

/// Events on their way to points.
struct Collected<'a> {
    steps: StepRange,
    group_by: &'a [String],
    groups: HashMap<Group, u32>,
    events: Vec<Event>,
    /// Groups with a value that does not fit in 64 bits.
    overflowing: HashSet<u32>,
}

impl Collected<'_> {
    fn group(&mut self, group: Group) -> Result<u32, QueryError> {
        if let Some(&known) = self.groups.get(&group) {
            return Ok(known);
        }
        if self.groups.len() >= limits::GROUPS_MAX {
            let reason = format!(
                "gives more than {} groups; choose other labels or a narrower selection",
                limits::GROUPS_MAX
            );
            return Err(QueryError::invalid("group_by", reason));
        }
        let number = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        self.groups.insert(group, number);
        Ok(number)
    }

    fn push(&mut self, picked: &Picked, group: u32, value: i64) {
        let step = self.steps.step(picked.time);
        self.events.push(Event { group, step, series: picked.series, time: picked.time, value });
    }

    fn add_part(
        &mut self,
        engine: &Engine,
        plan: &Plan<'_>,
        part: &PlanPart<'_>,
        call_site: &[String],
        progress: &mut Progress<'_>,
    ) -> Result<(), QueryError> {
        let below = if call_site.is_empty() { None } else { Some(below_call_site(engine, part, call_site)?) };
        let mut by_series: HashMap<u32, (Group, Option<u32>, bool)> = HashMap::new();
        let mut rows = Rows::default();
        for (number, picked) in part.picks.iter().enumerate() {
            if number % limits::PROFILES_PER_CHECK == 0 {
                progress.check()?;
            }
            let meta = part.dataset.profile(picked.pick.profile);
            let (group, number, asks_links) = by_series.entry(meta.series).or_insert_with(|| {
                let group = series_group(plan, &part.dataset.series(meta.series).labels, self.group_by);
                let asks_links = self.group_by.iter().zip(&group).any(|(name, value)| {
                    value.is_none() && matches!(name.as_str(), SPAN_LABEL | TRACE_LABEL)
                });
                (group, None, asks_links)
            });
            let rows_decide = group.contains(&None) && (meta.has_labels || *asks_links);
            if picked.filter.is_none() && below.is_none() && !rows_decide {
                let group = match *number {
                    Some(known) => known,
                    None => *number.insert(self.group(group.clone())?),
                };
                self.push(picked, group, meta.totals[picked.pick.column as usize]);
                continue;
            }
            let group = group.clone();
            let bytes = part.dataset.rows(picked.pick.profile, &mut rows)?;
            progress.read(bytes, rows.nodes.len() as u64)?;
            self.add_rows(part, picked, &rows, below.as_deref(), &group, progress)?;
        }
        Ok(())
    }

    /// Sums the taken rows of one profile by group.
    fn add_rows(
        &mut self,
        part: &PlanPart<'_>,
        picked: &Picked,
        rows: &Rows,
        below: Option<&[bool]>,
        group: &Group,
        progress: &mut Progress<'_>,
    ) -> Result<(), QueryError> {
        let filter = picked.filter.map(|filter| &part.filters[filter as usize]);
        let width = rows.values.len() / rows.nodes.len().max(1);
        let asks_links = self.group_by.iter().any(|name| matches!(name.as_str(), SPAN_LABEL | TRACE_LABEL));
        let symbols = part.dataset.symbols()?;
        let mut sums: HashMap<(u32, profile::Link), i128> = HashMap::new();
        let mut is_taken = false;
        for (row, &node) in rows.nodes.iter().enumerate() {
            if filter.is_some_and(|filter| !filter.accepts(rows, row)) {
                continue;
            }
            is_taken = true;
            if below.is_some_and(|below| node == NONE || !below[node as usize]) {
                continue;
            }
            let label_set = rows.label_sets.get(row).copied().unwrap_or(0);
            let link = if asks_links {
                rows.links.get(row).copied().unwrap_or_default()
            } else {
                profile::Link::default()
            };
            let value = rows.values[row * width + picked.pick.column as usize];
            *sums.entry((label_set, link)).or_default() += i128::from(value);
        }
        if is_taken && filter.is_some() {
            progress.taken.add(picked.series);
        }
        let mut unchecked = 0_usize;
        for ((label_set, link), sum) in sums {
            let pairs = symbols.label_set(label_set);
            unchecked += (1 + pairs.len()) * self.group_by.len().max(1);
            if unchecked >= limits::SAMPLE_LABELS_PER_CHECK {
                progress.check()?;
                unchecked = 0;
            }
            let mut own = group.clone();
            for (name, value) in self.group_by.iter().zip(&mut own).filter(|(_, value)| value.is_none()) {
                *value = match name.as_str() {
                    SPAN_LABEL | TRACE_LABEL => Some(link_text(name, link)),
                    // Of several values of one key the first names the group.
                    _ => label_values(&*symbols, &pairs, name).into_iter().next(),
                }
                .filter(|value| !value.is_empty());
            }
            let number = self.group(own)?;
            match i64::try_from(sum) {
                Ok(value) => self.push(picked, number, value),
                Err(_) => drop(self.overflowing.insert(number)),
            }
        }
        Ok(())
    }

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
            let pairs =
                self.group_by.iter().zip(group).filter_map(|(name, value)| Some((name.as_str(), value?)));
            let labels = LabelSet::from_pairs(pairs).unwrap_or_default();
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

/// What a series itself says of the labels grouped by.
fn series_group(plan: &Plan<'_>, labels: &LabelSet, group_by: &[String]) -> Group {
    let value = |name: &String| match TypeLabel::of(name) {
        Some(label) => plan.profile_type.as_ref().map(|of| label.value(of)),
        None => labels.get(name).map(ToOwned::to_owned),
    };
    group_by.iter().map(value).collect()
}

/// For each node whether its stack begins with the call site, by display names.
pub(crate) fn below_call_site(
    engine: &Engine,
    part: &PlanPart<'_>,
    call_site: &[String],
) -> Result<Vec<bool>, QueryError> {
    let symbols = part.dataset.symbols()?;
    let key = DisplayKey {
        dataset: part.dataset.id(),
        mode: NameMode::Display,
        pruning: None,
        rules: names::RULES_VERSION,
    };
    let (shared, _) = engine.trees.tree(&key, &*symbols);
    let tree = read(&shared);
    let inside = crate::merge::at_call_site(tree.paths(), tree.names(), call_site);
    Ok(tree.node_display().iter().map(|&display| inside[display as usize]).collect())
}
