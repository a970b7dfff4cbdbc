//! One entry of `scrape_configs`, and the defaults of `global`.

use std::{path::Path, time::Duration};

use profile::Tenant;

use super::{
    ConfigError, Job, Scheme, discovery, http, kinds, relabel_rules, section::Section, section::texts, values,
};
use crate::limits;

/// What holds where a job says nothing.
pub(super) struct Defaults {
    interval: Option<Duration>,
    timeout: Option<Duration>,
    body_bytes_max: Option<usize>,
}

impl Defaults {
    /// Reads `global`.
    pub(super) fn read(root: &mut Section<'_>, notices: &mut Vec<String>) -> Result<Self, ConfigError> {
        let Some(mut global) = root.section("global")? else {
            return Ok(Self { interval: None, timeout: None, body_bytes_max: None });
        };
        let interval = global.read("scrape_interval", values::period)?;
        let timeout = global.read("scrape_timeout", values::period)?;
        let body_bytes_max = global.read("body_size_limit", body_size)?;
        global.ignore(
            &[
                "evaluation_interval",
                "rule_query_offset",
                "query_log_file",
                "scrape_failure_log_file",
                "external_labels",
            ],
            "passed over; it is about metrics",
            notices,
        );
        global.ignore(&METRICS_ONLY, "passed over; it is about metrics", notices);
        global.finish()?;
        Ok(Self { interval, timeout, body_bytes_max })
    }
}

/// Keys of Prometheus that say how metrics are read, and nothing of which profiles are scraped.
const METRICS_ONLY: [&str; 24] = [
    "metrics_path",
    "metric_relabel_configs",
    "honor_labels",
    "honor_timestamps",
    "track_timestamps_staleness",
    "scrape_protocols",
    "fallback_scrape_protocol",
    "scrape_fallback_protocol",
    "scrape_native_histograms",
    "scrape_classic_histograms",
    "always_scrape_classic_histograms",
    "convert_classic_histograms_to_nhcb",
    "native_histogram_bucket_limit",
    "native_histogram_min_bucket_factor",
    "metric_name_validation_scheme",
    "metric_name_escaping_scheme",
    "enable_compression",
    "sample_limit",
    "label_limit",
    "label_name_length_limit",
    "label_value_length_limit",
    "target_limit",
    "keep_dropped_targets",
    "extra_scrape_metrics",
];

/// Reads a job.
pub(super) fn read(
    mut section: Section<'_>,
    defaults: &Defaults,
    folder: &Path,
    notices: &mut Vec<String>,
) -> Result<Job, ConfigError> {
    let Some(name) = section.text("job_name")?.filter(|name| !name.is_empty()) else {
        return Err(section.error("job_name", "is needed"));
    };
    let name = name.to_owned();
    let interval = section.read("scrape_interval", values::period)?.or(defaults.interval);
    let interval = interval.unwrap_or(limits::INTERVAL_DEFAULT);
    let timeout = section.read("scrape_timeout", values::period)?.or(defaults.timeout);
    let timeout = timeout.unwrap_or(interval + limits::TIMEOUT_BEYOND);
    let body_bytes_max = section.read("body_size_limit", body_size)?.or(defaults.body_bytes_max);
    let scheme = section.read("scheme", Scheme::parse)?.unwrap_or(Scheme::Http);
    let tenant = section.read("tenant", |text| Tenant::parse(text).map_err(|error| error.to_string()))?;
    let mut params = Vec::new();
    if let Some(given) = section.section("params")? {
        for entry in given.entries() {
            params.push((entry.name.clone(), texts(&entry.node, &given.path_of(&entry.name))?));
        }
    }
    // A profile must be whole a moment before the scrape is given up.
    let seconds_max = timeout.saturating_sub(Duration::from_nanos(1)).as_secs();
    let seconds_default = interval.as_secs().min(seconds_max).max(1);
    let profiling = section.section("profiling_config")?;
    let kinds = kinds::read(profiling, seconds_default, seconds_max)?;
    let discoveries = discovery::read(&mut section, folder, notices)?;
    let path = section.path_of("relabel_configs");
    let rules = section.node("relabel_configs").map(|node| relabel_rules(node, &path)).transpose()?;
    let http = http::read(&mut section, folder, notices)?;
    section.ignore(&METRICS_ONLY, "passed over; paths of profiles are in profiling_config", notices);
    section.ignore(&["normalized_addresses"], "passed over; addresses are kept as sent", notices);
    if kinds.kinds.is_empty() {
        return Err(section.error("profiling_config", "every kind is switched off"));
    }
    if kinds.kinds.iter().any(|kind| kind.seconds.is_some()) && timeout < Duration::from_secs(2) {
        let reason =
            "is too short for kinds that take whole seconds (at least 2s, or switch process_cpu off)";
        return Err(section.error("scrape_timeout", reason));
    }
    section.finish()?;
    Ok(Job {
        name,
        tenant,
        interval,
        timeout,
        scheme,
        params,
        path_prefix: kinds.path_prefix,
        kinds: kinds.kinds,
        discoveries,
        rules: rules.unwrap_or_default(),
        http,
        body_bytes_max: body_bytes_max.unwrap_or(limits::BODY_BYTES_DEFAULT),
    })
}

/// Bytes; 0 is as much as can be asked for.
fn body_size(text: &str) -> Result<usize, String> {
    match values::bytes(text)? {
        0 => Ok(limits::BODY_BYTES_MAX),
        bytes if bytes <= limits::BODY_BYTES_MAX => Ok(bytes),
        _ => Err(format!("{text:?} is above the limit of {} MiB", limits::BODY_BYTES_MAX >> 20)),
    }
}
