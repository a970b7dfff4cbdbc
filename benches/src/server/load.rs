//! The server under a load that it must answer exactly: 24 pushers and 4 queriers without pause, then 100 merges at once
//! over everything, and all the while pairs of a push and its query. The server keeps no answers, so there is no cache
//! to be switched off.

use testkit::{LoadPlan, LoadReport, merged_total, run_load};

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
        pairs: 1000,
        flushes: 3,
        selector: r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="checkout-go"}"#.to_owned(),
        pair_selector: r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="pairs""#.to_owned(),
    };
    let cpu = server.cpu_seconds()?;
    let report = run_load(&server.url, &plan, &profiles);
    let cpu = server.cpu_seconds()? - cpu;
    let peak = server.memory_mb("VmHWM")?;
    for fault in &report.faults {
        eprintln!("load: {fault}");
    }
    server.settle()?;
    let settled = merged_total(&server.url, &plan.selector)?;
    let mut fault = None;
    for (what, total) in [("acknowledged", report.value), ("total of all blocks", settled)] {
        if total != wanted {
            fault = fault.or(Some(format!("{what} {total} instead of {wanted}")));
        }
    }
    if report.queries_least == 0 {
        fault = fault.or(Some("a querier got no answer while profiles were pushed".to_owned()));
    }
    Ok(figures(&report, profiles.len(), peak, cpu)
        .into_iter()
        .map(|figure| figure.with_fault(fault.clone()))
        .collect())
}

fn figures(report: &LoadReport, sent: usize, peak: f64, cpu: f64) -> Vec<Figure> {
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
            format!(
                "the query right after a push saw it, of {} tried from first push to last merge",
                report.pairs_tried
            ),
        )
        .with_fault((report.pairs < report.pairs_tried).then(|| "not all did".to_owned())),
        Figure::new(
            "load-flushes",
            report.pairs_flushes as f64,
            "flushes",
            Limit::AtLeast(3.0),
            "between the first pair and the last, with --flush-interval 5s".to_owned(),
        ),
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
