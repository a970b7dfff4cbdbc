//! One log event per request, at `debug`; answers that are our own fault at `warn`.

use std::time::Instant;

use axum::{extract::Request, response::Response};

use crate::{ClientAddress, auth::OPEN_PATHS};

/// Notes method, path, status and time. Query strings stay out: they may hold what a log must not keep.
pub(crate) async fn note<F: Future<Output = Response>>(
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let client = request.extensions().get::<ClientAddress>().map(|address| address.0.to_string());
    let response = answer(request).await;
    let status = response.status().as_u16();
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    // A probe asks whether something is wrong; a server that is not ready has said so elsewhere.
    let is_probe = OPEN_PATHS.contains(&path.as_str());
    if response.status().is_server_error() && !is_probe {
        tracing::warn!(%method, path, status, time_ms = millis, client, "request failed");
    } else {
        tracing::debug!(%method, path, status, time_ms = millis, client, "request");
    }
    response
}
