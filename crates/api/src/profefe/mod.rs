//! profefe's HTTP API: `/api/0/profiles`, `/merge`, downloads by id, `/services`, `/version`.
//!
//! Envelope, statuses and parameters are profefe's (no results: 204; unknown type on merge: 405), with these
//! differences: JSON says that it is JSON, an empty id is the client's error (400), a body over the limit is 413, and
//! downloads are equal in content, not in bytes (D4). Ids are ours, UUIDs that need no escaping; escaped ones are taken
//! too. Values are summed, as profefe does (D7).
//!
//! Not here: profefe's words for kinds of profiles ([`crate::profile_words`]).

mod download;
mod list;
mod parameters;
mod write;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use http::{StatusCode, header};
use serde::Serialize;
use serde_json::json;

use crate::{ApiError, ApiState, ErrorKind, QueryCost, native::parameters::Parameters};

/// The routes.
pub(crate) fn router(state: &Arc<ApiState>) -> Router {
    Router::new()
        .route("/api/0/profiles", post(write::write).get(list::list))
        .route("/api/0/profiles/", any(no_id))
        .route("/api/0/profiles/merge", any(download::merge))
        .route("/api/0/profiles/{*ids}", get(download::by_id))
        .route("/api/0/services", get(services))
        .route("/api/0/version", get(version))
        .with_state(Arc::clone(state))
}

/// An error in profefe's envelope.
#[derive(Debug)]
pub(crate) struct ProfefeError(ApiError);

impl From<ApiError> for ProfefeError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for ProfefeError {
    fn into_response(self) -> Response {
        let mut error = self.0;
        // profefe knows 400 for everything that is wrong with a request or a body, and says so in front.
        if matches!(
            error.kind,
            ErrorKind::Invalid | ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Refused
        ) {
            error = ApiError::new(ErrorKind::Invalid, "", format!("bad request: {}", error.text()));
        }
        error.into_profefe_response()
    }
}

type ProfefeResult = Result<Response, ProfefeError>;

/// A wrong request whose text profefe's clients know.
fn bad_request(text: impl Into<String>) -> ProfefeError {
    ProfefeError(ApiError::invalid("", text))
}

/// `{"code": 200, "body": …}`
fn envelope(body: impl Serialize) -> ProfefeResult {
    let text = serde_json::to_string(&json!({ "code": 200, "body": body }))
        .map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text + "\n").into_response())
}

/// 204: the question was right and there is nothing.
fn no_results() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

async fn no_id() -> ProfefeError {
    bad_request("the profile id is empty")
}

/// `GET /api/0/services`: names of all services that were ever pushed and are still kept.
async fn services(State(state): State<Arc<ApiState>>, request: axum::extract::Request) -> ProfefeResult {
    let parameters = Parameters::read(&request.into_parts().0)?;
    let selection = parameters::everything(&state, &parameters)?;
    let store = Arc::clone(&state.store);
    let names = state
        .query("profefe_services", QueryCost::Metadata, None, move |engine, control| {
            let services = engine.services(&selection, control)?.data;
            let mut names: Vec<String> = services.into_iter().map(|service| service.name).collect();
            for tenant in &selection.tenants {
                let attachments = store.attachments(tenant, selection.range)?;
                names
                    .extend(attachments.iter().map(|attachment| attachment.labels.service_name().to_owned()));
            }
            names.sort();
            names.dedup();
            Ok(names)
        })
        .await?;
    envelope(names)
}

/// `GET /api/0/version`
async fn version(State(state): State<Arc<ApiState>>) -> ProfefeResult {
    let build = &state.options.build;
    // The last member is for clients that want all four; no Go is in here.
    envelope(json!({
        "version": build.version,
        "commit": build.commit,
        "build_time": build.time,
        "go_version": "",
    }))
}
