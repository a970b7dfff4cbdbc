//! Whole sets over a real socket: CPU until settled, log, folder, memory.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use super::{
    Bench,
    everflame::Server,
    sidebyside::{DrawnSet, Pushed},
};
use crate::{
    BenchError,
    clock::best_of,
    figure::{Figure, Limit},
};

/// What pushing a set did to a server.
struct Measured {
    pushed: Pushed,
    cpu: f64,
    /// (records, bytes) of the log, sampled while the set was pushed.
    log: Vec<(f64, f64)>,
}

impl Measured {
    fn fault(&self) -> Option<String> {
        let lost = self.pushed.sent - self.pushed.ok;
        (lost > 0).then(|| {
            format!("{lost} of {} refused: {}", self.pushed.sent, self.pushed.error.as_deref().unwrap_or(""))
        })
    }
}

fn push(bench: &Bench, server: &Server, set: &DrawnSet) -> Result<Measured, BenchError> {
    let before = server.cpu_seconds()?;
    let done = AtomicBool::new(false);
    let mut log = Vec::new();
    let pushed = thread::scope(|scope| {
        let pusher = scope.spawn(|| {
            let pushed = bench.generator.push(set, &server.url).map_err(|error| error.to_string());
            done.store(true, Ordering::SeqCst);
            pushed
        });
        while !done.load(Ordering::SeqCst) {
            let records = server.metric("everflame_log_records_total");
            let bytes = server.metric("everflame_log_written_bytes_total");
            if let (Ok(records), Ok(bytes)) = (records, bytes) {
                log.push((records, bytes));
            }
            thread::sleep(Duration::from_millis(250));
        }
        pusher.join().unwrap_or_else(|_| Err("the pusher panicked".to_owned()))
    })?;
    server.settle()?;
    Ok(Measured { pushed, cpu: server.cpu_seconds()? - before, log })
}

fn cpu_figure(name: &str, measured: &Measured, set: &DrawnSet, limit: f64) -> Result<Figure, BenchError> {
    let gzip = best_of(2, || set.gzip_seconds().unwrap_or(f64::INFINITY));
    let each = |seconds: f64| seconds / set.len() as f64 * 1e6;
    let reference = format!(
        "gzip -dc {:.0} us each; {} profiles, server {:.0} us each until settled",
        each(gzip),
        measured.pushed.ok,
        each(measured.cpu)
    );
    Ok(Figure::new(name, measured.cpu / gzip, "×", Limit::AtMost(limit), reference)
        .with_fault(measured.fault()))
}

/// `mix-cpu`, `mix-rss`.
///
/// # Errors
/// When server or generator fail.
pub fn mix(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let set = bench.generator.set("mix", "mix", &[])?;
    let server = bench.binary.start("mix", &[])?;
    let measured = push(bench, &server, &set)?;
    let rss = server.memory_mb("VmRSS")?;
    let peak = server.memory_mb("VmHWM")?;
    Ok(vec![
        cpu_figure("mix-cpu", &measured, &set, 1.0)?,
        Figure::new(
            "mix-rss",
            rss,
            "MB",
            Limit::AtMost(200.0),
            format!("after {} profiles; peak {peak:.0} MB", set.len()),
        )
        .with_fault(measured.fault()),
    ])
}

/// `one-cpu`, `one-log`, `one-folder`.
///
/// # Errors
/// When server or generator fail.
pub fn one(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let set = bench.generator.set("one", "one", &[])?;
    let server = bench.binary.start("one", &[])?;
    let measured = push(bench, &server, &set)?;
    // The last tenth of the set, by the samples next to it.
    let last = measured.log.last().copied().unwrap_or((0.0, 0.0));
    let first =
        measured.log.iter().copied().rfind(|(records, _)| *records <= last.0 * 0.9).unwrap_or((0.0, 0.0));
    let record = (last.1 - first.1) / (last.0 - first.0).max(1.0);
    let folder = server.disk_bytes()? as f64 / measured.pushed.ok.max(1) as f64;
    Ok(vec![
        cpu_figure("one-cpu", &measured, &set, 1.3)?,
        Figure::new(
            "one-log",
            record / 1e3,
            "kB",
            Limit::AtMost(1.6),
            format!("log record per profile, records {:.0} to {:.0}", first.0, last.0),
        ),
        Figure::new(
            "one-folder",
            folder / 1e3,
            "kB",
            Limit::AtMost(3.0),
            format!("data folder per profile, settled; {:.0} blocks", server.metric("everflame_blocks")?),
        ),
    ])
}

/// `large-cpu`, `large-rss`.
///
/// # Errors
/// When server or generator fail.
pub fn large(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let further = ["-services", "1", "-pods", "1", "-intervals", "1", "-rows", "387000"];
    let set = bench.generator.set("large", "one", &further)?;
    let server = bench.binary.start("large", &[])?;
    let idle = server.memory_mb("VmRSS")?;
    server.reset_peak();
    let measured = push(bench, &server, &set)?;
    let more = server.memory_mb("VmHWM")? - idle;
    let shape = format!("{} rows, {:.1} MB raw", set.rows(), set.raw_bytes() as f64 / 1e6);
    Ok(vec![
        Figure::new("large-cpu", measured.cpu, "s", Limit::AtMost(1.0), format!("until settled; {shape}"))
            .with_fault(measured.fault()),
        Figure::new(
            "large-rss",
            more,
            "MB",
            Limit::AtMost(250.0),
            format!("peak beyond {idle:.0} MB idle; {shape}"),
        )
        .with_fault(measured.fault()),
    ])
}
