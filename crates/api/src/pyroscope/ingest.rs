//! `POST /ingest` and `/pyroscope/ingest`: pprof (raw or multipart), folded stacks and lines.
//!
//! Success is 200 with an empty body, the only status that the SDKs take for one; a body that cannot be read is 422.
//! Parameters that cannot be read fall back to their defaults and are counted as `parameter_defaulted` (C032), except
//! for the application's name, which is never guessed (C082).

use std::{collections::HashMap, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use profile::{Altered, AlteredReason, SERVICE_NAME, Timestamp};

use super::{app_name::AppName, attime, multipart, text_types::text_profile};
use crate::{
    ApiError, ApiState, ErrorKind, access,
    push::{self, ALTERED_HEADER, Api, BodyFormat, ClientTime, NameRule, PushRequest, altered_header},
};

/// Samples per second where the client names no rate.
const SAMPLE_RATE_DEFAULT: u32 = 100;

type Parameters = HashMap<String, String>;

pub(super) async fn ingest(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<Vec<(String, String)>>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let parameters = match parameters {
        Ok(Query(pairs)) => match once_each(pairs) {
            Ok(parameters) => parameters,
            Err(error) => return error.into_ingest_response(),
        },
        Err(error) => return ApiError::invalid("query", error.body_text()).into_ingest_response(),
    };
    match take(&state, &parameters, &headers, body).await {
        Ok(altered) => match altered_header(&altered) {
            Some(value) => (StatusCode::OK, [(ALTERED_HEADER, value)]).into_response(),
            None => StatusCode::OK.into_response(),
        },
        Err(error) => error.into_ingest_response(),
    }
}

/// The parameters by name. One that is given twice leaves open which is meant: with two applications, whose profile it
/// is.
fn once_each(pairs: Vec<(String, String)>) -> Result<Parameters, ApiError> {
    let mut parameters = Parameters::with_capacity(pairs.len());
    for (name, value) in pairs {
        let field: String = name.chars().take(64).collect();
        if parameters.insert(name, value).is_some() {
            return Err(ApiError::invalid(field, "is given more than once"));
        }
    }
    Ok(parameters)
}

async fn take(
    state: &Arc<ApiState>,
    parameters: &Parameters,
    headers: &HeaderMap,
    body: Body,
) -> Result<Altered, ApiError> {
    push::check_content_encoding(headers)?;
    let tenant = access::write_tenant(headers, state.options.tenancy)?;
    let name = parameters.get("name").map_or("", String::as_str);
    let app = AppName::parse(name)?;
    let mut altered = Altered::default();
    let client_time = client_time(parameters, &mut altered);
    let content = read_body(parameters, headers, body).await?;
    let (application, name, format) = match content.kind {
        Kind::Pprof => (app.application, NameRule::LabelOrSampleTypes, BodyFormat::Pprof),
        Kind::Groups | Kind::Lines => {
            // Text alone needs a rate: pprof states its period, and the Go SDK sends 0 beside heaps and locks.
            let text = text_profile(&app.application, sample_rate(parameters, &mut altered))?;
            let format = match content.kind {
                Kind::Lines => BodyFormat::Lines(text.typed),
                _ => BodyFormat::Folded(text.typed),
            };
            (text.service, NameRule::Given(text.name.into()), format)
        }
    };
    let name = match content.display_names {
        Some(display) => NameRule::SampleTypes(display),
        None => name,
    };
    let mut labels = app.labels;
    // The name of a profile comes from its content here, whatever a label says.
    labels.retain(|(label, _)| label != "__name__");
    let named = labels.iter().any(|(label, value)| label == SERVICE_NAME && !value.is_empty());
    labels.push((if named { "app_name" } else { SERVICE_NAME }.to_owned(), application));
    let spy = parameters.get("spyName").map_or("unknown", String::as_str);
    labels.push(("pyroscope_spy".to_owned(), spy.to_owned()));
    let mut request = PushRequest::pprof(tenant, Api::Ingest, labels, content.body);
    request.name = name;
    request.format = format;
    request.client_time = client_time;
    request.altered = altered;
    Ok(push::push_profile(state, request).await?.altered)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pprof,
    Groups,
    Lines,
}

struct Content {
    kind: Kind,
    body: Bytes,
    display_names: Option<std::collections::BTreeMap<String, String>>,
}

/// Chooses the format by `format`, then by content type, then by the first bytes.
async fn read_body(parameters: &Parameters, headers: &HeaderMap, body: Body) -> Result<Content, ApiError> {
    let format = parameters.get("format").map_or("", String::as_str);
    if matches!(format, "jfr" | "trie" | "tree" | "speedscope") {
        return Err(unsupported("format", format));
    }
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if content_type.starts_with("binary/octet-stream+") {
        return Err(unsupported("Content-Type", content_type));
    }
    let is_multipart =
        content_type.get(..19).is_some_and(|start| start.eq_ignore_ascii_case("multipart/form-data"));
    if is_multipart {
        let parts = multipart::read(content_type, body).await?;
        let body = parts
            .profile
            .ok_or_else(|| ApiError::new(ErrorKind::Malformed, "profile", "the part is missing"))?;
        return Ok(Content { kind: Kind::Pprof, body, display_names: parts.display_names });
    }
    let body = body
        .collect()
        .await
        .map_err(|error| ApiError::new(ErrorKind::Malformed, "body", error.to_string()))?
        .to_bytes();
    let kind = match format {
        "pprof" => Kind::Pprof,
        "lines" => Kind::Lines,
        // Compressed text is text: what is inside counts.
        _ => match formats::sniff_inside(&body) {
            formats::SniffedFormat::Text | formats::SniffedFormat::Unknown => Kind::Groups,
            _ => Kind::Pprof,
        },
    };
    Ok(Content { kind, body, display_names: None })
}

fn unsupported(field: &str, value: &str) -> ApiError {
    ApiError::new(
        ErrorKind::Unsupported,
        field,
        format!("{value} is not supported; send pprof, folded stacks (groups) or lines"),
    )
}

/// The time in `from`; one that cannot be read counts as not sent.
fn client_time(parameters: &Parameters, altered: &mut Altered) -> Option<ClientTime> {
    let text = parameters.get("from")?;
    match attime::parse("from", text, Timestamp::now()) {
        Ok(time) => Some(ClientTime { field: "from", time }),
        Err(_) => {
            altered.add(AlteredReason::ParameterDefaulted, 1);
            None
        }
    }
}

fn sample_rate(parameters: &Parameters, altered: &mut Altered) -> u32 {
    let Some(text) = parameters.get("sampleRate") else { return SAMPLE_RATE_DEFAULT };
    match text.parse::<u32>() {
        Ok(rate) if rate > 0 => rate,
        _ => {
            altered.add(AlteredReason::ParameterDefaulted, 1);
            SAMPLE_RATE_DEFAULT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_is_given_twice_is_400() {
        let pair = |name: &str| (name.to_owned(), "v".to_owned());
        assert_eq!(once_each(vec![pair("name"), pair("from")]).unwrap().len(), 2);
        let error = once_each(vec![pair("name"), pair("from"), pair("name")]).unwrap_err();
        assert_eq!((error.status().as_u16(), error.field.as_str()), (400, "name"));
    }

    #[test]
    fn c032_odd_sample_rates_fall_back_and_are_counted() {
        for odd in ["-1", "0", "abc", "4294967296", ""] {
            let mut altered = Altered::default();
            let parameters = Parameters::from([("sampleRate".to_owned(), odd.to_owned())]);
            assert_eq!(sample_rate(&parameters, &mut altered), 100);
            assert_eq!(altered.count(AlteredReason::ParameterDefaulted), 1, "{odd}");
        }
        let parameters = Parameters::from([("sampleRate".to_owned(), "19".to_owned())]);
        assert_eq!(sample_rate(&parameters, &mut Altered::default()), 19);
    }
}
