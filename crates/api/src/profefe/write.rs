//! `POST /api/0/profiles`: keeps the body.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
};
use http::request::Parts;
use http_body_util::BodyExt as _;
use profile::{Altered, AlteredReason, SERVICE_NAME};
use store::Outcome;

use super::{
    ProfefeError, ProfefeResult, bad_request, envelope,
    list::ProfileObject,
    parameters::{self, Kind},
};
use crate::{
    ApiError, ApiState, ErrorKind, access,
    native::parameters::{Parameters, cut},
    profile_words::TRACE,
    push::{
        ALTERED_HEADER, Api, AttachmentRequest, ClientTime, NameRule, PushRequest, altered_header,
        check_content_encoding, push_attachment, push_profile,
    },
};

/// Keeps one profile or trace; the answer comes when it is on disk.
pub(super) async fn write(State(state): State<Arc<ApiState>>, request: Request) -> ProfefeResult {
    let (parts, body) = request.into_parts();
    check_content_encoding(&parts.headers)?;
    let wanted = Wanted::read(&state, &parts)?;
    let body = read(body).await?;
    match wanted.kind {
        Kind::Trace => keep_trace(&state, wanted, body).await,
        Kind::Profile(word) => keep_profile(&state, wanted, word.name, body).await,
    }
}

/// What the query string says.
struct Wanted {
    tenant: profile::Tenant,
    kind: Kind,
    labels: Vec<(String, String)>,
    client_time: Option<ClientTime>,
    altered: Altered,
}

impl Wanted {
    fn read(state: &ApiState, parts: &Parts) -> Result<Self, ProfefeError> {
        let parameters = Parameters::read(parts)?;
        let service = parameters::service(&parameters)?;
        let Some(kind) = parameters::kind(&parameters) else {
            let word = cut(parameters.first("type").unwrap_or(""));
            return Err(bad_request(format!("unknown profile type {word:?}")));
        };
        let mut altered = Altered::default();
        let mut labels = parameters::labels(&parameters)?;
        // The service has a parameter of its own here, so it wins over a label of its name (D6).
        let given = labels.len();
        labels.retain(|(key, value)| key != SERVICE_NAME || value == service);
        altered.add(AlteredReason::LabelConflict, u64::try_from(given - labels.len()).unwrap_or(u64::MAX));
        labels.push((SERVICE_NAME.to_owned(), service.to_owned()));
        let client_time = match parameters.first("created_at") {
            None | Some("") => None,
            Some(text) => {
                Some(ClientTime { field: "created_at", time: parameters::time("created_at", text)? })
            }
        };
        let tenant = access::write_tenant(&parameters.headers, state.options.tenancy)?;
        Ok(Self { tenant, kind, labels, client_time, altered })
    }
}

async fn read(body: Body) -> Result<Bytes, ApiError> {
    let collected = body.collect().await;
    let body = collected.map_err(|error| ApiError::new(ErrorKind::Malformed, "body", error.to_string()))?;
    Ok(body.to_bytes())
}

async fn keep_profile(state: &Arc<ApiState>, wanted: Wanted, name: &str, body: Bytes) -> ProfefeResult {
    let request = PushRequest {
        name: NameRule::Given(name.to_owned()),
        client_time: wanted.client_time,
        altered: wanted.altered,
        ..PushRequest::pprof(wanted.tenant, Api::Profefe, wanted.labels, body)
    };
    let reply = push_profile(state, request).await?;
    if reply.outcome == Outcome::Empty {
        return Err(bad_request("malformed profile: it has no samples"));
    }
    let mut response = envelope(ProfileObject::new(&reply.id, &reply.name, &reply.labels, reply.time))?;
    if let Some(value) = altered_header(&reply.altered) {
        response.headers_mut().insert(ALTERED_HEADER, value);
    }
    Ok(response)
}

async fn keep_trace(state: &Arc<ApiState>, wanted: Wanted, body: Bytes) -> ProfefeResult {
    let request = AttachmentRequest {
        tenant: wanted.tenant,
        api: Api::Profefe,
        labels: wanted.labels,
        kind: TRACE,
        body,
        client_time: wanted.client_time,
    };
    let reply = push_attachment(state, request).await?;
    envelope(ProfileObject::trace(&reply.id, &reply.labels, reply.time))
}
