//! What the tests of this folder share: all APIs on one router over a store in memory, called without a socket.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::sync::Arc;

use api::{ApiOptions, ApiState};
use axum::{Router, body::Body};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use query::{Engine, EngineOptions};
use serde_json::Value;
use store::{Store, StoreOptions};
use testkit::ForgetfulDisk;
use tower::ServiceExt as _;

/// All APIs over a store in memory.
pub struct Server {
    pub disk: ForgetfulDisk,
    pub store: Arc<Store>,
    pub state: Arc<ApiState>,
    router: Router,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Server {
    /// On an empty disk, without tenants.
    pub async fn start() -> Self {
        Self::start_on(ForgetfulDisk::new(), ApiOptions::default()).await
    }

    /// On a disk.
    pub async fn start_on(disk: ForgetfulDisk, options: ApiOptions) -> Self {
        // A full disk refuses writes here: tests fill it.
        let store_options = StoreOptions { free_bytes_min: 1, ..StoreOptions::by_hand("unused") };
        let store = Store::open_on(Arc::new(disk.until_crash()), store_options).await.unwrap();
        let engine = Arc::new(Engine::new(Arc::clone(&store), EngineOptions::default()));
        let state = ApiState::new(Arc::clone(&store), engine, options);
        let router = api::router(Arc::clone(&state));
        Self { disk, store, state, router }
    }

    /// Any call.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: parts.status, headers: parts.headers, body }
    }

    /// `GET`
    pub async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &[], Body::empty()).await
    }

    /// A Connect call in JSON, with headers.
    pub async fn rpc_with(&self, path: &str, headers: &[(&str, &str)], message: Value) -> Reply {
        let headers: Vec<_> = [("content-type", "application/json")].iter().chain(headers).copied().collect();
        self.call("POST", path, &headers, message.to_string()).await
    }

    /// A Connect call in JSON.
    pub async fn rpc(&self, path: &str, message: Value) -> Reply {
        self.rpc_with(path, &[], message).await
    }

    /// Pushes one CPU profile of a service.
    pub async fn push(&self, service: &str, labels: &[(&str, &str)], pprof: &[u8]) {
        use base64::Engine as _;
        let mut pairs = vec![("__name__", "process_cpu"), ("service_name", service)];
        pairs.extend_from_slice(labels);
        let pairs: Vec<Value> =
            pairs.iter().map(|(name, value)| serde_json::json!({ "name": name, "value": value })).collect();
        let raw = base64::engine::general_purpose::STANDARD.encode(pprof);
        let message =
            serde_json::json!({ "series": [{ "labels": pairs, "samples": [{ "rawProfile": raw }] }] });
        self.rpc("/push.v1.PusherService/Push", message).await.expect(200);
    }
}

impl Reply {
    /// This reply, if it has the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
