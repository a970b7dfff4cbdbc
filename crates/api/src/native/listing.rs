//! Services, label names and values, series.

use std::sync::Arc;

use axum::extract::{Path, State, rejection::PathRejection};
use query::{SampleLabels, Selection};

use super::{
    NativeResult, convert, json, json_response,
    parameters::{Parameters, path_part},
    selection::{COMMON, selection},
};
use crate::{ApiError, ApiState, QueryCost, limits};

/// `GET /api/v1/services`
pub(super) async fn services(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    let selection = listed(&state, &parameters, &[])?;
    let body = state
        .query("services", QueryCost::Metadata, None, move |engine, control| {
            let answer = engine.services(&selection, control)?;
            json(&wire::ServicesReply {
                services: answer.data.into_iter().map(convert::service).collect(),
                stats: convert::stats(answer.stats, selection.range),
            })
        })
        .await?;
    Ok(json_response(body))
}

/// `GET /api/v1/labels`, and with `name` the same as [`label_values`].
pub(super) async fn label_names(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    let selection = listed(&state, &parameters, &["name"])?;
    if let Some(name) = parameters.one("name")? {
        return values_of(&state, selection, name.to_owned()).await;
    }
    let body = state
        .query("label_names", QueryCost::Metadata, None, move |engine, control| {
            let answer = engine.label_names(&selection, control)?;
            json(&wire::LabelNamesReply {
                names: answer.data,
                stats: convert::stats(answer.stats, selection.range),
            })
        })
        .await?;
    Ok(json_response(body))
}

/// `GET /api/v1/labels/NAME`
pub(super) async fn label_values(
    State(state): State<Arc<ApiState>>,
    name: Result<Path<String>, PathRejection>,
    parameters: Parameters,
) -> NativeResult {
    let name = path_part(name, "name")?;
    let selection = listed(&state, &parameters, &[])?;
    values_of(&state, selection, name).await
}

async fn values_of(state: &Arc<ApiState>, selection: Selection, name: String) -> NativeResult {
    let body = state
        .query("label_values", QueryCost::Metadata, None, move |engine, control| {
            let answer = engine.label_values(&selection, &name, control)?;
            let stats = convert::stats(answer.stats, selection.range);
            json(&wire::LabelValuesReply { name, values: answer.data, stats })
        })
        .await?;
    Ok(json_response(body))
}

/// `GET /api/v1/cardinality`
pub(super) async fn cardinality(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    let selection = listed(&state, &parameters, &["limit"])?;
    let limit = parameters.count("limit")?.unwrap_or(limits::TOP_VALUES_DEFAULT).min(limits::TOP_VALUES_MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let body = state
        .query("cardinality", QueryCost::Metadata, None, move |engine, control| {
            let answer = engine.cardinality(&selection, limit, control)?;
            json(&wire::CardinalityReply {
                series: answer.data.series,
                labels: answer.data.labels.into_iter().map(convert::label_cardinality).collect(),
                stats: convert::stats(answer.stats, selection.range),
            })
        })
        .await?;
    Ok(json_response(body))
}

/// `GET /api/v1/series`
pub(super) async fn series(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    let selection = listed(&state, &parameters, &["by"])?;
    let by: Vec<String> = parameters.list("by").map(str::to_owned).collect();
    let body = state
        .query("series", QueryCost::Metadata, None, move |engine, control| {
            let answer = engine.series(&selection, &by, SampleLabels::All, control)?;
            let item = |labels| wire::SeriesItem { labels: convert::labels(labels) };
            json(&wire::SeriesReply {
                series: answer.data.iter().map(item).collect(),
                stats: convert::stats(answer.stats, selection.range),
            })
        })
        .await?;
    Ok(json_response(body))
}

fn listed(state: &ApiState, parameters: &Parameters, more: &[&str]) -> Result<Selection, ApiError> {
    parameters.allow(&[COMMON, more])?;
    selection(state, parameters)
}
