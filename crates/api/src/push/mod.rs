//! The way of a pushed profile, the same for every API.
//!
//! An API turns its request into [`PushRequest`]s: tenant, labels as sent, how the name is found, the body. Here the
//! body is decoded (small ones where they were read, others on the blocking pool), labels, name and time get their rules, the store takes the profile in and its
//! log record is waited for. Only then is there a [`PushReply`], so what a client sees acknowledged is on disk.
//!
//! Not here: formats (`formats`), retries and durability (`store`), what a request looks like on the wire.

mod allowance;
mod attachment;
mod encoding;
mod labels;
mod name;
mod speedscope;
mod text;
mod time;

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use formats::{DecodeError, DecodeErrorKind, Decoded, Decoder};
use http::HeaderValue;
use profile::{
    Altered, LabelSet, Profile, ProfileId, ProfileType, SeriesType, Temporality, Tenant, Timestamp,
    TypedColumn,
};
use store::{Accepted, NewProfile, Outcome, Ticket};

use allowance::Allowance;
pub use attachment::{AttachmentReply, AttachmentRequest, push_attachment};
pub(crate) use encoding::check_content_encoding;
pub use labels::{SERVICE_NAME_FALLBACKS, SeriesLabels, UNKNOWN_SERVICE, series_labels};
pub use name::NameRule;
pub use text::{SpeedscopeProfile, SpeedscopeRule, StackFormat, TextType};
pub use time::{ClientTime, Start, start_of};

use crate::{
    ApiError, ApiState, Claim, ErrorKind, explain, limits,
    memory::TableClaim,
    state::{in_place, run_blocking},
};

/// The response header that says what of a profile was changed or left out (D14).
pub const ALTERED_HEADER: &str = "everflame-altered";

/// Inflated size above which a decoder's memory is given back instead of kept for the next body, bytes. Usual profiles
/// are far smaller; keeping the memory of a rare huge one would cost more than it saves.
const KEPT_DECODER_BYTES_MAX: usize = 4 << 20;

/// Which API a push came by; a word of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `/api/v1/push`.
    Native,
    /// profefe's routes.
    Profefe,
    /// `/ingest`.
    Ingest,
    /// `push.v1.PusherService/Push`.
    Push,
    /// Fetched from a target by this process.
    Scrape,
}

impl Api {
    /// The word for metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Profefe => "profefe",
            Self::Ingest => "ingest",
            Self::Push => "push",
            Self::Scrape => "scrape",
        }
    }
}

/// What a body is.
#[derive(Clone, Debug)]
pub enum BodyFormat {
    /// pprof, compressed or not.
    Pprof,
    /// Stacks with one number each.
    Stacks(StackFormat, TextType),
    /// A speedscope file.
    Speedscope(Arc<dyn SpeedscopeRule>),
}

/// Whether negative values are an error of the profiler or the point of the profile (C009).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Negatives {
    /// They are dropped and counted.
    #[default]
    Drop,
    /// The profile is a difference.
    Keep,
}

/// What becomes of names and label values that are no UTF-8 (C011).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Utf8 {
    /// Their bytes are kept, they are shown with marks and counted.
    #[default]
    Lossy,
    /// The profile is refused.
    Strict,
}

/// A profile as an API received it.
#[derive(Clone, Debug)]
pub struct PushRequest {
    /// Whose it is.
    pub tenant: Tenant,
    /// Which way it came.
    pub api: Api,
    /// Labels as sent, in any order, twins and reserved names included.
    pub labels: Vec<(String, String)>,
    /// How its name is found.
    pub name: NameRule,
    /// What the body is.
    pub format: BodyFormat,
    /// The body as sent.
    pub body: Bytes,
    /// A time named beside the body.
    pub client_time: Option<ClientTime>,
    /// `Some(Cumulative)` only where the client says so (D8).
    pub temporality: Option<Temporality>,
    /// What negative values mean.
    pub negatives: Negatives,
    /// Names of value columns get `_` for `-`, as the old profiler that sends them means it.
    pub without_dashes: bool,
    /// What becomes of names that are no UTF-8.
    pub utf8: Utf8,
    /// What the API itself had to change already.
    pub altered: Altered,
}

impl PushRequest {
    /// A pprof profile with the usual rules.
    #[must_use]
    pub fn pprof(tenant: Tenant, api: Api, labels: Vec<(String, String)>, body: Bytes) -> Self {
        Self {
            tenant,
            api,
            labels,
            name: NameRule::LabelOrSampleTypes,
            format: BodyFormat::Pprof,
            body,
            client_time: None,
            temporality: None,
            negatives: Negatives::Drop,
            without_dashes: false,
            utf8: Utf8::Lossy,
            altered: Altered::default(),
        }
    }
}

/// What became of a profile that was taken in and is on disk.
#[derive(Clone, Debug)]
pub struct PushReply {
    /// Its id.
    pub id: ProfileId,
    /// Stored, known already, empty, or a baseline.
    pub outcome: Outcome,
    /// What was changed or left out.
    pub altered: Altered,
    /// Labels as stored.
    pub labels: LabelSet,
    /// Profile name.
    pub name: String,
    /// Its profile types, one per value column.
    pub types: Vec<ProfileType>,
    /// Start.
    pub time: Timestamp,
}

/// The value of [`ALTERED_HEADER`]; `None` when nothing was altered.
#[must_use]
pub fn altered_header(altered: &Altered) -> Option<HeaderValue> {
    if altered.is_empty() {
        return None;
    }
    let words: Vec<String> =
        altered.sorted().iter().map(|(reason, count)| format!("{}={count}", reason.word())).collect();
    HeaderValue::from_str(&words.join(", ")).ok()
}

/// Takes one profile in and waits until it is on disk.
///
/// # Errors
/// What is wrong with it, or why it cannot be kept now. Nothing is stored then.
pub async fn push_profile(state: &Arc<ApiState>, request: PushRequest) -> Result<PushReply, ApiError> {
    let mut replies = push_profiles(state, vec![request]).await;
    replies.pop().unwrap_or_else(|| Err(ApiError::internal("a push got no reply")))
}

/// Takes several profiles of one request in, each for itself: the good ones are stored whatever becomes of the others,
/// and a retry of all of them stores nothing twice (D14). The replies are in the order of the requests.
pub async fn push_profiles(
    state: &Arc<ApiState>,
    requests: Vec<PushRequest>,
) -> Vec<Result<PushReply, ApiError>> {
    let begun = Instant::now();
    let api = requests.first().map(|request| request.api);
    let origins: Vec<Origin> = requests.iter().map(Origin::of).collect();
    let mut replies = match decode_all(state, requests).await {
        Ok(replies) => replies,
        Err(error) => origins.iter().map(|_| Err(error.clone())).collect(),
    };
    // Tickets grow with the log, so waiting for the last one covers all of them.
    let last = replies.iter().filter_map(|reply| reply.as_ref().ok()).map(|(_, ticket)| *ticket).max();
    if let Some(ticket) = last
        && let Err(error) = state.store.durable(ticket).await
    {
        tracing::error!(%error, "a push is not durable");
        let error = ApiError::not_durable(&error);
        for reply in replies.iter_mut().filter(|reply| reply.is_ok()) {
            *reply = Err(error.clone());
        }
    }
    if let Some(api) = api {
        state.metrics.push_took(api.word(), begun.elapsed());
    }
    let finished = replies.into_iter().zip(origins);
    finished.map(|(reply, origin)| count(state, &origin, reply.map(|(reply, _)| reply))).collect()
}

/// What is left of a request once its body was worked on.
struct Origin {
    tenant: Tenant,
    api: &'static str,
    /// As sent; only a refusal needs it.
    service: String,
    bytes: usize,
    /// As sent, where it may be kept as an example.
    body: Option<Bytes>,
}

impl Origin {
    fn of(request: &PushRequest) -> Self {
        Self {
            tenant: request.tenant.clone(),
            api: request.api.word(),
            service: explain::service_in(&request.labels).to_owned(),
            bytes: request.body.len(),
            body: explain::may_keep(&request.body).then(|| request.body.clone()),
        }
    }

    fn subject<'a>(&'a self, service: &'a str) -> explain::Subject<'a> {
        explain::Subject { tenant: &self.tenant, api: self.api, service, body: self.body.as_ref() }
    }
}

fn count(
    state: &ApiState,
    origin: &Origin,
    reply: Result<PushReply, ApiError>,
) -> Result<PushReply, ApiError> {
    let api = origin.api;
    match &reply {
        Ok(reply) => {
            state.metrics.pushed(api, reply.outcome, &reply.altered, origin.bytes);
            let subject = origin.subject(reply.labels.service_name());
            state.explain.accepted(&subject, reply.outcome, &reply.altered, reply.time);
        }
        Err(error) => {
            state.metrics.push_refused(api, error.kind);
            state.explain.refused(&origin.subject(&origin.service), error.kind, &error.text());
            if error.kind == ErrorKind::Internal {
                tracing::error!(api, %error, "push failed");
            } else {
                tracing::debug!(api, %error, "push refused");
            }
        }
    }
    reply
}

type Pushed = Result<(PushReply, Ticket), ApiError>;

/// Bodies of a request up to which it is worked on where it was read, bytes: a few milliseconds of work, for which two
/// changes of thread and caches gone cold would cost a third more.
const IN_PLACE_BYTES_MAX: usize = 128 << 10;

/// Inflated bytes of a request up to which it is worked on where it was read: small bodies of one request may inflate a
/// thousandfold, each for itself.
const IN_PLACE_INFLATED_BYTES_MAX: u64 = 2 << 20;

async fn decode_all(state: &Arc<ApiState>, requests: Vec<PushRequest>) -> Result<Vec<Pushed>, ApiError> {
    let slot = state.push_slot().await?;
    let (mut allowance, _cancel) = Allowance::new();
    let bytes: usize = requests.iter().map(|request| request.body.len()).sum();
    let looks_small = bytes <= IN_PLACE_BYTES_MAX;
    // A large push may hold its service's lock for a second; who waits for it must not hold up sockets.
    let tried_in_place = looks_small && !state.has_large_push();
    let (done, rest) = if tried_in_place {
        in_place(|| decode_small(state, requests, &mut allowance))?
    } else {
        (Vec::new(), requests)
    };
    if rest.is_empty() {
        return Ok(done);
    }
    let large = (tried_in_place || !looks_small).then(|| state.begin_large_push());
    let state = Arc::clone(state);
    run_blocking(move || {
        let (_slot, _large) = (slot, large);
        let rest = rest.into_iter().map(|request| decode_one(&state, request, &mut allowance));
        Ok(done.into_iter().chain(rest).collect())
    })
    .await
}

/// Decodes bodies as long as they are as small inside as they look; gives back the others, in their order.
fn decode_small(
    state: &ApiState,
    requests: Vec<PushRequest>,
    allowance: &mut Allowance,
) -> (Vec<Pushed>, Vec<PushRequest>) {
    let mut done = Vec::with_capacity(requests.len());
    let mut requests = requests.into_iter();
    while let Some(request) = requests.next() {
        let is_small = allowance.used_bytes() <= IN_PLACE_INFLATED_BYTES_MAX;
        match is_small.then(|| decode_with(state, &request, Growth::Refused, allowance)).flatten() {
            Some(pushed) => done.push(pushed),
            None => return (done, std::iter::once(request).chain(requests).collect()),
        }
    }
    (done, Vec::new())
}

/// Decodes a body and hands it to the store: CPU work without waiting.
fn decode_one(state: &ApiState, request: PushRequest, allowance: &mut Allowance) -> Pushed {
    allowance.check()?;
    decode_with(state, &request, Growth::Allowed, allowance)
        .unwrap_or_else(|| Err(ApiError::internal("a body was neither decoded nor refused")))
}

/// Whether a body that inflates to more than was guessed is tried again with more memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Allowed,
    Refused,
}

/// `None` where the body needs more memory and growth is refused.
fn decode_with(
    state: &ApiState,
    request: &PushRequest,
    growth: Growth,
    allowance: &mut Allowance,
) -> Option<Pushed> {
    let guess = inflated_guess(&request.body);
    if growth == Growth::Refused && guess > GUESS_MIN {
        return None;
    }
    let mut claim = match state.memory.claim(guess) {
        Ok(claim) => claim,
        Err(error) => return Some(Err(error)),
    };
    let mut decoder = state.take_decoder();
    let mut decoder_limits = limits::decoder();
    decoder_limits.keep_negative = request.negatives == Negatives::Keep;
    decoder_limits.without_dashes = request.without_dashes;
    decoder_limits.strict_utf8 = request.utf8 == Utf8::Strict;
    let mut tables = None;
    if growth == Growth::Allowed {
        match TableClaim::new(&state.tables) {
            Ok(claimed) => decoder_limits.table_memory = Some(tables.insert(Arc::new(claimed)).clone()),
            Err(error) => return Some(Err(error)),
        }
    }
    let tables = tables.as_deref();
    let pushed = loop {
        decoder_limits.inflated_bytes_max = claim.bytes();
        match decode_and_store(state, request, &mut decoder, &decoder_limits, tables) {
            Err(error) if error.kind == DecodeErrorKind::InflatesTooFar => {
                if growth == Growth::Refused {
                    break None;
                }
                match grown(&mut claim) {
                    Ok(true) => {}
                    Ok(false) => break Some(Err(error.into())),
                    Err(error) => break Some(Err(error)),
                }
            }
            Err(error) => break Some(Err(with_way(error, request))),
            Ok(pushed) => break Some(pushed),
        }
    };
    allowance.charge(decoder.take_inflated_bytes());
    if claim.bytes() <= KEPT_DECODER_BYTES_MAX {
        state.keep_decoder(decoder);
    }
    pushed
}

/// The error, with how a body that is no pprof is sent by this API.
fn with_way(error: DecodeError, request: &PushRequest) -> ApiError {
    let is_other = matches!(request.format, BodyFormat::Pprof) && error.kind == DecodeErrorKind::Unsupported;
    let mut error = ApiError::from(error);
    if let Some(way) = is_other.then(|| text::way_of(request.api, &request.body)).flatten() {
        error.message.push_str("; ");
        error.message.push_str(way);
    }
    error
}

/// Makes the claim larger for another try; `false` when it has the whole limit already.
fn grown(claim: &mut Claim) -> Result<bool, ApiError> {
    if claim.bytes() >= limits::INFLATED_BYTES_MAX {
        return Ok(false);
    }
    claim.grow_to(claim.bytes().saturating_mul(8).min(limits::INFLATED_BYTES_MAX))?;
    Ok(true)
}

/// Smallest claim, bytes: larger than nearly all profiles, so that no body is tried twice for little.
const GUESS_MIN: usize = 1 << 20;

/// How many bytes a body will have after inflation, as far as it says so. A wrong guess costs a second try, never
/// memory: the decoder stops at what was claimed.
fn inflated_guess(body: &[u8]) -> usize {
    /// Deflate makes nothing more than this many times smaller.
    const DEFLATE_RATIO_MAX: usize = 1032;
    let said = match body {
        [0x1f, 0x8b, .., a, b, c, d] => {
            let said = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
            said.min(body.len().saturating_mul(DEFLATE_RATIO_MAX))
        }
        _ => body.len(),
    };
    said.max(body.len()).clamp(GUESS_MIN, limits::INFLATED_BYTES_MAX)
}

/// The outer error is the decoder's, so that the caller may try again with more memory.
fn decode_and_store(
    state: &ApiState,
    request: &PushRequest,
    decoder: &mut Decoder,
    decoder_limits: &formats::Limits,
    tables: Option<&TableClaim>,
) -> Result<Pushed, DecodeError> {
    let body = &request.body;
    let (profile, decoded) = match &request.format {
        BodyFormat::Pprof => decoder.pprof(body, decoder_limits)?,
        BodyFormat::Stacks(format, typed) => {
            let decode = match format {
                StackFormat::Folded => Decoder::folded,
                StackFormat::Lines => Decoder::lines,
                StackFormat::Trie => Decoder::trie,
                StackFormat::Tree => Decoder::tree,
            };
            decode(decoder, body, typed.measure(), decoder_limits)?
        }
        BodyFormat::Speedscope(rule) => {
            return speedscope::decode_and_store(state, request, &**rule, decoder, decoder_limits, tables);
        }
    };
    if let Err(error) = claim_work(tables, 0, work_bytes(&profile)) {
        return Ok(Err(error));
    }
    // The type of such a body stands beside it: the same numbers as objects and as bytes are two profiles.
    let identity;
    let digest_bytes = match &request.format {
        BodyFormat::Stacks(_, typed) => {
            identity = typed.identity(&request.body);
            identity.as_slice()
        }
        _ => profile.text,
    };
    let subject = Subject { labels: request.labels.clone(), name: &request.name };
    Ok(store(state, request, subject, profile, &decoded, digest_bytes))
}

/// Memory that interning a profile takes beside its tables: hashes, nodes and sort keys of its samples, and their values
/// as rows.
fn work_bytes(profile: &Profile<'_>) -> usize {
    const SAMPLE_BYTES: usize = 52;
    const VALUE_BYTES: usize = 16;
    let columns = profile.columns;
    columns.sample_count().saturating_mul(SAMPLE_BYTES) + columns.values.len().saturating_mul(VALUE_BYTES)
}

/// Claims that memory for a large profile, as far as it is not claimed already. Small bodies have no claim; what they take
/// is kept from push to push.
fn claim_work(tables: Option<&TableClaim>, claimed_bytes: usize, bytes: usize) -> Result<(), ApiError> {
    // less than what is free was never claimed
    let claimed_bytes = if claimed_bytes > WORK_BYTES_FREE { claimed_bytes } else { 0 };
    match tables {
        Some(tables) if bytes > WORK_BYTES_FREE.max(claimed_bytes) => tables.add_work(bytes - claimed_bytes),
        _ => Ok(()),
    }
}

/// Bytes of work that nobody asks for: all pushes at once take less than one giant.
const WORK_BYTES_FREE: usize = 4 << 20;

/// Which series a profile belongs to.
struct Subject<'a> {
    /// As sent.
    labels: Vec<(String, String)>,
    name: &'a NameRule,
}

/// Applies the rules for labels, name and time, and pushes.
fn store(
    state: &ApiState,
    request: &PushRequest,
    subject: Subject<'_>,
    profile: Profile<'_>,
    decoded: &Decoded,
    digest_bytes: &[u8],
) -> Pushed {
    let mut altered = request.altered.clone();
    altered.merge(&decoded.altered);
    let series = series_labels(subject.labels, &mut altered)?;
    let name = name::profile_name(subject.name, series.name.as_deref(), &profile)?;
    let header = &profile.columns.header;
    let start = start_of(header.time_nanos, request.client_time, Timestamp::now(), &mut altered)?;
    let types = profile_types(&name, &profile);
    let temporality = request.temporality.unwrap_or_else(|| {
        let instant = !types.is_empty() && types.iter().all(ProfileType::is_instant);
        if instant { Temporality::Instant } else { Temporality::Delta }
    });
    let Accepted { id, outcome, ticket } = state.store.push(&NewProfile {
        tenant: &request.tenant,
        labels: series.labels.clone(),
        name: &name,
        temporality,
        profile,
        digest_bytes,
        time: start.time,
        time_is_stated: start.is_stated,
        id: None,
    })?;
    let reply = PushReply { id, outcome, altered, labels: series.labels, name, types, time: start.time };
    Ok((reply, ticket))
}

fn profile_types(name: &str, profile: &Profile<'_>) -> Vec<ProfileType> {
    let columns = profile.columns;
    let period = columns.header.period_type.unwrap_or_default();
    let series = SeriesType {
        name: name.to_owned(),
        period_type: profile.text_of(period.kind).into_owned(),
        period_unit: profile.text_of(period.unit).into_owned(),
        columns: columns
            .sample_types
            .iter()
            .map(|typed| TypedColumn {
                sample_type: profile.text_of(typed.kind).into_owned(),
                sample_unit: profile.text_of(typed.unit).into_owned(),
            })
            .collect(),
    };
    (0..series.columns.len()).filter_map(|column| series.profile_type(column)).collect()
}
