//! Sums along time with the number of profiles behind each point and, on request, the profile or span that says most
//! about it (an exemplar). What Pyroscope's clients draw; the native time line is in `timeline`.

use std::collections::HashMap;

use block::Dataset;
use profile::{LabelSet, Link, ProfileId, Timestamp};

use crate::{
    Answer, Control, Engine, QueryError, QueryResult, Selection, StepRange,
    events::{Collected, Event, EventKind, Group, check_group_by, group_labels},
    limits,
    plan::Plan,
};

/// What exemplars are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exemplars {
    /// None are asked for.
    #[default]
    None,
    /// Profiles.
    Profiles,
    /// Spans within profiles.
    Spans,
}

/// How values are put together.
#[derive(Clone, Copy, Debug)]
pub struct PointsQuestion<'a> {
    /// The steps.
    pub steps: StepRange,
    /// Labels to group by.
    pub group_by: &'a [String],
    /// Which exemplars points carry.
    pub exemplars: Exemplars,
    /// Most series in the answer, the largest total first.
    pub series_max: usize,
}

/// A profile or span that stands behind a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exemplar {
    /// Start of the profile.
    pub time: Timestamp,
    /// The profile.
    pub profile: ProfileId,
    /// Span and trace; zeros where the exemplar is a whole profile.
    pub link: Link,
    /// What it adds to the value.
    pub value: i64,
    /// Labels of its series beside those grouped by.
    pub labels: LabelSet,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesPoint {
    /// Index of the step.
    pub step: u32,
    /// Sum over the step.
    pub value: i64,
    /// Profiles behind it, at least one.
    pub profiles: u64,
    /// The largest one.
    pub exemplar: Option<Exemplar>,
}

/// Points of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointSeries {
    /// The labels grouped by; a label that is not there has no entry.
    pub labels: LabelSet,
    /// Points in order, steps without profiles left out.
    pub points: Vec<SeriesPoint>,
    /// Sum over all points.
    pub total: i64,
}

impl Engine {
    /// Sums along time, grouped by labels.
    ///
    /// # Errors
    /// See [`QueryError`]; for a step of no length, and for too many steps, groups or exemplars.
    pub fn points(
        &self,
        selection: &Selection,
        question: &PointsQuestion<'_>,
        control: &Control,
    ) -> QueryResult<Vec<PointSeries>> {
        let PointsQuestion { steps, group_by, .. } = *question;
        steps.check()?;
        check_group_by(group_by)?;
        let mut progress = self.progress(control);
        let chosen = Selection { range: steps.within(selection.range), ..selection.clone() };
        let mut plan = self.plan(&chosen, &progress)?;
        let mut collected = Collected::new(steps, group_by, EventKind::Profile);
        collected.add_plan(self, &plan, chosen.stacks(), &mut progress)?;
        plan.count_taken(&mut progress);
        collected.check_overflow()?;
        let mut series = summed(&mut collected)?;
        series.truncate(question.series_max);
        match question.exemplars {
            Exemplars::None => {}
            Exemplars::Profiles => add_exemplars(&mut series, &collected, &plan)?,
            Exemplars::Spans => {
                let mut spans = Collected::new(steps, group_by, EventKind::Span);
                // The same group has the same number in both.
                spans.groups = collected.groups;
                spans.add_plan(self, &plan, chosen.stacks(), &mut progress)?;
                add_exemplars(&mut series, &spans, &plan)?;
            }
        }
        let data = series.into_iter().map(|numbered| numbered.series).collect();
        Ok(Answer { data, stats: progress.stats(plan.stats) })
    }
}

/// A series and the number of its group.
struct Numbered {
    group: u32,
    series: PointSeries,
}

/// Sums per group and step, the largest group first. Groups that only spans have may be without events.
fn summed(collected: &mut Collected<'_>) -> Result<Vec<Numbered>, QueryError> {
    collected.events.sort_unstable_by_key(|event| (event.group, event.step));
    let names = groups_by_number(&collected.groups);
    let mut all: Vec<Numbered> = Vec::new();
    for of_group in collected.events.chunk_by(|left, right| left.group == right.group) {
        let mut points = Vec::new();
        let mut total = 0_i64;
        for of_step in of_group.chunk_by(|left, right| left.step == right.step) {
            let sum: i128 = of_step.iter().map(|event| i128::from(event.value)).sum();
            let value = i64::try_from(sum).map_err(|_| QueryError::Overflow)?;
            total = total.checked_add(value).ok_or(QueryError::Overflow)?;
            let step = of_step[0].step;
            points.push(SeriesPoint { step, value, profiles: of_step.len() as u64, exemplar: None });
        }
        let group = of_group[0].group;
        let labels = group_labels(collected.group_by, names[group as usize].clone());
        all.push(Numbered { group, series: PointSeries { labels, points, total } });
    }
    all.sort_by(|left, right| {
        let (left, right) = (&left.series, &right.series);
        right.total.cmp(&left.total).then_with(|| left.labels.cmp(&right.labels))
    });
    Ok(all)
}

/// Each group at the position that is its number.
pub(crate) fn groups_by_number(groups: &HashMap<Group, u32>) -> Vec<Group> {
    let mut names = vec![Group::new(); groups.len()];
    for (group, &number) in groups {
        names[number as usize].clone_from(group);
    }
    names
}

/// Gives each point the largest event of its step.
fn add_exemplars(series: &mut [Numbered], events: &Collected<'_>, plan: &Plan<'_>) -> Result<(), QueryError> {
    let picks = Picks::new(plan);
    let mut best: HashMap<(u32, u32), &Event> = HashMap::new();
    for event in &events.events {
        let known = best.entry((event.group, event.step)).or_insert(event);
        if picks.says_more(event, known, &events.links) {
            *known = event;
        }
    }
    let count = series.iter().map(|numbered| numbered.series.points.len()).sum();
    check_exemplars(count)?;
    for numbered in series {
        for point in &mut numbered.series.points {
            let found = best.get(&(numbered.group, point.step));
            point.exemplar = found.map(|event| picks.exemplar(event, events));
        }
    }
    Ok(())
}

/// Refuses answers with more exemplars than anybody looks at.
pub(crate) fn check_exemplars(count: usize) -> Result<(), QueryError> {
    if count > limits::EXEMPLARS_MAX {
        let reason = format!(
            "gives {count} points with an exemplar each (at most {} are allowed); choose a longer one",
            limits::EXEMPLARS_MAX
        );
        return Err(QueryError::invalid("step", reason));
    }
    Ok(())
}

/// Finds the profile of an event.
pub(crate) struct Picks<'p> {
    /// Number of picks before each part.
    starts: Vec<usize>,
    plan: &'p Plan<'p>,
}

impl<'p> Picks<'p> {
    /// Counts the picks of each part.
    pub fn new(plan: &'p Plan<'_>) -> Self {
        let mut next = 0;
        let starts = plan.parts.iter().map(|part| {
            let start = next;
            next += part.picks.len();
            start
        });
        Self { starts: starts.collect(), plan }
    }

    fn of(&self, event: &Event) -> (&'p dyn Dataset, u32) {
        let pick = event.pick as usize;
        let number = self.starts.partition_point(|&start| start <= pick) - 1;
        let part = &self.plan.parts[number];
        (&*part.dataset, part.picks[pick - self.starts[number]].pick.profile)
    }

    fn id(&self, event: &Event) -> ProfileId {
        let (dataset, profile) = self.of(event);
        dataset.profile(profile).id
    }

    /// Whether an event is a better exemplar: the larger one, then the earlier one, then the smaller id.
    pub fn says_more(&self, event: &Event, than: &Event, links: &[Link]) -> bool {
        if event.value != than.value {
            return event.value > than.value;
        }
        if event.time != than.time {
            return event.time < than.time;
        }
        let link = |event: &Event| links.get(event.link as usize).copied().unwrap_or_default();
        let key = |event: &Event| (self.id(event), link(event).span_id, link(event).trace_id);
        key(event) < key(than)
    }

    /// An event as exemplar.
    pub fn exemplar(&self, event: &Event, events: &Collected<'_>) -> Exemplar {
        let (dataset, profile) = self.of(event);
        let meta = dataset.profile(profile);
        let labels = &dataset.series(meta.series).labels;
        let others = labels.iter().filter(|(name, _)| !events.group_by.iter().any(|known| known == name));
        Exemplar {
            time: meta.time,
            profile: meta.id,
            link: events.links.get(event.link as usize).copied().unwrap_or_default(),
            value: event.value,
            labels: LabelSet::from_pairs(others).unwrap_or_default(),
        }
    }
}
