//! What is asked: which profiles, how they are put together, and how long it may take.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use profile::{ProfileId, ProfileType, Tenant, TimeRange};

use crate::{FrameFilter, Selector, stack_filter::StackFilter};

/// Which profile type is asked for.
#[derive(Clone, Debug, Default)]
pub enum TypeSelector {
    /// None was named: the tenant's only one, else `cpu` if there, else an error that lists them.
    #[default]
    Default,
    /// A full five-part type.
    Exact(ProfileType),
    /// A short form, resolved against what the selection has (D24).
    Short(String),
}

/// Restricts rows to spans or traces.
#[derive(Clone, Debug, Default)]
pub enum SpanFilter {
    /// All rows.
    #[default]
    None,
    /// Rows of these spans.
    Spans(Vec<[u8; 8]>),
    /// Rows of these traces.
    Traces(Vec<[u8; 16]>),
}

/// How instant types are put together along time (D7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregation {
    /// Delta types are summed; instant types are averaged over collection rounds.
    #[default]
    Native,
    /// Everything is summed, as Pyroscope and profefe do.
    Sum,
    /// The last round of each series counts.
    Last,
}

/// Which profiles a query is about.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Whose data; several are read as one (C100).
    pub tenants: Vec<Tenant>,
    /// Label matchers; the type inside it counts only where `profile_type` is `Default`.
    pub selector: Selector,
    /// Which profile type.
    pub profile_type: TypeSelector,
    /// When, by the profiles' start (D10).
    pub range: TimeRange,
    /// Only these profiles; empty = all.
    pub profile_ids: Vec<ProfileId>,
    /// Only rows of these spans or traces.
    pub spans: SpanFilter,
    /// Only stacks that begin (at the root) with these function names; empty = all.
    pub call_site: Vec<String>,
    /// Only stacks with some functions, or without some.
    pub frames: FrameFilter,
    /// How instant types are put together.
    pub aggregation: Aggregation,
}

/// Deadline, cancellation and budget of one query.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// Set when the client has gone; the query then ends with [`QueryError::Cancelled`].
    pub cancelled: Arc<AtomicBool>,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Most encoded bytes to read; 0 = the engine's default.
    pub bytes_max: u64,
}

impl Default for Selection {
    /// All profiles of no tenant yet.
    fn default() -> Self {
        Self {
            tenants: Vec::new(),
            selector: Selector::default(),
            profile_type: TypeSelector::Default,
            range: TimeRange::ALL,
            profile_ids: Vec::new(),
            spans: SpanFilter::None,
            call_site: Vec::new(),
            frames: FrameFilter::default(),
            aggregation: Aggregation::Native,
        }
    }
}

impl Selection {
    /// Which stacks are asked for.
    pub(crate) fn stacks(&self) -> StackFilter<'_> {
        StackFilter { call_site: &self.call_site, frames: &self.frames }
    }
}
