//! Kills the real server with SIGKILL again and again, while it takes pushes, flushes and recovers.
//!
//! What was answered 200 for must be there after every start, once and as it was sent; what was not may be there or not,
//! but never in part; differences of a cumulative source must add up to what its counter says. The same holds for what
//! clients keep beside profiles: settings, uploads, rules.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use base64::Engine as _;
use serde_json::{Value, json};
use support::{DataDir, TestServer, encoded, now_nanos, program, try_call};
use testkit::Random;

/// Kills by cycles.
const CYCLES: usize = 50;
/// Pushes that are listed at once.
const WINDOW: usize = 5000;
/// Threads that push.
const PUSHERS: usize = 4;
/// A flush at every look at the head's age.
const FLAGS: [&str; 2] = ["--flush-interval", "150ms"];
/// Longest wait for a flush to begin; the server looks twice a second.
const FLUSH_PATIENCE: Duration = Duration::from_secs(20);

/// What was sent and what was acknowledged.
struct Ledger {
    /// Start of the first profile, ms since the epoch; each push has a second of its own.
    base_millis: i64,
    next: AtomicU64,
    /// Id and number of every push that was answered 200 for.
    acknowledged: Mutex<BTreeMap<String, u64>>,
    counter: Mutex<Counter>,
}

/// A process that counts since its start.
struct Counter {
    pushes: i64,
    first: Option<i64>,
    value: i64,
    is_pending: bool,
}

impl Ledger {
    fn new() -> Self {
        Self {
            base_millis: now_nanos() / 1_000_000 - 2 * 86_400_000,
            next: AtomicU64::new(0),
            acknowledged: Mutex::default(),
            counter: Mutex::new(Counter { pushes: 0, first: None, value: 1000, is_pending: false }),
        }
    }

    /// Pushes until the server is gone. A push's value is its number plus one, so that a total names it.
    fn push(&self, url: &str, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let millis = self.base_millis + i64::try_from(number).unwrap() * 1000;
            let body = format!("main;f{};g{};h{} {}\n", number % 13, number % 101, number % 977, number + 1);
            let path = format!(
                "{url}/api/v1/push?service=load-{}&format=folded&sample_type=cpu&unit=nanoseconds&time={millis}",
                number % 3
            );
            let Ok(reply) = try_call(&path, "POST", &[], Some(body.as_bytes())) else { return };
            match reply.status {
                200 => {
                    let id = reply.json()["profiles"][0]["id"].as_str().unwrap().to_owned();
                    self.acknowledged.lock().unwrap().insert(id, number);
                }
                // Too much at once is an honest answer.
                503 => std::thread::sleep(Duration::from_millis(20)),
                _ => panic!("push {number}: {reply:?}"),
            }
        }
    }

    /// Pushes the counter until the server is gone; what was not acknowledged is sent again as it was.
    fn push_counter(&self, url: &str, stop: &AtomicBool) {
        let mut counter = self.counter.lock().unwrap();
        while !stop.load(Ordering::Relaxed) {
            if !counter.is_pending {
                counter.pushes += 1;
                counter.value += 1 + counter.pushes % 17;
                counter.is_pending = true;
            }
            let millis = self.base_millis + counter.pushes * 1000;
            let body = format!("main;allocate {}\nmain;steady 5\n", counter.value);
            let path = format!(
                "{url}/api/v1/push?service=counter&format=folded&sample_type=alloc_space&unit=bytes\
                 &temporality=cumulative&time={millis}"
            );
            let Ok(reply) = try_call(&path, "POST", &[], Some(body.as_bytes())) else { return };
            match reply.status {
                200 => {
                    counter.is_pending = false;
                    let value = counter.value;
                    counter.first.get_or_insert(value);
                }
                503 => std::thread::sleep(Duration::from_millis(20)),
                _ => panic!("counter {}: {reply:?}", counter.pushes),
            }
        }
    }

    /// Compares what the server holds with what it has acknowledged.
    fn check(&self, server: &TestServer) {
        let from = self.base_millis - 1000;
        let all = encoded(r#"{service_name=~"load-.*"}"#);
        let sent = self.next.load(Ordering::Relaxed);
        let mut totals = BTreeMap::new();
        let mut numbers = BTreeSet::new();
        // The server lists at most 10,000 profiles at once; each push has a second of its own, so windows have fewer.
        for first in (0..=sent).step_by(WINDOW) {
            let start = self.base_millis + i64::try_from(first).unwrap() * 1000;
            let end = start + i64::try_from(WINDOW).unwrap() * 1000;
            let path = format!("/api/v1/profiles?q={all}&from={start}&to={end}&limit={WINDOW}");
            let listed = server.get(&path).expect(200).json();
            for item in listed["profiles"].as_array().unwrap() {
                let total = item["totals"][0].as_u64().unwrap();
                assert!(total >= 1 && total <= sent, "total {total} was never sent");
                assert!(numbers.insert(total - 1), "push {} is there twice", total - 1);
                let id = item["id"].as_str().unwrap().to_owned();
                assert!(totals.insert(id.clone(), total).is_none(), "{id} is listed twice");
            }
        }
        for (id, number) in &*self.acknowledged.lock().unwrap() {
            assert_eq!(totals.get(id), Some(&(number + 1)), "acknowledged push {number}");
        }
        let query = encoded(r#"cpu{service_name=~"load-.*"}"#);
        if !totals.is_empty() {
            let top = server.get(&format!("/api/v1/top?q={query}&from={from}&limit=1")).expect(200).json();
            assert_eq!(top["total"].as_u64(), Some(totals.values().sum::<u64>()), "the merge's total");
        }
    }

    /// Compares the sum of differences with the counter; nothing may be pending.
    fn check_counter(&self, server: &TestServer) {
        let counter = self.counter.lock().unwrap();
        assert!(!counter.is_pending);
        let from = self.base_millis - 1000;
        let query = encoded(r#"alloc_space{service_name="counter"}"#);
        let top = server.get(&format!("/api/v1/top?q={query}&from={from}&limit=0")).expect(200).json();
        assert_eq!(top["total"].as_i64(), Some(counter.value - counter.first.unwrap()));
    }
}

/// When the kills came.
#[derive(Debug, Default)]
struct Kills {
    pushing: usize,
    flushing: usize,
    recovering: usize,
    /// Of all these, how many left an object behind that was not whole.
    objects_cut_off: usize,
}

/// Whether an object is being written: blocks and catalogue edits have no name until they are whole, and only a flush
/// writes them here.
fn is_flushing(data: &Path) -> bool {
    std::fs::read_dir(data.join("tmp")).is_ok_and(|mut files| files.next().is_some())
}

/// Starts a server and kills it before it can have come far.
fn kill_while_starting(data: &DataDir, patience: Duration) {
    let mut child = Command::new(program())
        .args(["server", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data.path())
        .args(FLAGS)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(patience);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// When a cycle's kill comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// After a random time.
    Pushing,
    /// As soon as a flush is seen to write.
    Flushing,
}

/// Pushes into a server and kills it.
fn cycle(ledger: &Ledger, server: TestServer, random: &mut Random, moment: Moment) -> Arc<DataDir> {
    let stop = AtomicBool::new(false);
    let url = server.url.clone();
    let data = server.data();
    std::thread::scope(|scope| {
        for _ in 0..PUSHERS {
            scope.spawn(|| ledger.push(&url, &stop));
        }
        scope.spawn(|| ledger.push_counter(&url, &stop));
        let begun = Instant::now();
        if moment == Moment::Pushing {
            std::thread::sleep(Duration::from_millis(20 + random.below(400) as u64));
        }
        while moment == Moment::Flushing && !is_flushing(data.path()) {
            assert!(begun.elapsed() < FLUSH_PATIENCE, "no flush; the server's log:\n{}", server.log());
            std::thread::sleep(Duration::from_micros(100));
        }
        let data = server.kill();
        stop.store(true, Ordering::Relaxed);
        data
    })
}

#[test]
fn c104_fifty_kills_lose_nothing_acknowledged_and_double_nothing() {
    let mut random = Random::new(9, 0);
    let ledger = Ledger::new();
    let mut kills = Kills::default();
    let mut data = DataDir::new();
    for number in 0..CYCLES {
        let server = TestServer::start_in(Arc::clone(&data), &FLAGS);
        ledger.check(&server);
        let moment = if number % 3 == 1 { Moment::Flushing } else { Moment::Pushing };
        data = cycle(&ledger, server, &mut random, moment);
        match moment {
            Moment::Flushing => kills.flushing += 1,
            Moment::Pushing => kills.pushing += 1,
        }
        kills.objects_cut_off += usize::from(is_flushing(data.path()));
        if number % 3 == 2 {
            kill_while_starting(&data, Duration::from_millis(1 + random.below(60) as u64));
            kills.recovering += 1;
        }
    }
    let server = TestServer::start_in(data, &FLAGS);
    ledger.check(&server);
    // What was not acknowledged is sent once more, to its end.
    while ledger.counter.lock().unwrap().is_pending {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| ledger.push_counter(&server.url, &stop));
            std::thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
        });
    }
    ledger.check_counter(&server);
    let acknowledged = ledger.acknowledged.lock().unwrap().len();
    let sent = ledger.next.load(Ordering::Relaxed);
    eprintln!("kills: {kills:?}; {acknowledged} of {sent} pushes acknowledged");
    assert!(acknowledged >= CYCLES, "the server hardly came to work");
}

/// What clients keep on the server beside profiles: the last setting, the uploads and the rules that were acknowledged.
#[derive(Default)]
struct Kept {
    setting: i64,
    uploads: BTreeSet<String>,
    rules: BTreeSet<String>,
}

/// A Connect call; `None` when the server is gone.
fn rpc(url: &str, path: &str, message: &Value) -> Option<Value> {
    let headers = [("content-type", "application/json")];
    let reply =
        try_call(&format!("{url}{path}"), "POST", &headers, Some(message.to_string().as_bytes())).ok()?;
    Some(reply.expect(200).json())
}

/// Sets a setting, uploads a profile and makes a rule, again and again, until the server is gone.
fn keep_on(url: &str, kept: &Mutex<Kept>) {
    let file = base64::engine::general_purpose::STANDARD.encode(testkit::fixture("go-hot/cpu.pb.gz"));
    let first = kept.lock().unwrap().setting + 1;
    for number in first.. {
        let setting = json!({"setting": {"name": "pluginSettings", "value": number.to_string()}});
        if rpc(url, "/settings.v1.SettingsService/Set", &setting).is_none() {
            return;
        }
        kept.lock().unwrap().setting = number;
        let upload = json!({"name": format!("file-{number}"), "profile": file});
        let Some(uploaded) = rpc(url, "/adhocprofiles.v1.AdHocProfileService/Upload", &upload) else {
            return;
        };
        kept.lock().unwrap().uploads.insert(uploaded["id"].as_str().unwrap().to_owned());
        if number % 4 == 1 {
            let rule = json!({"metricName": format!("m{number}"),
                "matchers": ["{__profile_type__=\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\"}"]});
            let made = rpc(url, "/settings.v1.RecordingRulesService/UpsertRecordingRule", &rule);
            let Some(made) = made else { return };
            kept.lock().unwrap().rules.insert(made["rule"]["id"].as_str().unwrap().to_owned());
        }
    }
}

/// Names in a list of a reply.
fn ids(reply: &Value, list: &str) -> BTreeSet<String> {
    let items = reply[list].as_array().cloned().unwrap_or_default();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn settings_uploads_and_rules_survive_kills() {
    let (data, kept) = (DataDir::new(), Mutex::new(Kept::default()));
    for cycle in 1..=4 {
        let server = TestServer::start_in(data.clone(), &FLAGS);
        let enough = kept.lock().unwrap().setting + 3 * cycle;
        std::thread::scope(|scope| {
            let (url, kept) = (server.url.clone(), &kept);
            let pusher = scope.spawn(move || keep_on(&url, kept));
            while kept.lock().unwrap().setting < enough && !pusher.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // In the midst of whatever it is writing.
            server.kill();
            pusher.join().unwrap();
        });
        let server = TestServer::start_in(data.clone(), &FLAGS);
        let kept = kept.lock().unwrap();
        let all = rpc(&server.url, "/settings.v1.SettingsService/Get", &json!({})).unwrap();
        let setting: i64 = all["settings"][0]["value"].as_str().unwrap().parse().unwrap();
        // One more may have been written that nobody was told of; so with the others.
        assert!((kept.setting..=kept.setting + 1).contains(&setting), "{setting} after {}", kept.setting);
        let listed = rpc(&server.url, "/adhocprofiles.v1.AdHocProfileService/List", &json!({})).unwrap();
        let uploads = ids(&listed, "profiles");
        assert!(
            uploads.is_superset(&kept.uploads)
                && uploads.len() <= kept.uploads.len() + usize::try_from(cycle).unwrap()
        );
        let last = kept.uploads.last().unwrap();
        let shown =
            rpc(&server.url, "/adhocprofiles.v1.AdHocProfileService/Get", &json!({"id": last})).unwrap();
        assert!(shown["flamebearerProfile"].as_str().unwrap().contains("main.settleAccounts"), "{shown}");
        let listed =
            rpc(&server.url, "/settings.v1.RecordingRulesService/ListRecordingRules", &json!({})).unwrap();
        let rules = ids(&listed, "rules");
        assert!(
            rules.is_superset(&kept.rules)
                && rules.len() <= kept.rules.len() + usize::try_from(cycle).unwrap(),
            "{listed}"
        );
    }
}
