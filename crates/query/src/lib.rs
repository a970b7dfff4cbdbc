//! Questions about stored profiles: which exist, and what they say when merged.
//!
//! The way of a query: parse a selector ([`Selector`]) → resolve its profile type against what the tenant has → take a
//! view of the store → pick profiles → add values per node → join by display name → roll up → one exact cut.
//!
//! Not here: status codes and wire formats (`api`), how data is kept (`store`).

mod contract;

pub use contract::{
    Aggregation, Answer, AnswerStats, CallersTable, Control, DiffNode, DiffTree, Engine, EngineOptions,
    FlameNode, FlameTree, FunctionSide, NameMode, ProfileItem, QueryError, QueryResult, Selection, Selector,
    ServiceItem, SpanFilter, StepRange, Timeline, TimelineSeries, TopRow, TopTable, TypeSelector,
};
