//! Questions about stored profiles: which exist, and what they say when merged.
//!
//! The way of a query: parse a selector ([`Selector`]) → take a view of the store and choose profiles (`scan`) → resolve
//! the profile type and pick columns (`plan`) → add values per node, join by display name, roll up (`merge`, `display`) →
//! one exact cut (`cut`) → the answer (`flame`, `table`, `diff`, `dot`, `timeline`, `points`, `heatmap`, `labels`,
//! `listing`, `overview`, `export`).
//!
//! Beside it stand what is asked of every profile as it comes ([`Counting`]), and how times are written in a question
//! ([`read_instant`]).
//!
//! Not here: status codes and wire formats (`api`), how data is kept (`store`).

mod amount;
mod answer;
mod cardinality;
mod counting;
mod cut;
mod cut_stacks;
mod diff;
mod display;
mod display_cache;
mod dot;
mod engine;
mod error;
mod events;
mod export;
mod flame;
mod heatmap;
mod labels;
pub mod limits;
mod listing;
mod merge;
mod name_table;
mod overview;
mod path_table;
mod plan;
mod points;
mod profile_builder;
mod profile_tables;
mod profile_types;
mod progress;
mod pruning;
mod row_filter;
mod scan;
mod selection;
mod selector;
mod stack_filter;
mod table;
mod time_words;
mod timeline;

pub use answer::{Answer, AnswerStats, NameMode};
pub use cardinality::{Cardinality, LabelCardinality};
pub use counting::{CountQuery, Counting, CountingCache, Group};
pub use cut::NodeLimit;
pub use diff::{DiffNode, DiffTree};
pub use engine::{Engine, EngineOptions};
pub use error::{QueryError, QueryResult};
pub use flame::{FlameNode, FlameTree, Rest, nodes_max};
pub use heatmap::{HeatmapCell, HeatmapSeries, HeatmapSlot};
pub use labels::SampleLabels;
pub use listing::{ProfileItem, ServiceItem};
pub use overview::{QueryScope, Scopes};
pub use points::{Exemplar, Exemplars, PointSeries, PointsQuestion, SeriesPoint};
pub use profile_builder::GoPgo;
pub use profile_types::{SHORT_FORMS, ShortForm, UnitClass};
pub use selection::{Aggregation, Control, Selection, SpanFilter, TypeSelector};
pub use selector::{MatchOperator, Matcher, Selector};
pub use stack_filter::{FrameFilter, FrameRules};
pub use table::{CallersTable, FunctionSide, TopRow, TopTable};
pub use time_words::{read_instant, read_length};
pub use timeline::{StepRange, Timeline, TimelineSeries};

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
