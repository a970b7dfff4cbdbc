//! From an address and its labels to what is scraped: labels before and after relabelling, and the URL.
//!
//! Follows Prometheus: `__address__`, `__scheme__`, `__param_NAME`, `__scrape_interval__`, `__scrape_timeout__` can be
//! changed by rules, and as in Parca so can `__profile_path__`, `__profile_path_prefix__` and `__name__`, the profile
//! name. What begins with `__` is dropped at the end, `instance` is the address where nothing says otherwise, and a
//! service is found by the same chain as for pushes, so that no scraped series lacks one.

use std::time::Duration;

use profile::{SERVICE_NAME, Temporality, Tenant};

use crate::{
    client::{Address, Url},
    config::{Job, Kind, Scheme, kind_path, period},
    limits,
    relabel::{Labels, relabel},
};

/// Where the service comes from when no label says it; the chain of pushes.
const SERVICE_FALLBACKS: [&str; 4] = ["service.name", "app", "job", "container"];

/// One kind of profile of one target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The job.
    pub job: String,
    /// The kind, as in the configuration.
    pub kind: String,
    /// Profile name that is stored.
    pub profile_name: String,
    /// Labels that are stored.
    pub labels: Labels,
    /// Labels before relabelling.
    pub discovered: Labels,
    /// Whose data it becomes.
    pub tenant: Option<Tenant>,
    /// What is asked.
    pub(crate) url: Url,
    /// How values relate along time; `None` = by their types.
    pub temporality: Option<Temporality>,
    /// Time between two scrapes.
    pub interval: Duration,
    /// Longest scrape.
    pub timeout: Duration,
}

impl Target {
    /// The URL, for people.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.to_string()
    }

    /// A number that is the same for the same target after every start: its place within the interval.
    pub(crate) fn hash(&self) -> u64 {
        // FNV-1a: stable, and good enough to spread.
        let text = format!("{}\0{}\0{}", self.job, self.url, self.profile_name);
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

/// What became of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Target(Box<Target>),
    /// A rule drops it; labels before relabelling.
    Dropped(Labels),
}

/// Why an address cannot be scraped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// Labels before relabelling.
    pub discovered: Labels,
    /// In words.
    pub reason: String,
}

/// Applies the job's rules to an address with the labels of its group.
pub(crate) fn resolve(job: &Job, kind: &Kind, group: &Labels, address: &str) -> Result<Resolved, Unusable> {
    let discovered = discovered(job, kind, group, address);
    let mut labels = discovered.clone();
    match relabel(&mut labels, &job.rules) {
        Ok(true) => {}
        Ok(false) => return Ok(Resolved::Dropped(discovered)),
        Err(error) => return Err(Unusable { discovered, reason: error.to_string() }),
    }
    match target(job, kind, labels, &discovered) {
        Ok(target) => Ok(Resolved::Target(Box::new(target))),
        Err(reason) => Err(Unusable { discovered, reason }),
    }
}

/// Labels as the rules find them.
fn discovered(job: &Job, kind: &Kind, group: &Labels, address: &str) -> Labels {
    let mut labels = group.clone();
    labels.insert("__address__".to_owned(), address.to_owned());
    let mut default = |name: &str, value: String| {
        labels.entry(name.to_owned()).or_insert(value);
    };
    default("job", job.name.clone());
    default("__scheme__", job.scheme.word().to_owned());
    default("__name__", kind.profile_name.clone());
    default("__profile_path__", kind.path.clone());
    default("__profile_path_prefix__", job.path_prefix.clone());
    default("__scrape_interval__", in_words(job.interval));
    default("__scrape_timeout__", in_words(job.timeout));
    for (name, values) in &job.params {
        if let Some(first) = values.first() {
            default(&format!("__param_{name}"), first.clone());
        }
    }
    labels.retain(|_, value| !value.is_empty());
    labels
}

fn in_words(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_millis()) {
        (seconds, 0) => format!("{seconds}s"),
        (seconds, milliseconds) => format!("{}ms", u128::from(seconds) * 1_000 + u128::from(milliseconds)),
    }
}

fn target(job: &Job, kind: &Kind, mut labels: Labels, discovered: &Labels) -> Result<Target, String> {
    let mut take = |name: &str| labels.remove(name).unwrap_or_default();
    let given = take("__address__");
    if given.is_empty() {
        return Err("there is no __address__".to_owned());
    }
    let scheme = Scheme::parse(&take("__scheme__")).map_err(|reason| format!("__scheme__: {reason}"))?;
    let profile_name = take("__name__");
    if profile_name.is_empty() || profile_name.contains(':') {
        return Err(format!("__name__: {profile_name:?} is no profile name"));
    }
    let prefix = take("__profile_path_prefix__");
    let path = kind_path(&format!("{}{}", prefix.trim_end_matches('/'), take("__profile_path__")))
        .map_err(|reason| format!("__profile_path__: {reason}"))?;
    let interval =
        period(&take("__scrape_interval__")).map_err(|reason| format!("__scrape_interval__: {reason}"))?;
    let timeout =
        period(&take("__scrape_timeout__")).map_err(|reason| format!("__scrape_timeout__: {reason}"))?;
    // C031: the label knows more of this target than the name of its kind does.
    let temporality = match (kind.temporality, take("__delta__").as_str()) {
        (Some(Temporality::Cumulative), "false") => Some(Temporality::Delta),
        (of_kind, _) => of_kind,
    };
    let query = query(job, kind, &labels);
    if kind.seconds.is_some_and(|seconds| Duration::from_secs(seconds) >= timeout) {
        return Err("__scrape_timeout__: is not longer than the profile is to be".to_owned());
    }
    let address = Address::parse(&given, scheme).map_err(|reason| format!("__address__: {reason}"))?;
    let url = Url::new(scheme, address, &path, &query);
    labels.retain(|name, _| !name.starts_with("__"));
    labels.entry("instance".to_owned()).or_insert(given);
    if !labels.contains_key(SERVICE_NAME) {
        let found = SERVICE_FALLBACKS.iter().find_map(|name| labels.get(*name)).cloned();
        if let Some(service) = found {
            labels.insert(SERVICE_NAME.to_owned(), service);
        }
    }
    check(&labels)?;
    Ok(Target {
        job: job.name.clone(),
        kind: kind.name.clone(),
        profile_name,
        labels,
        discovered: discovered.clone(),
        tenant: job.tenant.clone(),
        url,
        temporality,
        interval,
        timeout,
    })
}

/// The query string: the job's parameters, changed or added to by `__param_…`, and how long the profile is to be.
fn query(job: &Job, kind: &Kind, labels: &Labels) -> String {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (name, values) in &job.params {
        // Rules see the first value alone.
        let first = labels.get(&format!("__param_{name}")).map(String::as_str);
        pairs.extend(first.map(|value| (name.as_str(), value)));
        pairs.extend(values.iter().skip(1).map(|value| (name.as_str(), value.as_str())));
    }
    for (label, value) in labels {
        let Some(name) = label.strip_prefix("__param_") else { continue };
        if job.params.iter().all(|(known, _)| known != name) {
            pairs.push((name, value));
        }
    }
    let seconds = kind.seconds.map(|seconds| seconds.to_string());
    if let Some(seconds) = &seconds
        && pairs.iter().all(|(name, _)| *name != "seconds")
    {
        pairs.push(("seconds", seconds));
    }
    let encoded =
        |(name, value): &(&str, &str)| format!("{}={}", percent_encoded(name), percent_encoded(value));
    pairs.iter().map(encoded).collect::<Vec<_>>().join("&")
}

fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Labels must be what a push may have, or every scrape would be refused for the same reason.
fn check(labels: &Labels) -> Result<(), String> {
    if labels.len() > limits::LABELS_MAX {
        return Err(format!("{} labels are too many (limit {})", labels.len(), limits::LABELS_MAX));
    }
    for (name, value) in labels {
        if value.len() > limits::LABEL_VALUE_BYTES_MAX {
            let (bytes, limit) = (value.len(), limits::LABEL_VALUE_BYTES_MAX);
            return Err(format!("label {name:?}: the value has {bytes} bytes (limit {limit})"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
