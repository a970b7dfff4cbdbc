//! Metrics from profiles: rules that add up one column of every accepted profile that a selector takes, as counters.
//!
//! A [`RuleSpec`] is what a person writes (selector, labels to group by, maybe a function), a [`Rule`] is one that was
//! checked. The [`RuleBook`] has the rules of all tenants and their sums; the store calls it for each accepted profile
//! ([`store::Tally`]) and keeps its state, so a counter is exactly the sum over all profiles accepted since its rule was
//! made, each once, across any crash. What a monitoring system reads is made here too: text to scrape ([`text`]) and
//! bodies for remote write ([`remote`]).
//!
//! Not here: HTTP and RPC (`api`, `server`), how a profile is asked (`query::Counting`), when it is counted (`store`).

mod book;
mod error;
mod file;
mod kept;
pub mod limits;
pub mod remote;
mod rule;
mod sums;
pub mod text;

pub use book::{RuleBook, RuleChange, RuleStats};
pub use error::RuleError;
pub use file::{FileRule, fuzz_rules, read_file};
pub use rule::{REST_LABEL, RULE_LABEL, Rule, RuleSpec};
pub use sums::MetricSeries;
