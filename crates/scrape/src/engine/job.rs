//! One job: asks its discoveries, resolves what they find, and keeps one task for each target and kind.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
};

use super::{
    Shared, scrape,
    status::{Entry, JobView, Unused, UnusedTarget},
};
use crate::{
    Job, Labels, Target,
    client::HttpClient,
    config::Group,
    discovery::{Finder, Found},
    limits,
    target::{Resolved, Unusable, resolve},
};

/// How often targets whose series another target has are tried again.
const CLAIM_AGAIN: Duration = Duration::from_secs(15);

/// Runs until it is told to stop.
pub(super) async fn run(
    job: Arc<Job>,
    shared: Arc<Shared>,
    view: Arc<JobView>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut discoveries = JoinSet::new();
    let (sender, mut found) = mpsc::channel(1);
    for (position, discovery) in job.discoveries.iter().enumerate() {
        let client = |settings: &_| shared.client(settings);
        let finder = Finder::new(discovery, &shared.resolver, client);
        discoveries.spawn(watch(finder, position, sender.clone()));
    }
    let mut targets = Targets {
        client: Arc::new(shared.client(&job.http)),
        groups: vec![Vec::new(); job.discoveries.len()],
        running: HashMap::new(),
        loops: JoinSet::new(),
        is_complete: true,
        job,
        shared,
        view,
    };
    loop {
        tokio::select! {
            biased;
            // The sender is gone only when the scraper is.
            _ = stopped.changed() => break,
            Some((position, news)) = found.recv() => targets.take(position, news).await,
            Some(ended) = targets.loops.join_next_with_id() => targets.mourn(ended).await,
            () = tokio::time::sleep(CLAIM_AGAIN), if !targets.is_complete => targets.sync().await,
        }
    }
    discoveries.shutdown().await;
    targets.loops.shutdown().await;
}

/// Asks a discovery for ever.
async fn watch(mut finder: Finder, position: usize, sender: mpsc::Sender<(usize, Found)>) {
    loop {
        let found = finder.find().await;
        if sender.send((position, found)).await.is_err() {
            return;
        }
        match finder.refresh() {
            Some(refresh) => tokio::time::sleep(refresh).await,
            None => return,
        }
    }
}

struct Targets {
    job: Arc<Job>,
    shared: Arc<Shared>,
    view: Arc<JobView>,
    client: Arc<HttpClient>,
    /// By discovery.
    groups: Vec<Vec<Group>>,
    running: HashMap<Arc<Target>, Running>,
    loops: JoinSet<()>,
    /// Whether every target that is wanted is at work.
    is_complete: bool,
}

struct Running {
    entry: Arc<Entry>,
    handle: AbortHandle,
}

impl Targets {
    async fn take(&mut self, position: usize, found: Found) {
        let count = found.groups.as_ref().map(|groups| groups.iter().map(|group| group.targets.len()).sum());
        if let Some(error) = self.view.found(position, count, found.error) {
            tracing::warn!(job = self.job.name, error, "targets cannot be found");
        }
        let Some(groups) = found.groups else { return };
        if self.groups[position] == groups {
            return;
        }
        self.groups[position] = groups;
        self.sync().await;
    }

    /// A task that scrapes ends by a fault of ours alone: it is begun again.
    async fn mourn(&mut self, ended: Result<(tokio::task::Id, ()), tokio::task::JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            // Told to end.
            Err(error) if error.is_cancelled() => return,
            Err(error) => {
                tracing::error!(job = self.job.name, %error, "scraping a target failed; it is begun again");
                error.id()
            }
        };
        let found = self.running.iter().find(|(_, running)| running.handle.id() == id);
        if let Some(target) = found.map(|(target, _)| Arc::clone(target)) {
            self.running.remove(&target);
            self.shared.release(&target);
            self.sync().await;
        }
    }

    /// Ends what is not wanted any more and begins what is new; what is in both goes on undisturbed.
    async fn sync(&mut self) {
        let (job, groups) = (Arc::clone(&self.job), self.groups.clone());
        let resolved = crate::files::blocking(move || Ok(resolve_all(&job, &groups))).await;
        let (wanted, mut unused) = match resolved {
            Ok(resolved) => resolved,
            Err(error) => {
                tracing::error!(job = self.job.name, %error, "targets cannot be resolved");
                return;
            }
        };
        let is_wanted: std::collections::HashSet<&Arc<Target>> = wanted.iter().collect();
        let shared = Arc::clone(&self.shared);
        self.running.retain(|target, running| {
            let stays = is_wanted.contains(target);
            if !stays {
                running.handle.abort();
                shared.release(target);
            }
            stays
        });
        self.is_complete = true;
        for target in &wanted {
            if self.running.contains_key(target) {
                continue;
            }
            if let Err(reason) = self.shared.claim(target) {
                self.is_complete = false;
                let (kind, discovered) = (target.kind.clone(), target.discovered.clone());
                unused.add_unusable(UnusedTarget { kind, discovered, reason });
                continue;
            }
            let entry = Entry::new(Arc::clone(target));
            let scraping = scrape::run(
                Arc::clone(&entry),
                Arc::clone(&self.shared),
                Arc::clone(&self.client),
                self.job.body_bytes_max,
            );
            let handle = self.loops.spawn(scraping);
            self.running.insert(Arc::clone(target), Running { entry, handle });
        }
        let shown = wanted.iter().filter_map(|target| self.running.get(target));
        let mut shown: Vec<Arc<Entry>> = shown.map(|running| Arc::clone(&running.entry)).collect();
        // Two targets may be equal to the last letter; there is one task for both.
        shown.dedup_by(|one, other| Arc::ptr_eq(one, other));
        self.view.show(shown, unused);
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        for target in self.running.keys() {
            self.shared.release(target);
        }
    }
}

impl Shared {
    fn client(&self, settings: &crate::config::HttpSettings) -> HttpClient {
        HttpClient::new(settings.clone(), Arc::clone(&self.resolver), Arc::clone(&self.bodies))
    }
}

/// Every kind of every target, by address and kind.
fn resolve_all(job: &Job, groups: &[Vec<Group>]) -> (Vec<Arc<Target>>, Unused) {
    let (mut wanted, mut unused) = (std::collections::BTreeMap::new(), Unused::default());
    for group in groups.iter().flatten() {
        for address in &group.targets {
            for kind in &job.kinds {
                let name = kind.name.clone();
                if wanted.len() >= limits::TARGETS_MAX {
                    let reason = format!("a job has {} targets and kinds at most", limits::TARGETS_MAX);
                    let discovered = Labels::from([("__address__".to_owned(), address.clone())]);
                    unused.add_unusable(UnusedTarget { kind: name, discovered, reason });
                    continue;
                }
                match resolve(job, kind, &group.labels, address) {
                    Ok(Resolved::Target(target)) => {
                        wanted.insert((target.url(), name, target.labels.clone()), Arc::from(target));
                    }
                    Ok(Resolved::Dropped(discovered)) => {
                        unused.add_dropped(UnusedTarget { kind: name, discovered, reason: String::new() });
                    }
                    Err(Unusable { discovered, reason }) => {
                        unused.add_unusable(UnusedTarget { kind: name, discovered, reason });
                    }
                }
            }
        }
    }
    (wanted.into_values().collect(), unused)
}
