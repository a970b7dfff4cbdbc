//! Figures of rules and of remote write at `/metrics`.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use api::ApiMetrics;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};
use rules::RuleBook;

use crate::remote_write::RemoteWriteStats;

/// Adds the figures to what `/metrics` shows.
pub(crate) fn register(metrics: &ApiMetrics, book: Arc<RuleBook>, remote: Option<Arc<RemoteWriteStats>>) {
    metrics.register(|registry| registry.register_collector(Box::new(RuleFigures { book, remote })));
}

struct RuleFigures {
    book: Arc<RuleBook>,
    remote: Option<Arc<RemoteWriteStats>>,
}

impl fmt::Debug for RuleFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RuleFigures")
    }
}

impl Collector for RuleFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stats = self.book.stats();
        let mut counters = vec![
            ("rule_rest_values", "Values counted as the rest, no group being left", stats.rest_values),
            ("rule_unreadable_profiles", "Profiles that rules could not read", stats.unreadable),
        ];
        let mut gauges = vec![
            ("rules", "Rules that count profiles", stats.rules),
            ("rule_groups", "Counters of these rules", stats.groups),
        ];
        if let Some(remote) = &self.remote {
            counters.extend([
                ("remote_write_sent_samples", "Samples that were taken", remote.sent.load(Ordering::Relaxed)),
                ("remote_write_refused_samples", "Samples refused", remote.refused.load(Ordering::Relaxed)),
                (
                    "remote_write_dropped_samples",
                    "Samples never sent",
                    remote.dropped.load(Ordering::Relaxed),
                ),
                ("remote_write_failures", "Requests tried again", remote.failures.load(Ordering::Relaxed)),
            ]);
            let last = remote.last_millis.load(Ordering::Relaxed).max(0).cast_unsigned() / 1_000;
            gauges.extend([
                ("remote_write_queued_samples", "Samples that wait", remote.queued.load(Ordering::Relaxed)),
                ("remote_write_last_seconds", "When samples were taken last, s since the epoch", last),
            ]);
        }
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}
