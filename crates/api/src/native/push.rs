//! `POST /api/v1/push`: one profile, its labels in the query string, its bytes in the body.

use std::{collections::BTreeMap, sync::Arc};

use axum::{body::Bytes, extract::State, response::Response};
use formats::SpeedscopeUnit;
use profile::{Altered, SERVICE_NAME, Temporality, Timestamp};
use store::Outcome;

use super::{
    NativeResult, convert, json, json_response,
    parameters::{Parameters, cut},
    time,
};
use crate::{
    ApiError, ApiState, access, limits,
    profile_words::{PROFEFE_WORDS, TRACE, find},
    push::{
        ALTERED_HEADER, Api, AttachmentRequest, BodyFormat, ClientTime, NameRule, Negatives, PushRequest,
        SpeedscopeProfile, SpeedscopeRule, StackFormat, TextType, Utf8, altered_header,
        check_content_encoding, push_attachment, push_profile,
    },
};

const KNOWN: &[&str] = &[
    "service",
    "label",
    "labels",
    "name",
    "type",
    "format",
    "sample_type",
    "unit",
    "sample_rate",
    "temporality",
    "time",
    "negative",
    "utf8",
];

/// Keeps one profile; the answer comes when it is on disk.
pub(super) async fn push(
    State(state): State<Arc<ApiState>>,
    parameters: Parameters,
    body: Bytes,
) -> NativeResult {
    parameters.allow(&[KNOWN])?;
    check_content_encoding(&parameters.headers)?;
    let tenant = access::write_tenant(&parameters.headers, state.options.tenancy)?;
    let labels = labels(&parameters)?;
    let client_time = client_time(&parameters)?;
    if parameters.one("type")? == Some(TRACE) {
        let request = AttachmentRequest { tenant, api: Api::Native, labels, kind: TRACE, body, client_time };
        let reply = push_attachment(&state, request).await?;
        return answer(
            wire::PushedProfile {
                id: reply.id.to_string(),
                outcome: outcome(reply.outcome),
                name: TRACE.into(),
                types: Vec::new(),
                labels: convert::labels(&reply.labels),
                time: time::text(reply.time),
                altered: altered(&reply.altered),
            },
            &reply.altered,
        );
    }
    let request = PushRequest {
        name: name_rule(&parameters)?,
        format: body_format(&parameters)?,
        client_time,
        temporality: parameters.word("temporality", &TEMPORALITIES)?,
        negatives: parameters.word("negative", &NEGATIVES)?.unwrap_or_default(),
        utf8: parameters.word("utf8", &UTF8)?.unwrap_or_default(),
        ..PushRequest::pprof(tenant, Api::Native, labels, body)
    };
    let reply = push_profile(&state, request).await?;
    answer(
        wire::PushedProfile {
            id: reply.id.to_string(),
            outcome: outcome(reply.outcome),
            types: convert::types(&reply.types),
            labels: convert::labels(&reply.labels),
            time: time::text(reply.time),
            altered: altered(&reply.altered),
            name: reply.name,
        },
        &reply.altered,
    )
}

const TEMPORALITIES: [(&str, Temporality); 3] = [
    ("delta", Temporality::Delta),
    ("instant", Temporality::Instant),
    ("cumulative", Temporality::Cumulative),
];

const NEGATIVES: [(&str, Negatives); 2] = [("drop", Negatives::Drop), ("keep", Negatives::Keep)];

const UTF8: [(&str, Utf8); 2] = [("lossy", Utf8::Lossy), ("strict", Utf8::Strict)];

fn answer(profile: wire::PushedProfile, changes: &Altered) -> NativeResult {
    let body = json(&wire::PushReply { profiles: vec![profile] })?;
    let mut response: Response = json_response(body);
    if let Some(value) = altered_header(changes) {
        response.headers_mut().insert(ALTERED_HEADER, value);
    }
    Ok(response)
}

fn outcome(outcome: Outcome) -> wire::PushOutcome {
    match outcome {
        Outcome::Stored => wire::PushOutcome::Stored,
        Outcome::Duplicate => wire::PushOutcome::Duplicate,
        Outcome::Empty => wire::PushOutcome::Empty,
        Outcome::Baseline => wire::PushOutcome::Baseline,
    }
}

fn altered(altered: &Altered) -> BTreeMap<String, u64> {
    altered.sorted().into_iter().map(|(reason, count)| (reason.word().to_owned(), count)).collect()
}

/// `service=a`, `label=k=v` as often as wanted (kept as sent, the value may hold anything), `labels=k=v,k2=v2` (spaces
/// around a comma belong to the list).
fn labels(parameters: &Parameters) -> Result<Vec<(String, String)>, ApiError> {
    let mut pairs = Vec::new();
    let listed = parameters.many("labels").flat_map(|list| list.split(','));
    // no more than spaces: what else is no letter is judged like everything in a name
    let listed = listed.map(|item| item.trim_matches(' ')).filter(|item| !item.is_empty());
    for (name, text) in
        parameters.many("label").map(|text| ("label", text)).chain(listed.map(|text| ("labels", text)))
    {
        let Some((label, value)) = text.split_once('=') else {
            return Err(ApiError::invalid(name, format!("{:?} is not of the form name=value", cut(text))));
        };
        pairs.push((label.to_owned(), value.to_owned()));
    }
    if let Some(service) = parameters.one("service")? {
        pairs.push((SERVICE_NAME.to_owned(), service.to_owned()));
    }
    Ok(pairs)
}

fn client_time(parameters: &Parameters) -> Result<Option<ClientTime>, ApiError> {
    let Some(text) = parameters.one("time")? else { return Ok(None) };
    let time = time::instant("time", text, Timestamp::now())?;
    Ok(Some(ClientTime { field: "time", time }))
}

fn name_rule(parameters: &Parameters) -> Result<NameRule, ApiError> {
    match (parameters.one("name")?, parameters.one("type")?) {
        (None, None) => Ok(NameRule::LabelOrSampleTypes),
        (Some(name), None) => Ok(NameRule::Given(name.to_owned())),
        (None, Some(word)) => match find(&PROFEFE_WORDS, word) {
            Some(entry) => Ok(NameRule::Given(entry.name.to_owned())),
            None => {
                let known: Vec<&str> = PROFEFE_WORDS.iter().map(|entry| entry.word).collect();
                let message = format!(
                    "{:?} is none of {}, {TRACE}; other names go in name=",
                    cut(word),
                    known.join(", ")
                );
                Err(ApiError::invalid("type", message))
            }
        },
        (Some(_), Some(_)) => Err(ApiError::invalid("type", "give either name or type")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Pprof,
    Stacks(StackFormat),
    Speedscope,
}

const FORMATS: [(&str, Format); 6] = [
    ("pprof", Format::Pprof),
    ("folded", Format::Stacks(StackFormat::Folded)),
    ("lines", Format::Stacks(StackFormat::Lines)),
    ("trie", Format::Stacks(StackFormat::Trie)),
    ("tree", Format::Stacks(StackFormat::Tree)),
    ("speedscope", Format::Speedscope),
];

fn body_format(parameters: &Parameters) -> Result<BodyFormat, ApiError> {
    let format = parameters.word("format", &FORMATS)?.unwrap_or(Format::Pprof);
    let (sample_type, unit) = (parameters.one("sample_type")?, parameters.one("unit")?);
    let sample_rate = sample_rate(parameters)?;
    let given = [
        ("sample_type", sample_type.is_some()),
        ("unit", unit.is_some()),
        ("sample_rate", sample_rate.is_some()),
    ];
    let nothing_given = |word: &str| match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => {
            Err(ApiError::invalid(*name, format!("is for text formats; {word} says it in the body")))
        }
        None => Ok(()),
    };
    let stacks = match format {
        Format::Pprof => return nothing_given("pprof").map(|()| BodyFormat::Pprof),
        Format::Speedscope => {
            nothing_given("speedscope")?;
            return Ok(BodyFormat::Speedscope(Arc::new(ByUnit { name: name_rule(parameters)? })));
        }
        Format::Stacks(format) => format,
    };
    let text_type = match sample_rate {
        Some(rate) if unit.is_none() => TextType::sampled(sample_type.unwrap_or("cpu"), rate),
        Some(_) => return Err(ApiError::invalid("unit", "is nanoseconds where sample_rate is given")),
        None => TextType::plain(sample_type.unwrap_or("samples"), unit.unwrap_or("count")),
    };
    Ok(BodyFormat::Stacks(stacks, text_type))
}

/// Profiles of a speedscope file are what their unit says: time is `wall`, bytes are `space`.
#[derive(Debug)]
struct ByUnit {
    name: NameRule,
}

impl SpeedscopeRule for ByUnit {
    fn stored_as(&self, unit: SpeedscopeUnit, _is_alone: bool) -> Result<SpeedscopeProfile, ApiError> {
        let typed = match unit {
            SpeedscopeUnit::None => TextType::plain("samples", "count"),
            SpeedscopeUnit::Time { .. } => TextType::plain("wall", "nanoseconds"),
            SpeedscopeUnit::Bytes => TextType::plain("space", "bytes"),
        };
        Ok(SpeedscopeProfile { labels: Vec::new(), name: self.name.clone(), typed })
    }
}

/// Samples per second, at least 1 (C032: this API refuses what it cannot use).
fn sample_rate(parameters: &Parameters) -> Result<Option<u32>, ApiError> {
    match parameters.count("sample_rate")? {
        None => Ok(None),
        Some(rate @ 1..=limits::SAMPLE_RATE_MAX) => Ok(u32::try_from(rate).ok()),
        Some(_) => {
            Err(ApiError::invalid("sample_rate", format!("is not from 1 to {}", limits::SAMPLE_RATE_MAX)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c032_a_sample_rate_that_cannot_be_used_is_refused() {
        for bad in ["-1", "0", "abc", "4294967296"] {
            let parameters = Parameters::of(&[("format", "folded"), ("sample_rate", bad)]);
            let error = body_format(&parameters).unwrap_err();
            assert_eq!((error.status().as_u16(), error.field.as_str()), (400, "sample_rate"), "{bad}");
        }
        let parameters = Parameters::of(&[("format", "folded"), ("sample_rate", "100")]);
        let format = body_format(&parameters).unwrap();
        let BodyFormat::Stacks(StackFormat::Folded, typed) = format else { panic!("{format:?}") };
        assert_eq!(typed, TextType::sampled("cpu", 100));
    }

    #[test]
    fn c082_odd_values_are_kept_whole() {
        let parameters = Parameters::of(&[
            ("label", "k=a=b,c {id} 🔥"),
            ("labels", "x=1,y=2"),
            ("service", "team/app.v2"),
        ]);
        let pairs = labels(&parameters).unwrap();
        assert_eq!(pairs[0], ("k".into(), "a=b,c {id} 🔥".into()));
        assert_eq!(pairs[3], (SERVICE_NAME.into(), "team/app.v2".into()));
        assert_eq!(labels(&Parameters::of(&[("label", "k")])).unwrap_err().field, "label");
    }

    #[test]
    fn label_names_are_not_trimmed() {
        let parameters = Parameters::of(&[("label", "a\n=1"), ("labels", "b=1, c\t=2 ,,d=3")]);
        let pairs = labels(&parameters).unwrap();
        let expected = [("a\n", "1"), ("b", "1"), ("c\t", "2"), ("d", "3")];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let error = crate::push::series_labels(pairs, &mut Altered::default()).unwrap_err();
        assert!(error.message.contains("control character"), "{error}");
    }

    #[test]
    fn words_of_text_formats_do_not_fit_pprof() {
        for format in ["pprof", "speedscope"] {
            let parameters = Parameters::of(&[("unit", "bytes"), ("format", format)]);
            assert_eq!(body_format(&parameters).unwrap_err().field, "unit");
        }
    }
}
