//! Single profiles: listed, fetched by id; and several merged into one pprof.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, header};
use profile::{ProfileId, SERVICE_NAME, Tenant, TimeRange};
use query::Selection;
use store::Attachment;

use super::{
    NativeResult, convert, json, json_response,
    parameters::{Parameters, path_part},
    selection::{COMMON, selection},
};
use crate::{ApiError, ApiState, QueryCost, access, limits};

/// The header with the stats of an answer that is no JSON.
const STATS_HEADER: HeaderName = HeaderName::from_static("everflame-stats");

/// `GET /api/v1/profiles`
pub(super) async fn list(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[COMMON, &["limit", "profile_id"]])?;
    let selection = selection(&state, &parameters)?;
    let limit = parameters
        .count("limit")?
        .filter(|&limit| limit > 0)
        .unwrap_or(limits::LISTED_DEFAULT)
        .min(limits::LISTED_MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let store = Arc::clone(&state.store);
    let body = state
        .query("profiles", QueryCost::Metadata, None, move |engine, control| {
            let answer = engine.profiles(&selection, limit, control)?;
            let mut attachments = Vec::new();
            for tenant in &selection.tenants {
                attachments.extend(store.attachments(tenant, selection.range)?);
            }
            attachments.retain(|attachment| is_selected(attachment, &selection));
            attachments.sort_by_key(|attachment| attachment.time);
            let surplus = attachments.len().saturating_sub(limit);
            let left_out = answer.stats.profiles.saturating_sub(answer.data.len() as u64) + surplus as u64;
            json(&wire::ProfilesReply {
                profiles: answer.data.into_iter().map(convert::profile).collect(),
                attachments: attachments.into_iter().skip(surplus).map(convert::attachment).collect(),
                left_out,
                stats: convert::stats(answer.stats, selection.range),
            })
        })
        .await?;
    Ok(json_response(body))
}

/// Attachments have no profile type, so a selection that names one is not about them.
fn is_selected(attachment: &Attachment, selection: &Selection) -> bool {
    let names_type = selection.selector.profile_type().is_some()
        || !matches!(selection.profile_type, query::TypeSelector::Default);
    !names_type
        && selection.selector.matches(&attachment.labels)
        && (selection.profile_ids.is_empty() || selection.profile_ids.contains(&attachment.id))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Pprof,
    Json,
}

enum Found {
    Json(Bytes),
    Pprof { name: String, body: Bytes },
    Attachment { name: String, body: Bytes },
}

/// `GET /api/v1/profiles/ID`: the profile as pprof with everything that was sent, or with `format=json` its entry.
pub(super) async fn one(
    State(state): State<Arc<ApiState>>,
    id: Result<Path<String>, PathRejection>,
    parameters: Parameters,
) -> NativeResult {
    parameters.allow(&[&["format"]])?;
    let id = path_part(id, "id")?;
    let id = ProfileId::parse(&id).map_err(|error| ApiError::invalid("id", error.to_string()))?;
    let words = [("pprof", Format::Pprof), ("json", Format::Json)];
    let format = parameters.word("format", &words)?.unwrap_or(Format::Pprof);
    let tenants = access::read_tenants(&parameters.headers, state.options.tenancy)?;
    let store = Arc::clone(&state.store);
    let found = state
        .query("profile", QueryCost::Metadata, None, move |engine, control| {
            match engine.profile_pprof(&tenants, id, control) {
                Ok(answer) => {
                    let (item, pprof) = answer.data;
                    if format == Format::Pprof {
                        return Ok(Found::Pprof { name: id.to_string(), body: formats::gzip(&pprof).into() });
                    }
                    let stats = convert::stats(answer.stats, TimeRange::ALL);
                    json(&wire::ProfileReply { profile: convert::profile(item), stats }).map(Found::Json)
                }
                Err(error @ query::QueryError::NotFound(_)) if format == Format::Pprof => {
                    match attachment_body(&store, &tenants, id)? {
                        Some(body) => Ok(Found::Attachment { name: id.to_string(), body: body.into() }),
                        None => Err(error.into()),
                    }
                }
                Err(error) => Err(error.into()),
            }
        })
        .await?;
    Ok(match found {
        Found::Json(body) => json_response(body),
        Found::Pprof { name, body } => download(body, &format!("{name}.pb.gz")),
        Found::Attachment { name, body } => download(body, &name),
    })
}

fn attachment_body(
    store: &store::Store,
    tenants: &[Tenant],
    id: ProfileId,
) -> Result<Option<Vec<u8>>, ApiError> {
    for tenant in tenants {
        if let Some(body) = store.attachment_body(tenant, id)? {
            return Ok(Some(body));
        }
    }
    Ok(None)
}

/// `GET /api/v1/pprof`: all profiles of the selection merged into one.
pub(super) async fn merged(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[COMMON, &["profile_id", "span_id", "trace_id"]])?;
    let selection = selection(&state, &parameters)?;
    let name = selection.selector.exact(SERVICE_NAME).unwrap_or("profile").to_owned();
    let (body, stats) = state
        .query("pprof", QueryCost::Merge, None, move |engine, control| {
            let answer = engine.pprof(&selection, control)?;
            let stats = ascii(&json(&convert::stats(answer.stats, selection.range))?);
            Ok((Bytes::from(formats::gzip(&answer.data)), stats))
        })
        .await?;
    let mut response = download(body, &format!("{name}.pb.gz"));
    if let Ok(stats) = HeaderValue::from_str(&stats) {
        response.headers_mut().insert(STATS_HEADER, stats);
    }
    Ok(response)
}

/// JSON for a header: every character beyond ASCII as `\\uXXXX`. Those stand only inside of JSON's strings.
fn ascii(json: &[u8]) -> String {
    let mut text = String::with_capacity(json.len());
    for unit in String::from_utf8_lossy(json).encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ b' '..=b'~') => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\u{unit:04x}")),
        }
    }
    text
}

/// Bytes with a file name; characters that could break the header or a path are replaced.
pub(crate) fn download(body: Bytes, name: &str) -> Response {
    let safe = |character: char| character.is_ascii_alphanumeric() || "._-+".contains(character);
    let name: String = name.chars().map(|character| if safe(character) { character } else { '_' }).collect();
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_holds_json_of_any_script() {
        let json = serde_json::to_vec(&["服务 🔥", "plain"]).unwrap();
        let text = ascii(&json);
        assert!(text.is_ascii(), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), ["服务 🔥", "plain"]);
    }

    #[test]
    fn a_file_name_cannot_break_out_of_its_header() {
        let response = download(Bytes::new(), "a\"; b/../c\r\n.pb.gz");
        assert_eq!(
            response.headers()[header::CONTENT_DISPOSITION],
            "attachment; filename=\"a___b_.._c__.pb.gz\""
        );
    }
}
