//! `GET /api/v1/ingest/explain`: why a service is missing.

use std::sync::Arc;

use axum::extract::{Path, State};
use profile::Timestamp;

use super::{NativeResult, json, json_response, parameters::Parameters, profiles::download, time};
use crate::{
    ApiError, ApiState, ErrorKind, access,
    explain::{ClientSeen, Explained},
};

/// What was refused and changed, of the tenants that the request may read.
pub(super) async fn explain(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[&["service"]])?;
    let tenants = access::read_tenants(&parameters.headers, state.options.tenancy)?;
    let service = parameters.one("service")?;
    let mut reply = wire::ExplainReply { since: time::text(state.since), ..wire::ExplainReply::default() };
    let mut accepted_last = None;
    let mut entries = Vec::new();
    let mut clients = Vec::new();
    for tenant in &tenants {
        let known = state.explain.of(tenant);
        reply.accepted += known.accepted;
        reply.forgotten += known.forgotten;
        reply.clients_forgotten += known.clients_forgotten;
        clients.extend(known.clients);
        accepted_last = accepted_last.max(known.accepted_last);
        // What names no service may be of any.
        let is_asked =
            |one: &Explained| service.is_none_or(|asked| one.service == asked || one.service.is_empty());
        entries.extend(known.entries.into_iter().filter(is_asked));
    }
    entries.sort_by_key(|one| std::cmp::Reverse(one.last));
    reply.accepted_last = accepted_last.map_or_else(String::new, time::text);
    let (refused, altered): (Vec<_>, Vec<_>) = entries.into_iter().partition(|one| one.is_refusal);
    reply.refused = refused.into_iter().map(item).collect();
    reply.altered = altered.into_iter().map(item).collect();
    clients.sort_by_key(|one| std::cmp::Reverse(one.accepted_last.max(one.refused_last)));
    reply.clients = clients.into_iter().map(client_item).collect();
    Ok(json_response(json(&reply)?))
}

fn item(one: Explained) -> wire::ExplainItem {
    wire::ExplainItem {
        reason: one.reason.to_owned(),
        api: one.api.to_owned(),
        service: one.service,
        client: one.client,
        count: one.count,
        first: time::text(one.first),
        last: time::text(one.last),
        example: one.example,
        request: one.request,
        body: one.body.map_or_else(String::new, |(_, id)| format!("{BODIES}/{id}")),
        body_bytes: one.body.map_or(0, |(bytes, _)| bytes),
    }
}

fn client_item(one: ClientSeen) -> wire::ClientItem {
    let text = |time: Option<Timestamp>| time.map_or_else(String::new, time::text);
    wire::ClientItem {
        name: one.name,
        version: one.version,
        speaks: one.speaks,
        accepted: one.accepted,
        accepted_last: text(one.accepted_last),
        refused: one.refused,
        refused_last: text(one.refused_last),
        refused_example: one.refused_example,
        service: one.service,
    }
}

/// Where bodies are, by id.
const BODIES: &str = "/api/v1/ingest/explain/bodies";

/// `GET /api/v1/ingest/explain/bodies/ID`: a body as it was sent.
pub(super) async fn body(
    State(state): State<Arc<ApiState>>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> NativeResult {
    parameters.allow(&[])?;
    let tenants = access::read_tenants(&parameters.headers, state.options.tenancy)?;
    let number = id.parse().map_err(|_| ApiError::invalid("id", format!("{id:?} is no number")))?;
    let Some(body) = state.explain.body(&tenants, number) else {
        let message = "no body is kept under this id; examples are kept in memory, and the oldest goes first";
        return Err(ApiError::new(ErrorKind::NotFound, "id", message).into());
    };
    Ok(download(body, &format!("everflame-example-{number}")))
}
