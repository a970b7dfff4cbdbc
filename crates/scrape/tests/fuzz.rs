//! Seeded damage to configurations and rules: nothing panics, and memory stays within a multiple of the text (R1, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use scrape::{fuzz_config, fuzz_relabel, fuzz_targets};
use testkit::{CountingAllocator, FuzzRun, mutate, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn fuzz(name: &str, seeds: &[String], body: fn(&[u8])) {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin(name, 20_260_101, 6_000);
    let mut random = run.random(17);
    for case in 0..cases {
        let mut input = seeds[random.below(seeds.len())].clone().into_bytes();
        mutate(&mut input, &mut random);
        let ((), peak) = peak_of(|| body(&input));
        // Compiled expressions have a limit each; what a text may name often is bounded by its length.
        let limit = 2_048 * input.len() + (64 << 20);
        assert!(peak <= limit, "{name}, case {case} of seed {seed}: {peak} bytes (at most {limit})");
    }
}

const CONFIG: &str = r#"
global: {scrape_interval: 15s, scrape_timeout: 10s}
base: &base {follow_redirects: false}
scrape_configs:
  - job_name: shop
    <<: *base
    scheme: https
    params: {debug: ["0"], x: [a, b]}
    basic_auth: {username: a, password: b}
    tls_config: {insecure_skip_verify: true, server_name: x}
    body_size_limit: 10MB
    profiling_config:
      path_prefix: /pre
      pprof_config:
        memory: {enabled: false}
        heap: {path: /debug/pprof/heap, delta: true, seconds: 5}
        own: {path: "/x?y=1", temporality: cumulative}
    static_configs:
      - targets: ["a:1", "[::1]:80", "unix:///run/app.sock"]
        labels: {env: prod, __meta_x: y}
    dns_sd_configs: [{names: [app], type: A, port: 6060, refresh_interval: 30s}]
    http_sd_configs: [{url: "http://sd/targets"}]
    file_sd_configs: [{files: ["t/*.json"]}]
    relabel_configs:
      - {source_labels: [__address__], regex: "([^:]+):(\\d+)", target_label: __param_port, replacement: "${2}-$1"}
      - {action: labelmap, regex: "__meta_(.+)"}
"#;

#[test]
fn fuzz_scrape_configs_within_bounds() {
    let without_merge =
        CONFIG.replace("    <<: *base\n", "").replace("base: &base {follow_redirects: false}\n", "");
    let read = scrape::ScrapeConfig::parse(&without_merge, std::path::Path::new("/"));
    assert!(read.is_ok(), "a seed must be good: {read:?}");
    fuzz("scrape_configs", &[CONFIG.to_owned(), without_merge], fuzz_config);
}

#[test]
fn fuzz_relabelling_within_bounds() {
    let cases = include_str!("../src/relabel/cases.txt");
    let seeds: Vec<String> = cases
        .split("\n== ")
        .skip(1)
        .map(|case| {
            let (_, rest) = case.split_once('\n').unwrap();
            let mut parts = rest.split("--\n");
            format!("{}--\n{}", parts.next().unwrap(), parts.next().unwrap())
        })
        .collect();
    fuzz("relabelling", &seeds, fuzz_relabel);
}

#[test]
fn fuzz_lists_of_targets_within_bounds() {
    let json = r#"[{"targets": ["a:1", "unix:///run/x.sock"], "labels": {"env": "prod", "__meta_x": "1"}}, {"targets": []}]"#;
    let yaml = "- targets: ['b:2', \"c:3\"]\n  labels: {job: x}\n- targets: [d]\n";
    fuzz("lists of targets", &[json.to_owned(), yaml.to_owned()], fuzz_targets);
}
