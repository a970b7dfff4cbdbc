//! The task that looks after a store: flushes by age and size, free space, retention, memory of block datasets.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use crate::{
    StoreError,
    flush::blocking,
    limits::{DOCUMENTS_INTERVAL, FLUSH_RETRY, MAINTENANCE_INTERVAL},
    retention::{FreeSpace, Retention},
    store::{Shared, now},
};

/// Runs until the store closes.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut pause = Duration::ZERO;
    let mut documents_seen: Option<Instant> = None;
    loop {
        let woken = tokio::time::timeout(MAINTENANCE_INTERVAL, shared.wake.notified()).await.is_ok();
        if shared.is_closing.load(Ordering::Relaxed) {
            return;
        }
        let looked = Arc::clone(&shared);
        let looking = move || {
            look_at_free_space(&looked);
            looked.count_durable();
        };
        if let Err(error) = blocking("looking at disk and log", looking).await {
            tracing::error!(%error, "maintenance");
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

/// Whether a head is large or old enough, or was left over by an earlier process or a failed append.
fn is_time_to_flush(shared: &Shared) -> bool {
    let published = shared.published();
    let live = &published.live;
    let is_old = live.first_record().is_some_and(|first| first.elapsed() >= shared.options.flush_interval);
    let is_writable = shared.read_only.lock().unwrap_or_else(PoisonError::into_inner).is_none();
    let is_broken = is_writable && shared.log.refusal(live.number).is_some() && live.first_record().is_some();
    !published.sealed.is_empty() || live.bytes() >= shared.options.flush_bytes || is_old || is_broken
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
