//! Figures of single steps: one push, one `top`, one start.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use testkit::{Fleet, FleetOptions, LoadProfile};

use super::Bench;
use crate::{
    BenchError,
    clock::children_seconds,
    figure::{Figure, Limit},
};

/// `latency`: time from a push to its acknowledgement on an idle server beyond a bare fdatasync of the same bytes.
///
/// # Errors
/// When a push is refused.
pub fn latency(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    const PUSHES: usize = 200;
    let server = bench.binary.start("latency", &[])?;
    let options = FleetOptions { pods: 1, intervals: PUSHES, ..FleetOptions::one() };
    let profiles: Vec<LoadProfile> = Fleet::new(options).map(LoadProfile::of).collect();
    let mut bare = fs::File::create(server.data_dir.with_extension("sync"))?;
    let (mut pushes, mut syncs) = (Vec::new(), Vec::new());
    for profile in &profiles {
        let begun = Instant::now();
        let (status, text) = server.post(&format!("/api/v1/push?{}", profile.query), &profile.body)?;
        pushes.push(begun.elapsed());
        if status != 200 {
            return Err(format!("push: {status} {text}").into());
        }
        let begun = Instant::now();
        bare.write_all(&profile.body)?;
        bare.sync_data()?;
        syncs.push(begun.elapsed());
        // Idle in between, as one agent would leave it.
        thread::sleep(Duration::from_millis(5));
    }
    fs::remove_file(server.data_dir.with_extension("sync"))?;
    let (push, sync) = (median(&mut pushes), median(&mut syncs));
    let reference =
        format!("p50 push {push:.2} ms - p50 bare write + fdatasync {sync:.2} ms; {PUSHES} pushes");
    Ok(vec![Figure::new("latency", push - sync, "ms", Limit::AtMost(10.0), reference)])
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// `top`: CPU of `everflame top` on a large file as a share of `go tool pprof -top`.
///
/// # Errors
/// When one of them fails.
pub fn top(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let shared = testkit::shared_dir().ok_or("no shared folder")?;
    let file = fs::canonicalize(shared.join("corpus/pprof/google/large.cpu"))?;
    let run = |command: &mut Command, times: usize| -> Result<f64, BenchError> {
        let before = children_seconds()?;
        for _ in 0..times {
            if !command.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
                return Err(format!("{command:?} failed").into());
            }
        }
        Ok((children_seconds()? - before) / times as f64)
    };
    let mut go = Command::new("go");
    go.args(["tool", "pprof", "-top", "-symbolize=none"]).arg(&file);
    let mut ours = Command::new(&bench.binary.path);
    ours.arg("top").arg(&file);
    // Once unmeasured: `go tool pprof` is compiled at its first call.
    run(&mut go, 1)?;
    run(&mut ours, 1)?;
    let theirs = (0..3).map(|_| run(&mut go, 1)).collect::<Result<Vec<_>, _>>()?;
    let theirs = theirs.into_iter().fold(f64::INFINITY, f64::min);
    let mine = run(&mut ours, 20)?;
    let reference = format!("everflame {:.0} ms CPU, go tool pprof -top {:.0} ms", mine * 1e3, theirs * 1e3);
    Ok(vec![Figure::new("top", mine / theirs, "×", Limit::AtMost(0.1), reference)])
}

/// `start`, `start-rss`, `start-binary`.
///
/// # Errors
/// When the server does not start or refuses the push.
pub fn start(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let options = FleetOptions { pods: 1, intervals: 1, ..FleetOptions::one() };
    let profile = Fleet::new(options).map(LoadProfile::of).next().ok_or("nothing drawn")?;
    let path = format!("/api/v1/push?{}", profile.query);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let begun = Instant::now();
        let mut server = bench.binary.spawn("start", &[])?;
        server.wait_ready()?;
        let (status, text) = server.post(&path, &profile.body)?;
        best = best.min(begun.elapsed().as_secs_f64());
        if status != 200 {
            return Err(format!("push: {status} {text}").into());
        }
    }
    let server = bench.binary.start("idle", &[])?;
    thread::sleep(Duration::from_secs(5));
    let rss = server.memory_mb("VmRSS")?;
    let bytes = bench.binary.bytes()? as f64 / 1e6;
    let note = || "empty data folder".to_owned();
    Ok(vec![
        Figure::new(
            "start",
            best,
            "s",
            Limit::AtMost(0.3),
            "to ready and first accepted push, best of 5".to_owned(),
        ),
        Figure::new("start-rss", rss, "MB", Limit::AtMost(60.0), note()),
        Figure::new(
            "start-binary",
            bytes,
            "MB",
            Limit::AtMost(30.0),
            "release build, symbol table kept".to_owned(),
        ),
    ])
}
