//! A server without sockets, and what it answers.

use std::{collections::BTreeMap, sync::Arc};

use api::{ApiOptions, ApiState};
use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request},
};
use http_body_util::BodyExt as _;
use query::{Engine, EngineOptions};
use serde_json::{Value, json};
use store::{Store, StoreOptions};
pub use testkit::grafana::{levels, list, number, texts};
use testkit::{ForgetfulDisk, proto};
use tower::ServiceExt as _;

pub const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

/// Start of all generated data, ms.
pub const START: i64 = 1_750_000_000_000;

/// Before and after all generated data, ms.
pub const ALL: (i64, i64) = (1, 4_000_000_000_000);

pub struct Server {
    router: Router,
    store: Arc<Store>,
    runtime: tokio::runtime::Runtime,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }
}

impl Server {
    pub fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let options = StoreOptions::by_hand("unused");
        let _entered = runtime.enter();
        let store = runtime.block_on(Store::open_on(Arc::new(ForgetfulDisk::new()), options)).unwrap();
        let engine = Arc::new(Engine::new(Arc::clone(&store), EngineOptions::default()));
        let router = api::router(ApiState::new(Arc::clone(&store), engine, ApiOptions::default()));
        drop(_entered);
        Self { router, store, runtime }
    }

    pub fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_vec())).unwrap();
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = body.collect().await.unwrap();
            let trailers = body.trailers().cloned().unwrap_or_default();
            let mut headers = parts.headers;
            headers.extend(trailers);
            Reply { status: parts.status.as_u16(), headers, body: body.to_bytes().to_vec() }
        })
    }

    /// A call of the querier in JSON.
    pub fn json(&self, method: &str, message: &Value) -> Reply {
        let path = format!("/querier.v1.QuerierService/{method}");
        self.call("POST", &path, &[("content-type", "application/json")], message.to_string().as_bytes())
    }

    /// A call of the querier in JSON, over all time where it says nothing else, its answer and no error.
    #[track_caller]
    pub fn ask(&self, method: &str, mut message: Value) -> Value {
        for (field, value) in [("start", ALL.0), ("end", ALL.1)] {
            if message.get(field).is_none() {
                message[field] = json!(value);
            }
        }
        let reply = self.json(method, &message);
        assert_eq!(reply.status, 200, "{method} {message}: {}", String::from_utf8_lossy(&reply.body));
        reply.json()
    }

    pub fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &[], b"")
    }

    /// Pushes a profile as SDKs do.
    #[track_caller]
    pub fn push(&self, labels: &[(&str, &str)], body: &[u8]) {
        use rpc::{push::v1 as push, types::v1 as types};
        let mut pairs = vec![("__name__", "process_cpu")];
        pairs.extend(labels.iter().filter(|(name, _)| *name != "__name__"));
        let labels = pairs
            .iter()
            .map(|(name, value)| types::LabelPair { name: (*name).into(), value: (*value).into() });
        let sample = push::RawSample { raw_profile: body.to_vec().into(), ..Default::default() };
        let series =
            push::RawProfileSeries { labels: labels.collect(), samples: vec![sample], ..Default::default() };
        let message = buffa::Message::encode_to_vec(&push::PushRequest { series: vec![series] });
        let headers = [("content-type", "application/proto")];
        self.call("POST", "/push.v1.PusherService/Push", &headers, &message).ok();
    }

    /// Turns what is in memory into blocks.
    pub fn flush(&self) {
        self.runtime.block_on(self.store.flush()).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.store.close());
    }
}

/// A sample of a test: `root;…;leaf`, CPU nanoseconds, labels.
pub type TestSample<'a> = (&'a str, i64, Vec<(&'a str, String)>);

/// A CPU profile as Go writes it: counts and nanoseconds.
pub fn body(time_millis: i64, samples: &[TestSample<'_>]) -> Vec<u8> {
    let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
    let mut numbers: BTreeMap<String, i64> = BTreeMap::new();
    let mut string = |text: &str| {
        *numbers.entry(text.to_owned()).or_insert_with(|| {
            strings.push(text.as_bytes().to_vec());
            i64::try_from(strings.len() - 1).unwrap()
        })
    };
    let mut profile = proto::Profile::default();
    let kind = |kind: &str, unit: &str, string: &mut dyn FnMut(&str) -> i64| proto::ValueType {
        r#type: string(kind),
        unit: string(unit),
    };
    profile.sample_type =
        vec![kind("samples", "count", &mut string), kind("cpu", "nanoseconds", &mut string)];
    profile.period_type = Some(kind("cpu", "nanoseconds", &mut string));
    profile.period = 10_000_000;
    profile.time_nanos = time_millis * 1_000_000;
    profile.duration_nanos = 1_000_000_000;
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, value, labels) in samples {
        let mut ids = Vec::new();
        for name in stack.split(';').filter(|name| !name.is_empty()) {
            let next = u64::try_from(known.len() + 1).unwrap();
            let id = *known.entry(name.to_owned()).or_insert(next);
            if id == next {
                let number = string(name);
                profile.function.push(proto::Function { id, name: number, ..Default::default() });
                let line = vec![proto::Line { function_id: id, line: 7, ..Default::default() }];
                profile.location.push(proto::Location { id, line, ..Default::default() });
            }
            ids.push(id);
        }
        ids.reverse();
        let label = labels.iter().map(|(key, text)| proto::Label {
            key: string(key),
            str: string(text),
            ..Default::default()
        });
        profile.sample.push(proto::Sample {
            location_id: ids,
            value: vec![1, *value],
            label: label.collect(),
        });
    }
    profile.string_table = strings;
    proto::Message::encode_to_vec(&profile)
}
