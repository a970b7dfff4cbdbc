//! Answers with values: flame graph, table, callers, timeline, difference.
//!
//! Trees come as columns of equal length, one entry per node: node 0 is the root, its own parent; a parent stands
//! before its children; nodes are in depth-first order, children by name. Columns are much smaller than nested objects
//! and are read without recursion, however deep the stacks are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Stats;

/// Answer to `GET /api/v1/flame`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlameReply {
    /// Unit of the values.
    pub unit: String,
    /// Value of the root.
    pub total: i64,
    /// Function names, each once.
    pub names: Vec<String>,
    /// Source file of each name; empty where it is not known.
    pub files: Vec<String>,
    /// Position in `names` of what the cut folded together; absent where nothing was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<u32>,
    /// Position of each node's parent.
    pub parent: Vec<u32>,
    /// Position of each node's name in `names`.
    pub name: Vec<u32>,
    /// Each node's own value.
    #[serde(rename = "self")]
    pub self_value: Vec<i64>,
    /// Each node's value with all its callees.
    pub node_total: Vec<i64>,
    /// What it took.
    pub stats: Stats,
}

/// A function with its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionRow {
    /// Name.
    pub name: String,
    /// Source file; empty where it is not known.
    pub file: String,
    /// Value of the function's own code.
    #[serde(rename = "self")]
    pub self_value: i64,
    /// Value of every stack that the function is on, once each.
    pub total: i64,
}

/// Answer to `GET /api/v1/top`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopReply {
    /// Unit of the values.
    pub unit: String,
    /// Sum of everything.
    pub total: i64,
    /// Functions, largest own value first.
    pub rows: Vec<FunctionRow>,
    /// How many functions there are; more than `rows` where `limit` cut them.
    pub rows_total: u64,
    /// What it took.
    pub stats: Stats,
}

/// A caller or callee with the value that flows between it and the function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSide {
    /// Name; empty = none (the function is a root).
    pub name: String,
    /// Source file; empty where it is not known.
    pub file: String,
    /// Value.
    pub value: i64,
}

/// Answer to `GET /api/v1/callers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallersReply {
    /// Unit of the values.
    pub unit: String,
    /// Sum of everything.
    pub total: i64,
    /// The function.
    pub function: FunctionRow,
    /// Who calls it, largest first.
    pub callers: Vec<FunctionSide>,
    /// Whom it calls, largest first.
    pub callees: Vec<FunctionSide>,
    /// What it took.
    pub stats: Stats,
}

/// Answer to `GET /api/v1/timeline`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineReply {
    /// Unit of the values.
    pub unit: String,
    /// Start of step 0 (RFC 3339).
    pub start: String,
    /// Width of a step, ms. Step k covers `[start + k·step, start + (k+1)·step)`.
    pub step_ms: i64,
    /// Number of steps.
    pub steps: u64,
    /// A point's value divided by this is its rate: cores in use for times, else the value per second.
    pub rate_divisor: f64,
    /// One per group, largest total first.
    pub series: Vec<TimelineSeries>,
    /// Groups that have no series because a value or the total does not fit in 64 bits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overflowing: Vec<TimelineGroup>,
    /// What it took.
    pub stats: Stats,
}

/// A group without values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineGroup {
    /// The labels grouped by.
    pub labels: BTreeMap<String, String>,
}

/// Values along time for one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineSeries {
    /// The labels grouped by.
    pub labels: BTreeMap<String, String>,
    /// Pairs of step and value; steps without profiles are left out.
    pub points: Vec<(u32, i64)>,
    /// Sum over all points.
    pub total: i64,
}

/// Answer to `GET /api/v1/diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffReply {
    /// Unit of the values.
    pub unit: String,
    /// Function names, each once.
    pub names: Vec<String>,
    /// Position in `names` of what the cut folded together; absent where nothing was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<u32>,
    /// Position of each node's parent.
    pub parent: Vec<u32>,
    /// Position of each node's name in `names`.
    pub name: Vec<u32>,
    /// Each node's own value on the left.
    pub left_self: Vec<i64>,
    /// Each node's value with all its callees on the left.
    pub left_total: Vec<i64>,
    /// Each node's own value on the right.
    pub right_self: Vec<i64>,
    /// Each node's value with all its callees on the right.
    pub right_total: Vec<i64>,
    /// What it took, both sides together.
    pub stats: Stats,
}
