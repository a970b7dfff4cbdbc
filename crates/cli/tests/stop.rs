//! A graceful stop: requests under way are finished or refused, and what was acknowledged is there afterwards.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use support::{PATIENCE, TestServer, body::Body, now_nanos};

/// Pushes profiles of value 7 until the server does not take them any more; returns the acknowledged ids.
fn push_until_refused(url: &str, next: &AtomicUsize, acknowledged: &Mutex<Vec<String>>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let body =
            Body::cpu(now_nanos()).sample(&format!("main;work{number}"), &[1, 4]).sample("main", &[1, 3]);
        let reply =
            support::try_call(&format!("{url}/api/v1/push?service=a"), "POST", &[], Some(&body.gzip()));
        match reply {
            Ok(reply) if reply.status == 200 => {
                let id = reply.json()["profiles"][0]["id"].as_str().unwrap().to_owned();
                acknowledged.lock().unwrap().push(id);
            }
            Ok(reply) => {
                assert_eq!(reply.status, 503, "{reply:?}");
                return;
            }
            Err(_) => return,
        }
    }
}

#[test]
fn pushes_under_way_at_a_stop_are_whole_or_not_there() {
    let server = TestServer::start(&[]);
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let next = Arc::new(AtomicUsize::new(0));
    let pushers: Vec<_> = (0..8)
        .map(|_| {
            let (url, next, acknowledged) =
                (server.url.clone(), Arc::clone(&next), Arc::clone(&acknowledged));
            std::thread::spawn(move || push_until_refused(&url, &next, &acknowledged))
        })
        .collect();
    let begun = Instant::now();
    while acknowledged.lock().unwrap().len() < 200 {
        assert!(begun.elapsed() < PATIENCE, "pushes are not acknowledged");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (status, data) = server.stop();
    assert!(status.success(), "{status}");
    for pusher in pushers {
        pusher.join().unwrap();
    }
    let again = TestServer::start_in(data, &[]);
    let listed = again.get("/api/v1/profiles?limit=10000").expect(200).json();
    let profiles = listed["profiles"].as_array().unwrap();
    let ids: Vec<&str> = profiles.iter().map(|one| one["id"].as_str().unwrap()).collect();
    for id in acknowledged.lock().unwrap().iter() {
        assert!(ids.contains(&id.as_str()), "{id} was acknowledged and is gone");
    }
    for one in profiles {
        assert_eq!(one["totals"], serde_json::json!([2, 7]), "{one} is there in part");
    }
    let total = again.get("/api/v1/top?type=cpu").expect(200).json()["total"].as_i64().unwrap();
    assert_eq!(total, 7 * i64::try_from(profiles.len()).unwrap());
}

#[test]
fn a_push_whose_body_is_half_sent_at_a_stop_is_finished() {
    let mut server = TestServer::start(&[]);
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).raw();
    let (first, second) = body.split_at(body.len() / 2);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head =
        format!("POST /api/v1/push?service=a HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(first).unwrap();
    // The server has seen the request when it has begun to read its body.
    server.wait_for("/metrics", |reply| reply.text().contains("everflame_requests 2\n"));
    server.terminate();
    let begun = Instant::now();
    while TcpStream::connect(&server.address).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the server goes on listening");
        std::thread::sleep(Duration::from_millis(5));
    }
    stream.write_all(second).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(server.wait().success());
    let again = TestServer::start_in(server.data(), &[]);
    assert_eq!(again.get("/api/v1/top?type=cpu").expect(200).json()["total"], 10);
}

#[test]
fn a_client_that_never_ends_does_not_hold_up_a_stop_for_ever() {
    let mut server = TestServer::start(&["--stop-timeout=500ms"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .write_all(b"POST /api/v1/push?service=a HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc")
        .unwrap();
    server.wait_for("/metrics", |reply| reply.text().contains("everflame_requests 2\n"));
    server.terminate();
    assert!(server.wait().success());
    let again = TestServer::start_in(server.data(), &[]);
    assert_eq!(again.get("/api/v1/profiles").expect(200).json()["profiles"], serde_json::json!([]));
}

#[test]
fn a_hang_up_without_files_to_read_again_changes_nothing() {
    let server = TestServer::start(&[]);
    server.hang_up();
    server.wait_for_log("SIGHUP changes nothing");
    server.get("/ready").expect(200);
    let (status, _) = server.stop();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let data = support::DataDir::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = std::process::Command::new(support::program());
    command.arg("server").arg("--data-dir").arg(data.path()).args(["--listen", &free.to_string()]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut child = command.stdin(std::process::Stdio::null()).stderr(full).spawn().unwrap();
    let begun = Instant::now();
    let ask = || support::try_call(&format!("http://{free}/ready"), "GET", &[], None);
    while !ask().is_ok_and(|reply| reply.status == 200) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        assert!(begun.elapsed() < PATIENCE, "it does not answer");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn c097_a_retry_after_a_restart_is_still_known() {
    let server = TestServer::start(&[]);
    let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
    server.post("/api/v1/push?service=a", &body).expect(200);
    let again = TestServer::start_in(server.kill(), &[]);
    let reply = again.post("/api/v1/push?service=a", &body).expect(200).json();
    assert_eq!(reply["profiles"][0]["outcome"], "duplicate");
    assert_eq!(again.get("/api/v1/top?type=cpu").expect(200).json()["total"], 10);
}

#[test]
fn c105_a_torn_end_of_the_log_is_dropped_with_a_log_line() {
    let server = TestServer::start(&[]);
    let push = |server: &TestServer, value: i64| {
        let body = Body::cpu(now_nanos()).sample("main", &[1, value]).gzip();
        server.post("/api/v1/push?service=a", &body).expect(200);
    };
    push(&server, 1);
    let data = server.kill();
    let logs: Vec<_> = std::fs::read_dir(data.path().join("log")).unwrap().collect();
    let log = logs[0].as_ref().unwrap().path();
    let mut torn = std::fs::read(&log).unwrap();
    // The beginning of another record: what a power cut leaves of one.
    let begun = torn[24..60].to_vec();
    torn.extend_from_slice(&begun);
    std::fs::write(&log, torn).unwrap();
    let again = TestServer::start_in(data, &[]);
    let said = again.log();
    assert!(said.contains("torn end of the log dropped") && !said.contains("ERROR"), "{said}");
    push(&again, 10);
    assert_eq!(again.get("/api/v1/top?type=cpu").expect(200).json()["total"], 11);
}

#[test]
fn c105_a_flipped_bit_in_the_log_costs_its_record_and_is_reported() {
    let server = TestServer::start(&[]);
    let push = |service: &str| {
        let body = Body::cpu(now_nanos()).sample(&format!("of_{service}"), &[1, 10]).gzip();
        server.post(&format!("/api/v1/push?service={service}"), &body).expect(200);
        let logs: Vec<_> = std::fs::read_dir(server.data().path().join("log")).unwrap().collect();
        let log = logs[0].as_ref().unwrap().path();
        (std::fs::metadata(&log).unwrap().len(), log)
    };
    let (end_of_a, _) = push("a");
    let (end_of_b, log) = push("b");
    push("c");
    let data = server.kill();
    let mut damaged = std::fs::read(&log).unwrap();
    damaged[usize::try_from((end_of_a + end_of_b) / 2).unwrap()] ^= 4;
    std::fs::write(&log, damaged).unwrap();
    let again = TestServer::start_in(data, &[]);
    let said = again.log();
    assert!(
        said.contains("ERROR") && said.contains("the log is damaged; later records are still used"),
        "{said}"
    );
    let top = again.get("/api/v1/top?type=cpu").expect(200).json();
    let mut found: Vec<&str> =
        top["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, ["of_a", "of_c"]);
}
