//! Why a profile is missing or looks different: the last refusals and changes of each tenant, by reason
//! (`GET /api/v1/ingest/explain`, D14).
//!
//! Every push goes through [`watch`], which knows the client; what becomes of its profiles is noted by [`crate::push`].
//! What is refused before that, such as a parameter that nobody knows, is read off the answer. Kept in memory only,
//! within the limits of `limits.rs`: equal reasons of one client and service are one entry with a count and one example,
//! and the entry that was seen longest ago goes first.
//!
//! A request without the secret, or without a tenant where one is needed, is nobody's and is not kept.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderMap, Method, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use profile::{Altered, AlteredReason, Tenant, Timestamp};
use store::Outcome;

use crate::{ApiState, ErrorKind, access, limits, push::Api};

tokio::task_local! {
    /// Who sends the push that this task works on.
    static SENDER: Arc<Sender>;
}

struct Sender {
    client: String,
    /// Whether what became of the push was noted already.
    is_noted: AtomicBool,
}

/// Where a note belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    is_refusal: bool,
    reason: &'static str,
    api: &'static str,
    service: String,
    client: String,
}

/// What happened, how often, and one example.
#[derive(Clone, Debug)]
struct Note {
    count: u64,
    first: Timestamp,
    last: Timestamp,
    example: String,
}

/// One entry, as it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Whether the profile was refused, rather than changed or passed over.
    pub is_refusal: bool,
    /// The word of metrics.
    pub reason: &'static str,
    /// Which API.
    pub api: &'static str,
    /// The service; empty where it is not known.
    pub service: String,
    /// What the client calls itself; may be empty.
    pub client: String,
    /// How often.
    pub count: u64,
    /// When first.
    pub first: Timestamp,
    /// When last.
    pub last: Timestamp,
    /// The sentence that was said last.
    pub example: String,
}

/// What is known of one tenant.
#[derive(Clone, Debug, Default)]
pub struct TenantExplained {
    /// Profiles that were taken in, retries and empty ones included.
    pub accepted: u64,
    /// When the last one was.
    pub accepted_last: Option<Timestamp>,
    /// Entries, the latest first.
    pub entries: Vec<Explained>,
    /// Entries that had to go to keep memory small.
    pub forgotten: u64,
}

#[derive(Debug, Default)]
struct TenantNotes {
    accepted: u64,
    accepted_last: Option<Timestamp>,
    touched: u64,
    notes: HashMap<Key, Note>,
    forgotten: u64,
}

/// The notes of all tenants.
#[derive(Debug, Default)]
pub struct Explain {
    state: Mutex<(HashMap<Tenant, TenantNotes>, u64)>,
}

/// One profile of a push, as far as it is known.
pub(crate) struct Subject<'a> {
    pub tenant: &'a Tenant,
    pub api: &'static str,
    pub service: &'a str,
}

impl Explain {
    /// A profile was taken in.
    pub(crate) fn accepted(&self, subject: &Subject<'_>, outcome: Outcome, altered: &Altered) {
        let now = Timestamp::now();
        self.with(subject.tenant, |notes| {
            notes.accepted += 1;
            notes.accepted_last = Some(now);
            for (reason, count) in altered.sorted() {
                notes.add(key(subject, false, reason.word()), count, sentence(reason), now);
            }
            if let Some((word, sentence)) = passed_over(outcome) {
                notes.add(key(subject, false, word), 1, sentence, now);
            }
        });
        mark_noted();
    }

    /// A profile was refused.
    pub(crate) fn refused(&self, subject: &Subject<'_>, kind: ErrorKind, text: &str) {
        let now = Timestamp::now();
        self.with(subject.tenant, |notes| notes.add(key(subject, true, kind.word()), 1, text, now));
        mark_noted();
    }

    /// What is known of a tenant.
    #[must_use]
    pub fn of(&self, tenant: &Tenant) -> TenantExplained {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(notes) = state.0.get(tenant) else { return TenantExplained::default() };
        let mut entries: Vec<Explained> = notes
            .notes
            .iter()
            .map(|(key, note)| Explained {
                is_refusal: key.is_refusal,
                reason: key.reason,
                api: key.api,
                service: key.service.clone(),
                client: key.client.clone(),
                count: note.count,
                first: note.first,
                last: note.last,
                example: note.example.clone(),
            })
            .collect();
        entries.sort_by(|left, right| {
            let rest = |one: &Explained| (one.reason, one.service.clone(), one.client.clone());
            right.last.0.cmp(&left.last.0).then_with(|| rest(left).cmp(&rest(right)))
        });
        TenantExplained {
            accepted: notes.accepted,
            accepted_last: notes.accepted_last,
            entries,
            forgotten: notes.forgotten,
        }
    }

    fn with(&self, tenant: &Tenant, change: impl FnOnce(&mut TenantNotes)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (tenants, clock) = &mut *state;
        *clock += 1;
        if !tenants.contains_key(tenant) {
            if tenants.len() >= limits::EXPLAINED_TENANTS_MAX {
                let oldest =
                    tenants.iter().min_by_key(|(_, notes)| notes.touched).map(|(tenant, _)| tenant.clone());
                oldest.and_then(|tenant| tenants.remove(&tenant));
            }
            tenants.insert(tenant.clone(), TenantNotes::default());
        }
        if let Some(notes) = tenants.get_mut(tenant) {
            notes.touched = *clock;
            change(notes);
        }
    }
}

impl TenantNotes {
    fn add(&mut self, key: Key, count: u64, example: &str, now: Timestamp) {
        let is_new = !self.notes.contains_key(&key);
        if is_new && self.notes.len() >= limits::EXPLAINED_ENTRIES_MAX {
            let oldest = self.notes.iter().min_by_key(|(_, note)| note.last.0).map(|(key, _)| key.clone());
            if oldest.and_then(|key| self.notes.remove(&key)).is_some() {
                self.forgotten += 1;
            }
        }
        let note = self.notes.entry(key).or_insert_with(|| Note {
            count: 0,
            first: now,
            last: now,
            example: String::new(),
        });
        note.count = note.count.saturating_add(count);
        note.last = now;
        note.example = shortened(example, limits::EXPLAINED_EXAMPLE_BYTES_MAX);
    }
}

fn key(subject: &Subject<'_>, is_refusal: bool, reason: &'static str) -> Key {
    Key {
        is_refusal,
        reason,
        api: subject.api,
        service: shortened(subject.service, limits::EXPLAINED_NAME_BYTES_MAX),
        client: SENDER.try_with(|sender| sender.client.clone()).unwrap_or_default(),
    }
}

fn mark_noted() {
    let _ = SENDER.try_with(|sender| sender.is_noted.store(true, Ordering::Relaxed));
}

/// The beginning of a text, in whole letters.
fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// The API of a path that takes pushes.
fn pushing(method: &Method, path: &str) -> Option<Api> {
    if *method != Method::POST {
        return None;
    }
    match path {
        "/api/v1/push" => Some(Api::Native),
        "/api/0/profiles" => Some(Api::Profefe),
        "/ingest" | "/pyroscope/ingest" => Some(Api::Ingest),
        "/push.v1.PusherService/Push" => Some(Api::Push),
        _ => None,
    }
}

/// Notes who sends a push, and why one was refused before it came to [`crate::push`].
pub(crate) async fn watch(State(state): State<Arc<ApiState>>, request: Request, next: Next) -> Response {
    let Some(api) = pushing(request.method(), request.uri().path()) else { return next.run(request).await };
    let tenant = access::write_tenant(request.headers(), state.options.tenancy).ok();
    let service = service_of(request.uri());
    let sender = Arc::new(Sender { client: client_of(request.headers()), is_noted: AtomicBool::new(false) });
    let kept = Arc::clone(&sender);
    SENDER
        .scope(sender, async {
            let response = next.run(request).await;
            // Whoever noted a profile of it has said more than the answer does.
            let (response, refusal) = read(response).await;
            if let (Some(tenant), Some((kind, text)), false) =
                (tenant, refusal, kept.is_noted.load(Ordering::Relaxed))
            {
                let subject = Subject { tenant: &tenant, api: api.word(), service: &service };
                state.explain.refused(&subject, kind, &text);
            }
            response
        })
        .await
}

/// Why a push was refused, if it was, whatever API wrote the answer, and the answer as it was.
async fn read(response: Response) -> (Response, Option<(ErrorKind, String)>) {
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_grpc = content_type.is_some_and(|text| text.starts_with("application/grpc"));
    if response.status().as_u16() < 400 && !is_grpc {
        return (response, None);
    }
    // Errors and the empty answers of gRPC are short.
    let (parts, body) = response.into_parts();
    let Ok(collected) = body.collect().await else {
        return (Response::from_parts(parts, Body::empty()), None);
    };
    if !is_grpc {
        let bytes = collected.to_bytes();
        let refusal = (kind_of(parts.status), sentence_in(&bytes));
        return (Response::from_parts(parts, Body::from(bytes)), Some(refusal));
    }
    // gRPC says how it went behind the body, or beside it where there is none.
    let behind = refusal_of_grpc(collected.trailers());
    let refusal = behind.or_else(|| refusal_of_grpc(Some(&parts.headers)));
    let body =
        if collected.trailers().is_some() { Body::new(collected) } else { Body::from(collected.to_bytes()) };
    (Response::from_parts(parts, body), refusal)
}

fn refusal_of_grpc(headers: Option<&HeaderMap>) -> Option<(ErrorKind, String)> {
    let text = |name: &str| headers?.get(name)?.to_str().ok();
    let kind = match text("grpc-status")? {
        "0" => return None,
        "4" => ErrorKind::Deadline,
        "8" => ErrorKind::TooLarge,
        "12" => ErrorKind::Unimplemented,
        "13" => ErrorKind::Internal,
        "14" => ErrorKind::Unavailable,
        "16" => ErrorKind::Unauthenticated,
        _ => ErrorKind::Invalid,
    };
    Some((kind, text("grpc-message").unwrap_or("").to_owned()))
}

fn client_of(headers: &HeaderMap) -> String {
    let text = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
    shortened(text, limits::EXPLAINED_NAME_BYTES_MAX)
}

/// The service that a query string names: `service=a` or, on `/ingest`, `name=a{…}`.
fn service_of(uri: &Uri) -> String {
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map(|query| query.0)
        .unwrap_or_default();
    let value = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let ingested = || value("name").map(|name| name.split('{').next().unwrap_or("").to_owned());
    value("service").or_else(ingested).unwrap_or_default()
}

fn sentence_in(body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let field = |name: &str| json.as_ref()?.get(name)?.as_str().map(str::to_owned);
    field("message")
        .or_else(|| field("error"))
        .unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned())
}

fn kind_of(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        401 => ErrorKind::Unauthenticated,
        404 => ErrorKind::NotFound,
        405 => ErrorKind::MethodNotAllowed,
        408 => ErrorKind::Timeout,
        413 => ErrorKind::TooLarge,
        415 => ErrorKind::Unsupported,
        422 => ErrorKind::Malformed,
        429 => ErrorKind::RateLimited,
        501 => ErrorKind::Unimplemented,
        503 => ErrorKind::Unavailable,
        504 => ErrorKind::Deadline,
        status if status >= 500 => ErrorKind::Internal,
        _ => ErrorKind::Invalid,
    }
}

/// The service among labels as sent.
pub(crate) fn service_in(labels: &[(String, String)]) -> &str {
    let named = |wanted: &str| labels.iter().find(|(name, value)| name == wanted && !value.is_empty());
    std::iter::once(profile::SERVICE_NAME)
        .chain(crate::push::SERVICE_NAME_FALLBACKS)
        .find_map(named)
        .map_or("", |(_, value)| value)
}

/// For what was accepted and cannot be found all the same.
fn passed_over(outcome: Outcome) -> Option<(&'static str, &'static str)> {
    match outcome {
        Outcome::Stored => None,
        Outcome::Duplicate => Some(("duplicate", "the profile was here already, so nothing more was stored")),
        Outcome::Empty => Some(("empty", "the profile has no samples, so nothing was stored")),
        Outcome::Baseline => Some((
            "baseline",
            "the first cumulative profile of a series is only what later ones are compared with",
        )),
    }
}

/// What a change means, for people.
fn sentence(reason: AlteredReason) -> &'static str {
    match reason {
        AlteredReason::ValueCountMismatch => {
            "samples with another number of values than there are sample types were left out"
        }
        AlteredReason::NegativeValue => {
            "negative values were left out; a difference says so with negative=keep"
        }
        AlteredReason::ZeroValue => "samples whose values are all zero were left out",
        AlteredReason::NoStack => "samples without a stack are kept under the frame (no stack)",
        AlteredReason::StackTooDeep => "stacks that are too deep lost frames at their root",
        AlteredReason::StringTooLong => "names that are too long lost their beginning",
        AlteredReason::InvalidUtf8 => "names that are no UTF-8 are kept as they are and shown with marks",
        AlteredReason::NoTime => "the profile names no time, so that of its arrival was taken",
        AlteredReason::DuplicateSampleType => "two value columns had one name, so the later one was renamed",
        AlteredReason::BadLine => "lines that could not be read were left out",
        AlteredReason::ParameterDefaulted => "a parameter that could not be read was taken as not sent",
        AlteredReason::ServiceNameDefaulted => {
            "no service_name was sent, so another label or unknown_service took its place"
        }
        AlteredReason::LabelConflict => "two labels had one name, so one of them was taken",
        AlteredReason::CutByProfiler => "the profiler itself had cut stacks",
        _ => "a part was changed or left out",
    }
}

#[cfg(test)]
mod tests;
