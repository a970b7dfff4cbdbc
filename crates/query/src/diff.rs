//! Two selections laid over each other.
//!
//! Both sides are joined by name into one tree with two columns; the cut goes by the larger side of each node, so that
//! what is large on one side is seen even where the other has nothing. Values stay those of each side: nothing is
//! subtracted and no difference has a sign that a picture could not draw (C028).

use crate::{
    Answer, AnswerStats, Control, Engine, NameMode, QueryError, QueryResult, Selection,
    amount::Amount,
    cut::{NodeLimit, Placed, Shape, cut, place, rest_of},
    cut_stacks::say_cut_stacks,
    flame::{AnswerNames, Rest, others, whole, whole_numbers},
    merge::{Joined, MergeContext, Rolled, pruning_of, unsymbolised},
    plan::Plan,
    progress::Progress,
    stack_filter::StackFilter,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffTree {
    /// Nodes in depth-first order.
    pub nodes: Vec<DiffNode>,
    /// Names.
    pub names: Vec<String>,
    /// Source file of each name where one is known, else empty.
    pub files: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// Position in `names` of what the cut folded together, as in [`FlameTree::other`].
    pub other: Option<u32>,
    /// Where the cut folded nodes together, as in [`FlameTree::rest`](crate::FlameTree::rest).
    pub rest: Vec<Rest>,
    /// Positions in `names` of frames without a name of their own.
    pub unsymbolised: Vec<u32>,
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
        nodes_max: impl Into<NodeLimit>,
        control: &Control,
    ) -> QueryResult<DiffTree> {
        let limit = nodes_max.into();
        let mut progress = self.progress(control);
        let mut plans = [self.plan(left, &progress)?, self.plan(right, &progress)?];
        if let (Some(left), Some(right)) = (&plans[0].profile_type, &plans[1].profile_type)
            && left != right
        {
            let reason = format!("the sides are of different profile types, {left} and {right}");
            return Err(QueryError::invalid("profile_type", reason));
        }
        let stacks = [left.stacks(), right.stacks()];
        let wide = plans.iter().any(Plan::needs_wide);
        let data = if wide {
            self.diff_plans::<i128>(&mut plans, stacks, mode, limit, &mut progress)?
        } else {
            self.diff_plans::<i64>(&mut plans, stacks, mode, limit, &mut progress)?
        };
        let [left, right] = plans;
        Ok(Answer { data, stats: progress.stats(both(left.stats, right.stats)) })
    }

    fn diff_plans<T: Amount>(
        &self,
        plans: &mut [Plan<'_>; 2],
        stacks: [StackFilter<'_>; 2],
        mode: NameMode,
        limit: NodeLimit,
        progress: &mut Progress<'_>,
    ) -> Result<DiffTree, QueryError> {
        let mut joined: Joined<T> = Joined::new(2);
        for (column, (plan, stacks)) in plans.iter_mut().zip(stacks).enumerate() {
            let mut context = MergeContext { cache: &self.trees, mode, stacks, progress };
            let pruning = pruning_of(plan, mode)?;
            for position in 0..plan.parts.len() {
                joined.add_part(plan, position, column, &pruning, &mut context)?;
            }
            plan.count_taken(context.progress);
        }
        joined.names.sort();
        let columns = [joined.take_column(0), joined.take_column(1)];
        compare(plans, &joined, columns, limit)
    }
}

/// Cuts the joined tree by the larger side of each node and writes both sides.
fn compare<T: Amount>(
    plans: &mut [Plan<'_>; 2],
    joined: &Joined<T>,
    columns: [Vec<T>; 2],
    limit: NodeLimit,
) -> Result<DiffTree, QueryError> {
    let has_negative = plans.iter().any(|plan| plan.has_negative);
    let sides = columns.map(|selfs| Rolled::new(joined.paths.parents(), selfs, has_negative));
    let views = [0, 1].map(|side: usize| sides[side].view(&joined.paths, &joined.names));
    // Averages of different numbers of rounds are brought to one scale before they are compared.
    let scales = [plans[1].denominator, plans[0].denominator];
    let scaled = |value: &T, side: usize| value.wide().saturating_mul(scales[side]);
    let pairs = views[0].weights().iter().zip(views[1].weights());
    let weights: Vec<i128> = pairs.map(|(left, right)| scaled(left, 0).max(scaled(right, 1))).collect();
    let (parents, names) = (joined.paths.parents(), joined.paths.names());
    let shape = Shape { parents, names, weights: &weights, table: &joined.names };
    let cut = cut(&shape, limit);
    let rest = [0, 1].map(|side: usize| others(&shape, &cut, views[side].selfs, views[side].totals));
    let placed = place(&shape, &cut, |slot| rest.iter().any(|rest| rest[slot] != T::default()));
    let mut numbers = Vec::with_capacity(2);
    for (side, plan) in plans.iter_mut().enumerate() {
        let own = |one: &Placed| match one.is_other {
            true => rest[side][cut.slot(one.node)],
            false => views[side].selfs[one.node as usize],
        };
        let selfs: Vec<T> = placed.iter().map(own).collect();
        let written = whole_numbers(&placed, &selfs, plan.denominator)?;
        let of_others = placed.iter().zip(&written.0).filter(|(one, _)| one.is_other);
        plan.stats.cut_value = of_others.fold(0_i64, |sum, (_, value)| sum.saturating_add(*value));
        plan.stats.cut_nodes = cut.left_out;
        plan.stats.unsymbolised_value = whole(unsymbolised(&views[side]), plan.denominator)?;
        say_cut_stacks(&views[side], plan)?;
        numbers.push(written);
    }
    let mut answer_names = AnswerNames::default();
    let nodes = placed
        .iter()
        .enumerate()
        .map(|(position, one)| DiffNode {
            parent: one.parent,
            name: answer_names.position_of(&joined.names, names, one),
            left_self: numbers[0].0[position],
            left_total: numbers[0].1[position],
            right_self: numbers[1].0[position],
            right_total: numbers[1].1[position],
        })
        .collect();
    let unit = if plans[0].profile_type.is_some() { plans[0].unit() } else { plans[1].unit() };
    Ok(DiffTree {
        nodes,
        names: answer_names.texts,
        files: answer_names.files,
        unit,
        other: answer_names.other,
        rest: rest_of(&shape, cut, &placed),
        unsymbolised: answer_names.unsymbolised,
    })
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
