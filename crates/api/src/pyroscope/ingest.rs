//! `POST /ingest` and `/pyroscope/ingest`: pprof (raw or multipart), folded stacks, lines, tries, trees and speedscope files.
//!
//! Success is 200 with an empty body, the only status that the SDKs take for one; a body that cannot be read is 422.
//! Parameters that cannot be read fall back to their defaults and are counted as `parameter_defaulted` (C032), except
//! for the application's name, which is never guessed (C082). `units` and `aggregationType` say nothing that is kept: the
//! application's name and the body say it. Old .NET profilers, known by `spyName` or by their `sample_type_config`, have
//! dashes in sample types that others have underscores in; these are mended.

use std::{collections::HashMap, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use profile::{Altered, AlteredReason, SERVICE_NAME, Timestamp};

use super::{
    app_name::AppName,
    attime, multipart,
    text_types::{SpeedscopeByApplication, text_profile},
};
use crate::{
    ApiError, ApiState, ErrorKind, access,
    push::{
        self, ALTERED_HEADER, Api, BodyFormat, ClientTime, NameRule, PushRequest, StackFormat, altered_header,
    },
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
    // Formats without times and rates of their own need them: pprof states both, and the Go SDK sends a rate of 0 beside
    // heaps and locks.
    let (sample_rate, duration_nanos) = match content.kind {
        Kind::Pprof => (SAMPLE_RATE_DEFAULT, 0),
        Kind::Stacks(_) | Kind::Speedscope => {
            (sample_rate(parameters, &mut altered), duration_nanos(parameters, client_time, &mut altered))
        }
    };
    let mut labels = app.labels;
    // The name of a profile comes from its content here, whatever a label says.
    labels.retain(|(label, _)| label != "__name__");
    let has = |name: &str| labels.iter().any(|(label, value)| label == name && !value.is_empty());
    let application_label = if has(SERVICE_NAME) { "app_name" } else { SERVICE_NAME };
    let has_application_label = has(application_label);
    let has_spy = has("pyroscope_spy");
    let mut name = NameRule::LabelOrSampleTypes;
    let mut application = Some(app.application);
    let format = match content.kind {
        Kind::Pprof => BodyFormat::Pprof,
        Kind::Stacks(format) => {
            let text = text_profile(application.as_deref().unwrap_or_default(), sample_rate)?;
            name = NameRule::Given(text.name.into());
            application = Some(text.service);
            BodyFormat::Stacks(format, text.typed.lasting(duration_nanos))
        }
        Kind::Speedscope => BodyFormat::Speedscope(Arc::new(SpeedscopeByApplication {
            application: application.take().unwrap_or_default(),
            label: application_label,
            sample_rate,
            duration_nanos,
        })),
    };
    if let (Kind::Pprof, Some(display)) = (content.kind, content.display_names) {
        name = NameRule::SampleTypes(display);
    }
    // What the client says of itself in a label goes before what is said for it.
    if let Some(application) = application
        && !has_application_label
    {
        labels.push((application_label.to_owned(), application));
    }
    if !has_spy {
        let spy = parameters.get("spyName").map_or("unknown", String::as_str);
        labels.push(("pyroscope_spy".to_owned(), spy.to_owned()));
    }
    let spy = parameters.get("spyName").map_or("", String::as_str);
    let mut request = PushRequest::pprof(tenant, Api::Ingest, labels, content.body);
    request.without_dashes = spy == "dotnetspy" || content.is_of_old_dotnet && matches!(spy, "" | "unknown");
    request.name = name;
    request.format = format;
    request.client_time = client_time;
    request.altered = altered;
    Ok(push::push_profile(state, request).await?.altered)
}

/// `OPTIONS`: what may be done here.
pub(super) async fn options() -> impl IntoResponse {
    (StatusCode::NO_CONTENT, [(header::ALLOW, "OPTIONS, POST")])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pprof,
    Stacks(StackFormat),
    Speedscope,
}

struct Content {
    kind: Kind,
    body: Bytes,
    display_names: Option<std::collections::BTreeMap<String, String>>,
    is_of_old_dotnet: bool,
}

/// Chooses the format by `format`, then by content type, then by the first bytes. Multipart is told by its content type
/// whatever `format` says.
async fn read_body(parameters: &Parameters, headers: &HeaderMap, body: Body) -> Result<Content, ApiError> {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let format = parameters.get("format").map_or("", String::as_str);
    if starts_with(content_type, "multipart/form-data") {
        let parts = multipart::read(content_type, body).await?;
        let named = named_kind(format, "");
        let Some(body) = parts.profile else {
            named?;
            return Err(ApiError::new(ErrorKind::Malformed, "profile", "the part is missing"));
        };
        // In parts clients send pprof, whatever they call it; only what is none is read as it is called.
        let kind = match named {
            Ok(None | Some(Kind::Pprof)) => Kind::Pprof,
            named => match sniffed_kind(&body)? {
                Kind::Pprof => Kind::Pprof,
                _ => named?.unwrap_or(Kind::Pprof),
            },
        };
        return Ok(Content {
            kind,
            body,
            display_names: parts.display_names,
            is_of_old_dotnet: parts.is_of_old_dotnet,
        });
    }
    let named = named_kind(format, content_type)?;
    let body = body
        .collect()
        .await
        .map_err(|error| ApiError::new(ErrorKind::Malformed, "body", error.to_string()))?
        .to_bytes();
    let kind = match named {
        Some(kind) => kind,
        None => sniffed_kind(&body)?,
    };
    Ok(Content { kind, body, display_names: None, is_of_old_dotnet: false })
}

/// What the client calls it; `None` where it has no word, or none that is known.
fn named_kind(format: &str, content_type: &str) -> Result<Option<Kind>, ApiError> {
    let by_format = match format {
        "pprof" => Some(Kind::Pprof),
        "lines" => Some(Kind::Stacks(StackFormat::Lines)),
        "trie" => Some(Kind::Stacks(StackFormat::Trie)),
        "tree" => Some(Kind::Stacks(StackFormat::Tree)),
        "speedscope" => Some(Kind::Speedscope),
        "jfr" => return Err(no_jfr("format")),
        _ => None,
    };
    Ok(by_format.or_else(|| {
        let formats = [("trie", StackFormat::Trie), ("tree", StackFormat::Tree)];
        let found = formats.iter().find(|(word, _)| {
            content_type.get(20..).is_some_and(|rest| starts_with(rest, word))
                && starts_with(content_type, "binary/octet-stream+")
        });
        found.map(|(_, format)| Kind::Stacks(*format))
    }))
}

/// Folded stacks unless the bytes say otherwise. Compressed text is text: what is inside counts.
fn sniffed_kind(body: &[u8]) -> Result<Kind, ApiError> {
    use formats::SniffedFormat;
    match formats::sniff_inside(body) {
        SniffedFormat::Text | SniffedFormat::Unknown => Ok(Kind::Stacks(StackFormat::Folded)),
        SniffedFormat::Json => Ok(Kind::Speedscope),
        SniffedFormat::Jfr => Err(no_jfr("body")),
        _ => Ok(Kind::Pprof),
    }
}

fn starts_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

pub(super) fn no_jfr(field: &str) -> ApiError {
    let message = "JFR recordings are not read yet; send pprof, speedscope, folded stacks (groups), lines, trie or tree";
    ApiError::new(ErrorKind::Unsupported, field, message)
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

/// From `from` to `until`; 0 where either is not said or nothing lies between.
fn duration_nanos(parameters: &Parameters, from: Option<ClientTime>, altered: &mut Altered) -> i64 {
    let Some(text) = parameters.get("until") else { return 0 };
    let Ok(until) = attime::parse("until", text, Timestamp::now()) else {
        altered.add(AlteredReason::ParameterDefaulted, 1);
        return 0;
    };
    from.and_then(|from| until.0.checked_sub(from.time.0)).map_or(0, |nanos| nanos.max(0))
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
