//! Downloads: one profile or trace by its id, several profiles merged, or everything of a kind and range merged.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, Request, State},
};
use profile::{ProfileId, TimeRange};
use query::QueryError;

use super::{
    ProfefeError, ProfefeResult, bad_request, no_results,
    parameters::{self, Kind},
};
use crate::{
    ApiError, ApiState, ErrorKind, QueryCost, access, limits,
    native::{
        parameters::{Parameters, cut},
        profiles::download,
    },
};

/// `GET /api/0/profiles/ID` or `ID+ID+…`
pub(super) async fn by_id(
    State(state): State<Arc<ApiState>>,
    Path(text): Path<String>,
    request: Request,
) -> ProfefeResult {
    let parameters = Parameters::read(&request.into_parts().0)?;
    let ids = ids(&text)?;
    let tenants = access::read_tenants(&parameters.headers, state.options.tenancy)?;
    let mut selection = parameters::everything(&state, &parameters)?;
    let store = Arc::clone(&state.store);
    let body = state
        .query("profefe_get", QueryCost::Merge, None, move |engine, control| {
            if let [id] = ids.as_slice() {
                return match engine.profile_pprof(&tenants, *id, control) {
                    Ok(answer) => Ok(Bytes::from(formats::gzip(&answer.data.1))),
                    Err(QueryError::NotFound(_)) => {
                        for tenant in &tenants {
                            if let Some(body) = store.attachment_body(tenant, *id)? {
                                return Ok(Bytes::from(body));
                            }
                        }
                        Err(nothing_found())
                    }
                    Err(error) => Err(error.into()),
                };
            }
            selection.profile_ids = ids;
            selection.range = TimeRange::ALL;
            let found = engine.profiles(&selection, 0, control)?.data;
            if found.len() < selection.profile_ids.len() {
                return Err(nothing_found());
            }
            Ok(Bytes::from(formats::gzip(&engine.pprof(&selection, control)?.data)))
        })
        .await?;
    Ok(download(body, &text))
}

fn nothing_found() -> ApiError {
    ApiError::not_found("nothing found")
}

/// Ids with plus signs between them, each once.
fn ids(text: &str) -> Result<Vec<ProfileId>, ProfefeError> {
    let mut ids = Vec::new();
    for part in text.split(['+', ' ']) {
        let id =
            ProfileId::parse(part).map_err(|_| bad_request(format!("{:?} is no profile id", cut(part))))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.len() > limits::IDS_MAX {
        return Err(bad_request(format!("{} ids are too many (limit {})", ids.len(), limits::IDS_MAX)));
    }
    Ok(ids)
}

/// `/api/0/profiles/merge`, by any method: all profiles of a kind merged into one; 204 where there are none.
pub(super) async fn merge(State(state): State<Arc<ApiState>>, request: Request) -> ProfefeResult {
    let parameters = Parameters::read(&request.into_parts().0)?;
    let selection = parameters::selection(&state, &parameters)?;
    let limit = parameters::limit(&parameters)?;
    let Some(Kind::Profile(word)) = parameters::kind(&parameters) else {
        let text = cut(parameters.first("type").unwrap_or(""));
        let message = format!("can't merge profiles of type {text:?}");
        return Err(ApiError::new(ErrorKind::MethodNotAllowed, "", message).into());
    };
    let mut selection = parameters::of_kind(selection, word)?;
    let body = state
        .query("profefe_merge", QueryCost::Merge, None, move |engine, control| {
            if let Some(limit) = limit {
                let newest = engine.profiles(&selection, limit, control)?.data;
                if newest.is_empty() {
                    return Ok(None);
                }
                selection.profile_ids = newest.iter().map(|item| item.id).collect();
            }
            let answer = engine.pprof(&selection, control)?;
            Ok((answer.stats.profiles > 0).then(|| Bytes::from(formats::gzip(&answer.data))))
        })
        .await?;
    Ok(body.map_or_else(no_results, |body| download(body, word.word)))
}
