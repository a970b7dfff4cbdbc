//! What every handler shares: store, engine, limits on memory and on work at once, counters.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use formats::Decoder;
use profile::Timestamp;
use query::{Control, Engine};
use rules::RuleBook;
use store::{Kept, Store, StoreState};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{ApiError, ApiMetrics, Budget, ErrorKind, Tenancy, explain::Explain, limits};

/// Which build answers; empty texts where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildInfo {
    /// Version.
    pub version: String,
    /// Commit.
    pub commit: String,
    /// When it was built.
    pub time: String,
}

impl BuildInfo {
    /// Reads what `--version` says: `0.1.0 (1a2b3c4d5e6f)`.
    #[must_use]
    pub fn from_version(text: &str) -> Self {
        let (version, rest) = text.split_once(' ').unwrap_or((text, ""));
        let commit = rest.trim_matches(['(', ')']);
        Self { version: version.into(), commit: commit.into(), time: String::new() }
    }
}

/// Settings of the APIs.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// Which build answers.
    pub build: BuildInfo,
    /// Whether requests name their tenant.
    pub tenancy: Tenancy,
    /// Pushes that are decoded at once.
    pub pushes_at_once: usize,
    /// How long a push may wait for its turn.
    pub push_wait_max: Duration,
    /// Merges that run at once.
    pub queries_at_once: usize,
    /// How long a query may take where the client names no deadline.
    pub query_time_max: Duration,
    /// Bytes that all requests together may hold.
    pub in_flight_bytes_max: usize,
}

impl Default for ApiOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            build: BuildInfo { version: env!("CARGO_PKG_VERSION").into(), ..BuildInfo::default() },
            tenancy: Tenancy::Single,
            pushes_at_once: cores.max(2),
            push_wait_max: limits::PUSH_WAIT_MAX,
            queries_at_once: limits::QUERIES_AT_ONCE,
            query_time_max: limits::QUERY_TIME_MAX,
            in_flight_bytes_max: limits::IN_FLIGHT_BYTES_MAX,
        }
    }
}

/// How much a query costs; cheap ones do not wait behind merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryCost {
    /// Names, values, series, listings.
    Metadata,
    /// Anything that reads rows.
    Merge,
}

/// Shared by all handlers of one server.
pub struct ApiState {
    /// Where profiles are kept.
    pub store: Arc<Store>,
    /// What answers queries.
    pub engine: Arc<Engine>,
    /// Settings.
    pub options: ApiOptions,
    /// Counters.
    pub metrics: ApiMetrics,
    /// What was refused or changed, for people.
    pub explain: Explain,
    /// When this state was made, so since when counts run.
    pub since: Timestamp,
    /// Bytes that requests may hold.
    pub memory: Budget,
    /// Bytes that large decoded tables may hold.
    pub tables: Budget,
    /// Bytes that answers may hold until they are sent.
    pub answers: Budget,
    /// Rules that count profiles; `None` where the store was opened without any.
    pub rules: Option<Arc<RuleBook>>,
    push_slots: Arc<Semaphore>,
    /// Cloned by each large push for as long as it runs.
    large_pushes: Arc<()>,
    merge_slots: Arc<Semaphore>,
    metadata_slots: Arc<Semaphore>,
    decoders: Kept<Decoder>,
}

impl ApiState {
    /// Puts the parts together, without rules.
    #[must_use]
    pub fn new(store: Arc<Store>, engine: Arc<Engine>, options: ApiOptions) -> Arc<Self> {
        Self::with_rules(store, engine, options, None)
    }

    /// Puts the parts together. The rules are those that the store was opened with.
    #[must_use]
    pub fn with_rules(
        store: Arc<Store>,
        engine: Arc<Engine>,
        options: ApiOptions,
        rules: Option<Arc<RuleBook>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            metrics: ApiMetrics::new(Arc::clone(&store)),
            explain: Explain::default(),
            since: Timestamp::now(),
            memory: Budget::new(options.in_flight_bytes_max),
            tables: Budget::new(limits::TABLES_IN_FLIGHT_BYTES_MAX),
            answers: Budget::new(limits::ANSWERS_IN_FLIGHT_BYTES_MAX),
            push_slots: Arc::new(Semaphore::new(options.pushes_at_once.max(1))),
            large_pushes: Arc::default(),
            merge_slots: Arc::new(Semaphore::new(options.queries_at_once.max(1))),
            metadata_slots: Arc::new(Semaphore::new(options.queries_at_once.max(1))),
            decoders: Kept::new(options.pushes_at_once),
            rules,
            store,
            engine,
            options,
        })
    }

    /// Runs a query on the blocking pool: waits for a slot, hands out deadline and cancellation, counts.
    ///
    /// When the returned future is dropped (the client has gone), the query is told to stop. `deadline` is what the
    /// client asked for; the server's own limit holds beside it. `call` names the query in metrics.
    ///
    /// # Errors
    /// What the job says; 504 when no slot was free in time.
    pub async fn query<T: Send + 'static>(
        self: &Arc<Self>,
        call: &'static str,
        cost: QueryCost,
        deadline: Option<Instant>,
        job: impl FnOnce(&Engine, &Control) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let start = Instant::now();
        let own = start + self.options.query_time_max;
        let deadline = deadline.map_or(own, |asked| asked.min(own));
        let result = self.query_until(cost, deadline, job).await;
        let error = result.as_ref().err();
        self.metrics.queried(call, start.elapsed(), error.map(|error| error.kind));
        if let Some(error) = error.filter(|error| error.kind == ErrorKind::Internal) {
            tracing::error!(call, %error, "query failed");
        }
        result
    }

    async fn query_until<T: Send + 'static>(
        self: &Arc<Self>,
        cost: QueryCost,
        deadline: Instant,
        job: impl FnOnce(&Engine, &Control) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let slots = match cost {
            QueryCost::Metadata => &self.metadata_slots,
            QueryCost::Merge => &self.merge_slots,
        };
        let slot = tokio::time::timeout_at(deadline.into(), Arc::clone(slots).acquire_owned())
            .await
            .map_err(|_| ApiError::new(ErrorKind::Deadline, "", "no query slot was free in time"))?
            .map_err(|_| ApiError::unavailable("the server is stopping", 5))?;
        let control = Control { deadline: Some(deadline), ..Control::default() };
        let guard = CancelOnDrop(Arc::clone(&control.cancelled));
        let engine = Arc::clone(&self.engine);
        let result = run_blocking(move || {
            let _slot = slot;
            job(&engine, &control)
        })
        .await;
        drop(guard);
        result
    }

    /// Whether anything may be written now, for what is no push and does not come by the store's own gate.
    ///
    /// # Errors
    /// 503 while the disk is full or the server stops.
    pub(crate) fn check_writable(&self) -> Result<(), ApiError> {
        match self.store.state() {
            StoreState::Ready => Ok(()),
            StoreState::ReadOnly(reason) => Err(ApiError::unavailable(format!("read-only: {reason}"), 30)),
            StoreState::Closing => Err(ApiError::unavailable("the server is stopping", 5)),
        }
    }

    /// The rules.
    pub(crate) fn rule_book(&self) -> Result<Arc<RuleBook>, ApiError> {
        let missing = || ApiError::new(ErrorKind::Unimplemented, "", "this server counts nothing by rules");
        self.rules.clone().ok_or_else(missing)
    }

    /// Waits for one of the decoding slots, for as long as a client may reasonably wait for an answer: whoever fills all
    /// slots with large bodies holds others up for so long at most.
    pub(crate) async fn push_slot(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        slot_within(&self.push_slots, self.options.push_wait_max).await
    }

    /// Marks a large push as running until the mark is dropped.
    pub(crate) fn begin_large_push(&self) -> Arc<()> {
        Arc::clone(&self.large_pushes)
    }

    /// Whether a large push is running.
    pub(crate) fn has_large_push(&self) -> bool {
        Arc::strong_count(&self.large_pushes) > 1
    }

    /// A decoder with the memory of earlier bodies, or a new one.
    pub(crate) fn take_decoder(&self) -> Decoder {
        self.decoders.take()
    }

    /// Keeps a decoder for the next body.
    pub(crate) fn keep_decoder(&self, decoder: Decoder) {
        self.decoders.give_back(decoder);
    }
}

async fn slot_within(slots: &Arc<Semaphore>, wait_max: Duration) -> Result<OwnedSemaphorePermit, ApiError> {
    tokio::time::timeout(wait_max, Arc::clone(slots).acquire_owned())
        .await
        .map_err(|_| {
            let message = format!("no push slot was free for {} s", wait_max.as_secs_f64());
            ApiError::unavailable(message, limits::RETRY_AFTER_SECONDS)
        })?
        .map_err(|_| ApiError::unavailable("the server is stopping", 5))
}

/// Runs CPU work where it does not hold up sockets. A panic of the job is an error of this request alone.
pub(crate) async fn run_blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(job).await {
        Ok(result) => result,
        Err(_) => Err(panicked()),
    }
}

/// Runs a few milliseconds of CPU work on this thread. A panic of the job is an error of this request alone.
pub(crate) fn in_place<T>(job: impl FnOnce() -> T) -> Result<T, ApiError> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|_| panicked())
}

fn panicked() -> ApiError {
    ApiError::internal("the request could not be worked on; the server's log says why")
}

/// Raises a flag when it is dropped: the future that holds it has ended, or its client has gone.
pub(crate) struct CancelOnDrop(pub(crate) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_push_waits_for_its_turn_and_then_says_when_to_try_again() {
        let slots = Arc::new(Semaphore::new(1));
        let held = slot_within(&slots, Duration::from_secs(60)).await.unwrap();
        let error = slot_within(&slots, Duration::from_millis(1)).await.unwrap_err();
        assert_eq!((error.status().as_u16(), error.retry_after_seconds), (503, Some(1)), "{error}");
        drop(held);
        assert!(slot_within(&slots, Duration::from_secs(60)).await.is_ok());
    }
}
