//! What an answer used and what it lacks.

use serde::{Deserialize, Serialize};

/// Stands in every answer to a query (R7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// First instant of the range that was read, inclusive (RFC 3339); empty = from the beginning.
    #[serde(default)]
    pub from: String,
    /// End of the range that was read, exclusive (RFC 3339); empty = no end.
    #[serde(default)]
    pub to: String,
    /// Profiles merged or listed.
    pub profiles: u64,
    /// Rows read.
    pub samples: u64,
    /// Distinct series.
    pub series: u64,
    /// Collection rounds that an average was taken over; 1 for sums.
    pub rounds: u64,
    /// Encoded bytes read.
    pub bytes_scanned: u64,
    /// Nodes that the cut folded into "other".
    pub cut_nodes: u64,
    /// Their value.
    pub cut_value: i64,
    /// Value in frames that have no name.
    pub unsymbolised_value: i64,
    /// What the values were put together as: `sum`, `avg` or `last`; empty where there are no values.
    pub aggregation: String,
    /// The profile type that a short form or default was resolved to; empty where the answer is about several.
    pub profile_type: String,
    /// Sentences for people: what was chosen or left out.
    pub notices: Vec<String>,
}
