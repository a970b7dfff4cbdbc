//! The way in for fuzzers: a multipart body as `/ingest` reads it, in pieces as a socket may give it; a flame graph's JSON
//! as it is uploaded to look at; and whole requests to every API, the bodies of Connect and gRPC-Web among them.
//!
//! Called by `tests/fuzz.rs`, `tests/fuzz_requests.rs` and `fuzz/` alone. Not here: what is inside of the parts
//! (`formats`).

use std::{io, sync::Arc};

use axum::{Router, body::Body};
use bytes::Bytes;
use futures::{FutureExt as _, stream};
use http::Request;
use http_body_util::BodyExt as _;
use query::{Engine, EngineOptions};
use store::{Store, StoreOptions, disk::Disk};
use tower::ServiceExt as _;

use crate::{
    ApiError, ApiOptions, ApiState,
    pyroscope::{flame_json_to_pprof, multipart},
};

/// All APIs over a disk, for requests that a fuzzer makes.
pub struct FuzzServer {
    runtime: tokio::runtime::Runtime,
    router: Router,
}

/// Where requests go: method, path, media type of the body.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("POST", "/push.v1.PusherService/Push", "application/json"),
    ("POST", "/push.v1.PusherService/Push", "application/proto"),
    ("POST", "/push.v1.PusherService/Push", "application/grpc-web+proto"),
    ("POST", "/push.v1.PusherService/Push", "application/grpc-web-text+proto"),
    ("POST", "/querier.v1.QuerierService/ProfileTypes", "application/json"),
    ("POST", "/querier.v1.QuerierService/LabelNames", "application/proto"),
    ("POST", "/querier.v1.QuerierService/LabelValues", "application/json"),
    ("POST", "/querier.v1.QuerierService/Series", "application/json"),
    ("POST", "/querier.v1.QuerierService/SelectMergeStacktraces", "application/json"),
    ("POST", "/querier.v1.QuerierService/SelectMergeStacktraces", "application/proto"),
    ("POST", "/querier.v1.QuerierService/SelectMergeStacktraces", "application/connect+proto"),
    ("POST", "/querier.v1.QuerierService/SelectMergeProfile", "application/json"),
    ("POST", "/querier.v1.QuerierService/SelectSeries", "application/json"),
    ("POST", "/querier.v1.QuerierService/SelectHeatmap", "application/json"),
    ("POST", "/querier.v1.QuerierService/SelectMergeSpanProfile", "application/json"),
    ("POST", "/querier.v1.QuerierService/Diff", "application/json"),
    ("POST", "/querier.v1.QuerierService/AnalyzeQuery", "application/json"),
    ("POST", "/querier.v1.QuerierService/GetProfileStats", "application/grpc-web+proto"),
    ("POST", "/settings.v1.SettingsService/Set", "application/json"),
    ("POST", "/adhocprofiles.v1.AdHocProfileService/Upload", "application/json"),
    ("POST", "/settings.v1.RecordingRulesService/UpsertRecordingRule", "application/json"),
    ("POST", "/ingest", "application/octet-stream"),
    ("POST", "/ingest", "multipart/form-data; boundary=B7x"),
    ("POST", "/api/v1/push", "application/octet-stream"),
    ("POST", "/api/0/profiles", "application/octet-stream"),
    ("GET", "/api/0/profiles", ""),
    ("GET", "/api/0/profiles/merge", ""),
    ("GET", "/pyroscope/render", ""),
    ("GET", "/pyroscope/render-diff", ""),
    ("GET", "/pyroscope/label-values", ""),
    ("GET", "/api/v1/flame", ""),
    ("GET", "/api/v1/top", ""),
    ("GET", "/api/v1/callers", ""),
    ("GET", "/api/v1/timeline", ""),
    ("GET", "/api/v1/diff", ""),
    ("GET", "/api/v1/profiles", ""),
    ("GET", "/api/v1/pprof", ""),
    ("GET", "/pprof/a/debug/pprof/profile", ""),
];

impl FuzzServer {
    /// How many ways there are: the first byte of an input, modulo this, is the way.
    pub const WAYS: usize = REQUESTS.len();

    /// Over an empty disk.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn start(disk: Arc<dyn Disk>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let options = StoreOptions { free_bytes_min: 1, ..StoreOptions::by_hand("unused") };
        let store = runtime.block_on(Store::open_on(disk, options)).map_err(io::Error::other)?;
        let engine = Arc::new(Engine::new(Arc::clone(&store), EngineOptions::default()));
        let router = crate::router(ApiState::new(store, engine, ApiOptions::default()));
        Ok(Self { runtime, router })
    }

    /// The way, path and media type, that an input goes.
    #[must_use]
    pub fn way(number: usize) -> (&'static str, &'static str) {
        let (_, path, media_type) = REQUESTS[number % REQUESTS.len()];
        (path, media_type)
    }

    /// Sends one request and reads the whole answer: a byte for the way, then the query string up to the end of the line,
    /// then the body. Returns the status; `None` where this is no request.
    pub fn ask(&self, input: &[u8]) -> Option<u16> {
        let (&way, rest) = input.split_first()?;
        let (method, path, media_type) = REQUESTS[usize::from(way) % REQUESTS.len()];
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let (question, body) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
        let question = std::str::from_utf8(question).ok()?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}?{question}"))
            .header("content-type", media_type)
            .body(Body::from(body.to_vec()))
            .ok()?;
        self.runtime.block_on(async {
            let response = match self.router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            let status = response.status().as_u16();
            // A body that breaks off is no answer.
            response.into_body().collect().await.ok().map(|_| status)
        })
    }
}

/// A flame graph's JSON as it is uploaded: what can be read is a profile that decodes.
///
/// # Errors
/// As a client would be told.
pub fn fuzz_flame_json(text: &[u8]) -> Result<Vec<u8>, ApiError> {
    flame_json_to_pprof(text)
}

/// What a multipart body gave.
#[derive(Debug, PartialEq, Eq)]
pub struct FuzzedParts {
    /// The part `profile`.
    pub profile: Option<Bytes>,
    /// How many sample types got a display name.
    pub display_names: usize,
}

/// Reads the parts of `body`, which comes in pieces of `piece_bytes`.
///
/// # Errors
/// As a client would be told.
pub fn fuzz_multipart(content_type: &str, body: &[u8], piece_bytes: usize) -> Result<FuzzedParts, ApiError> {
    let pieces: Vec<Result<Bytes, io::Error>> =
        body.chunks(piece_bytes.max(1)).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let body = Body::from_stream(stream::iter(pieces));
    // nothing is waited for: all pieces are there
    let read = multipart::read(content_type, body).now_or_never();
    let parts = read.unwrap_or_else(|| Err(ApiError::internal("a body that is all there was waited for")))?;
    Ok(FuzzedParts {
        profile: parts.profile,
        display_names: parts.display_names.map_or(0, |names| names.len()),
    })
}
