//! Scraping at work: one task per job, which finds targets, and one per target and kind, which scrapes.
//!
//! No scrape waits for another. What all share is bounded by itself: look-ups of names ([`crate::client`]), memory of
//! bodies (the largest is given up), the number of targets. A scrape and everything that belongs to it lives in one
//! future, so a stop is at once.

mod job;
mod metrics;
mod scrape;
mod status;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub use metrics::ScrapeMetrics;
pub use status::{DiscoveryStatus, JobStatus, LastScrape, TargetStatus, UnusedTarget};
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    Job, ScrapeConfig, Sink, Target,
    client::{Bodies, Resolver},
    limits,
};
use status::JobView;

/// Longest wait for tasks that were told to stop. They wait for nothing but the end of a few milliseconds of work.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Scrapes until it is stopped or dropped.
pub struct Scraper {
    shared: Arc<Shared>,
    running: tokio::sync::Mutex<Vec<RunningJob>>,
}

/// What all jobs share.
pub(crate) struct Shared {
    sink: Arc<dyn Sink>,
    metrics: ScrapeMetrics,
    resolver: Arc<Resolver>,
    bodies: Arc<Bodies>,
    views: Mutex<Vec<Arc<JobView>>>,
    series: Mutex<HashMap<SeriesKey, String>>,
}

/// What tells series apart: two targets with the same would be mixed up, and differences between them taken for work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SeriesKey {
    tenant: Option<profile::Tenant>,
    profile_name: String,
    labels: crate::Labels,
}

impl SeriesKey {
    fn of(target: &Target) -> Self {
        Self {
            tenant: target.tenant.clone(),
            profile_name: target.profile_name.clone(),
            labels: target.labels.clone(),
        }
    }
}

struct RunningJob {
    job: Arc<Job>,
    view: Arc<JobView>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scraper {
    /// Begins to scrape, within the current Tokio runtime.
    #[must_use]
    pub fn start(config: ScrapeConfig, sink: Arc<dyn Sink>) -> Self {
        let shared = Arc::new(Shared {
            sink,
            metrics: ScrapeMetrics::default(),
            resolver: Arc::default(),
            bodies: Bodies::new(limits::BODIES_BYTES_MAX),
            views: Mutex::default(),
            series: Mutex::default(),
        });
        let running: Vec<RunningJob> = config.jobs.into_iter().map(|job| shared.begin(job)).collect();
        shared.show(&running);
        Self { shared, running: tokio::sync::Mutex::new(running) }
    }

    /// Goes on with another configuration. Jobs that are in both are not disturbed.
    pub async fn reload(&self, config: ScrapeConfig) {
        let mut running = self.running.lock().await;
        let (kept, gone): (Vec<_>, Vec<_>) =
            running.drain(..).partition(|known| config.jobs.iter().any(|job| *job == *known.job));
        // Series of jobs that go must be free before those that come claim them.
        end(gone).await;
        let mut kept: Vec<Option<RunningJob>> = kept.into_iter().map(Some).collect();
        for job in config.jobs {
            let known = kept.iter_mut().find(|known| known.as_ref().is_some_and(|known| *known.job == job));
            running.push(known.and_then(Option::take).unwrap_or_else(|| self.shared.begin(job)));
        }
        self.shared.show(&running);
    }

    /// All jobs with their targets, as they are now.
    #[must_use]
    pub fn status(&self) -> Vec<JobStatus> {
        self.shared.views().iter().map(|view| view.status()).collect()
    }

    /// Registers the figures of scraping.
    pub fn register(&self, registry: &mut prometheus_client::registry::Registry) {
        self.shared.metrics.register(registry);
        registry.register_collector(Box::new(metrics::TargetFigures(Arc::downgrade(&self.shared))));
    }

    /// Stops: scrapes under way are given up.
    pub async fn stop(&self) {
        let mut running = self.running.lock().await;
        end(running.drain(..).collect()).await;
        self.shared.show(&[]);
    }
}

async fn end(jobs: Vec<RunningJob>) {
    for job in &jobs {
        // A job that has ended by itself hears nothing.
        let _ = job.stop.send(true);
    }
    let all = async {
        for mut job in jobs {
            if let Err(error) = (&mut job.task).await {
                tracing::error!(job = job.job.name, %error, "the task of a job ended by itself");
            }
        }
    };
    if tokio::time::timeout(STOP_TIMEOUT, all).await.is_err() {
        tracing::warn!("scrapes did not end in time and were cut");
    }
}

impl Shared {
    fn begin(self: &Arc<Self>, job: Job) -> RunningJob {
        let job = Arc::new(job);
        let view = Arc::new(JobView::new(&job));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(job::run(Arc::clone(&job), Arc::clone(self), Arc::clone(&view), stopped));
        RunningJob { job, view, stop, task }
    }

    fn show(&self, running: &[RunningJob]) {
        let views = running.iter().map(|job| Arc::clone(&job.view)).collect();
        *self.views.lock().unwrap_or_else(PoisonError::into_inner) = views;
    }

    fn views(&self) -> Vec<Arc<JobView>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Claims a target's series for it.
    ///
    /// # Errors
    /// Says who has it, or that there are too many targets.
    fn claim(&self, target: &Target) -> Result<(), String> {
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if series.len() >= limits::TARGETS_MAX {
            return Err(format!(
                "there are {} targets and kinds already, which is the limit",
                limits::TARGETS_MAX
            ));
        }
        match series.entry(SeriesKey::of(target)) {
            std::collections::hash_map::Entry::Occupied(entry) => Err(format!(
                "{} has the same labels; profiles of both would be mixed up (relabel_configs can tell them apart)",
                entry.get()
            )),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(target.url());
                Ok(())
            }
        }
    }

    fn release(&self, target: &Target) {
        self.series.lock().unwrap_or_else(PoisonError::into_inner).remove(&SeriesKey::of(target));
    }
}

#[cfg(test)]
mod tests;
