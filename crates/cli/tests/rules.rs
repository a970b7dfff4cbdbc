//! Rules over the real program: by RPC, from a file, read by a real Prometheus, across kills.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;

use std::{
    collections::BTreeSet,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::{Duration, Instant},
};

use pyroscope::{Message, frame};
use serde_json::{Value, json};
use support::{DataDir, PATIENCE, TestServer, call, encoded, now_nanos, run, try_call};
use tempfile::TempDir;

/// What pushed folded text becomes.
const TYPE: &str = "process_cpu:cpu:nanoseconds::";

fn push(url: &str, service: &str, number: i64) -> Result<u16, ureq::Error> {
    let body = format!("main;work;f{} {number}\nmain;idle 1000\n", number % 3);
    let time = now_nanos() / 1_000_000;
    let path = format!(
        "{url}/api/v1/push?service={service}&format=folded&sample_type=cpu&unit=nanoseconds&time={time}&label=n={}",
        number % 2
    );
    Ok(try_call(&path, "POST", &[], Some(body.as_bytes()))?.status)
}

/// A Connect call.
fn ask(server: &TestServer, method: &str, message: &Value) -> support::Reply {
    let path = format!("/settings.v1.RecordingRulesService/{method}");
    let headers = [("content-type", "application/json")];
    server.call("POST", &path, &headers, Some(message.to_string().as_bytes()))
}

fn scraped(server: &TestServer) -> String {
    server.get("/api/v1/rules/metrics").expect(200).text()
}

#[test]
fn rules_are_made_read_changed_and_deleted_by_rpc() {
    let server = TestServer::start(&[]);
    assert_eq!(ask(&server, "ListRecordingRules", &json!({})).expect(200).json(), json!({}));
    let wanted = json!({
        "metricName": "profiles_recorded_work",
        "matchers": [format!("{{__profile_type__=\"{TYPE}\"}}"), "{service_name=~\"a|b\"}"],
        "groupBy": ["service_name"],
        "externalLabels": [{"name": "team", "value": "x"}],
        "stacktraceFilter": {"functionName": {"functionName": "work", "metricType": "TOTAL"}},
    });
    let made = ask(&server, "UpsertRecordingRule", &wanted).expect(200).json()["rule"].clone();
    let id = made["id"].as_str().unwrap().to_owned();
    let mut expected = wanted.clone();
    expected["id"] = id.clone().into();
    expected["profileType"] = TYPE.into();
    expected["generation"] = "1".into();
    // The zero value of an enum is left out, as protojson does.
    expected["stacktraceFilter"] = json!({"functionName": {"functionName": "work"}});
    assert_eq!(made, expected);
    assert_eq!(ask(&server, "GetRecordingRule", &json!({"id": id})).expect(200).json()["rule"], made);
    assert_eq!(ask(&server, "ListRecordingRules", &json!({})).expect(200).json(), json!({"rules": [made]}));
    for (service, number) in [("a", 7), ("b", 8), ("c", 9), ("a", 10)] {
        assert_eq!(push(&server.url, service, number).unwrap(), 200);
    }
    let text = scraped(&server);
    let line = |service: &str, value: i64| {
        format!(
            "profiles_recorded_work{{profiles_rule_id=\"{id}\",service_name=\"{service}\",team=\"x\"}} {value}\n"
        )
    };
    assert!(
        text.contains(&line("a", 17)) && text.contains(&line("b", 8)) && !text.contains("\"c\""),
        "{text}"
    );
    assert!(text.contains("# TYPE profiles_recorded_work counter\n"), "{text}");
    // Another question under the same id: a new counter, which a series of its own has.
    let mut changed = expected.clone();
    changed["groupBy"] = json!([]);
    let after = ask(&server, "UpsertRecordingRule", &changed).expect(200).json()["rule"].clone();
    assert_eq!((&after["id"], after["generation"].as_str()), (&made["id"], Some("2")));
    assert_eq!(
        ask(
            &server,
            "UpsertRecordingRule",
            &json!({
                "id": id, "generation": "1", "metricName": "other", "matchers": wanted["matchers"],
            })
        )
        .expect(409)
        .json()["code"],
        "already_exists"
    );
    let text = scraped(&server);
    assert!(!text.contains(&id) && text.lines().last().unwrap().ends_with(" 0"), "{text}");
    for (wrong, field) in [
        (json!({"metricName": "a-b", "matchers": wanted["matchers"]}), "metric_name"),
        (json!({"metricName": "a"}), "matchers"),
        (json!({"metricName": "a", "matchers": ["{}"]}), "matchers"),
        (
            json!({"metricName": "a", "matchers": [format!("{{__profile_type__=\"{TYPE}\",x=~\"(\"}}")]}),
            "matchers",
        ),
        (json!({"metricName": "a", "matchers": wanted["matchers"], "generation": "-1"}), "generation"),
        (json!({"metricName": "a", "matchers": wanted["matchers"], "groupBy": ["span_id"]}), "group_by"),
        (json!({"id": "a b", "metricName": "a", "matchers": wanted["matchers"]}), "id"),
    ] {
        let error = ask(&server, "UpsertRecordingRule", &wrong).expect(400).json();
        assert!(error["message"].as_str().unwrap().starts_with(field), "{error}");
    }
    ask(&server, "GetRecordingRule", &json!({"id": "none"})).expect(404);
    ask(&server, "DeleteRecordingRule", &json!({"id": "none"})).expect(404);
    assert_eq!(ask(&server, "DeleteRecordingRule", &json!({"id": id})).expect(200).json(), json!({}));
    assert_eq!(scraped(&server), "");
    server.get("/api/v1/rules/metrics?nonsense=1").expect(400);
}

/// A gRPC call over HTTP/2, as a Go client makes it: the status behind the answer, and the answer.
fn grpc(server: &TestServer, method: &str, message: &Message) -> (String, Vec<u8>) {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("request"), frame(&message.0)).unwrap();
    let output = Command::new("curl")
        .args([
            "-sS",
            "-D",
            "-",
            "--http2-prior-knowledge",
            "-H",
            "content-type: application/grpc",
            "-H",
            "te: trailers",
        ])
        .arg("--data-binary")
        .arg(format!("@{}", path("request").display()))
        .arg("-o")
        .arg(path("answer"))
        .arg(format!("{}/settings.v1.RecordingRulesService/{method}", server.url))
        .output()
        .unwrap();
    // Headers, then trailers.
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    let status = told.lines().find_map(|line| line.strip_prefix("grpc-status: "));
    let answer = std::fs::read(path("answer")).unwrap_or_default();
    (status.unwrap_or_else(|| panic!("no status in {told}")).trim().to_owned(), answer)
}

#[test]
fn rules_by_grpc_are_those_by_connect_and_errors_have_their_codes() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rules.toml");
    std::fs::write(&file, format!("[[rule]]\nmetric = \"of_the_file\"\nselector = '{TYPE}{{}}'\n")).unwrap();
    let server = TestServer::start(&["--rules", file.to_str().unwrap()]);
    let empty = Message::default();
    let id = |id: &str| Message::default().bytes(1, id);
    let provisioned = ask(&server, "ListRecordingRules", &json!({})).expect(200).json()["rules"][0].clone();
    let selector = format!("{TYPE}{{service_name=\"a\"}}");
    let wanted = Message::default().bytes(1, "mine").bytes(2, "by_grpc").bytes(3, &selector);
    let (status, made) = grpc(&server, "UpsertRecordingRule", &wanted.clone().bytes(4, "pod"));
    assert_eq!(status, "0");
    let rule = ask(&server, "GetRecordingRule", &json!({"id": "mine"})).expect(200).json()["rule"].clone();
    assert_eq!(
        (&rule["metricName"], &rule["groupBy"], &rule["generation"]),
        (&json!("by_grpc"), &json!(["pod"]), &json!("1"))
    );
    let (status, got) = grpc(&server, "GetRecordingRule", &id("mine"));
    assert_eq!((status.as_str(), &got), ("0", &made), "both answer with the rule");
    let (status, listed) = grpc(&server, "ListRecordingRules", &empty);
    let has = |text: &str| listed.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(status == "0" && has("by_grpc") && has("of_the_file"), "{listed:?}");
    for (method, message, status) in [
        ("GetRecordingRule", id("none"), "5"),
        ("DeleteRecordingRule", id("none"), "5"),
        ("DeleteRecordingRule", id(provisioned["id"].as_str().unwrap()), "7"),
        ("UpsertRecordingRule", empty.clone(), "3"),
        ("UpsertRecordingRule", wanted.clone().number(6, 7), "6"),
        ("UpsertRecordingRule", wanted.number(6, 1), "0"),
        ("DeleteRecordingRule", id("mine"), "0"),
        ("GetRecordingRule", id("mine"), "5"),
        ("NoSuchMethod", empty.clone(), "12"),
    ] {
        assert_eq!(grpc(&server, method, &message).0, status, "{method}");
    }
    let left = ask(&server, "ListRecordingRules", &json!({})).expect(200).json();
    assert_eq!(left, json!({"rules": [provisioned]}));
}

#[test]
fn tenants_see_their_own_rules_alone() {
    let server = TestServer::start(&["--multi-tenant"]);
    let rule = json!({"metricName": "m", "matchers": [format!("{TYPE}{{}}")]}).to_string();
    let path = "/settings.v1.RecordingRulesService/UpsertRecordingRule";
    let of = |tenant| [("content-type", "application/json"), ("x-scope-orgid", tenant)];
    server.call("POST", path, &of("one"), Some(rule.as_bytes())).expect(200);
    let text = |path: &str, headers: &[(&str, &str)]| server.call("GET", path, headers, None);
    let metrics = "/api/v1/rules/metrics";
    assert!(text(metrics, &[("x-scope-orgid", "one")]).expect(200).text().contains("\nm{"));
    assert_eq!(text(metrics, &[("x-scope-orgid", "two")]).expect(200).text(), "");
    assert!(text(&format!("{metrics}?tenant=one"), &[]).expect(200).text().contains("\nm{"));
    // The header wins; without either there is no tenant.
    assert_eq!(text(&format!("{metrics}?tenant=one"), &[("x-scope-orgid", "two")]).expect(200).text(), "");
    text(metrics, &[]).expect(401);
    text(&format!("{metrics}?tenant=.."), &[]).expect(400);
}

#[test]
fn a_file_of_rules_is_checked_and_shows_what_it_would_have_counted() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rules.toml");
    let path = file.to_str().unwrap();
    std::fs::write(
        &file,
        format!(
            "[[rule]]\nmetric = \"cpu\"\nselector = '{TYPE}{{service_name=\"a\"}}'\ngroup_by = [\"n\"]\n\n\
             [[rule]]\nmetric = \"work\"\nselector = '{TYPE}{{}}'\nfunction = \"work\"\n"
        ),
    )
    .unwrap();
    let checked = run(&["rules", "check", path]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.stderr.contains("2 rules are good"), "{checked:?}");
    let server = TestServer::start(&["--rules", path]);
    for (service, number) in [("a", 7), ("b", 8), ("a", 10)] {
        assert_eq!(push(&server.url, service, number).unwrap(), 200);
    }
    let checked = run(&["rules", "check", path, "--server", &server.url]);
    for part in ["(2017 nanoseconds) in 2 groups", "{n=\"1\"}", "(25 nanoseconds) in work, of"] {
        assert!(checked.stdout.contains(part), "{part} is not in {checked:?}");
    }
    assert!(!checked.stdout.contains("no profile") && !checked.stdout.contains("no stack"), "{checked:?}");
    let listed = ask(&server, "ListRecordingRules", &json!({})).expect(200).json();
    let provisioned = &listed["rules"][0];
    assert_eq!(provisioned["provisioned"], true, "{listed}");
    ask(&server, "DeleteRecordingRule", &json!({"id": provisioned["id"]})).expect(403);
    std::fs::write(&file, "[[rule]]\nmetric = \"a b\"\nselector = '{}'\n").unwrap();
    let checked = run(&["rules", "check", path]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stderr.contains("rule 1 (\"a b\"): metric_name"), "{checked:?}");
    let refused = run(&["server", "--rules", path, "--check-config"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--rules: ") && refused.stderr.contains("rule 1"), "{refused:?}");
}

/// A rule that would have counted nothing: its selector took no profile, or no stack of them has its function.
#[test]
fn a_rule_that_counts_nothing_is_told_why() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rules.toml");
    let path = file.to_str().unwrap();
    let server = TestServer::start(&[]);
    for number in [7, 8] {
        assert_eq!(push(&server.url, "a", number).unwrap(), 200);
    }
    let no_stack = "no stack of the 2 profiles has this function";
    let no_profile = "no profile of the last hour has this type and these labels";
    for (service, function, told) in [
        ("a", Some("absent"), Some(no_stack)),
        ("absent", Some("work"), Some(no_profile)),
        ("absent", Some("absent"), Some(no_profile)),
        ("absent", None, Some(no_profile)),
        ("a", Some("work"), None),
        ("a", None, None),
    ] {
        let function = function.map_or(String::new(), |name| format!("function = \"{name}\"\n"));
        let selector = format!("{TYPE}{{service_name=\"{service}\"}}");
        std::fs::write(&file, format!("[[rule]]\nmetric = \"m\"\nselector = '{selector}'\n{function}"))
            .unwrap();
        let checked = run(&["rules", "check", path, "--server", &server.url]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        for sentence in [no_stack, no_profile] {
            assert_eq!(checked.stdout.contains(sentence), told == Some(sentence), "{service} {checked:?}");
        }
    }
}

/// A port that nobody listens on now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A real Prometheus, killed when dropped.
struct Prometheus {
    child: Child,
    url: String,
    _data: TempDir,
}

impl Prometheus {
    fn start(port: u16, scraped: &str) -> Self {
        let data = TempDir::with_prefix("everflame-prometheus-").unwrap();
        let config = data.path().join("prometheus.yml");
        let text = format!(
            "global:\n  scrape_interval: 500ms\nscrape_configs:\n- job_name: everflame\n  metrics_path: /api/v1/rules/metrics\n  \
             static_configs:\n  - targets: [\"{scraped}\"]\n"
        );
        std::fs::write(&config, text).unwrap();
        let own = support::repository_file(".tools/bin/prometheus");
        let program = if own.exists() { own } else { PathBuf::from("prometheus") };
        let child = Command::new(&program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", data.path().join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(["--web.enable-remote-write-receiver", "--log.level=error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{}: {error}; scripts/setup prometheus brings it", program.display())
            });
        let prometheus = Self { child, url: format!("http://127.0.0.1:{port}"), _data: data };
        let begun = Instant::now();
        while !try_call(&format!("{}/-/ready", prometheus.url), "GET", &[], None)
            .is_ok_and(|reply| reply.status == 200)
        {
            assert!(begun.elapsed() < PATIENCE, "Prometheus did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        prometheus
    }

    /// Raw samples of one series, oldest first; none where there is no such series yet.
    fn samples(&self, selector: &str) -> Vec<i64> {
        let path = format!("{}/api/v1/query?query={}", self.url, encoded(&format!("{selector}[1h]")));
        let reply = call(&path, "GET", &[], None).expect(200).json();
        let found = reply["data"]["result"].as_array().unwrap().clone();
        assert!(found.len() <= 1, "{selector} means several series: {reply}");
        let Some(series) = found.first() else { return Vec::new() };
        let value = |sample: &Value| sample[1].as_str().unwrap().parse::<i64>().unwrap();
        series["values"].as_array().unwrap().iter().map(value).collect()
    }

    /// Waits until the last raw sample is this.
    fn wait_for(&self, selector: &str, wanted: i64) {
        let begun = Instant::now();
        while self.samples(selector).last() != Some(&wanted) {
            let seen = self.samples(selector);
            assert!(begun.elapsed() < PATIENCE, "{selector} is {seen:?} and never {wanted}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// SelectSeries' sum over all profiles of a service.
fn select_series(server: &TestServer, service: &str) -> i64 {
    let now = now_nanos() / 1_000_000;
    let message = json!({
        "start": now - 3_600_000, "end": now + 600_000, "step": 10.0, "profileTypeID": TYPE,
        "labelSelector": format!("{{service_name=\"{service}\"}}"),
    });
    let headers = [("content-type", "application/json")];
    let path = "/querier.v1.QuerierService/SelectSeries";
    let reply = server.call("POST", path, &headers, Some(message.to_string().as_bytes())).expect(200).json();
    let points = reply["series"][0]["points"].as_array().cloned().unwrap_or_default();
    // Whole numbers below 2⁵³.
    points.iter().map(|point| point["value"].as_f64().unwrap() as i64).sum()
}

/// What `everflame top` says of a function.
fn total_of(server: &TestServer, function: &str) -> i64 {
    let path = format!("/api/v1/top?q={}&limit=0", encoded(&format!("{TYPE}{{}}")));
    let rows = server.get(&path).expect(200).json()["rows"].clone();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == function).cloned();
    row.map_or(0, |row| row["total"].as_i64().unwrap())
}

/// Pushes one after the other until told to stop or the server is gone, and notes every sum that a counter may show.
fn push_until(url: &str, next: &AtomicI64, stop: &AtomicBool, sums: &mut BTreeSet<i64>, sum: &mut i64) {
    while !stop.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let added = number + 1000;
        match push(url, "api", number) {
            Ok(200) => {
                *sum += added;
                sums.insert(*sum);
            }
            // It may have been accepted all the same; whoever asks the server next knows.
            Ok(_) | Err(_) => {
                sums.insert(*sum + added);
                return;
            }
        }
    }
}

#[test]
fn a_real_prometheus_reads_exact_counters_by_scrape_and_remote_write_across_kills() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rules.toml");
    std::fs::write(
        &file,
        format!(
            "[[rule]]\nmetric = \"cpu\"\nselector = '{TYPE}{{service_name=\"api\"}}'\n\n\
             [[rule]]\nmetric = \"work\"\nselector = '{TYPE}{{service_name=\"api\"}}'\nfunction = \"work\"\n\
             group_by = [\"service_name\"]\n"
        ),
    )
    .unwrap();
    let (listen, port) = (format!("127.0.0.1:{}", free_port()), free_port());
    let prometheus = Prometheus::start(port, &listen);
    let remote = format!("{}/api/v1/write", prometheus.url);
    let flags = [
        "--rules",
        file.to_str().unwrap(),
        "--listen",
        &listen,
        "--flush-interval",
        "700ms",
        "--remote-write-url",
        &remote,
        "--remote-write-interval",
        "500ms",
    ];
    // By scrape, and by remote write, which has no job.
    let selectors = ["cpu{job=\"everflame\"}", "cpu{job=\"\"}"];
    let functions = ["work{job=\"everflame\"}", "work{job=\"\"}"];
    let data = DataDir::new();
    let (next, mut sums) = (AtomicI64::new(1), BTreeSet::from([0]));
    let mut before: Option<(i64, i64)> = None;
    for _ in 0..3 {
        let server = TestServer::start_in(data.clone(), &flags);
        let mut sum = select_series(&server, "api");
        assert!(sums.contains(&sum), "{sum} is not what was acknowledged");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let pusher = scope.spawn(|| push_until(&server.url, &next, &stop, &mut sums, &mut sum));
            // Until some samples were taken in the midst of it.
            for selector in selectors {
                let seen = prometheus.samples(selector).len();
                while prometheus.samples(selector).len() < seen + 3 {
                    assert!(!pusher.is_finished(), "a push was refused");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        let (accepted, worked) = (select_series(&server, "api"), total_of(&server, "work"));
        for (selectors, now) in [(selectors, accepted), (functions, worked)] {
            selectors.iter().for_each(|selector| prometheus.wait_for(selector, now));
        }
        // Between the two instants raw samples differ by what was accepted between them.
        if let Some((accepted_before, worked_before)) = before {
            for (selectors, was, now) in
                [(selectors, accepted_before, accepted), (functions, worked_before, worked)]
            {
                for selector in selectors {
                    let samples = prometheus.samples(selector);
                    assert!(samples.contains(&was), "{selector} never was {was}: {samples:?}");
                    assert_eq!(samples.last().unwrap() - was, now - was);
                }
            }
        }
        before = Some((accepted, worked));
        // More, and the power goes in the middle of a push.
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let url = server.url.clone();
            let (next, sums, sum) = (&next, &mut sums, &mut sum);
            let pusher = scope.spawn(move || push_until(&url, next, &stop, sums, sum));
            let enough = next.load(Ordering::Relaxed) + 40;
            while next.load(Ordering::Relaxed) < enough && !pusher.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            server.kill();
            pusher.join().unwrap();
        });
    }
    for selector in selectors {
        let samples = prometheus.samples(selector);
        assert!(samples.windows(2).all(|pair| pair[0] <= pair[1]), "{selector} fell: {samples:?}");
        let odd: Vec<&i64> = samples.iter().filter(|sample| !sums.contains(sample)).collect();
        assert!(odd.is_empty(), "{selector} was {odd:?}, which is no sum of whole profiles in their order");
        assert!(samples.len() > 9, "{samples:?}");
    }
}
