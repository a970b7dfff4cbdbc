//! Seeded damage to multipart bodies: reading them ends, keeps to its memory, and does not depend on how they were cut into
//! pieces (R1, D20, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

use api::fuzz::fuzz_multipart;
use testkit::{CountingAllocator, FuzzRun, mutate, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TYPE: &str = "multipart/form-data; boundary=B7x";

fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let head = format!("Content-Disposition: form-data; name=\"{name}\"; filename=\"{name}.x\"");
        body.extend(format!("--B7x\r\n{head}\r\nContent-Type: application/octet-stream\r\n\r\n").bytes());
        body.extend_from_slice(content);
        body.extend(b"\r\n");
    }
    body.extend(b"--B7x--\r\n");
    body
}

fn seeds() -> Vec<Vec<u8>> {
    let config = br#"{"samples":{"display-name":"cpu","units":"samples","sampled":true}}"#;
    vec![
        form(&[("profile", b"\x1f\x8b\x08 not really")]),
        form(&[("profile", &[b'p'; 3000]), ("sample_type_config", config)]),
        form(&[("prev_profile", b"old"), ("profile", b"new")]),
        form(&[("other", b"\r\n--B7"), ("profile", b"--B7x\r\n"), ("sample_type_config", b"{}")]),
        form(&[]),
    ]
}

#[test]
fn fuzz_multipart_within_bounds() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("multipart", 20_260_101, 20_000);
    let mut random = run.random(13);
    let seeds = seeds();
    for case in 0..cases {
        let mut body = seeds[random.below(seeds.len())].clone();
        mutate(&mut body, &mut random);
        let piece_bytes = 1 + random.below(body.len().max(1));
        let (whole, peak) = peak_of(|| fuzz_multipart(TYPE, &body, usize::MAX));
        let limit = 8 * body.len() + (1 << 20);
        assert!(peak <= limit, "case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})");
        let pieces = fuzz_multipart(TYPE, &body, piece_bytes);
        match (whole, pieces) {
            (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces, "case {case} of seed {seed}"),
            (Err(whole), Err(pieces)) => {
                // a client's fault, whatever the bytes
                for error in [whole, pieces] {
                    assert!(error.ingest_status().is_client_error(), "case {case} of seed {seed}: {error}");
                }
            }
            (whole, pieces) => {
                panic!("case {case} of seed {seed}: {whole:?} whole, {pieces:?} in pieces of {piece_bytes}")
            }
        }
    }
}

/// Many small parts, many headers, one large part: memory follows the body.
#[test]
fn greedy_forms_stay_within_their_memory() {
    let tiny = b"--B7x\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n".repeat(20_000);
    let header = b"x-a: b\r\n".repeat(100_000);
    let headers =
        [&b"--B7x\r\nContent-Disposition: form-data; name=\"profile\"\r\n"[..], &header, b"\r\nx\r\n--B7x--"];
    let bodies = [
        ("parts", [&tiny[..], b"--B7x--\r\n"].concat()),
        ("headers", headers.concat()),
        ("one part", form(&[("profile", &vec![0; 4 << 20])])),
        (
            "no end",
            [&b"--B7x\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\n"[..], &vec![b'-'; 1 << 20]]
                .concat(),
        ),
        ("names", form(&[(&"n".repeat(60_000), b"")])),
    ];
    for (name, body) in bodies {
        for piece_bytes in [usize::MAX, 8192] {
            let (result, peak) =
                peak_of(|| fuzz_multipart(TYPE, &body, piece_bytes).map(|parts| parts.profile.is_some()));
            let limit = 8 * body.len() + (16 << 20);
            println!("{name}: {} bytes, peak {peak}, {result:?}", body.len());
            assert!(peak <= limit, "{name}: {peak} bytes at the peak (at most {limit})");
        }
    }
}
