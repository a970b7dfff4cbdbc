//! Ingest, from a gzip body to rows ready for the log, each body once into a fresh partition.
//!
//! Compared with `gzip -dc` of the same bodies, which only inflates them, and with the least that any ingest must do:
//! inflating with libdeflate and walking over every field.

use std::collections::BTreeMap;

use formats::{Decoder, Limits};
use profile::{Temporality, Tenant, Timestamp};
use store::{MemoryDataset, NewProfile};

use super::{Sets, WALK_OVER_GZIP_MIN};
use crate::{
    BenchError,
    clock::{best_of, gzip_seconds, timed},
    figure::{Figure, Limit},
    set::Set,
    walk::walk,
};

/// `ingest-mix-gzip` and `ingest-mix-walk`.
///
/// # Errors
/// When a body of the set is refused.
pub fn mix(sets: &mut Sets) -> Result<Vec<Figure>, BenchError> {
    one_set("ingest-mix", sets.mix()?, 5, 1.5, 0.5)
}

/// `ingest-tail-gzip` and `ingest-tail-walk`.
///
/// # Errors
/// When a body of the set is refused.
pub fn tail(sets: &mut Sets) -> Result<Vec<Figure>, BenchError> {
    one_set("ingest-tail", sets.one()?, 2, 1.2, 0.4)
}

fn one_set(
    name: &str,
    set: &Set,
    rounds: usize,
    over_gzip_min: f64,
    over_walk_min: f64,
) -> Result<Vec<Figure>, BenchError> {
    let (mut ingest, mut inflate, mut walking) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        let (seconds, services) = timed(|| ingest_all(set));
        drop(services?);
        ingest = ingest.min(seconds);
        let (inflate_seconds, walk_seconds) = inflate_and_walk(set)?;
        inflate = inflate.min(inflate_seconds);
        walking = walking.min(walk_seconds);
    }
    let gzip = best_of(rounds.min(3), || gzip_seconds(&set.file).unwrap_or(f64::INFINITY));
    let each = |seconds: f64| seconds / set.profiles.len() as f64 * 1e6;
    let fault =
        (gzip / walking < WALK_OVER_GZIP_MIN).then(|| format!("walk below {WALK_OVER_GZIP_MIN}x gzip -dc"));
    let shape = format!(
        "{} profiles, {:.1} MB gz, ingest {:.0} us each",
        set.profiles.len(),
        set.body_bytes() as f64 / 1e6,
        each(ingest)
    );
    Ok(vec![
        Figure::new(
            &format!("{name}-gzip"),
            gzip / ingest,
            "×",
            Limit::AtLeast(over_gzip_min),
            format!("gzip -dc {:.0} us each; {shape}", each(gzip)),
        )
        .with_fault(fault.clone()),
        Figure::new(
            &format!("{name}-walk"),
            (inflate + walking) / ingest,
            "×",
            Limit::AtLeast(over_walk_min),
            format!("libdeflate {:.0} + walk {:.0} us each; {shape}", each(inflate), each(walking)),
        )
        .with_fault(fault),
    ])
}

/// Takes in every body of a set; one partition per service.
///
/// # Errors
/// When a body is refused.
pub fn ingest_all(set: &Set) -> Result<BTreeMap<&str, MemoryDataset>, BenchError> {
    let (limits, tenant) = (Limits::default(), Tenant::anonymous());
    let mut decoder = Decoder::new();
    let mut services: BTreeMap<&str, MemoryDataset> = BTreeMap::new();
    for entry in &set.profiles {
        let (decoded, _) = decoder.pprof(set.body(entry), &limits)?;
        let service = entry.labels.service_name();
        services.entry(service).or_insert_with(|| MemoryDataset::new(service)).add(&NewProfile {
            tenant: &tenant,
            labels: entry.labels.clone(),
            name: &entry.name,
            temporality: Temporality::Delta,
            profile: decoded,
            digest_bytes: decoded.text,
            time: Timestamp(entry.time_nanos),
            time_is_stated: true,
            id: None,
        })?;
    }
    Ok(services)
}

/// Seconds that libdeflate takes for all bodies of a set, and that the bare walk takes over what comes out.
fn inflate_and_walk(set: &Set) -> Result<(f64, f64), BenchError> {
    let mut decompressor = libdeflater::Decompressor::new();
    let largest = set.profiles.iter().map(|profile| profile.raw_bytes).max().unwrap_or(0);
    let mut raw = vec![0; largest];
    let (mut inflate, mut walking) = (0.0, 0.0);
    for profile in &set.profiles {
        let (seconds, length) = timed(|| decompressor.gzip_decompress(set.body(profile), &mut raw));
        let length = length?;
        inflate += seconds;
        let (seconds, sum) = timed(|| walk(&raw[..length]));
        walking += seconds;
        sum.map_err(|_| "the walk met a broken body")?;
    }
    Ok((inflate, walking))
}
