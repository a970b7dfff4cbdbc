//! C102: clients that stall hold their connection only for the configured time, and harm nobody else.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use support::{PATIENCE, TestServer, body::Body, now_nanos};

/// Stalling clients of each kind.
const CLIENTS: usize = 2_000;

/// How a client stalls.
#[derive(Clone, Copy, Debug)]
enum Stall {
    /// Connects and sends nothing.
    Silent,
    /// Sends a header byte by byte.
    Header,
    /// Promises 16 MB and sends 64 bytes.
    Body,
}

struct Client {
    stream: TcpStream,
    stall: Stall,
    sent: usize,
    answer: Vec<u8>,
}

const HEADER: &[u8] =
    b"GET /api/v1/services HTTP/1.1\r\nhost: x\r\nx-padding: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

impl Client {
    fn connect(server: &TestServer, stall: Stall) -> Self {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        if let Stall::Body = stall {
            stream
                .write_all(
                    b"POST /api/v1/push?service=a HTTP/1.1\r\nhost: x\r\ncontent-length: 16777216\r\n\r\n",
                )
                .unwrap();
            stream.write_all(&[0; 64]).unwrap();
        }
        stream.set_nonblocking(true).unwrap();
        Self { stream, stall, sent: 0, answer: Vec::new() }
    }

    /// One step of stalling; whether the server has hung up.
    fn step(&mut self) -> bool {
        if let Stall::Header = self.stall
            && self.sent < HEADER.len()
            && self.stream.write(&HEADER[self.sent..=self.sent]).is_ok()
        {
            self.sent += 1;
        }
        let mut buffer = [0; 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => true,
            Ok(length) => {
                self.answer.extend_from_slice(&buffer[..length]);
                false
            }
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn c102_two_thousand_stalling_clients_of_each_kind_are_cut_and_harm_nobody() {
    raise_open_files_limit();
    let server = TestServer::start(&["--header-timeout=3s", "--body-timeout=3s", "--idle-timeout=3s"]);
    let mut clients: Vec<Client> = Vec::new();
    for stall in [Stall::Silent, Stall::Header, Stall::Body] {
        clients.extend((0..CLIENTS).map(|_| Client::connect(&server, stall)));
        // Others go on pushing and asking while all of these hang there.
        let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
        server.post("/api/v1/push?service=a", &body).expect(200);
        server.get("/api/v1/top?type=cpu").expect(200);
    }
    let begun = Instant::now();
    let mut answers = Vec::new();
    while !clients.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{} clients are still there", clients.len());
        clients.retain_mut(|client| {
            let is_cut = client.step();
            if is_cut {
                answers.push((client.stall, String::from_utf8_lossy(&client.answer).into_owned()));
            }
            !is_cut
        });
        server.get("/ready").expect(200);
        std::thread::sleep(Duration::from_millis(100));
    }
    let told = answers
        .iter()
        .filter(|(stall, answer)| matches!(stall, Stall::Body) && answer.starts_with("HTTP/1.1 408 "));
    assert_eq!(told.count(), CLIENTS, "whoever began a body is told why");
    server.get("/api/v1/top?type=cpu").expect(200);
}

#[test]
fn c102_who_sends_a_body_too_slowly_is_told_in_the_words_of_the_api() {
    let server = TestServer::start(&["--body-timeout=300ms"]);
    let slow = "the request body came too slowly";
    let push = "/push.v1.PusherService/Push";
    let answers = [
        (
            "/api/v1/push?service=a",
            "",
            408,
            format!("{{\"code\":\"deadline_exceeded\",\"field\":\"body\",\"message\":\"body: {slow}\"}}"),
        ),
        (
            "/ingest?name=a",
            "",
            408,
            format!("{{\"code\":\"deadline_exceeded\",\"message\":\"body: {slow}\"}}"),
        ),
        (
            "/api/0/profiles?service=a&type=cpu",
            "",
            408,
            format!("{{\"code\":408,\"error\":\"body: {slow}\"}}"),
        ),
        (
            push,
            "application/proto",
            408,
            format!("{{\"code\":\"deadline_exceeded\",\"message\":\"body: {slow}\"}}"),
        ),
        (
            push,
            "application/json",
            408,
            format!("{{\"code\":\"deadline_exceeded\",\"message\":\"body: {slow}\"}}"),
        ),
        (push, "application/grpc", 200, "grpc-status: 4\r\n".to_owned()),
        (push, "application/grpc-web+proto", 200, "grpc-status: 4\r\n".to_owned()),
    ];
    for (path, content_type, status, words) in answers {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\ncontent-length: 99\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"abc").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {content_type}: {answer}");
        assert!(
            answer.contains(&words) && answer.contains("connection: close"),
            "{path} {content_type}: {answer}"
        );
    }
}

/// A frame of HTTP/2.
fn http2(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// As above over HTTP/2, whose library has no time limit for headers.
#[test]
fn c102_clients_that_stall_within_http2_are_cut() {
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const END_HEADERS: u8 = 4;
    let server = TestServer::start(&["--header-timeout=1s", "--body-timeout=1s", "--idle-timeout=1s"]);
    // `:method: POST`, `:scheme: http` from the static table, then two literal fields.
    let mut fields = vec![0x83, 0x86];
    for (name, value) in [(":path", "/api/v1/push?service=a"), (":authority", "x")] {
        for text in [name, value] {
            if text == name {
                fields.push(0);
            }
            fields.push(u8::try_from(text.len()).unwrap());
            fields.extend_from_slice(text.as_bytes());
        }
    }
    let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &http2(SETTINGS, 0, 0, &[])].concat();
    let headers = http2(HEADERS, END_HEADERS, 1, &fields);
    let body = [headers.clone(), http2(0, 0, 1, &[0x1f; 64])].concat();
    let stalls: [(&str, Vec<u8>); 5] = [
        ("half a preface", preface[..10].to_vec()),
        ("a preface", preface.clone()),
        ("headers that go on", [preface.clone(), http2(HEADERS, 0, 1, &fields[..9])].concat()),
        ("headers without a body", [preface.clone(), headers].concat()),
        ("a body that stands still", [preface, body].concat()),
    ];
    let streams: Vec<(&str, TcpStream)> = stalls
        .into_iter()
        .map(|(name, bytes)| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(&bytes).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            (name, stream)
        })
        .collect();
    for (name, mut stream) in streams {
        let mut answer = Vec::new();
        let end = stream.read_to_end(&mut answer);
        let is_cut = end.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true);
        assert!(is_cut, "{name}: {end:?}");
        let text = String::from_utf8_lossy(&answer);
        if name.contains("body") {
            assert!(text.contains("the request body came too slowly"), "{name}: {text}");
        }
    }
    server.get("/ready").expect(200);
}

/// The library asks such a client for a sign of life before it lets go of it.
#[test]
fn a_stop_waits_for_no_http2_client_that_is_idle_and_deaf() {
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const WHOLE: u8 = 1 | 4;
    let mut server = TestServer::start(&["--stop-timeout=20s"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &http2(SETTINGS, 0, 0, &[])].concat();
    // `:method: GET`, `:scheme: http`, `:path: /` from the static table, then `:authority: x`.
    stream.write_all(&[preface, http2(HEADERS, WHOLE, 1, b"\x82\x86\x84\x01\x01x")].concat()).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&answer).contains("</html>") {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "hung up: {answer:?}");
        answer.extend_from_slice(&buffer[..length]);
    }
    server.terminate();
    assert!(server.wait().success());
    assert!(!server.log().contains("did not end in time"), "{}", server.log());
}

/// The library hangs up on who takes back one request after the other, and would say so each time.
#[test]
fn http2_clients_that_take_back_their_requests_fill_no_log() {
    const HEADERS: u8 = 1;
    const RESET: u8 = 3;
    const SETTINGS: u8 = 4;
    const WHOLE: u8 = 1 | 4;
    const PING: u8 = 6;
    const ACKNOWLEDGED: u8 = 1;
    let server = TestServer::start(&[]);
    let mut bytes = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &http2(SETTINGS, 0, 0, &[])].concat();
    // Answers to pings that were never sent.
    for _ in 0..100 {
        bytes.extend(http2(PING, ACKNOWLEDGED, 0, &[7; 8]));
    }
    for stream in (1..=201).step_by(2) {
        bytes.extend(http2(HEADERS, WHOLE, stream, b"\x82\x86\x84\x01\x01x"));
        bytes.extend(http2(RESET, 0, stream, &[0, 0, 0, 8]));
    }
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&bytes).unwrap();
    let mut answer = Vec::new();
    // What is not read yet may make the end a reset.
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("too_many_resets"), "{text}");
    server.get("/ready").expect(200);
    assert!(!server.log().contains("h2::"), "{}", server.log());
}

#[test]
fn c102_a_client_that_does_not_read_its_answer_is_cut() {
    let server = TestServer::start(&["--body-timeout=1s"]);
    let body = (0..20_000).fold(Body::cpu(now_nanos()), |body, number| {
        body.sample(&format!("main;a_function_with_a_rather_long_name_{number}"), &[1, 10])
    });
    server.post("/api/v1/push?service=a", &body.gzip()).expect(200);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = b"GET /api/v1/top?type=cpu&limit=0 HTTP/1.1\r\nhost: x\r\n\r\n";
    // Enough answers to fill every buffer on the way.
    for _ in 0..64 {
        stream.write_all(request).unwrap();
    }
    let cut = |text: &str| {
        let line =
            text.lines().find(|line| line.starts_with("everflame_connections_cut_total")).unwrap_or("");
        line.split(' ').nth(1).is_some_and(|count| count != "0")
    };
    server.wait_for("/metrics", |reply| cut(&reply.text()));
}

#[test]
fn c102_more_connections_than_allowed_get_503_and_the_others_go_on() {
    let server = TestServer::start(&["--connections-max=8", "--header-timeout=2s"]);
    let idle: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    let begun = Instant::now();
    let refused = loop {
        match support::try_call(&format!("{}/ready", server.url), "GET", &[], None) {
            Ok(reply) if reply.status == 503 => break reply,
            _ => assert!(begun.elapsed() < PATIENCE, "nobody was refused"),
        }
    };
    assert_eq!(refused.text(), "too many connections\n");
    // The idle ones are cut in time, and then there is room.
    loop {
        if support::try_call(&format!("{}/ready", server.url), "GET", &[], None)
            .is_ok_and(|reply| reply.status == 200)
        {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the idle connections were not cut");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(idle);
}

fn raise_open_files_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
}
