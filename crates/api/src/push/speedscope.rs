//! speedscope files: one push, any number of profiles (C055).
//!
//! Each profile is stored for itself, with the label `profile_name` where the file has several. Good ones are stored
//! whatever becomes of the others; the answer names the first that is bad, and a retry stores nothing twice (D14).

use formats::{DecodeError, Decoded, Decoder};
use profile::{Columns, Profile};
use store::Outcome;
use xxhash_rust::xxh3::xxh3_128;

use super::{PushReply, PushRequest, Pushed, SpeedscopeRule, Subject, claim_work, store, work_bytes};
use crate::{ApiError, ApiState, memory::TableClaim};

/// The label that tells the profiles of one file apart.
const PROFILE_NAME_LABEL: &str = "profile_name";

/// Decodes and stores all profiles of a file. The reply is that of the first, with what was altered in all of them.
pub(super) fn decode_and_store(
    state: &ApiState,
    request: &PushRequest,
    rule: &dyn SpeedscopeRule,
    decoder: &mut Decoder,
    limits: &formats::Limits,
    tables: Option<&TableClaim>,
) -> Result<Pushed, DecodeError> {
    let mut file = decoder.speedscope(&request.body, limits)?;
    if file.is_empty() {
        return Ok(without_profiles(state, request, rule));
    }
    let is_alone = file.len() == 1;
    let body_digest = (!is_alone).then(|| xxh3_128(&request.body));
    let mut pushed: Option<Pushed> = None;
    let mut claimed_bytes = 0;
    for index in 0..file.len() {
        let (unit, name) = (file.unit(index), file.name(index));
        let next = rule.stored_as(unit, is_alone).and_then(|kind| {
            let (profile, decoded) = file.decode(index, kind.typed.measure(), limits)?;
            let bytes = work_bytes(&profile);
            // the profiles follow one another, so memory is claimed for the largest of them
            claim_work(tables, claimed_bytes, bytes)?;
            claimed_bytes = claimed_bytes.max(bytes);
            let mut labels = request.labels.clone();
            labels.extend(kind.labels);
            if !is_alone {
                labels.push((PROFILE_NAME_LABEL.to_owned(), name));
            }
            // Two profiles of one file may have all labels in common, so the digest tells their places apart.
            let digest = body_digest.map(|digest| [digest, index as u128].map(u128::to_le_bytes).concat());
            let subject = Subject { labels, name: &kind.name };
            store(state, request, subject, profile, &decoded, digest.as_deref().unwrap_or(&request.body))
        });
        let next = next.map_err(|error| if is_alone { error } else { in_profile(error, index) });
        pushed = Some(match pushed {
            Some(earlier) => joined(earlier, next),
            None => next,
        });
    }
    Ok(pushed.unwrap_or_else(|| Err(ApiError::internal("a file with profiles had none"))))
}

/// A file without a profile is an empty profile (D15).
fn without_profiles(state: &ApiState, request: &PushRequest, rule: &dyn SpeedscopeRule) -> Pushed {
    let kind = rule.stored_as(formats::SpeedscopeUnit::None, true)?;
    let mut columns = Columns::default();
    columns.clear();
    let mut labels = request.labels.clone();
    labels.extend(kind.labels);
    let profile = Profile { text: &[], columns: &columns };
    store(state, request, Subject { labels, name: &kind.name }, profile, &Decoded::default(), &request.body)
}

fn in_profile(error: ApiError, index: usize) -> ApiError {
    let place = format!("profiles[{index}]");
    let field = match error.field.as_str() {
        "" => place,
        field if field.starts_with(&place) => error.field,
        field => format!("{place}: {field}"),
    };
    ApiError { field, ..error }
}

/// The first error stays, except that one of ours goes before one of the client, so that the client tries again.
fn joined(earlier: Pushed, next: Pushed) -> Pushed {
    match (earlier, next) {
        (Ok((mut reply, ticket)), Ok((other, other_ticket))) => {
            add(&mut reply, other);
            Ok((reply, ticket.max(other_ticket)))
        }
        (Err(earlier), Err(next))
            if next.status().is_server_error() && !earlier.status().is_server_error() =>
        {
            Err(next)
        }
        (Err(error), _) | (Ok(_), Err(error)) => Err(error),
    }
}

fn add(reply: &mut PushReply, other: PushReply) {
    reply.altered.merge(&other.altered);
    let rank = |outcome| match outcome {
        Outcome::Stored => 3,
        Outcome::Baseline => 2,
        Outcome::Duplicate => 1,
        Outcome::Empty => 0,
    };
    if rank(other.outcome) > rank(reply.outcome) {
        reply.outcome = other.outcome;
    }
    for typed in other.types {
        if !reply.types.contains(&typed) {
            reply.types.push(typed);
        }
    }
}
