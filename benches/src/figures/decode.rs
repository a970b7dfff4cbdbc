//! Decoding of pprof against a bare walk over the same bytes.

use formats::{Decoder, Limits};

use super::{Sets, WALK_OVER_GZIP_MIN};
use crate::{
    BenchError,
    clock::{gzip_seconds, timed},
    figure::{Figure, Limit},
    set::Set,
    walk::{Broken, walk},
};

/// Profiles taken from a set, evenly: enough for a tenth of a second each round.
const PROFILES: usize = 500;
const ROUNDS: usize = 11;

/// `decode-mix` and `decode-tail`.
///
/// # Errors
/// When a body of a set cannot be decoded.
pub fn measure(sets: &mut Sets) -> Result<Vec<Figure>, BenchError> {
    let mix = one_set("decode-mix", sets.mix()?)?;
    let tail = one_set("decode-tail", sets.one()?)?;
    Ok(vec![mix, tail])
}

fn one_set(name: &str, set: &Set) -> Result<Figure, BenchError> {
    let limits = Limits::default();
    let step = (set.profiles.len() / PROFILES).max(1);
    let mut inflater = Decoder::new();
    let mut bodies = Vec::new();
    let mut gzipped = Vec::new();
    for profile in set.profiles.iter().step_by(step) {
        bodies.push(inflater.inflate(set.body(profile), &limits)?.bytes.to_vec());
        gzipped.extend_from_slice(set.body(profile));
    }
    let file = set.file.with_file_name(format!("{name}.gz"));
    std::fs::write(&file, &gzipped)?;
    let raw_bytes: usize = bodies.iter().map(Vec::len).sum();

    let mut decoder = Decoder::new();
    let mut samples = 0;
    let (mut decoding, mut walking, mut gzip) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    // Turn about, so that a change in the machine's mood meets all.
    for _ in 0..ROUNDS {
        let (seconds, sum) =
            timed(|| bodies.iter().try_fold(0, |sum: u64, body| Ok(sum.wrapping_add(walk(body)?))));
        std::hint::black_box(sum.map_err(|_: Broken| "the walk met a broken body")?);
        walking = walking.min(seconds);
        samples = 0;
        let (seconds, found) = timed(|| -> Result<(), formats::DecodeError> {
            for body in &bodies {
                samples += decoder.pprof(body, &limits)?.0.columns.sample_count();
            }
            Ok(())
        });
        found?;
        decoding = decoding.min(seconds);
        gzip = gzip.min(gzip_seconds(&file)?);
    }
    let speed = raw_bytes as f64 / walking / 1e6;
    let over_gzip = gzip / walking;
    let reference = format!(
        "bare walk {speed:.0} MB/s = {over_gzip:.1}x gzip -dc; {} bodies, {samples} samples",
        bodies.len()
    );
    Ok(Figure::new(name, decoding / walking, "×", Limit::AtMost(1.15), reference).with_fault(
        (over_gzip < WALK_OVER_GZIP_MIN).then(|| format!("walk below {WALK_OVER_GZIP_MIN}x gzip -dc")),
    ))
}
