//! Stacks that Go's runtime cut at its own limit, found in a merged tree, so that an answer says what it lacks (C027).
//!
//! A stack says nowhere that it was cut. It is as deep as the runtime records, and begins with a function that only such
//! stacks begin with: a root of stacks of any other depth is a real one. A push counts them profile by profile
//! (`cut_by_profiler`); here the same is asked of everything that a query merges, before the cut to its size. They are
//! said, and neither moved nor repaired.

use crate::{QueryError, amount::Amount, flame::whole, merge::TreeView, plan::Plan};

/// How many frames Go's runtime records, by its version and the kind of profile.
const DEPTHS: [u32; 3] = [32, 64, 128];

/// The limit may fall between the frames of inlined functions, which are all written: so many depths count from it on. More
/// would take in real roots.
const DEPTHS_FROM_LIMIT: u32 = 2;

/// Adds a sentence to the answer where stacks of the tree were cut.
pub(crate) fn say_cut_stacks<T: Amount>(
    tree: &TreeView<'_, T>,
    plan: &mut Plan<'_>,
) -> Result<(), QueryError> {
    let Some(sum) = cut_by_go(tree) else { return Ok(()) };
    let (value, unit) = (whole(sum, plan.denominator)?, plan.unit());
    plan.stats.notices.push(format!(
        "stacks of {value} {unit} lack their callers: they are as deep as Go's runtime records (32, 64 or 128 frames), and \
         begin with functions that no other stack begins with"
    ));
    Ok(())
}

/// The value of these stacks; `None` where there are none.
fn cut_by_go<T: Amount>(tree: &TreeView<'_, T>) -> Option<T> {
    if !tree.table.has_go_runtime() {
        return None;
    }
    let nodes = tree.parents.len();
    // Of each node: the child of the root that it is below of, and its depth.
    let mut places = vec![(0_u32, 0_u32); nodes];
    let mut is_root = vec![false; nodes];
    let mut suspects = Vec::new();
    for node in 1..nodes {
        let parent = tree.parents[node] as usize;
        let (above, depth) = places[parent];
        let root = if parent == 0 { node as u32 } else { above };
        places[node] = (root, depth + 1);
        if tree.selfs[node] == T::default() {
            continue;
        }
        if DEPTHS.iter().any(|&limit| (limit..limit + DEPTHS_FROM_LIMIT).contains(&(depth + 1))) {
            suspects.push(node);
        } else {
            is_root[root as usize] = true;
        }
    }
    let mut cut = suspects.into_iter().filter(|&node| !is_root[places[node].0 as usize]).peekable();
    cut.peek()?;
    Some(cut.fold(T::default(), |mut sum, node| {
        sum += tree.selfs[node];
        sum
    }))
}
