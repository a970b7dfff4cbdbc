//! Counters of the APIs, exported at `/metrics` with the store's own figures.
//!
//! Labels are bounded sets: words of our own enums, never anything that a client sent.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use profile::Altered;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text},
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
        histogram::Histogram,
    },
    registry::{Registry, Unit},
};
use store::{Outcome, Store, StoreState};

type Words<const N: usize> = [(&'static str, &'static str); N];

/// The APIs' counters and the registry that everything of this process is registered in.
pub struct ApiMetrics {
    registry: Mutex<Registry>,
    pushes: Family<Words<2>, Counter>,
    push_errors: Family<Words<2>, Counter>,
    push_bytes: Family<Words<1>, Counter>,
    push_time: Family<Words<1>, Histogram, fn() -> Histogram>,
    empty_profiles: Counter,
    altered: Family<Words<1>, Counter>,
    queries: Family<Words<1>, Histogram, fn() -> Histogram>,
    query_errors: Family<Words<2>, Counter>,
}

/// Fine up to what a sync of a busy disk takes, seconds.
fn push_histogram() -> Histogram {
    Histogram::new([
        0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
    ])
}

fn query_histogram() -> Histogram {
    Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])
}

impl ApiMetrics {
    /// Counters at zero; the store's figures are read when somebody asks.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("everflame")),
            pushes: Family::default(),
            push_errors: Family::default(),
            push_bytes: Family::default(),
            push_time: Family::new_with_constructor(push_histogram as fn() -> Histogram),
            empty_profiles: Counter::default(),
            altered: Family::default(),
            queries: Family::new_with_constructor(query_histogram as fn() -> Histogram),
            query_errors: Family::default(),
        };
        metrics.register(|registry| {
            registry.register("pushes", "Profiles taken in, by API and outcome", metrics.pushes.clone());
            registry.register(
                "push_errors",
                "Profiles refused, by API and kind",
                metrics.push_errors.clone(),
            );
            registry.register("push_received", "Profile bytes as sent, by API", metrics.push_bytes.clone());
            registry.register_with_unit(
                "push_duration",
                "Time of a request's profiles from the body that was read to the sync that keeps them, by API",
                Unit::Seconds,
                metrics.push_time.clone(),
            );
            registry.register("empty_profile", "Profiles without samples", metrics.empty_profiles.clone());
            registry.register("altered", "Parts of profiles changed or left out", metrics.altered.clone());
            registry.register_with_unit(
                "query_duration",
                "Time of queries by call, waiting included",
                Unit::Seconds,
                metrics.queries.clone(),
            );
            registry.register("query_errors", "Queries without an answer", metrics.query_errors.clone());
            registry.register_collector(Box::new(StoreFigures { store }));
        });
        metrics
    }

    /// Lets another part of the process register its metrics.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Everything in OpenMetrics text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        match text::encode(&mut text, &registry) {
            Ok(()) => text,
            Err(fmt::Error) => String::new(),
        }
    }

    /// A profile was taken in.
    pub fn pushed(&self, api: &'static str, outcome: Outcome, altered: &Altered, bytes: usize) {
        let word = match outcome {
            Outcome::Stored => "stored",
            Outcome::Duplicate => "duplicate",
            Outcome::Empty => "empty",
            Outcome::Baseline => "baseline",
        };
        self.pushes.get_or_create(&[("api", api), ("outcome", word)]).inc();
        self.push_bytes.get_or_create(&[("api", api)]).inc_by(u64::try_from(bytes).unwrap_or(u64::MAX));
        if outcome == Outcome::Empty {
            self.empty_profiles.inc();
        }
        for (reason, count) in altered.sorted() {
            self.altered.get_or_create(&[("reason", reason.word())]).inc_by(count);
        }
    }

    /// The profiles of one request were worked on, whatever became of them.
    pub fn push_took(&self, api: &'static str, time: Duration) {
        self.push_time.get_or_create(&[("api", api)]).observe(time.as_secs_f64());
    }

    /// A profile was refused.
    pub fn push_refused(&self, api: &'static str, kind: crate::ErrorKind) {
        self.push_errors.get_or_create(&[("api", api), ("kind", kind.word())]).inc();
    }

    /// A query ended, with an answer or without.
    pub fn queried(&self, call: &'static str, time: Duration, error: Option<crate::ErrorKind>) {
        self.queries.get_or_create(&[("call", call)]).observe(time.as_secs_f64());
        if let Some(kind) = error {
            self.query_errors.get_or_create(&[("call", call), ("kind", kind.word())]).inc();
        }
    }
}

/// Reads the store's figures when they are asked for.
struct StoreFigures {
    store: Arc<Store>,
}

impl fmt::Debug for StoreFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreFigures")
    }
}

impl Collector for StoreFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stats = self.store.stats();
        let counters = [
            ("store_profiles", "Profiles kept since start", stats.profiles),
            ("store_duplicates", "Pushes recognised as retries since start", stats.duplicates),
            ("log_written_bytes", "Bytes appended to the log since start", stats.log_bytes),
            ("log_records", "Records appended to the log since start", stats.log_records),
            ("log_syncs", "Syncs of the log since start", stats.log_syncs),
            ("flushes", "Flushes of heads into blocks since start", stats.flushes),
            ("blocks_dropped", "Blocks dropped by retention since start", stats.blocks_dropped),
        ];
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        let read_only = u64::from(self.store.state() != StoreState::Ready);
        let gauges = [
            ("head_bytes", "Bytes held by heads, estimated", stats.head_bytes),
            ("head_profiles", "Profiles in heads", stats.head_profiles),
            ("blocks", "Blocks in the catalogue", stats.blocks),
            ("blocks_unreadable", "Blocks found not to be readable", stats.blocks_unreadable),
            ("block_bytes", "Bytes of all blocks", stats.block_bytes),
            ("free_bytes", "Free bytes of the file system", stats.free_bytes),
            ("read_only", "1 while pushes are refused", read_only),
        ];
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            let metric = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            gauge.encode(metric)?;
        }
        Ok(())
    }
}
