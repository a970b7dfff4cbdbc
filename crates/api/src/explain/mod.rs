//! Why a profile is missing or looks different: the last refusals and changes of each tenant, by reason
//! (`GET /api/v1/ingest/explain`, D14), and which clients there are.
//!
//! Every push goes through [`watch`], which knows the client; what becomes of its profiles is noted by [`crate::push`].
//! What is refused before that, such as a parameter that nobody knows, is read off the answer. Kept in memory only,
//! within the limits of `limits.rs`: equal reasons of one client and service are one entry with a count, the sentence and
//! request of the last time and a body of the first; the entry that was seen longest ago goes first.
//!
//! A request without the secret, or without a tenant where one is needed, is nobody's and is not kept.

mod bodies;
mod clients;
mod watch;
mod words;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use profile::{Altered, Tenant, Timestamp};
use store::Outcome;

use crate::{ErrorKind, limits};

pub use clients::ClientSeen;
pub(crate) use watch::watch;

pub(crate) use bodies::may_keep;

use bodies::Bodies;
use clients::{Clients, Fate};
use watch::Sender;
use words::{passed_over, sentence};

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
    request: String,
    body_bytes: u64,
    body_id: Option<u64>,
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
    /// The request that it was said to: method, path and query.
    pub request: String,
    /// Bytes of the body that is kept as an example, and its id; `None` where none is, or no longer.
    pub body: Option<(u64, u64)>,
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
    /// Clients, the one heard of last first.
    pub clients: Vec<ClientSeen>,
    /// Clients that had to go.
    pub clients_forgotten: u64,
}

#[derive(Debug, Default)]
struct TenantNotes {
    accepted: u64,
    accepted_last: Option<Timestamp>,
    touched: u64,
    notes: HashMap<Key, Note>,
    forgotten: u64,
    clients: Clients,
}

/// The notes of all tenants.
#[derive(Debug, Default)]
pub struct Explain {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tenants: HashMap<Tenant, TenantNotes>,
    clock: u64,
    bodies: Bodies,
}

/// One profile of a push, as far as it is known.
pub(crate) struct Subject<'a> {
    pub tenant: &'a Tenant,
    pub api: &'static str,
    pub service: &'a str,
    /// The body as sent, where there is one.
    pub body: Option<&'a Bytes>,
}

/// What happened, before it is one of the notes.
struct Event<'a> {
    is_refusal: bool,
    reason: &'static str,
    count: u64,
    example: &'a str,
}

impl Explain {
    /// A profile was taken in, whose time is `start`.
    pub(crate) fn accepted(
        &self,
        subject: &Subject<'_>,
        outcome: Outcome,
        altered: &Altered,
        start: Timestamp,
    ) {
        let now = Timestamp::now();
        let mut events: Vec<Event<'_>> = Vec::new();
        let mut add = |reason, count, example| {
            events.push(Event { is_refusal: false, reason, count, example });
        };
        for (reason, count) in altered.sorted() {
            add(reason.word(), count, sentence(reason));
        }
        if let Some((word, sentence)) = passed_over(outcome) {
            add(word, 1, sentence);
        }
        let late = late_sentence(start, now);
        if let (Outcome::Stored, Some(late)) = (outcome, &late) {
            add("late", 1, late);
        }
        self.note(subject, now, &Fate::Accepted, &events);
    }

    /// A profile was refused.
    pub(crate) fn refused(&self, subject: &Subject<'_>, kind: ErrorKind, text: &str) {
        let event = Event { is_refusal: true, reason: kind.word(), count: 1, example: text };
        self.note(subject, Timestamp::now(), &Fate::Refused(text), &[event]);
    }

    fn note(&self, subject: &Subject<'_>, now: Timestamp, fate: &Fate<'_>, events: &[Event<'_>]) {
        let sender = Sender::current();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { tenants, clock, bodies } = &mut *state;
        *clock += 1;
        let notes = TenantNotes::of(tenants, subject.tenant);
        notes.touched = *clock;
        if matches!(fate, Fate::Accepted) {
            notes.accepted += 1;
            notes.accepted_last = Some(now);
        }
        if let Some(sender) = &sender {
            notes.clients.note(sender, subject.service, fate, now);
        }
        for event in events {
            let note = notes.add(key(subject, sender.as_deref(), event), event, now);
            if let Some(sender) = &sender {
                note.request.clone_from(&sender.request);
            }
            if let Some(body) = subject.body
                && note.body_id.is_none_or(|id| bodies.get(id, subject.tenant).is_none())
            {
                note.body_id = bodies.keep(subject.tenant, body);
                note.body_bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
            }
        }
        drop(state);
        if let Some(sender) = sender {
            sender.mark_noted();
        }
    }

    /// The body that is kept under an id, if it is of one of these tenants and still there.
    #[must_use]
    pub fn body(&self, tenants: &[Tenant], id: u64) -> Option<Bytes> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.iter().find_map(|tenant| state.bodies.get(id, tenant).cloned())
    }

    /// What is known of a tenant.
    #[must_use]
    pub fn of(&self, tenant: &Tenant) -> TenantExplained {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(notes) = state.tenants.get(tenant) else { return TenantExplained::default() };
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
                request: note.request.clone(),
                body: note
                    .body_id
                    .filter(|&id| state.bodies.get(id, tenant).is_some())
                    .map(|id| (note.body_bytes, id)),
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
            clients: notes.clients.list(),
            clients_forgotten: notes.clients.forgotten,
        }
    }
}

impl TenantNotes {
    fn of<'a>(tenants: &'a mut HashMap<Tenant, Self>, tenant: &Tenant) -> &'a mut Self {
        if !tenants.contains_key(tenant) && tenants.len() >= limits::EXPLAINED_TENANTS_MAX {
            let oldest =
                tenants.iter().min_by_key(|(_, notes)| notes.touched).map(|(tenant, _)| tenant.clone());
            oldest.and_then(|tenant| tenants.remove(&tenant));
        }
        tenants.entry(tenant.clone()).or_default()
    }

    fn add(&mut self, key: Key, event: &Event<'_>, now: Timestamp) -> &mut Note {
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
            request: String::new(),
            body_bytes: 0,
            body_id: None,
        });
        note.count = note.count.saturating_add(event.count);
        note.last = now;
        note.example = shortened(event.example, limits::EXPLAINED_EXAMPLE_BYTES_MAX);
        note
    }
}

fn key(subject: &Subject<'_>, sender: Option<&Sender>, event: &Event<'_>) -> Key {
    Key {
        is_refusal: event.is_refusal,
        reason: event.reason,
        api: subject.api,
        service: shortened(subject.service, limits::EXPLAINED_NAME_BYTES_MAX),
        client: sender.map_or_else(String::new, |sender| sender.agent.clone()),
    }
}

/// Says that a profile is of a time that a query without a range does not look at, if it is.
fn late_sentence(start: Timestamp, now: Timestamp) -> Option<String> {
    let nanos = u64::try_from(now.0.saturating_sub(start.0)).ok()?;
    let age = std::time::Duration::from_nanos(nanos);
    if age < limits::LATE_AFTER {
        return None;
    }
    let start = jiff::Timestamp::from_nanosecond(i128::from(start.0)).ok()?;
    // Never one of something: each unit begins where the one before has 120 or 48 of it.
    let (count, unit) = match age.as_secs() / 60 {
        minutes @ 0..120 => (minutes, "minutes"),
        minutes if minutes < 48 * 60 => (minutes / 60, "hours"),
        minutes => (minutes / (24 * 60), "days"),
    };
    Some(format!(
        "the profile is of {start:.0}, {count} {unit} before it arrived: look for it in a range around then"
    ))
}

/// The beginning of a text, in whole letters.
fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// The service among labels as sent.
pub(crate) fn service_in(labels: &[(String, String)]) -> &str {
    let named = |wanted: &str| labels.iter().find(|(name, value)| name == wanted && !value.is_empty());
    std::iter::once(profile::SERVICE_NAME)
        .chain(crate::push::SERVICE_NAME_FALLBACKS)
        .find_map(named)
        .map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests;
