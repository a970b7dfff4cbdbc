//! Remote write against a receiver that answers as it is told: credentials, tenants, receivers that are busy, broken,
//! gone for a while, or refuse. What a real Prometheus makes of it is in `rules.rs`.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use base64::Engine as _;
use support::{PATIENCE, TestServer, now_nanos};
use tempfile::TempDir;
use testkit::remote_write::{Label, Message as _, WriteRequest};

/// What pushed folded text becomes.
const TYPE: &str = "process_cpu:cpu:nanoseconds::";

/// A request as it came.
#[derive(Clone, Debug)]
struct Received {
    at: Instant,
    line: String,
    /// By name in lower case.
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
    answered: u16,
}

impl Received {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Value and time (ms) of the last sample of a metric.
    fn sample(&self, metric: &str) -> (i64, i64) {
        let message = snap::raw::Decoder::new().decompress_vec(&self.body).unwrap();
        let request = WriteRequest::decode(&*message).unwrap();
        let is_it = |label: &Label| label.name == "__name__" && label.value == metric;
        let series = request.timeseries.iter().find(|series| series.labels.iter().any(is_it)).unwrap();
        let last = series.samples.last().unwrap();
        // Whole numbers below 2⁵³.
        (last.value as i64, last.timestamp)
    }
}

/// An answer: status and further header lines.
type Answer = (u16, &'static str);

/// Takes remote write; answers from a list, then 204 for ever.
struct Receiver {
    url: String,
    state: Arc<Mutex<(VecDeque<Answer>, Vec<Received>)>>,
}

impl Receiver {
    fn start(answers: &[Answer]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    fn on(listener: TcpListener, answers: &[Answer]) -> Self {
        let url = format!("http://{}/api/v1/write", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new((answers.iter().copied().collect(), Vec::new())));
        let kept = Arc::clone(&state);
        // Ends with the test's process; a connection that the server gives up ends its thread.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream.unwrap(), &kept));
            }
        });
        Self { url, state }
    }

    fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().1.clone()
    }

    /// Waits until what came is as wanted.
    fn wait_for(&self, wanted: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let begun = Instant::now();
        loop {
            let received = self.received();
            if wanted(&received) {
                return received;
            }
            assert!(begun.elapsed() < PATIENCE, "there came only {received:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn serve(stream: TcpStream, state: &Mutex<(VecDeque<Answer>, Vec<Received>)>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut headers = BTreeMap::new();
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 {
                return;
            }
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers["content-length"].parse().unwrap()];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let (status, more) = {
            let mut state = state.lock().unwrap();
            let (status, more) = state.0.pop_front().unwrap_or((204, ""));
            let line = line.trim_end().to_owned();
            state.1.push(Received { at: Instant::now(), line, headers, body, answered: status });
            (status, more)
        };
        let answer = format!("HTTP/1.1 {status} As told\r\n{more}Content-Length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// A folder with a file of one rule, and maybe a secret.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let rule = format!("[[rule]]\nmetric = \"cpu\"\nselector = '{TYPE}{{}}'\n");
        std::fs::write(folder.path().join("rules.toml"), rule).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn secret(&self, text: &str) -> String {
        std::fs::write(self.path("secret"), format!("{text}\n")).unwrap();
        self.path("secret")
    }

    /// A server that sends often.
    fn server(&self, url: &str, more: &[&str]) -> TestServer {
        let rules = self.path("rules.toml");
        let mut flags =
            vec!["--rules", &rules, "--remote-write-url", url, "--remote-write-interval", "100ms"];
        flags.extend_from_slice(more);
        TestServer::start(&flags)
    }
}

fn push(server: &TestServer, value: i64) {
    let time = now_nanos() / 1_000_000;
    let path = format!(
        "/api/v1/push?service=a&format=folded&sample_type=cpu&unit=nanoseconds&time={time}&label=n={value}"
    );
    server.post(&path, format!("main {value}\n").as_bytes()).expect(200);
}

/// A figure of the server's own metrics.
fn figure(server: &TestServer, name: &str) -> u64 {
    let text = server.get("/metrics").expect(200).text();
    let prefix = format!("everflame_remote_write_{name} ");
    text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap().parse().unwrap()
}

#[test]
fn credentials_are_sent_and_shown_nowhere() {
    let files = Files::new();
    let secret = "s3cret-of-the-receiver";
    let file = files.secret(secret);
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("writer:{secret}"));
    let basic = ["--remote-write-user", "writer", "--remote-write-password-file", &file];
    let bearer = ["--remote-write-token-file", &file];
    for (flags, authorization) in [
        (&basic[..], Some(format!("Basic {encoded}"))),
        (&bearer[..], Some(format!("Bearer {secret}"))),
        (&[], None),
    ] {
        // The receiver does not take them at first: what it says is logged, what was sent is not.
        let receiver = Receiver::start(&[(503, ""), (401, "")]);
        let server = files.server(&receiver.url, flags);
        push(&server, 7);
        let received = receiver.wait_for(|all| all.len() > 3 && all.last().unwrap().sample("cpu").0 == 7);
        for one in &received {
            assert_eq!(one.line, "POST /api/v1/write HTTP/1.1");
            assert_eq!(one.header("authorization"), authorization.as_deref());
            assert_eq!(one.header("content-type"), Some("application/x-protobuf"));
            assert_eq!(one.header("content-encoding"), Some("snappy"));
            assert_eq!(one.header("x-prometheus-remote-write-version"), Some("0.1.0"));
            assert!(one.header("user-agent").unwrap().starts_with("everflame/"));
            // Without --multi-tenant no tenant is named.
            assert_eq!(one.header("x-scope-orgid"), None);
        }
        let shown = server.log() + &server.get("/metrics").expect(200).text();
        assert!(shown.contains("remote write"), "{shown}");
        assert!(!shown.contains(secret) && !shown.contains(&encoded), "{shown}");
    }
}

#[test]
fn wrong_credentials_of_the_receiver_stop_the_start() {
    let files = Files::new();
    let (rules, secret) = (files.path("rules.toml"), files.secret("two words"));
    let url = "http://127.0.0.1:9/api/v1/write";
    for flags in [
        &["--remote-write-url", url, "--remote-write-token-file", &secret][..],
        &["--remote-write-url", url, "--remote-write-user", "a"],
        &["--remote-write-url", url, "--remote-write-password-file", "/nonexistent"],
        &["--remote-write-url", "ftp://example/"],
    ] {
        let mut all = vec!["server", "--check-config", "--rules", &rules];
        all.extend_from_slice(flags);
        let refused = support::run(&all);
        assert_eq!(refused.code, Some(2), "{flags:?} {refused:?}");
        assert!(refused.stderr.contains("--remote-write-"), "{flags:?} {refused:?}");
    }
}

#[test]
fn a_busy_receiver_is_asked_again_and_nothing_is_lost() {
    let answers = [(503, "Retry-After: 1\r\n"), (429, "Retry-After: 2\r\n"), (500, "")];
    let receiver = Receiver::start(&answers);
    let server = Files::new().server(&receiver.url, &[]);
    let first = receiver.wait_for(|all| !all.is_empty()).remove(0);
    for value in 1..=5 {
        push(&server, value);
    }
    let received = receiver.wait_for(|all| all.last().unwrap().sample("cpu").0 == 15);
    // The same samples again and again until they were taken: copies stand in a line, none is passed over.
    for (one, (status, _)) in received.iter().zip(answers.iter().chain([&(204, "")])) {
        assert_eq!((one.answered, &one.body), (*status, &first.body));
    }
    // Not before the receiver has asked to be asked again; without its word the pause is half a second at first.
    for (pair, seconds) in received.windows(2).zip([1, 2]) {
        assert!(pair[1].at - pair[0].at >= Duration::from_secs(seconds), "{pair:?}");
    }
    let times: Vec<(i64, i64)> = received[answers.len()..].iter().map(|one| one.sample("cpu")).collect();
    let is_in_order = |pair: &[(i64, i64)]| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1;
    assert!(times.windows(2).all(is_in_order), "{times:?}");
    assert_eq!(figure(&server, "failures_total"), 3);
    assert_eq!(figure(&server, "refused_samples_total") + figure(&server, "dropped_samples_total"), 0);
    let taken = u64::try_from(times.len()).unwrap();
    server.wait_for("/metrics", |_| figure(&server, "sent_samples_total") >= taken);
}

#[test]
fn a_receiver_that_comes_late_gets_everything() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let server = Files::new().server(&format!("http://{address}/api/v1/write"), &[]);
    push(&server, 7);
    server.wait_for("/metrics", |_| figure(&server, "failures_total") > 0);
    push(&server, 8);
    let receiver = Receiver::on(TcpListener::bind(address).unwrap(), &[]);
    let received = receiver.wait_for(|all| all.last().is_some_and(|one| one.sample("cpu").0 == 15));
    // What was copied while nobody listened has waited.
    assert!(received[0].sample("cpu").0 < 15, "{received:?}");
    assert_eq!(figure(&server, "dropped_samples_total"), 0);
}

#[test]
fn what_a_receiver_refuses_is_dropped_and_counted() {
    let receiver = Receiver::start(&[(400, ""), (301, "Location: /elsewhere\r\n"), (204, "")]);
    let server = Files::new().server(&receiver.url, &[]);
    let received = receiver.wait_for(|all| all.len() > 3);
    // Each is sent once: the next request is a later copy.
    let times: Vec<i64> = received.iter().map(|one| one.sample("cpu").1).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    assert!(received.iter().all(|one| one.line == "POST /api/v1/write HTTP/1.1"), "{received:?}");
    assert_eq!(figure(&server, "refused_samples_total"), 2);
    assert_eq!(figure(&server, "failures_total") + figure(&server, "dropped_samples_total"), 0);
}

#[test]
fn each_tenants_counters_are_sent_under_its_name() {
    let files = Files::new();
    let rules: String = ["one", "two"]
        .map(|tenant| {
            format!("[[rule]]\ntenant = \"{tenant}\"\nmetric = \"{tenant}\"\nselector = '{TYPE}{{}}'\n")
        })
        .concat();
    std::fs::write(files.path("rules.toml"), rules).unwrap();
    let receiver = Receiver::start(&[]);
    let _server = files.server(&receiver.url, &["--multi-tenant"]);
    let of = |all: &[Received], tenant: &str| -> usize {
        all.iter().filter(|one| one.header("x-scope-orgid") == Some(tenant)).count()
    };
    let received = receiver.wait_for(|all| of(all, "one") > 1 && of(all, "two") > 1);
    for one in received {
        // Its own metric and no other is in it.
        assert_eq!(one.sample(one.header("x-scope-orgid").unwrap()).0, 0);
        let message = snap::raw::Decoder::new().decompress_vec(&one.body).unwrap();
        assert_eq!(WriteRequest::decode(&*message).unwrap().timeseries.len(), 1);
    }
}
