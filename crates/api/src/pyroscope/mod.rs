//! Pyroscope's wire: Push, `/ingest`, the querier's calls, `/pyroscope/render` and its sisters, and the services
//! beside them: settings, recording rules, ad hoc profiles, version, feature flags, a tenant's stats.
//!
//! The RPC services are served by Connect (JSON and proto), gRPC and gRPC-Web on the same paths. Which older quirks are
//! kept and which are mended is said in each file.

mod adhoc;
mod app_name;
mod attime;
mod capabilities;
mod document;
mod flamebearer;
mod ingest;
mod json_messages;
mod label_lists;
pub(crate) mod multipart;
mod pusher;
mod querier;
#[cfg(test)]
mod recorded;
mod recording;
mod render;
mod select;
mod settings;
mod statuses;
mod tenant;
mod text_types;

pub(crate) use adhoc::flame_json_to_pprof;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
use connectrpc::{ConnectRpcService, Limits};
use rpc::{
    adhocprofiles::v1::AdHocProfileServiceExt,
    capabilities::v1::FeatureFlagsServiceExt,
    metastore::v1::TenantServiceExt,
    push::v1::PusherServiceExt,
    querier::v1::QuerierServiceExt,
    settings::v1::{RecordingRulesServiceExt, SettingsServiceExt},
    version::v1::VersionExt,
};

use crate::{ApiState, limits, media};

pub(crate) fn router(state: &Arc<ApiState>) -> axum::Router {
    let services = connectrpc::Router::new();
    let services = Arc::new(pusher::Pusher { state: Arc::clone(state) }).register(services);
    let services = Arc::new(querier::Querier { state: Arc::clone(state) }).register(services);
    let services = Arc::new(settings::Settings { state: Arc::clone(state) }).register(services);
    let services = Arc::new(adhoc::AdHoc::new(state)).register(services);
    let services = Arc::new(tenant::TenantStatistics { state: Arc::clone(state) }).register(services);
    let services = VersionExt::register(Arc::new(capabilities::Capabilities), services);
    let services = FeatureFlagsServiceExt::register(Arc::new(capabilities::Capabilities), services);
    let services = Arc::new(recording::RecordingRules { state: Arc::clone(state) }).register(services);
    let services = ConnectRpcService::new(services).with_limits(
        Limits::default()
            .with_max_request_body_size(limits::BODY_BYTES_MAX)
            .with_max_message_size(limits::BODY_BYTES_MAX),
    );
    let services = axum::Router::new()
        .route_service("/push.v1.PusherService/{method}", services.clone())
        .route_service("/querier.v1.QuerierService/{method}", services.clone())
        .route_service("/settings.v1.SettingsService/{method}", services.clone())
        .route_service("/settings.v1.RecordingRulesService/{method}", services.clone())
        .route_service("/adhocprofiles.v1.AdHocProfileService/{method}", services.clone())
        .route_service("/metastore.v1.TenantService/{method}", services.clone())
        .route_service("/version.v1.Version/{method}", services.clone())
        .route_service("/capabilities.v1.FeatureFlagsService/{method}", services)
        .layer(middleware::from_fn_with_state(Arc::clone(state), around_services));
    axum::Router::new()
        .route("/ingest", post(ingest::ingest).options(ingest::options))
        .route("/pyroscope/ingest", post(ingest::ingest).options(ingest::options))
        .route("/pyroscope/render", get(render::render))
        .route("/pyroscope/render-diff", get(render::render_diff))
        .route("/pyroscope/labels", get(label_lists::labels))
        .route("/pyroscope/label-values", get(label_lists::label_values))
        .with_state(Arc::clone(state))
        .merge(services)
}

/// What is around the routes of the RPC services.
async fn around_services(State(state): State<Arc<ApiState>>, mut request: Request, next: Next) -> Response {
    media::spell_plainly(request.headers_mut());
    let bounded = |request| json_messages::bounded(&state, request, |request| next.run(request));
    statuses::with_statuses(request, bounded).await
}
