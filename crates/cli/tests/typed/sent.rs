//! A relay between an SDK and the server that keeps what it passed on: the oracle's own copy of what was sent.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use crate::support::try_call;

/// One request as it was sent.
#[derive(Clone)]
pub struct Sent {
    pub content_type: String,
    pub body: Vec<u8>,
}

impl Sent {
    /// The part `profile` of a multipart body, inflated.
    pub fn profile(&self) -> Vec<u8> {
        let boundary = self.content_type.split("boundary=").nth(1).unwrap();
        let body = &self.body;
        let find = |needle: &[u8], from: usize| {
            let found = body[from..].windows(needle.len()).position(|window| window == needle);
            found.unwrap_or_else(|| panic!("no {} in a body", needle.escape_ascii())) + from
        };
        let head = find(b"name=\"profile\"", 0);
        let start = find(b"\r\n\r\n", head) + 4;
        let end = find(format!("\r\n--{boundary}").as_bytes(), start);
        let mut profile = Vec::new();
        flate2::read::GzDecoder::new(&body[start..end]).read_to_end(&mut profile).unwrap();
        profile
    }
}

/// The relay. Its threads end with the connections.
pub struct Relay {
    pub url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Relay {
    /// Passes everything on to a server.
    pub fn to(server_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (kept, server_url) = (Arc::clone(&sent), server_url.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept, server_url) = (stream.unwrap(), Arc::clone(&kept), server_url.clone());
                std::thread::spawn(move || while pass_on(&stream, &server_url, &kept).is_some() {});
            }
        });
        Self { url, sent }
    }

    /// All requests that the server took with 200.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

/// Passes one request of a connection on; `None` when it is the last.
fn pass_on(mut stream: &TcpStream, server_url: &str, kept: &Mutex<Vec<Sent>>) -> Option<()> {
    // A client waits for its answer before it sends more, so nothing of a next request is lost with the reader.
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let mut next = || {
        line.clear();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let first = next().filter(|first| !first.is_empty())?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers: Vec<(String, String)> = Vec::new();
    while let Some(header) = next().filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once(": ")?;
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let of = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut body = vec![0; of("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let own = ["host", "content-length", "accept-encoding", "connection"];
    let passed: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let passed: Vec<_> = passed.into_iter().filter(|(name, _)| !own.contains(name)).collect();
    let reply = try_call(&format!("{server_url}{path}"), &method, &passed, Some(&body)).ok()?;
    if reply.status == 200 {
        let content_type = of("content-type").unwrap_or_default().to_owned();
        kept.lock().unwrap().push(Sent { content_type, body });
    }
    let head = format!("HTTP/1.1 {} Status\r\ncontent-length: {}\r\n\r\n", reply.status, reply.body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&reply.body).ok()
}
