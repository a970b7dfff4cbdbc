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
    let framed = [&[0, 0, 0, 0, 5][..], b"\x0a\x03abc"].concat();
    let bodies: [&[u8]; 7] = [
        json.as_bytes(),
        pushed.as_bytes(),
        upload.as_bytes(),
        rule.as_bytes(),
        b"main;work 3\nmain 1\n",
        &framed,
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

#[test]
fn fuzz_requests_are_answered_and_never_our_fault() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("requests", 20_260_101, 4_000);
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
