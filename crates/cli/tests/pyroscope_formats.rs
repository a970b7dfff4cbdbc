//! Everything that Pyroscope's clients push beside pprof, and in which envelopes: each format in each coding, times, secrets,
//! methods, and what `Push` says to messages that are odd.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;

use base64::Engine as _;
use pyroscope::*;
use serde_json::{Value, json as value};
use support::{Reply, TestServer, body::Body, encoded, now_nanos};
use testkit::{Siblings, tree_body, trie_body};

/// 3 samples in `main;work`, 1 in `main;rest`.
const STACKS: [(&[&[u8]], u64); 2] = [(&[b"main", b"work"], 3), (&[b"main", b"rest"], 1)];

fn stacks() -> impl Iterator<Item = (Vec<&'static [u8]>, u64)> {
    STACKS.iter().map(|(frames, value)| (frames.to_vec(), *value))
}

fn speedscope(profiles: &str) -> Vec<u8> {
    format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{profiles}],"shared":{{"frames":[{{"name":"main"}},{{"name":"work"}},{{"name":"rest"}}]}}}}"#
    )
    .into_bytes()
}

fn sampled(name: &str, unit: &str, weights: [u32; 2]) -> String {
    let [work, rest] = weights;
    format!(
        r#"{{"type":"sampled","name":"{name}","unit":"{unit}","startValue":0,"endValue":9,"samples":[[0,1],[0,2]],"weights":[{work},{rest}]}}"#
    )
}

/// Self values by name of a service's CPU time.
fn top(server: &TestServer, service: &str) -> Vec<(String, i64)> {
    let path = format!("/api/v1/top?q={}", encoded(&format!("cpu{{service_name=\"{service}\"}}")));
    let answer = server.get(&path).expect(200).json();
    let row = |row: &Value| (row["name"].as_str().unwrap().to_owned(), row["self"].as_i64().unwrap());
    let mut rows: Vec<_> = answer["rows"].as_array().unwrap().iter().map(row).collect();
    rows.retain(|(_, value)| *value != 0);
    rows
}

fn expected_top() -> Vec<(String, i64)> {
    vec![("work".into(), 30_000_000), ("rest".into(), 10_000_000)]
}

#[track_caller]
fn accepted(reply: &Reply) {
    assert_eq!((reply.status, reply.body.len()), (200, 0), "{reply:?}");
}

#[test]
fn every_format_in_every_coding_is_the_same_profile() {
    let server = TestServer::start(&[]);
    let bodies = [
        ("format=groups", "", b"main;work 3\nmain;rest 1\n".to_vec()),
        ("", "text/plain", b"main;work 3\r\nmain;rest 1".to_vec()),
        ("format=lines", "", b"main;work\nmain;work\nmain;rest\nmain;work\n".to_vec()),
        ("format=trie", "", trie_body(stacks())),
        ("", "binary/octet-stream+trie", trie_body(stacks())),
        ("format=tree", "", tree_body(stacks(), Siblings::FirstFirst)),
        ("", "binary/octet-stream+tree", tree_body(stacks(), Siblings::LastFirst)),
        ("format=speedscope", "", speedscope(&sampled("s", "none", [3, 1]))),
        ("", "application/json", speedscope(&sampled("s", "milliseconds", [30, 10]))),
    ];
    type Coding = fn(&[u8]) -> Vec<u8>;
    let codings: [Coding; 3] = [<[u8]>::to_vec, formats::gzip, |body| formats::gzip(&formats::gzip(body))];
    let mut number = 0;
    for (format, content_type, body) in &bodies {
        for coding in codings {
            for path in ["/ingest", "/pyroscope/ingest"] {
                let service = format!("a{number}");
                number += 1;
                let content_type =
                    if content_type.is_empty() { "application/octet-stream" } else { content_type };
                let path = format!(
                    "{path}?name={service}&sampleRate=100&units=samples&aggregationType=sum&{format}"
                );
                let headers = [("content-type", content_type)];
                accepted(&server.call("POST", &path, &headers, Some(&coding(body))));
                assert_eq!(top(&server, &service), expected_top(), "{path} {content_type}");
            }
        }
    }
    // the same by multipart, which is told by its content type
    for (format, _, body) in
        bodies.iter().filter(|(format, ..)| !format.is_empty() && *format != "format=groups")
    {
        let service = format!("a{number}");
        number += 1;
        let form = [
            b"--B\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"p\"\r\n\r\n",
            body.as_slice(),
            b"\r\n--B--\r\n",
        ]
        .concat();
        let headers = [("content-type", "Multipart/Form-Data; boundary=B")];
        accepted(&server.call("POST", &format!("/ingest?name={service}&{format}"), &headers, Some(&form)));
        assert_eq!(top(&server, &service), expected_top(), "{format}");
    }
    // and by the native API
    for (format, _, body) in &bodies {
        let Some(word) = format.strip_prefix("format=") else { continue };
        let word = if word == "groups" { "folded" } else { word };
        let reply =
            server.post(&format!("/api/v1/push?service=native-{word}&format={word}"), body).expect(200);
        assert_eq!(reply.json()["profiles"][0]["types"][0], value!("process_cpu:samples:count::"), "{word}");
    }
}

#[test]
fn types_follow_the_applications_name() {
    let server = TestServer::start(&[]);
    for (suffix, profile_type, total_value) in [
        ("", CPU, 40_000_000),
        (".itimer", CPU, 40_000_000),
        (".wall", "wall:wall:nanoseconds:cpu:nanoseconds", 40_000_000),
        (".alloc_space", "memory:alloc_space:bytes::", 4),
        (".inuse_objects", "memory:inuse_objects:count::", 4),
        (".goroutines", "goroutine:goroutines:count::", 4),
        (".mutex_duration", "mutex:delay:nanoseconds::", 4),
        (".lock_count", "block:contentions:count::", 4),
        (".exceptions", "exceptions:samples:count::", 4),
    ] {
        let service = format!("team/a{}", suffix.len());
        let query = format!("name={}&format=trie", encoded(&format!("{service}{suffix}{{k=v}}")));
        accepted(&ingest(&server, &query, &trie_body(stacks())));
        let selector = format!("{{service_name=\"{service}\",k=\"v\",pyroscope_spy=\"unknown\"}}");
        assert_eq!(total(&server, profile_type, &selector), total_value, "{suffix}");
    }
    let refused = ingest(&server, "name=app.v2&format=tree", &tree_body(stacks(), Siblings::FirstFirst));
    let message = refused.expect(400).json()["message"].to_string();
    assert!(message.contains("v2") && message.contains("at byte 4"), "{message}");
    // what a client says of itself in a label goes before what is said for it
    let name = encoded("app.cpu{service_name=mine,pyroscope_spy=rbspy,app_name=theirs}");
    accepted(&ingest(&server, &format!("name={name}&spyName=pyspy"), b"main;work 4\n"));
    let selector = r#"{service_name="mine",pyroscope_spy="rbspy",app_name="theirs"}"#;
    assert_eq!(total(&server, CPU, selector), 40_000_000);
}

/// Pyroscope's rule: `wall` first, then the first name that is known, display names before raw ones, else the last.
#[test]
fn names_of_pprof_follow_its_sample_types() {
    let server = TestServer::start(&[]);
    let config = |pairs: &[(&str, &str)]| {
        let parts = pairs.iter().map(|(kind, shown)| format!(r#""{kind}":{{"display-name":"{shown}"}}"#));
        format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
    };
    for (number, (types, display, name)) in [
        (&[("samples", "count"), ("cpu", "nanoseconds")][..], &[][..], "process_cpu"),
        (&[("sample", "count"), ("wall", "microseconds"), ("cpu", "microseconds")], &[], "wall"),
        (&[("objects", "count"), ("space", "bytes")], &[], "memory"),
        (&[("alloc_objects", "count"), ("inuse_space", "bytes")], &[], "memory"),
        (&[("goroutine", "count")], &[("goroutine", "goroutines")], "goroutines"),
        (&[("goroutine", "count")], &[("goroutine", "goroutine_leak")], "goroutine_leak"),
        (&[("contentions", "count"), ("delay", "nanoseconds")], &[], "mutex"),
        (
            &[("contentions", "count"), ("delay", "nanoseconds")],
            &[("contentions", "block_count"), ("delay", "block_duration")],
            "block",
        ),
        (&[("exceptions", "count")], &[("other", "cpu")], "exceptions"),
    ]
    .into_iter()
    .enumerate()
    {
        let values = vec![1; types.len()];
        let profile = Body::new(types).time(now_nanos()).sample("main", &values).gzip();
        let mut form =
            b"--B\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n\r\n"
                .to_vec();
        form.extend(profile);
        if !display.is_empty() {
            let part = "Content-Disposition: form-data; name=\"sample_type_config\"; filename=\"c.json\"";
            form.extend(format!("\r\n--B\r\n{part}\r\n\r\n{}", config(display)).bytes());
        }
        form.extend(b"\r\n--B--\r\n");
        let headers = [("content-type", "multipart/form-data; boundary=B")];
        accepted(&server.call(
            "POST",
            &format!("/ingest?name=s{number}&spyName=gospy"),
            &headers,
            Some(&form),
        ));
        let sets = label_sets(&server, &["service_name", "__name__"]);
        let wanted = format!("__name__=\"{name}\",service_name=\"s{number}\"");
        assert!(sets.contains(&wanted), "{wanted} in {sets:?}");
    }
}

#[test]
fn c054_speedscope_unknown_unit() {
    let server = TestServer::start(&[]);
    let body = speedscope(&sampled("s", "lightyears", [3, 1]));
    let refused = ingest(&server, "name=a&format=speedscope", &body).expect(422);
    let message = refused.json();
    assert_eq!(message["code"], "invalid_argument");
    assert!(message["message"].as_str().unwrap().contains("\"lightyears\" is no unit"), "{message}");
    let native = server.post("/api/v1/push?service=a&format=speedscope", &body).expect(400).json();
    assert_eq!(native["field"], "profiles[0].unit");
    // nothing is kept, and the server goes on
    assert_eq!(server.get("/api/v1/services").expect(200).json()["services"], value!([]));
    accepted(&ingest(&server, "name=a&format=speedscope", &speedscope(&sampled("s", "none", [3, 1]))));
}

#[test]
fn c055_speedscope_siblings_kept() {
    let server = TestServer::start(&[]);
    // two of one name, time and type, one beside them
    let threads = ["one", "one", "two"].map(|name| sampled(name, "seconds", [3, 1]));
    let body = speedscope(&threads.join(","));
    let path = format!("name=app&format=speedscope&from={}", now_nanos());
    // a retry changes nothing
    for _ in 0..2 {
        accepted(&ingest(&server, &path, &body));
    }
    let wall = "wall:wall:nanoseconds:cpu:nanoseconds";
    let check = |server: &TestServer| {
        for (selector, seconds) in [
            (r#"{service_name="app"}"#, 12),
            (r#"{service_name="app",profile_name="one"}"#, 8),
            (r#"{service_name="app",profile_name="two"}"#, 4),
        ] {
            assert_eq!(total(server, wall, selector), seconds * 1_000_000_000, "{selector}");
        }
    };
    check(&server);
    let (_, data) = server.stop();
    check(&TestServer::start_in(data, &[]));
}

/// Good profiles of a file are stored whatever becomes of the others, once (D14).
#[test]
fn c056_a_bad_profile_of_a_file_is_named_and_the_others_are_stored_once() {
    let server = TestServer::start(&[]);
    let event = r#"{"type":"evented","name":"e","unit":"seconds","events":[{"type":"O","frame":0,"at":2},{"type":"C","frame":0,"at":1}]}"#;
    let body = speedscope(&format!(
        "{},{event},{}",
        sampled("a", "seconds", [3, 1]),
        sampled("b", "seconds", [3, 1])
    ));
    let query = format!("name=app&from={}", now_nanos());
    for _ in 0..2 {
        let refused = ingest(&server, &query, &body).expect(422);
        assert!(refused.text().contains("profiles[1].events[1]: its time goes back"), "{refused:?}");
    }
    assert_eq!(total(&server, "wall:wall:nanoseconds:cpu:nanoseconds", "{}"), 8_000_000_000);
}

#[test]
fn c059_tree_length_attack() {
    let server = TestServer::start(&[]);
    let attack = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    for format in ["tree", "trie"] {
        for body in [attack.to_vec(), [&[0, 0, 1][..], &attack].concat(), formats::gzip(&attack)] {
            let refused = ingest(&server, &format!("name=a&format={format}"), &body).expect(422);
            assert!(refused.text().contains("name length"), "{refused:?}");
        }
    }
    assert_eq!(server.get("/api/v1/services").expect(200).json()["services"], value!([]));
}

#[test]
fn empty_bodies_of_agents_that_saw_nothing_are_taken() {
    let server = TestServer::start(&[]);
    for (format, body) in
        [("tree", &b"\0\0\0"[..]), ("trie", b"\0\0\0"), ("trie", b""), ("speedscope", &speedscope(""))]
    {
        accepted(&ingest(&server, &format!("name=a&format={format}"), body));
    }
    let told = server.get("/api/v1/ingest/explain").expect(200).json();
    assert_eq!(
        (told["altered"][0]["reason"].as_str(), told["altered"][0]["count"].as_u64()),
        (Some("empty"), Some(4))
    );
}

#[test]
fn times_in_every_spelling() {
    let server = TestServer::start(&[]);
    let second = now_nanos() / 1_000_000_000 - 3000;
    let nanos = second * 1_000_000_000;
    for (service, from, until, starts) in [
        ("s", format!("{second}"), format!("{}", second + 10), nanos),
        ("ms", format!("{second}500"), format!("{second}700"), nanos + 500_000_000),
        ("us", format!("{second}500000"), "now".into(), nanos + 500_000_000),
        ("ns", format!("{second}000000001"), format!("{second}000000002"), nanos + 1),
        ("day", "20240229".into(), "20240301".into(), 1_709_164_800_000_000_000),
    ] {
        accepted(&ingest(&server, &format!("name={service}&from={from}&until={until}"), b"main;work 4\n"));
        let path = format!(
            "/api/v1/profiles?q={}&from=1970-01-02T00:00:00Z",
            encoded(&format!("{{service_name=\"{service}\"}}"))
        );
        let listed = server.get(&path).expect(200).json();
        let time: jiff::Timestamp = listed["profiles"][0]["time"].as_str().unwrap().parse().unwrap();
        assert_eq!(
            i64::try_from(time.as_nanosecond()).unwrap() / 1_000_000,
            starts / 1_000_000,
            "{service}: {listed}"
        );
    }
    // relative ones, and nonsense, which counts as not sent
    for (service, from, altered) in [("rel", "now-10m", ""), ("odd", "foo", "parameter_defaulted=1")] {
        let reply = ingest(&server, &format!("name={service}&from={from}"), b"main;work 4\n").expect(200);
        assert!(reply.header("everflame-altered").unwrap_or("").contains(altered), "{reply:?}");
        assert_eq!(top(&server, service), [("work".to_owned(), 40_000_000)]);
    }
}

#[test]
fn what_cannot_be_taken_has_its_status() {
    let server = TestServer::start(&[]);
    let jfr = b"FLR\0\0\x02\0\0more";
    for (query, content_type, body) in [
        ("name=a&format=jfr", "", jfr.to_vec()),
        ("name=a", "", jfr.to_vec()),
        ("name=a", "", formats::gzip(jfr)),
        ("name=a&format=jfr", "multipart/form-data; boundary=B", b"--B--\r\n".to_vec()),
    ] {
        let headers = [(
            "content-type",
            if content_type.is_empty() { "application/octet-stream" } else { content_type },
        )];
        let refused = server.call("POST", &format!("/ingest?{query}"), &headers, Some(&body)).expect(415);
        let error = refused.json();
        assert_eq!(error["code"], "invalid_argument");
        assert!(error["message"].as_str().unwrap().contains("JFR recordings are not read yet"), "{error}");
        assert_eq!(refused.header("x-content-type-options"), Some("nosniff"));
    }
    for (format, body) in [
        ("tree", &b"\x00\x00\x05"[..]),
        ("speedscope", b"{"),
        ("groups", b"one two\n"),
        ("pprof", b"\x0a\xff"),
    ] {
        let refused = ingest(&server, &format!("name=a&format={format}"), body).expect(422);
        assert!(refused.json()["message"].is_string(), "{refused:?}");
    }
    assert_eq!(server.post("/ingest?format=groups", b"a 1\n").status, 400);
    for path in ["/ingest?name=a", "/pyroscope/ingest?name=a"] {
        for method in ["GET", "HEAD", "PUT", "DELETE"] {
            let refused = server.call(method, path, &[], None);
            assert_eq!((method, refused.status), (method, 405), "{refused:?}");
            assert_eq!(
                refused.header("allow").map(|allow| allow.contains("POST")),
                Some(true),
                "{refused:?}"
            );
        }
        let options = server.call("OPTIONS", path, &[], None);
        assert_eq!((options.status, options.header("allow")), (204, Some("OPTIONS, POST")), "{options:?}");
    }
}

#[test]
fn secrets_are_accepted_where_there_is_one_and_ignored_elsewhere() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a-secret-of-some-length").unwrap();
    let with = TestServer::start(&["--token-file", file.path().to_str().unwrap()]);
    let without = TestServer::start(&[]);
    let basic = |user: &str, secret: &str| {
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{secret}")))
    };
    let message = push_message(&[series(
        &[("__name__", "process_cpu"), ("service_name", "b")],
        &[&Body::cpu(now_nanos()).sample("main", &[1, 7]).raw()],
    )]);
    let good = ["Bearer a-secret-of-some-length".to_owned(), basic("12345", "a-secret-of-some-length")];
    let bad = ["Bearer wrong".to_owned(), basic("12345", "wrong")];
    for (credentials, is_good) in
        good.iter().map(|text| (text, true)).chain(bad.iter().map(|text| (text, false)))
    {
        for (server, status) in [(&with, if is_good { 200 } else { 401 }), (&without, 200)] {
            // a tenant is ignored where tenants are off
            let headers = |kind| {
                [("authorization", credentials.as_str()), ("content-type", kind), ("x-scope-orgid", "t")]
            };
            let text = headers("text/plain");
            assert_eq!(
                server.call("POST", "/ingest?name=a", &text, Some(b"main 1\n")).status,
                status,
                "{credentials}"
            );
            let proto = headers("application/proto");
            assert_eq!(server.call("POST", PUSH, &proto, Some(&message.0)).status, status, "{credentials}");
        }
    }
}

/// The status of a gRPC-Web answer, in its headers or trailers.
fn web_status(reply: &Reply) -> String {
    if let Some(status) = reply.header("grpc-status") {
        return status.to_owned();
    }
    let text = reply.text().to_lowercase();
    let after = text.split("grpc-status:").nth(1).unwrap_or_default().trim_start().to_owned();
    after.chars().take_while(char::is_ascii_digit).collect()
}

#[test]
fn push_takes_several_series_and_samples_and_passes_over_what_it_does_not_know() {
    let server = TestServer::start(&[]);
    let body = |value: i64| Body::cpu(now_nanos()).sample("main", &[1, value]);
    let labels = |service| [("__name__", "process_cpu"), ("service_name", service), ("__delta__", "false")];
    let annotated = series(&labels("a"), &[&body(1).gzip(), &body(10).raw()])
        .bytes(3, Message::default().bytes(1, "key").bytes(2, "value"))
        .bytes(99, "from a later version");
    let message =
        push_message(&[annotated, series(&labels("b"), &[&body(100).raw()]), series(&labels("c"), &[])]);
    connect(&server, PUSH, &message.0).expect(200);
    assert_eq!(total(&server, CPU, r#"{service_name="a"}"#), 11);
    assert_eq!(total(&server, CPU, "{}"), 111);
    // JSON: both spellings, an id, an annotation and a field that nobody knows; padding of base64 left out
    let raw = base64::engine::general_purpose::STANDARD.encode(body(1000).gzip());
    let pairs: Vec<Value> =
        labels("json").iter().map(|(name, text)| value!({ "name": name, "value": text })).collect();
    let samples = value!([
        { "raw_profile": raw.trim_end_matches('='), "ID": "00000000-0000-0000-0000-00000000000a" },
        { "rawProfile": base64::engine::general_purpose::STANDARD.encode(body(10_000).raw()) },
    ]);
    let message = value!({ "series": [{ "labels": pairs, "samples": samples, "annotations": [{ "key": "k" }] }], "later": 1 });
    let reply = json(&server, PUSH, &message).expect(200);
    assert_eq!((reply.header("content-type"), reply.json()), (Some("application/json"), value!({})));
    assert_eq!(total(&server, CPU, r#"{service_name="json"}"#), 11_000);
}

#[test]
fn push_errors_have_the_code_of_each_protocol() {
    let server = TestServer::start(&[]);
    let good = Body::cpu(now_nanos()).sample("main", &[1, 1]).raw();
    let named = |more: &[(&str, &str)]| {
        let labels = [&[("__name__", "process_cpu"), ("service_name", "a")][..], more].concat();
        push_message(&[series(&labels, &[&good])]).0
    };
    let many: Vec<(String, String)> = (0..31).map(|number| (format!("l{number}"), "v".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (long_name, long_value) = ("n".repeat(1025), "v".repeat(2049));
    for (message, word) in [
        (named(&[("", "v")]), "label name is empty"),
        (named(&[("a\nb", "v")]), "control character"),
        (named(&[(&long_name, "v")]), "limit 1024"),
        (named(&[("pod", &long_value)]), "limit 2048"),
        (named(&many), "too many for one series (limit 30)"),
        (named(&[("pod", "1"), ("pod", "2")]), "given twice"),
        (push_message(&[series(&[("service_name", "a")], &[&good])]).0, "__name__"),
        (push_message(&[series(&[("__name__", "process_cpu")], &[b"\x0a\xff"])]).0, "series[0].samples[0]"),
        (push_message(&[series(&[("__name__", "process_cpu")], &[])]).0, "no profiles received"),
        (Vec::new(), "no profiles received"),
    ] {
        let error = connect(&server, PUSH, &message).expect(400).json();
        assert_eq!(error["code"], "invalid_argument", "{error}");
        assert!(error["message"].as_str().unwrap().contains(word), "{word}: {error}");
        let headers = [("content-type", "application/grpc-web+proto")];
        let web = server.call("POST", PUSH, &headers, Some(&frame(&message))).expect(200);
        assert_eq!(web_status(&web), "3", "{word}: {web:?}");
    }
    assert_eq!(server.get("/api/v1/services").expect(200).json()["services"], value!([]));
    for broken in [&b"{"[..], br#"{"series":[{"samples":[{"rawProfile":"***"}]}]}"#, b"\x0a\xff"] {
        let json =
            server.call("POST", PUSH, &[("content-type", "application/json")], Some(broken)).expect(400);
        assert_eq!(json.json()["code"], "invalid_argument", "{json:?}");
    }
    let unknown = server.call("POST", PUSH, &[("content-type", "text/plain")], Some(b"x"));
    assert_eq!(unknown.status, 415, "{unknown:?}");
    // who it is: 401, and 16 by gRPC-Web
    let tenants = TestServer::start(&["--multi-tenant"]);
    let message = named(&[]);
    let error = connect(&tenants, PUSH, &message).expect(401).json();
    assert_eq!(error["code"], "unauthenticated");
    let headers = [("content-type", "application/grpc-web+proto")];
    assert_eq!(web_status(&tenants.call("POST", PUSH, &headers, Some(&frame(&message)))), "16");
    assert_eq!(ingest(&tenants, "name=a", b"a 1\n").status, 401);
    let headers = [("x-scope-orgid", "a"), ("content-type", "application/proto")];
    tenants.call("POST", PUSH, &headers, Some(&message)).expect(200);
}

/// Multipart to `/ingest`: a profile, and maybe a `sample_type_config`.
fn send_parts(server: &TestServer, query: &str, profile: &[u8], config: Option<&str>) {
    let mut body = Vec::new();
    let parts = [("profile", Some(profile)), ("sample_type_config", config.map(str::as_bytes))];
    for (name, content) in parts {
        let Some(content) = content else { continue };
        let head = format!("Content-Disposition: form-data; name=\"{name}\"; filename=\"f\"");
        body.extend(format!("--B\r\n{head}\r\n\r\n").into_bytes());
        body.extend_from_slice(content);
        body.extend(b"\r\n");
    }
    body.extend(b"--B--\r\n");
    let headers = [("content-type", "multipart/form-data; boundary=B")];
    accepted(&server.call("POST", &format!("/ingest?{query}"), &headers, Some(&body)));
}

/// As profilers for .NET sent pprof to `/ingest` before they knew `Push`: functions without ids, dashes in sample types,
/// a `sample_type_config`, and no name of the spy at first. Built, not recorded.
#[test]
fn old_dotnet_profilers_on_ingest_built_not_recorded() {
    use testkit::proto::{Function, Line, Location, Message as _, Profile, Sample, ValueType};
    let server = TestServer::start(&[]);
    let texts =
        ["", "inuse-space", "bytes", "inuse-objects", "count", "Bank!Program.Main", "Bank!Ledger.Settle"];
    let profile = Profile {
        sample_type: vec![ValueType { r#type: 3, unit: 4 }, ValueType { r#type: 1, unit: 2 }],
        sample: vec![Sample { location_id: vec![2, 1], value: vec![3, 4096], label: vec![] }],
        location: [1, 2]
            .map(|id| Location {
                id,
                line: vec![Line { function_id: id, line: 7, column: 0 }],
                ..Location::default()
            })
            .to_vec(),
        function: [5, 6].map(|name| Function { name, ..Function::default() }).to_vec(),
        string_table: texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
        time_nanos: now_nanos(),
        ..Profile::default()
    };
    let config = r#"{"inuse-space":{"units":"bytes"},"inuse-objects":{"units":"objects"}}"#;
    let profile = formats::gzip(&profile.encode_to_vec());
    let send = |query: &str, config: Option<&str>| send_parts(&server, query, &profile, config);
    send("name=by-config", Some(config));
    send("name=by-spy&spyName=dotnetspy", None);
    send("name=another&spyName=otherspy", Some(config));
    let types = |service: &str| -> Vec<String> {
        let sets = label_sets(&server, &["service_name", "__profile_type__"]);
        let of = format!(",service_name=\"{service}\"");
        let mut types: Vec<String> = sets.iter().filter(|set| set.ends_with(&of)).cloned().collect();
        types.sort();
        types
    };
    for service in ["by-config", "by-spy"] {
        let of = |kind: &str| format!("__profile_type__=\"memory:{kind}::\",service_name=\"{service}\"");
        assert_eq!(types(service), [of("inuse_objects:count"), of("inuse_space:bytes")]);
        let q = encoded(&format!("memory:inuse_space:bytes::{{service_name=\"{service}\"}}"));
        let rows = server.get(&format!("/api/v1/top?q={q}")).expect(200).json()["rows"].clone();
        assert_eq!((&rows[0]["name"], &rows[0]["self"]), (&value!("Bank!Ledger.Settle"), &value!(4096)));
        assert_eq!((&rows[1]["name"], &rows[1]["total"]), (&value!("Bank!Program.Main"), &value!(4096)));
    }
    // Others' dashes are theirs.
    assert!(types("another").iter().any(|set| set.contains("inuse-space:bytes")), "{:?}", types("another"));
}

/// The bodies and the config that such a profiler wrote, where the shared corpus is on the machine.
#[test]
fn old_dotnet_profilers_of_the_corpus() {
    let Some(shared) = testkit::skip_without_shared("old_dotnet_profilers_of_the_corpus") else { return };
    let read = |name: &str| std::fs::read(shared.join("corpus/pprof/pyroscope-ingest").join(name)).unwrap();
    let config = String::from_utf8(read("dotnet-pprof-3.st.json")).unwrap();
    let server = TestServer::start(&[]);
    for name in ["dotnet-pprof-3", "dotnet-pprof-73"] {
        let query = format!("name={name}&spyName=unknown");
        send_parts(&server, &query, &read(&format!("{name}.pb.gz")), Some(&config));
        // They are of 2023.
        let asked = |kind: &str, service: &str| {
            let q = encoded(&format!("{kind}{{service_name=\"{service}\"}}"));
            server.get(&format!("/api/v1/top?q={q}&from=2020-01-01T00:00:00Z")).expect(200).json()
        };
        let cpu = asked("cpu", name);
        assert_eq!(cpu["rows"][0]["name"], "WebApplication1.Controllers!CpuController.fib", "{cpu}");
        assert_eq!(cpu["unit"], "nanoseconds");
        assert_eq!(asked("alloc_size", name)["unit"], "bytes");
        assert_eq!(asked("lock_time", name)["unit"], "nanoseconds");
    }
    let types = ["alloc_samples", "alloc_size", "cpu", "exception", "lock_count", "lock_time"];
    assert_eq!(label_sets(&server, &["__type__"]), types.map(|kind| format!("__type__=\"{kind}\"")));
}
