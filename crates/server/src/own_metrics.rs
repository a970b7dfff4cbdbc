//! Figures of the process and its listener at `/metrics`: connections, memory, CPU time, threads.

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

use crate::ListenerStats;

/// Adds the process's figures to what `/metrics` shows.
pub(crate) fn register(metrics: &ApiMetrics, stats: Arc<ListenerStats>) {
    metrics.register(|registry| registry.register_collector(Box::new(ProcessFigures { stats })));
}

struct ProcessFigures {
    stats: Arc<ListenerStats>,
}

impl fmt::Debug for ProcessFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProcessFigures")
    }
}

impl Collector for ProcessFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stats = &self.stats;
        let counters = [
            ("connections_accepted", "Connections accepted", stats.accepted.load(Ordering::Relaxed)),
            ("connections_refused", "Connections beyond the limit", stats.refused.load(Ordering::Relaxed)),
            ("connections_cut", "Connections of slow or idle clients cut", stats.cut.load(Ordering::Relaxed)),
        ];
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        let mut gauges = vec![
            ("connections", "Connections open now", stats.open.load(Ordering::Relaxed)),
            ("requests", "Requests whose answer is not ready yet", stats.requests.load(Ordering::Relaxed)),
        ];
        if let Some(status) = ProcessStatus::read() {
            gauges.push(("process_resident_bytes", "Memory in RAM", status.resident_bytes));
            gauges.push(("process_threads", "Threads", status.threads));
        }
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = usage.tv_sec as f64 + usage.tv_nsec as f64 / 1e9;
        let counter = ConstCounter::new(seconds);
        let name = "process_cpu_seconds";
        counter.encode(encoder.encode_descriptor(name, "CPU time used", None, counter.metric_type())?)
    }
}

/// What the kernel says of this process.
struct ProcessStatus {
    resident_bytes: u64,
    threads: u64,
}

impl ProcessStatus {
    /// `None` where there is no `/proc`.
    fn read() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/status").ok()?;
        let number = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some(Self { resident_bytes: number("VmRSS:")?.checked_mul(1024)?, threads: number("Threads:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_knows_this_process() {
        let status = ProcessStatus::read().unwrap();
        assert!(status.resident_bytes > 100_000, "{}", status.resident_bytes);
        assert!(status.threads >= 1);
    }
}
