//! What a server answers between its first connection and the end of recovery.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::{net::SocketAddr, path::Path};

use server::{Config, Server, Settings};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Status and the whole answer, over a connection that is kept.
async fn ask(stream: &mut TcpStream, method: &str, path: &str) -> (u16, String) {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    answer(stream).await
}

/// Status and the whole answer to what was sent.
async fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut answer = String::new();
    loop {
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).await.unwrap();
        assert!(length > 0, "hung up after {answer:?}");
        answer.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        let stated = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let is_whole = stated.is_some_and(|stated| stated.parse() == Ok(body.len()));
        if is_whole || body.ends_with("\r\n0\r\n\r\n") {
            return (answer[9..12].parse().unwrap(), answer);
        }
    }
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// A server tells the whole process to keep its scratch files in that server's data folder: a folder made there would go
/// with the other test's.
fn temporary_folder() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::temp_dir()).unwrap()
}

fn config(data_dir: &Path) -> Config {
    config_with(data_dir, &[])
}

fn config_with(data_dir: &Path, flags: &[(&str, &str)]) -> Config {
    let mut settings = Settings::new();
    for (name, value) in flags {
        settings.add_flag(name, *value).unwrap();
    }
    settings.add_flag("data_dir", data_dir.to_str().unwrap()).unwrap();
    settings.add_flag("listen", "127.0.0.1:0").unwrap();
    settings.build().unwrap()
}

#[tokio::test]
async fn probes_are_answered_and_everything_else_waits_until_the_log_is_replayed() {
    let folder = temporary_folder();
    // Nothing is opened before `open`, so this is how a server is while it replays, for as long as the test likes.
    let starting = Server::listen(config(&folder.path().join("data"))).await.unwrap();
    let mut stream = connect(starting.address()).await;
    assert_eq!(ask(&mut stream, "GET", "/healthz").await.0, 200);
    for path in ["/ready", "/readyz"] {
        let (status, answer) = ask(&mut stream, "GET", path).await;
        assert_eq!(status, 503, "{path}: {answer}");
        assert!(answer.contains("replays its log"), "{path}: {answer}");
    }
    for (method, path, part) in [
        ("GET", "/api/v1/services", "\"code\":\"unavailable\""),
        ("POST", "/api/v1/push?service=a", "\"code\":\"unavailable\""),
        ("GET", "/api/0/services", "\"code\":503"),
        ("POST", "/ingest?name=a", "\"code\":\"unavailable\""),
        ("GET", "/pprof/a/debug/pprof/profile", "x-go-pprof: 1"),
        ("GET", "/metrics", "unavailable"),
        ("GET", "/nowhere", "unavailable"),
    ] {
        let (status, answer) = ask(&mut stream, method, path).await;
        assert_eq!(status, 503, "{path}: {answer}");
        assert!(answer.contains("retry-after: 1\r\n") && answer.contains(part), "{path}: {answer}");
    }
    let server = starting.open().await.unwrap();
    // The same connection, and a new one.
    for mut stream in [stream, connect(server.address()).await] {
        assert_eq!(ask(&mut stream, "GET", "/healthz").await.0, 200);
        assert_eq!(ask(&mut stream, "GET", "/ready").await.0, 200);
        assert_eq!(ask(&mut stream, "GET", "/api/v1/services").await.0, 200);
        assert_eq!(ask(&mut stream, "GET", "/nowhere").await.0, 404);
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn the_secret_is_asked_for_from_the_first_moment_on() {
    let folder = temporary_folder();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a-secret-of-enough-bytes").unwrap();
    let flags = [("token_file", secret.to_str().unwrap())];
    let starting = Server::listen(config_with(&folder.path().join("data"), &flags)).await.unwrap();
    let mut stream = connect(starting.address()).await;
    assert_eq!(ask(&mut stream, "GET", "/ready").await.0, 503);
    assert_eq!(ask(&mut stream, "GET", "/api/v1/services").await.0, 401);
    let server = starting.open().await.unwrap();
    assert_eq!(ask(&mut stream, "GET", "/ready").await.0, 200);
    assert_eq!(ask(&mut stream, "GET", "/api/v1/services").await.0, 401);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_opened_ends_the_listening() {
    let folder = temporary_folder();
    std::fs::write(folder.path().join("data"), b"a file").unwrap();
    let starting = Server::listen(config(&folder.path().join("data"))).await.unwrap();
    let mut stream = connect(starting.address()).await;
    assert_eq!(ask(&mut stream, "GET", "/healthz").await.0, 200);
    assert!(starting.open().await.is_err());
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).await.unwrap(), 0, "the connection ends");
}

/// The body comes after the answer could be there: in a packet of its own, as a client of RPC sends it.
#[tokio::test]
async fn a_connection_outlives_an_answer_that_needed_no_body() {
    let folder = temporary_folder();
    let server = Server::listen(config(&folder.path().join("data"))).await.unwrap().open().await.unwrap();
    let mut stream = connect(server.address()).await;
    for (path, status) in
        [("/vcs.v1.VCSService/GetFile", 501), ("/nowhere", 404), ("/metrics", 405), ("/api/v1/services", 405)]
    {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnect-protocol-version: 1\r\n\
             content-type: application/json\r\ncontent-length: 2\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        stream.write_all(b"{}").await.unwrap();
        let (found, answer) = answer(&mut stream).await;
        assert_eq!(found, status, "{path}: {answer}");
        assert!(!answer.contains("connection: close"), "{path}: {answer}");
    }
    assert_eq!(ask(&mut stream, "GET", "/healthz").await.0, 200);
}
