//! Seeded damage to whole requests, of every API, and to flame graphs in JSON: whatever was sent is the client's fault and
//! is answered (R1, R3, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(clippy::print_stdout, reason = "a run says what it was made of")]

use std::{collections::BTreeMap, sync::Arc};

use api::fuzz::{FuzzServer, fuzz_flame_json};
use formats::{Decoder, Limits};
use testkit::{CountingAllocator, ForgetfulDisk, FuzzRun, mutate, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const KIND: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

/// A good query string and body for each way that takes one.
fn seeds() -> Vec<Vec<u8>> {
    let selector = "{service_name=\\\"a\\\"}";
    let selection = format!(
        r#""profileTypeID":"{KIND}","labelSelector":"{selector}","start":1,"end":"4000000000000","step":15,"maxNodes":"7""#
    );
    let json = format!(
        r#"{{{selection},"name":"pod","matchers":["{selector}"],"labelNames":["pod"],"groupBy":["pod"],"left":{{{selection}}},"right":{{{selection}}}}}"#
    );
    let pushed = r#"{"series":[{"labels":[{"name":"__name__","value":"process_cpu"},{"name":"service_name","value":"a"}],"samples":[{"rawProfile":"CgQIARACEgYKAQESAQU="}]}]}"#;
    let upload = r#"{"name":"x","profile":"eyJ2ZXJzaW9uIjoxLCJmbGFtZWJlYXJlciI6e319","setting":{"name":"a","value":"b"}}"#;
    let rule = format!(
        r#"{{"metricName":"profiles_recorded_x","matchers":["{{__profile_type__=\"{KIND}\"}}"],"groupBy":["pod"],"stacktraceFilter":{{"functionName":{{"functionName":"main"}}}}}}"#
    );
    let question = format!(
        "query={KIND}%7Bservice_name%3D%22a%22%7D&q=cpu%7Ba%3D~%22b.*%22%7D&from=now-1h&until=now&to=now&max_nodes=9&step=10s&function=main\
         &name=app%7Ba%3Db%7D&service=a&type=cpu&leftQuery={KIND}%7B%7D&rightQuery={KIND}%7B%7D&sampleRate=100&format=folded"
    );
    let (push, query) = (binary_push(), binary_query());
    let framed =
        |message: &[u8]| [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat();
    let (framed_push, framed_query) = (framed(&push), framed(&query));
    let in_base64 = base64(&framed_push);
    let bodies: [&[u8]; 11] = [
        json.as_bytes(),
        pushed.as_bytes(),
        upload.as_bytes(),
        rule.as_bytes(),
        b"main;work 3\nmain 1\n",
        &push,
        &query,
        &framed_push,
        &framed_query,
        &in_base64,
        b"--B7x\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\na 1\r\n--B7x--\r\n",
    ];
    let mut seeds = Vec::new();
    for way in 0..FuzzServer::WAYS {
        for body in bodies {
            seeds.push([&[u8::try_from(way).unwrap()], question.as_bytes(), b"\n", body].concat());
        }
    }
    seeds
}

/// A field of bytes of a protobuf message.
fn bytes(field: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).unwrap();
    assert!(length < 128, "one byte is enough for it");
    [&[field << 3 | 2, length][..], value].concat()
}

/// One series with one profile, as `Push` takes it in binary.
fn binary_push() -> Vec<u8> {
    let label =
        |name: &str, value: &str| bytes(1, &[bytes(1, name.as_bytes()), bytes(2, value.as_bytes())].concat());
    // One sample of 5, type `cpu` in `nanoseconds`, on a stack of `main`.
    let strings = ["", "cpu", "nanoseconds", "main"].map(|text| bytes(6, text.as_bytes())).concat();
    let [sample_type, sample] = [bytes(1, &[8, 1, 16, 2]), bytes(2, &[10, 1, 1, 18, 1, 5])];
    let [location, function] = [bytes(4, &[8, 1, 34, 2, 8, 1]), bytes(5, &[8, 1, 16, 3])];
    let profile = [sample_type, sample, location, function, strings].concat();
    let sample = bytes(2, &bytes(1, &profile));
    bytes(1, &[label("__name__", "process_cpu"), label("service_name", "a"), sample].concat())
}

/// A selection as the querier's calls take it in binary.
fn binary_query() -> Vec<u8> {
    let range = [24, 1, 32, 0x80, 0xc0, 0xd1, 0xac, 0xb5, 0x74];
    [bytes(1, KIND.as_bytes()), bytes(2, b"{service_name=\"a\"}"), range.to_vec()].concat()
}

/// As gRPC-Web's text form has it.
fn base64(raw: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::new();
    for three in raw.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |shift: u32| DIGITS[(bits >> shift & 63) as usize];
        text.extend_from_slice(&[digit(18), digit(12), digit(6), digit(0)]);
        let missing = 3 - three.len();
        let end = text.len();
        text[end - missing..].fill(b'=');
    }
    text
}

#[test]
fn fuzz_requests_are_answered_and_never_our_fault() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("requests", 20_260_101, 12_000);
    let server = FuzzServer::start(Arc::new(ForgetfulDisk::new())).unwrap();
    let mut random = run.random(37);
    let seeds = seeds();
    let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
    for case in 0..cases {
        let mut input = seeds[random.below(seeds.len())].clone();
        // Every tenth is sent as it is, so that good requests are among them.
        if case % 10 > 0 {
            let way = input[0];
            mutate(&mut input, &mut random);
            if let Some(first) = input.first_mut() {
                *first = way;
            }
        }
        let Some(status) = server.ask(&input) else { continue };
        let (path, _) = FuzzServer::way(input[0].into());
        assert!(
            status < 500 || [501, 503].contains(&status),
            "case {case} of seed {seed}: {status} of {path}"
        );
        *statuses.entry(status).or_default() += 1;
    }
    println!("{statuses:?}");
    for (path, message) in [
        ("/push.v1.PusherService/Push", binary_push()),
        ("/querier.v1.QuerierService/SelectMergeStacktraces", binary_query()),
    ] {
        let is_way = |way: &usize| FuzzServer::way(*way) == (path, "application/proto");
        let way = (0..FuzzServer::WAYS).find(is_way).unwrap();
        let input = [&[u8::try_from(way).unwrap(), b'\n'][..], &message].concat();
        assert_eq!(server.ask(&input), Some(200), "{path}: what the damage is done to is good");
    }
    assert!(statuses.contains_key(&200) && statuses.contains_key(&400), "{statuses:?}");
}

#[test]
fn fuzz_flame_graphs_in_json_are_profiles_or_refused() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("flame graphs", 20_260_101, 6_000);
    let good = br#"{"version":1,"flamebearer":{"names":["total","main","a"],"levels":[[0,6,0,0],[0,6,1,1],[0,3,3,2,1,2,2,2]],"numTicks":6},"metadata":{"format":"single","sampleRate":100,"units":"samples","name":"cpu"}}"#;
    let mut random = run.random(41);
    let mut read = 0;
    for case in 0..cases {
        let mut input = good.to_vec();
        if case > 0 {
            mutate(&mut input, &mut random);
        }
        let (result, peak) = peak_of(|| fuzz_flame_json(&input));
        let limit = 8 * input.len() + (16 << 20);
        assert!(peak <= limit, "case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})");
        match result {
            Ok(pprof) => {
                read += 1;
                let decoded = Decoder::new().pprof(&pprof, &Limits::default()).map(|_| ());
                assert!(decoded.is_ok(), "case {case} of seed {seed}: {decoded:?}");
            }
            Err(error) => assert!(error.status().as_u16() < 500, "case {case} of seed {seed}: {error}"),
        }
    }
    assert!(read > 0, "the first of them is good");
}
