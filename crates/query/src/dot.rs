//! The call graph as a DOT text for Graphviz: one node per function, one edge per pair of caller and callee.
//!
//! Functions are joined by display name, wherever they are called from. As in pprof's graph, a function counts once per
//! stack, so does a pair; where functions between two shown ones are left out, the edge is dotted. Shown are those of the
//! largest total. Nothing found is an empty text.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use crate::{
    Answer, Control, Engine, NameMode, QueryError, QueryResult, Selection,
    amount::{Amount, divide_rounded},
    limits,
    merge::{MergeContext, TreeView, with_tree},
    plan::Plan,
    table::{Step, walk},
};

impl Engine {
    /// The merged call graph with at most `nodes_max` functions; 0 = [`limits::DOT_NODES_DEFAULT`].
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn dot(&self, selection: &Selection, nodes_max: usize, control: &Control) -> QueryResult<String> {
        let mut progress = self.progress(control);
        let mut plan = self.plan(selection, &progress)?;
        if plan.parts.is_empty() {
            return Ok(Answer { data: String::new(), stats: plan.stats });
        }
        let nodes_max = if nodes_max == 0 { limits::DOT_NODES_DEFAULT } else { nodes_max };
        let wide = plan.needs_wide();
        let mut context = MergeContext {
            cache: &self.trees,
            mode: NameMode::Display,
            stacks: selection.stacks(),
            progress: &mut progress,
        };
        let data = if wide {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i128>, plan| {
                graph(tree, plan, nodes_max)
            })?
        } else {
            with_tree(&mut plan, &mut context, |tree: &TreeView<'_, i64>, plan| graph(tree, plan, nodes_max))?
        };
        Ok(Answer { data, stats: progress.stats(plan.stats) })
    }
}

/// A function's own value and total, by the position of its name.
#[derive(Clone, Copy, Default)]
struct Sums {
    own: i128,
    total: i128,
    is_there: bool,
}

/// A pair of caller and callee.
#[derive(Clone, Copy, Default)]
struct Edge {
    value: i128,
    /// Functions between them are left out, at least once.
    skips: bool,
}

fn graph<T: Amount>(
    tree: &TreeView<'_, T>,
    plan: &mut Plan<'_>,
    nodes_max: usize,
) -> Result<String, QueryError> {
    let sums = function_sums(tree);
    let mut shown: Vec<u32> =
        (0_u32..).zip(&sums).filter(|(_, sums)| sums.is_there).map(|(name, _)| name).collect();
    let of = |name: u32| &sums[name as usize];
    shown.sort_by(|&left, &right| {
        let by_total = of(right).total.abs().cmp(&of(left).total.abs());
        by_total.then_with(|| tree.table.rank(left).cmp(&tree.table.rank(right)))
    });
    let function_count = shown.len();
    if function_count == 0 {
        return Ok(String::new());
    }
    plan.stats.cut_nodes = function_count.saturating_sub(nodes_max) as u64;
    shown.truncate(nodes_max);
    let numbers: HashMap<u32, usize> = shown.iter().zip(1..).map(|(&name, number)| (name, number)).collect();
    let edges = edges(tree, &numbers);
    let total = tree.totals.first().map_or(0, |total| total.wide());
    let writer = Writer { unit: plan.unit(), total, denominator: plan.denominator };
    let title = plan.profile_type.as_ref().map(|of| of.sample_type.clone()).unwrap_or_default();
    let mut text = String::new();
    let title = escaped(&title);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "digraph \"{title}\" {{\nnode [shape=box style=filled fillcolor=\"#f8f8f8\"]");
    let _ = writeln!(
        text,
        "subgraph cluster_L {{ \"legend\" [fontsize=16 label=\"Type: {title}\\lShowing {} of {function_count} functions, {} total\\l\"] }}",
        shown.len(),
        writer.amount(total),
    );
    for (number, &name) in (1..).zip(&shown) {
        let known = escaped(&tree.table.get(name).text);
        let Sums { own, total, .. } = *of(name);
        let _ = writeln!(
            text,
            "N{number} [label=\"{known}\\n{}\\nof {}\" id=\"node{number}\" fontsize={} tooltip=\"{known} ({})\"]",
            writer.share(own),
            writer.share(total),
            writer.font_size(own),
            writer.amount(total),
        );
    }
    for ((caller, callee), edge) in edges {
        let (from, to) = (escaped(&name_of(tree, &shown, caller)), escaped(&name_of(tree, &shown, callee)));
        let amount = writer.amount(edge.value);
        let (dotted, arrow) = if edge.skips { (" style=\"dotted\"", "...") } else { ("", "->") };
        let _ = writeln!(
            text,
            "N{caller} -> N{callee} [label=\" {amount}\" weight={} tooltip=\"{from} {arrow} {to} ({amount})\"{dotted}]",
            1 + writer.percent_tenths(edge.value).unsigned_abs() / 10,
        );
    }
    text.push_str("}\n");
    Ok(text)
}

fn name_of<T>(tree: &TreeView<'_, T>, shown: &[u32], number: usize) -> String {
    shown.get(number - 1).map(|&name| tree.table.get(name).text.to_string()).unwrap_or_default()
}

/// Own values, and totals of which each stack counts once per function.
fn function_sums<T: Amount>(tree: &TreeView<'_, T>) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); tree.table.len()];
    let mut open = vec![0_u32; tree.table.len()];
    walk(tree, |step| match step {
        Step::Enter(node) => {
            let name = tree.names[node as usize] as usize;
            let of_name = &mut sums[name];
            of_name.is_there = true;
            of_name.own += tree.selfs[node as usize].wide();
            if open[name] == 0 {
                of_name.total += tree.totals[node as usize].wide();
            }
            open[name] += 1;
        }
        Step::Leave(node) => open[tree.names[node as usize] as usize] -= 1,
    });
    sums
}

/// Pairs of shown functions, by their numbers.
fn edges<T: Amount>(tree: &TreeView<'_, T>, numbers: &HashMap<u32, usize>) -> BTreeMap<(usize, usize), Edge> {
    let mut edges: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    let mut open: HashMap<(usize, usize), u32> = HashMap::new();
    // Shown functions on the path with their depth, and how deep the walk is.
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut depth = 0_usize;
    walk(tree, |step| match step {
        Step::Enter(node) => {
            depth += 1;
            let Some(&number) = numbers.get(&tree.names[node as usize]) else { return };
            if let Some(&(caller, at)) = path.last() {
                let pair = (caller, number);
                let count = open.entry(pair).or_default();
                if *count == 0 {
                    let edge = edges.entry(pair).or_default();
                    edge.value += tree.totals[node as usize].wide();
                    edge.skips |= at + 1 < depth;
                }
                *count += 1;
                pairs.push(pair);
            }
            path.push((number, depth));
        }
        Step::Leave(_) => {
            if path.last().is_some_and(|&(_, at)| at == depth) {
                path.pop();
                // The outermost shown function has no pair.
                if !path.is_empty()
                    && let Some(count) = pairs.pop().and_then(|pair| open.get_mut(&pair))
                {
                    *count -= 1;
                }
            }
            depth -= 1;
        }
    });
    edges
}

/// Values as text.
struct Writer {
    unit: String,
    /// What shares are of; still scaled.
    total: i128,
    denominator: i128,
}

impl Writer {
    fn amount(&self, value: i128) -> String {
        let value = divide_rounded(value, self.denominator);
        let steps: &[(&str, i128)] = match self.unit.as_str() {
            "nanoseconds" => &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
            "bytes" => &[("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)],
            _ => return value.to_string(),
        };
        let fits = steps.iter().find(|(_, size)| value.abs() >= *size);
        let Some((unit, size)) = fits else { return "0".into() };
        let hundredths = divide_rounded(value * 100, *size);
        let (whole, rest) = (hundredths.abs() / 100, hundredths.abs() % 100);
        let sign = if hundredths < 0 { "-" } else { "" };
        let fraction = match (rest, rest % 10) {
            (0, _) => String::new(),
            (_, 0) => format!(".{}", rest / 10),
            _ => format!(".{rest:02}"),
        };
        format!("{sign}{whole}{fraction}{unit}")
    }

    fn percent_tenths(&self, value: i128) -> i128 {
        if self.total == 0 { 0 } else { divide_rounded(value.saturating_mul(1000), self.total.abs()) }
    }

    fn share(&self, value: i128) -> String {
        let tenths = self.percent_tenths(value);
        let sign = if tenths < 0 { "-" } else { "" };
        let tenths = tenths.abs();
        let percent = match tenths % 10 {
            0 => format!("{}", tenths / 10),
            rest => format!("{}.{rest}", tenths / 10),
        };
        format!("{} ({sign}{percent}%)", self.amount(value))
    }

    /// Larger for functions whose own code weighs more.
    fn font_size(&self, own: i128) -> i128 {
        8 + self.percent_tenths(own).abs().min(1000) * 16 / 1000
    }
}

/// A text within quotes; control characters would break lines or the viewer.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => written.extend(['\\', character]),
            '\n' => written.push_str("\\n"),
            control if control.is_control() => written.push(' '),
            other => written.push(other),
        }
    }
    written
}
