//! `scrape_configs` as Prometheus and Parca write them, read into [`ScrapeConfig`], which cannot be wrong.
//!
//! Keys that mean something for metrics only are passed over and named in [`ScrapeConfig::notices`]; keys that would
//! change what is scraped and are not there yet are refused in words; any other key is unknown, an error with its line.
//! What the keys mean is in `docs/scraping.md`. Not here: YAML itself ([`crate::yaml`]), what becomes of targets.

mod discovery;
mod error;
mod http;
mod job;
mod kinds;
mod relabel;
mod section;
mod values;

use std::{path::Path, time::Duration};

use profile::{Temporality, Tenant};

pub(crate) use discovery::groups;
pub use error::ConfigError;
pub(crate) use kinds::path as kind_path;
pub(crate) use relabel::relabel_rules;
use section::Section;
pub(crate) use values::period;

use crate::{limits, relabel::Labels, relabel::Rule, yaml};

/// A configuration, checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScrapeConfig {
    /// What is scraped, in the order of the file.
    pub jobs: Vec<Job>,
    /// Keys that were passed over, in words.
    pub notices: Vec<String>,
}

/// Targets that are scraped alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// `job_name`.
    pub name: String,
    /// Whose data it becomes; `None` = of nobody in particular.
    pub tenant: Option<Tenant>,
    pub(crate) interval: Duration,
    pub(crate) timeout: Duration,
    pub(crate) scheme: Scheme,
    /// Parameters of every URL, in the order of the file.
    pub(crate) params: Vec<(String, Vec<String>)>,
    pub(crate) path_prefix: String,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) discoveries: Vec<Discovery>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) http: HttpSettings,
    /// Largest answer, bytes.
    pub(crate) body_bytes_max: usize,
}

/// How a target is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// The word in URLs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "http" => Ok(Self::Http),
            "https" => Ok(Self::Https),
            _ => Err(format!("{text:?} is neither http nor https")),
        }
    }
}

/// One kind of profile that is taken of every target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// As in the file.
    pub name: String,
    /// Profile name that is stored.
    pub profile_name: String,
    /// Path, maybe with a query.
    pub path: String,
    /// For how long a profile is taken, seconds; `None` = it is a state or counts since the start.
    pub seconds: Option<u64>,
    /// How values relate along time; `None` = by their types.
    pub temporality: Option<Temporality>,
}

/// Where targets come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Discovery {
    /// Written in the configuration.
    Static(Vec<Group>),
    /// Files in JSON or YAML; the last part of a path may have `*`.
    File { patterns: Vec<String>, refresh: Duration },
    /// An HTTP service that answers in JSON.
    Http { url: String, refresh: Duration, settings: Box<HttpSettings> },
    /// Addresses of a name.
    Dns { name: String, family: Family, port: u16, refresh: Duration },
}

impl Discovery {
    /// The key of the configuration.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Static(_) => "static",
            Self::File { .. } => "file",
            Self::Http { .. } => "http",
            Self::Dns { .. } => "dns",
        }
    }
}

/// Which addresses of a name are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// Targets with common labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Values of `__address__`.
    pub targets: Vec<String>,
    /// Labels of all of them.
    pub labels: Labels,
}

/// How requests are made: credentials, TLS, redirects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpSettings {
    pub credentials: Option<Credentials>,
    pub tls: TlsSettings,
    pub redirects: Redirects,
}

/// Whether redirects are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Redirects {
    #[default]
    Followed,
    Refused,
}

/// What is sent in `Authorization`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// User name and password.
    Basic { user: Secret, password: Secret },
    /// A scheme, such as `Bearer`, and what follows it.
    Scheme { scheme: String, value: Secret },
}

/// A text that is never shown, or the file that holds it and is read at each use.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Secret {
    Text(String),
    File(String),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(_) => formatter.write_str("Text(…)"),
            Self::File(path) => write!(formatter, "File({path:?})"),
        }
    }
}

/// `tls_config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    /// PEM of the authorities that are trusted; `None` = those of the machine.
    pub authorities: Option<Secret>,
    /// PEM of the client's certificate and of its key.
    pub identity: Option<(Secret, Secret)>,
    /// Name that the certificate must have, instead of the address.
    pub server_name: Option<String>,
    pub verification: Verification,
    pub versions: TlsVersions,
}

/// Whether a target must show who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verification {
    #[default]
    Required,
    /// `insecure_skip_verify`.
    Skipped,
}

/// Versions of TLS that may be spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TlsVersions {
    #[default]
    Both,
    Only12,
    Only13,
}

impl ScrapeConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// Names file, line and key.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let origin = path.display().to_string();
        let text = crate::files::read_text(path, limits::TEXT_BYTES_MAX)
            .map_err(|reason| ConfigError::at(0, "", reason).of(&origin))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).map_err(|error| error.of(&origin))
    }

    /// Reads a text; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// Names line and key.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let root = yaml::read(text)?;
        let mut root = Section::of(&root, "")?;
        let mut notices = Vec::new();
        let defaults = job::Defaults::read(&mut root, &mut notices)?;
        root.ignore(
            &["object_storage"],
            "passed over; this server keeps its data in its own folder",
            &mut notices,
        );
        root.ignore(
            &[
                "rule_files",
                "alerting",
                "remote_write",
                "remote_read",
                "storage",
                "tracing",
                "otlp",
                "runtime",
            ],
            "passed over; it is about metrics",
            &mut notices,
        );
        root.refuse(&["scrape_config_files"], "not yet; write the jobs into this file")?;
        let sections = root.sections("scrape_configs")?;
        if sections.len() > limits::JOBS_MAX {
            let reason = format!("has {} jobs (limit {})", sections.len(), limits::JOBS_MAX);
            return Err(root.error("scrape_configs", reason));
        }
        let mut jobs: Vec<Job> = Vec::with_capacity(sections.len());
        for section in sections {
            let line = section.line;
            let job = job::read(section, &defaults, folder, &mut notices)?;
            if jobs.iter().any(|known| known.name == job.name) {
                let reason = format!("two jobs are called {:?}", job.name);
                return Err(ConfigError::at(line, "job_name", reason));
            }
            jobs.push(job);
        }
        root.finish()?;
        Ok(Self { jobs, notices })
    }
}

/// What a fuzzer does with one input: reading ends, with an answer or an error, and so does relabelling by the rules.
pub fn fuzz_config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(config) = ScrapeConfig::parse(&text, Path::new("/")) else { return };
    for job in &config.jobs {
        for discovery in &job.discoveries {
            if let Discovery::Static(groups) = discovery {
                for group in groups.iter().take(8) {
                    for kind in job.kinds.iter().take(4) {
                        for target in group.targets.iter().take(8) {
                            let _ = crate::target::resolve(job, kind, &group.labels, target);
                        }
                    }
                }
            }
        }
    }
}

/// The same for relabelling alone: rules in YAML, a line `--`, then labels as `name=value`, one a line.
///
/// # Panics
/// When labels grow beyond their limits, which is what a fuzzer looks for.
pub fn fuzz_relabel(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (rules, labels) = text.split_once("--\n").unwrap_or((&text, ""));
    let Ok(node) = yaml::read(rules) else { return };
    let Ok(rules) = relabel_rules(&node, "relabel_configs") else { return };
    let pairs = labels.lines().filter_map(|line| line.split_once('='));
    let mut labels: Labels =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).take(limits::RELABELLED_MAX).collect();
    let longest = labels.values().map(String::len).max().unwrap_or(0).max(limits::VALUE_BYTES_MAX);
    if crate::relabel::relabel(&mut labels, &rules).is_ok() {
        assert!(labels.len() <= limits::RELABELLED_MAX);
        assert!(labels.values().all(|value| value.len() <= longest));
    }
}

#[cfg(test)]
mod tests;
