//! From labels to URLs, as rules change them.

use std::path::Path;

use super::*;
use crate::config::ScrapeConfig;

/// The first kind of the first job.
fn resolved(lines: &str, group: &[(&str, &str)], address: &str) -> Result<Resolved, Unusable> {
    let indented: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let only_heap = "    profiling_config: {pprof_config: {process_cpu: {enabled: false}, block: {enabled: false}, mutex: {enabled: false}, goroutine: {enabled: false}}}\n";
    let text = format!("scrape_configs:\n  - job_name: shop\n{only_heap}{indented}");
    let config = ScrapeConfig::parse(&text, Path::new("/")).unwrap();
    let group = group.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    resolve(&config.jobs[0], &config.jobs[0].kinds[0], &group, address)
}

fn target(lines: &str, group: &[(&str, &str)], address: &str) -> Target {
    match resolved(lines, group, address).unwrap() {
        Resolved::Target(target) => *target,
        dropped @ Resolved::Dropped(_) => panic!("{dropped:?}"),
    }
}

fn shown(labels: &Labels) -> String {
    labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn job_instance_and_service_are_there_by_themselves() {
    let found = target("", &[("env", "prod"), ("__meta_x", "y")], "app:6060");
    assert_eq!(shown(&found.labels), "env=prod instance=app:6060 job=shop service_name=shop");
    assert_eq!(found.url(), "http://app:6060/debug/pprof/allocs");
    assert_eq!(found.discovered["__meta_x"], "y");
    let found = target("", &[("app", "cart"), ("instance", "one"), ("job", "other")], "app:6060");
    assert_eq!(shown(&found.labels), "app=cart instance=one job=other service_name=cart");
    let found = target("", &[("service_name", "given"), ("app", "cart")], "app");
    assert_eq!(found.labels["service_name"], "given");
    assert_eq!(found.url(), "http://app:80/debug/pprof/allocs");
}

#[test]
fn rules_change_what_is_asked() {
    let rules = "params: {debug: ['0', '1'], x: ['a b']}
relabel_configs:
  - {target_label: __scheme__, replacement: https}
  - {source_labels: [__address__], regex: '(.*):.*', target_label: __address__, replacement: '$1:9443'}
  - {target_label: __profile_path__, replacement: /heap}
  - {target_label: __profile_path_prefix__, replacement: /pre}
  - {target_label: __param_debug, replacement: '2'}
  - {target_label: __param_more, replacement: 'ü&'}
  - {target_label: __name__, replacement: my_memory}
  - {target_label: __scrape_interval__, replacement: 1m}
  - {target_label: __scrape_timeout__, replacement: 500ms}";
    let found = target(rules, &[], "app:6060");
    assert_eq!(found.url(), "https://app:9443/pre/heap?debug=2&debug=1&x=a%20b&more=%C3%BC%26");
    assert_eq!(found.profile_name, "my_memory");
    assert_eq!((found.interval.as_secs(), found.timeout.as_millis()), (60, 500));
    assert_eq!(shown(&found.labels), "instance=app:9443 job=shop service_name=shop");
}

/// `__delta__=false` says in Pyroscope's protocol that values are differences already, whatever the kind is called.
#[test]
fn c031_delta_label_forces() {
    assert_eq!(target("", &[], "app:6060").temporality, Some(Temporality::Cumulative));
    let said = target("", &[("__delta__", "false")], "app:6060");
    assert_eq!(said.temporality, Some(Temporality::Delta));
    assert_eq!(shown(&said.labels), "instance=app:6060 job=shop service_name=shop");
    let by_rule = "relabel_configs: [{target_label: __delta__, replacement: 'false'}]";
    assert_eq!(target(by_rule, &[], "app:6060").temporality, Some(Temporality::Delta));
    assert_eq!(target("", &[("__delta__", "true")], "app:6060").temporality, Some(Temporality::Cumulative));
}

#[test]
fn sockets_are_addresses_too() {
    let found = target("", &[], "unix:///run/app.sock");
    assert_eq!(found.url(), "http+unix:///run/app.sock:/debug/pprof/allocs");
    assert_eq!(found.labels["instance"], "unix:///run/app.sock");
}

#[test]
fn what_cannot_be_scraped_says_why() {
    for (lines, address, words) in [
        ("", "http://app", "__address__"),
        ("", "", "there is no __address__"),
        ("relabel_configs: [{target_label: __scheme__, replacement: ftp}]", "a", "__scheme__"),
        (
            "relabel_configs: [{target_label: __scrape_interval__, replacement: soon}]",
            "a",
            "__scrape_interval__",
        ),
        ("relabel_configs: [{regex: __name__, action: labeldrop}]", "a", "__name__"),
        ("relabel_configs: [{target_label: __profile_path__, replacement: 'a b'}]", "a", "__profile_path__"),
    ] {
        let error = resolved(lines, &[], address).unwrap_err();
        assert!(error.reason.contains(words), "{lines}: {}", error.reason);
    }
    let long = "v".repeat(limits::LABEL_VALUE_BYTES_MAX + 1);
    assert!(resolved("", &[("pod", &long)], "a").unwrap_err().reason.contains("pod"));
    let names: Vec<String> = (0..40).map(|number| format!("l{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    assert!(resolved("", &many, "a").unwrap_err().reason.contains("too many"));
    let dropped =
        resolved("relabel_configs: [{action: drop, source_labels: [__address__], regex: a}]", &[], "a");
    assert!(matches!(dropped, Ok(Resolved::Dropped(labels)) if labels["__address__"] == "a"));
}

#[test]
fn places_within_the_interval_are_spread_and_stay() {
    let places: std::collections::BTreeSet<u64> =
        (0..100).map(|number| target("", &[], &format!("10.0.0.{number}:6060")).hash() % 10).collect();
    assert_eq!(places.len(), 10);
    assert_eq!(target("", &[], "a:1").hash(), target("", &[], "a:1").hash());
}
