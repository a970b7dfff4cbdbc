//! The web page over a real socket: open to everybody, with headers that keep it safe; the API behind it is not.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use support::TestServer;

const SECRET: &str = "a-secret-of-enough-bytes";

#[test]
fn pages_are_answered_with_safe_headers() {
    let server = TestServer::start(&["--frame-ancestors", "'self' https://grafana.example"]);
    for page in ["/", "/explore", "/explore?q=x&from=now-1h", "/status/ingest"] {
        let reply = server.get(page).expect(200);
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"), "{page}");
        assert_eq!(reply.header("cache-control"), Some("no-cache"), "{page}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{page}");
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"), "{page}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self';"), "{policy}");
        assert!(policy.ends_with("frame-ancestors 'self' https://grafana.example"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        let text = reply.text();
        assert!(text.contains("Everflame") && text.contains("<base href=\"/\" />"), "{text}");
        // Nothing of the page is from elsewhere, and nothing in it is a script or style that the policy would stop.
        assert!(!text.contains("http://") && !text.contains("https://"), "{text}");
        assert!(!text.contains("<script>") && !text.contains("<style") && !text.contains("style="), "{text}");
        let tag = reply.header("etag").unwrap();
        let again = server.call("GET", page, &[("if-none-match", tag)], None).expect(304);
        assert!(again.body.is_empty());
        assert!(server.call("HEAD", page, &[], None).expect(200).body.is_empty());
    }
    // Everything else stays as it was.
    assert_eq!(server.get("/nowhere").expect(404).json()["code"], "not_found");
    // A person who mistyped an address gets the page; a program that mistyped an operation gets JSON all the same.
    let html = [("accept", "text/html,*/*;q=0.8")];
    let page = server.call("GET", "/nowhere", &html, None).expect(404);
    assert!(page.text().contains("<base href=\"/\" />"), "{page:?}");
    assert!(page.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src")));
    for path in ["/api/v1/nothing", "/api/v1/profiles/00000000-0000-0000-0000-000000000001", "/debug/nothing"]
    {
        assert_eq!(server.call("GET", path, &html, None).expect(404).json()["code"], "not_found", "{path}");
    }
    server.call("GET", "/metrics", &html, None).expect(200);
    assert_eq!(server.post("/", b"").expect(404).json()["code"], "not_found");
}

/// Over HTTP/2 the bytes of a body are an error to a client that asked for none.
#[test]
fn head_gets_the_length_and_no_body_over_http2_too() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), SECRET).unwrap();
    let server = TestServer::start(&["--token-file", file.path().to_str().unwrap()]);
    let bearer = format!("authorization: Bearer {SECRET}");
    let with_secret = ["-H", &bearer];
    for (path, accept, has_secret, status) in [
        ("/", "*/*", false, "200"),
        ("/nowhere", "text/html", true, "404"),
        ("/nowhere", "*/*", true, "404"),
        ("/api/v1/services", "*/*", false, "401"),
        ("/api/v1/services", "*/*", true, "200"),
        ("/healthz", "*/*", false, "200"),
    ] {
        for version in ["--http1.1", "--http2-prior-knowledge"] {
            let output = std::process::Command::new("curl")
                .args(["-sS", "--head", version, "-H", &format!("accept: {accept}")])
                .args(if has_secret { &with_secret[..] } else { &[] })
                .arg(format!("{}{path}", server.url))
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap().to_ascii_lowercase();
            assert!(output.status.success(), "{version} {path}: {:?}", String::from_utf8(output.stderr));
            assert_eq!(text.split(' ').nth(1), Some(status), "{version} {path}: {text}");
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
            assert!(length.is_none_or(|length| length != "0"), "{version} {path}: {text}");
        }
    }
}

#[test]
fn every_file_that_the_page_names_is_there() {
    let server = TestServer::start(&["--base-path", "/below/"]);
    let text = server.get("/").expect(200).text();
    assert!(text.contains("<base href=\"/below/\" />"), "{text}");
    for part in text.split(['"', '\'']).filter_map(|part| part.strip_prefix("./")) {
        let reply = server.get(&format!("/{part}")).expect(200);
        let is_hashed = part.starts_with("assets/");
        let caching = reply.header("cache-control").unwrap();
        assert_eq!(caching.contains("immutable"), is_hashed, "{part}: {caching}");
        let packed = server.call("GET", &format!("/{part}"), &[("accept-encoding", "br")], None).expect(200);
        assert!(packed.body.len() <= reply.body.len(), "{part}");
    }
}

#[test]
fn a_folder_can_take_the_place_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "<head></head>mine").unwrap();
    std::fs::write(folder.path().join(".secret"), "x").unwrap();
    let server = TestServer::start(&["--ui-dir", folder.path().to_str().unwrap()]);
    assert_eq!(server.get("/explore").expect(200).text(), "<head><base href=\"/\" /></head>mine");
    for path in ["/.secret", "/../.secret", "/%2e%2e/x", "/index.html/.."] {
        server.get(path).expect(404);
    }
    let empty = tempfile::tempdir().unwrap();
    let data = support::DataDir::new();
    let flags = ["--data-dir", data.path().to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let finished =
        support::run(&[&["server"], &flags[..], &["--ui-dir", empty.path().to_str().unwrap()]].concat());
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("index.html"), "{finished:?}");
}

#[test]
fn the_page_is_open_and_what_it_asks_wants_the_secret() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), SECRET).unwrap();
    let server = TestServer::start(&["--token-file", file.path().to_str().unwrap()]);
    for page in ["/", "/explore"] {
        server.get(page).expect(200);
        server.post(page, b"").expect(401);
    }
    let refused = server.get("/api/v1/services").expect(401);
    // This is what makes a browser ask for the secret by itself.
    assert!(refused.header("www-authenticate").unwrap().contains("Basic"), "{refused:?}");
}
