//! `GET /pyroscope/labels` and `/pyroscope/label-values?label=NAME`: sorted JSON arrays of texts.
//!
//! `from` and `until` name the range, by default the last hour; `query` is a selector that narrows it. The values of
//! `__name__` are profile type ids, as clients of these calls expect.

use std::sync::Arc;

use axum::{
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};
use query::{Control, Engine, Selection};

use super::{
    render::{Asked, Parameters},
    select::selection,
};
use crate::{ApiError, ApiState, QueryCost, access};

type Asking = Result<Query<Parameters>, QueryRejection>;

pub(super) async fn labels(
    State(state): State<Arc<ApiState>>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    let names = async {
        let (_, selection) = read(&state, asking, &headers)?;
        let job = move |engine: &Engine, control: &Control| Ok(engine.label_names(&selection, control)?.data);
        state.query("labels", QueryCost::Metadata, None, job).await
    };
    answered(names.await)
}

pub(super) async fn label_values(
    State(state): State<Arc<ApiState>>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    let values = async {
        let (label, selection) = read(&state, asking, &headers)?;
        let label = label.ok_or_else(|| ApiError::invalid("label", "is required"))?;
        let label = if label == "__name__" { "__profile_type__".to_owned() } else { label };
        let job = move |engine: &Engine, control: &Control| {
            Ok(engine.label_values(&selection, &label, control)?.data)
        };
        state.query("label_values", QueryCost::Metadata, None, job).await
    };
    answered(values.await)
}

fn answered(texts: Result<Vec<String>, ApiError>) -> Response {
    match texts {
        Ok(texts) => {
            let json = serde_json::Value::from(texts).to_string();
            ([(header::CONTENT_TYPE, "application/json")], json).into_response()
        }
        Err(error) => error.into_ingest_response(),
    }
}

/// The label that is named, and what is looked at.
fn read(
    state: &ApiState,
    asking: Asking,
    headers: &HeaderMap,
) -> Result<(Option<String>, Selection), ApiError> {
    let Query(parameters) = asking.map_err(|error| ApiError::invalid("query", error.body_text()))?;
    let asked = Asked::new(&parameters);
    let range = asked.range("from", "until")?.nanos();
    let tenants = access::read_tenants(headers, state.options.tenancy)?;
    let selection = selection(tenants, asked.last(&["query"]).unwrap_or_default(), range)?;
    Ok((asked.last(&["label"]).map(str::to_owned), selection))
}
