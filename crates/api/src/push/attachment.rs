//! Uploads that are kept whole and not understood, such as Go execution traces (D4).

use std::sync::Arc;

use bytes::Bytes;
use profile::{Altered, LabelSet, ProfileId, Tenant, Timestamp};
use store::{Accepted, NewAttachment, Outcome};

use super::{Api, ClientTime, series_labels, start_of};
use crate::{ApiError, ApiState, ErrorKind, explain, state::run_blocking};

/// An upload as an API received it.
#[derive(Clone, Debug)]
pub struct AttachmentRequest {
    /// Whose it is.
    pub tenant: Tenant,
    /// Which way it came.
    pub api: Api,
    /// Labels as sent.
    pub labels: Vec<(String, String)>,
    /// What it is: `trace`.
    pub kind: &'static str,
    /// The bytes.
    pub body: Bytes,
    /// A time named beside the body.
    pub client_time: Option<ClientTime>,
}

/// What became of an upload that is on disk.
#[derive(Clone, Debug)]
pub struct AttachmentReply {
    /// Its id.
    pub id: ProfileId,
    /// Stored or known already.
    pub outcome: Outcome,
    /// What was changed.
    pub altered: Altered,
    /// Labels as stored.
    pub labels: LabelSet,
    /// When it was taken.
    pub time: Timestamp,
}

/// Keeps an upload and waits until it is on disk.
///
/// # Errors
/// What is wrong with it, or why it cannot be kept now.
pub async fn push_attachment(
    state: &Arc<ApiState>,
    request: AttachmentRequest,
) -> Result<AttachmentReply, ApiError> {
    let (api, length) = (request.api.word(), request.body.len());
    let (tenant, service) = (request.tenant.clone(), explain::service_in(&request.labels).to_owned());
    let body = explain::may_keep(&request.body).then(|| request.body.clone());
    let subject = explain::Subject { tenant: &tenant, api, service: &service, body: body.as_ref() };
    let result = keep(state, request).await;
    match &result {
        Ok(reply) => {
            state.metrics.pushed(api, reply.outcome, &reply.altered, length);
            state.explain.accepted(&subject, reply.outcome, &reply.altered, reply.time);
        }
        Err(error) => {
            state.metrics.push_refused(api, error.kind);
            state.explain.refused(&subject, error.kind, &error.text());
        }
    }
    result
}

async fn keep(state: &Arc<ApiState>, request: AttachmentRequest) -> Result<AttachmentReply, ApiError> {
    if request.body.is_empty() {
        return Err(ApiError::new(ErrorKind::Malformed, "body", "is empty"));
    }
    let mut altered = Altered::default();
    let labels = series_labels(request.labels, &mut altered)?.labels;
    let start = start_of(0, request.client_time, Timestamp::now(), &mut altered)?;
    let slot = state.push_slot().await?;
    let store = Arc::clone(&state.store);
    let (tenant, kind, body, kept) = (request.tenant, request.kind, request.body, labels.clone());
    let Accepted { id, outcome, ticket } = run_blocking(move || {
        let _slot = slot;
        let new = NewAttachment { tenant: &tenant, labels: kept, kind, time: start.time, body: &body };
        Ok(store.push_attachment(&new)?)
    })
    .await?;
    state.store.durable(ticket).await.map_err(|error| {
        tracing::error!(%error, "an upload is not durable");
        ApiError::not_durable(&error)
    })?;
    Ok(AttachmentReply { id, outcome, altered, labels, time: start.time })
}
