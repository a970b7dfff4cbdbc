//! Limits of bodies, disk space and scratch: what is too much is refused, and everything else goes on.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;

use std::{
    ffi::OsStr,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::Arc,
};

use support::{DataDir, PATIENCE, Reply, TestServer, body::Body, now_nanos};

/// Sends bytes and reads the whole answer, without an HTTP client that would know better.
fn exchange(server: &TestServer, head: &str, chunks: impl Iterator<Item = Vec<u8>>) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    for chunk in chunks {
        // The server may answer and hang up before it has everything.
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        answer.extend_from_slice(&buffer[..length]);
        if answer.windows(4).any(|window| window == b"\r\n\r\n") {
            break;
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn c025_a_huge_content_length_is_refused_at_once() {
    let server = TestServer::start(&[]);
    for path in ["/api/v1/push?service=a", "/api/0/profiles?service=a&type=cpu", "/ingest?name=a"] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 5368709120\r\n\r\n");
        let answer = exchange(&server, &head, std::iter::empty());
        assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer}");
    }
    server.get("/api/v1/services").expect(200);
}

/// Whatever the reads of the server happen to find: of a head that came in one go one of 500 kB was let through now and
/// then, and of a URL of that size one or another thing was said.
#[test]
fn a_head_that_is_too_long_is_always_refused_alike() {
    /// Bytes of a request line with all headers, as `docs/api.md` has it.
    const HEAD_MAX: usize = 417_792;
    let server = TestServer::start(&[]);
    let head = |url: usize, bytes: usize| {
        let url = format!("/healthz?{}", "a".repeat(url - "/healthz?".len()));
        let start = format!("GET {url} HTTP/1.1\r\nhost: x\r\n");
        let padding = bytes.saturating_sub(start.len() + "a: \r\n\r\n".len());
        format!("{start}a: {}\r\n\r\n", "b".repeat(padding))
    };
    for (url, bytes, status) in [
        (9, HEAD_MAX, 200),
        (9, HEAD_MAX + 1, 431),
        (9, 500_000, 431),
        (9, 5_000_000, 431),
        (65_534, HEAD_MAX, 200),
        (65_534, 500_000, 431),
        (65_535, 0, 414),
        (65_535, 500_000, 414),
        (430_000, 0, 414),
        (500_000, 0, 414),
        (5_000_000, 0, 414),
    ] {
        let text = head(url, bytes);
        for piece in [text.len(), 100_000, 7_000] {
            let pieces = text.as_bytes().chunks(piece).map(<[u8]>::to_vec);
            let answer = exchange(&server, "", pieces);
            let expected = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&expected), "{url} {bytes} in pieces of {piece}: {answer}");
        }
    }
    let many = "a: b\r\n".repeat(101);
    let answer = exchange(&server, &format!("GET /healthz HTTP/1.1\r\n{many}\r\n"), std::iter::empty());
    assert!(answer.starts_with("HTTP/1.1 431 ") && answer.contains("at most 100 headers"), "{answer}");
}

#[test]
fn c025_a_body_without_a_length_is_cut_at_the_limit() {
    let server = TestServer::start(&[]);
    let chunk = [b"100000\r\n".to_vec(), vec![0; 1 << 20], b"\r\n".to_vec()].concat();
    for path in [
        "/api/v1/push?service=a",
        "/api/0/profiles?service=a&type=cpu",
        "/ingest?name=a&format=pprof",
        pyroscope::PUSH,
    ] {
        let kind = "content-type: application/proto\r\ntransfer-encoding: chunked";
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(format!("POST {path} HTTP/1.1\r\nhost: x\r\n{kind}\r\n\r\n").as_bytes()).unwrap();
        // 63 MiB are taken, though nobody has said how many there will be, and nothing is said of them.
        for _ in 0..63 {
            stream.write_all(&chunk).unwrap();
        }
        stream.set_nonblocking(true).unwrap();
        let early = stream.read(&mut [0; 1]).unwrap_err();
        assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock, "{path}");
        stream.set_nonblocking(false).unwrap();
        // With the 65th the body is larger than the limit: there is an answer, without the end of it being seen.
        for _ in 0..2 {
            let _ = stream.write_all(&chunk);
        }
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = [0; 13];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 413 ", "{path}");
    }
    server.get("/api/v1/services").expect(200);
}

#[test]
fn c024_a_decompression_bomb_stops_at_the_limit() {
    let server = TestServer::start(&[]);
    let bomb = formats::gzip(&vec![0; 300 << 20]);
    let reply = server.post("/api/v1/push?service=a", &bomb);
    assert_eq!(reply.status, 413, "{reply:?}");
    server.get("/api/v1/services").expect(200);
}

/// A line of the server's status in kB: `VmHWM`, the highest memory so far, or `VmRSS`, that of now.
fn memory_kilobytes(server: &TestServer, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let value = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':')).unwrap();
    value.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn c024_memory_goes_back_while_nothing_is_asked_of_the_server() {
    let server = TestServer::start(&[]);
    server.post("/api/v1/push?service=a", &padded("large", 10, 200 << 20)).expect(200);
    assert!(memory_kilobytes(&server, "VmHWM") > 200 << 10);
    let begun = std::time::Instant::now();
    while memory_kilobytes(&server, "VmRSS") > 100 << 10 {
        assert!(begun.elapsed() < PATIENCE, "{} kB are kept", memory_kilobytes(&server, "VmRSS"));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// A valid profile that inflates to far more: an unknown field of zeros.
fn padded(stack: &str, value: i64, padding: usize) -> Vec<u8> {
    let mut raw = Body::cpu(now_nanos()).sample(stack, &[1, value]).raw();
    // field 100, bytes
    raw.extend_from_slice(&[0xa2, 0x06]);
    let mut length = padding;
    while length > 127 {
        raw.push(u8::try_from(length & 127).unwrap() | 128);
        length >>= 7;
    }
    raw.push(u8::try_from(length).unwrap());
    raw.resize(raw.len() + padding, 0);
    formats::gzip(&raw)
}

#[test]
fn profiles_beyond_what_one_request_may_inflate_to_are_refused_by_name() {
    let server = TestServer::start(&[]);
    let large = padded("large", 10, 250 << 20);
    let small = Body::cpu(now_nanos()).sample("small", &[1, 7]).gzip();
    let bodies = [&large, &large, &large, &large, &large, &small].map(Vec::as_slice);
    let labels = [("__name__", "process_cpu"), ("service_name", "a")];
    let message = pyroscope::push_message(&[pyroscope::series(&labels, &bodies)]);
    let reply = pyroscope::connect(&server, pyroscope::PUSH, &message.0);
    assert_eq!(reply.status, 413, "{reply:?}");
    let text = reply.text();
    assert!(text.contains("limit of one request") && text.contains("series[0].samples["), "{text}");
    // What came first is stored, once; what came last is not, and the client knows.
    assert_eq!(server.get("/api/v1/top?type=cpu").expect(200).json()["total"], 10);
    server.post("/api/v1/push?service=a", &small).expect(200);
    assert_eq!(server.get("/api/v1/top?type=cpu").expect(200).json()["total"], 17);
}

#[test]
fn large_tables_count_as_memory_of_all_requests() {
    let server = TestServer::start(&[]);
    // 24 million samples of two fields: about 1 MB as sent, 190 MB inflated, and their tables more than 512 MB.
    let mut raw = Body::cpu(now_nanos()).sample("main", &[1, 10]).raw();
    let sample = [0x12, 0x07, 0x0a, 0x01, 0x01, 0x12, 0x02, 0x01, 0x0a];
    raw.extend_from_slice(&sample.repeat(24_000_000));
    let reply = server.post("/api/v1/push?service=a", &formats::gzip(&raw));
    assert!(reply.status == 413 && reply.text().contains("tables"), "{reply:?}");
    let peak_kilobytes = memory_kilobytes(&server, "VmHWM");
    assert!(peak_kilobytes < 1 << 20, "{peak_kilobytes} kB at the peak");
    server.get("/api/v1/services").expect(200);
}

#[test]
fn c103_a_nearly_full_disk_refuses_pushes_and_recovers_by_itself() {
    // A file system in memory, so that filling it harms nobody; elsewhere only the first half can be shown.
    let memory = Path::new("/dev/shm");
    let data = if memory.is_dir() { DataDir::within(memory) } else { DataDir::new() };
    let free = rustix::fs::statvfs(data.path()).unwrap();
    let free_bytes = free.f_bavail * free.f_frsize;
    let flag = format!("--free-bytes-min={}", free_bytes.saturating_sub(256 << 20));
    let server = TestServer::start_in(data, &[&flag]);
    let push = |value: i64| {
        let body = Body::cpu(now_nanos()).sample("main", &[1, value]).gzip();
        server.post("/api/v1/push?service=a", &body)
    };
    push(1).expect(200);
    let filler = server.data().path().join("filler");
    std::fs::write(&filler, vec![1; 300 << 20]).unwrap();
    server.wait_for("/ready", |reply| reply.text().contains("read-only"));
    let refused = push(2).expect(503);
    assert!(refused.header("retry-after").is_some() && refused.text().contains("read-only"), "{refused:?}");
    assert_eq!(server.get("/api/v1/top?type=cpu").expect(200).json()["total"], 1, "queries work");
    std::fs::remove_file(&filler).unwrap();
    server.wait_for("/ready", |reply| reply.text() == "ready\n");
    push(4).expect(200);
    assert_eq!(server.get("/api/v1/top?type=cpu").expect(200).json()["total"], 5);
}

#[test]
fn c109_all_scratch_is_under_the_data_folder() {
    let data = DataDir::new();
    let nowhere = OsStr::new("/nonexistent/folder");
    let variables = [("TMPDIR", nowhere), ("HOME", nowhere), ("XDG_CACHE_HOME", nowhere)];
    let flags = ["--flush-interval=200ms"];
    let on_read_only_root = TestServer::start_on_read_only_root(Arc::clone(&data), &flags, &variables);
    let is_read_only = on_read_only_root.is_some();
    if !is_read_only {
        eprintln!("half of c109 is skipped: this machine lets nobody mount a read-only root");
    }
    let server = on_read_only_root.unwrap_or_else(|| TestServer::start_with(data, &flags, &variables));
    let mounts = std::fs::read_to_string(format!("/proc/{}/mountinfo", server.id())).unwrap();
    let root = mounts.lines().rfind(|line| line.split(' ').nth(4) == Some("/")).unwrap();
    let options_of_root = root.split(' ').nth(5).unwrap();
    assert_eq!(options_of_root.split(',').any(|option| option == "ro"), is_read_only, "{mounts}");
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    server.post("/api/v1/push?service=a", &body).expect(200);
    server.wait_for("/metrics", |reply| reply.text().contains("everflame_blocks 1\n"));
    assert_eq!(server.get("/api/v1/top?type=cpu").expect(200).json()["total"], 10);
    // Its own profile needs a temporary file.
    server.get("/debug/pprof/profile?seconds=1").expect(200);
    let folder = server.data().path().canonicalize().unwrap();
    let opened_by = |process: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        targets
            .filter(|one| one.is_absolute() && !one.starts_with("/dev") && !one.starts_with("/proc"))
            .collect()
    };
    // What whoever runs the tests has left open is handed down to it.
    let inherited = opened_by("self");
    for file in opened_by(&server.id().to_string()) {
        assert!(file.starts_with(&folder) || inherited.contains(&file), "{} is open", file.display());
    }
}

#[test]
fn a_second_server_on_the_same_folder_says_who_has_it() {
    let server = TestServer::start(&[]);
    let data = server.data();
    let finished =
        support::run(&["server", "--listen", "127.0.0.1:0", "--data-dir", data.path().to_str().unwrap()]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains(&server.id().to_string()), "{finished:?}");
    server.get("/ready").expect(200);
}

#[test]
fn more_blocks_than_the_soft_limit_of_open_files_can_be_read() {
    const DAYS: i64 = 80;
    let data = DataDir::new();
    let server = TestServer::start_with_open_files(Arc::clone(&data), 48, &["--flush-interval", "1s"]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let open_files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let values: Vec<&str> = open_files.split_whitespace().collect();
    assert_eq!(values[0], values[1], "the soft limit is raised to the hard one");
    // A block for each day, and a file open for each block.
    for day in 0..DAYS {
        let body = Body::cpu(now_nanos() - day * 86_400_000_000_000).sample("main;work", &[1, 10_000_000]);
        server.post("/api/v1/push?service=a", &body.gzip()).expect(200);
    }
    let has_blocks = |reply: &Reply| {
        let number = |name: &str| {
            let text = reply.text();
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<i64>().ok());
            found.unwrap_or_default()
        };
        number("everflame_blocks ") >= DAYS && number("everflame_head_profiles ") == 0
    };
    server.wait_for("/metrics", has_blocks);
    let ask = |server: &TestServer| {
        let selector = support::encoded("cpu{service_name=\"a\"}");
        server.get(&format!("/api/v1/top?q={selector}&from=now-100d")).expect(200).json()["total"].clone()
    };
    assert_eq!(ask(&server), DAYS * 10_000_000);
    let (_, data) = server.stop();
    let server = TestServer::start_with_open_files(data, 48, &[]);
    assert_eq!(ask(&server), DAYS * 10_000_000);
}

/// 67,000 pods and a trace id as a label: everything is kept, the report names the offender, other services go on, and
/// the server's own metrics do not grow with what clients send. (Taking the label out of the series comes later.)
#[test]
fn c084_cardinality_explosion() {
    const PODS: usize = 67_000;
    let server = TestServer::start(&[]);
    let metric_lines = || server.get("/metrics").expect(200).text().lines().count();
    let time = now_nanos();
    let body = Body::cpu(time).sample("main;work", &[1, 10]).gzip();
    pyroscope::push(&server, "other", &[], &body).expect(200);
    // Each kind of call has its metrics from its first time on.
    let q = support::encoded(r#"cpu{service_name="cart"}"#);
    server.get(&format!("/api/v1/top?q={q}")).expect(200);
    server.get("/api/v1/cardinality").expect(200);
    let lines_before = metric_lines();
    for chunk in (0..PODS).collect::<Vec<_>>().chunks(2_000) {
        let series: Vec<_> = chunk
            .iter()
            .map(|pod| {
                let (pod, trace) = (format!("pod-{pod}"), format!("{:032x}", pod * 7_919));
                let mut labels = vec![("__name__", "process_cpu"), ("service_name", "cart"), ("zone", "a")];
                labels.push(if pod.ends_with('0') { ("trace_id", &trace) } else { ("pod", &pod) });
                pyroscope::series(&labels, &[&body])
            })
            .collect();
        pyroscope::connect(&server, pyroscope::PUSH, &pyroscope::push_message(&series).0).expect(200);
        pyroscope::push(&server, "other", &[("round", &chunk[0].to_string())], &body).expect(200);
    }
    let report = server.get("/api/v1/cardinality?limit=1").expect(200).json();
    let label = |name: &str| {
        let labels = report["labels"].as_array().unwrap();
        labels.iter().find(|label| label["name"] == name).unwrap().clone()
    };
    assert_eq!(report["labels"][0]["name"], "pod");
    let (pods, traces, rounds) = (PODS * 9 / 10, PODS / 10, PODS.div_ceil(2_000));
    assert_eq!(label("pod")["values"], pods);
    assert_eq!(label("trace_id")["values"], traces);
    assert_eq!(report["series"], pods + traces + rounds + 1);
    assert_eq!(label("pod")["series_without"], 1 + traces + rounds + 1);
    assert_eq!(label("zone")["series_without"], report["series"]);
    assert_eq!(label("service_name")["top"], serde_json::json!([{"value": "cart", "count": PODS}]));
    // Only `cart` has pods, only `other` has rounds.
    let of_service = |service: &str, count: usize| serde_json::json!([{"value": service, "count": count}]);
    assert_eq!(label("pod")["services"], of_service("cart", pods));
    assert_eq!(label("round")["services"], of_service("other", rounds));
    let top = server.get(&format!("/api/v1/top?q={q}")).expect(200).json();
    assert_eq!((&top["total"], &top["stats"]["profiles"]), (&(PODS * 10).into(), &PODS.into()));
    let printed = support::run(&["labels", "--cardinality", "--server", &server.url]);
    let first = printed.stdout.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(first[..4], ["60300", "60300", "6736", "pod"], "{}", printed.stdout);
    assert!(printed.stdout.lines().nth(1).unwrap().ends_with("; cart (60300)"), "{}", printed.stdout);
    assert_eq!(metric_lines(), lines_before, "the server's own metrics grew");
}
