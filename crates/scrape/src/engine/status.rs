//! What is known of targets, for people.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use profile::{Tenant, Timestamp};

use crate::{Job, Labels, ScrapeError, Target, limits, sink::Kept};

/// A job with its targets.
#[derive(Clone, Debug)]
pub struct JobStatus {
    /// `job_name`.
    pub name: String,
    /// Whose data it becomes.
    pub tenant: Option<Tenant>,
    /// Where its targets come from.
    pub discoveries: Vec<DiscoveryStatus>,
    /// What is scraped.
    pub targets: Vec<TargetStatus>,
    /// What cannot be scraped, and why; the first of them.
    pub unusable: Vec<UnusedTarget>,
    /// What rules drop; the first of them.
    pub dropped: Vec<UnusedTarget>,
    /// How many are unusable.
    pub unusable_count: usize,
    /// How many rules drop.
    pub dropped_count: usize,
}

/// One place that targets come from.
#[derive(Clone, Debug)]
pub struct DiscoveryStatus {
    /// `static`, `file`, `http` or `dns`.
    pub kind: &'static str,
    /// Addresses that it names now.
    pub targets: usize,
    /// When it was asked last.
    pub at: Option<Timestamp>,
    /// What went wrong then.
    pub error: Option<String>,
}

/// A target and kind that is scraped.
#[derive(Clone, Debug)]
pub struct TargetStatus {
    /// What is scraped.
    pub target: Arc<Target>,
    /// The last scrape that has ended.
    pub last: Option<LastScrape>,
    /// Scrapes that have ended.
    pub scrapes: u64,
    /// Those of them that brought nothing.
    pub failures: u64,
}

/// A scrape that has ended.
#[derive(Clone, Debug)]
pub struct LastScrape {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, with what was done with the profile.
    pub took: Duration,
    /// Bytes received.
    pub bytes: usize,
    /// What became of the profile.
    pub outcome: Result<Kept, ScrapeError>,
}

/// A target that is not scraped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedTarget {
    /// The kind, as in the configuration.
    pub kind: String,
    /// Labels before relabelling.
    pub discovered: Labels,
    /// Why, in words; empty where a rule drops it.
    pub reason: String,
}

/// A target at work.
pub(super) struct Entry {
    pub target: Arc<Target>,
    state: Mutex<EntryState>,
}

#[derive(Default)]
struct EntryState {
    last: Option<LastScrape>,
    scrapes: u64,
    failures: u64,
}

impl Entry {
    pub(super) fn new(target: Arc<Target>) -> Arc<Self> {
        Arc::new(Self { target, state: Mutex::default() })
    }

    /// Notes the end of a scrape; gives the one before.
    pub(super) fn ended(&self, last: LastScrape) -> Option<LastScrape> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.scrapes += 1;
        state.failures += u64::from(last.outcome.is_err());
        state.last.replace(last)
    }

    /// Whether its last scrape was one; `None` before the first.
    pub(super) fn is_up(&self) -> Option<bool> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last.as_ref().map(|last| last.outcome.is_ok())
    }

    fn status(&self) -> TargetStatus {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        TargetStatus {
            target: Arc::clone(&self.target),
            last: state.last.clone(),
            scrapes: state.scrapes,
            failures: state.failures,
        }
    }
}

/// What a job shows of itself.
pub(super) struct JobView {
    name: String,
    tenant: Option<Tenant>,
    state: Mutex<ViewState>,
}

struct ViewState {
    discoveries: Vec<DiscoveryStatus>,
    targets: Vec<Arc<Entry>>,
    unused: Unused,
}

/// Targets that are not scraped.
#[derive(Clone, Debug, Default)]
pub(super) struct Unused {
    pub unusable: Vec<UnusedTarget>,
    pub dropped: Vec<UnusedTarget>,
    pub unusable_count: usize,
    pub dropped_count: usize,
}

impl Unused {
    pub(super) fn add_unusable(&mut self, target: UnusedTarget) {
        self.unusable_count += 1;
        if self.unusable.len() < limits::DROPPED_LISTED_MAX {
            self.unusable.push(target);
        }
    }

    pub(super) fn add_dropped(&mut self, target: UnusedTarget) {
        self.dropped_count += 1;
        if self.dropped.len() < limits::DROPPED_LISTED_MAX {
            self.dropped.push(target);
        }
    }
}

impl JobView {
    pub(super) fn new(job: &Job) -> Self {
        let discoveries = job.discoveries.iter();
        let discoveries = discoveries
            .map(|one| DiscoveryStatus { kind: one.word(), targets: 0, at: None, error: None })
            .collect();
        Self {
            name: job.name.clone(),
            tenant: job.tenant.clone(),
            state: Mutex::new(ViewState { discoveries, targets: Vec::new(), unused: Unused::default() }),
        }
    }

    /// Notes what a discovery brought; gives an error that was not there before.
    pub(super) fn found(
        &self,
        position: usize,
        targets: Option<usize>,
        error: Option<String>,
    ) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let one = state.discoveries.get_mut(position)?;
        one.at = Some(Timestamp::now());
        one.targets = targets.unwrap_or(one.targets);
        let is_new = error != one.error;
        one.error.clone_from(&error);
        error.filter(|_| is_new)
    }

    pub(super) fn show(&self, targets: Vec<Arc<Entry>>, unused: Unused) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.targets = targets;
        state.unused = unused;
    }

    /// Targets that are up, down, and not scraped yet; then those that are unusable and dropped; then discoveries that
    /// failed.
    pub(super) fn counts(&self) -> [usize; 6] {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = [0; 6];
        for entry in &state.targets {
            counts[match entry.is_up() {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            }] += 1;
        }
        counts[3] = state.unused.unusable_count;
        counts[4] = state.unused.dropped_count;
        counts[5] = state.discoveries.iter().filter(|one| one.error.is_some()).count();
        counts
    }

    pub(super) fn status(&self) -> JobStatus {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Unused { unusable, dropped, unusable_count, dropped_count } = state.unused.clone();
        JobStatus {
            name: self.name.clone(),
            tenant: self.tenant.clone(),
            discoveries: state.discoveries.clone(),
            targets: state.targets.iter().map(|entry| entry.status()).collect(),
            unusable,
            dropped,
            unusable_count,
            dropped_count,
        }
    }
}
