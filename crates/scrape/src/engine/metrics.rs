//! Figures of scraping. Labels are words of our own, never anything that a target sent.

use std::{fmt, sync::Weak, time::Duration};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::Counter, family::Family, gauge::ConstGauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::Shared;
use crate::{ScrapeError, sink::Kept};

/// Counters of all scrapes.
pub struct ScrapeMetrics {
    scrapes: Family<[(&'static str, &'static str); 1], Counter>,
    seconds: Histogram,
    bytes: Counter,
}

impl Default for ScrapeMetrics {
    fn default() -> Self {
        Self {
            scrapes: Family::default(),
            seconds: Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]),
            bytes: Counter::default(),
        }
    }
}

impl ScrapeMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("scrapes", "Scrapes that ended, by outcome", self.scrapes.clone());
        registry.register_with_unit(
            "scrape_duration",
            "Time of scrapes, that of taking the profile included",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register_with_unit(
            "scrape_received",
            "Bytes of scraped profiles as received",
            Unit::Bytes,
            self.bytes.clone(),
        );
    }

    pub(super) fn ended(&self, took: Duration, bytes: usize, outcome: &Result<Kept, ScrapeError>) {
        let word = match outcome {
            Ok(kept) => kept.word(),
            Err(error) => error.kind.word(),
        };
        self.scrapes.get_or_create(&[("outcome", word)]).inc();
        self.seconds.observe(took.as_secs_f64());
        self.bytes.inc_by(u64::try_from(bytes).unwrap_or(u64::MAX));
    }
}

/// Counts targets when somebody asks.
pub(super) struct TargetFigures(pub Weak<Shared>);

impl fmt::Debug for TargetFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TargetFigures")
    }
}

impl Collector for TargetFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut sums = [0_usize; 6];
        let views = self.0.upgrade().map(|shared| shared.views()).unwrap_or_default();
        for view in views {
            for (sum, count) in sums.iter_mut().zip(view.counts()) {
                *sum += count;
            }
        }
        let gauge = |count: usize| ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
        let help = "Targets, counted once for each kind of profile, by what is known of them";
        let mut targets = encoder.encode_descriptor("scrape_targets", help, None, gauge(0).metric_type())?;
        for (word, count) in ["up", "down", "unknown", "unusable", "dropped"].into_iter().zip(sums) {
            gauge(count).encode(targets.encode_family(&[("health", word)])?)?;
        }
        let help = "Discoveries whose last look failed";
        let failed = gauge(sums[5]);
        let metric =
            encoder.encode_descriptor("scrape_discoveries_failed", help, None, failed.metric_type())?;
        failed.encode(metric)
    }
}
