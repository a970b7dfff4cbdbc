//! A block that the disk gives back damaged, or not at all: every API says so, nobody gets an answer that only looks
//! whole, and neighbours do not notice.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{path::PathBuf, sync::Arc};

use support::{DataDir, Reply, TestServer, body::Body, encoded, now_nanos, run};

const TENANTS: [&str; 2] = ["broken", "whole"];

fn call(server: &TestServer, tenant: &str, method: &str, path: &str, body: Option<&[u8]>) -> Reply {
    let headers = [("X-Scope-OrgID", tenant), ("Content-Type", "application/json")];
    server.call(method, path, &headers, body)
}

/// A data folder with one block of each tenant, and the file of the first one's.
fn written() -> (Arc<DataDir>, PathBuf) {
    let server = TestServer::start(&["--multi-tenant", "--flush-interval", "1s"]);
    for tenant in TENANTS {
        let body = Body::cpu(now_nanos()).sample("main;work", &[3, 30_000_000]).gzip();
        call(&server, tenant, "POST", "/api/v1/push?service=app&name=process_cpu", Some(&body)).expect(200);
    }
    let blocks = |reply: &Reply| reply.text().lines().any(|line| line == "everflame_blocks 2");
    server.wait_for("/metrics", blocks);
    let (_, data) = server.stop();
    let folder = data.path().join("blocks").join(TENANTS[0]);
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    (data, files[0].clone())
}

/// One query of each API.
fn queries() -> Vec<(&'static str, String, Option<String>)> {
    let selector = encoded("cpu{service_name=\"app\"}");
    let now = now_nanos() / 1_000_000;
    let range = format!("\"start\":{},\"end\":{}", now - 3_600_000, now + 60_000);
    let matcher = "{service_name=\\\"app\\\"}";
    let kind = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
    let querier = |method: &str| format!("/querier.v1.QuerierService/{method}");
    vec![
        ("GET", format!("/api/v1/flame?q={selector}"), None),
        ("GET", format!("/api/v1/top?q={selector}"), None),
        ("GET", format!("/api/v1/timeline?q={selector}"), None),
        ("GET", format!("/api/v1/profiles?q={selector}"), None),
        ("GET", format!("/api/v1/pprof?q={selector}"), None),
        ("GET", "/api/v1/services".to_owned(), None),
        ("GET", "/api/v1/labels".to_owned(), None),
        ("GET", format!("/pprof/app/debug/pprof/profile?from={}&to={}", now - 3_600_000, now + 60_000), None),
        ("GET", "/api/0/services".to_owned(), None),
        (
            "GET",
            format!(
                "/pyroscope/render?query={}&from=now-1h",
                encoded(&format!("{kind}{{service_name=\"app\"}}"))
            ),
            None,
        ),
        ("POST", querier("LabelNames"), Some(format!("{{{range}}}"))),
        (
            "POST",
            querier("SelectMergeStacktraces"),
            Some(format!("{{\"profileTypeID\":\"{kind}\",\"labelSelector\":\"{matcher}\",{range}}}")),
        ),
    ]
}

fn assert_refused(data: Arc<DataDir>, file: &std::path::Path) {
    let name = format!("blocks/{}/{}", TENANTS[0], file.file_name().unwrap().to_str().unwrap());
    let server = TestServer::start_in(data, &["--multi-tenant"]);
    for (method, path, body) in queries() {
        let body = body.as_ref().map(String::as_bytes);
        let reply = call(&server, TENANTS[0], method, &path, body);
        assert_eq!(reply.status, 500, "{path}: {reply:?}");
        assert!(reply.text().contains(&name), "{path}: {reply:?}");
        assert!(!reply.text().contains(server.data().path().to_str().unwrap()), "{path}: {reply:?}");
        call(&server, TENANTS[1], method, &path, body).expect(200);
    }
    // Pushing goes on; so do queries over times that the block does not touch.
    let day_ago = now_nanos() - 86_400_000_000_000;
    let body = Body::cpu(day_ago).sample("main;work", &[1, 10_000_000]).gzip();
    call(&server, TENANTS[0], "POST", "/api/v1/push?service=app&name=process_cpu", Some(&body)).expect(200);
    let selector = encoded("cpu{service_name=\"app\"}");
    let past = format!("/api/v1/top?q={selector}&from=now-25h&to=now-23h");
    assert_eq!(call(&server, TENANTS[0], "GET", &past, None).expect(200).json()["total"], 10_000_000);
}

#[test]
fn a_damaged_footer_is_said_by_every_api() {
    let (data, file) = written();
    let mut bytes = std::fs::read(&file).unwrap();
    let position = bytes.len() - 40;
    bytes[position] ^= 0x10;
    std::fs::write(&file, bytes).unwrap();
    assert_refused(data, &file);
}

#[test]
fn a_block_that_is_gone_is_said_by_every_api() {
    let (data, file) = written();
    std::fs::remove_file(&file).unwrap();
    assert_refused(data, &file);
}

#[test]
fn a_damaged_section_fails_the_command_too() {
    let server = TestServer::start(&["--flush-interval", "1s"]);
    let body = Body::cpu(now_nanos()).sample("main;work", &[3, 30_000_000]).gzip();
    server.post("/api/v1/push?service=app&name=process_cpu", &body).expect(200);
    server.wait_for("/metrics", |reply| reply.text().lines().any(|line| line == "everflame_blocks 1"));
    let (_, data) = server.stop();
    let folder = data.path().join("blocks/anonymous");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    // Behind the magic comes the first section of the only service.
    bytes[10] ^= 0x10;
    std::fs::write(&file, bytes).unwrap();
    let server = TestServer::start_in(data, &[]);
    let unreadable = || {
        let text = server.get("/metrics").expect(200).text();
        text.lines().find_map(|line| line.strip_prefix("everflame_blocks_unreadable ")).unwrap().to_owned()
    };
    assert_eq!(unreadable(), "0", "nobody has read it yet");
    let finished = run(&["top", "--server", &server.url, "cpu{service_name=\"app\"}"]);
    assert_eq!(unreadable(), "1");
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished:?}");
    assert!(finished.stderr.contains("blocks/anonymous/"), "{finished:?}");
}
