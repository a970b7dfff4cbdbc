//! Times decoding against a bare walk over the generator's bodies, or over the files named: `decode_speed [FILE…]`.
//!
//! Sums up the shortest of many runs per body, so that other work on the machine disturbs little.
#![allow(clippy::print_stdout)]

use std::{hint::black_box, time::Instant};

use formats::{Decoder, Limits};
use testkit::{Fleet, FleetOptions, bare_walk};

const RUNS: usize = 60;

/// Shortest of many runs, ns.
fn shortest(mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    best
}

fn measure(name: &str, bodies: &[Vec<u8>]) {
    let limits = Limits::default();
    let mut decoder = Decoder::new();
    let (mut walk, mut decode, mut inflate, mut bytes) = (0.0, 0.0, 0.0, 0);
    for body in bodies {
        let Ok(raw) = decoder.inflate(body, &limits).map(|inflated| inflated.bytes.to_vec()) else {
            continue;
        };
        if bare_walk(&raw).is_none() {
            continue;
        }
        bytes += raw.len();
        walk += shortest(|| {
            black_box(bare_walk(black_box(&raw)));
        });
        decode += shortest(|| {
            black_box(decoder.pprof(black_box(&raw), &limits).is_ok());
        });
        inflate += shortest(|| {
            black_box(decoder.inflate(black_box(body), &limits).is_ok());
        });
    }
    let rate = |nanos: f64| bytes as f64 / nanos * 1e3;
    println!(
        "{name:42} {:8} B  walk {:6.0} MB/s  decode {:6.0} MB/s  ratio {:.3}  inflate {:6.0} MB/s",
        bytes / bodies.len().max(1),
        rate(walk),
        rate(decode),
        decode / walk,
        rate(inflate)
    );
}

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    for path in &files {
        let body = std::fs::read(path).expect("readable file");
        measure(path.rsplit('/').next().unwrap_or(""), &[body]);
    }
    if files.is_empty() {
        for (name, options) in [("mix", FleetOptions::mix()), ("one", FleetOptions::one())] {
            let bodies: Vec<Vec<u8>> =
                Fleet::new(options).step_by(37).take(50).map(|profile| profile.body).collect();
            measure(name, &bodies);
        }
    }
}
