//! `GET /api/v1/ingest/explain`: why a service is missing.

use std::sync::Arc;

use axum::extract::State;

use super::{NativeResult, json, json_response, parameters::Parameters, time};
use crate::{ApiState, access, explain::Explained};

/// What was refused and changed, of the tenants that the request may read.
pub(super) async fn explain(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[&["service"]])?;
    let tenants = access::read_tenants(&parameters.headers, state.options.tenancy)?;
    let service = parameters.one("service")?;
    let mut reply = wire::ExplainReply { since: time::text(state.since), ..wire::ExplainReply::default() };
    let mut accepted_last = None;
    let mut entries = Vec::new();
    for tenant in &tenants {
        let known = state.explain.of(tenant);
        reply.accepted += known.accepted;
        reply.forgotten += known.forgotten;
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
    }
}
