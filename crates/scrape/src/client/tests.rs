//! What targets do, against a fake one on real sockets.

use std::path::Path;

use super::*;
use crate::{
    ScrapeConfig,
    fake::{Fake, Speaks, testdata},
};

const SOON: Duration = Duration::from_millis(300);
const PATIENT: Duration = Duration::from_secs(20);

/// A client with a job's settings.
fn client(lines: &str) -> HttpClient {
    client_with(lines, Bodies::new(1 << 20))
}

fn client_with(lines: &str, bodies: Arc<Bodies>) -> HttpClient {
    let indented: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!("scrape_configs:\n  - job_name: a\n{indented}");
    let config = ScrapeConfig::parse(&text, Path::new("/")).unwrap();
    HttpClient::new(config.jobs[0].http.clone(), Arc::default(), bodies)
}

async fn get(client: &HttpClient, url: &str, timeout: Duration) -> Result<String, ScrapeError> {
    let url = Url::parse(url).unwrap();
    let fetched = client.fetch(&url, timeout, 256 << 10).await?;
    Ok(String::from_utf8(fetched.body.to_vec()).unwrap())
}

#[tokio::test]
async fn whole_answers_of_every_form() {
    let fake = Fake::start(Speaks::Plain).await;
    let client = client("");
    for (path, wanted) in [("x?y=1", "profile of /x?y=1"), ("chunked", "abcde"), ("old", "until the end")] {
        assert_eq!(get(&client, &format!("http://{}/{path}", fake.address), PATIENT).await.unwrap(), wanted);
    }
    let asked = get(&client, &format!("http://{}/request", fake.address), PATIENT).await.unwrap();
    let asked = asked.to_ascii_lowercase();
    assert!(asked.contains(&format!("host: {}\r\n", fake.address)), "{asked}");
    assert!(
        asked.contains("user-agent: everflame/") && asked.contains("accept-encoding: identity"),
        "{asked}"
    );
    assert!(!asked.contains("authorization"), "{asked}");
}

#[tokio::test]
async fn every_failure_says_what_it_is() {
    let fake = Fake::start(Speaks::Plain).await;
    let client = client("");
    for (path, timeout, kind, words) in [
        ("404", PATIENT, FailureKind::Status, "404 Not Found: 404 page not found"),
        ("500", PATIENT, FailureKind::Status, "could not enable CPU profiling: already in use"),
        ("204", PATIENT, FailureKind::Status, "204"),
        ("empty", PATIENT, FailureKind::Answer, "empty"),
        ("truncated", PATIENT, FailureKind::Answer, "broke off after 9 bytes"),
        ("cut-chunk", PATIENT, FailureKind::Answer, "broke off"),
        ("garbage", PATIENT, FailureKind::Answer, "no HTTP"),
        ("silent", SOON, FailureKind::Timeout, "0.3 s"),
        ("stalls", SOON, FailureKind::Timeout, "0.3 s"),
        ("huge", PATIENT, FailureKind::TooLarge, "262144 bytes (body_size_limit)"),
        ("announced", PATIENT, FailureKind::TooLarge, "body_size_limit"),
        ("loop", PATIENT, FailureKind::Redirect, "more than 5"),
        ("nowhere", PATIENT, FailureKind::Redirect, "without a place"),
        ("redirect?ftp://a/", PATIENT, FailureKind::Redirect, "begins neither"),
        ("redirect?http://u:p@a/", PATIENT, FailureKind::Redirect, "credentials"),
    ] {
        let error = get(&client, &format!("http://{}/{path}", fake.address), timeout).await.unwrap_err();
        assert_eq!(error.kind, kind, "{path}: {error}");
        assert!(error.text.contains(words), "{path}: {error}");
        assert!(!error.text.contains('\u{7}'));
    }
    let gone = fake.address.clone();
    // Nothing is left open by those that were given up.
    fake.seen.until(|seen| seen.open() == 0).await;
    drop(fake);
    tokio::task::yield_now().await;
    let refused = loop {
        // The listener is closed when its task has ended.
        match get(&client, &format!("http://{gone}/silent"), SOON).await {
            Err(error) if error.kind == FailureKind::Connect && error.text.contains("refused") => {
                break error;
            }
            _ => tokio::task::yield_now().await,
        }
    };
    assert_eq!(refused.text, "cannot connect: connection refused");
    let error = get(&client, "http://nobody.invalid/x", PATIENT).await.unwrap_err();
    assert!(error.text.contains("nobody.invalid"), "{error}");
}

#[tokio::test]
async fn credentials_go_to_the_target_and_nowhere_else() {
    let (target, other) = (Fake::start(Speaks::Plain).await, Fake::start(Speaks::Plain).await);
    let client = client("basic_auth: {username: me, password: secret}");
    let url = |path: &str| format!("http://{}/{path}", target.address);
    let own = get(&client, &url("request"), PATIENT).await.unwrap();
    assert!(own.to_ascii_lowercase().contains("authorization: basic bwu6c2vjcmv0"), "{own}");
    let followed = get(&client, &url("redirect?/request"), PATIENT).await.unwrap();
    assert!(followed.to_ascii_lowercase().contains("authorization: basic"), "{followed}");
    let away =
        get(&client, &url(&format!("redirect?http://{}/request", other.address)), PATIENT).await.unwrap();
    assert!(!away.to_ascii_lowercase().contains("authorization"), "{away}");
    // The same machine by another name is another server.
    let port = target.address.rsplit(':').next().unwrap();
    let named =
        get(&client, &url(&format!("redirect?http://localhost:{port}/request")), PATIENT).await.unwrap();
    assert!(!named.to_ascii_lowercase().contains("authorization"), "{named}");
    let refusing = self::client("follow_redirects: false");
    let error = get(&refusing, &url("redirect?/x"), PATIENT).await.unwrap_err();
    assert!(error.text.contains("follow_redirects is false"), "{error}");
}

#[tokio::test]
async fn token_files_are_read_anew() {
    let fake = Fake::start(Speaks::Plain).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let client = client(&format!("authorization: {{type: Token, credentials_file: {}}}", file.display()));
    let url = format!("http://{}/request", fake.address);
    let error = get(&client, &url, PATIENT).await.unwrap_err();
    assert!(error.kind == FailureKind::Settings && error.text.contains("token"), "{error}");
    for token in ["first", "second"] {
        std::fs::write(&file, format!("{token}\n")).unwrap();
        let asked = get(&client, &url, PATIENT).await.unwrap();
        assert!(asked.contains(&format!("Token {token}\r\n")), "{asked}");
    }
    std::fs::write(&file, "a\nb").unwrap();
    let error = get(&client, &url, PATIENT).await.unwrap_err();
    assert!(!error.text.contains("a\nb") && error.kind == FailureKind::Settings, "{error}");
}

#[tokio::test]
async fn unix_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let fake = Fake::on_socket(&path).await;
    let client = client("");
    let address = Address::parse(&format!("unix://{}", fake.address), Scheme::Http).unwrap();
    let url = Url::new(Scheme::Http, address, "/request", "seconds=1");
    let fetched = client.fetch(&url, PATIENT, 4096).await.unwrap();
    let asked = String::from_utf8(fetched.body.to_vec()).unwrap().to_ascii_lowercase();
    assert!(
        asked.starts_with("get /request?seconds=1 http/1.1") && asked.contains("host: localhost"),
        "{asked}"
    );
    let away = Url::new(Scheme::Http, url.address().clone(), "/redirect", "http://127.0.0.1/");
    let error = client.fetch(&away, PATIENT, 4096).await.err().unwrap();
    assert!(error.text.contains("leads away from the socket"), "{error}");
    let missing =
        Address::parse(&format!("unix://{}/none.sock", folder.path().display()), Scheme::Http).unwrap();
    let error = client.fetch(&Url::new(Scheme::Http, missing, "/", ""), PATIENT, 4096).await.err().unwrap();
    assert_eq!(error.text, "cannot connect: there is no such socket");
}

#[tokio::test]
async fn tls_trusts_whom_it_is_told_to() {
    let fake = Fake::start(Speaks::Tls).await;
    let url = format!("https://{}/x", fake.address);
    let trusting = format!("ca_file: {}", testdata("authority.pem"));
    assert!(get(&client(&format!("tls_config: {{{trusting}}}")), &url, PATIENT).await.is_ok());
    for versions in ["min_version: TLS13", "max_version: TLS12"] {
        let client = client(&format!("tls_config: {{{trusting}, {versions}}}"));
        assert!(get(&client, &url, PATIENT).await.is_ok(), "{versions}");
    }
    // The machine's own authorities do not know this one.
    let error = get(&client(""), &url, PATIENT).await.unwrap_err();
    assert!(error.kind == FailureKind::Tls && error.text.contains("certificate"), "{error}");
    let wrong_name = client(&format!("tls_config: {{{trusting}, server_name: other.test}}"));
    assert_eq!(get(&wrong_name, &url, PATIENT).await.unwrap_err().kind, FailureKind::Tls);
    let right_name = client(&format!("tls_config: {{{trusting}, server_name: localhost}}"));
    assert!(get(&right_name, &url, PATIENT).await.is_ok());
    let careless = client("tls_config: {insecure_skip_verify: true, server_name: other.test}");
    assert!(get(&careless, &url, PATIENT).await.is_ok());
    let plain = get(&client(""), &format!("http://{}/x", fake.address), PATIENT).await.unwrap_err();
    assert!(matches!(plain.kind, FailureKind::Answer | FailureKind::Connect), "{plain}");
    let missing = client("tls_config: {ca_file: /nowhere/ca.pem}");
    let error = get(&missing, &url, PATIENT).await.unwrap_err();
    assert!(error.kind == FailureKind::Settings && error.text.contains("/nowhere/ca.pem"), "{error}");
}

#[tokio::test]
async fn tls_shows_its_own_certificate() {
    let fake = Fake::start(Speaks::TlsBothWays).await;
    let url = format!("https://{}/x", fake.address);
    let trusting = format!("ca_file: {}", testdata("authority.pem"));
    let identity = format!("cert_file: {}, key_file: {}", testdata("client.pem"), testdata("client.key"));
    let known = client(&format!("tls_config: {{{trusting}, {identity}}}"));
    assert_eq!(get(&known, &url, PATIENT).await.unwrap(), "profile of /x?");
    assert!(get(&client(&format!("tls_config: {{{trusting}}}")), &url, PATIENT).await.is_err());
}

#[tokio::test]
async fn floods_are_given_up_before_they_take_others_memory() {
    let fake = Fake::start(Speaks::Plain).await;
    let bodies = Bodies::new(300 << 10);
    let client = client_with("", Arc::clone(&bodies));
    let held = bodies.begin();
    held.grow(100 << 10).unwrap();
    let error = get(&client, &format!("http://{}/huge", fake.address), PATIENT).await.unwrap_err();
    assert!(error.kind == FailureKind::TooLarge && error.text.contains("the largest"), "{error}");
    held.grow(100 << 10).unwrap();
}
