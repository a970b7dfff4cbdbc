//! Ingest, from a gzip body to a record ready for the log: inflating, decoding, the id's digest, interning, encoding of
//! rows and record, compression. That is a push's work but for HTTP, the checksum and the disk.
//!
//! "Each body is ingested once into a fresh partition" is read so: in each round the partitions begin empty, one for
//! each service as in the server, and the bodies of a service go into its partition in the order of their time, each
//! body once. So every round meets the set's own share of stacks that are new, which is what ingest costs depend on. A
//! partition for each body alone would take every stack for new, and a body that comes twice would bring none.
//!
//! Compared with `gzip -dc` of the same bodies, which only inflates them, and with the least that any ingest must do:
//! inflating with libdeflate and walking over every field.

use std::collections::BTreeMap;

use formats::{Decoder, Limits};
use profile::Tenant;
use store::MemoryDataset;

use super::{Sets, WALK_OVER_GZIP_MIN};
use crate::{
    BenchError,
    clock::{Best, gzip_seconds},
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
    one_set("ingest-tail", sets.one()?, 3, 1.2, 0.4)
}

fn one_set(
    name: &str,
    set: &Set,
    rounds: usize,
    over_gzip_min: f64,
    over_walk_min: f64,
) -> Result<Vec<Figure>, BenchError> {
    let count = set.profiles.len();
    let (mut ingest, mut inflate, mut walking) = (Best::of(count), Best::of(count), Best::of(count));
    let mut gzip = f64::INFINITY;
    let mut record_bytes = 0;
    // Turn about, so that a change in the machine's mood meets all.
    for _ in 0..rounds {
        record_bytes = ingest_timed(set, &mut ingest)?.record_bytes;
        inflate_and_walk(set, &mut inflate, &mut walking)?;
        gzip = gzip.min(gzip_seconds(&set.file)?);
    }
    let (ingest, inflate, walking) = (ingest.sum(), inflate.sum(), walking.sum());
    let each = |seconds: f64| seconds / set.profiles.len() as f64 * 1e6;
    let fault =
        (gzip / walking < WALK_OVER_GZIP_MIN).then(|| format!("walk below {WALK_OVER_GZIP_MIN}x gzip -dc"));
    let shape = format!(
        "{} profiles, {:.1} MB gz, {:.1} MB of records, ingest {:.0} us each",
        set.profiles.len(),
        set.body_bytes() as f64 / 1e6,
        record_bytes as f64 / 1e6,
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

/// What [`ingest_all`] leaves.
pub struct Taken<'a> {
    /// The partitions, by service.
    pub services: BTreeMap<&'a str, MemoryDataset>,
    /// Bytes of all records as the log would get them.
    pub record_bytes: usize,
}

/// Takes in every body of a set; one partition per service.
///
/// # Errors
/// When a body is refused.
pub fn ingest_all(set: &Set) -> Result<Taken<'_>, BenchError> {
    ingest_timed(set, &mut Best::of(set.profiles.len()))
}

fn ingest_timed<'a>(set: &'a Set, best: &mut Best) -> Result<Taken<'a>, BenchError> {
    let (limits, tenant) = (Limits::default(), Tenant::anonymous());
    let mut decoder = Decoder::new();
    let mut taken = Taken { services: BTreeMap::new(), record_bytes: 0 };
    for (position, entry) in set.profiles.iter().enumerate() {
        let service = entry.labels.service_name();
        let partition = taken.services.entry(service).or_insert_with(|| MemoryDataset::new(service));
        let record_bytes = best.timed(position, || -> Result<usize, BenchError> {
            let (decoded, _) = decoder.pprof(set.body(entry), &limits)?;
            let (_, record_bytes) = partition.add_logged(&entry.pushed(&tenant, decoded))?;
            Ok(record_bytes)
        })?;
        taken.record_bytes += record_bytes;
    }
    Ok(taken)
}

/// Inflates all bodies of a set with libdeflate, and walks over what comes out.
fn inflate_and_walk(set: &Set, inflate: &mut Best, walking: &mut Best) -> Result<(), BenchError> {
    let mut decompressor = libdeflater::Decompressor::new();
    let largest = set.profiles.iter().map(|profile| profile.raw_bytes).max().unwrap_or(0);
    let mut raw = vec![0; largest];
    for (position, profile) in set.profiles.iter().enumerate() {
        let length = inflate.timed(position, || decompressor.gzip_decompress(set.body(profile), &mut raw))?;
        let seen = walking.timed(position, || walk(&raw[..length]));
        std::hint::black_box(seen.map_err(|_| "the walk met a broken body")?);
    }
    Ok(())
}
