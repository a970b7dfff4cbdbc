//! The life of one target and kind: a scrape at its place within each interval, one at a time.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use profile::Timestamp;
use tokio::time::Instant;

use super::{
    Shared,
    status::{Entry, LastScrape},
};
use crate::{FailureKind, ScrapeError, Scraped, Target, client::HttpClient, limits, sink::Kept};

/// Scrapes until it is dropped.
pub(super) async fn run(
    entry: Arc<Entry>,
    shared: Arc<Shared>,
    client: Arc<HttpClient>,
    body_bytes_max: usize,
) {
    let target = &entry.target;
    let mut next = Instant::now() + first_wait(target, SystemTime::now());
    loop {
        tokio::time::sleep_until(next).await;
        let begun = Instant::now();
        let at = Timestamp::now();
        let (bytes, outcome) = once(target, &shared, &client, body_bytes_max, at).await;
        let last = LastScrape { at, took: begun.elapsed(), bytes, outcome };
        note(&entry, &shared, last);
        // A profile that takes the whole interval ends a little after it: the next one follows at once, instead of
        // leaving every second interval out.
        next = (next + target.interval).max(Instant::now());
    }
}

async fn once(
    target: &Arc<Target>,
    shared: &Shared,
    client: &HttpClient,
    body_bytes_max: usize,
    begun: Timestamp,
) -> (usize, Result<Kept, ScrapeError>) {
    let fetched = match client.fetch(&target.url, target.timeout, body_bytes_max).await {
        Ok(fetched) => fetched,
        Err(error) => return (0, Err(error)),
    };
    let bytes = fetched.body.len();
    // The body's memory is held until the profile is kept.
    let _claim = fetched.claim;
    let scraped = Scraped { target: Arc::clone(target), body: fetched.body, begun };
    let kept = tokio::time::timeout(limits::DELIVERY_TIMEOUT, shared.sink.keep(scraped)).await;
    let kept = kept.unwrap_or_else(|_| {
        Err(format!("the profile was not kept within {} s", limits::DELIVERY_TIMEOUT.as_secs()))
    });
    (bytes, kept.map_err(|reason| ScrapeError::new(FailureKind::Refused, reason)))
}

/// Counts, and says when a target goes down or comes back.
fn note(entry: &Entry, shared: &Shared, last: LastScrape) {
    shared.metrics.ended(last.took, last.bytes, &last.outcome);
    let error = last.outcome.as_ref().err().cloned();
    let before = entry.ended(last);
    let was_up = before.is_none_or(|before| before.outcome.is_ok());
    let target = &entry.target;
    match (was_up, error) {
        (true, Some(error)) => {
            tracing::warn!(job = target.job, url = %target.url, %error, "a target cannot be scraped");
        }
        (false, None) => tracing::info!(job = target.job, url = %target.url, "a target can be scraped again"),
        (_, Some(error)) => tracing::debug!(job = target.job, url = %target.url, %error, "scrape failed"),
        (true, None) => {}
    }
}

/// How long until the target's place within the interval, by the clock: so targets are spread, and a restart does not
/// bring them together.
fn first_wait(target: &Target, now: SystemTime) -> Duration {
    let interval = target.interval.as_millis().max(1);
    let place = u128::from(target.hash()) % interval;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() % interval;
    let wait = (place + interval - now) % interval;
    Duration::from_millis(u64::try_from(wait).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::target::{Resolved, resolve};

    #[test]
    fn places_are_within_the_interval_and_the_same_after_each_start() {
        let config = crate::ScrapeConfig::parse(
            "scrape_configs: [{job_name: a, scrape_interval: 15s}]",
            Path::new("/"),
        )
        .unwrap();
        let mut seconds = std::collections::BTreeSet::new();
        for number in 0..300 {
            let address = format!("10.0.0.{number}.test:1");
            let resolved =
                resolve(&config.jobs[0], &config.jobs[0].kinds[0], &crate::Labels::new(), &address);
            let Ok(Resolved::Target(target)) = resolved else { panic!("{resolved:?}") };
            let now = UNIX_EPOCH + Duration::from_millis(1_700_000_012_345);
            let wait = first_wait(&target, now);
            assert!(wait < target.interval);
            assert_eq!(first_wait(&target, now + wait), Duration::ZERO);
            assert_eq!(first_wait(&target, now + Duration::from_secs(15)), wait);
            seconds.insert(wait.as_secs());
        }
        assert_eq!(seconds.len(), 15);
    }
}
