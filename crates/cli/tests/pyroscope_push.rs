//! Pyroscope's ways in, over sockets: `/ingest` and `Push`, with the odd inputs of the case log.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;

use std::io::{Read, Write};

use pyroscope::*;
use support::{Reply, TestServer, body::Body, encoded, now_nanos};

const HOUR: i64 = 3_600_000_000_000;
const ALL: &str = "{}";

/// 30 ms in `main;work`, 10 ms in `main;rest`.
fn cpu() -> Body {
    cpu_at(now_nanos())
}

fn cpu_at(time: i64) -> Body {
    Body::cpu(time).sample("main;work", &[3, 30_000_000]).sample("main;rest", &[1, 10_000_000])
}

fn metric(server: &TestServer, line_start: &str) -> f64 {
    let text = server.get("/metrics").text();
    let line = text.lines().find(|line| line.starts_with(line_start));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
}

#[test]
fn raw_pprof_on_both_paths() {
    let server = TestServer::start(&[]);
    for (path, service) in [("/ingest", "a"), ("/pyroscope/ingest", "b")] {
        let reply = server.post(&format!("{path}?name={service}&format=pprof&spyName=gospy"), &cpu().gzip());
        assert_eq!((reply.status, reply.body.len()), (200, 0), "{reply:?}");
        assert_eq!(
            total(&server, CPU, &format!("{{service_name=\"{service}\",pyroscope_spy=\"gospy\"}}")),
            40_000_000
        );
    }
    assert_eq!(server.get("/ingest?name=a").status, 405);
}

#[test]
fn c040_an_unknown_content_encoding_is_refused_and_known_ones_are_inflated() {
    let server = TestServer::start(&[]);
    let text = b"main;work 3\nmain;rest 1\n";
    let paths = ["/ingest?name=a&units=samples", "/api/v1/push?service=a&format=folded"];
    for path in paths {
        for coding in ["br", "nonsense", "gzip, br"] {
            let reply = server.call("POST", path, &[("content-encoding", coding)], Some(text));
            assert_eq!(reply.status, 415, "{path} {coding}: {reply:?}");
            assert!(reply.text().contains("Content-Encoding"), "{reply:?}");
        }
    }
    // profefe's clients know 400 for every body that cannot be read.
    let profefe = "/api/0/profiles?service=a&type=cpu";
    assert_eq!(server.call("POST", profefe, &[("content-encoding", "br")], Some(&cpu().raw())).status, 400);
    assert_eq!(server.get("/api/v1/services").expect(200).json()["services"], serde_json::json!([]));
    let gzip = formats::gzip(text);
    for (coding, body) in
        [("gzip", gzip.clone()), ("gzip", formats::gzip(&gzip)), ("identity", text.to_vec()), ("zstd", gzip)]
    {
        for path in paths {
            let reply = server.call("POST", path, &[("content-encoding", coding)], Some(&body));
            assert_eq!(reply.status, 200, "{path} {coding}: {reply:?}");
        }
    }
    let top = server.get("/api/v1/top?type=cpu").expect(200).json();
    let names: Vec<&str> =
        top["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| ["main", "work", "rest"].contains(name)), "{top}");
}

#[test]
fn what_is_there_twice_is_refused_and_not_half_of_it_dropped() {
    let server = TestServer::start(&[]);
    let mut form = Vec::new();
    for _ in 0..2 {
        form.extend_from_slice(
            b"--B\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"p\"\r\n\r\n",
        );
        form.extend_from_slice(&cpu().gzip());
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(b"--B--\r\n");
    let headers = [("content-type", "multipart/form-data; boundary=B")];
    let reply = server.call("POST", "/ingest?name=a", &headers, Some(&form));
    assert_eq!(reply.status, 422, "{reply:?}");
    assert_eq!(server.post("/ingest?name=a&name=b", &cpu().gzip()).status, 400);
    assert_eq!(server.get("/api/v1/services").expect(200).json()["services"], serde_json::json!([]));
}

#[test]
fn multipart_pprof_as_the_go_sdk_sends_it() {
    let server = TestServer::start(&[]);
    let heap = Body::new(&[("contentions", "count"), ("delay", "nanoseconds")])
        .time(now_nanos())
        .sample("a", &[2, 900]);
    let config = r#"{"contentions":{"units":"lock_samples","display-name":"block_count"},"delay":{"display-name":"block_duration"}}"#;
    let mut form = Vec::new();
    for (name, content) in [("profile", heap.gzip()), ("sample_type_config", config.as_bytes().to_vec())] {
        write!(form, "--B\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\n")
            .unwrap();
        form.extend_from_slice(&content);
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(b"--B--\r\n");
    // The format is named although the body is multipart: the content type wins.
    let name = encoded("shop{region=eu,__session_id__=0123456789abcdef,otel.scope.name=sdk}");
    let path =
        format!("/ingest?name={name}&from={}&until={}&format=pprof&spyName=gospy", now_nanos(), now_nanos());
    let headers = [("content-type", "multipart/form-data; boundary=B")];
    server.call("POST", &path, &headers, Some(&form)).expect(200);
    let types = "block:delay:nanoseconds::";
    assert_eq!(total(&server, types, r#"{service_name="shop","otel.scope.name"="sdk",region="eu"}"#), 900);
    let with_previous = [
        &b"--B\r\nContent-Disposition: form-data; name=\"prev_profile\"; filename=\"p\"\r\n\r\nx\r\n"[..],
        &form,
    ]
    .concat();
    let refused = server.call("POST", &path, &headers, Some(&with_previous)).expect(422);
    assert!(refused.text().contains("prev_profile"), "{refused:?}");
}

#[test]
fn folded_and_lines() {
    let server = TestServer::start(&[]);
    ingest(&server, "name=a.cpu&sampleRate=100", b"main;work 3\nmain;rest 1\n").expect(200);
    assert_eq!(total(&server, CPU, r#"{service_name="a"}"#), 40_000_000);
    ingest(&server, "name=b.alloc_space&format=groups", b"main;work 3\n").expect(200);
    assert_eq!(total(&server, "memory:alloc_space:bytes::", r#"{service_name="b"}"#), 3);
    ingest(&server, "name=c&format=lines", b"main;work\nmain;work\nmain;rest\n").expect(200);
    assert_eq!(total(&server, CPU, r#"{service_name="c"}"#), 30_000_000);
    let reply = ingest(&server, "name=d.cpu", b"main;work\n# nothing\n").expect(422);
    assert!(reply.json()["message"].is_string());
}

#[test]
fn c007_pprof_without_samples() {
    let server = TestServer::start(&[]);
    for _ in 0..20 {
        push(&server, "a", &[], &Body::cpu(now_nanos()).gzip()).expect(200);
        ingest(&server, "name=a&format=pprof", &Body::cpu(now_nanos()).gzip()).expect(200);
    }
    assert_eq!(label_sets(&server, &["service_name"]), Vec::<String>::new());
    assert_eq!(metric(&server, "everflame_empty_profile_total"), 40.0);
    let log = server.log();
    assert!(!log.contains("ERROR") && !log.contains("WARN"), "{log}");
}

#[test]
fn c020_text_dump_posted_as_pprof() {
    let server = TestServer::start(&[]);
    let dump = b"goroutine 1 [running]:\nmain.main()\n\t/src/main.go:7 +0x1d\n";
    let reply = ingest(&server, "name=a&format=pprof", dump).expect(415);
    assert!(reply.text().contains("debug=0"), "{reply:?}");
    let reply = push(&server, "a", &[], dump).expect(400);
    assert!(reply.text().contains("debug=0"), "{reply:?}");
}

#[test]
fn folded_stacks_posted_as_pprof_are_told_the_way() {
    let server = TestServer::start(&[]);
    let reply = push(&server, "a", &[], b"main;work 7\n").expect(400);
    assert!(reply.text().contains("folded stacks are taken by POST /ingest?name=NAME"), "{reply:?}");
}

#[test]
fn c021_pprof_uncompressed() {
    let server = TestServer::start(&[]);
    push(&server, "a", &[], &cpu().raw()).expect(200);
    ingest(&server, "name=b&format=pprof", &cpu().raw()).expect(200);
    assert_eq!(total(&server, CPU, ALL), 80_000_000);
}

#[test]
fn c022_gzip_multi_member() {
    let server = TestServer::start(&[]);
    let raw = cpu().raw();
    let (first, second) = raw.split_at(raw.len() / 2);
    let mut body = [formats::gzip(first), formats::gzip(second)].concat();
    body.extend([0; 512]);
    push(&server, "a", &[], &body).expect(200);
    ingest(&server, "name=b&format=pprof", &body).expect(200);
    server.post("/api/v1/push?service=c", &body).expect(200);
    server.post("/api/0/profiles?service=d&type=cpu", &body).expect(200);
    assert_eq!(total(&server, CPU, ALL), 4 * 40_000_000);
}

#[test]
fn c023_gzip_truncated() {
    let server = TestServer::start(&[]);
    let whole = cpu().gzip();
    let mut wrong_sum = whole.clone();
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 1;
    for body in [&whole[..whole.len() * 6 / 10], &wrong_sum] {
        let reply = push(&server, "a", &[], body).expect(400);
        assert!(reply.text().contains("gzip"), "{reply:?}");
        ingest(&server, "name=a&format=pprof", body).expect(422);
    }
    assert_eq!(label_sets(&server, &["service_name"]), Vec::<String>::new());
}

/// A zstd frame of 1 GiB of zeros: a window of 1 MiB and 8,192 blocks that each repeat one byte 128 KiB times.
fn zstd_bomb() -> Vec<u8> {
    const BLOCKS: usize = 8_192;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    for number in 1..=BLOCKS {
        let header = (128 << 10) << 3 | 1 << 1 | u32::from(number == BLOCKS);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

#[test]
fn c024_decompression_bomb() {
    let server = TestServer::start(&[]);
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..1024 {
        bomb.write_all(&zeros).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert_eq!(ingest(&server, "name=a&format=pprof", &bomb).status, 413);
    assert_eq!(push(&server, "a", &[], &bomb).status, 413);
    let packed = zstd_bomb();
    assert!(packed.len() < 40_000, "{}", packed.len());
    assert_eq!(ingest(&server, "name=a&format=pprof", &packed).status, 413);
    assert_eq!(push(&server, "a", &[], &packed).status, 413);
    let mut form =
        b"--B\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"p\"\r\n\r\n".to_vec();
    form.extend_from_slice(&bomb);
    form.extend_from_slice(b"\r\n--B--\r\n");
    let headers = [("content-type", "multipart/form-data; boundary=B")];
    assert_eq!(server.call("POST", "/ingest?name=a", &headers, Some(&form)).status, 413);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // The limit on inflated bytes, and what the program needs anyway.
    assert!(peak < (256 + 96) * 1024, "peak {peak} kB");
    push(&server, "a", &[], &cpu().gzip()).expect(200);
}

#[test]
fn c025_huge_content_length() {
    let server = TestServer::start(&[]);
    for path in ["/ingest?name=a&format=pprof", PUSH] {
        let mut socket = std::net::TcpStream::connect(&server.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: 5368709120\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).unwrap();
        // No byte of the body was sent, and there is an answer.
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 413", "{path}");
    }
    let mut socket = std::net::TcpStream::connect(&server.address).unwrap();
    let head = "POST /ingest?name=a&format=pprof HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let chunk = [b"100000\r\n".to_vec(), vec![0; 1 << 20], b"\r\n".to_vec()].concat();
    let mut answer = vec![0; 12];
    for _ in 0..80 {
        // The server closes once it has had enough, so a write may fail.
        if socket.write_all(&chunk).is_err() {
            break;
        }
    }
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[test]
fn c030_delta_not_twice() {
    let server = TestServer::start(&[]);
    // As the delta profilers name it, and as collectors rename it.
    for (name, service) in [("godeltaprof_memory", "named"), ("memory", "renamed")] {
        for (second, value) in [(0, 239), (15, 3)] {
            let body = Body::new(&[("alloc_space", "bytes")])
                .time(now_nanos() - HOUR + second * 1_000_000_000)
                .sample("main", &[value]);
            let labels = [("__name__", name), ("service_name", service)];
            connect(&server, PUSH, &push_message(&[series(&labels, &[&body.gzip()])]).0).expect(200);
        }
        let selector = format!("{{service_name=\"{service}\"}}");
        let alloc = "memory:alloc_space:bytes::";
        assert_eq!(total(&server, alloc, &selector), 242, "{name}");
        let message = serde_json::json!({
            "profileTypeID": alloc, "labelSelector": selector, "step": 86_400, "start": 1, "end": "4000000000000",
        });
        let points = ask(&server, "SelectSeries", &message)["series"][0]["points"].clone();
        let values = points.as_array().unwrap().iter().map(|point| point["value"].as_f64().unwrap());
        assert_eq!(values.sum::<f64>(), 242.0, "{name}: {points}");
    }
}

#[test]
fn c031_delta_label_forces() {
    let server = TestServer::start(&[]);
    for (second, value) in [(0, 239), (15, 3)] {
        let body = Body::new(&[("alloc_space", "bytes")])
            .time(now_nanos() - HOUR + second * 1_000_000_000)
            .sample("main", &[value]);
        let labels = [("__name__", "memory"), ("service_name", "a"), ("__delta__", "false")];
        connect(&server, PUSH, &push_message(&[series(&labels, &[&body.gzip()])]).0).expect(200);
    }
    assert_eq!(total(&server, "memory:alloc_space:bytes::", ALL), 242);
    assert_eq!(label_sets(&server, &["service_name", "__delta__"]), [r#"service_name="a""#]);
}

/// How many pushes ingest explain says to have been altered for a reason.
fn told_as_altered(server: &TestServer, reason: &str) -> u64 {
    let told = server.get("/api/v1/ingest/explain").expect(200).json();
    let entries = told["altered"].as_array().unwrap().iter().filter(|entry| entry["reason"] == reason);
    entries.map(|entry| entry["count"].as_u64().unwrap()).sum()
}

#[test]
fn c032_sample_rate_odd() {
    let server = TestServer::start(&[]);
    for (number, rate) in ["-1", "0", "abc", "4294967296"].iter().enumerate() {
        let reply =
            ingest(&server, &format!("name=a{number}.cpu&sampleRate={rate}"), b"main 2\n").expect(200);
        assert!(reply.header("everflame-altered").unwrap().contains("parameter_defaulted=1"), "{reply:?}");
        assert_eq!(total(&server, CPU, &format!("{{service_name=\"a{number}\"}}")), 20_000_000, "{rate}");
    }
    assert_eq!(metric(&server, "everflame_altered_total{reason=\"parameter_defaulted\"}"), 4.0);
    assert_eq!(told_as_altered(&server, "parameter_defaulted"), 4);
}

#[test]
fn c034_cumulative_heap_vs_alloc() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    for (place, values) in [[100, 50], [150, 45], [200, 40]].iter().enumerate() {
        let time = now - HOUR / 2 + i64::try_from(place).unwrap() * 15_000_000_000;
        let body = Body::new(&[("alloc_space", "bytes"), ("inuse_space", "bytes")])
            .time(time)
            .sample("main", values);
        server.post("/api/v1/push?service=told&temporality=cumulative", &body.gzip()).expect(200);
        push_heap(&server, "as-sent", &body.gzip());
    }
    let alloc = "memory:alloc_space:bytes::";
    assert_eq!(total(&server, alloc, r#"{service_name="told"}"#), 50 + 50);
    assert_eq!(total(&server, alloc, r#"{service_name="as-sent"}"#), 100 + 150 + 200);
    // What is in use is a state: never a difference, and never summed over time.
    for service in ["told", "as-sent"] {
        let q = encoded(&format!("inuse_space{{service_name=\"{service}\"}}"));
        for (agg, wanted) in [("avg", 45), ("last", 40)] {
            let native = server.get(&format!("/api/v1/top?agg={agg}&q={q}")).expect(200).json();
            assert_eq!(native["total"], wanted, "{service}: {native}");
        }
    }
}

fn push_heap(server: &TestServer, service: &str, body: &[u8]) {
    let labels = [("__name__", "memory"), ("service_name", service)];
    connect(server, PUSH, &push_message(&[series(&labels, &[body])]).0).expect(200);
}

#[test]
fn c043_grpc_message_over_4mib() {
    let server = TestServer::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let call = |pad: usize| -> String {
        let profile = series(&[("__name__", "process_cpu"), ("service_name", "a")], &[&cpu().gzip()]);
        let padded = profile.bytes(3, Message::default().bytes(1, "pad").bytes(2, vec![b'x'; pad]));
        let file = folder.path().join("message");
        std::fs::write(&file, frame(&push_message(&[padded]).0)).unwrap();
        let output = std::process::Command::new("curl")
            .args(["-sS", "--http2-prior-knowledge", "-X", "POST", "-o", "/dev/null", "-D", "-"])
            .args(["-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary"])
            .arg(format!("@{}", file.display()))
            .arg(format!("{}{PUSH}", server.url))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let accepted = call(12 << 20);
    assert!(accepted.contains("grpc-status: 0"), "{accepted}");
    assert_eq!(total(&server, CPU, ALL), 40_000_000);
    // 8 is RESOURCE_EXHAUSTED; the limit is in the text.
    let refused = call(65 << 20);
    assert!(refused.contains("grpc-status: 8") && refused.contains("67108864"), "{refused}");
    let told = server.get("/api/v1/ingest/explain").expect(200).json();
    assert_eq!(
        (&told["accepted"], &told["refused"][0]["reason"]),
        (&1.into(), &"too_large".into()),
        "{told}"
    );
    assert!(told["refused"][0]["example"].as_str().unwrap().contains("67108864"), "{told}");
}

#[test]
fn c080_dotted_labels() {
    let server = TestServer::start(&[]);
    let labels = [("foo.bar", "v1"), ("label.dot", "v2"), ("service.name", "a"), ("foo.bar", "v1")];
    push(&server, "a", &labels, &cpu().gzip()).expect(200);
    let sets = label_sets(&server, &["foo.bar", "label.dot", "service.name", "service_name"]);
    assert_eq!(sets, [r#"foo.bar="v1",label.dot="v2",service_name="a""#]);
    assert_eq!(total(&server, CPU, r#"{"foo.bar"="v1","label.dot"=~"v.*"}"#), 40_000_000);
    let refused = push(&server, "a", &[("foo.bar", "v1"), ("foo.bar", "v2")], &cpu().gzip()).expect(400);
    assert!(refused.text().contains("foo.bar"), "{refused:?}");
}

#[test]
fn c081_dashes_and_unicode_labels() {
    let server = TestServer::start(&[]);
    push(&server, "a", &[("k8s-app", "x"), ("温度", "高"), ("服务", "a")], &cpu().gzip()).expect(200);
    let ingested = encoded("b{k8s-app=x,温度=高,服务=a}");
    ingest(&server, &format!("name={ingested}&format=pprof"), &cpu().gzip()).expect(200);
    for selector in [r#"{"服务"="a"}"#, r#"{"k8s-app"="x"}"#, r#"{"温度"="高",service_name=~"a|b"}"#] {
        assert_eq!(total(&server, CPU, selector), 80_000_000, "{selector}");
        let rendered = server
            .get(&format!("/pyroscope/render?query={}&from=now-1h", encoded(&format!("{CPU}{selector}"))));
        assert_eq!(rendered.expect(200).json()["flamebearer"]["numTicks"], 80_000_000, "{selector}");
        let native = server.get(&format!("/api/v1/top?q={}", encoded(&format!("cpu{selector}"))));
        assert_eq!(native.expect(200).json()["total"], 80_000_000, "{selector}");
    }
    let names = ask(&server, "LabelNames", &serde_json::json!({ "start": 1, "end": "4000000000000" }));
    let names: Vec<&str> =
        names["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(["k8s-app", "服务", "温度"].iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn c082_odd_app_names() {
    let server = TestServer::start(&[]);
    for (name, selector) in [
        ("team/app.v2", r#"{service_name="team/app.v2"}"#),
        ("app{path=/users/{id}}", r#"{service_name="app",path="/users/{id}"}"#),
        ("app{query=a=b}", r#"{service_name="app",query="a=b"}"#),
        ("app{note=two words 🔥}", r#"{service_name="app",note="two words 🔥"}"#),
    ] {
        ingest(&server, &format!("name={}&format=pprof", encoded(name)), &cpu().gzip()).expect(200);
        assert_eq!(total(&server, CPU, selector), 40_000_000, "{name}");
    }
    for name in ["app{a=b,c}", "app{a=b", "app{a=b}rest", "{a=b}", ""] {
        let reply =
            ingest(&server, &format!("name={}&format=pprof", encoded(name)), &cpu().gzip()).expect(400);
        assert!(reply.text().contains("(byte "), "{name}: {reply:?}");
    }
}

#[test]
fn c083_service_name_missing() {
    let server = TestServer::start(&[]);
    for (labels, service) in [
        (&[("app", "one"), ("job", "two")][..], "one"),
        (&[("job", "two"), ("container", "three")], "two"),
        (&[("container", "three")], "three"),
        (&[("pod", "p")], "unknown_service"),
    ] {
        let all = [&[("__name__", "process_cpu")], labels].concat();
        let reply = connect(&server, PUSH, &push_message(&[series(&all, &[&cpu().gzip()])]).0).expect(200);
        assert_eq!(reply.header("everflame-altered"), Some("service_name_defaulted=1"), "{labels:?}");
        assert_eq!(total(&server, CPU, &format!("{{service_name=\"{service}\"}}")), 40_000_000);
    }
    assert_eq!(metric(&server, "everflame_altered_total{reason=\"service_name_defaulted\"}"), 4.0);
    assert_eq!(told_as_altered(&server, "service_name_defaulted"), 4);
}

#[test]
fn c096_replicas_same_labels() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    for offset in [0, 7, -3, 12, 5] {
        push(&server, "a", &[], &cpu_at(now - HOUR / 2 + offset * 1_000_000_000).gzip()).expect(200);
    }
    assert_eq!(total(&server, CPU, ALL), 200_000_000);
}

#[test]
fn c097_retry_same_push() {
    let server = TestServer::start(&[]);
    let body = cpu().gzip();
    for _ in 0..3 {
        push(&server, "a", &[], &body).expect(200);
    }
    assert_eq!(total(&server, CPU, ALL), 40_000_000);
    // Without a time in the body the digest alone tells a retry.
    let timeless = cpu_at(0).gzip();
    for _ in 0..2 {
        push(&server, "b", &[], &timeless).expect(200);
    }
    assert_eq!(total(&server, CPU, r#"{service_name="b"}"#), 40_000_000);
    assert_eq!(metric(&server, "everflame_pushes_total{api=\"push\",outcome=\"duplicate\"}"), 3.0);
}

/// A client that gives up before the answer sends the same again: whether or not the first was kept, it is there once.
#[test]
fn c097_retry_after_a_timeout() {
    let server = TestServer::start(&[]);
    let body = cpu().gzip();
    let message = push_message(&[series(&[("__name__", "process_cpu"), ("service_name", "a")], &[&body])]);
    let mut socket = std::net::TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "POST {PUSH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: {}\r\n\r\n",
        message.0.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(&message.0).unwrap();
    drop(socket);
    connect(&server, PUSH, &message.0).expect(200);
    assert_eq!(total(&server, CPU, ALL), 40_000_000);
    // Another id for the same profile makes no other profile of it (D2).
    for id in ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"] {
        let sample = Message::default().bytes(1, &body).bytes(2, id);
        let named = series(&[("__name__", "process_cpu"), ("service_name", "a")], &[]).bytes(2, sample);
        connect(&server, PUSH, &push_message(&[named]).0).expect(200);
    }
    assert_eq!(total(&server, CPU, ALL), 40_000_000);
}

#[test]
fn c098_future_and_ancient() {
    let server = TestServer::start(&[]);
    let now = now_nanos();
    for good in [now - 400 * 24 * HOUR, now + HOUR / 6 - HOUR / 3600] {
        push(&server, "a", &[], &cpu_at(good).gzip()).expect(200);
    }
    for (bad, words) in [(now + 12 * HOUR, "ahead"), (-HOUR, "before 1970"), (i64::MAX, "ahead")] {
        let reply = push(&server, "a", &[], &cpu_at(bad).gzip()).expect(400);
        assert!(reply.text().contains("time_nanos") && reply.text().contains(words), "{reply:?}");
    }
    push(&server, "b", &[], &cpu_at(now).gzip()).expect(200);
    assert_eq!(total(&server, CPU, ALL), 120_000_000);
}

#[test]
fn a_bad_series_is_named_and_the_others_are_stored_once() {
    let server = TestServer::start(&[]);
    let body = cpu().gzip();
    let message = push_message(&[
        series(&[("__name__", "process_cpu"), ("service_name", "good")], &[&body]),
        series(&[("__name__", "process_cpu"), ("service_name", "bad")], &[b"no profile"]),
        series(&[("__name__", "process_cpu"), ("service_name", "also")], &[&body]),
    ]);
    for _ in 0..2 {
        let reply = connect(&server, PUSH, &message.0).expect(400);
        assert!(reply.text().contains("series[1].samples[0]"), "{reply:?}");
    }
    assert_eq!(total(&server, CPU, ALL), 80_000_000);
    let reply = connect(&server, PUSH, &[]).expect(400);
    assert_eq!(reply.json()["message"], "series: no profiles received");
    let nameless = push_message(&[series(&[("service_name", "x")], &[&body])]);
    assert!(connect(&server, PUSH, &nameless.0).expect(400).text().contains("__name__"));
}

fn tenant(server: &TestServer, method: &str, path: &str, tenant: &str, body: Option<&[u8]>) -> Reply {
    let headers = [("x-scope-orgid", tenant), ("content-type", "application/proto")];
    server.call(method, path, &headers, body)
}

#[test]
fn c099_tenant_path_tricks() {
    let server = TestServer::start(&["--multi-tenant"]);
    let message =
        push_message(&[series(&[("__name__", "process_cpu"), ("service_name", "a")], &[&cpu().gzip()])]);
    for bad in ["../x", "a/b", "..", "", "a%2Fb", "🔥", &"x".repeat(151)] {
        assert_eq!(tenant(&server, "POST", PUSH, bad, Some(&message.0)).status, 400, "{bad:?}");
        assert_eq!(tenant(&server, "POST", "/ingest?name=a", bad, Some(b"a 1\n")).status, 400, "{bad:?}");
        assert_eq!(tenant(&server, "GET", "/api/v1/services", bad, None).status, 400, "{bad:?}");
    }
    assert_eq!(connect(&server, PUSH, &message.0).status, 401);
    // A header with a NUL never gets as far as our rules.
    let mut socket = std::net::TcpStream::connect(&server.address).unwrap();
    socket.write_all(b"GET /api/v1/services HTTP/1.1\r\nHost: x\r\nX-Scope-OrgID: a\0b\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
}

#[test]
fn c100_tenant_lists() {
    let server = TestServer::start(&["--multi-tenant"]);
    let message =
        push_message(&[series(&[("__name__", "process_cpu"), ("service_name", "a")], &[&cpu().gzip()])]);
    tenant(&server, "POST", PUSH, "a", Some(&message.0)).expect(200);
    tenant(&server, "POST", PUSH, "b", Some(&message.0)).expect(200);
    assert_eq!(tenant(&server, "POST", PUSH, "b|a|b", Some(&message.0)).status, 400);
    let path = format!("/pyroscope/render?query={}&from=now-1h", encoded(&format!("{CPU}{{}}")));
    for (header, sum) in [("a", 40_000_000), ("b|a|b", 80_000_000), ("c", 0)] {
        let reply = tenant(&server, "GET", &path, header, None).expect(200);
        assert_eq!(reply.json()["flamebearer"]["numTicks"], sum, "{header}");
    }
}
