//! Functions as tables: top, and the callers and callees of one function. Always from the uncut tree.
//!
//! A function that is on a stack several times counts that stack once, as in pprof: walking down from the root, only the
//! outermost of a name adds its total. The same holds for a pair of caller and callee; calls of a function to itself are
//! no callers or callees of it.

use std::collections::HashMap;

use crate::{
    Answer, Control, Engine, NameMode, QueryError, QueryResult, Selection,
    amount::Amount,
    cut_stacks::say_cut_stacks,
    flame::whole,
    merge::{MergeContext, TreeView, unsymbolised, with_tree},
    plan::Plan,
};

/// A function in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopRow {
    /// Name.
    pub name: String,
    /// File, may be empty.
    pub file: String,
    /// Value of the function's own code.
    pub self_value: i64,
    /// Value of every stack that the function is on, once each.
    pub total: i64,
}

/// All functions with their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopTable {
    /// Unit of the values.
    pub unit: String,
    /// Sum of everything.
    pub total: i64,
    /// Rows, largest self value first, then largest total, then by name.
    pub rows: Vec<TopRow>,
}

/// A caller or callee of a function, with the value that flows between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSide {
    /// Name; empty = the function is a root (no caller).
    pub name: String,
    /// File, may be empty.
    pub file: String,
    /// Value.
    pub value: i64,
}

/// Callers and callees of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallersTable {
    /// Unit of the values.
    pub unit: String,
    /// Sum of everything.
    pub total: i64,
    /// The function.
    pub function: TopRow,
    /// Who calls it, largest first.
    pub callers: Vec<FunctionSide>,
    /// Whom it calls, largest first.
    pub callees: Vec<FunctionSide>,
}

impl Engine {
    /// All functions, from the uncut tree.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn top(&self, selection: &Selection, mode: NameMode, control: &Control) -> QueryResult<TopTable> {
        let mut progress = self.progress(control);
        let mut plan = self.plan(selection, &progress)?;
        if plan.parts.is_empty() {
            let data = TopTable { unit: plan.unit(), total: 0, rows: Vec::new() };
            return Ok(Answer { data, stats: plan.stats });
        }
        let wide = plan.needs_wide();
        let mut context =
            MergeContext { cache: &self.trees, mode, stacks: selection.stacks(), progress: &mut progress };
        let data = if wide {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i128>, plan| top(tree, plan))?
        } else {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i64>, plan| top(tree, plan))?
        };
        Ok(Answer { data, stats: progress.stats(plan.stats) })
    }

    /// Callers and callees of a function, from the uncut tree. A function that the selection does not have has zeros.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn callers(
        &self,
        selection: &Selection,
        mode: NameMode,
        function: &str,
        control: &Control,
    ) -> QueryResult<CallersTable> {
        let mut progress = self.progress(control);
        let mut plan = self.plan(selection, &progress)?;
        if plan.parts.is_empty() {
            let data = CallersTable::empty(plan.unit(), 0, function);
            return Ok(Answer { data, stats: plan.stats });
        }
        let wide = plan.needs_wide();
        let mut context =
            MergeContext { cache: &self.trees, mode, stacks: selection.stacks(), progress: &mut progress };
        let data = if wide {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i128>, plan| {
                callers(tree, plan, function)
            })?
        } else {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i64>, plan| {
                callers(tree, plan, function)
            })?
        };
        Ok(Answer { data, stats: progress.stats(plan.stats) })
    }
}

impl CallersTable {
    fn empty(unit: String, total: i64, function: &str) -> Self {
        let function = TopRow { name: function.into(), file: String::new(), self_value: 0, total: 0 };
        Self { unit, total, function, callers: Vec::new(), callees: Vec::new() }
    }
}

/// One step of a walk over a tree.
pub(crate) enum Step {
    /// Into a node.
    Enter(u32),
    /// Out of a node and all below it.
    Leave(u32),
}

/// Walks all nodes that rows reached, callers first, without recursion (C026).
pub(crate) fn walk<T: Amount>(tree: &TreeView<'_, T>, mut visit: impl FnMut(Step)) {
    const NO_NODE: u32 = u32::MAX;
    let weights = tree.weights();
    let mut first_child = vec![NO_NODE; tree.parents.len()];
    let mut next_sibling = vec![NO_NODE; tree.parents.len()];
    for node in (1..u32::try_from(tree.parents.len()).unwrap_or(u32::MAX)).rev() {
        if weights[node as usize] != T::default() {
            let parent = tree.parents[node as usize] as usize;
            next_sibling[node as usize] = first_child[parent];
            first_child[parent] = node;
        }
    }
    let mut node = first_child[0];
    while node != NO_NODE {
        visit(Step::Enter(node));
        if first_child[node as usize] != NO_NODE {
            node = first_child[node as usize];
            continue;
        }
        loop {
            visit(Step::Leave(node));
            if next_sibling[node as usize] != NO_NODE {
                node = next_sibling[node as usize];
                break;
            }
            let parent = tree.parents[node as usize];
            if parent == 0 {
                return;
            }
            node = parent;
        }
    }
}

fn top<T: Amount>(tree: &TreeView<'_, T>, plan: &mut Plan<'_>) -> Result<TopTable, QueryError> {
    let mut own = vec![T::default(); tree.table.len()];
    let mut totals = vec![T::default(); tree.table.len()];
    let mut on_path = vec![0_u32; tree.table.len()];
    walk(tree, |step| match step {
        Step::Enter(node) => {
            let name = tree.names[node as usize] as usize;
            own[name] += tree.selfs[node as usize];
            if on_path[name] == 0 {
                totals[name] += tree.totals[node as usize];
            }
            on_path[name] += 1;
        }
        Step::Leave(node) => on_path[tree.names[node as usize] as usize] -= 1,
    });
    let denominator = plan.denominator;
    let mut rows = Vec::new();
    for (name, (&own, &total)) in (0_u32..).zip(own.iter().zip(&totals)) {
        let (self_value, total) = (whole(own, denominator)?, whole(total, denominator)?);
        if self_value != 0 || total != 0 {
            let name = tree.table.get(name);
            rows.push(TopRow { name: name.text.to_string(), file: name.file.to_string(), self_value, total });
        }
    }
    rows.sort_by(|left, right| {
        (right.self_value, right.total)
            .cmp(&(left.self_value, left.total))
            .then_with(|| left.name.cmp(&right.name))
    });
    plan.stats.unsymbolised_value = whole(unsymbolised(tree), denominator)?;
    say_cut_stacks(tree, plan)?;
    Ok(TopTable { unit: plan.unit(), total: whole(tree.totals[0], denominator)?, rows })
}

fn callers<T: Amount>(
    tree: &TreeView<'_, T>,
    plan: &mut Plan<'_>,
    function: &str,
) -> Result<CallersTable, QueryError> {
    let wanted: Vec<bool> = (0_u32..)
        .take(tree.table.len())
        .map(|name| *tree.table.get(name).text == *function && name != tree.names[0])
        .collect();
    let mut row = (T::default(), T::default());
    let mut depth = 0_u32;
    // By name of the other side: value, and how often the pair is on the path at the moment.
    let mut callers: HashMap<u32, (T, u32)> = HashMap::new();
    let mut callees: HashMap<u32, (T, u32)> = HashMap::new();
    walk(tree, |step| {
        let (node, enters) = match step {
            Step::Enter(node) => (node as usize, true),
            Step::Leave(node) => (node as usize, false),
        };
        let parent = tree.parents[node] as usize;
        let is_wanted = wanted[tree.names[node] as usize];
        let from_wanted = wanted[tree.names[parent] as usize];
        let pair = match (is_wanted, from_wanted) {
            (true, false) => Some(callers.entry(tree.names[parent]).or_default()),
            (false, true) => Some(callees.entry(tree.names[node]).or_default()),
            _ => None,
        };
        if let Some((value, on_path)) = pair {
            if enters && *on_path == 0 {
                *value += tree.totals[node];
            }
            *on_path = if enters { *on_path + 1 } else { on_path.saturating_sub(1) };
        }
        if is_wanted && enters {
            row.0 += tree.selfs[node];
            if depth == 0 {
                row.1 += tree.totals[node];
            }
            depth += 1;
        } else if is_wanted {
            depth = depth.saturating_sub(1);
        }
    });
    let denominator = plan.denominator;
    let mut table = CallersTable::empty(plan.unit(), whole(tree.totals[0], denominator)?, function);
    match wanted.iter().position(|&wanted| wanted) {
        None => plan.stats.notices.push(format!("no function is named {function:?} in this selection")),
        Some(name) => {
            table.function.file = tree.table.get(u32::try_from(name).unwrap_or(0)).file.to_string();
        }
    }
    table.function.self_value = whole(row.0, denominator)?;
    table.function.total = whole(row.1, denominator)?;
    table.callers = sides(tree, callers, denominator)?;
    table.callees = sides(tree, callees, denominator)?;
    plan.stats.unsymbolised_value = whole(unsymbolised(tree), denominator)?;
    say_cut_stacks(tree, plan)?;
    Ok(table)
}

/// The other sides of a function, largest first.
fn sides<T: Amount>(
    tree: &TreeView<'_, T>,
    of_names: HashMap<u32, (T, u32)>,
    denominator: i128,
) -> Result<Vec<FunctionSide>, QueryError> {
    let mut sides = Vec::with_capacity(of_names.len());
    for (position, (value, _)) in of_names {
        let name = tree.table.get(position);
        let is_root = position == tree.names[0];
        sides.push(FunctionSide {
            name: if is_root { String::new() } else { name.text.to_string() },
            file: name.file.to_string(),
            value: whole(value, denominator)?,
        });
    }
    sides.sort_by(|left, right| right.value.cmp(&left.value).then_with(|| left.name.cmp(&right.name)));
    Ok(sides)
}
