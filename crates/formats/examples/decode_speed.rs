//! Times decoding against a bare walk: `decode_speed FILE…`.
#![allow(clippy::print_stdout)]

use std::{hint::black_box, time::Instant};

use formats::{Decoder, Limits};

/// Shortest of many runs, in ns per round.
fn shortest(mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 0.4 {
        let start = Instant::now();
        for _ in 0..4 {
            run();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 4.0);
    }
    best
}

fn main() {
    let limits = Limits::default();
    let mut totals = (0.0, 0.0, 0.0, 0);
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path).expect("readable file");
        let mut decoder = Decoder::new();
        let Ok(inflated) = decoder.inflate(&body, &limits).map(|inflated| inflated.bytes.to_vec()) else {
            continue;
        };
        if testkit::bare_walk(&inflated).is_none() {
            continue;
        }
        let mut decoder = Decoder::new();
        let walk = shortest(|| {
            black_box(testkit::bare_walk(black_box(&inflated)));
        });
        let decode = shortest(|| {
            let _ = black_box(decoder.pprof(black_box(&inflated), &limits).is_ok());
        });
        let mut inflater = Decoder::new();
        let inflate = shortest(|| {
            let _ = black_box(inflater.inflate(black_box(&body), &limits).is_ok());
        });
        let bytes = inflated.len();
        let name = path.rsplit('/').next().unwrap_or("");
        println!(
            "{name:40} {bytes:8} B  walk {:6.0} MB/s  decode {:6.0} MB/s  ratio {:.3}  inflate {:6.0} MB/s",
            bytes as f64 / walk * 1e3,
            bytes as f64 / decode * 1e3,
            decode / walk,
            bytes as f64 / inflate * 1e3
        );
        totals = (totals.0 + walk, totals.1 + decode, totals.2 + inflate, totals.3 + bytes);
    }
    println!("all: walk {:.0} MB/s ratio {:.3}", totals.3 as f64 / totals.0 * 1e3, totals.1 / totals.0);
}
