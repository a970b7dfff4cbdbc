//! Which clients a tenant has: what each speaks, its version, when it last got through and when it did not.
//!
//! A client is what `User-Agent` says, name and version apart, so that two versions of one agent stand side by side
//! while one replaces the other. Kept in memory only; the client not heard of for longest goes first.

use std::collections::HashMap;

use profile::Timestamp;

use super::{shortened, watch::Sender};
use crate::limits;

/// One client, as it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSeen {
    /// Name from `User-Agent`; empty where the client says none.
    pub name: String,
    /// Version from there; may be empty.
    pub version: String,
    /// What it speaks, such as `ingest multipart`; sorted.
    pub speaks: Vec<String>,
    /// Profiles taken in.
    pub accepted: u64,
    /// When the last one was.
    pub accepted_last: Option<Timestamp>,
    /// Profiles refused.
    pub refused: u64,
    /// When the last one was.
    pub refused_last: Option<Timestamp>,
    /// Why, in the words that it was told.
    pub refused_example: String,
    /// The service that it spoke of last.
    pub service: String,
}

/// The clients of one tenant.
#[derive(Debug, Default)]
pub(super) struct Clients {
    seen: HashMap<(String, String), Seen>,
    pub forgotten: u64,
}

#[derive(Debug)]
struct Seen {
    client: ClientSeen,
    last: Timestamp,
}

/// What became of a profile.
pub(super) enum Fate<'a> {
    Accepted,
    Refused(&'a str),
}

impl Clients {
    /// A client sent a profile.
    pub fn note(&mut self, sender: &Sender, service: &str, fate: &Fate<'_>, now: Timestamp) {
        let (name, version) = name_and_version(&sender.agent);
        let key = (name.to_owned(), version.to_owned());
        if !self.seen.contains_key(&key) && self.seen.len() >= limits::EXPLAINED_CLIENTS_MAX {
            let oldest = self.seen.iter().min_by_key(|(_, seen)| seen.last.0).map(|(key, _)| key.clone());
            if oldest.and_then(|key| self.seen.remove(&key)).is_some() {
                self.forgotten += 1;
            }
        }
        let seen = self.seen.entry(key).or_insert_with(|| Seen::new(name, version, now));
        seen.last = now;
        let client = &mut seen.client;
        if let Err(place) = client.speaks.binary_search(&sender.speech) {
            client.speaks.insert(place, sender.speech.clone());
        }
        if !service.is_empty() && client.service != service {
            client.service = shortened(service, limits::EXPLAINED_NAME_BYTES_MAX);
        }
        match fate {
            Fate::Accepted => {
                client.accepted += 1;
                client.accepted_last = Some(now);
            }
            Fate::Refused(text) => {
                client.refused += 1;
                client.refused_last = Some(now);
                client.refused_example = shortened(text, limits::EXPLAINED_EXAMPLE_BYTES_MAX);
            }
        }
    }

    /// All of them, the one heard of last first.
    pub fn list(&self) -> Vec<ClientSeen> {
        let mut seen: Vec<&Seen> = self.seen.values().collect();
        seen.sort_by(|left, right| {
            let name = |seen: &Seen| (seen.client.name.clone(), seen.client.version.clone());
            right.last.0.cmp(&left.last.0).then_with(|| name(left).cmp(&name(right)))
        });
        seen.into_iter().map(|seen| seen.client.clone()).collect()
    }
}

impl Seen {
    fn new(name: &str, version: &str, now: Timestamp) -> Self {
        let client = ClientSeen {
            name: name.to_owned(),
            version: version.to_owned(),
            speaks: Vec::new(),
            accepted: 0,
            accepted_last: None,
            refused: 0,
            refused_last: None,
            refused_example: String::new(),
            service: String::new(),
        };
        Self { client, last: now }
    }
}

/// `name/version (comment) …` as in RFC 9110, §10.1.5; whatever else is a name without a version.
fn name_and_version(agent: &str) -> (&str, &str) {
    let product = agent.split(' ').next().unwrap_or("");
    match product.split_once('/') {
        Some((name, version)) if !name.is_empty() => (name, version),
        _ => (agent, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(agent: &str, speech: &str) -> Sender {
        Sender { agent: agent.into(), speech: speech.into(), ..Sender::default() }
    }

    #[test]
    fn agents_are_taken_apart() {
        for (agent, expected) in [
            ("pyroscope-go/1.2.7", ("pyroscope-go", "1.2.7")),
            ("Alloy/v1.5.0 (linux; docker)", ("Alloy", "v1.5.0")),
            ("connect-go/1.18.1 (go1.23.4)", ("connect-go", "1.18.1")),
            ("node", ("node", "")),
            ("/1", ("/1", "")),
            ("my agent", ("my agent", "")),
            ("", ("", "")),
        ] {
            assert_eq!(name_and_version(agent), expected);
        }
    }

    #[test]
    fn versions_of_one_client_stand_side_by_side() {
        let mut clients = Clients::default();
        let at = |millis: i64| Timestamp(millis);
        clients.note(&sender("a/1", "push grpc"), "cart", &Fate::Accepted, at(1));
        clients.note(&sender("a/2", "ingest multipart"), "cart", &Fate::Accepted, at(2));
        clients.note(&sender("a/2", "push grpc"), "", &Fate::Refused("body: no"), at(3));
        clients.note(&sender("a/2", "push grpc"), "shop", &Fate::Accepted, at(4));
        let list = clients.list();
        assert_eq!(list.iter().map(|one| one.version.as_str()).collect::<Vec<_>>(), ["2", "1"]);
        let second = &list[0];
        assert_eq!(second.speaks, ["ingest multipart", "push grpc"]);
        assert_eq!((second.accepted, second.accepted_last), (2, Some(at(4))));
        assert_eq!((second.refused, second.refused_last), (1, Some(at(3))));
        assert_eq!((second.refused_example.as_str(), second.service.as_str()), ("body: no", "shop"));
    }

    #[test]
    fn the_client_not_heard_of_for_longest_goes() {
        let mut clients = Clients::default();
        for number in 0..limits::EXPLAINED_CLIENTS_MAX + 3 {
            let at = Timestamp(i64::try_from(number).unwrap());
            clients.note(&sender(&format!("a/{number}"), "push grpc"), "s", &Fate::Accepted, at);
        }
        let list = clients.list();
        assert_eq!((list.len(), clients.forgotten), (limits::EXPLAINED_CLIENTS_MAX, 3));
        assert!(list.iter().all(|one| !["0", "1", "2"].contains(&one.version.as_str())));
    }
}
