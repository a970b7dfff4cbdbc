//! Pyroscope's wire as its clients write it: protobuf by hand, Connect, gRPC-Web and JSON calls. Kept apart from the
//! program's own generated code, so that a mistake there is not repeated here.

#![allow(dead_code, reason = "each test program uses its own part")]

use crate::support::{Reply, TestServer};

/// The CPU type of most profiles here.
pub const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

/// Path of the push call.
pub const PUSH: &str = "/push.v1.PusherService/Push";

/// A protobuf message under construction.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    /// Adds a varint field.
    pub fn number(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(u64::from_ne_bytes(value.to_ne_bytes()));
        self
    }

    /// Adds a field of bytes, text or a message.
    pub fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(u64::try_from(value.as_ref().len()).unwrap());
        self.0.extend_from_slice(value.as_ref());
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value > 127 {
            self.0.push(u8::try_from(value & 127).unwrap() | 128);
            value >>= 7;
        }
        self.0.push(u8::try_from(value).unwrap());
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A series with labels and profiles.
pub fn series(labels: &[(&str, &str)], bodies: &[&[u8]]) -> Message {
    let mut series = Message::default();
    for (name, value) in labels {
        series = series.bytes(1, Message::default().bytes(1, name).bytes(2, value));
    }
    for body in bodies {
        series = series.bytes(2, Message::default().bytes(1, body));
    }
    series
}

/// A push message of several series.
pub fn push_message(all: &[Message]) -> Message {
    all.iter().fold(Message::default(), |message, series| message.bytes(1, series))
}

/// Pushes one CPU profile of a service with further labels.
pub fn push(server: &TestServer, service: &str, labels: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut all = vec![("__name__", "process_cpu"), ("service_name", service)];
    all.extend_from_slice(labels);
    connect(server, PUSH, &push_message(&[series(&all, &[body])]).0)
}

/// A Connect call with a protobuf message.
pub fn connect(server: &TestServer, path: &str, message: &[u8]) -> Reply {
    server.call("POST", path, &[("content-type", "application/proto")], Some(message))
}

/// A Connect call in JSON.
pub fn json(server: &TestServer, path: &str, message: &serde_json::Value) -> Reply {
    server.call("POST", path, &[("content-type", "application/json")], Some(message.to_string().as_bytes()))
}

/// A call of the querier in JSON, its answer and no error.
#[track_caller]
pub fn ask(server: &TestServer, method: &str, message: &serde_json::Value) -> serde_json::Value {
    json(server, &format!("/querier.v1.QuerierService/{method}"), message).expect(200).json()
}

/// The frame around a gRPC message.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

/// `/ingest` with a query string.
pub fn ingest(server: &TestServer, query: &str, body: &[u8]) -> Reply {
    server.call(
        "POST",
        &format!("/ingest?{query}"),
        &[("content-type", "application/octet-stream")],
        Some(body),
    )
}

/// Sum of a selection over all time, by the flame graph.
#[track_caller]
pub fn total(server: &TestServer, profile_type: &str, selector: &str) -> i64 {
    let answer = flames(server, profile_type, selector);
    let total = answer["flamegraph"].get("total").map_or("0", |total| total.as_str().unwrap());
    total.parse().unwrap()
}

/// The flame graph of a selection over all time.
#[track_caller]
pub fn flames(server: &TestServer, profile_type: &str, selector: &str) -> serde_json::Value {
    let request = serde_json::json!({
        "profileTypeID": profile_type, "labelSelector": selector, "start": "1", "end": "4000000000000",
    });
    ask(server, "SelectMergeStacktraces", &request)
}

/// All label sets over all time, each as `a="b",…`.
#[track_caller]
pub fn label_sets(server: &TestServer, names: &[&str]) -> Vec<String> {
    let request = serde_json::json!({ "labelNames": names, "start": "1", "end": "4000000000000" });
    let answer = ask(server, "Series", &request);
    let sets = answer["labelsSet"].as_array().cloned().unwrap_or_default();
    let pair = |pair: &serde_json::Value| format!("{}={}", pair["name"].as_str().unwrap(), pair["value"]);
    let set = |set: &serde_json::Value| {
        set["labels"].as_array().unwrap().iter().map(pair).collect::<Vec<_>>().join(",")
    };
    sets.iter().map(set).collect()
}
