//! The merge: rows into nodes, nodes into display nodes, roll-up, and several datasets joined by path.
//!
//! Hot path of every flame graph and table. For one dataset it is `Dataset::add_values` into a dense array, a second dense
//! addition through the cached display tree, and one backward pass. Several datasets are joined node by node through one
//! look-up table, parents before children; names are compared whole, and nodes without weight are skipped.
//!
//! Memory of a running merge: 4 or 8 bytes per node of the largest dataset, 16 per display node (32 where sums are wide),
//! and for several datasets about 40 per joined node.

use std::sync::Arc;

use block::{Dataset, NONE, NodeSums, Pick, Rows, SumsView};

use crate::{
    NameMode, QueryError,
    amount::{Amount, Scale},
    display::NO_STACK,
    display_cache::{DisplayCache, DisplayKey, read},
    limits,
    name_table::NameTable,
    path_table::{PathTable, ROOT},
    plan::{Picked, Plan, PlanPart},
    progress::Progress,
    pruning::PruningKey,
    row_filter::text,
    stack_filter::StackFilter,
};

/// A merged tree for reading. Parents stand before children; nodes that no row reached have zeros.
pub(crate) struct TreeView<'a, T> {
    /// Parent of each node; 0 is the root and its own parent.
    pub parents: &'a [u32],
    /// Name of each node.
    pub names: &'a [u32],
    /// Own value of each node.
    pub selfs: &'a [T],
    /// Own value and that of all callees.
    pub totals: &'a [T],
    /// Sum of the distances from zero of a node's and its callees' own values: what a cut goes by. `None` where no value
    /// is negative and the totals serve.
    pub weights: Option<&'a [T]>,
    /// The names.
    pub table: &'a NameTable,
}

impl<T: Amount> TreeView<'_, T> {
    /// What a cut goes by; zero = no row reached the node.
    pub fn weights(&self) -> &[T] {
        self.weights.unwrap_or(self.totals)
    }
}

/// What a merge needs beside its plan.
pub(crate) struct MergeContext<'a, 'p> {
    /// Where display trees are kept.
    pub cache: &'a DisplayCache,
    /// How functions are named.
    pub mode: NameMode,
    /// Only these stacks.
    pub stacks: StackFilter<'a>,
    /// Deadline and budget.
    pub progress: &'a mut Progress<'p>,
}

/// Merges a plan and hands the tree to `use_tree`.
pub(crate) fn with_tree<T: Amount, R>(
    plan: &mut Plan<'_>,
    context: &mut MergeContext<'_, '_>,
    use_tree: impl FnOnce(&TreeView<'_, T>, &mut Plan<'_>) -> Result<R, QueryError>,
) -> Result<R, QueryError> {
    let pruning = pruning_of(plan, context.mode)?;
    if let [part] = plan.parts.as_slice() {
        let dataset = part.dataset.clone();
        return with_display(plan, 0, &dataset, &pruning, context, |plan, tree, selfs: Vec<T>, context| {
            let paths = tree.paths();
            let rolled = Rolled::new(paths.parents(), selfs, plan.has_negative);
            context.progress.check()?;
            plan.count_taken(context.progress);
            use_tree(&rolled.view(paths, tree.names()), plan)
        });
    }
    let mut joined = Joined::new(1);
    for position in 0..plan.parts.len() {
        joined.add_part(plan, position, 0, &pruning, context)?;
    }
    plan.count_taken(context.progress);
    joined.names.sort();
    let selfs = joined.take_column(0);
    let rolled = Rolled::new(joined.paths.parents(), selfs, plan.has_negative);
    use_tree(&rolled.view(&joined.paths, &joined.names), plan)
}

/// Totals of a tree.
pub(crate) struct Rolled<T> {
    selfs: Vec<T>,
    totals: Vec<T>,
    weights: Option<Vec<T>>,
}

impl<T: Amount> Rolled<T> {
    /// Adds every node to its parent, children first.
    pub fn new(parents: &[u32], selfs: Vec<T>, has_negative: bool) -> Self {
        let totals = roll_up(parents, selfs.clone());
        let weights =
            has_negative.then(|| roll_up(parents, selfs.iter().map(|value| value.magnitude()).collect()));
        Self { selfs, totals, weights }
    }

    /// For reading.
    pub fn view<'a>(&'a self, paths: &'a PathTable, table: &'a NameTable) -> TreeView<'a, T> {
        TreeView {
            parents: paths.parents(),
            names: paths.names(),
            selfs: &self.selfs,
            totals: &self.totals,
            weights: self.weights.as_deref(),
            table,
        }
    }
}

fn roll_up<T: Amount>(parents: &[u32], mut totals: Vec<T>) -> Vec<T> {
    for node in (1..totals.len().min(parents.len())).rev() {
        let total = totals[node];
        totals[parents[node] as usize] += total;
    }
    totals
}

/// Accumulates one dataset's picks and hands its display tree and the own value of each display node on.
fn with_display<'p, 'c, 'd, T: Amount, R>(
    plan: &mut Plan<'p>,
    position: usize,
    dataset: &Arc<dyn Dataset>,
    pruning: &Option<PruningKey>,
    context: &mut MergeContext<'c, 'd>,
    use_display: impl FnOnce(
        &mut Plan<'p>,
        &crate::display::DisplayTree,
        Vec<T>,
        &mut MergeContext<'c, 'd>,
    ) -> Result<R, QueryError>,
) -> Result<R, QueryError> {
    let symbols = dataset.symbols()?;
    let key = DisplayKey {
        dataset: dataset.id(),
        mode: context.mode,
        pruning: pruning.clone(),
        rules: names::RULES_VERSION,
    };
    let (shared, notice) = context.cache.tree(&key, &*symbols, context.progress)?;
    // The profiles of one program have the same expressions in every dataset.
    plan.stats.notices.extend(notice.filter(|notice| !plan.stats.notices.contains(notice)));
    let tree = read(&shared);
    let mut selfs = vec![T::default(); tree.paths().len()];
    let mut sums = Sums {
        node_count: symbols.node_count(),
        node_display: tree.node_display(),
        selfs: &mut selfs,
        denominator: plan.denominator,
        progress: context.progress,
    };
    sums.add_part(&plan.parts[position])?;
    if !context.stacks.is_empty() {
        let inside = context.stacks.inside(tree.paths(), tree.names(), context.progress)?;
        for (value, _) in selfs.iter_mut().zip(inside).filter(|(_, inside)| !inside) {
            *value = T::default();
        }
    }
    use_display(plan, &tree, selfs, context)
}

/// Adds rows of one dataset into its display nodes.
struct Sums<'a, 'p, T> {
    node_count: u32,
    node_display: &'a [u32],
    selfs: &'a mut [T],
    denominator: i128,
    progress: &'a mut Progress<'p>,
}

impl<T: Amount> Sums<'_, '_, T> {
    fn add_part(&mut self, part: &PlanPart<'_>) -> Result<(), QueryError> {
        let whole = |picked: &&Picked| {
            picked.filter.is_none() && !part.dataset.profile(picked.pick.profile).has_negative
        };
        let mut dense: Vec<&Picked> = part.picks.iter().filter(whole).collect();
        dense.sort_by_key(|picked| picked.rounds);
        for group in dense.chunk_by(|left, right| left.rounds == right.rounds) {
            self.add_dense(part, group)?;
        }
        let mut rows = Rows::default();
        for picked in part.picks.iter().filter(|picked| !whole(picked)) {
            self.add_rows(part, picked, &mut rows)?;
        }
        Ok(())
    }

    /// Whole profiles without negative values, all divided by the same number of rounds.
    fn add_dense(&mut self, part: &PlanPart<'_>, group: &[&Picked]) -> Result<(), QueryError> {
        let total_of = |pick: &Pick| part.dataset.profile(pick.profile).totals[pick.column as usize];
        let picks: Vec<Pick> = group.iter().map(|picked| picked.pick).collect();
        let total = picks.iter().map(total_of).fold(0_i64, i64::wrapping_add);
        // No value is negative, so no sum exceeds the total.
        let sum_max = picks.iter().map(total_of).try_fold(0_i64, i64::checked_add);
        let mut sums = NodeSums::new(self.node_count, sum_max.map(i64::unsigned_abs));
        for chunk in picks.chunks(limits::PROFILES_PER_CHECK) {
            let bytes = part.dataset.add_values(chunk, &mut sums)?;
            let rows = chunk.iter().map(|pick| u64::from(part.dataset.profile(pick.profile).rows));
            self.progress.read(bytes, rows.sum())?;
        }
        let scale = self.scale(group.first().map_or(1, |picked| picked.rounds));
        let in_nodes = match sums.view() {
            SumsView::Narrow { unit, sums } => {
                let value = |&sum: &u32| unit.wrapping_mul(i64::from(sum));
                self.add_nodes(sums.iter().map(value), scale)
            }
            SumsView::Wide(sums) => self.add_nodes(sums.iter().copied(), scale),
        };
        // Rows without a stack are in the totals and in no node (C006).
        let outside = total.wrapping_sub(in_nodes);
        if outside != 0 {
            self.selfs[NO_STACK as usize] += T::scaled(outside, scale);
        }
        Ok(())
    }

    /// Adds one value per node and returns their sum.
    fn add_nodes(&mut self, values: impl Iterator<Item = i64>, scale: Scale) -> i64 {
        let mut total = 0_i64;
        for (value, &display) in values.zip(self.node_display) {
            total = total.wrapping_add(value);
            self.selfs[display as usize].add_scaled(value, scale);
        }
        total
    }

    /// A profile of which rows are left out, or with values of both signs.
    fn add_rows(&mut self, part: &PlanPart<'_>, picked: &Picked, rows: &mut Rows) -> Result<(), QueryError> {
        let bytes = part.dataset.rows(picked.pick.profile, rows)?;
        self.progress.read(bytes, rows.nodes.len() as u64)?;
        let filter = picked.filter.map(|filter| &part.filters[filter as usize]);
        let scale = self.scale(picked.rounds);
        let width = rows.values.len() / rows.nodes.len().max(1);
        let column = picked.pick.column as usize;
        let mut is_taken = false;
        for (row, &node) in rows.nodes.iter().enumerate() {
            if filter.is_some_and(|filter| !filter.accepts(rows, row)) {
                continue;
            }
            is_taken = true;
            let display = if node == NONE { NO_STACK } else { self.node_display[node as usize] };
            self.selfs[display as usize] += T::scaled(rows.values[row * width + column], scale);
        }
        if is_taken && filter.is_some() {
            self.progress.taken.add(picked.series);
        }
        Ok(())
    }

    fn scale(&self, rounds: u32) -> Scale {
        Scale { denominator: self.denominator, rounds }
    }
}

/// A tree of several datasets, with one column of own values per side.
pub(crate) struct Joined<T> {
    /// The tree.
    pub paths: PathTable,
    /// Its names.
    pub names: NameTable,
    columns: Vec<Vec<T>>,
}

impl<T: Amount> Joined<T> {
    /// An empty tree with so many columns.
    pub fn new(columns: usize) -> Self {
        // The two nodes that every display tree has, under the same positions.
        let empty = crate::display::DisplayTree::new(NameMode::Display, None);
        Self {
            paths: empty.paths().clone(),
            names: empty.names().clone(),
            columns: vec![vec![T::default(); empty.paths().len()]; columns],
        }
    }

    /// Accumulates one dataset of a plan and adds it to a column.
    pub fn add_part(
        &mut self,
        plan: &mut Plan<'_>,
        position: usize,
        column: usize,
        pruning: &Option<PruningKey>,
        context: &mut MergeContext<'_, '_>,
    ) -> Result<(), QueryError> {
        let dataset = plan.parts[position].dataset.clone();
        with_display(plan, position, &dataset, pruning, context, |plan, tree, selfs: Vec<T>, context| {
            let rolled = Rolled::new(tree.paths().parents(), selfs, plan.has_negative);
            context.progress.check()?;
            self.add_tree(&rolled.view(tree.paths(), tree.names()), column);
            context.progress.check()
        })
    }

    /// Joins a tree by path: nodes without weight are skipped, and with them all their callees.
    fn add_tree(&mut self, tree: &TreeView<'_, T>, column: usize) {
        let weights = tree.weights();
        let mut name_of = vec![NONE; tree.table.len()];
        let mut node_of = vec![ROOT; tree.parents.len()];
        let values = &mut self.columns[column];
        values[ROOT as usize] += tree.selfs[ROOT as usize];
        for node in 1..tree.parents.len() {
            if weights[node] == T::default() {
                continue;
            }
            let name = &mut name_of[tree.names[node] as usize];
            if *name == NONE {
                *name = self.names.intern(tree.table.get(tree.names[node]).clone());
            }
            let joined = self.paths.child(node_of[tree.parents[node] as usize], *name);
            node_of[node] = joined;
            if values.len() <= joined as usize {
                values.resize(self.paths.len(), T::default());
            }
            values[joined as usize] += tree.selfs[node];
        }
    }

    /// The own values of a column.
    pub fn take_column(&mut self, column: usize) -> Vec<T> {
        let mut values = std::mem::take(&mut self.columns[column]);
        values.resize(self.paths.len(), T::default());
        values
    }
}

/// The drop and keep expressions of the first profile, as pprof takes them when it merges.
pub(crate) fn pruning_of(plan: &Plan<'_>, mode: NameMode) -> Result<Option<PruningKey>, QueryError> {
    if mode != NameMode::Raw {
        return Ok(None);
    }
    let first = plan
        .parts
        .iter()
        .flat_map(|part| part.picks.iter().map(move |picked| (picked.time, part, picked)))
        .min_by_key(|(time, _, _)| *time);
    let Some((_, part, picked)) = first else { return Ok(None) };
    let symbols = part.dataset.symbols()?;
    let header = symbols.header(part.dataset.profile(picked.pick.profile).header);
    let (drop, keep) = (text(&*symbols, header.drop_frames), text(&*symbols, header.keep_frames));
    Ok(PruningKey::of(mode, drop, keep))
}

/// The part of the values whose innermost frame has no name.
pub(crate) fn unsymbolised<T: Amount>(tree: &TreeView<'_, T>) -> T {
    let mut sum = T::default();
    if tree.table.has_unsymbolised() {
        for (&value, &name) in tree.selfs.iter().zip(tree.names) {
            if value != T::default() && tree.table.get(name).unsymbolised {
                sum += value;
            }
        }
    }
    sum
}
