//! Events: what each chosen profile or span adds to each group at its time. Timelines, series with exemplars and heat
//! maps are made of them.
//!
//! They come from the totals in the profile tables alone; rows are read only where sample labels, spans, a call site, a
//! frame filter or a group by a sample label choose among them (D6). A profile gives one event per group, a span one per
//! profile and group.

use std::collections::{HashMap, HashSet};

use block::{NONE, Rows};
use profile::{LabelSet, Link, Timestamp};

use crate::{
    Engine, NameMode, QueryError, StepRange,
    display_cache::{DisplayKey, read},
    limits,
    plan::{Picked, Plan, PlanPart},
    progress::Progress,
    row_filter::{SPAN_LABEL, TRACE_LABEL, label_values, link_text},
    scan::TypeLabel,
    stack_filter::StackFilter,
};

/// Values of the labels grouped by, in their order; `None` = not there.
pub(crate) type Group = Vec<Option<String>>;

/// What an event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A profile.
    Profile,
    /// A span within a profile; rows without one are left out.
    Span,
}

/// One value of one series at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Number of its group.
    pub group: u32,
    /// Index of its step.
    pub step: u32,
    /// Number of its series.
    pub series: u32,
    /// Position of its profile among all picks of the plan.
    pub pick: u32,
    /// Position of its span in [`Collected::links`].
    pub link: u32,
    /// Start of its profile.
    pub time: Timestamp,
    /// The value.
    pub value: i64,
}

/// Events of one question.
pub(crate) struct Collected<'a> {
    steps: StepRange,
    kind: EventKind,
    /// The labels grouped by.
    pub group_by: &'a [String],
    /// Number of each group.
    pub groups: HashMap<Group, u32>,
    /// The events, in no order.
    pub events: Vec<Event>,
    /// Spans of events.
    pub links: Vec<Link>,
    /// Numbers of groups with a profile whose value does not fit in 64 bits; that event is missing.
    pub overflowing: HashSet<u32>,
}

/// What one profile's rows are judged by.
struct RowQuestion<'a> {
    picked: &'a Picked,
    pick: u32,
    inside: Option<&'a [bool]>,
    group: &'a Group,
}

/// Refuses a group-by of more labels than a series may have.
pub(crate) fn check_group_by(group_by: &[String]) -> Result<(), QueryError> {
    if group_by.len() > limits::GROUP_LABELS_MAX {
        let reason = format!("names {} labels (limit {})", group_by.len(), limits::GROUP_LABELS_MAX);
        return Err(QueryError::invalid("group_by", reason));
    }
    Ok(())
}

/// A group as labels; one that is not there has no entry.
pub(crate) fn group_labels(group_by: &[String], group: Group) -> LabelSet {
    let pairs = group_by.iter().zip(group).filter_map(|(name, value)| Some((name.as_str(), value?)));
    LabelSet::from_pairs(pairs).unwrap_or_default()
}

impl<'a> Collected<'a> {
    /// No events yet.
    pub fn new(steps: StepRange, group_by: &'a [String], kind: EventKind) -> Self {
        Self {
            steps,
            kind,
            group_by,
            groups: HashMap::new(),
            events: Vec::new(),
            links: Vec::new(),
            overflowing: HashSet::new(),
        }
    }

    /// Adds the events of a plan.
    pub fn add_plan(
        &mut self,
        engine: &Engine,
        plan: &Plan<'_>,
        stacks: StackFilter<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<(), QueryError> {
        let mut before = 0;
        for part in &plan.parts {
            let inside = inside_of(engine, part, stacks, progress)?;
            self.add_part(plan, part, before, inside.as_deref(), progress)?;
            before += part.picks.len();
        }
        Ok(())
    }

    /// For answers that cannot name a group without values.
    pub fn check_overflow(&self) -> Result<(), QueryError> {
        if self.overflowing.is_empty() { Ok(()) } else { Err(QueryError::Overflow) }
    }

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

    fn push(&mut self, picked: &Picked, pick: u32, group: u32, link: u32, value: i64) {
        let step = self.steps.step(picked.time);
        self.events.push(Event { group, step, series: picked.series, pick, link, time: picked.time, value });
    }

    fn add_part(
        &mut self,
        plan: &Plan<'_>,
        part: &PlanPart<'_>,
        before: usize,
        inside: Option<&[bool]>,
        progress: &mut Progress<'_>,
    ) -> Result<(), QueryError> {
        let mut by_series: HashMap<u32, (Group, Option<u32>, bool)> = HashMap::new();
        let mut rows = Rows::default();
        for (number, picked) in part.picks.iter().enumerate() {
            if number % limits::PROFILES_PER_CHECK == 0 {
                progress.check()?;
            }
            let pick = u32::try_from(before + number).unwrap_or(u32::MAX);
            let meta = part.dataset.profile(picked.pick.profile);
            let (group, number, asks_links) = by_series.entry(meta.series).or_insert_with(|| {
                let group = series_group(plan, &part.dataset.series(meta.series).labels, self.group_by);
                let asks_links = self.group_by.iter().zip(&group).any(|(name, value)| {
                    value.is_none() && matches!(name.as_str(), SPAN_LABEL | TRACE_LABEL)
                });
                (group, None, asks_links)
            });
            let rows_decide = group.contains(&None) && (meta.has_labels || *asks_links);
            let is_whole = picked.filter.is_none() && inside.is_none() && !rows_decide;
            if is_whole && self.kind == EventKind::Profile {
                let group = match *number {
                    Some(known) => known,
                    None => *number.insert(self.group(group.clone())?),
                };
                self.push(picked, pick, group, NONE, meta.totals[picked.pick.column as usize]);
                continue;
            }
            let group = group.clone();
            let bytes = part.dataset.rows(picked.pick.profile, &mut rows)?;
            progress.read(bytes, rows.nodes.len() as u64)?;
            let question = RowQuestion { picked, pick, inside, group: &group };
            self.add_rows(part, &question, &rows, progress)?;
        }
        Ok(())
    }

    /// Sums the taken rows of one profile by group, and by span where spans are asked for.
    fn add_rows(
        &mut self,
        part: &PlanPart<'_>,
        question: &RowQuestion<'_>,
        rows: &Rows,
        progress: &mut Progress<'_>,
    ) -> Result<(), QueryError> {
        let RowQuestion { picked, pick, inside, group } = *question;
        let filter = picked.filter.map(|filter| &part.filters[filter as usize]);
        let width = rows.values.len() / rows.nodes.len().max(1);
        let asks_links = self.kind == EventKind::Span
            || self.group_by.iter().any(|name| matches!(name.as_str(), SPAN_LABEL | TRACE_LABEL));
        let symbols = part.dataset.symbols()?;
        let mut sums: HashMap<(u32, Link), i128> = HashMap::new();
        let mut is_taken = false;
        for (row, &node) in rows.nodes.iter().enumerate() {
            if filter.is_some_and(|filter| !filter.accepts(rows, row)) {
                continue;
            }
            is_taken = true;
            if inside.is_some_and(|inside| node == NONE || !inside[node as usize]) {
                continue;
            }
            let label_set = rows.label_sets.get(row).copied().unwrap_or(0);
            let link =
                if asks_links { rows.links.get(row).copied().unwrap_or_default() } else { Link::default() };
            if self.kind == EventKind::Span && link.span_id == [0; 8] {
                continue;
            }
            let value = rows.values[row * width + picked.pick.column as usize];
            *sums.entry((label_set, link)).or_default() += i128::from(value);
        }
        if is_taken && filter.is_some() {
            progress.taken.add(picked.series);
        }
        let mut unchecked = 0_usize;
        let mut by_group: HashMap<(u32, Link), i128> = HashMap::new();
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
            let link = if self.kind == EventKind::Span { link } else { Link::default() };
            *by_group.entry((number, link)).or_default() += sum;
        }
        for ((number, link), sum) in by_group {
            let Ok(value) = i64::try_from(sum) else {
                self.overflowing.insert(number);
                continue;
            };
            let link = match self.kind {
                EventKind::Profile => NONE,
                EventKind::Span => {
                    self.links.push(link);
                    u32::try_from(self.links.len() - 1).unwrap_or(NONE)
                }
            };
            self.push(picked, pick, number, link, value);
        }
        Ok(())
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

/// For each node whether its stack is asked for, by display names; `None` = all are.
pub(crate) fn inside_of(
    engine: &Engine,
    part: &PlanPart<'_>,
    stacks: StackFilter<'_>,
    progress: &Progress<'_>,
) -> Result<Option<Vec<bool>>, QueryError> {
    if stacks.is_empty() {
        return Ok(None);
    }
    let symbols = part.dataset.symbols()?;
    let key = DisplayKey {
        dataset: part.dataset.id(),
        mode: NameMode::Display,
        pruning: None,
        rules: names::RULES_VERSION,
    };
    let (shared, _) = engine.trees.tree(&key, &*symbols, progress)?;
    let tree = read(&shared);
    let inside = stacks.inside(tree.paths(), tree.names(), progress)?;
    Ok(Some(tree.node_display().iter().map(|&display| inside[display as usize]).collect()))
}
