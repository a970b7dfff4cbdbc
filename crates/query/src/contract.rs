//! The engine's face: what callers may rely on.

use std::sync::{Arc, atomic::AtomicBool};

use block::Dataset;
use profile::{LabelSet, ProfileId, ProfileType, Tenant, TimeRange, Timestamp};

use crate::{QueryResult, Selector};

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
    /// How instant types are put together.
    pub aggregation: Aggregation,
}

/// Deadline, cancellation and budget of one query.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// Set when the client has gone; the query then ends with [`QueryError::Cancelled`].
    pub cancelled: Arc<AtomicBool>,
    /// When to give up.
    pub deadline: Option<std::time::Instant>,
    /// Most encoded bytes to read; 0 = the engine's default.
    pub bytes_max: u64,
}

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
}

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

/// A range cut into steps; point k covers `[from + k·step, from + (k+1)·step)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRange {
    /// The range.
    pub range: TimeRange,
    /// Width of a step, ns, at least 1 ms.
    pub step_nanos: i64,
}

/// Values along time for one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineSeries {
    /// The labels grouped by; a label that is not there has no entry.
    pub labels: LabelSet,
    /// (index of step, value), steps without profiles left out.
    pub points: Vec<(u32, i64)>,
    /// Sum over all points.
    pub total: i64,
}

/// Values along time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Unit of the values.
    pub unit: String,
    /// One per group, largest total first.
    pub series: Vec<TimelineSeries>,
}

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffTree {
    /// Nodes in depth-first order.
    pub nodes: Vec<DiffNode>,
    /// Names.
    pub names: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// Position in `names` of what the cut folded together, as in [`FlameTree::other`].
    pub other: Option<u32>,
}

/// A profile in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileItem {
    /// Id.
    pub id: ProfileId,
    /// Profile name.
    pub name: String,
    /// All profile types inside.
    pub types: Vec<ProfileType>,
    /// Labels of its series.
    pub labels: LabelSet,
    /// Start.
    pub time: Timestamp,
    /// Length, ns.
    pub duration_nanos: i64,
    /// Rows.
    pub samples: u64,
    /// Sum of each column.
    pub totals: Vec<i64>,
}

/// A service in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceItem {
    /// `service_name`.
    pub name: String,
    /// Its profile types, sorted.
    pub types: Vec<ProfileType>,
    /// Profiles in the range.
    pub profiles: u64,
    /// Latest start.
    pub last: Timestamp,
}

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Memory for decoded symbols and display trees, bytes.
    pub cache_bytes: u64,
    /// Encoded bytes that one query may read.
    pub query_bytes_max: u64,
}

/// Answers queries over a store, or over datasets handed in (files on the command line).
///
/// All calls do CPU work and file reads on the calling thread; the caller runs them on a pool and bounds their number.
pub struct Engine {
    _private: (),
}

impl Engine {
    /// An engine over a store.
    #[must_use]
    pub fn new(store: Arc<store::Store>, options: EngineOptions) -> Self {
        let _ = (store, options);
        todo!()
    }

    /// An engine over fixed datasets, for files; tenants are ignored.
    #[must_use]
    pub fn over(datasets: Vec<Arc<dyn Dataset>>) -> Self {
        let _ = datasets;
        todo!()
    }

    /// Profile types that the selection's labels and range have, sorted.
    ///
    /// # Errors
    /// See [`QueryError`]; so for all calls below.
    pub fn profile_types(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<ProfileType>> {
        let _ = (selection, control);
        todo!()
    }

    /// Services with their types.
    pub fn services(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<ServiceItem>> {
        let _ = (selection, control);
        todo!()
    }

    /// Names of series labels and sample labels (D6), sorted.
    pub fn label_names(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<String>> {
        let _ = (selection, control);
        todo!()
    }

    /// Values of a label, sorted. `__profile_type__`, `__name__`, `__type__`, `__unit__`, `__period_type__` and
    /// `__period_unit__` answer from the types.
    pub fn label_values(
        &self,
        selection: &Selection,
        name: &str,
        control: &Control,
    ) -> QueryResult<Vec<String>> {
        let _ = (selection, name, control);
        todo!()
    }

    /// Distinct label sets, reduced to `label_names` where any are given (the `__…__` names above may be among them).
    pub fn series(
        &self,
        selection: &Selection,
        label_names: &[String],
        control: &Control,
    ) -> QueryResult<Vec<LabelSet>> {
        let _ = (selection, label_names, control);
        todo!()
    }

    /// Merged tree with at most `nodes_max` nodes and exact "other" nodes (D9); 0 = no cut.
    pub fn flame(
        &self,
        selection: &Selection,
        mode: NameMode,
        nodes_max: usize,
        control: &Control,
    ) -> QueryResult<FlameTree> {
        let _ = (selection, mode, nodes_max, control);
        todo!()
    }

    /// All functions, from the uncut tree.
    pub fn top(&self, selection: &Selection, mode: NameMode, control: &Control) -> QueryResult<TopTable> {
        let _ = (selection, mode, control);
        todo!()
    }

    /// Callers and callees of a function, from the uncut tree.
    pub fn callers(
        &self,
        selection: &Selection,
        mode: NameMode,
        function: &str,
        control: &Control,
    ) -> QueryResult<CallersTable> {
        let _ = (selection, mode, function, control);
        todo!()
    }

    /// Values along time, grouped by labels.
    pub fn timeline(
        &self,
        selection: &Selection,
        steps: StepRange,
        group_by: &[String],
        control: &Control,
    ) -> QueryResult<Timeline> {
        let _ = (selection, steps, group_by, control);
        todo!()
    }

    /// Two selections laid over each other; both must resolve to the same profile type.
    pub fn diff(
        &self,
        left: &Selection,
        right: &Selection,
        mode: NameMode,
        nodes_max: usize,
        control: &Control,
    ) -> QueryResult<DiffTree> {
        let _ = (left, right, mode, nodes_max, control);
        todo!()
    }

    /// Single profiles, newest last, at most `limit` (0 = the engine's cap).
    pub fn profiles(
        &self,
        selection: &Selection,
        limit: usize,
        control: &Control,
    ) -> QueryResult<Vec<ProfileItem>> {
        let _ = (selection, limit, control);
        todo!()
    }

    /// One stored profile as pprof, everything of D4 inside, not compressed.
    pub fn profile_pprof(
        &self,
        tenants: &[Tenant],
        id: ProfileId,
        control: &Control,
    ) -> QueryResult<(ProfileItem, Vec<u8>)> {
        let _ = (tenants, id, control);
        todo!()
    }

    /// Several stored profiles merged into one pprof with all their columns, not compressed. With
    /// [`TypeSelector::Exact`] or `Short` only that column is inside; with `Default` all columns of the series of that
    /// profile name (for `go tool pprof`, D23).
    pub fn pprof(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<u8>> {
        let _ = (selection, control);
        todo!()
    }
}
