//! Scraping by the real program: configuration, what becomes of counters, reload, stop, tenants; and a real Go service
//! over TCP and over a unix socket.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::{PATIENCE, Reply, TestServer, body::Body, call, encoded, now_nanos, repository_file, run};

/// A target that answers each request with what a function makes of its path; `None` answers nothing.
fn serve(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || serve_one(stream, &*answer));
        }
    });
    address
}

fn serve_one(mut stream: TcpStream, answer: &dyn Fn(&str) -> Option<Vec<u8>>) {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    if reader.read_line(&mut line).is_err() {
        return;
    }
    let path = line.split(' ').nth(1).unwrap_or_default();
    match answer(path) {
        Some(body) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
        None => {
            // until the other side goes
            let mut rest = Vec::new();
            let _ = reader.read_to_end(&mut rest);
        }
    }
}

/// A heap profile as Go writes it.
fn heap(allocated: i64, in_use: i64) -> Vec<u8> {
    let types = [("alloc_space", "bytes"), ("inuse_space", "bytes")];
    Body::new(&types).time(now_nanos()).sample("main;keep", &[allocated, in_use]).gzip()
}

/// Switches the usual kinds off but for these.
fn only(kinds: &[&str]) -> String {
    let usual = ["memory", "block", "goroutine", "mutex", "process_cpu"];
    let off = usual.iter().filter(|kind| !kinds.contains(kind));
    let off: Vec<String> = off.map(|kind| format!("{kind}: {{enabled: false}}")).collect();
    format!("profiling_config: {{pprof_config: {{{}}}}}", off.join(", "))
}

struct Config {
    folder: tempfile::TempDir,
}

impl Config {
    fn new(jobs: &[String]) -> Self {
        let config = Self { folder: tempfile::tempdir().unwrap() };
        config.write(jobs);
        config
    }

    fn write(&self, jobs: &[String]) {
        std::fs::write(self.path(), format!("scrape_configs: [{}]\n", jobs.join(", "))).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("scrape.yml")
    }

    fn flags(&self) -> [String; 2] {
        ["--scrape-config".to_owned(), self.path().display().to_string()]
    }

    fn start(&self, more: &[&str]) -> TestServer {
        let flags = self.flags();
        let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        flags.extend_from_slice(more);
        TestServer::start(&flags)
    }
}

fn job(name: &str, address: &str, further: &str) -> String {
    format!(
        "{{job_name: {name}, scrape_interval: 100ms, scrape_timeout: 20s, static_configs: [{{targets: ['{address}']}}], {further}}}"
    )
}

/// The entry of a kind, once it is as wanted.
fn target(server: &TestServer, kind: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let find = |reply: &Reply| {
        let targets = reply.json()["targets"].as_array().unwrap().clone();
        targets.into_iter().find(|target| target["kind"] == kind && is_wanted(target))
    };
    find(&server.wait_for("/api/v1/targets", |reply| find(reply).is_some())).unwrap()
}

fn total(server: &TestServer, selector: &str) -> i64 {
    let reply = server.get(&format!("/api/v1/top?from=0&to=now%2B1h&q={}", encoded(selector))).expect(200);
    reply.json()["total"].as_i64().unwrap()
}

#[test]
fn c034_a_heap_that_counts_since_the_start_is_kept_as_what_was_added() {
    let count = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&count);
    let address = serve(move |_| {
        let round = asked.fetch_add(1, Ordering::SeqCst);
        Some(heap([100, 150, 200][round.min(2)], [50, 40, 40][round.min(2)]))
    });
    let server = Config::new(&[job("shop", &address, &only(&["memory"]))]).start(&[]);
    let entry = target(&server, "memory", |target| target["scrapes"].as_u64().unwrap() >= 4);
    assert_eq!(
        (&entry["health"], &entry["error"], &entry["outcome"]),
        (&json!("up"), &json!(""), &json!("stored"))
    );
    assert_eq!(entry["labels"], json!({"instance": address, "job": "shop", "service_name": "shop"}));
    assert_eq!(entry["url"], format!("http://{address}/debug/pprof/allocs"));
    assert_eq!(entry["discovered"]["__address__"], address.as_str());
    assert_eq!(total(&server, r#"alloc_space{service_name="shop"}"#), 100, "50 and 50, whatever came later");
    let profiles = server.get("/api/v1/profiles?from=0&to=now%2B1h&limit=1000").expect(200).json();
    let profiles = profiles["profiles"].as_array().unwrap().clone();
    assert!(profiles.len() >= 4, "in-use memory is kept of each scrape");
    // A state is averaged, never added up (D7).
    let in_use = total(&server, r#"inuse_space{service_name="shop"}"#);
    assert!((40..=43).contains(&in_use), "{in_use}");
    // The baseline is on disk: after a crash the next difference is right.
    let flags = ["--scrape-config".to_owned(), "/dev/null".to_owned()];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let data = server.kill();
    let server = TestServer::start_in(data, &flags);
    assert_eq!(total(&server, r#"alloc_space{service_name="shop"}"#), 100);
}

#[test]
fn profiles_without_a_time_are_no_retries_of_each_other() {
    let body = Body::new(&[("goroutine", "count")]).sample("main;wait", &[7]).gzip();
    let address = serve(move |_| Some(body.clone()));
    let server = Config::new(&[job("shop", &address, &only(&["goroutine"]))]).start(&[]);
    target(&server, "goroutine", |target| target["scrapes"].as_u64().unwrap() >= 3);
    let profiles = server.get("/api/v1/profiles?from=0&to=now%2B1h").expect(200).json();
    assert!(profiles["profiles"].as_array().unwrap().len() >= 3, "{profiles}");
    assert_eq!(total(&server, r#"goroutine{service_name="shop"}"#), 7);
}

#[test]
fn what_fails_is_told_in_words_and_stops_nothing() {
    let address = serve(|path| match path {
        "/bad/debug/pprof/allocs" => Some(b"no profile at all".to_vec()),
        "/hangs/debug/pprof/allocs" => None,
        _ => Some(heap(1, 1)),
    });
    let with_prefix = |prefix: &str| {
        only(&["memory"]).replace("{pprof_config", &format!("{{path_prefix: {prefix}, pprof_config"))
    };
    let config = Config::new(&[
        job("bad", &address, &with_prefix("/bad")),
        job("hangs", &address, &with_prefix("/hangs")),
        job("gone", "127.0.0.1:1", &only(&["memory"])),
        job("good", &address, &only(&["memory"])),
    ]);
    let server = config.start(&[]);
    let of = |job: &str| {
        target(&server, "memory", |target| target["job"] == job && target["scrapes"].as_u64().unwrap() >= 2)
    };
    assert_eq!(of("good")["health"], "up");
    let bad = of("bad");
    assert_eq!((&bad["health"], &bad["outcome"]), (&json!("down"), &json!("refused")));
    let gone = of("gone");
    assert_eq!(
        (&gone["outcome"], &gone["error"]),
        (&json!("connect"), &json!("cannot connect: connection refused"))
    );
    assert_eq!(gone["failures"], gone["scrapes"]);
    let hangs = target(&server, "memory", |target| target["job"] == "hangs");
    assert_eq!((&hangs["health"], &hangs["scrapes"]), (&json!("unknown"), &json!(0)));
    let explained = server.get("/api/v1/ingest/explain?service=bad").expect(200).json();
    assert_eq!(explained["refused"][0]["api"], "scrape", "{explained}");
    let metrics = server.get("/metrics").text();
    for line in [
        "everflame_scrapes_total{outcome=\"connect\"}",
        "everflame_scrape_targets{health=\"unknown\"} 1",
        "everflame_scrape_targets{health=\"down\"} 2",
        "everflame_scrape_received_bytes_total",
        "everflame_pushes_total{api=\"scrape\",outcome=\"stored\"}",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    let of_one = server.get("/api/v1/targets?job=good").expect(200).json();
    assert_eq!(
        (of_one["jobs"].as_array().unwrap().len(), of_one["targets"].as_array().unwrap().len()),
        (1, 1)
    );
    server.get("/api/v1/targets?health=up").expect(400);
    let printed = run(&["targets", "--server", &server.url]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    for words in ["job gone: 1 scraped", "cannot connect: connection refused", "unknown   memory  http://"] {
        assert!(printed.stdout.contains(words), "{words}: {}", printed.stdout);
    }
    // A scrape that has 20 s to go ends with the server.
    let begun = Instant::now();
    let (status, _) = server.stop();
    assert!(status.success());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn a_hang_up_reads_the_file_again() {
    let address = serve(|_| Some(heap(1, 1)));
    let config = Config::new(&[job("one", &address, &only(&["memory"]))]);
    let server = config.start(&[]);
    target(&server, "memory", |target| target["job"] == "one" && target["health"] == "up");
    config.write(&[job("two", &address, &only(&["memory"]))]);
    server.hang_up();
    target(&server, "memory", |target| target["job"] == "two" && target["health"] == "up");
    std::fs::write(config.path(), "scrape_configs: [{job_name: three, schema: http}]").unwrap();
    server.hang_up();
    server.wait_for_log("schema: unknown key; did you mean");
    let jobs = server.get("/api/v1/targets").expect(200).json()["jobs"].clone();
    assert_eq!((jobs.as_array().unwrap().len(), &jobs[0]["name"]), (1, &json!("two")));
}

#[test]
fn what_cannot_be_used_stops_the_start() {
    let config = Config::new(&["{job_name: a, scrape_intervall: 1s}".to_owned()]);
    let start = |more: &[&str]| {
        let flags = config.flags();
        let mut arguments = vec!["server", "--check-config", &flags[0], &flags[1]];
        arguments.extend_from_slice(more);
        run(&arguments)
    };
    let refused = start(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("scrape.yml:1: scrape_configs[0].scrape_intervall: unknown key"),
        "{refused:?}"
    );
    config.write(&["{job_name: a, tenant: x}".to_owned()]);
    assert!(start(&[]).stderr.contains("multi_tenant"));
    assert_eq!(start(&["--multi-tenant"]).code, Some(0));
    config.write(&["{job_name: a}".to_owned()]);
    assert!(start(&["--multi-tenant"]).stderr.contains("needs tenant"));
    assert_eq!(start(&[]).code, Some(0));
}

#[test]
fn each_tenant_sees_its_own_jobs() {
    let address = serve(|_| Some(heap(1, 1)));
    let of = |tenant: &str| job(tenant, &address, &format!("tenant: {tenant}, {}", only(&["memory"])));
    let server = Config::new(&[of("a"), of("b")]).start(&["--multi-tenant"]);
    let ask = |tenant: &str| {
        let headers = [("x-scope-orgid", tenant)];
        server.call("GET", "/api/v1/targets", &headers, None).expect(200).json()
    };
    let names = |tenant: &str| {
        ask(tenant)["jobs"].as_array().unwrap().iter().map(|job| job["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names("a"), names("a|b"), names("c")),
        (vec![json!("a")], vec![json!("a"), json!("b")], vec![])
    );
    server.get("/api/v1/targets").expect(401);
    let begun = Instant::now();
    loop {
        let services =
            server.call("GET", "/api/v1/services", &[("x-scope-orgid", "b")], None).expect(200).json();
        if services["services"][0]["name"] == "b" {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{services}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_check_prints_targets_and_urls() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("targets.json", r#"[{"targets": ["a:1", "b:2"], "labels": {"env": "prod"}}]"#);
    let file = folder.path().join("scrape.yml").display().to_string();
    let job = |more: &str| {
        format!(
            "scrape_configs: [{{job_name: shop, metrics_path: /m, {}, file_sd_configs: [{{files: [targets.json]}}]{more}}}]",
            only(&["memory"])
        )
    };
    write(
        "scrape.yml",
        &job(", relabel_configs: [{action: drop, source_labels: [__address__], regex: 'b.*'}]"),
    );
    let checked = run(&["scrape", "check", &file]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let expected = r#"job shop: 1 to scrape, 1 dropped
  http://a:1/debug/pprof/allocs  every 10 s  {env="prod",instance="a:1",job="shop",service_name="shop"}
"#;
    assert!(checked.stdout.starts_with(expected), "{}", checked.stdout);
    assert!(checked.stderr.contains("metrics_path: passed over"), "{}", checked.stderr);
    write("scrape.yml", &job(", static_configs: [{targets: ['http://c']}]"));
    let checked = run(&["scrape", "check", &file]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stdout.contains("error: __address__: \"http://c\" is a URL"), "{}", checked.stdout);
    write("scrape.yml", "scrape_configs: [{job_name: a, kubernetes_sd_configs: [{role: pod}]}]");
    let checked = run(&["scrape", "check", &file]);
    assert!(
        checked.code == Some(1) && checked.stderr.contains("kubernetes_sd_configs: not yet"),
        "{checked:?}"
    );
    write("scrape.yml", "global: {scrape_interval: 15s}");
    let checked = run(&["scrape", "check", &file]);
    assert!(checked.code == Some(0) && checked.stderr.contains("no job is in it"), "{checked:?}");
}

/// A Go service that serves its own profiles.
struct GoService {
    child: Child,
    address: String,
    socket: PathBuf,
}

impl GoService {
    fn start(folder: &Path) -> Self {
        let own = repository_file(".tools/bin/go");
        let go = if own.exists() { own.into_os_string() } else { "go".into() };
        let program = folder.join("go-scraped");
        let built = Command::new(go)
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=readonly")
            .current_dir(repository_file("tests/clients/go-scraped"))
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .output();
        let built = built.unwrap_or_else(|error| panic!("no Go here ({error}); run make setup"));
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let socket = folder.join("pprof.sock");
        let mut child =
            Command::new(program).arg(&socket).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().to_owned(), socket }
    }

    fn allocate(&self, mebibytes: u32) {
        call(&format!("http://{}/allocate?mebibytes={mebibytes}", self.address), "GET", &[], None)
            .expect(200);
    }
}

impl Drop for GoService {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Value of every stack that a function is on: it may be interrupted within, so its own value says less.
fn value_of(server: &TestServer, selector: &str, function: &str) -> i64 {
    let path = format!("/api/v1/top?from=0&to=now%2B1h&limit=0&q={}", encoded(selector));
    let reply = server.get(&path).expect(200).json();
    let rows = reply["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == function).map_or(0, |row| row["total"].as_i64().unwrap())
}

#[test]
fn a_real_go_service_over_tcp_and_over_a_unix_socket() {
    const KINDS: [&str; 6] = ["memory", "block", "goroutine", "mutex", "process_cpu", "fgprof"];
    let folder = tempfile::tempdir().unwrap();
    let service = GoService::start(folder.path());
    let socket = format!("unix://{}", service.socket.display());
    // Go takes one CPU profile at a time, so only one of the jobs asks for it.
    let over_tcp = format!(
        "{{job_name: tcp, scrape_interval: 1s, static_configs: [{{targets: ['{}']}}], profiling_config: {{pprof_config: {{fgprof: {{enabled: true}}}}}}}}",
        service.address
    );
    let over_socket = format!(
        "{{job_name: socket, scrape_interval: 1s, static_configs: [{{targets: ['{socket}']}}], profiling_config: {{pprof_config: {{memory: {{enabled: false}}, mutex: {{enabled: false}}, block: {{enabled: false}}, process_cpu: {{enabled: false}}, fgprof: {{}}, godeltaprof_memory: {{}}, godeltaprof_mutex: {{}}, godeltaprof_block: {{}}}}}}}}"
    );
    let server = Config::new(&[over_tcp, over_socket]).start(&[]);
    let wait = |job: &str, kind: &str, scrapes: u64| {
        let entry = target(&server, kind, |target| {
            target["job"] == job
                && (target["scrapes"].as_u64().unwrap() >= scrapes || target["failures"] != 0)
        });
        assert_eq!(entry["error"], "", "{entry}");
        entry["scrapes"].as_u64().unwrap()
    };
    for kind in KINDS {
        wait("tcp", kind, 1);
    }
    let memory = wait("tcp", "memory", 1);
    let delta = wait("socket", "godeltaprof_memory", 1);
    service.allocate(3);
    // One scrape may have been under way.
    let memory = wait("tcp", "memory", memory + 2);
    let delta = wait("socket", "godeltaprof_memory", delta + 2);
    let allocated =
        |job: &str| value_of(&server, &format!(r#"alloc_space{{job="{job}"}}"#), "main.allocateKnown");
    assert_eq!((allocated("tcp"), allocated("socket")), (3 << 20, 3 << 20));
    service.allocate(5);
    wait("tcp", "memory", memory + 2);
    wait("socket", "godeltaprof_memory", delta + 2);
    assert_eq!((allocated("tcp"), allocated("socket")), (8 << 20, 8 << 20));

    let cpu = format!(r#"cpu{{job="tcp",instance="{}"}}"#, service.address);
    let (hot, all) = (value_of(&server, &cpu, "main.burnHot"), total(&server, &cpu));
    assert!(hot * 10 > all * 7 && hot > 100_000_000, "{hot} of {all}");
    let fgprof = r#"fgprof:time:nanoseconds:wallclock:nanoseconds{job="socket"}"#;
    wait("socket", "fgprof", 1);
    let (hot, all) = (value_of(&server, fgprof, "main.burnHot"), total(&server, fgprof));
    assert!(hot > 100_000_000 && hot < all, "{hot} of {all}");
    wait("socket", "goroutine", 1);
    assert!(total(&server, r#"goroutine{job="socket"}"#) >= 4);
    wait("tcp", "mutex", 2);
    wait("socket", "godeltaprof_mutex", 2);
    for job in ["tcp", "socket"] {
        let selector = format!(r#"mutex{{job="{job}"}}"#);
        assert!(total(&server, &selector) > 0, "{selector}");
    }
    let labels = target(&server, "goroutine", |target| target["job"] == "socket")["labels"].clone();
    assert_eq!(labels, json!({"instance": socket, "job": "socket", "service_name": "socket"}));
}
