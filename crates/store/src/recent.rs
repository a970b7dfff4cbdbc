//! Recognising retries of pushes that name no time (D2).
//!
//! Such a push gets its time, and so its id, from the moment of its arrival; a retry would get another. For ten minutes
//! the digest alone says that it is the same.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use profile::{ProfileId, Timestamp};

/// A push that is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    /// The id that it was given.
    pub(crate) id: ProfileId,
    /// Its place in the log.
    pub(crate) ticket: u64,
    /// When it arrived.
    arrival: Timestamp,
}

/// Digests of pushes without a time.
#[derive(Debug)]
pub(crate) struct RecentDigests {
    by_digest: HashMap<u128, Remembered>,
    /// Oldest first.
    order: VecDeque<(u128, Timestamp)>,
    memory: Duration,
    entries_max: usize,
}

impl RecentDigests {
    /// Remembers for some time, and at most so many.
    pub(crate) fn new(memory: Duration, entries_max: usize) -> Self {
        Self { by_digest: HashMap::new(), order: VecDeque::new(), memory, entries_max }
    }

    /// The push of a digest, if it arrived not too long ago.
    pub(crate) fn find(&mut self, digest: u128, now: Timestamp) -> Option<Remembered> {
        self.forget(now);
        self.by_digest.get(&digest).copied()
    }

    /// Remembers a push.
    pub(crate) fn add(&mut self, digest: u128, id: ProfileId, ticket: u64, arrival: Timestamp) {
        self.by_digest.insert(digest, Remembered { id, ticket, arrival });
        self.order.push_back((digest, arrival));
        if self.order.len() > self.entries_max {
            self.forget_first();
        }
    }

    fn forget(&mut self, now: Timestamp) {
        let age = |arrival: Timestamp| now.0.saturating_sub(arrival.0);
        let limit = i64::try_from(self.memory.as_nanos()).unwrap_or(i64::MAX);
        while self.order.front().is_some_and(|&(_, arrival)| age(arrival) > limit) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some((digest, arrival)) = self.order.pop_front() else { return };
        // A digest that came again since belongs to the later entry.
        if self.by_digest.get(&digest).is_some_and(|known| known.arrival == arrival) {
            self.by_digest.remove(&digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c097_retries_without_a_time_are_known_for_ten_minutes() {
        let second = 1_000_000_000;
        let mut recent = RecentDigests::new(Duration::from_secs(600), 2);
        recent.add(1, ProfileId(11), 5, Timestamp(0));
        let known = Remembered { id: ProfileId(11), ticket: 5, arrival: Timestamp(0) };
        assert_eq!(recent.find(1, Timestamp(600 * second)), Some(known));
        assert_eq!(recent.find(2, Timestamp(600 * second)), None);
        assert_eq!(recent.find(1, Timestamp(601 * second)), None);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let mut recent = RecentDigests::new(Duration::from_secs(600), 2);
        for digest in 1..=3 {
            recent.add(digest, ProfileId(digest), 0, Timestamp(0));
        }
        assert_eq!((1..=3).filter(|&digest| recent.find(digest, Timestamp(0)).is_some()).count(), 2);
    }
}
