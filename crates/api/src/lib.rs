//! Every protocol that the server speaks, on one router.
//!
//! [`router`] puts them together over one [`ApiState`]. Each API has a folder: `pyroscope` (Push, `/ingest`, querier,
//! render), `native` (`/api/v1`), `profefe`, `pprof` (URLs for `go tool pprof`). They share the way of a push
//! ([`push`]), tenants ([`access`]), errors ([`ApiError`]), limits ([`limits`]) and memory ([`Budget`]).
//!
//! Not here: sockets, configuration, tokens and time-outs of connections (`server`), storage (`store`), what a query
//! computes (`query`).

pub mod access;
mod answers;
mod body;
mod error;
pub mod explain;
pub mod flame_format;
pub mod fuzz;
pub mod limits;
mod media;
mod memory;
mod metrics;
mod native;
mod ops;
mod pprof;
mod profefe;
mod profile_words;
pub mod push;
mod pyroscope;
mod shape;
mod state;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};

pub use access::Tenancy;
pub use body::BodyStalled;
pub use error::{ApiError, ErrorKind};
pub use memory::{Budget, Claim};
pub use metrics::ApiMetrics;
pub use ops::{NoSuchPath, refuse_wrong_methods};
pub use shape::ErrorShape;
pub use state::{ApiOptions, ApiState, BuildInfo, QueryCost};

/// All APIs on one router. Tokens and connection time-outs are layers that `server` puts around it.
pub fn router(state: Arc<ApiState>) -> axum::Router {
    let router = axum::Router::new()
        .merge(native::router(&state))
        .merge(profefe::router(&state))
        .merge(pprof::router(&state))
        .merge(pyroscope::router(&state))
        .merge(ops::router(&state));
    ops::with_fallbacks(router).layer(middleware::from_fn_with_state(state, around))
}

/// What is around every route. One layer, not one each: a layer copies all layers within it for each request.
async fn around(State(state): State<Arc<ApiState>>, request: Request, next: Next) -> Response {
    let shape = ErrorShape::of(&request);
    let limited = |request| body::limited(&state, &shape, request, |request| next.run(request));
    let response = explain::watch(&state, request, limited).await;
    answers::held(&state.answers, shape, response).await
}
