//! Scraping as a part of the server: the file that says what, the way of scraped profiles into the store, and
//! `GET /api/v1/targets`.
//!
//! A scraped profile goes the way of every push, with the labels of its target. Not here: scraping itself (`scrape`).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use api::{
    ApiError, ApiState, Tenancy, access,
    push::{Api, ClientTime, NameRule, PushRequest, push_profile},
};
use axum::{
    Router,
    extract::{Query, State},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::future::BoxFuture;
use http::{HeaderMap, header};
use profile::{Tenant, Timestamp};
use scrape::{JobStatus, Kept, ScrapeConfig, Scraped, Scraper, Sink, TargetStatus, UnusedTarget};
use store::Outcome;

/// What is scraped, with the file that says it.
#[derive(Clone, Debug)]
pub(crate) struct ScrapeSettings {
    path: PathBuf,
    config: ScrapeConfig,
}

impl ScrapeSettings {
    /// Reads the file and holds it against the server's tenancy.
    ///
    /// # Errors
    /// In words, with the line.
    pub(crate) fn read(path: &Path, multi_tenant: bool) -> Result<Self, String> {
        let config = ScrapeConfig::read(path).map_err(|error| error.to_string())?;
        for job in &config.jobs {
            let reason = match (&job.tenant, multi_tenant) {
                (Some(_), false) => "names a tenant, but this server has one only (multi_tenant)",
                (None, true) => "needs tenant: NAME, because this server has several (multi_tenant)",
                _ => continue,
            };
            return Err(format!("{}: job {:?} {reason}", path.display(), job.name));
        }
        Ok(Self { path: path.to_owned(), config })
    }
}

/// The scraper of a server; without a file there is nothing to do.
pub(crate) struct Scraping {
    scraper: Option<(Scraper, PathBuf)>,
    multi_tenant: bool,
    state: Arc<ApiState>,
}

impl Scraping {
    /// Begins to scrape.
    pub(crate) fn start(
        settings: Option<&ScrapeSettings>,
        multi_tenant: bool,
        state: &Arc<ApiState>,
    ) -> Arc<Self> {
        let scraper = settings.map(|ScrapeSettings { path, config }| {
            tell(config);
            let sink = Arc::new(StoreSink { state: Arc::clone(state) });
            let scraper = Scraper::start(config.clone(), sink);
            state.metrics.register(|registry| scraper.register(registry));
            (scraper, path.clone())
        });
        Arc::new(Self { scraper, multi_tenant, state: Arc::clone(state) })
    }

    /// Reads the file again and says whether there is one. What cannot be used changes nothing.
    pub(crate) async fn reload(&self) -> bool {
        let Some((scraper, path)) = &self.scraper else { return false };
        let (file, multi_tenant) = (path.clone(), self.multi_tenant);
        let read = tokio::task::spawn_blocking(move || ScrapeSettings::read(&file, multi_tenant)).await;
        match read.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(settings) => {
                tell(&settings.config);
                scraper.reload(settings.config).await;
            }
            Err(error) => tracing::error!(error, "scrape_config is not used; scraping goes on as before"),
        }
        true
    }

    /// Ends scrapes under way.
    pub(crate) async fn stop(&self) {
        if let Some((scraper, _)) = &self.scraper {
            scraper.stop().await;
        }
    }

    /// The routes.
    pub(crate) fn router(this: &Arc<Self>) -> Router {
        Router::new().route("/api/v1/targets", get(targets)).with_state(Arc::clone(this))
    }

    fn reply(&self, headers: &HeaderMap, query: &[(String, String)]) -> Result<wire::TargetsReply, ApiError> {
        let tenancy = self.state.options.tenancy;
        let tenants = access::read_tenants(headers, tenancy)?;
        let mut wanted = None;
        for (name, value) in query {
            if name != "job" || wanted.is_some() {
                let name: String = name.chars().take(64).collect();
                return Err(ApiError::invalid(name, "there is job=NAME, once, and nothing else"));
            }
            wanted = Some(value);
        }
        let mut reply = wire::TargetsReply::default();
        let Some((scraper, _)) = &self.scraper else { return Ok(reply) };
        let may_see = |job: &JobStatus| match (&job.tenant, tenancy) {
            (Some(tenant), Tenancy::Multi) => tenants.contains(tenant),
            (None, Tenancy::Multi) => false,
            (_, Tenancy::Single) => true,
        };
        for job in scraper.status() {
            if may_see(&job) && wanted.is_none_or(|wanted| *wanted == job.name) {
                add(&mut reply, job);
            }
        }
        Ok(reply)
    }
}

async fn targets(
    State(scraping): State<Arc<Scraping>>,
    headers: HeaderMap,
    query: Result<Query<Vec<(String, String)>>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let query = query.map_err(|error| ApiError::invalid("query", error.body_text()));
    match query.and_then(|Query(query)| scraping.reply(&headers, &query)) {
        Ok(reply) => match serde_json::to_vec(&reply) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => ApiError::internal(error.to_string()).into_native_response(),
        },
        Err(error) => error.into_native_response(),
    }
}

fn add(reply: &mut wire::TargetsReply, job: JobStatus) {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    reply.jobs.push(wire::JobItem {
        name: job.name.clone(),
        targets: count(job.targets.len()),
        dropped: count(job.dropped_count),
        unusable: count(job.unusable_count),
        discoveries: job
            .discoveries
            .into_iter()
            .map(|one| wire::DiscoveryItem {
                kind: one.kind.to_owned(),
                targets: count(one.targets),
                last: one.at.map(rfc3339).unwrap_or_default(),
                error: one.error.unwrap_or_default(),
            })
            .collect(),
    });
    reply.targets.extend(job.targets.iter().map(item));
    let unused = |one: UnusedTarget| wire::UnusedTargetItem {
        job: job.name.clone(),
        kind: one.kind,
        discovered: one.discovered,
        error: one.reason,
    };
    reply.unused.extend(job.unusable.into_iter().chain(job.dropped).map(unused));
}

fn item(status: &TargetStatus) -> wire::TargetItem {
    let target = &status.target;
    let mut item = wire::TargetItem {
        job: target.job.clone(),
        kind: target.kind.clone(),
        name: target.profile_name.clone(),
        url: target.url(),
        labels: target.labels.clone(),
        discovered: target.discovered.clone(),
        health: "unknown".to_owned(),
        interval_seconds: target.interval.as_secs_f64(),
        timeout_seconds: target.timeout.as_secs_f64(),
        scrapes: status.scrapes,
        failures: status.failures,
        ..wire::TargetItem::default()
    };
    if let Some(last) = &status.last {
        item.last = rfc3339(last.at);
        item.duration_seconds = last.took.as_secs_f64();
        item.bytes = u64::try_from(last.bytes).unwrap_or(u64::MAX);
        let (health, outcome) = match &last.outcome {
            Ok(kept) => ("up", kept.word()),
            Err(error) => ("down", error.kind.word()),
        };
        health.clone_into(&mut item.health);
        outcome.clone_into(&mut item.outcome);
        item.error = last.outcome.as_ref().err().map(|error| error.text.clone()).unwrap_or_default();
    }
    item
}

/// As everywhere in the native API.
fn rfc3339(time: Timestamp) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(time.0)).map(|time| time.to_string()).unwrap_or_default()
}

/// Says what of a configuration was passed over.
fn tell(config: &ScrapeConfig) {
    for notice in &config.notices {
        tracing::warn!(notice, "scrape_config");
    }
    tracing::info!(jobs = config.jobs.len(), "scraping");
}

/// Puts scraped profiles into the store.
struct StoreSink {
    state: Arc<ApiState>,
}

impl Sink for StoreSink {
    fn keep(&self, scraped: Scraped) -> BoxFuture<'_, Result<Kept, String>> {
        Box::pin(async move {
            let target = scraped.target;
            let tenant = target.tenant.clone().unwrap_or_else(Tenant::anonymous);
            let labels = target.labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let request = PushRequest {
                name: NameRule::Given(target.profile_name.clone()),
                // Two profiles without a time are two, however alike they are.
                client_time: Some(ClientTime { field: "time of the scrape", time: scraped.begun }),
                temporality: target.temporality,
                ..PushRequest::pprof(tenant, Api::Scrape, labels, scraped.body)
            };
            match push_profile(&self.state, request).await {
                Ok(reply) => Ok(match reply.outcome {
                    Outcome::Stored => Kept::Stored,
                    Outcome::Duplicate => Kept::Duplicate,
                    Outcome::Empty => Kept::Empty,
                    Outcome::Baseline => Kept::Baseline,
                }),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}
