//! Counters of rules, for a scraper: `GET /api/v1/rules/metrics`.
//!
//! Every profile that was acknowledged before the request is in them. Scrapers that cannot send a tenant's header name
//! the tenant as a parameter.

use std::sync::Arc;

use axum::{extract::State, response::IntoResponse};
use http::{HeaderMap, header};
use profile::Tenant;

use super::{NativeResult, parameters::Parameters};
use crate::{ApiError, ApiState, QueryCost, Tenancy, access};

/// `GET /api/v1/rules/metrics`
pub(super) async fn metrics(
    State(state): State<Arc<ApiState>>,
    headers: HeaderMap,
    parameters: Parameters,
) -> NativeResult {
    parameters.allow(&[&["tenant"]])?;
    let asked = parameters.one("tenant")?;
    let tenant = match asked {
        Some(name)
            if state.options.tenancy == Tenancy::Multi && !headers.contains_key(access::TENANT_HEADER) =>
        {
            Tenant::parse(name).map_err(|error| ApiError::invalid("tenant", error.to_string()))?
        }
        _ => access::write_tenant(&headers, state.options.tenancy)?,
    };
    let book = state.rule_book()?;
    let store = Arc::clone(&state.store);
    let text = state
        .query("rules_metrics", QueryCost::Metadata, None, move |_, _| {
            store.count_durable();
            Ok(rules::text::write(&book.series(&tenant)))
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, rules::text::CONTENT_TYPE)], text).into_response())
}
