//! Pyroscope's wire: Push, `/ingest`, the querier's calls and `/pyroscope/render`.
//!
//! The RPC services are served by Connect (JSON and proto), gRPC and gRPC-Web on the same paths. Which older quirks are
//! kept and which are mended is said in each file.

mod app_name;
mod attime;
mod flamebearer;
mod ingest;
mod multipart;
mod pusher;
mod querier;
#[cfg(test)]
mod recorded;
mod render;
mod select;
mod statuses;
mod text_types;

use std::sync::Arc;

use axum::routing::{get, post};
use connectrpc::{ConnectRpcService, Limits};
use rpc::{push::v1::PusherServiceExt, querier::v1::QuerierServiceExt};

use crate::{ApiState, limits};

pub(crate) fn router(state: &Arc<ApiState>) -> axum::Router {
    let services = connectrpc::Router::new();
    let services = Arc::new(pusher::Pusher { state: Arc::clone(state) }).register(services);
    let services = Arc::new(querier::Querier { state: Arc::clone(state) }).register(services);
    let services = ConnectRpcService::new(services).with_limits(
        Limits::default()
            .with_max_request_body_size(limits::BODY_BYTES_MAX)
            .with_max_message_size(limits::BODY_BYTES_MAX),
    );
    let services = axum::Router::new()
        .route_service("/push.v1.PusherService/{method}", services.clone())
        .route_service("/querier.v1.QuerierService/{method}", services)
        .layer(axum::middleware::from_fn(statuses::with_statuses));
    axum::Router::new()
        .route("/ingest", post(ingest::ingest).options(ingest::options))
        .route("/pyroscope/ingest", post(ingest::ingest).options(ingest::options))
        .route("/pyroscope/render", get(render::render))
        .with_state(Arc::clone(state))
        .merge(services)
}
