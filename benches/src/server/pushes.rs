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
    figure::{Figure, Limit},
};

/// What pushing a set did to a server.
struct Measured {
    pushed: Pushed,
    cpu: f64,
    /// Profiles that the server says it keeps.
    kept: f64,
    /// Flushes while the set was pushed: after each, records carry their symbols once more.
    flushes: f64,
    /// (records, bytes) of the log, sampled while the set was pushed, and once when it was.
    log: Vec<(f64, f64)>,
    /// The best of one run before and one after.
    gzip: f64,
}

impl Measured {
    fn fault(&self) -> Option<String> {
        let lost = self.pushed.sent - self.pushed.ok;
        if lost > 0 {
            let error = self.pushed.error.as_deref().unwrap_or("");
            return Some(format!("{lost} of {} refused: {error}", self.pushed.sent));
        }
        let kept = self.kept;
        (kept != self.pushed.ok as f64).then(|| format!("{kept} kept of {} acknowledged", self.pushed.ok))
    }
}

/// Whether the log is looked at while a set is pushed: asking takes CPU of the server that is not the set's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    Sampled,
    Ignored,
}

fn push(bench: &Bench, server: &Server, set: &DrawnSet, sampling: Log) -> Result<Measured, BenchError> {
    let gzip = set.gzip_seconds()?;
    let before = server.cpu_seconds()?;
    let done = AtomicBool::new(false);
    let mut log = Vec::new();
    let pushed = thread::scope(|scope| {
        let pusher = scope.spawn(|| {
            let pushed = bench.generator.push(set, &server.url).map_err(|error| error.to_string());
            done.store(true, Ordering::SeqCst);
            pushed
        });
        while sampling == Log::Sampled && !done.load(Ordering::SeqCst) {
            // a server too busy to answer leaves a gap; the sample below tells when it never answers
            log.extend(log_so_far(server));
            thread::sleep(Duration::from_millis(250));
        }
        pusher.join().unwrap_or_else(|_| Err("the pusher panicked".to_owned()))
    })?;
    log.push(log_so_far(server)?);
    let flushes = server.metric("everflame_flushes_total")?;
    server.settle()?;
    let cpu = server.cpu_seconds()? - before;
    let kept = server.metric("everflame_store_profiles_total")?;
    Ok(Measured { pushed, cpu, kept, flushes, log, gzip: gzip.min(set.gzip_seconds()?) })
}

/// Records of the log and their bytes.
fn log_so_far(server: &Server) -> Result<(f64, f64), BenchError> {
    let records = server.metric("everflame_log_records_total")?;
    Ok((records, server.metric("everflame_log_written_bytes_total")?))
}

/// Microseconds of each profile of a set.
fn each(seconds: f64, set: &DrawnSet) -> f64 {
    seconds / set.len() as f64 * 1e6
}

/// The best of one run or several over the best of the reference.
fn cpu_figure(name: &str, runs: &[Measured], set: &DrawnSet, limit: f64) -> Figure {
    let least = |values: &dyn Fn(&Measured) -> f64| runs.iter().map(values).fold(f64::INFINITY, f64::min);
    let (cpu, gzip) = (least(&|run| run.cpu), least(&|run| run.gzip));
    let all: Vec<String> = runs.iter().map(|run| format!("{:.0}", each(run.cpu, set))).collect();
    let reference = format!(
        "gzip -dc {:.0} us each; {} profiles, server on one core {} us each until settled",
        each(gzip, set),
        set.len(),
        all.join(", ")
    );
    Figure::new(name, cpu / gzip, "×", Limit::AtMost(limit), reference).with_fault(fault_of(runs))
}

fn fault_of(runs: &[Measured]) -> Option<String> {
    runs.iter().find_map(Measured::fault)
}

/// `mix-cpu`, `mix-rss`.
///
/// A server's CPU time of a second is a tenth longer or shorter from run to run on a machine that is shared with others,
/// so each run has a new server and the best counts, as for the reference beside it; for memory, the worst. Servers are
/// bound to one core; what one costs that is not is said beside the figure, and its memory counts too.
///
/// # Errors
/// When server or generator fail.
pub fn mix(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    const RUNS: usize = 4;
    let set = bench.generator.set("mix", "mix", &[])?;
    let mut runs = Vec::new();
    let (mut rss, mut peak) = (0.0_f64, 0.0_f64);
    let mut measure = |server: Server| {
        let measured = push(bench, &server, &set, Log::Ignored)?;
        rss = rss.max(server.memory_mb("VmRSS")?);
        peak = peak.max(server.memory_mb("VmHWM")?);
        Ok::<_, BenchError>(measured)
    };
    for _ in 0..RUNS {
        runs.push(measure(bench.binary.start_on_one_core("mix", &[])?)?);
    }
    let free = measure(bench.binary.start("mix", &[])?)?;
    let mut cpu = cpu_figure("mix-cpu", &runs, &set, 1.0);
    cpu.reference.push_str(&format!("; on all cores {:.0}", each(free.cpu, &set)));
    cpu.fault = cpu.fault.or_else(|| free.fault());
    runs.push(free);
    Ok(vec![
        cpu,
        Figure::new(
            "mix-rss",
            rss,
            "MB",
            Limit::AtMost(200.0),
            format!("after {} profiles; peak {peak:.0} MB", set.len()),
        )
        .with_fault(fault_of(&runs)),
    ])
}

/// `one-cpu`, `one-log`, `one-folder`.
///
/// The server runs with the settings it comes with. "At the end of `one`" is the last tenth of the set: by then a record
/// names few stacks that the log does not have yet. Should a flush fall into the push, symbols begin anew and the
/// figure can only be the larger; the line says how many did. The folder is measured when all profiles are in blocks,
/// with whatever is left of the log counted.
///
/// # Errors
/// When server or generator fail.
pub fn one(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let set = bench.generator.set("one", "one", &[])?;
    let server = bench.binary.start_on_one_core("one", &[])?;
    let measured = push(bench, &server, &set, Log::Sampled)?;
    let (first, last) = last_tenth(&measured.log).ok_or("the log was not seen to grow")?;
    let record = (last.1 - first.1) / (last.0 - first.0);
    let unlogged = (last.0 < measured.pushed.ok as f64)
        .then(|| format!("{:.0} records for {} profiles", last.0, measured.pushed.ok));
    let folder = server.disk_bytes()? as f64 / measured.pushed.ok.max(1) as f64;
    Ok(vec![
        cpu_figure("one-cpu", std::slice::from_ref(&measured), &set, 1.3),
        Figure::new(
            "one-log",
            record / 1e3,
            "kB",
            Limit::AtMost(1.6),
            format!(
                "log record per profile, records {:.0} to {:.0}; all {:.2} kB; {:.0} flushes before",
                first.0,
                last.0,
                last.1 / last.0 / 1e3,
                measured.flushes
            ),
        )
        .with_fault(measured.fault().or(unlogged)),
        Figure::new(
            "one-folder",
            folder / 1e3,
            "kB",
            Limit::AtMost(3.0),
            format!("data folder per profile, settled; {:.0} blocks", server.metric("everflame_blocks")?),
        )
        .with_fault(measured.fault()),
    ])
}

/// The last sample at or before nine tenths of the records, and the last of all.
fn last_tenth(log: &[(f64, f64)]) -> Option<((f64, f64), (f64, f64))> {
    let last = log.last().copied()?;
    let first = log.iter().copied().rfind(|(records, _)| *records <= last.0 * 0.9)?;
    Some((first, last))
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
    let measured = push(bench, &server, &set, Log::Ignored)?;
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
