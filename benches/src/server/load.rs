//! The server under a load that it must answer exactly: 24 pushers, 4 queriers, pairs of a push and its query, then 100
//! merges at once over everything.

use testkit::{LoadPlan, LoadReport, run_load};

use super::Bench;
use crate::{
    BenchError,
    figure::{Figure, Limit},
};

/// `load-faults`, `load-rss`, `load-pairs`, `load-flushes`, `load-merges`.
///
/// # Errors
/// When server or generator fail.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let set = bench.generator.set("one", "one", &[])?;
    let profiles = set.profiles()?;
    let wanted: i64 = profiles.iter().map(|profile| profile.value).sum();
    // Short, so that several heads become blocks while the load runs.
    let server = bench.binary.start("load", &["--flush-interval", "5s"])?;
    let plan = LoadPlan {
        pushers: 24,
        queriers: 4,
        merges: 100,
        pairs: 1200,
        selector: r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="checkout-go"}"#.to_owned(),
        pair_selector: r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="pairs""#.to_owned(),
    };
    let cpu = server.cpu_seconds()?;
    let report = run_load(&server.url, &plan, &profiles);
    let cpu = server.cpu_seconds()? - cpu;
    let peak = server.memory_mb("VmHWM")?;
    let flushes = server.metric("everflame_flushes_total")?;
    for fault in &report.faults {
        eprintln!("load: {fault}");
    }
    let total = (report.value != wanted).then(|| format!("total {} instead of {wanted}", report.value));
    Ok(figures(&report, profiles.len(), peak, flushes, cpu)
        .into_iter()
        .map(|figure| figure.with_fault(total.clone()))
        .collect())
}

fn figures(report: &LoadReport, sent: usize, peak: f64, flushes: f64, cpu: f64) -> Vec<Figure> {
    let seconds = report.push_time.as_secs_f64();
    vec![
        Figure::new(
            "load-faults",
            report.faults.len() as f64,
            "faults",
            Limit::AtMost(0.0),
            format!(
                "{} of {sent} acknowledged in {seconds:.1} s, {} queries meanwhile; {cpu:.1} CPU s in all",
                report.acknowledged, report.queries
            ),
        ),
        Figure::new("load-rss", peak, "MB", Limit::AtMost(400.0), "peak".to_owned()),
        Figure::new(
            "load-pairs",
            report.pairs as f64,
            "pairs",
            Limit::AtLeast(1000.0),
            "a push and the very next query that saw it".to_owned(),
        ),
        Figure::new("load-flushes", flushes, "flushes", Limit::AtLeast(3.0), "while the load ran".to_owned()),
        Figure::new(
            "load-merges",
            report.merges as f64,
            "merges",
            Limit::AtLeast(100.0),
            format!(
                "at once over all of it, exact; {:.1} s in all, slowest {:.1} s",
                report.merge_time.as_secs_f64(),
                report.merge_slowest.as_secs_f64()
            ),
        ),
    ]
}
