//! Every protocol that the server speaks, on one router.
//!
//! [`router`] puts them together over one [`ApiState`]. Each API has a folder: `pyroscope` (Push, `/ingest`, querier,
//! render), `native` (`/api/v1`), `profefe`, `pprof` (URLs for `go tool pprof`). They share the way of a push
//! ([`push`]), tenants ([`access`]), errors ([`ApiError`]), limits ([`limits`]) and memory ([`Budget`]).
//!
//! Not here: sockets, configuration, tokens and time-outs of connections (`server`), storage (`store`), what a query
//! computes (`query`).

pub mod access;
mod body;
mod error;
pub mod explain;
pub mod flame_format;
pub mod fuzz;
pub mod limits;
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

pub use access::Tenancy;
pub use error::{ApiError, ErrorKind};
pub use memory::{Budget, Claim};
pub use metrics::ApiMetrics;
pub use ops::NoSuchPath;
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
    let watched = axum::middleware::from_fn_with_state(Arc::clone(&state), explain::watch);
    body::with_limits(ops::with_fallbacks(router), state).layer(watched)
}
