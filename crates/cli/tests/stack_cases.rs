//! Cases of the case log about stacks of names, over sockets: rates that cannot be used, texts with marks before them, lines in
//! names.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;

use std::io::Read;

use pyroscope::*;
use support::TestServer;
use testkit::proto::{Message as _, Profile};

fn inflated(body: &[u8]) -> Profile {
    let mut raw = Vec::new();
    flate2::read::MultiGzDecoder::new(body).read_to_end(&mut raw).unwrap();
    Profile::decode(raw.as_slice()).unwrap()
}

#[test]
fn c032_sample_rate_that_cannot_be_used_is_refused_by_the_native_path() {
    let server = TestServer::start(&[]);
    for rate in ["-1", "0", "abc", "4294967296"] {
        let path = format!("/api/v1/push?service=a&format=folded&sample_rate={rate}");
        let reply = server.post(&path, b"main 2\n").expect(400);
        assert_eq!(reply.json()["field"], "sample_rate", "{rate}");
    }
    assert_eq!(server.get("/api/v1/services").expect(200).json()["services"], serde_json::json!([]));
}

#[test]
fn c057_folded_comments_blank() {
    let server = TestServer::start(&[]);
    let text = b"a;b 1\r\n\r\n   \n# comment 5\nno count\na;b;c 10\n";
    let native = "/api/v1/push?service=native&format=folded&sample_rate=100";
    let replies = [server.post(native, text), ingest(&server, "name=ingest.cpu&sampleRate=100", text)];
    for (service, reply) in ["native", "ingest"].into_iter().zip(replies) {
        let reply = reply.expect(200);
        assert_eq!(reply.header("everflame-altered"), Some("bad_line=1, no_time=1"), "{service}");
        assert_eq!(total(&server, CPU, &format!("{{service_name=\"{service}\"}}")), 110_000_000, "{service}");
    }
    let bad = b"one\ntwo\n";
    for refused in [server.post(native, bad).expect(400), ingest(&server, "name=bad.cpu", bad).expect(422)] {
        assert!(refused.text().contains("none of 2 lines ends with a count"), "{refused:?}");
    }
    let told = server.get("/api/v1/ingest/explain").expect(200).json();
    let lines = told["altered"].as_array().unwrap().iter().filter(|entry| entry["reason"] == "bad_line");
    assert_eq!(lines.count(), 2, "{told}");
}

#[test]
fn c058_text_utf16_bom() {
    let server = TestServer::start(&[]);
    let little: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("första;b 7\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let marked: Vec<u8> = [0xef, 0xbb, 0xbf].into_iter().chain("första;b 7\n".bytes()).collect();
    ingest(&server, "name=a.cpu", &little).expect(200);
    server.post("/api/v1/push?service=a&format=folded&sample_rate=100", &marked).expect(200);
    let top = server.get("/api/v1/top?type=cpu").expect(200).json();
    let mut names: Vec<&str> =
        top["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!((names, &top["total"]), (vec!["b", "första"], &140_000_000.into()));
}

#[test]
fn c061_line_numbers_in_names() {
    let server = TestServer::start(&[]);
    let text = b"run file.py:41;work (lib/w.py:7) 1\nrun file.py:42;work (lib/w.py:7) 2\n";
    ingest(&server, "name=a.cpu&spyName=pyspy&sampleRate=100", text).expect(200);
    let top = server.get("/api/v1/top?type=cpu&names=raw").expect(200).json();
    let rows: Vec<(&str, &str, i64)> = top["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (row["name"].as_str().unwrap(), row["file"].as_str().unwrap(), row["total"].as_i64().unwrap())
        })
        .collect();
    assert_eq!(rows, [("work", "lib/w.py", 30_000_000), ("run", "file.py", 30_000_000)]);
    let merged = inflated(&server.get("/api/v1/pprof").expect(200).body);
    let mut lines: Vec<i64> =
        merged.location.iter().flat_map(|one| &one.line).map(|line| line.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [7, 41, 42]);
}
