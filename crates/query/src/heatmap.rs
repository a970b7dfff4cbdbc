//! Heat maps: how often which values occur along time. Values of all groups share one scale, from the smallest to the
//! largest, cut into [`limits::HEATMAP_BANDS`] bands of equal height; only cells that hold something are in an answer.

use std::collections::BTreeMap;

use profile::LabelSet;

use crate::{
    Answer, Control, Engine, Exemplar, Exemplars, PointsQuestion, QueryError, QueryResult, Selection,
    events::{Collected, Event, EventKind, check_group_by, group_labels},
    limits,
    points::{Picks, check_exemplars, groups_by_number},
};

/// One band within one step.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatmapCell {
    /// Lower end of the band.
    pub low: f64,
    /// Number of values in it, at least one.
    pub count: u32,
    /// The largest of them, where exemplars are asked for.
    pub exemplar: Option<Exemplar>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatmapSlot {
    /// Index of the step.
    pub step: u32,
    /// Cells from the lowest band up.
    pub cells: Vec<HeatmapCell>,
}

/// One group.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatmapSeries {
    /// The labels grouped by; a label that is not there has no entry.
    pub labels: LabelSet,
    /// Steps that hold something, in order.
    pub slots: Vec<HeatmapSlot>,
    /// Sum of the values.
    pub total: i64,
}

impl Engine {
    /// How often which values occur along time. `of_spans` says whether values are those of spans or of whole profiles;
    /// of the question's exemplars it only counts whether there are any.
    ///
    /// # Errors
    /// See [`QueryError`]; for a step of no length, and for too many steps, groups or exemplars.
    pub fn heatmap(
        &self,
        selection: &Selection,
        question: &PointsQuestion<'_>,
        of_spans: bool,
        control: &Control,
    ) -> QueryResult<Vec<HeatmapSeries>> {
        let PointsQuestion { steps, group_by, .. } = *question;
        steps.check()?;
        check_group_by(group_by)?;
        let mut progress = self.progress(control);
        let chosen = Selection { range: steps.within(selection.range), ..selection.clone() };
        let mut plan = self.plan(&chosen, &progress)?;
        let kind = if of_spans { EventKind::Span } else { EventKind::Profile };
        let mut collected = Collected::new(steps, group_by, kind);
        collected.add_plan(self, &plan, chosen.stacks(), &mut progress)?;
        plan.count_taken(&mut progress);
        collected.check_overflow()?;
        collected.events.sort_unstable_by_key(|event| (event.group, event.step));
        let largest_first = largest_first(&collected)?;
        let names = groups_by_number(&collected.groups);
        let bands = Bands::of(&collected.events);
        let picks = Picks::new(&plan);
        let mut cell_count = 0;
        let mut data = Vec::new();
        for (total, of_group) in largest_first.into_iter().take(question.series_max) {
            let labels = group_labels(group_by, names[of_group[0].group as usize].clone());
            let mut slots = Vec::new();
            for of_step in of_group.chunk_by(|left, right| left.step == right.step) {
                let mut cells: BTreeMap<u32, (u32, &Event)> = BTreeMap::new();
                for event in of_step {
                    let (count, best) = cells.entry(bands.band(event.value)).or_insert((0, event));
                    *count = count.saturating_add(1);
                    if picks.says_more(event, best, &collected.links) {
                        *best = event;
                    }
                }
                cell_count += cells.len();
                let wants_exemplars = question.exemplars != Exemplars::None;
                if wants_exemplars {
                    check_exemplars(cell_count)?;
                }
                let cell = |(band, (count, best)): (u32, (u32, &Event))| HeatmapCell {
                    low: bands.low(band),
                    count,
                    exemplar: wants_exemplars.then(|| picks.exemplar(best, &collected)),
                };
                slots.push(HeatmapSlot {
                    step: of_step[0].step,
                    cells: cells.into_iter().map(cell).collect(),
                });
            }
            data.push(HeatmapSeries { labels, slots, total });
        }
        Ok(Answer { data, stats: progress.stats(plan.stats) })
    }
}

/// The events of each group with their sum, the largest sum first, equal ones by their labels.
fn largest_first<'c>(collected: &'c Collected<'_>) -> Result<Vec<(i64, &'c [Event])>, QueryError> {
    let names = groups_by_number(&collected.groups);
    let mut groups = Vec::new();
    for of_group in collected.events.chunk_by(|left, right| left.group == right.group) {
        let sum: i128 = of_group.iter().map(|event| i128::from(event.value)).sum();
        groups.push((i64::try_from(sum).map_err(|_| QueryError::Overflow)?, of_group));
    }
    groups.sort_by(|(left, left_events), (right, right_events)| {
        let name = |events: &[Event]| &names[events[0].group as usize];
        right.cmp(left).then_with(|| name(left_events).cmp(name(right_events)))
    });
    Ok(groups)
}

/// The scale of a heat map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bands {
    low: i64,
    high: i64,
}

impl Bands {
    fn of(events: &[Event]) -> Self {
        let values = || events.iter().map(|event| event.value);
        Self { low: values().min().unwrap_or(0), high: values().max().unwrap_or(0) }
    }

    fn height(&self) -> i128 {
        i128::from(self.high) - i128::from(self.low)
    }

    /// Which band a value of the scale is in; the largest value is in the highest one.
    fn band(&self, value: i64) -> u32 {
        let above = (i128::from(value) - i128::from(self.low)) * i128::from(limits::HEATMAP_BANDS);
        let band = above.checked_div(self.height()).unwrap_or(0);
        u32::try_from(band).unwrap_or(0).min(limits::HEATMAP_BANDS - 1)
    }

    /// Lower end of a band.
    fn low(&self, band: u32) -> f64 {
        // The wire has doubles; beyond 2^53 the ends are rounded, the bands that values are in are not.
        self.low as f64 + self.height() as f64 * f64::from(band) / f64::from(limits::HEATMAP_BANDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_their_lower_end_and_the_highest_its_upper_one() {
        let bands = Bands { low: 100, high: 300 };
        let of = |value| (bands.band(value), bands.low(bands.band(value)));
        assert_eq!(of(100), (0, 100.0));
        assert_eq!((of(109), of(110)), ((0, 100.0), (1, 110.0)));
        assert_eq!((of(299), of(300)), ((19, 290.0), (19, 290.0)));
        let one = Bands { low: 7, high: 7 };
        assert_eq!((one.band(7), one.low(0)), (0, 7.0));
        let all = Bands { low: i64::MIN, high: i64::MAX };
        assert_eq!((all.band(i64::MIN), all.band(0), all.band(i64::MAX)), (0, 10, 19));
    }
}
