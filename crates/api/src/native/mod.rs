//! The native API, `/api/v1` (D23; described in `docs/api.md` and `docs/openapi.json`).
//!
//! A handler reads its parameters into a [`query::Selection`], runs one call of the engine on the blocking pool and
//! writes one type of `wire`. Parameters that an operation does not know are refused; every answer says what it used.
//!
//! Not here: what a query computes (`query`), how a push is kept ([`crate::push`]).

mod answer;
mod convert;
mod explain;
mod graph;
mod listing;
pub(crate) mod parameters;
pub(crate) mod profiles;
mod push;
mod rules;
pub(crate) mod selection;
pub(crate) mod time;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{HeaderValue, header};
use serde::Serialize;

use crate::{ApiError, ApiState};

/// The routes.
pub(crate) fn router(state: &Arc<ApiState>) -> Router {
    Router::new()
        .route("/api/v1/push", post(push::push))
        .route("/api/v1/services", get(listing::services))
        .route("/api/v1/labels", get(listing::label_names))
        .route("/api/v1/labels/{name}", get(listing::label_values))
        .route("/api/v1/cardinality", get(listing::cardinality))
        .route("/api/v1/series", get(listing::series))
        .route("/api/v1/profiles", get(profiles::list))
        .route("/api/v1/profiles/{id}", get(profiles::one))
        .route("/api/v1/pprof", get(profiles::merged))
        .route("/api/v1/ingest/explain", get(explain::explain))
        .route("/api/v1/ingest/explain/bodies/{id}", get(explain::body))
        .route("/api/v1/flame", get(graph::flame))
        .route("/api/v1/top", get(graph::top))
        .route("/api/v1/callers", get(graph::callers))
        .route("/api/v1/timeline", get(graph::timeline))
        .route("/api/v1/diff", get(graph::diff))
        .route("/api/v1/rules/metrics", get(rules::metrics))
        .with_state(Arc::clone(state))
}

/// An error in the native shape.
#[derive(Debug)]
pub(crate) struct NativeError(ApiError);

impl From<ApiError> for NativeError {
    /// The query engine names fields as Pyroscope's messages do; here they have the names of our own parameters.
    fn from(mut error: ApiError) -> Self {
        let of_this_api = match error.field.as_str() {
            "group_by" => Some("by"),
            "profile_type" => Some("type"),
            _ => None,
        };
        if let Some(name) = of_this_api {
            error.field = name.to_owned();
        }
        Self(error)
    }
}

impl IntoResponse for NativeError {
    fn into_response(self) -> Response {
        self.0.into_native_response()
    }
}

type NativeResult = Result<Response, NativeError>;

/// Writes JSON; done where the query ran, because large graphs take a while.
fn json<T: Serialize>(reply: &T) -> Result<Bytes, ApiError> {
    serde_json::to_vec(reply).map(Bytes::from).map_err(|error| ApiError::internal(error.to_string()))
}

/// An answer of [`json`].
fn json_response(body: Bytes) -> Response {
    let mut response = body.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
