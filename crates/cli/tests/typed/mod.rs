//! Pyroscope's published typed client, unchanged, over what a real SDK pushed. Each answer is compared with an oracle that
//! adds up, by maps and loops, what the SDK sent as it went over the wire.

mod kept;
mod missing;
mod querier;
mod sent;
mod services;

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{built, support::TestServer};

/// All that the typed client speaks.
const PROTOCOLS: [&str; 4] = ["connect", "json", "grpc", "grpcweb"];

/// The typed client by one protocol.
pub struct TypedClient {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    pub protocol: &'static str,
}

impl TypedClient {
    pub fn start(server: &TestServer, protocol: &'static str) -> Self {
        let mut command = Command::new(built("go-rpc"));
        command.args(["-url", &server.url, "-protocol", protocol, "calls"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Self { requests: child.stdin.take(), child, replies, protocol }
    }

    /// Calls `package.Service/Method` with a message in protojson; the answer says `code` and, with `ok`, `reply`.
    pub fn call(&mut self, method: &str, request: &Value) -> Value {
        let mut line = json!({ "method": method, "request": request }).to_string();
        line.push('\n');
        self.requests.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.replies.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{method}: {answer:?}: {error}"))
    }

    /// Calls and gets an answer that is no error and not empty.
    #[track_caller]
    pub fn ask(&mut self, method: &str, request: &Value) -> Value {
        let reply = self.ask_for_any(method, request);
        assert_ne!(reply, json!({}), "{} {method} {request}: an empty answer", self.protocol);
        reply
    }

    /// Calls and gets an answer that is no error.
    #[track_caller]
    pub fn ask_for_any(&mut self, method: &str, request: &Value) -> Value {
        let answer = self.call(method, request);
        assert_eq!(answer["code"], "ok", "{} {method} {request}: {answer}", self.protocol);
        answer["reply"].clone()
    }
}

impl Drop for TypedClient {
    fn drop(&mut self) {
        // It ends by itself when no more requests come.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
