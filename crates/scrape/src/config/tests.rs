//! Configurations as people write them, and what is wrong with others.

use std::path::Path;

use super::*;
use crate::target::{Resolved, resolve};

fn parse(text: &str) -> Result<ScrapeConfig, ConfigError> {
    ScrapeConfig::parse(text, Path::new("/etc/everflame"))
}

/// A job with these further lines.
fn job(lines: &str) -> Result<Job, ConfigError> {
    let indented: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    parse(&format!("scrape_configs:\n  - job_name: a\n{indented}")).map(|mut config| config.jobs.remove(0))
}

/// URLs of a target, by kind.
fn urls(job: &Job) -> Vec<String> {
    let url = |kind: &Kind| match resolve(job, kind, &Labels::new(), "app:6060").unwrap() {
        Resolved::Target(target) => format!("{} {}", kind.name, target.url()),
        Resolved::Dropped(_) => format!("{} dropped", kind.name),
    };
    job.kinds.iter().map(url).collect()
}

#[test]
fn a_parca_file_is_read_as_it_is() {
    let config = parse(
        r#"
object_storage:
  bucket:
    type: "FILESYSTEM"
    config: {directory: "./data"}
scrape_configs:
  - job_name: "default"
    scrape_interval: "3s"
    normalized_addresses: true
    static_configs:
      - targets: [ '127.0.0.1:7070' ]
  - job_name: apps
    profiling_config:
      path_prefix: /app/
      pprof_config:
        memory: {enabled: true, path: /debug/pprof/heap}
        block: {enabled: false}
        mutex:
          enabled: false
        goroutine: {enabled: false}
        process_cpu: {enabled: true, delta: true, path: /debug/pprof/profile, seconds: 5}
        fgprof: {enabled: true, path: /debug/pprof/fgprof, delta: true}
"#,
    )
    .unwrap();
    let [first, second] = config.jobs.as_slice() else { panic!("{config:?}") };
    assert_eq!((first.interval, first.timeout), (Duration::from_secs(3), Duration::from_secs(6)));
    assert_eq!(
        urls(first),
        [
            "memory http://app:6060/debug/pprof/allocs",
            "block http://app:6060/debug/pprof/block",
            "goroutine http://app:6060/debug/pprof/goroutine",
            "mutex http://app:6060/debug/pprof/mutex",
            "process_cpu http://app:6060/debug/pprof/profile?seconds=3",
        ]
    );
    assert_eq!(
        urls(second),
        [
            "memory http://app:6060/app/debug/pprof/heap",
            "process_cpu http://app:6060/app/debug/pprof/profile?seconds=5",
            "fgprof http://app:6060/app/debug/pprof/fgprof?seconds=10",
        ]
    );
    assert_eq!(config.notices.len(), 2, "{:?}", config.notices);
}

#[test]
fn a_prometheus_file_is_read_as_it_is() {
    let config = parse(
        r#"
global:
  scrape_interval: 15s
  scrape_timeout: 10s
  evaluation_interval: 30s
  external_labels: {cluster: a}
rule_files: [rules.yml]
alerting: {alertmanagers: []}
scrape_configs:
  - job_name: node
    metrics_path: /metrics
    honor_labels: true
    scheme: https
    params: {debug: ["0"]}
    tls_config: {ca_file: ca.pem, server_name: app.internal, min_version: TLS13}
    authorization: {credentials_file: token}
    follow_redirects: false
    enable_http2: false
    body_size_limit: 10MB
    file_sd_configs: [{files: ["targets/*.json"], refresh_interval: 5m}]
    http_sd_configs: [{url: "http://sd/targets", refresh_interval: 30s}]
    dns_sd_configs: [{names: [app.internal], type: A, port: 6060}]
    relabel_configs:
      - {source_labels: [__address__], target_label: host}
    metric_relabel_configs: [{action: drop, regex: x}]
"#,
    )
    .unwrap();
    let job = &config.jobs[0];
    assert_eq!((job.interval.as_secs(), job.timeout.as_secs(), job.body_bytes_max), (15, 10, 10 << 20));
    // A profile of 15 s would not come within a time-out of 10 s.
    assert!(
        urls(job).contains(&"process_cpu https://app:6060/debug/pprof/profile?debug=0&seconds=9".to_owned())
    );
    assert_eq!(job.http.redirects, Redirects::Refused);
    assert_eq!(job.http.tls.authorities, Some(Secret::File("/etc/everflame/ca.pem".into())));
    assert_eq!(job.http.tls.versions, TlsVersions::Only13);
    let bearer = Secret::File("/etc/everflame/token".into());
    assert_eq!(job.http.credentials, Some(Credentials::Scheme { scheme: "Bearer".into(), value: bearer }));
    let words: Vec<_> = job.discoveries.iter().map(Discovery::word).collect();
    assert_eq!(words, ["file", "http", "dns"]);
    for passed_over in
        ["metrics_path", "evaluation_interval", "rule_files", "enable_http2", "metric_relabel_configs"]
    {
        assert!(config.notices.iter().any(|notice| notice.contains(passed_over)), "{passed_over}");
    }
}

#[test]
fn unknown_keys_are_named_with_their_line() {
    for (text, line, words) in [
        (
            "scrape_config:\n  - job_name: a\n",
            1,
            r#"scrape_config: unknown key; did you mean "scrape_configs"?"#,
        ),
        (
            "scrape_configs:\n  - job_name: a\n    scrape_intervall: 5s\n",
            3,
            "scrape_configs[0].scrape_intervall: unknown key",
        ),
        (
            "scrape_configs:\n  - job_name: a\n    tls_config:\n      ca: x\n      cafile: y\n",
            5,
            "tls_config.cafile",
        ),
        (
            "scrape_configs:\n- job_name: a\n  profiling_config:\n    pprof_config:\n      memory:\n        enable: true\n",
            6,
            r#"pprof_config.memory.enable: unknown key; did you mean "enabled"?"#,
        ),
        (
            "scrape_configs:\n- job_name: a\n  relabel_configs:\n  - regexp: x\n    target_label: b\n",
            4,
            "[0].regexp",
        ),
        ("scrape_configs:\n- job_name: a\n  static_configs:\n  - target: [x]\n", 4, "target"),
        ("global: {scrap_interval: 5s}\n", 1, "global.scrap_interval"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn wrong_values_are_refused_in_words() {
    for (lines, words) in [
        ("scrape_interval: 5", "scrape_interval"),
        ("scrape_interval: 0s", "100ms"),
        ("scrape_interval: [5s]", "a list"),
        ("scheme: ftp", "neither http nor https"),
        ("proxy_url: http://p", "proxy"),
        ("oauth2: {client_id: a}", "not yet"),
        ("kubernetes_sd_configs: [{role: pod}]", "not yet"),
        ("ec2_sd_configs: [{}]", "not yet"),
        ("dns_sd_configs: [{names: [a]}]", "SRV"),
        ("dns_sd_configs: [{names: [a], type: A}]", "port"),
        ("dns_sd_configs: [{type: A, port: 1}]", "names"),
        ("http_sd_configs: [{url: 'sd/targets'}]", "begins neither"),
        ("http_sd_configs: [{url: 'http://u:p@sd/'}]", "credentials"),
        ("file_sd_configs: [{files: [a.txt]}]", ".json"),
        ("file_sd_configs: [{files: ['*/a.json']}]", "last part"),
        ("basic_auth: {username: a, password: b, password_file: c}", "beside password"),
        ("basic_auth: {username: a}\nbearer_token: b", "bearer_token"),
        ("authorization: {type: Basic, credentials: a}", "basic_auth"),
        ("tls_config: {cert_file: a}", "key_file"),
        ("tls_config: {max_version: TLS11}", "1.2"),
        ("body_size_limit: 1GB", "limit"),
        ("scrape_timeout: 1s", "too short"),
        ("scrape_timeout: 5s\nprofiling_config: {pprof_config: {process_cpu: {seconds: 5}}}", "does not fit"),
        ("profiling_config: {pprof_config: {heap: {enabled: true}}}", "twice"),
        ("profiling_config: {pprof_config: {odd: {enabled: true}}}", "path"),
        ("profiling_config: {pprof_config: {'a:b': {path: /x}}}", "':'"),
        ("profiling_config: {pprof_config: {memory: {keep_sample_type: [{type: a}]}}}", "not yet"),
        ("profiling_config: {pprof_config: {memory: {path: 'a b'}}}", "no path"),
        ("relabel_configs: [{action: jump}]", "none of replace"),
        ("relabel_configs: [{action: hashmod, source_labels: [a], target_label: b}]", "modulus"),
        ("relabel_configs: [{action: labeldrop, regex: a, target_label: b}]", "means nothing"),
        ("relabel_configs: [{source_labels: [a]}]", "target_label"),
        ("relabel_configs: [{action: keep, source_labels: [a], regex: '('}]", "regular expression"),
        ("static_configs: [{targets: [a], labels: {b: [c]}}]", "a list"),
        ("tenant: ../x", "tenant"),
    ] {
        let error = job(lines).unwrap_err().to_string();
        assert!(error.contains(words), "{lines}: {error}");
        assert!(error.starts_with("line "), "{lines}: {error}");
    }
    assert!(parse("scrape_configs: [{job_name: a}, {job_name: a}]").unwrap_err().reason.contains("two jobs"));
    assert!(
        parse("scrape_configs: [{scheme: http}]").unwrap_err().to_string().contains("job_name: is needed")
    );
    assert!(parse("just a text").is_err());
    assert_eq!(parse("").unwrap(), ScrapeConfig::default());
}

#[test]
fn secrets_are_never_shown() {
    let job = job(
        "basic_auth: {username: hidden-user, password: hidden-word}\ntls_config: {key: hidden-key, cert: x}",
    )
    .unwrap();
    let shown = format!("{job:?}");
    assert!(!shown.contains("hidden-"), "{shown}");
}

#[test]
fn c034_which_kinds_are_known_to_count_since_the_start() {
    let job = job(
        "profiling_config:\n  pprof_config:\n    heap: {enabled: true}\n    memory: {enabled: false}\n    mutex: {path: /debug/pprof/delta_mutex}\n    block: {delta: true}\n    odd: {path: /odd}\n    counts: {path: /counts, temporality: cumulative}\n    threadcreate: {}\n    wall: {delta: false}",
    )
    .unwrap();
    let found = |name: &str| job.kinds.iter().find(|kind| kind.name == name).unwrap();
    assert_eq!(found("heap").temporality, Some(Temporality::Cumulative));
    assert_eq!(found("heap").profile_name, "memory");
    assert_eq!(found("mutex").temporality, Some(Temporality::Delta), "the delta profilers' path");
    assert_eq!(found("block").temporality, Some(Temporality::Delta));
    assert_eq!(found("block").seconds, Some(10));
    assert_eq!(found("odd").temporality, None);
    assert_eq!(found("counts").temporality, Some(Temporality::Cumulative));
    assert_eq!(found("goroutine").temporality, Some(Temporality::Instant));
    assert_eq!(found("process_cpu").temporality, Some(Temporality::Delta));
    assert_eq!((found("wall").temporality, found("wall").seconds), (None, None));
}

#[test]
fn odd_texts_end_with_an_answer() {
    for text in [
        "",
        "a",
        "[",
        "{",
        "- - - -",
        "scrape_configs: {}",
        "scrape_configs: [[]]",
        "\u{feff}a: 1",
        "\t",
        "&a *a",
    ] {
        fuzz_config(text.as_bytes());
    }
    fuzz_config(&[0xff, 0xfe, 0, 0]);
}
