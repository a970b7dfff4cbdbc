//! Seeded damage to good bodies: no decoder panics, works or allocates beyond its bounds (R1, D20, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use formats::{Decoder, Measure, encode_pprof, gzip};
use testkit::{
    CountingAllocator, FuzzRun, Siblings, arbitrary, fuzz_folded, fuzz_inflate, fuzz_limits, fuzz_pprof,
    fuzz_speedscope, fuzz_tree, fuzz_trie, mutate, peak_of, tree_body, trie_body,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Runs `body` on mutations of `seeds`.
fn fuzz(name: &str, seeds: &[Vec<u8>], body: fn(&mut Decoder, &[u8]) -> usize) {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin(name, 20_260_101, 20_000);
    let mut random = run.random(11);
    let mut decoder = Decoder::new();
    for case in 0..cases {
        let mut input = seeds[random.below(seeds.len())].clone();
        mutate(&mut input, &mut random);
        let (charged, peak) = peak_of(|| body(&mut decoder, &input));
        // D20's own bound, although a fuzz body holds a round trip beside what it decodes
        let limit = 8 * charged + (16 << 20);
        assert!(
            peak <= limit,
            "{name}, case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})"
        );
    }
}

fn pprof_seeds() -> Vec<Vec<u8>> {
    (0..40)
        .map(|seed| encode_pprof(&arbitrary::random_profile(seed, 12, 1 + (seed as usize) % 3).view()))
        .collect()
}

#[test]
fn fuzz_pprof_within_bounds() {
    fuzz("pprof", &pprof_seeds(), fuzz_pprof);
}

#[test]
fn fuzz_inflate_within_bounds() {
    let mut seeds: Vec<Vec<u8>> = pprof_seeds().iter().map(|body| gzip(body)).collect();
    seeds.extend(pprof_seeds().iter().map(|body| zstd::bulk::compress(body, 3).unwrap()));
    let twice: Vec<Vec<u8>> = seeds.iter().map(|body| gzip(body)).collect();
    let glued: Vec<Vec<u8>> = seeds.iter().map(|body| [body.as_slice(), body].concat()).collect();
    seeds.extend(twice);
    seeds.extend(glued);
    seeds.push(gzip(&vec![0; 8 << 20]));
    fuzz("inflate", &seeds, fuzz_inflate);
}

#[test]
fn fuzz_folded_within_bounds() {
    let texts: [&[u8]; 6] = [
        b"main;a;b 10\nmain;a;c 5\r\n\n# comment\nmain 3",
        b"\xef\xbb\xbfroot;operator()(int);x 7\n",
        b"\xff\xfer\0o\0o\0t\0;\0a\0 \x001\0\n\0",
        b"run file.py:41;run (lib/x.rb:7);f 1\n",
        b";;a;; 4\na;b\n-1\na -5\nb 0\n",
        "главная;帧;🔥 9223372036854775807\n".as_bytes(),
    ];
    let mut seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
    seeds.push([&b"f;"[..]].repeat(100).concat());
    seeds[6].extend_from_slice(b"leaf 2");
    fuzz("folded", &seeds, fuzz_folded);
}

type TestStack = (Vec<&'static [u8]>, u64);

fn stacks() -> Vec<Vec<TestStack>> {
    let odd: Vec<&[u8]> = vec![b"main", b"run file.py:41", "帧".as_bytes(), b"\xff", b"x"];
    vec![
        vec![(vec![b"a", b"b"], 1), (vec![b"a", b"c"], 2)],
        vec![(odd.clone(), 300), (odd[..3].to_vec(), 1), (vec![b"main", b"runtime.mallocgc"], 70_000)],
        vec![(vec![b"f"; 90], 1), (vec![b"f"; 70], 2), (Vec::new(), 3)],
        vec![(vec![&[b'n'; 300]], 9), (vec![&[b'n'; 250], b"m"], 9)],
    ]
}

#[test]
fn fuzz_tree_within_bounds() {
    let orders = [Siblings::FirstFirst, Siblings::LastFirst];
    let seeds = stacks().into_iter().flat_map(|stacks| orders.map(|order| tree_body(stacks.clone(), order)));
    fuzz("tree", &seeds.collect::<Vec<_>>(), fuzz_tree);
}

#[test]
fn fuzz_trie_within_bounds() {
    fuzz("trie", &stacks().into_iter().map(trie_body).collect::<Vec<_>>(), fuzz_trie);
}

/// A speedscope file of these profiles over frames `a` to `d`.
fn speedscope(profiles: &str) -> Vec<u8> {
    format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{profiles}],"shared":{{"frames":[{{"name":"a"}},{{"name":"b\u00e9","file":"b.py","line":7}},{{"name":"c"}},{{"name":"d","line":null}}]}}}}"#
    )
    .into_bytes()
}

#[test]
fn fuzz_speedscope_within_bounds() {
    let sampled = r#"{"type":"sampled","name":"t\"1","unit":"milliseconds","startValue":0,"endValue":3,"samples":[[0,1],[0,1,2],[]],"weights":[1.5,0.25,1e-1]}"#;
    let evented = r#"{"type":"evented","name":"e","unit":"none","startValue":0,"endValue":9,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":3,"at":1},{"type":"C","frame":3,"at":4},{"type":"C","frame":0,"at":9}]}"#;
    let open = r#"{"events":[{"type":"O","frame":2,"at":7.5}],"unit":"bytes","type":"evented","endValue":9}"#;
    let seeds = [sampled, evented, open, &format!("{sampled}, {evented},{open}")].map(speedscope);
    fuzz("speedscope", &seeds, fuzz_speedscope);
}

/// Files that say as much as they can in few bytes.
#[test]
fn greedy_speedscope_files_stay_within_eight_times_their_size() {
    let limits = formats::Limits::default();
    let sampled = |samples: &str, weights: &str| {
        speedscope(&format!(
            r#"{{"type":"sampled","unit":"none","samples":[{samples}],"weights":[{weights}]}}"#
        ))
    };
    let evented =
        |events: &str| speedscope(&format!(r#"{{"type":"evented","unit":"none","events":[{events}]}}"#));
    let frames = |frames: &str| {
        let file = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[],"shared":{"frames":["#;
        format!("{file}{frames}]}}}}").into_bytes()
    };
    let listed = |item: &str, count: usize| vec![item; count].join(",");
    let numbered = |count: usize| (0..count).map(|at| format!(r#"{{"type":"O","frame":0,"at":{at}}}"#));
    let small = r#"{"type":"evented","unit":"none","events":[]}"#;
    let bodies = [
        ("frames", frames(&listed("0", 400_000))),
        ("empty stacks", sampled(&listed("[]", 200_000), &listed("1", 200_000))),
        ("deep stack", sampled(&format!("[{}]", listed("0", 400_000)), "1")),
        ("short stacks", sampled(&listed("[0,1]", 100_000), &listed("1", 100_000))),
        ("deeper and deeper", evented(&numbered(20_000).collect::<Vec<_>>().join(","))),
        ("profiles", speedscope(&listed(small, 16_000))),
        ("too many profiles", speedscope(&listed(small, 20_000))),
    ];
    for (name, body) in bodies {
        let _ = formats::take_work();
        let (result, peak) = peak_of(|| {
            let mut decoder = Decoder::new();
            let mut file = decoder.speedscope(&body, &limits)?;
            let mut frames = 0;
            for index in 0..file.len() {
                let (profile, _) = file.decode(index, Measure::plain("samples", "count"), &limits)?;
                frames += profile.columns.stacks.len();
            }
            Ok::<_, formats::DecodeError>(frames)
        });
        let steps = formats::take_work();
        println!("{name}: {} bytes, peak {peak}, {steps} steps, {result:?}", body.len());
        let limit = 8 * body.len() + (16 << 20);
        assert!(peak <= limit, "{name}: {peak} bytes at the peak (at most {limit})");
        let limit = 48 * body.len() as u64 + (16 << 20);
        assert!(steps <= limit, "{name}: {steps} steps (at most {limit})");
    }
}

/// Trees and tries that say as much as they can: refused or not, they keep to D20 and to their work.
#[test]
fn greedy_trees_stay_within_eight_times_their_size() {
    let limits = formats::Limits::default();
    let chain = |name: &[u8], count: usize| -> Vec<u8> {
        let name_length = [u8::try_from(name.len()).unwrap()];
        let node = [&name_length[..], name, &[1, 1]].concat();
        [&[0, 0, 1][..], &node.repeat(count - 1), &node[..node.len() - 1], &[0]].concat()
    };
    let many = |count: u32, node: &[u8]| {
        let count_bytes =
            [(count & 0x7f) as u8 | 0x80, (count >> 7 & 0x7f) as u8 | 0x80, (count >> 14) as u8];
        [&[0, 0][..], &count_bytes, &node.repeat(count as usize)].concat()
    };
    let long = |node: &[u8]| {
        let name = [b'n'; 60_000];
        let tail = many(200_000, node);
        [&[0, 0, 1][..], &[0xe0, 0xd4, 0x03], &name, &tail[1..]].concat()
    };
    let bodies = [
        ("a deep chain", chain(b"f", 200_000)),
        ("a chain", chain(b"f", 1_000)),
        ("siblings", many(200_000, &[0, 1, 0])),
        ("named siblings", many(200_000, &[1, b'a', 1, 0])),
        ("endings of one long name", long(&[0, 1, 0])),
        ("frames that end one long name", long(&[1, b';', 1, 0])),
        ("frames of one byte", many(200_000, &[6, b'a', b';', b'b', b';', b'c', b';', 1, 0])),
    ];
    for (name, body) in bodies {
        for is_trie in [false, true] {
            let _ = formats::take_work();
            let (result, peak) = peak_of(|| {
                let mut decoder = Decoder::new();
                let decode = if is_trie { Decoder::trie } else { Decoder::tree };
                let frames = |(profile, _): (profile::Profile<'_>, _)| profile.columns.stacks.len();
                decode(&mut decoder, &body, Measure::plain("samples", "count"), &limits).map(frames)
            });
            let steps = formats::take_work();
            println!("{name}: {} bytes, trie {is_trie}, peak {peak}, {steps} steps, {result:?}", body.len());
            let limit = 8 * body.len() + (16 << 20);
            assert!(peak <= limit, "{name}: {peak} bytes at the peak (at most {limit})");
            let limit = 48 * body.len() as u64 + (16 << 20);
            assert!(steps <= limit, "{name}: {steps} steps (at most {limit})");
        }
    }
}

/// The bound of D20 itself, for bodies that are built to need as much as they can.
#[test]
fn greedy_bodies_stay_within_eight_times_their_size() {
    let limits = formats::Limits::default();
    let count = 200_000_u64;
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let message = |tag: u8, inside: &[u8]| [&[tag][..], &varint(inside.len() as u64), inside].concat();
    let numbered = |tag: u8| -> Vec<u8> {
        (1..=count).flat_map(|id| message(tag, &[&[0x08][..], &varint(id)].concat())).collect()
    };
    let types = [0x0a, 0].repeat(40);
    let bodies = [
        ("locations", numbered(0x22)),
        (
            "sparse locations",
            (1..=count).flat_map(|id| message(0x22, &[&[0x08][..], &varint(id * 3)].concat())).collect(),
        ),
        ("functions", numbered(0x2a)),
        ("mappings", numbered(0x1a)),
        ("strings", [0x32, 0].repeat(400_000)),
        ("samples", [[0x0a, 0].to_vec(), [0x12, 0x02, 0x10, 0x01].repeat(300_000)].concat()),
        ("wide samples", [types, message(0x12, &message(0x12, &[1; 40])).repeat(20_000)].concat()),
        ("labels", [[0x0a, 0].to_vec(), [0x12, 0x04, 0x10, 0x01, 0x1a, 0x00].repeat(300_000)].concat()),
        (
            "lines",
            [message(0x22, &[[0x08, 1].to_vec(), [0x22, 0x00].repeat(400_000)].concat()), message(0x2a, &[])]
                .concat(),
        ),
        ("comments", message(0x6a, &[0; 900_000])),
    ];
    for (name, body) in bodies {
        let (result, peak) = peak_of(|| {
            let mut decoder = Decoder::new();
            decoder.pprof(&body, &limits).map(|_| ()).map_err(|error| error.to_string())
        });
        let limit = 8 * body.len() + (16 << 20);
        println!("{name}: {} bytes, peak {peak}, {result:?}", body.len());
        assert!(
            peak <= limit,
            "{name}: {peak} bytes at the peak for a body of {} (at most {limit})",
            body.len()
        );
    }
    assert!(fuzz_limits().inflated_bytes_max < limits.inflated_bytes_max);
}

/// Bodies in which every entry is wrong: one error is made, not one per entry.
#[test]
fn bodies_full_of_wrong_ids_cost_no_more_than_good_ones() {
    let limits = formats::Limits::default();
    for (name, tag) in [("location", 0x22), ("function", 0x2a), ("mapping", 0x1a)] {
        let body = [tag, 0].repeat(200_000);
        let _ = formats::take_work();
        let error = Decoder::new().pprof(&body, &limits).map(|_| ()).unwrap_err();
        let steps = formats::take_work();
        let first = if tag == 0x1a { 0 } else { 1 };
        assert_eq!(error.field, format!("{name}[{first}].id"), "{error}");
        let limit = 8 * body.len() as u64;
        assert!(steps <= limit, "{name}: {steps} steps for {} bytes (at most {limit})", body.len());
    }
}

#[test]
fn c024_decompression_bomb() {
    let limits = formats::Limits { inflated_bytes_max: 32 << 20, ..formats::Limits::default() };
    let zeros = vec![0; 256 << 20];
    let bombs = [
        ("gzip", gzip(&zeros)),
        ("zstd", zstd::bulk::compress(&zeros, 3).unwrap()),
        ("nested", gzip(&gzip(&zeros))),
    ];
    drop(zeros);
    for (name, bomb) in bombs {
        let (result, peak) = peak_of(|| Decoder::new().pprof(&bomb, &limits).map(|_| ()).unwrap_err());
        assert_eq!(result.kind, formats::DecodeErrorKind::InflatesTooFar, "{name}");
        let limit = limits.inflated_bytes_max + (16 << 20);
        println!("{name}: {} bytes, peak {peak}", bomb.len());
        assert!(peak <= limit, "{name}: {peak} bytes at the peak (at most {limit})");
    }
}
