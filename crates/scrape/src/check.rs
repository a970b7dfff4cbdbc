//! A look at what a configuration would scrape, without scraping.

use std::sync::Arc;

use crate::{
    Labels, ScrapeConfig, Target,
    client::{Bodies, HttpClient, Resolver},
    discovery::Finder,
    limits,
    target::{Resolved, Unusable, resolve},
};

/// What was found for one job.
#[derive(Clone, Debug)]
pub struct CheckedJob {
    /// `job_name`.
    pub name: String,
    /// What would be scraped.
    pub targets: Vec<Target>,
    /// Labels of what rules drop, before relabelling.
    pub dropped: Vec<Labels>,
    /// What cannot be scraped: labels before relabelling, and why.
    pub unusable: Vec<(Labels, String)>,
    /// Discoveries that failed, in words.
    pub errors: Vec<String>,
}

/// [`check`] without a runtime around it.
///
/// # Errors
/// When there can be no runtime.
pub fn check_blocking(config: &ScrapeConfig) -> std::io::Result<Vec<CheckedJob>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let checked = runtime.block_on(check(config));
    // A look-up of a name that nobody waits for any more may still hold a thread.
    runtime.shutdown_background();
    Ok(checked)
}

/// Asks every discovery once and applies the rules.
pub async fn check(config: &ScrapeConfig) -> Vec<CheckedJob> {
    let (resolver, bodies) = (Arc::new(Resolver::default()), Bodies::new(limits::BODIES_BYTES_MAX));
    let mut checked = Vec::new();
    for job in &config.jobs {
        let mut found = CheckedJob {
            name: job.name.clone(),
            targets: Vec::new(),
            dropped: Vec::new(),
            unusable: Vec::new(),
            errors: Vec::new(),
        };
        for discovery in &job.discoveries {
            let client = |settings: &_| {
                HttpClient::new(Clone::clone(settings), Arc::clone(&resolver), Arc::clone(&bodies))
            };
            let answer = Finder::new(discovery, &resolver, client).find().await;
            found
                .errors
                .extend(answer.error.map(|error| format!("{}_sd_configs: {error}", discovery.word())));
            for group in answer.groups.unwrap_or_default() {
                for (address, kind) in
                    group.targets.iter().flat_map(|one| job.kinds.iter().map(move |kind| (one, kind)))
                {
                    match resolve(job, kind, &group.labels, address) {
                        Ok(Resolved::Target(target)) => found.targets.push(*target),
                        Ok(Resolved::Dropped(labels)) => found.dropped.push(labels),
                        Err(Unusable { discovered, reason }) => found.unusable.push((discovered, reason)),
                    }
                }
            }
        }
        checked.push(found);
    }
    checked
}
