//! Sends the counters of rules to a monitoring system, by Prometheus's remote write.
//!
//! One thread takes a copy of all counters at each interval and puts it into a bounded queue, another sends from it: a
//! receiver that is slow or gone holds up neither. What the receiver cannot take now (429, 5xx, no connection) is tried
//! again, longer and longer apart; what it refuses is dropped and counted. When the queue is full, the oldest copy goes:
//! counters are sums, so the next copy has what it had. Pushes know nothing of all this.
//!
//! A counter that appears while this runs is sent with a zero one interval before, so that its first rise is seen.
//!
//! Not here: the body (`rules::remote`), settings (`config`).

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use base64::Engine as _;
use profile::{Tenant, Timestamp};
use rules::{MetricSeries, RuleBook};
use store::Store;

use crate::limits;

/// Where counters go.
#[derive(Clone)]
pub struct RemoteWriteOptions {
    /// Where to.
    pub(crate) url: String,
    /// How often.
    pub(crate) interval: Duration,
    /// Value of `Authorization`; never shown.
    pub(crate) authorization: Option<String>,
}

impl fmt::Debug for RemoteWriteOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RemoteWriteOptions");
        shown.field("url", &self.url).field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// Reads a secret of one line from a file.
pub(crate) fn read_secret(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() || text.len() > limits::SECRET_BYTES_MAX || text.contains(['\n', '\r', '\0']) {
        return Err(format!(
            "{}: is not one line of 1 to {} bytes",
            path.display(),
            limits::SECRET_BYTES_MAX
        ));
    }
    Ok(text.to_owned())
}

/// The value of `Authorization` for a user and password.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")))
}

/// The value of `Authorization` for a token.
pub(crate) fn bearer(token: &str) -> Result<String, String> {
    if token.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(format!("Bearer {token}"))
    } else {
        Err("the token is not printable ASCII without spaces".to_owned())
    }
}

/// Checks an address.
pub(crate) fn check_url(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is no address such as http://prometheus:9090/api/v1/write");
    let uri: http::Uri = text.parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let host = uri.host().filter(|host| !host.is_empty());
    if !is_http || host.is_none() || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(wrong());
    }
    Ok(text.to_owned())
}

/// What has become of samples, since start.
#[derive(Debug, Default)]
pub(crate) struct RemoteWriteStats {
    pub(crate) sent: AtomicU64,
    /// The receiver refused them.
    pub(crate) refused: AtomicU64,
    /// The queue was full, or the server stopped.
    pub(crate) dropped: AtomicU64,
    /// Requests that are tried again.
    pub(crate) failures: AtomicU64,
    pub(crate) queued: AtomicU64,
    /// When the last request was taken, ms since the epoch; 0 = never.
    pub(crate) last_millis: AtomicI64,
}

/// One request to be.
struct Batch {
    tenant: Tenant,
    body: Vec<u8>,
    samples: u64,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    bytes: usize,
    /// When sending is given up; `None` = the server is not stopping.
    stop_by: Option<Instant>,
    /// No further batch will come.
    is_ended: bool,
    /// All batches have come to their end.
    is_sent: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    stats: Arc<RemoteWriteStats>,
    options: RemoteWriteOptions,
    /// Requests name the tenant.
    is_multi_tenant: bool,
}

/// The two threads.
pub(crate) struct RemoteWrite {
    shared: Arc<Shared>,
    copying: Option<JoinHandle<()>>,
    sending: Option<JoinHandle<()>>,
}

impl RemoteWrite {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system has none left.
    pub(crate) fn start(
        options: RemoteWriteOptions,
        is_multi_tenant: bool,
        store: Arc<Store>,
        book: Arc<RuleBook>,
    ) -> std::io::Result<Self> {
        let (queue, wake, stats) = (Mutex::default(), Condvar::new(), Arc::default());
        let shared = Arc::new(Shared { queue, wake, stats, options, is_multi_tenant });
        let (copying, sending) = (Arc::clone(&shared), Arc::clone(&shared));
        let mut remote = Self { shared, copying: None, sending: None };
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        remote.copying = Some(thread("rules-copy").spawn(move || copying.copy_for_ever(&store, &book))?);
        remote.sending = Some(thread("rules-send").spawn(move || sending.send_for_ever())?);
        Ok(remote)
    }

    pub(crate) fn stats(&self) -> Arc<RemoteWriteStats> {
        Arc::clone(&self.shared.stats)
    }

    /// Takes a last copy and tries to send all that waits within [`limits::REMOTE_WRITE_STOP`]. A request that was on its
    /// way before is not waited for any longer either: its thread, which holds nothing else, ends by itself.
    pub(crate) fn stop(mut self) {
        self.shared.ask_to_stop();
        join(self.copying.take());
        if self.shared.wait_for_the_last() {
            join(self.sending.take());
        } else {
            let samples = self.shared.stats.queued.load(Ordering::Relaxed);
            tracing::warn!(samples, "the receiver of remote write does not answer; what waits is dropped");
        }
    }
}

fn join(thread: Option<JoinHandle<()>>) {
    if thread.is_some_and(|thread| thread.join().is_err()) {
        tracing::error!("a thread of remote write has panicked");
    }
}

impl Drop for RemoteWrite {
    fn drop(&mut self) {
        self.shared.ask_to_stop();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_to_stop(&self) {
        self.queue().stop_by.get_or_insert_with(|| Instant::now() + limits::REMOTE_WRITE_STOP);
        self.wake.notify_all();
    }

    /// Waits until all batches have come to their end, or for as long as a stop may take; `false` when it took longer.
    fn wait_for_the_last(&self) -> bool {
        let mut queue = self.queue();
        loop {
            let left =
                queue.stop_by.map_or(Duration::ZERO, |by| by.saturating_duration_since(Instant::now()));
            if queue.is_sent || left.is_zero() {
                return queue.is_sent;
            }
            queue = self.wake.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits; `true` when it is time to stop.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut queue = self.queue();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if queue.stop_by.is_some() || left.is_zero() {
                return queue.stop_by.is_some();
            }
            queue = self.wake.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn copy_for_ever(&self, store: &Store, book: &RuleBook) {
        let mut known = Known::default();
        let mut next = Instant::now();
        loop {
            self.copy(store, book, &mut known);
            if self.queue().stop_by.is_some() {
                break;
            }
            // Evenly, whatever a copy takes; what was missed is not made up for.
            next = (next + self.options.interval).max(Instant::now());
            self.pause(next.saturating_duration_since(Instant::now()));
        }
        self.queue().is_ended = true;
        self.wake.notify_all();
    }

    fn copy(&self, store: &Store, book: &RuleBook, known: &mut Known) {
        store.count_durable();
        let now = Timestamp::now().millis();
        let tenants = book.tenants();
        known.by_tenant.retain(|tenant, _| tenants.contains(tenant));
        for tenant in tenants {
            let series = book.series(&tenant);
            for part in series.chunks(limits::REMOTE_WRITE_SERIES_MAX) {
                self.put(&tenant, part, known, now);
            }
            let all = series.into_iter().map(|series| (series.metric, series.labels)).collect();
            known.by_tenant.insert(tenant, all);
        }
        known.time = Some(now);
    }

    /// Puts one request into the queue.
    fn put(&self, tenant: &Tenant, series: &[MetricSeries], known: &Known, now: i64) {
        let samples: Vec<Vec<(i64, i128)>> = series
            .iter()
            .map(|series| match known.before(tenant, series).filter(|&before| before < now) {
                Some(before) => vec![(before, 0), (now, series.value)],
                None => vec![(now, series.value)],
            })
            .collect();
        let written: Vec<rules::remote::WrittenSeries<'_>> =
            series.iter().zip(&samples).map(|(series, samples)| (series, samples.as_slice())).collect();
        let body = match rules::remote::body(&written) {
            Ok(body) => body,
            Err(error) => return tracing::error!(%error, "counters cannot be written"),
        };
        let samples = samples.iter().map(Vec::len).sum::<usize>() as u64;
        let mut queue = self.queue();
        queue.bytes += body.len();
        queue.batches.push_back(Batch { tenant: tenant.clone(), body, samples });
        self.stats.queued.fetch_add(samples, Ordering::Relaxed);
        while queue.bytes > limits::REMOTE_WRITE_QUEUE_BYTES_MAX {
            let Some(oldest) = queue.batches.pop_front() else { break };
            queue.bytes -= oldest.body.len();
            self.count(&oldest, &self.stats.dropped);
        }
        drop(queue);
        self.wake.notify_all();
    }

    /// A batch has come to its end.
    fn count(&self, batch: &Batch, end: &AtomicU64) {
        self.stats.queued.fetch_sub(batch.samples, Ordering::Relaxed);
        end.fetch_add(batch.samples, Ordering::Relaxed);
    }

    /// The next batch; `None` = there will be none.
    fn take(&self) -> Option<Batch> {
        let mut queue = self.queue();
        loop {
            if let Some(batch) = queue.batches.pop_front() {
                queue.bytes -= batch.body.len();
                return Some(batch);
            }
            if queue.is_ended {
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn send_for_ever(&self) {
        let agent = agent();
        while let Some(batch) = self.take() {
            self.send(&agent, &batch);
        }
        self.queue().is_sent = true;
        self.wake.notify_all();
    }

    /// Sends one batch until it is taken or refused.
    fn send(&self, agent: &ureq::Agent, batch: &Batch) {
        let mut pause = limits::REMOTE_WRITE_RETRY_MIN;
        loop {
            let stop_by = self.queue().stop_by;
            let left = stop_by.map(|by| by.saturating_duration_since(Instant::now()));
            let timeout = left.unwrap_or(limits::REMOTE_WRITE_TIMEOUT);
            if timeout.is_zero() {
                return self.count(batch, &self.stats.dropped);
            }
            let (reason, retry_after) = match self.post(agent, batch, timeout) {
                Sent::Taken => {
                    self.stats.last_millis.store(Timestamp::now().millis(), Ordering::Relaxed);
                    return self.count(batch, &self.stats.sent);
                }
                Sent::Refused(reason) => {
                    tracing::warn!(samples = batch.samples, reason, "remote write refused; samples dropped");
                    return self.count(batch, &self.stats.refused);
                }
                Sent::Later(reason, retry_after) => (reason, retry_after),
            };
            self.stats.failures.fetch_add(1, Ordering::Relaxed);
            if pause == limits::REMOTE_WRITE_RETRY_MIN {
                tracing::warn!(reason, "remote write failed; trying again");
            }
            if self.pause(retry_after.unwrap_or(pause).clamp(pause, limits::REMOTE_WRITE_RETRY_MAX)) {
                return self.count(batch, &self.stats.dropped);
            }
            pause = (pause * 2).min(limits::REMOTE_WRITE_RETRY_MAX);
        }
    }

    fn post(&self, agent: &ureq::Agent, batch: &Batch, timeout: Duration) -> Sent {
        let mut request = agent
            .post(&self.options.url)
            .config()
            .timeout_global(Some(timeout))
            .build()
            .header("Content-Type", "application/x-protobuf")
            .header("Content-Encoding", "snappy")
            .header("X-Prometheus-Remote-Write-Version", "0.1.0")
            .header("User-Agent", concat!("everflame/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = &self.options.authorization {
            request = request.header("Authorization", authorization);
        }
        if self.is_multi_tenant {
            request = request.header("X-Scope-OrgID", batch.tenant.as_str());
        }
        let mut response = match request.send(&batch.body[..]) {
            Ok(response) => response,
            Err(error) => return Sent::Later(error.to_string(), None),
        };
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Sent::Taken;
        }
        let header = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let text =
            response.body_mut().with_config().limit(limits::REMOTE_WRITE_ERROR_BYTES_MAX).read_to_string();
        let text: String = text.unwrap_or_default().trim().chars().take(200).collect();
        let reason = format!("{status} {text}");
        if status == 429 || status >= 500 { Sent::Later(reason, retry_after) } else { Sent::Refused(reason) }
    }
}

/// What became of a request.
enum Sent {
    Taken,
    /// It will never be taken.
    Refused(String),
    /// It may be taken later, after the time that the receiver named.
    Later(String, Option<Duration>),
}

/// Metric and labels.
type SeriesName = (String, Vec<(String, String)>);

/// The counters of the last copy.
#[derive(Default)]
struct Known {
    time: Option<i64>,
    by_tenant: HashMap<Tenant, HashSet<SeriesName>>,
}

impl Known {
    /// When the last copy was made, for a counter that was not in it.
    fn before(&self, tenant: &Tenant, series: &MetricSeries) -> Option<i64> {
        let time = self.time?;
        let key = (series.metric.clone(), series.labels.clone());
        let is_known = self.by_tenant.get(tenant).is_some_and(|known| known.contains(&key));
        (!is_known).then_some(time)
    }
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(limits::REMOTE_WRITE_TIMEOUT));
    config.build().new_agent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_secrets_are_checked() {
        for good in ["http://localhost:9090/api/v1/write", "https://mimir.example/api/v1/push"] {
            assert_eq!(check_url(good).as_deref(), Ok(good));
        }
        for bad in ["", "localhost:9090", "/api/v1/write", "ftp://x/", "http://", "http://u:p@h/"] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
        assert_eq!(basic("me", "0123456789abcdef"), "Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg==");
        assert!(bearer("a b").is_err() && bearer("a\nb").is_err());
        let options = RemoteWriteOptions {
            url: "http://h/".into(),
            interval: Duration::from_secs(1),
            authorization: Some(bearer("secret").unwrap()),
        };
        assert!(!format!("{options:?}").contains("secret"));
    }

    fn shared() -> Shared {
        let options = RemoteWriteOptions {
            url: "http://127.0.0.1:9/".into(),
            interval: Duration::from_secs(3600),
            authorization: None,
        };
        Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            stats: Arc::default(),
            options,
            is_multi_tenant: false,
        }
    }

    fn series(label: String) -> MetricSeries {
        MetricSeries { metric: "m".into(), labels: vec![("a".into(), label)], unit: "bytes".into(), value: 7 }
    }

    #[test]
    fn a_full_queue_drops_the_oldest_and_counts_them() {
        let shared = shared();
        let mut random = testkit::Random::new(1, 0);
        let mut puts = 0;
        // Values that snappy cannot make smaller.
        while shared.stats.dropped.load(Ordering::Relaxed) < 3 {
            let label = (0..65_536).map(|_| format!("{:016x}", random.next_u64())).collect();
            shared.put(&Tenant::anonymous(), &[series(label)], &Known::default(), 1);
            puts += 1;
            assert!(puts < 1_000, "nothing is ever dropped");
        }
        let queue = shared.queue();
        assert!(queue.bytes <= limits::REMOTE_WRITE_QUEUE_BYTES_MAX);
        assert_eq!(shared.stats.queued.load(Ordering::Relaxed), queue.batches.len() as u64);
        assert_eq!(queue.batches.len() + 3, puts);
    }

    #[test]
    fn a_counter_that_appears_is_sent_from_zero_on() {
        let tenant = Tenant::anonymous();
        let old = series("old".into());
        let mut known = Known::default();
        assert_eq!(known.before(&tenant, &old), None, "of the first copy nothing is known");
        known.time = Some(5);
        known.by_tenant.insert(tenant.clone(), HashSet::from([(old.metric.clone(), old.labels.clone())]));
        assert_eq!(known.before(&tenant, &old), None);
        assert_eq!(known.before(&tenant, &series("new".into())), Some(5));
    }

    #[test]
    fn stopping_does_not_wait_for_a_receiver_that_is_gone() {
        let shared = Arc::new(shared());
        shared.put(&Tenant::anonymous(), &[series("x".into())], &Known::default(), 1);
        shared.queue().is_ended = true;
        let sending = Arc::clone(&shared);
        let thread = std::thread::spawn(move || sending.send_for_ever());
        while shared.stats.failures.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        shared.ask_to_stop();
        thread.join().unwrap();
        assert_eq!(shared.stats.dropped.load(Ordering::Relaxed), 1);
    }

    /// It takes connections and is never heard of again.
    #[test]
    fn stopping_does_not_try_everything_that_waits_on_a_receiver_that_hangs() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let mut shared = shared();
        shared.options.url = url;
        let shared = Arc::new(shared);
        for _ in 0..4 {
            shared.put(&Tenant::anonymous(), &[series("x".into())], &Known::default(), 1);
        }
        shared.queue().is_ended = true;
        let sending = Arc::clone(&shared);
        let thread = std::thread::spawn(move || sending.send_for_ever());
        let _first = listener.accept().unwrap();
        RemoteWrite { shared: Arc::clone(&shared), copying: None, sending: Some(thread) }.stop();
        assert!(!shared.queue().is_sent, "the first request is not answered yet");
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "nor was another one begun");
    }
}
