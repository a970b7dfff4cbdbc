//! Questions about stored profiles: which exist, and what they say when merged.
//!
//! The way of a query: parse a selector ([`Selector`]) → resolve its profile type against what the tenant has → take a
//! view of the store → pick profiles → add values per node → join by display name → roll up → one exact cut.
//!
//! Not here: status codes and wire formats (`api`), how data is kept (`store`).

mod contract;
mod error;
pub mod limits;
mod selector;

pub use contract::{
    Aggregation, Answer, AnswerStats, CallersTable, Control, DiffNode, DiffTree, Engine, EngineOptions,
    FlameNode, FlameTree, FunctionSide, NameMode, ProfileItem, Selection, ServiceItem, SpanFilter, StepRange,
    Timeline, TimelineSeries, TopRow, TopTable, TypeSelector,
};
pub use error::{QueryError, QueryResult};
pub use selector::{MatchOperator, Matcher, Selector};

/// Fuzz body of the selector parser: any bytes give a selector or an error, and what parses is stable when written.
pub fn fuzz_selector(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(selector) = Selector::parse(text) {
        let written = selector.to_string();
        let again = Selector::parse(&written).ok();
        assert!(
            again.as_ref() == Some(&selector) || written.len() > limits::SELECTOR_BYTES_MAX,
            "unstable: {text:?}"
        );
    }
}
