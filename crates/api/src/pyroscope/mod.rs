//! Pyroscope's wire: Push, `/ingest`, the querier's calls and `/pyroscope/render`.

use std::sync::Arc;

use crate::ApiState;

pub(crate) fn router(_state: &Arc<ApiState>) -> axum::Router {
    axum::Router::new()
}
