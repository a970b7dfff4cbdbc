//! What answers before the store is open: probes are told that the server starts, everybody else to come again.
//!
//! The listener asks the door from its first connection on. [`Door::open`] puts the router behind it, once and for good;
//! connections that are open already get it with their next request.

use std::sync::{Arc, OnceLock};

use api::{ApiError, ErrorShape};
use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use tower::ServiceExt;

use crate::limits::START_RETRY_SECONDS;

/// Why nothing else is answered yet.
const REASON: &str = "the server is starting: it replays its log";

/// Shut until the store is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Door {
    behind: Arc<OnceLock<Router>>,
}

impl Door {
    /// Lets all requests in, to this router.
    pub(crate) fn open(&self, router: Router) {
        let is_first = self.behind.set(router).is_ok();
        debug_assert!(is_first, "a door opens once");
    }

    /// Asks the router behind the door, where there is one.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let Some(router) = self.behind.get() else { return starting(&request) };
        match router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

fn starting(request: &Request) -> Response {
    match request.uri().path() {
        "/healthz" => "ok\n".into_response(),
        "/ready" | "/readyz" => {
            let mut response = (StatusCode::SERVICE_UNAVAILABLE, format!("{REASON}\n")).into_response();
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(START_RETRY_SECONDS));
            response
        }
        _ => ErrorShape::of(request).render(ApiError::unavailable(REASON, START_RETRY_SECONDS)),
    }
}
