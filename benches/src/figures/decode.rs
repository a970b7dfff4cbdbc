//! Decoding of pprof against a bare walk over the same bytes.

use formats::{Decoder, Limits};

use super::{Sets, WALK_OVER_GZIP_MIN};
use crate::{
    BenchError,
    clock::{Best, gzip_seconds},
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
    let (mut decoding, mut walking, mut gzip) =
        (Best::of(bodies.len()), Best::of(bodies.len()), f64::INFINITY);
    // Turn about, so that a change in the machine's mood meets all.
    for _ in 0..ROUNDS {
        for (position, body) in bodies.iter().enumerate() {
            let seen = walking.timed(position, || walk(body));
            std::hint::black_box(seen.map_err(|_: Broken| "the walk met a broken body")?);
        }
        samples = 0;
        for (position, body) in bodies.iter().enumerate() {
            let (profile, _) = decoding.timed(position, || decoder.pprof(body, &limits))?;
            samples += profile.columns.sample_count();
        }
        gzip = gzip.min(gzip_seconds(&file)?);
    }
    let (decoding, walking) = (decoding.sum(), walking.sum());
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
