//! The task that looks after a store: flushes by age and size, free space, retention, memory of block datasets.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use crate::{
    StoreError,
    flush::blocking,
    generation::Generation,
    limits::{DOCUMENTS_INTERVAL, FLUSH_RETRY, MAINTENANCE_INTERVAL, QUIET_LOOK_INTERVAL},
    retention::{FreeSpace, Retention},
    store::{Shared, now},
};

/// Runs until the store closes.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut pause = Duration::ZERO;
    let mut documents_seen: Option<Instant> = None;
    let mut last: Option<Look> = None;
    loop {
        let woken = tokio::time::timeout(MAINTENANCE_INTERVAL, shared.wake.notified()).await.is_ok();
        if shared.is_closing.load(Ordering::Relaxed) {
            return;
        }
        if last.as_ref().is_none_or(|last| last.is_outdated(&shared)) {
            last = Some(Look::now(&shared));
            let looked = Arc::clone(&shared);
            let looking = move || {
                look_at_free_space(&looked);
                looked.count_durable();
            };
            if let Err(error) = blocking("looking at disk and log", looking).await {
                tracing::error!(%error, "maintenance");
            }
        }
        shared.cache.trim();
        pause = pause.saturating_sub(MAINTENANCE_INTERVAL);
        if pause.is_zero()
            && is_time_to_flush(&shared)
            && let Err(error) = shared.flush().await
        {
            tracing::error!(%error, "flush failed; the log still has everything");
            pause = FLUSH_RETRY;
        }
        if let Err(error) = drop_expired(&shared).await {
            tracing::error!(%error, "retention failed");
        }
        if documents_seen.is_none_or(|seen| seen.elapsed() >= DOCUMENTS_INTERVAL) {
            documents_seen = Some(Instant::now());
            match shared.documents.drop_expired(now()).await {
                Ok(0) => {}
                Ok(uploads) => tracing::info!(uploads, "ad hoc uploads dropped at their age"),
                Err(error) => tracing::error!(%error, "ad hoc uploads cannot be looked through"),
            }
        }
        if woken && !pause.is_zero() {
            // A full head wakes us with every push; a failing flush is not to be tried as often.
            tokio::time::sleep(MAINTENANCE_INTERVAL).await;
        }
    }
}

/// When disk and log were looked at, and how far the log was.
struct Look {
    at: Instant,
    decided: u64,
}

impl Look {
    /// Before looking: what becomes durable meanwhile may or may not be seen.
    fn now(shared: &Shared) -> Self {
        Self { at: Instant::now(), decided: shared.log.durable_now().decided() }
    }

    /// Whether to look again: while nothing is pushed and pushes are welcome, only now and then, since waking other threads
    /// for it is most of what an idle store costs.
    fn is_outdated(&self, shared: &Shared) -> bool {
        !is_writable(shared)
            || self.decided != shared.log.durable_now().decided()
            || self.at.elapsed() >= QUIET_LOOK_INTERVAL
    }
}

/// Whether a head is large or old enough, or was left over by an earlier process or a failed append.
fn is_time_to_flush(shared: &Shared) -> bool {
    let published = shared.published();
    let live = &published.live;
    let is_old = is_old(live, shared.options.flush_interval);
    let is_broken =
        is_writable(shared) && shared.log.refusal(live.number).is_some() && live.first_record().is_some();
    !published.sealed.is_empty() || live.bytes() >= shared.options.flush_bytes || is_old || is_broken
}

/// Whether there is enough free space for pushes, as it was seen last.
fn is_writable(shared: &Shared) -> bool {
    shared.read_only.lock().unwrap_or_else(PoisonError::into_inner).is_none()
}

/// Whether the first thing that was pushed to a generation is as old as `interval`.
fn is_old(live: &Generation, interval: Duration) -> bool {
    live.first_push().is_some_and(|first| first.elapsed() >= interval)
}

/// Drops blocks that are too old or too many (D13, D27).
async fn drop_expired(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let retention =
        Retention { bytes_max: shared.options.retention_bytes, age_max: shared.options.retention };
    let names: Vec<String> = {
        let catalogue = shared.catalogue.lock().await;
        retention.expired(catalogue.state(), now()).into_iter().map(|block| block.name.clone()).collect()
    };
    if !names.is_empty() {
        tracing::info!(blocks = ?names, "blocks dropped by retention");
    }
    shared.drop_blocks(&names).await
}

/// Refuses pushes while there is too little free space, and takes them again when there is enough (D27).
pub(crate) fn look_at_free_space(shared: &Shared) {
    let seen = match FreeSpace::look(&*shared.disk, shared.options.free_bytes_min) {
        Ok(seen) => seen,
        Err(error) => {
            tracing::warn!(%error, "free space of the data folder is not known");
            return;
        }
    };
    shared.counters.free_bytes.store(seen.bytes(), Ordering::Relaxed);
    let reason = seen.reason();
    let mut read_only = shared.read_only.lock().unwrap_or_else(PoisonError::into_inner);
    match (&*read_only, &reason) {
        (None, Some(reason)) => tracing::warn!(reason, "pushes are refused"),
        (Some(_), None) => tracing::info!(free = seen.bytes(), "pushes are taken again"),
        _ => {}
    }
    *read_only = reason;
}

#[cfg(test)]
mod tests {
    use profile::{LabelSet, Temporality, Tenant, Timestamp};

    use super::*;
    use crate::{NewProfile, Store, StoreOptions};

    async fn push_counter(store: &Store, number: i64, body: &[u8]) {
        let mut decoder = formats::Decoder::new();
        let measure = formats::Measure::plain("alloc_space", "bytes");
        let (profile, _) = decoder.folded(body, measure, &formats::Limits::default()).unwrap();
        let accepted = store.push(&NewProfile {
            tenant: &Tenant::anonymous(),
            labels: LabelSet::from_pairs([("service_name", "a")]).unwrap(),
            name: "memory",
            temporality: Temporality::Cumulative,
            profile,
            digest_bytes: body,
            time: Timestamp(1_750_000_000_000_000_000 + number),
            time_is_stated: true,
            id: None,
        });
        store.durable(accepted.unwrap().ticket).await.unwrap();
    }

    /// A flush takes baselines over into the next generation; without a push there is nothing to flush there, ever.
    #[tokio::test]
    async fn what_a_flush_took_over_is_no_reason_for_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            data_dir: folder.path().to_owned(),
            retention_bytes: 0,
            retention: None,
            free_bytes_min: 0,
            flush_interval: Duration::from_secs(3600),
            flush_bytes: 1 << 40,
        };
        let store = Store::open(options).await.unwrap();
        let live = || Arc::clone(&store.shared().published().live);
        push_counter(&store, 0, b"main;work 5").await;
        push_counter(&store, 1, b"main;work 7").await;
        assert!(is_old(&live(), Duration::ZERO));
        store.flush().await.unwrap();
        assert!(live().first_record().is_some(), "a baseline was taken over");
        assert!(!is_old(&live(), Duration::ZERO) && !is_time_to_flush(store.shared()));
        push_counter(&store, 2, b"main;work 9").await;
        assert!(is_old(&live(), Duration::ZERO));
        assert_eq!(store.stats().blocks, 1);
    }
}
