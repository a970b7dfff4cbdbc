//! URLs that `go tool pprof` reads:
//! `/pprof/SERVICE/debug/pprof/{profile,heap,allocs,mutex,block,goroutine,threadcreate}`.
//!
//! ```text
//! go tool pprof -top 'http://127.0.0.1:4040/pprof/checkout/debug/pprof/profile?from=now-15m'
//! go tool pprof -diff_base URL1 URL2
//! ```
//!
//! The answer is one gzip pprof with all sample columns, merged over the range; `seconds=N` means the last N seconds.
//! All mappings say that they are symbolised, so the tool asks nothing back and does not symbolise by itself. The tool
//! can send no headers, so a secret goes into the URL's user part. Errors are text that the tool shows.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, header};
use profile::{Columns, MappingFlags, Profile, SERVICE_NAME, StringIndex, StringRange, Timestamp, ValueType};
use query::{Aggregation, Selection, Selector};

use crate::{
    ApiError, ApiState, QueryCost, access,
    native::{
        parameters::{Parameters, cut},
        time,
    },
    profile_words::{GO_PATHS, ProfileWord, find},
};

/// Parameters of these URLs. `debug` and `gc` are Go's own and mean nothing here.
const KNOWN: &[&str] = &["from", "to", "seconds", "q", "debug", "gc"];

/// The routes.
pub(crate) fn router(state: &Arc<ApiState>) -> Router {
    Router::new()
        .route("/pprof/{service}/debug/pprof/symbol", get(symbol).post(symbol))
        .route("/pprof/{service}/debug/pprof/{kind}", get(profile))
        .with_state(Arc::clone(state))
}

/// An error as text that the tool shows.
#[derive(Debug)]
struct PprofError(ApiError);

impl<E: Into<ApiError>> From<E> for PprofError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for PprofError {
    fn into_response(self) -> Response {
        self.0.into_pprof_response()
    }
}

/// Names are inside the profiles, so there is nothing to look up.
async fn symbol() -> &'static str {
    "num_symbols: 0\n"
}

async fn profile(
    State(state): State<Arc<ApiState>>,
    Path((service, kind)): Path<(String, String)>,
    request: Request,
) -> Result<Response, PprofError> {
    let parameters = Parameters::read(&request.into_parts().0)?;
    parameters.allow(&[KNOWN])?;
    let Some(word) = find(&GO_PATHS, &kind) else {
        let known: Vec<&str> = GO_PATHS.iter().map(|entry| entry.word).collect();
        let message = format!("there is no profile {:?}; there are {}", cut(&kind), known.join(", "));
        return Err(ApiError::not_found(message).into());
    };
    let selection = selection(&state, &parameters, &service, word)?;
    let body = state
        .query("go_pprof", QueryCost::Merge, None, move |engine, control| {
            let merged = engine.pprof(&selection, control)?;
            let is_nothing = merged.stats.profiles == 0;
            Ok(Bytes::from(formats::gzip(&for_the_tool(&merged.data, word, is_nothing)?)))
        })
        .await?;
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

fn selection(
    state: &ApiState,
    parameters: &Parameters,
    service: &str,
    word: ProfileWord,
) -> Result<Selection, ApiError> {
    let mut selector =
        Selector::parse(&format!("{{__name__=~\"{}\"}}", word.names))?.with_equal(SERVICE_NAME, service);
    if let Some(text) = parameters.one("q")? {
        selector = selector.and(Selector::parse(text)?);
    }
    let mut range = time::range(parameters, ("from", "to"), Timestamp::now())?;
    if let Some(seconds) = parameters.count("seconds")?.filter(|&seconds| seconds > 0) {
        if parameters.one("from")?.is_some() {
            return Err(ApiError::invalid("seconds", "give either from or seconds"));
        }
        let nanos = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
        range.from = Timestamp(range.to.0.saturating_sub(nanos));
    }
    Ok(Selection {
        tenants: access::read_tenants(&parameters.headers, state.options.tenancy)?,
        selector,
        range,
        aggregation: Aggregation::Sum,
        ..Selection::default()
    })
}

/// Marks all mappings as symbolised (else the tool would try it by itself and lose start lines), and lets the tool show
/// allocations first where they were asked for, as Go does for `/debug/pprof/allocs`. Where nothing was found it has the
/// columns of Go's own profile, so that the tool can compare with it.
fn for_the_tool(merged: &[u8], word: ProfileWord, is_nothing: bool) -> Result<Vec<u8>, ApiError> {
    let mut decoder = formats::Decoder::new();
    let limits = formats::Limits { keep_negative: true, ..crate::limits::decoder() };
    let (profile, _) = decoder.pprof(merged, &limits)?;
    let mut columns = profile.columns.clone();
    for mapping in &mut columns.mappings {
        mapping.flags = MappingFlags::ALL;
    }
    let mut text = profile.text.to_vec();
    if is_nothing {
        columns.sample_types.clear();
        for &(kind, unit) in go_columns(word.word) {
            let value_type = ValueType {
                kind: add_string(&mut text, &mut columns, kind)?,
                unit: add_string(&mut text, &mut columns, unit)?,
            };
            columns.sample_types.push(value_type);
        }
    }
    let has_allocations = columns
        .sample_types
        .iter()
        .any(|typed| profile_string(&text, &columns, typed.kind) == b"alloc_space");
    if word.word == "allocs" && has_allocations {
        columns.header.default_sample_type = add_string(&mut text, &mut columns, "alloc_space")?;
    }
    Ok(formats::encode_pprof(&Profile { text: &text, columns: &columns }))
}

/// The columns that Go's own profile of a path has.
fn go_columns(word: &str) -> &'static [(&'static str, &'static str)] {
    match word {
        "profile" => &[("samples", "count"), ("cpu", "nanoseconds")],
        "heap" | "allocs" => &[
            ("alloc_objects", "count"),
            ("alloc_space", "bytes"),
            ("inuse_objects", "count"),
            ("inuse_space", "bytes"),
        ],
        "mutex" | "block" => &[("contentions", "count"), ("delay", "nanoseconds")],
        "threadcreate" => &[("threadcreate", "count")],
        _ => &[("goroutine", "count")],
    }
}

fn profile_string<'a>(text: &'a [u8], columns: &'a Columns, index: StringIndex) -> &'a [u8] {
    Profile { text, columns }.string(index)
}

fn add_string(text: &mut Vec<u8>, columns: &mut Columns, string: &str) -> Result<StringIndex, ApiError> {
    let range = StringRange { start: position(text.len())?, length: position(string.len())? };
    let index = StringIndex(position(columns.strings.len())?);
    text.extend_from_slice(string.as_bytes());
    columns.strings.push(range);
    Ok(index)
}

fn position(length: usize) -> Result<u32, ApiError> {
    u32::try_from(length).map_err(|_| too_large())
}

fn too_large() -> ApiError {
    ApiError::invalid("range", "the merged profile is too large; choose a smaller range")
}
