//! Drives a running server: pushers, queriers that check every total while the pushers run, many merges at once at the
//! end, and from the first push to the last merge pairs of a push and the query that must see it.
//!
//! Used by the load test and, at full size, by `make bench-server`. Speaks the native API only.

use std::{
    sync::{
        Barrier, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A profile that is ready to be sent.
#[derive(Clone, Debug)]
pub struct LoadProfile {
    /// Query string of `POST /api/v1/push`: service, labels, name.
    pub query: String,
    /// The body.
    pub body: Vec<u8>,
    /// What it adds to the total that queriers ask for.
    pub value: i64,
}

/// How much of what.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Threads that push, as fast as they can.
    pub pushers: usize,
    /// Threads that query without pause while the pushers run.
    pub queriers: usize,
    /// Merges over everything, all at once, when the pushers are done.
    pub merges: usize,
    /// Least number of pushes that are each followed by the query that must see them. They go on until the merges are
    /// done, and longer where that was too short.
    pub pairs: usize,
    /// Least number of flushes that the pairs go on through, so that a quick load ends behind them too.
    pub flushes: u64,
    /// Selector (not encoded) whose total is asked for; all profiles of the load must match it.
    pub selector: String,
    /// The same for pairs, up to the closing brace: `…,pair="7"}` is added.
    pub pair_selector: String,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Profiles acknowledged.
    pub acknowledged: usize,
    /// Queries answered while the pushers ran.
    pub queries: u64,
    /// Queries that the idlest querier got answered.
    pub queries_least: u64,
    /// Pairs whose query saw the push.
    pub pairs: u64,
    /// Pairs tried.
    pub pairs_tried: u64,
    /// Flushes between the first pair and the last.
    pub pairs_flushes: u64,
    /// Merges answered at the end.
    pub merges: u64,
    /// The sum of what was acknowledged.
    pub value: i64,
    /// Everything that was not as it must be, the first hundred.
    pub faults: Vec<String>,
    /// From the first push to the last acknowledgement.
    pub push_time: Duration,
    /// All merges at the end together.
    pub merge_time: Duration,
    /// The slowest single merge.
    pub merge_slowest: Duration,
}

/// Longest wait for one answer; whoever needs more than this counts as a fault.
const PATIENCE: Duration = Duration::from_secs(120);

struct Shared<'a> {
    url: &'a str,
    plan: &'a LoadPlan,
    next: AtomicUsize,
    sent: AtomicI64,
    acknowledged: AtomicI64,
    count: AtomicUsize,
    queries: AtomicU64,
    merges: AtomicU64,
    /// The pushers are done.
    done: AtomicBool,
    /// The merges are done as well.
    over: AtomicBool,
    faults: Mutex<Vec<String>>,
}

impl Shared<'_> {
    fn fault(&self, text: String) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() < 100 {
            faults.push(text);
        }
    }

    fn push(&self, agent: &ureq::Agent, profile: &LoadProfile, further: &str) -> bool {
        let url = format!("{}/api/v1/push?{}{further}", self.url, profile.query);
        match agent.post(&url).send(&profile.body) {
            Ok(reply) if reply.status() == 200 => true,
            Ok(mut reply) => {
                let text = reply.body_mut().read_to_string().unwrap_or_default();
                self.fault(format!("push: {} {text}", reply.status()));
                false
            }
            Err(error) => {
                self.fault(format!("push: {error}"));
                false
            }
        }
    }

    /// Total of a selector; a fault where there is none.
    fn total(&self, agent: &ureq::Agent, call: &str, selector: &str) -> Option<i64> {
        match total(agent, self.url, call, selector) {
            Ok(total) => Some(total),
            Err(fault) => {
                self.fault(fault);
                None
            }
        }
    }
}

/// Total of a selector, by `flame` (a full merge) or by `top`.
fn total(agent: &ureq::Agent, url: &str, call: &str, selector: &str) -> Result<i64, String> {
    let url = format!("{url}/api/v1/{call}?from=0&to=now%2B10m&q={}", encoded(selector));
    let mut reply = agent.get(&url).call().map_err(|error| format!("{call}: {error}"))?;
    let text = reply.body_mut().with_config().limit(64 << 20).read_to_string().unwrap_or_default();
    let total = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|value| value.get("total").and_then(serde_json::Value::as_i64));
    match total {
        Some(total) if reply.status() == 200 => Ok(total),
        _ => Err(format!("{call}: {} {}", reply.status(), text.chars().take(300).collect::<String>())),
    }
}

/// Total of a selector by a full merge, when no load runs.
///
/// # Errors
/// Says what the server answered instead.
pub fn merged_total(url: &str, selector: &str) -> Result<i64, String> {
    total(&agent(), url, "flame", selector)
}

/// Flushes of the server so far.
fn flushes(agent: &ureq::Agent, url: &str) -> Result<u64, String> {
    let mut reply =
        agent.get(&format!("{url}/metrics")).call().map_err(|error| format!("metrics: {error}"))?;
    let text = reply.body_mut().read_to_string().map_err(|error| format!("metrics: {error}"))?;
    let count =
        text.lines().find_map(|line| line.strip_prefix("everflame_flushes_total ")?.trim().parse().ok());
    count.ok_or_else(|| "metrics: no count of flushes".to_owned())
}

/// Runs a load against a server.
#[must_use]
pub fn run_load(url: &str, plan: &LoadPlan, profiles: &[LoadProfile]) -> LoadReport {
    let shared = Shared {
        url,
        plan,
        next: AtomicUsize::new(0),
        sent: AtomicI64::new(0),
        acknowledged: AtomicI64::new(0),
        count: AtomicUsize::new(0),
        queries: AtomicU64::new(0),
        merges: AtomicU64::new(0),
        done: AtomicBool::new(false),
        over: AtomicBool::new(false),
        faults: Mutex::default(),
    };
    let begun = Instant::now();
    let mut report = LoadReport::default();
    thread::scope(|scope| {
        let pushers: Vec<_> = (0..plan.pushers).map(|_| scope.spawn(|| pusher(&shared, profiles))).collect();
        let queriers: Vec<_> = (0..plan.queriers).map(|_| scope.spawn(|| querier(&shared))).collect();
        let pairs = scope.spawn(|| pairs(&shared, profiles));
        for pusher in pushers {
            _ = pusher.join();
        }
        report.push_time = begun.elapsed();
        shared.done.store(true, Ordering::SeqCst);
        // a thread that panicked counts as one that did nothing
        let answered = queriers.into_iter().map(|querier| querier.join().unwrap_or(0));
        report.queries_least = answered.min().unwrap_or(0);
        (report.merge_time, report.merge_slowest) = merges(&shared);
        shared.over.store(true, Ordering::SeqCst);
        let pairs = pairs.join().unwrap_or_default();
        (report.pairs, report.pairs_tried, report.pairs_flushes) = (pairs.seen, pairs.tried, pairs.flushes);
    });
    report.acknowledged = shared.count.into_inner();
    report.queries = shared.queries.into_inner();
    report.merges = shared.merges.into_inner();
    report.value = shared.acknowledged.into_inner();
    report.faults = shared.faults.into_inner().unwrap_or_else(PoisonError::into_inner);
    report
}

fn pusher(shared: &Shared<'_>, profiles: &[LoadProfile]) {
    let agent = agent();
    while let Some(profile) = profiles.get(shared.next.fetch_add(1, Ordering::SeqCst)) {
        shared.sent.fetch_add(profile.value, Ordering::SeqCst);
        if shared.push(&agent, profile, "") {
            shared.acknowledged.fetch_add(profile.value, Ordering::SeqCst);
            shared.count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Each total lies between what was acknowledged before the query began and what was sent by its end. Gives the number
/// of answers.
fn querier(shared: &Shared<'_>) -> u64 {
    let agent = agent();
    let mut answered = 0;
    while !shared.done.load(Ordering::SeqCst) {
        let least = shared.acknowledged.load(Ordering::SeqCst);
        if least == 0 {
            // Nothing to be found yet; an unknown type is not what is tested here.
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let Some(total) = shared.total(&agent, "flame", &shared.plan.selector) else { continue };
        let most = shared.sent.load(Ordering::SeqCst);
        shared.queries.fetch_add(1, Ordering::SeqCst);
        answered += 1;
        if total < least || total > most {
            shared.fault(format!("flame: total {total}, not between {least} and {most}"));
        }
    }
    answered
}

/// What became of the pairs.
#[derive(Default)]
struct Pairs {
    seen: u64,
    tried: u64,
    flushes: u64,
}

/// What a push was answered 200 for is in the very next query.
fn pairs(shared: &Shared<'_>, profiles: &[LoadProfile]) -> Pairs {
    let mut pairs = Pairs::default();
    let Some(smallest) = profiles.iter().min_by_key(|profile| profile.body.len()) else { return pairs };
    let agent = agent();
    let count_flushes = || {
        flushes(&agent, shared.url).unwrap_or_else(|fault| {
            shared.fault(fault);
            0
        })
    };
    let flushes_before = count_flushes();
    let begun = Instant::now();
    let has_flushed = || {
        begun.elapsed() > PATIENCE || count_flushes().saturating_sub(flushes_before) >= shared.plan.flushes
    };
    while pairs.tried < shared.plan.pairs as u64 || !shared.over.load(Ordering::SeqCst) || !has_flushed() {
        let number = pairs.tried;
        pairs.tried += 1;
        // Another service than the load's, so that its totals stay what they are; another label each time, so that
        // the push is a new profile.
        let pushed = LoadProfile { query: "service=pairs&name=process_cpu".to_owned(), ..smallest.clone() };
        if !shared.push(&agent, &pushed, &format!("&label=pair%3D{number}")) {
            continue;
        }
        let selector = format!("{},pair=\"{number}\"}}", shared.plan.pair_selector);
        match shared.total(&agent, "top", &selector) {
            Some(total) if total == pushed.value => pairs.seen += 1,
            Some(total) => shared.fault(format!("pair {number}: {total} instead of {}", pushed.value)),
            None => {}
        }
    }
    pairs.flushes = count_flushes().saturating_sub(flushes_before);
    pairs
}

/// All merges at once; each must give exactly what was acknowledged.
fn merges(shared: &Shared<'_>) -> (Duration, Duration) {
    let slowest = Mutex::new(Duration::ZERO);
    // all threads are there before the first one asks
    let start = Barrier::new(shared.plan.merges.max(1));
    let begun = Instant::now();
    let expected = shared.acknowledged.load(Ordering::SeqCst);
    thread::scope(|scope| {
        for _ in 0..shared.plan.merges {
            scope.spawn(|| {
                start.wait();
                let one = Instant::now();
                let total = shared.total(&agent(), "flame", &shared.plan.selector);
                let mut slowest = slowest.lock().unwrap_or_else(PoisonError::into_inner);
                *slowest = one.elapsed().max(*slowest);
                match total {
                    Some(total) if total == expected => _ = shared.merges.fetch_add(1, Ordering::SeqCst),
                    Some(total) => shared.fault(format!("merge: {total} instead of {expected}")),
                    None => {}
                }
            });
        }
    });
    (begun.elapsed(), slowest.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .build()
        .new_agent()
}

/// Percent-encodes everything but letters and digits.
#[must_use]
pub fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

impl LoadProfile {
    /// A drawn profile, with its last column as the value.
    #[must_use]
    pub fn of(drawn: crate::FleetProfile) -> Self {
        let mut query = format!("service={}&name={}", drawn.label("service_name"), drawn.label("__name__"));
        for (name, value) in &drawn.labels {
            if name != "service_name" && name != "__name__" {
                query.push_str(&format!("&label={}", encoded(&format!("{name}={value}"))));
            }
        }
        Self { query, value: drawn.totals.last().copied().unwrap_or(0), body: drawn.body }
    }
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn selectors_survive_a_query_string() {
        assert_eq!(encoded("cpu{a=\"b c\"}"), "cpu%7Ba%3D%22b%20c%22%7D");
    }
}
