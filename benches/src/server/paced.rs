//! A steady fleet: 500 profiles a second of 200 services from 64 connections for a minute.

use super::{Bench, everflame::Server};
use crate::{
    BenchError,
    figure::{Figure, Limit},
};

/// Profiles per second.
const RATE: f64 = 500.0;

/// `paced-p99`, `paced-cpu`.
///
/// # Errors
/// When server or generator fail.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let set = bench.generator.set("fleet", "fleet", &[])?;
    let server = bench.binary.start("paced", &[])?;
    let before = server.cpu_seconds()?;
    let pushed = bench.generator.push_with(&set, &server.url, &["-rate", "500", "-loop", "60s"])?;
    let cpu = server.cpu_seconds()? - before;
    let times = PushTimes::of(&server)?;
    let rate = pushed.ok as f64 / pushed.seconds.max(1e-9);
    let refused = pushed.sent - pushed.ok;
    let mut fault = (refused > 0).then(|| {
        let error = pushed.error.as_deref().unwrap_or("");
        format!("{refused} of {} refused: {error}", pushed.sent)
    });
    if rate < RATE * 0.99 {
        fault = fault.or(Some(format!("only {rate:.0} a second were taken in")));
    }
    let (p50, p99) = (pushed.p50_ms, pushed.p99_ms);
    Ok(vec![
        Figure::new(
            "paced-p99",
            times.percentile(0.99).ok_or("no push was timed")? * 1e3,
            "ms",
            Limit::AtMost(50.0),
            format!("body read to acknowledged, at most; the client sees p50 {p50:.1} ms, p99 {p99:.1} ms"),
        )
        .with_fault(fault.clone()),
        Figure::new(
            "paced-cpu",
            cpu / pushed.seconds.max(1e-9) * 100.0,
            "%",
            Limit::AtMost(60.0),
            format!("of one core at {rate:.0} profiles a second; {} profiles, 200 services", pushed.ok),
        )
        .with_fault(fault),
    ])
}

/// The server's own histogram of pushes: upper bounds in seconds with the number of pushes up to there.
struct PushTimes(Vec<(f64, f64)>);

impl PushTimes {
    fn of(server: &Server) -> Result<Self, BenchError> {
        let text = server.metrics()?;
        let buckets = text.lines().filter_map(bucket);
        Ok(Self(buckets.collect()))
    }

    /// The upper bound of the bucket that a share of all pushes reaches into; infinite beyond the last one.
    fn percentile(&self, share: f64) -> Option<f64> {
        let all = self.0.last()?.1;
        self.0.iter().find(|(_, count)| *count >= all * share).map(|(bound, _)| *bound)
    }
}

fn bucket(line: &str) -> Option<(f64, f64)> {
    let rest = line.strip_prefix("everflame_push_duration_seconds_bucket{")?;
    let (labels, count) = rest.split_once("} ")?;
    if !labels.contains("api=\"push\"") {
        return None;
    }
    let bound = labels.split_once("le=\"")?.1.split('"').next()?;
    let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
    Some((bound, count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_bounds() {
        let lines = [
            "everflame_push_duration_seconds_bucket{le=\"0.01\",api=\"push\"} 90",
            "everflame_push_duration_seconds_bucket{le=\"0.05\",api=\"push\"} 99",
            "everflame_push_duration_seconds_bucket{le=\"0.05\",api=\"ingest\"} 1000",
            "everflame_push_duration_seconds_bucket{le=\"+Inf\",api=\"push\"} 100",
            "everflame_push_duration_seconds_count{api=\"push\"} 100",
        ];
        let times = PushTimes(lines.into_iter().filter_map(bucket).collect());
        assert_eq!(times.percentile(0.5), Some(0.01));
        assert_eq!(times.percentile(0.99), Some(0.05));
        assert_eq!(times.percentile(0.999), Some(f64::INFINITY));
        assert_eq!(PushTimes(Vec::new()).percentile(0.5), None);
    }
}
