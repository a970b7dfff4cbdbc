//! Pyroscope's queries over a real socket, to the last byte: what a landing page and a flame graph cost.
//!
//! *Warm* as elsewhere: each query runs once unmeasured. The server keeps no answers.

use super::{Bench, sidebyside::Queried};
use crate::{
    BenchError,
    figure::{Figure, Limit},
};

/// `query-services`, `query-values` over 1,000 services; `query-flame`, `query-pprof` over 10,240 profiles of one.
///
/// # Errors
/// When server or generator fail.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let many = ["-services", "1000", "-pods", "1", "-intervals", "1"];
    let mut figures = asked(
        bench,
        ("thousand", "fleet", &many),
        "{}",
        50,
        &[("services", "query-services", 20.0), ("label_values_pod", "query-values", 5.0)],
    )?;
    figures.extend(asked(
        bench,
        ("one", "one", &[]),
        r#"{service_name="checkout-go"}"#,
        10,
        &[("merge_flamegraph", "query-flame", 80.0), ("merge_pprof", "query-pprof", 500.0)],
    )?);
    Ok(figures)
}

/// Pushes a set, waits until it is in blocks, and asks: (query of the generator, figure, most ms of CPU).
fn asked(
    bench: &Bench,
    (name, kind, further): (&str, &str, &[&str]),
    selector: &str,
    runs: usize,
    wanted: &[(&str, &str, f64)],
) -> Result<Vec<Figure>, BenchError> {
    let set = bench.generator.set(name, kind, further)?;
    let server = bench.binary.start("query", &[])?;
    let pushed = bench.generator.push(&set, &server.url)?;
    if pushed.ok < pushed.sent {
        return Err(format!("{} of {} pushes refused", pushed.sent - pushed.ok, pushed.sent).into());
    }
    server.settle()?;
    let names: Vec<&str> = wanted.iter().map(|(query, ..)| *query).collect();
    let answers = bench.generator.query(&server.url, server.id(), selector, runs, &names)?;
    let lines = answers.into_iter().zip(wanted);
    Ok(lines.map(|(answer, &(_, figure, limit))| line(answer, figure, limit, set.len(), runs)).collect())
}

fn line(answer: Queried, figure: &str, limit: f64, profiles: usize, runs: usize) -> Figure {
    let Queried { name, cpu_ms, p50_ms, reply_bytes, fault } = answer;
    let reference = format!(
        "server CPU of {name}, mean of {runs}; p50 {p50_ms:.1} ms, {} kB; {profiles} profiles in blocks",
        reply_bytes / 1000
    );
    let fault = fault.or_else(|| (reply_bytes == 0).then(|| "an empty answer".to_owned()));
    Figure::new(figure, cpu_ms, "ms", Limit::AtMost(limit), reference).with_fault(fault)
}
