//! `profiling_config`: which kinds of profiles are taken, from which paths.
//!
//! As in Parca, entries are merged with the defaults, so a default must be switched off by `enabled: false`. Names,
//! paths and what is on are those of Parca and of Alloy's `pyroscope.scrape`, where they agree.

use profile::Temporality;

use super::{ConfigError, Kind, section::Section};
use crate::limits;

/// A kind that is known before anybody configures it.
struct Known {
    name: &'static str,
    profile_name: &'static str,
    path: &'static str,
    is_on: bool,
    /// Takes as long as it is asked to.
    is_delta: bool,
    temporality: Option<Temporality>,
}

/// What counts since the start of the process, and what is a state, is known of Go's own profiles alone (D8).
const KNOWN: [Known; 15] = [
    counter("memory", "memory", "/debug/pprof/allocs", true),
    counter("block", "block", "/debug/pprof/block", true),
    Known {
        name: "goroutine",
        profile_name: "goroutine",
        path: "/debug/pprof/goroutine",
        is_on: true,
        is_delta: false,
        temporality: Some(Temporality::Instant),
    },
    counter("mutex", "mutex", "/debug/pprof/mutex", true),
    sampled("process_cpu", "process_cpu", "/debug/pprof/profile", true),
    sampled("cpu", "process_cpu", "/debug/pprof/profile", false),
    sampled("profile", "process_cpu", "/debug/pprof/profile", false),
    counter("heap", "memory", "/debug/pprof/heap", false),
    counter("allocs", "memory", "/debug/pprof/allocs", false),
    Known {
        name: "threadcreate",
        profile_name: "threadcreate",
        path: "/debug/pprof/threadcreate",
        is_on: false,
        is_delta: false,
        temporality: Some(Temporality::Instant),
    },
    sampled("fgprof", "fgprof", "/debug/fgprof", false),
    Known { is_delta: false, ..sampled("godeltaprof_memory", "memory", "/debug/pprof/delta_heap", false) },
    Known { is_delta: false, ..sampled("godeltaprof_mutex", "mutex", "/debug/pprof/delta_mutex", false) },
    Known { is_delta: false, ..sampled("godeltaprof_block", "block", "/debug/pprof/delta_block", false) },
    sampled("wall", "wall", "/debug/pprof/wall", false),
];

const fn counter(name: &'static str, profile_name: &'static str, path: &'static str, is_on: bool) -> Known {
    let temporality = Some(Temporality::Cumulative);
    Known { name, profile_name, path, is_on, is_delta: false, temporality }
}

const fn sampled(name: &'static str, profile_name: &'static str, path: &'static str, is_on: bool) -> Known {
    Known { name, profile_name, path, is_on, is_delta: true, temporality: Some(Temporality::Delta) }
}

/// What `profiling_config` says.
pub(super) struct Kinds {
    pub path_prefix: String,
    pub kinds: Vec<Kind>,
}

/// Reads it. `seconds_default` is for kinds that take time and say nothing, `seconds_max` what fits in the time-out.
pub(super) fn read(
    section: Option<Section<'_>>,
    seconds_default: u64,
    seconds_max: u64,
) -> Result<Kinds, ConfigError> {
    let Some(mut section) = section else {
        return Ok(Kinds { path_prefix: String::new(), kinds: defaults(&[], seconds_default) });
    };
    let path_prefix = section.read("path_prefix", prefix)?.unwrap_or_default();
    let mut kinds = Vec::new();
    let mut named: Vec<String> = Vec::new();
    if let Some(given) = section.section("pprof_config")? {
        if given.entries().len() > limits::KINDS_MAX {
            let reason = format!("has {} kinds (limit {})", given.entries().len(), limits::KINDS_MAX);
            return Err(section.error("pprof_config", reason));
        }
        for entry in given.entries() {
            check_name(&entry.name)
                .map_err(|reason| ConfigError::at(entry.line, &given.path_of(&entry.name), reason))?;
            named.push(entry.name.clone());
            let kind = Section::of(&entry.node, given.path_of(&entry.name))?;
            kinds.extend(one(&entry.name, kind, seconds_default, seconds_max)?);
        }
    }
    let line = section.line;
    section.finish()?;
    kinds.extend(defaults(&named, seconds_default));
    for (position, kind) in kinds.iter().enumerate() {
        let twin = kinds[..position].iter().find(|other| other.profile_name == kind.profile_name);
        if let Some(twin) = twin {
            let reason = format!(
                "{} and {} would both be kept as {}, and everything counted twice; switch one off with enabled: false",
                twin.name, kind.name, kind.profile_name
            );
            return Err(ConfigError::at(line, "profiling_config.pprof_config", reason));
        }
    }
    Ok(Kinds { path_prefix, kinds })
}

/// Kinds that are on by themselves and were not named.
fn defaults(named: &[String], seconds: u64) -> Vec<Kind> {
    let wanted = KNOWN.iter().filter(|known| known.is_on && !named.iter().any(|name| name == known.name));
    wanted
        .map(|known| Kind {
            name: known.name.to_owned(),
            profile_name: known.profile_name.to_owned(),
            path: known.path.to_owned(),
            seconds: known.is_delta.then_some(seconds),
            temporality: known.temporality,
        })
        .collect()
}

fn one(
    name: &str,
    mut section: Section<'_>,
    seconds_default: u64,
    seconds_max: u64,
) -> Result<Option<Kind>, ConfigError> {
    let known = KNOWN.iter().find(|known| known.name == name);
    let is_on = section.switch("enabled")?.unwrap_or(true);
    let path = section.read("path", path)?.or_else(|| known.map(|known| known.path.to_owned()));
    let is_delta = section.switch("delta")?.unwrap_or_else(|| known.is_some_and(|known| known.is_delta));
    let seconds = section.read("seconds", |text| match text.parse::<u64>() {
        Ok(seconds) if seconds <= seconds_max => Ok(seconds),
        Ok(seconds) => {
            Err(format!("a profile of {seconds} s does not fit in the time-out (at most {seconds_max} s; see scrape_timeout)"))
        }
        Err(_) => Err(format!("{text:?} is no whole number of seconds")),
    })?;
    let temporality = section.read("temporality", |text| match text {
        "delta" => Ok(Temporality::Delta),
        "instant" => Ok(Temporality::Instant),
        "cumulative" => Ok(Temporality::Cumulative),
        _ => Err(format!("{text:?} is none of delta, instant, cumulative")),
    })?;
    section.refuse(&["keep_sample_type"], "not yet; all sample types are kept")?;
    let Some(path) = path else {
        return if is_on {
            Err(section.error("path", "is needed: this kind has no usual path"))
        } else {
            Ok(None)
        };
    };
    section.finish()?;
    if !is_on {
        return Ok(None);
    }
    // 0 means that nothing is said, as in Parca.
    let seconds = seconds.filter(|seconds| *seconds > 0);
    // The delta profilers' handlers give what was added since the last call, under whichever name they are scraped.
    let is_own_delta = path.split('?').next().is_some_and(|path| path.contains("/delta_"));
    let by_kind = if is_delta || is_own_delta {
        Some(Temporality::Delta)
    } else {
        // What takes no time of its own is no delta by itself, whatever the kind usually is.
        known.filter(|known| !known.is_delta).and_then(|known| known.temporality)
    };
    Ok(Some(Kind {
        name: name.to_owned(),
        profile_name: known.map_or_else(|| name.to_owned(), |known| known.profile_name.to_owned()),
        path,
        seconds: is_delta.then(|| seconds.unwrap_or(seconds_default)),
        temporality: temporality.or(by_kind),
    }))
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > limits::KIND_BYTES_MAX {
        return Err(format!("has {} bytes (from 1 to {})", name.len(), limits::KIND_BYTES_MAX));
    }
    match name.chars().find(|character| *character == ':' || character.is_control()) {
        Some(character) => Err(format!("has the character {character:?}")),
        None => Ok(()),
    }
}

fn prefix(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    if text.is_empty() {
        return Ok(String::new());
    }
    let path = path(text)?;
    if path.contains('?') { Err(format!("{text:?} has a query")) } else { Ok(path) }
}

/// A path that can stand in a request: it begins with a slash, and has neither spaces nor a fragment.
pub(crate) fn path(text: &str) -> Result<String, String> {
    let with_slash = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    let is_fine = with_slash.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    if is_fine { Ok(with_slash) } else { Err(format!("{text:?} is no path of a URL")) }
}
