//! Who gets in: loopback by default, the secret of `--token-file`, tenants; and settings that are wrong.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use support::{TestServer, body::Body, now_nanos, run};

const SECRET: &str = "a-secret-of-enough-bytes";

/// One path of every API, all of which need the secret.
const PATHS: [&str; 14] = [
    "/api/v1/services",
    "/api/v1/push",
    "/api/v1/nowhere",
    "/api/0/services",
    "/api/0/profiles",
    "/pprof/a/debug/pprof/profile",
    "/ingest",
    "/pyroscope/render",
    "/push.v1.PusherService/Push",
    "/querier.v1.QuerierService/LabelNames",
    "/metrics",
    "/debug/pprof/profile",
    "/nowhere",
    "/ready/",
];

fn secret_file() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{SECRET}\n")).unwrap();
    file
}

#[test]
fn beyond_loopback_without_a_secret_is_wrong_usage() {
    let data = support::DataDir::new();
    let folder = data.path().to_str().unwrap();
    let finished = run(&["server", "--data-dir", folder, "--listen", "0.0.0.0:4040"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("--token-file") && finished.stderr.contains("--insecure-listen"));
    assert_eq!(finished.stdout, "");
}

#[test]
fn with_a_secret_every_path_but_health_wants_it() {
    let file = secret_file();
    let server = TestServer::start(&["--token-file", file.path().to_str().unwrap()]);
    for path in ["/healthz", "/ready", "/readyz"] {
        server.get(path).expect(200);
    }
    for path in PATHS {
        for method in ["GET", "POST"] {
            let reply = server.call(method, path, &[], (method == "POST").then_some(&b""[..]));
            assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
            assert!(reply.header("www-authenticate").is_some(), "{path}");
        }
    }
    let basic = |password: &str| {
        use base64::Engine as _;
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("anybody:{password}")))
    };
    for value in [format!("Bearer {SECRET}"), basic(SECRET)] {
        server.call("GET", "/api/v1/services", &[("authorization", &value)], None).expect(200);
    }
    for value in ["Bearer wrong".to_owned(), basic("wrong"), format!("Bearer {SECRET}x"), SECRET.to_owned()] {
        server.call("GET", "/api/v1/services", &[("authorization", &value)], None).expect(401);
    }
    let text = server.get("/pprof/a/debug/pprof/profile").expect(401);
    assert!(text.header("x-go-pprof").is_some() && text.text().contains("secret"), "{text:?}");
    assert!(!server.log().contains(SECRET), "the secret is in the log");
}

/// No spelling of a path, a method or a header comes past the secret.
#[test]
fn with_a_secret_no_other_spelling_gets_in() {
    let file = secret_file();
    let server = TestServer::start(&["--token-file", file.path().to_str().unwrap()]);
    let bearer = format!("Bearer {SECRET}");
    for path in [
        "//healthz",
        "/healthz/",
        "/./healthz",
        "/healthz/../api/v1/services",
        "/%68ealthz",
        "/HEALTHZ",
        "/ready;/api/v1/services",
        "/ready%2f..%2fapi/v1/services",
        "//api/v1/services",
        "/api//v1/services",
        "/%61pi/v1/services",
        "/explore/../api/v1/services",
        "/api/v1/targets",
        "/debug/vars",
        "*",
    ] {
        for method in ["GET", "HEAD", "POST", "OPTIONS", "TRACE", "CONNECT", "PURGE"] {
            // An HTTP client would mend the path.
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 401 "), "{method} {path}: {answer}");
        }
    }
    for name in ["authorization", "Authorization", "AUTHORIZATION"] {
        server.call("GET", "/api/v1/services", &[(name, &bearer)], None).expect(200);
    }
    for name in ["proxy-authorization", "x-authorization", "authorisation"] {
        server.call("GET", "/api/v1/services", &[(name, &bearer)], None).expect(401);
    }
    // Of a protocol whatever its media type's spelling, the refusal is one that its clients can read.
    for (content_type, header) in [("application/grpc", "grpc-status"), ("Application/GRPC", "grpc-status")] {
        let path = "/querier.v1.QuerierService/LabelNames";
        let reply = server.call("POST", path, &[("content-type", content_type)], Some(b""));
        assert_eq!((reply.status, reply.header(header)), (200, Some("16")), "{content_type}");
    }
}

/// Also of the routes that are the server's own.
#[test]
fn wrong_methods_are_refused_in_the_words_of_the_api() {
    let server = TestServer::start(&[]);
    for path in
        ["/api/v1/targets", "/api/v1/services", "/api/0/profiles", "/debug/pprof/", "/debug/pprof/profile"]
    {
        let reply = server.call("PURGE", path, &[], None).expect(405);
        assert!(reply.header("allow").is_some_and(|allowed| allowed.contains("GET")), "{path}: {reply:?}");
        assert!(reply.text().contains("PURGE does not fit this path"), "{path}: {reply:?}");
    }
}

#[test]
fn a_hang_up_reads_the_secret_again_and_keeps_the_old_one_where_it_cannot() {
    let file = secret_file();
    let server = TestServer::start(&["--token-file", file.path().to_str().unwrap()]);
    let ask = |secret: &str| {
        server.call("GET", "/api/v1/services", &[("authorization", &format!("Bearer {secret}"))], None).status
    };
    std::fs::write(file.path(), "short").unwrap();
    server.hang_up();
    server.wait_for_log("token_file is not used; the secret stays as it was");
    assert_eq!((ask(SECRET), ask("short")), (200, 401));
    std::fs::write(file.path(), "another-secret-of-enough-bytes\n").unwrap();
    server.hang_up();
    server.wait_for_log("token_file is read again");
    assert_eq!((ask(SECRET), ask("another-secret-of-enough-bytes")), (401, 200));
    assert!(!server.log().contains("another-secret"), "the secret is in the log");
}

#[test]
fn a_secret_makes_other_addresses_possible() {
    let file = secret_file();
    let server = TestServer::start(&["--listen", "0.0.0.0:0", "--token-file", file.path().to_str().unwrap()]);
    let port = server.address.rsplit(':').next().unwrap();
    support::call(&format!("http://127.0.0.1:{port}/api/v1/services"), "GET", &[], None).expect(401);
}

#[test]
fn wrong_settings_are_wrong_usage() {
    let data = support::DataDir::new();
    let folder = data.path().to_str().unwrap();
    let file = data.path().join("everflame.toml");
    let short = data.path().join("short");
    std::fs::write(&short, "short").unwrap();
    let missing = data.path().join("missing");
    for (flag, value, word) in [
        ("--listen", "nowhere", "ADDRESS:PORT"),
        ("--retention", "soon", "length of time"),
        ("--flush-bytes", "-1", "size"),
        ("--token-file", short.to_str().unwrap(), "at least"),
        ("--token-file", missing.to_str().unwrap(), "missing"),
        ("--log-format", "xml", "json"),
    ] {
        let finished = run(&["server", "--data-dir", folder, &format!("{flag}={value}")]);
        assert_eq!(finished.code, Some(2), "{flag} {value}: {finished:?}");
        assert!(finished.stderr.contains(word), "{flag} {value}: {finished:?}");
    }
    std::fs::write(&file, "[server]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let finished = run(&["server", "--config", file.to_str().unwrap()]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("server: is a section, and this file has none"), "{finished:?}");
    let finished = run(&["server", "--data-dir", file.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("everflame.toml: is a file"), "{finished:?}");
    std::fs::write(&file, "data_dri = \"x\"\n").unwrap();
    let finished = run(&["server", "--config", file.to_str().unwrap()]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("did you mean \"data_dir\""), "{finished:?}");
}

#[test]
fn check_config_prints_what_would_be_used() {
    let data = support::DataDir::new();
    let file = data.path().join("everflame.toml");
    std::fs::write(&file, "flush_bytes = \"1MiB\"\nretention = \"7d\"\n").unwrap();
    let finished =
        run(&["server", "--config", file.to_str().unwrap(), "--check-config", "--flush-bytes", "2MiB"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for line in ["flush_bytes = \"2MiB\"", "retention = \"7d\"", "listen = \"127.0.0.1:4040\""] {
        assert!(finished.stdout.contains(line), "{line} is not in {}", finished.stdout);
    }
}

#[test]
fn c099_tenants_are_names_and_never_paths() {
    let server = TestServer::start(&["--multi-tenant"]);
    let long = "x".repeat(151);
    for bad in ["../x", "a/b", "..", "", long.as_str(), "a%2Fb"] {
        let tenant = [("x-scope-orgid", bad)];
        let body = Body::cpu(now_nanos()).sample("main", &[1, 10]).gzip();
        for (method, path, body) in [
            ("GET", "/api/v1/services", None),
            ("POST", "/api/v1/push?service=a", Some(body.as_slice())),
            ("POST", "/api/0/profiles?service=a&type=cpu", Some(body.as_slice())),
            ("GET", "/pprof/a/debug/pprof/profile", None),
        ] {
            let reply = server.call(method, path, &tenant, body);
            assert_eq!(reply.status, 400, "{bad:?} on {path}: {reply:?}");
        }
    }
    let nameless = server.get("/api/v1/services").expect(401);
    let challenges: Vec<&str> = nameless
        .headers
        .iter()
        .filter(|(name, _)| name == "www-authenticate")
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(challenges, ["Bearer"], "a browser would ask for a password that changes nothing");
    assert!(nameless.text().contains("several tenants"), "{nameless:?}");
    let single = TestServer::start(&[]);
    single.call("GET", "/api/v1/services", &[("x-scope-orgid", "../x")], None).expect(200);
}

#[test]
fn c100_lists_of_tenants_are_for_reads() {
    let server = TestServer::start(&["--multi-tenant"]);
    for (tenant, value) in [("a", 1), ("b", 2), ("c", 4)] {
        let body = Body::cpu(now_nanos()).sample("main", &[1, value]).gzip();
        server.call("POST", "/api/v1/push?service=s", &[("x-scope-orgid", tenant)], Some(&body)).expect(200);
    }
    let total = |tenants: &str| {
        let reply = server.call("GET", "/api/v1/top?type=cpu", &[("x-scope-orgid", tenants)], None);
        reply.expect(200).json()["total"].as_i64().unwrap()
    };
    assert_eq!((total("a"), total("b|a|b"), total("a|b|c"), total("nobody")), (1, 3, 7, 0));
    let body = Body::cpu(now_nanos()).sample("main", &[1, 8]).gzip();
    server.call("POST", "/api/v1/push?service=s", &[("x-scope-orgid", "a|b")], Some(&body)).expect(400);
}
