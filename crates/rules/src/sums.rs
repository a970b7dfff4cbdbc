//! The sums of one rule: by group, apart for each generation that is not in blocks yet.

use std::collections::BTreeMap;

use query::Group;

use crate::{REST_LABEL, RULE_LABEL, Rule, limits};

/// A sum. What is of a done generation is kept with the catalogue; the rest would be counted again after a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Of generations that are done.
    pub(crate) done: i128,
    /// Of others, oldest first.
    pending: Vec<(u64, i128)>,
}

impl Sum {
    /// A sum that was kept.
    pub(crate) fn of(done: i128) -> Self {
        Self { done, pending: Vec::new() }
    }

    fn add(&mut self, generation: u64, value: i128) {
        match self.pending.iter_mut().rev().find(|(of, _)| *of == generation) {
            Some((_, sum)) => *sum = sum.saturating_add(value),
            None => {
                self.pending.push((generation, value));
                self.pending.sort_unstable_by_key(|(of, _)| *of);
            }
        }
    }

    /// Everything counted.
    fn value(&self) -> i128 {
        self.up_to(u64::MAX)
    }

    /// What was counted up to the end of a generation.
    pub(crate) fn up_to(&self, generation: u64) -> i128 {
        let of = self.pending.iter().filter(|(of, _)| *of <= generation);
        of.fold(self.done, |sum, (_, value)| sum.saturating_add(*value))
    }

    fn finish(&mut self, generation: u64) {
        self.done = self.up_to(generation);
        self.pending.retain(|(of, _)| *of > generation);
    }
}

/// The sums of one rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) groups: BTreeMap<Group, Sum>,
    /// What no group was left for; `None` = nothing so far.
    pub(crate) rest: Option<Sum>,
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is in the sum of its group.
    Known,
    /// As before, and the group is new.
    NewGroup,
    /// It is in the rest.
    Rest,
}

impl Sums {
    /// The sums of a rule that has counted nothing. One without groups has its counter from the beginning.
    pub(crate) fn new(rule: &Rule) -> Self {
        let mut sums = Self::default();
        if rule.query().group_by().is_empty() {
            sums.groups.insert(Group::new(), Sum::default());
        }
        sums
    }

    /// Adds a value; `is_full` = there may be no further group.
    pub(crate) fn add(&mut self, generation: u64, group: &Group, value: i128, is_full: bool) -> Added {
        if let Some(sum) = self.groups.get_mut(group) {
            sum.add(generation, value);
            return Added::Known;
        }
        let is_long =
            |value: &Option<String>| value.as_ref().is_some_and(|v| v.len() > limits::VALUE_BYTES_MAX);
        if is_full || self.groups.len() >= limits::GROUPS_PER_RULE_MAX || group.iter().any(is_long) {
            self.rest.get_or_insert_default().add(generation, value);
            return Added::Rest;
        }
        self.groups.entry(group.clone()).or_default().add(generation, value);
        Added::NewGroup
    }

    /// A generation is done.
    pub(crate) fn finish(&mut self, generation: u64) {
        self.groups.values_mut().chain(&mut self.rest).for_each(|sum| sum.finish(generation));
    }

    /// Whether something was counted up to the end of a generation that is not done.
    pub(crate) fn has_pending(&self, generation: u64) -> bool {
        let mut all = self.groups.values().chain(&self.rest);
        all.any(|sum| sum.pending.iter().any(|(of, _)| *of <= generation))
    }

    /// As series of a monitoring system, sorted by labels.
    pub(crate) fn series(&self, rule: &Rule) -> Vec<MetricSeries> {
        let one = |group: &[Option<String>], rest: bool, sum: &Sum| {
            let fixed = rule.spec().labels.iter().map(|(name, value)| (name.clone(), value.clone()));
            let mut labels: Vec<(String, String)> = fixed.collect();
            labels.push((RULE_LABEL.to_owned(), rule.key().to_owned()));
            if rest {
                labels.push((REST_LABEL.to_owned(), "true".to_owned()));
            }
            let of_group = rule.group_labels().iter().zip(group);
            labels.extend(of_group.filter_map(|(name, value)| Some((name.clone(), value.clone()?))));
            labels.sort_unstable();
            let metric = rule.spec().metric.clone();
            MetricSeries { metric, labels, unit: rule.profile_type().sample_unit.clone(), value: sum.value() }
        };
        let mut series: Vec<MetricSeries> =
            self.groups.iter().map(|(group, sum)| one(group, false, sum)).collect();
        series.extend(self.rest.iter().map(|sum| one(&[], true, sum)));
        series
    }
}

/// One counter as a monitoring system sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSeries {
    /// Name of the metric.
    pub metric: String,
    /// Labels, sorted by name, none empty.
    pub labels: Vec<(String, String)>,
    /// Unit of the profile type, for people.
    pub unit: String,
    /// The sum.
    pub value: i128,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_apart_until_they_are_done() {
        let mut sum = Sum::of(5);
        sum.add(2, 10);
        sum.add(1, 100);
        sum.add(2, 1);
        assert_eq!((sum.value(), sum.up_to(1), sum.up_to(0)), (116, 105, 5));
        sum.finish(1);
        assert_eq!((sum.done, sum.value()), (105, 116));
        sum.finish(2);
        assert_eq!(sum, Sum::of(116));
    }

    #[test]
    fn ten_thousand_groups_become_a_thousand_and_a_rest_that_has_what_they_lack() {
        let mut sums = Sums::default();
        let mut rest = 0;
        for number in 0..10_000 {
            let added = sums.add(1, &vec![Some(format!("pod-{number}"))], 3, false);
            rest += i128::from(added == Added::Rest);
        }
        assert_eq!(sums.groups.len(), limits::GROUPS_PER_RULE_MAX);
        assert_eq!((rest, sums.rest.as_ref().map(Sum::value)), (9_000, Some(27_000)));
        assert_eq!(sums.add(1, &vec![Some("pod-0".into())], 3, true), Added::Known);
        let long = vec![Some("x".repeat(limits::VALUE_BYTES_MAX + 1))];
        assert_eq!(Sums::default().add(1, &long, 1, false), Added::Rest);
        assert_eq!(Sums::default().add(1, &vec![None], 1, true), Added::Rest);
    }
}
