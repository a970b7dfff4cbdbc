//! Scraping: profiles are fetched from targets that serve them over HTTP, as Go's `net/http/pprof` does.
//!
//! [`ScrapeConfig`] is `scrape_configs` as Prometheus and Parca write them; discovery and relabelling turn it into
//! [`Target`]s; a [`Scraper`] asks each at its interval and hands what comes to a [`Sink`]. The crate decodes nothing and
//! keeps nothing, so that a server and an agent can share it.
//!
//! Not here: routes and tenants' rights (`server`), what a profile means (`formats`), differences of counters (`store`).

mod check;
mod client;
mod config;
mod discovery;
mod engine;
#[cfg(test)]
mod fake;
mod files;
mod limits;
mod relabel;
mod sink;
mod target;
mod yaml;

pub use check::{CheckedJob, check, check_blocking};
pub use client::{FailureKind, ScrapeError};
pub use config::{ConfigError, Job, ScrapeConfig, fuzz_config, fuzz_relabel};
pub use discovery::fuzz_targets;
pub use engine::{
    DiscoveryStatus, JobStatus, LastScrape, ScrapeMetrics, Scraper, TargetStatus, UnusedTarget,
};
pub use relabel::Labels;
pub use sink::{Kept, Scraped, Sink};
pub use target::Target;
