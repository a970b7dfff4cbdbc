//! Scraping against pushing: 500 targets every 15 s for a minute, and the same bodies pushed at the same pace.
//!
//! The targets are this process, so that only the server's CPU counts; each has a body of its own for each round. After
//! the last one the server is told to scrape nothing any more.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use profile::LabelSet;
use testkit::{FleetOptions, encoded};

use super::{Bench, everflame::Server};
use crate::{
    BenchError,
    figure::{Figure, Limit},
    set::Set,
};

const SERVICES: usize = 50;
const PODS: usize = 10;
const TARGETS: usize = SERVICES * PODS;
const ROUNDS: usize = 4;
const INTERVAL: Duration = Duration::from_secs(15);

/// Threads that answer scrapes; each answer takes far less than a millisecond.
const ANSWERERS: usize = 4;

/// Longest wait for all rounds.
const PATIENCE: Duration = Duration::from_secs(300);

/// A target with its bodies, one for each round.
struct Target {
    labels: LabelSet,
    name: String,
    bodies: Vec<Vec<u8>>,
    served: AtomicUsize,
}

/// `scraped-cpu`.
///
/// # Errors
/// When a server fails or does not take in everything.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let options = FleetOptions { services: SERVICES, pods: PODS, intervals: ROUNDS, ..FleetOptions::mix() };
    let targets = Arc::new(targets(&Set::load("scraped", &options)?)?);
    let pushed = pushed(&bench.binary.start("scraped-push", &[])?, &targets)?;
    let scraped = scraped(bench, &targets)?;
    let each = |seconds: f64| seconds / (TARGETS * ROUNDS) as f64 * 1e6;
    let reference = format!(
        "CPU until settled: scraped {:.0} us each, pushed {:.0} us each; {TARGETS} targets, {ROUNDS} rounds",
        each(scraped),
        each(pushed)
    );
    Ok(vec![Figure::new("scraped-cpu", scraped / pushed, "×", Limit::AtMost(1.5), reference)])
}

fn targets(set: &Set) -> Result<Vec<Target>, BenchError> {
    let mut bodies: BTreeMap<(LabelSet, String), Vec<Vec<u8>>> = BTreeMap::new();
    for profile in &set.profiles {
        let key = (profile.labels.clone(), profile.name.clone());
        bodies.entry(key).or_default().push(set.body(profile).to_vec());
    }
    if bodies.len() != TARGETS || bodies.values().any(|bodies| bodies.len() != ROUNDS) {
        return Err(format!("the set has {} series", bodies.len()).into());
    }
    let target = |((labels, name), bodies)| Target { labels, name, bodies, served: AtomicUsize::new(0) };
    Ok(bodies.into_iter().map(target).collect())
}

/// CPU seconds of a server to which everything is pushed, one profile after the other over one connection.
fn pushed(server: &Server, targets: &[Target]) -> Result<f64, BenchError> {
    let before = server.cpu_seconds()?;
    let begun = Instant::now();
    for number in 0..TARGETS * ROUNDS {
        let due = INTERVAL.mul_f64(number as f64 / TARGETS as f64);
        thread::sleep(due.saturating_sub(begun.elapsed()));
        let target = &targets[number % TARGETS];
        let mut path = format!("/api/v1/push?name={}", encoded(&target.name));
        for (label, value) in target.labels.iter() {
            path.push_str(&format!("&label={}", encoded(&format!("{label}={value}"))));
        }
        let (status, text) = server.post(&path, &target.bodies[number / TARGETS])?;
        if status != 200 {
            return Err(format!("a push was answered by {status} {text}").into());
        }
    }
    finished(server, before)
}

/// CPU seconds of a server that scrapes everything.
fn scraped(bench: &Bench, targets: &Arc<Vec<Target>>) -> Result<f64, BenchError> {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
    for _ in 0..ANSWERERS {
        let (listener, targets) = (Arc::clone(&listener), Arc::clone(targets));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A scrape that breaks off is missing in the sum at the end.
                let _ = answer(&stream, &targets);
            }
        });
    }
    let file = crate::set::sets_folder()?.join("scraped.yml");
    fs::write(&file, config(&listener.local_addr()?.to_string(), targets))?;
    let server = bench.binary.start("scraped", &["--scrape-config", path_text(&file)?])?;
    // Its first scrape may be under way; next to nothing was done yet.
    let before = 0.0;
    let begun = Instant::now();
    while targets.iter().any(|target| target.served.load(Ordering::SeqCst) < ROUNDS) {
        if begun.elapsed() > PATIENCE {
            return Err("not everything was scraped".into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    fs::write(&file, "")?;
    let id = i32::try_from(server.id()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(id.ok_or("no process")?, rustix::process::Signal::HUP)?;
    finished(&server, before)
}

/// CPU seconds since `before`, when all profiles are in blocks.
fn finished(server: &Server, before: f64) -> Result<f64, BenchError> {
    server.settle()?;
    let kept = server.metric("everflame_store_profiles_total")?;
    if kept != (TARGETS * ROUNDS) as f64 {
        return Err(format!("{kept} profiles kept of {}", TARGETS * ROUNDS).into());
    }
    Ok(server.cpu_seconds()? - before)
}

fn path_text(path: &Path) -> Result<&str, BenchError> {
    path.to_str().ok_or_else(|| format!("{} is no text", path.display()).into())
}

/// One kind, whose name and URL each target says by its labels.
fn config(address: &str, targets: &[Target]) -> String {
    let off: Vec<String> = ["memory", "block", "goroutine", "mutex"]
        .iter()
        .map(|kind| format!("        {kind}: {{enabled: false}}\n"))
        .collect();
    let mut text = format!(
        "scrape_configs:\n  - job_name: bench\n    scrape_interval: {}s\n    profiling_config:\n      pprof_config:\n{}        \
         process_cpu: {{path: /profile, delta: false, temporality: delta}}\n    relabel_configs: [{{regex: job|instance, action: labeldrop}}]\n    static_configs:\n",
        INTERVAL.as_secs(),
        off.concat()
    );
    for (number, target) in targets.iter().enumerate() {
        let mut labels = format!("__name__: {}, __param_n: '{number}'", serde_json::json!(target.name));
        for (label, value) in target.labels.iter() {
            let _ = write!(labels, ", {}: {}", serde_json::json!(label), serde_json::json!(value));
        }
        let _ = writeln!(text, "      - {{targets: ['{address}'], labels: {{{labels}}}}}");
    }
    text
}

fn answer(mut stream: &TcpStream, targets: &[Target]) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut first) = (String::new(), String::new());
    while reader.read_line(&mut line)? > 2 {
        if first.is_empty() {
            first.clone_from(&line);
        }
        line.clear();
    }
    let number = first.split("n=").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let body = number.and_then(|number| {
        let target = targets.get(number)?;
        target.bodies.get(target.served.fetch_add(1, Ordering::SeqCst))
    });
    match body {
        Some(body) => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
            stream.write_all(body)
        }
        None => write!(stream, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
    }
}
