//! Merged trees as answers: the flame graph.

use crate::{
    Answer, Control, Engine, NameMode, QueryError, QueryResult, Selection,
    amount::{Amount, divide_rounded},
    cut::{Cut, NodeLimit, OTHER, Placed, Shape, cut, place, rest_of},
    cut_stacks::say_cut_stacks,
    limits,
    merge::{MergeContext, TreeView, unsymbolised, with_tree},
    name_table::NameTable,
    plan::Plan,
};

/// One node of a merged tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameNode {
    /// Position of the parent in [`FlameTree::nodes`]; the root is its own parent.
    pub parent: u32,
    /// Position in [`FlameTree::names`].
    pub name: u32,
    /// Own value.
    pub self_value: i64,
    /// Own value and that of all callees.
    pub total: i64,
}

/// A merged call tree. Node 0 is the root (name `total`); parents stand before children; children are ordered by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlameTree {
    /// Nodes in depth-first order.
    pub nodes: Vec<FlameNode>,
    /// Names, each once.
    pub names: Vec<String>,
    /// Source file of each name where one is known, else empty.
    pub files: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// Position in `names` of what the cut folded together (text `other`), so that it is not taken for a function of
    /// that name, which has a position of its own. `None` where nothing was cut.
    pub other: Option<u32>,
    /// Where the cut folded nodes together, in the order of their parents.
    pub rest: Vec<Rest>,
    /// Positions in `names` of frames that have no name of their own: an address or a file is shown.
    pub unsymbolised: Vec<u32>,
}

/// How many nodes the cut folded together below one node. Their value is that of the node's "other" child, which is
/// missing where they add up to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Position of the node in the answer.
    pub parent: u32,
    /// Number of nodes.
    pub count: u64,
}

impl FlameTree {
    /// Whether a node stands for what the cut left out, rather than for a function of that name.
    #[must_use]
    pub fn is_other(&self, node: &FlameNode) -> bool {
        Some(node.name) == self.other
    }

    /// A root alone.
    pub(crate) fn empty(unit: String) -> Self {
        let root = FlameNode { parent: 0, name: 0, self_value: 0, total: 0 };
        Self {
            nodes: vec![root],
            names: vec!["total".into()],
            files: vec![String::new()],
            unit,
            ..Self::default()
        }
    }
}

/// The number of nodes that a request asks for: nothing or 0 = the default, more than the cap = the cap (C086).
///
/// ```
/// use query::{limits, nodes_max};
/// assert_eq!(nodes_max(None, 200).ok(), Some(200));
/// assert_eq!(nodes_max(Some(i64::MAX), 200).ok(), Some(limits::FLAME_NODES_MAX));
/// assert!(nodes_max(Some(-1), 200).is_err());
/// ```
///
/// # Errors
/// For a negative number.
pub fn nodes_max(asked: Option<i64>, default: usize) -> Result<usize, QueryError> {
    match asked {
        None | Some(0) => Ok(default),
        Some(asked) => usize::try_from(asked)
            .map(|asked| asked.min(limits::FLAME_NODES_MAX))
            .map_err(|_| QueryError::invalid("max_nodes", format!("{asked} is negative"))),
    }
}

impl Engine {
    /// Merged tree with as many nodes as the limit says and exact "other" nodes beside them, at most one per node kept
    /// (D9); 0 = no cut.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn flame(
        &self,
        selection: &Selection,
        mode: NameMode,
        nodes_max: impl Into<NodeLimit>,
        control: &Control,
    ) -> QueryResult<FlameTree> {
        let limit = nodes_max.into();
        let mut progress = self.progress(control);
        let mut plan = self.plan(selection, &progress)?;
        if plan.parts.is_empty() {
            let unit = plan.unit();
            return Ok(Answer { data: FlameTree::empty(unit), stats: plan.stats });
        }
        let wide = plan.needs_wide();
        let mut context =
            MergeContext { cache: &self.trees, mode, stacks: selection.stacks(), progress: &mut progress };
        let data = if wide {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i128>, plan| finish(tree, plan, limit))?
        } else {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i64>, plan| finish(tree, plan, limit))?
        };
        Ok(Answer { data, stats: progress.stats(plan.stats) })
    }
}

/// Cuts a merged tree and writes it as an answer.
fn finish<T: Amount>(
    tree: &TreeView<'_, T>,
    plan: &mut Plan<'_>,
    limit: NodeLimit,
) -> Result<FlameTree, QueryError> {
    let shape =
        Shape { parents: tree.parents, names: tree.names, weights: tree.weights(), table: tree.table };
    let cut = cut(&shape, limit);
    let others = others(&shape, &cut, tree.selfs, tree.totals);
    let placed = place(&shape, &cut, |slot| others[slot] != T::default());
    let selfs: Vec<T> = placed
        .iter()
        .map(|one| if one.is_other { others[cut.slot(one.node)] } else { tree.selfs[one.node as usize] })
        .collect();
    let (selfs, totals) = whole_numbers(&placed, &selfs, plan.denominator)?;
    let mut names = AnswerNames::default();
    let nodes = placed
        .iter()
        .zip(selfs.iter().zip(&totals))
        .map(|(one, (&self_value, &total))| FlameNode {
            parent: one.parent,
            name: names.position(tree, one),
            self_value,
            total,
        })
        .collect();
    let stats = &mut plan.stats;
    stats.cut_nodes = cut.left_out;
    let of_others = placed.iter().zip(&selfs).filter(|(one, _)| one.is_other);
    stats.cut_value = of_others.fold(0_i64, |sum, (_, value)| sum.saturating_add(*value));
    stats.unsymbolised_value = whole(unsymbolised(tree), plan.denominator)?;
    say_cut_stacks(tree, plan)?;
    Ok(FlameTree {
        nodes,
        names: names.texts,
        files: names.files,
        unit: plan.unit(),
        other: names.other,
        rest: rest_of(&shape, cut, &placed),
        unsymbolised: names.unsymbolised,
    })
}

/// What is left out below each kept node.
pub(crate) fn others<T: Amount, W>(shape: &Shape<'_, W>, cut: &Cut, selfs: &[T], totals: &[T]) -> Vec<T> {
    let mut others: Vec<T> =
        cut.kept.iter().map(|&node| totals[node as usize] - selfs[node as usize]).collect();
    for &node in &cut.kept[1..] {
        let parent = cut.slot(shape.parents[node as usize]);
        others[parent] = others[parent] - totals[node as usize];
    }
    others
}

/// Divides by the denominator so that every total is the sum of its parts: the running sum in the order of the answer is
/// rounded, so own values and totals are each less than one unit off. Exact where nothing is averaged.
pub(crate) fn whole_numbers<T: Amount>(
    placed: &[Placed],
    selfs: &[T],
    denominator: i128,
) -> Result<(Vec<i64>, Vec<i64>), QueryError> {
    let mut running = 0_i128;
    let mut before = 0_i128;
    let mut own = Vec::with_capacity(selfs.len());
    for value in selfs {
        running += value.wide();
        let rounded = divide_rounded(running, denominator);
        own.push(i64::try_from(rounded - before).map_err(|_| QueryError::Overflow)?);
        before = rounded;
    }
    let mut totals = own.clone();
    for position in (1..placed.len()).rev() {
        let parent = placed[position].parent as usize;
        totals[parent] = totals[parent].checked_add(totals[position]).ok_or(QueryError::Overflow)?;
    }
    Ok((own, totals))
}

/// One sum as a whole number.
pub(crate) fn whole<T: Amount>(value: T, denominator: i128) -> Result<i64, QueryError> {
    i64::try_from(divide_rounded(value.wide(), denominator)).map_err(|_| QueryError::Overflow)
}

/// Names of an answer, each once, in the order in which they come.
#[derive(Default)]
pub(crate) struct AnswerNames {
    /// Texts.
    pub texts: Vec<String>,
    /// Files beside them.
    pub files: Vec<String>,
    /// Position of "other".
    pub other: Option<u32>,
    /// Positions of frames without a name of their own.
    pub unsymbolised: Vec<u32>,
    positions: Vec<u32>,
}

impl AnswerNames {
    /// The position of a placed node's name.
    pub fn position<T>(&mut self, tree: &TreeView<'_, T>, placed: &Placed) -> u32 {
        self.position_of(tree.table, tree.names, placed)
    }

    /// As [`AnswerNames::position`], for any tree.
    pub fn position_of(&mut self, table: &NameTable, names: &[u32], placed: &Placed) -> u32 {
        if placed.is_other {
            let next = self.next();
            return *self.other.get_or_insert_with(|| {
                self.texts.push(OTHER.into());
                self.files.push(String::new());
                next
            });
        }
        let name = names[placed.node as usize] as usize;
        if self.positions.len() <= name {
            self.positions.resize(table.len().max(name + 1), u32::MAX);
        }
        if self.positions[name] == u32::MAX {
            self.positions[name] = self.next();
            let known = table.get(names[placed.node as usize]);
            if known.unsymbolised {
                self.unsymbolised.push(self.positions[name]);
            }
            self.texts.push(known.text.to_string());
            self.files.push(known.file.to_string());
        }
        self.positions[name]
    }

    fn next(&self) -> u32 {
        u32::try_from(self.texts.len()).unwrap_or(u32::MAX)
    }
}
