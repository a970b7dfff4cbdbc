//! Two selections laid over each other.
//!
//! Both sides are joined by name into one tree with two columns; the cut goes by the larger side of each node, so that
//! what is large on one side is seen even where the other has nothing. Values stay those of each side: nothing is
//! subtracted and no difference has a sign that a picture could not draw (C028).

use crate::{
    Answer, AnswerStats, Control, Engine, NameMode, QueryError, QueryResult, Selection,
    amount::Amount,
    cut::{Shape, cut, place},
    flame::{AnswerNames, Slots, others, whole_numbers},
    merge::{Joined, MergeContext, Rolled, pruning_of},
    plan::Plan,
    progress::Progress,
};

/// One node of a comparison; a side without it has zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffNode {
    /// Position of the parent; the root is its own parent.
    pub parent: u32,
    /// Position in [`DiffTree::names`].
    pub name: u32,
    /// Own value, left.
    pub left_self: i64,
    /// Total, left.
    pub left_total: i64,
    /// Own value, right.
    pub right_self: i64,
    /// Total, right.
    pub right_total: i64,
}

/// Two trees laid over each other; order as in [`FlameTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffTree {
    /// Nodes in depth-first order.
    pub nodes: Vec<DiffNode>,
    /// Names.
    pub names: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// Position in `names` of what the cut folded together, as in [`FlameTree::other`].
    pub other: Option<u32>,
}

impl Engine {
    /// Two selections laid over each other; both must resolve to the same profile type. An empty side has zeros.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn diff(
        &self,
        left: &Selection,
        right: &Selection,
        mode: NameMode,
        nodes_max: usize,
        control: &Control,
    ) -> QueryResult<DiffTree> {
        let mut progress = self.progress(control);
        let mut plans = [self.plan(left, &progress)?, self.plan(right, &progress)?];
        if let (Some(left), Some(right)) = (&plans[0].profile_type, &plans[1].profile_type)
            && left != right
        {
            let reason = format!("the sides are of different profile types, {left} and {right}");
            return Err(QueryError::invalid("profile_type", reason));
        }
        let call_sites = [&*left.call_site, &*right.call_site];
        let wide = plans.iter().any(Plan::needs_wide);
        let data = if wide {
            self.diff_plans::<i128>(&mut plans, call_sites, mode, nodes_max, &mut progress)?
        } else {
            self.diff_plans::<i64>(&mut plans, call_sites, mode, nodes_max, &mut progress)?
        };
        let [left, right] = plans;
        Ok(Answer { data, stats: progress.stats(both(left.stats, right.stats)) })
    }

    fn diff_plans<T: Amount>(
        &self,
        plans: &mut [Plan<'_>; 2],
        call_sites: [&[String]; 2],
        mode: NameMode,
        nodes_max: usize,
        progress: &mut Progress<'_>,
    ) -> Result<DiffTree, QueryError> {
        let mut joined: Joined<T> = Joined::new(2);
        for (column, (plan, call_site)) in plans.iter_mut().zip(call_sites).enumerate() {
            let mut context = MergeContext { cache: &self.trees, mode, call_site, progress };
            let pruning = pruning_of(plan, mode)?;
            for position in 0..plan.parts.len() {
                joined.add_part(plan, position, column, &pruning, &mut context)?;
            }
        }
        joined.names.sort();
        let columns = [joined.take_column(0), joined.take_column(1)];
        let has_negative = plans.iter().any(|plan| plan.has_negative);
        let sides = columns.map(|selfs| Rolled::new(joined.paths.parents(), selfs, has_negative));
        let views = [0, 1].map(|side: usize| sides[side].view(&joined.paths, &joined.names));
        // Averages of different numbers of rounds are brought to one scale before they are compared.
        let scales = [plans[1].denominator, plans[0].denominator];
        let weights: Vec<i128> = views[0]
            .weights()
            .iter()
            .zip(views[1].weights())
            .map(|(left, right)| {
                (left.wide().saturating_mul(scales[0])).max(right.wide().saturating_mul(scales[1]))
            })
            .collect();
        let shape = Shape {
            parents: joined.paths.parents(),
            names: joined.paths.names(),
            weights: &weights,
            table: &joined.names,
        };
        let cut = cut(&shape, nodes_max);
        let rest = [0, 1].map(|side: usize| others(&shape, &cut.kept, views[side].selfs, views[side].totals));
        let placed = place(&shape, &cut, |slot| rest.iter().any(|rest| rest[slot] != T::default()));
        let slots = Slots::new(&cut.kept, weights.len());
        let mut numbers = Vec::with_capacity(2);
        for side in 0..2 {
            let selfs: Vec<T> = placed
                .iter()
                .map(|one| match one.is_other {
                    true => rest[side][slots.of(one.node)],
                    false => views[side].selfs[one.node as usize],
                })
                .collect();
            numbers.push(whole_numbers(&placed, &selfs, plans[side].denominator)?);
            plans[side].stats.cut_nodes = cut.left_out;
            let of_others = placed.iter().zip(&numbers[side].0).filter(|(one, _)| one.is_other);
            plans[side].stats.cut_value = of_others.fold(0_i64, |sum, (_, value)| sum.saturating_add(*value));
        }
        let mut names = AnswerNames::default();
        let nodes = placed
            .iter()
            .enumerate()
            .map(|(position, one)| DiffNode {
                parent: one.parent,
                name: names.position_of(&joined.names, joined.paths.names(), one),
                left_self: numbers[0].0[position],
                left_total: numbers[0].1[position],
                right_self: numbers[1].0[position],
                right_total: numbers[1].1[position],
            })
            .collect();
        let unit = if plans[0].profile_type.is_some() { plans[0].unit() } else { plans[1].unit() };
        Ok(DiffTree { nodes, names: names.texts, unit, other: names.other })
    }
}

/// What both sides took together.
fn both(left: AnswerStats, right: AnswerStats) -> AnswerStats {
    let mut notices = left.notices;
    notices.extend(right.notices.into_iter().map(|notice| format!("right side: {notice}")));
    AnswerStats {
        profiles: left.profiles + right.profiles,
        series: left.series + right.series,
        rounds: left.rounds.max(right.rounds),
        cut_nodes: left.cut_nodes,
        cut_value: left.cut_value.saturating_add(right.cut_value),
        unsymbolised_value: left.unsymbolised_value.saturating_add(right.unsymbolised_value),
        profile_type: left.profile_type.or(right.profile_type),
        notices,
        ..AnswerStats { aggregation: left.aggregation, ..AnswerStats::default() }
    }
}
