//! `GET /api/0/profiles`: what profiles there are.

use std::sync::Arc;

use axum::extract::{Request, State};
use profile::{LabelSet, ProfileId, SERVICE_NAME, Timestamp};
use serde::Serialize;

use super::{
    ProfefeResult, envelope, no_results,
    parameters::{self, Kind},
};
use crate::{
    ApiState, QueryCost,
    native::{parameters::Parameters, time},
    profile_words::{TRACE, profefe_word},
};

/// A profile as profefe describes it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ProfileObject {
    id: String,
    r#type: &'static str,
    service: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<Label>,
    created_at: String,
    #[serde(skip)]
    time: Timestamp,
}

#[derive(Clone, Debug, Serialize)]
struct Label {
    key: String,
    value: String,
}

impl ProfileObject {
    /// A profile by its stored name.
    pub(super) fn new(id: &ProfileId, name: &str, labels: &LabelSet, time: Timestamp) -> Self {
        let own = labels.iter().filter(|(key, _)| *key != SERVICE_NAME);
        // Whole seconds, as profefe writes them.
        let seconds = Timestamp(time.0.div_euclid(1_000_000_000).saturating_mul(1_000_000_000));
        Self {
            id: id.to_string(),
            r#type: profefe_word(name),
            service: labels.service_name().to_owned(),
            labels: own.map(|(key, value)| Label { key: key.to_owned(), value: value.to_owned() }).collect(),
            created_at: time::text(seconds),
            time,
        }
    }

    /// An execution trace.
    pub(super) fn trace(id: &ProfileId, labels: &LabelSet, time: Timestamp) -> Self {
        Self { r#type: TRACE, ..Self::new(id, TRACE, labels, time) }
    }
}

/// Lists profiles and traces by their time; 204 where there are none. A type that profefe does not know filters nothing.
pub(super) async fn list(State(state): State<Arc<ApiState>>, request: Request) -> ProfefeResult {
    let parameters = Parameters::read(&request.into_parts().0)?;
    let mut selection = parameters::selection(&state, &parameters)?;
    let limit = parameters::limit(&parameters)?;
    let kind = parameters::kind(&parameters);
    let labels_only = selection.selector.clone();
    if let Some(Kind::Profile(word)) = kind {
        selection = parameters::of_kind(selection, word)?;
    }
    let store = Arc::clone(&state.store);
    let objects = state
        .query("profefe_list", QueryCost::Metadata, None, move |engine, control| {
            let mut objects = Vec::new();
            if kind != Some(Kind::Trace) {
                let profiles = engine.profiles(&selection, limit.unwrap_or(0), control)?.data;
                objects.extend(
                    profiles
                        .iter()
                        .map(|item| ProfileObject::new(&item.id, &item.name, &item.labels, item.time)),
                );
            }
            if !matches!(kind, Some(Kind::Profile(_))) {
                for tenant in &selection.tenants {
                    let traces = store.attachments(tenant, selection.range)?;
                    let wanted = traces.iter().filter(|trace| labels_only.matches(&trace.labels));
                    objects.extend(
                        wanted.map(|trace| ProfileObject::trace(&trace.id, &trace.labels, trace.time)),
                    );
                }
            }
            objects.sort_by_key(|object| object.time);
            let surplus = limit.map_or(0, |limit| objects.len().saturating_sub(limit));
            Ok(objects.split_off(surplus))
        })
        .await?;
    if objects.is_empty() { Ok(no_results()) } else { envelope(objects) }
}
