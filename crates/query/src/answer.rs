//! What comes with every answer: how much was read, what was chosen, what was left out (R7).

use profile::ProfileType;

/// What a query used and what its answer lacks (R7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerStats {
    /// Profiles merged.
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
    /// What the values were put together as: `sum`, `avg` or `last`.
    pub aggregation: &'static str,
    /// The type that a short form or default was resolved to.
    pub profile_type: Option<ProfileType>,
    /// Sentences for people: what was chosen or left out.
    pub notices: Vec<String>,
}

/// An answer and what it took.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// The answer.
    pub data: T,
    /// What it took.
    pub stats: AnswerStats,
}

/// Whether functions are named for people or as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NameMode {
    /// Display names; functions of one display name are one (R6).
    #[default]
    Display,
    /// Names as stored.
    Raw,
}
