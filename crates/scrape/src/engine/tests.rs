//! Scraping at work, against fake targets and a sink that remembers.

use std::{path::Path, time::Instant};

use futures::future::BoxFuture;

use super::*;
use crate::{
    FailureKind, Kept, Scraped,
    fake::{Fake, Speaks},
};

/// Remembers what it was given.
#[derive(Default)]
struct Memory {
    scraped: Mutex<Vec<Scraped>>,
    /// Refuses what comes from this path.
    refused: &'static str,
}

impl Memory {
    fn of(&self, kind: &str) -> Vec<Scraped> {
        let scraped = self.scraped.lock().unwrap();
        scraped.iter().filter(|one| one.target.kind == kind).cloned().collect()
    }
}

impl Sink for Memory {
    fn keep(&self, scraped: Scraped) -> BoxFuture<'_, Result<Kept, String>> {
        Box::pin(async move {
            if !self.refused.is_empty() && scraped.target.url().contains(self.refused) {
                return Err("not wanted".to_owned());
            }
            self.scraped.lock().unwrap().push(scraped);
            Ok(Kept::Stored)
        })
    }
}

/// Kinds by name and path, nothing else.
fn kinds(pairs: &[(&str, &str)]) -> String {
    let off = ["memory", "block", "goroutine", "mutex", "process_cpu"];
    let off = off.iter().filter(|name| pairs.iter().all(|(given, _)| given != *name));
    let off = off.map(|name| format!("{name}: {{enabled: false}}"));
    let on = pairs.iter().map(|(name, path)| format!("{name}: {{path: '{path}', delta: false}}"));
    format!("profiling_config: {{pprof_config: {{{}}}}}", off.chain(on).collect::<Vec<_>>().join(", "))
}

fn config(jobs: &[String]) -> ScrapeConfig {
    let text = format!("scrape_configs: [{}]", jobs.join(", "));
    ScrapeConfig::parse(&text, Path::new("/")).unwrap()
}

fn job(name: &str, address: &str, further: &str) -> String {
    format!(
        "{{job_name: {name}, scrape_interval: 100ms, scrape_timeout: 30s, static_configs: [{{targets: ['{address}']}}], {further}}}"
    )
}

/// Waits until something is so.
async fn until(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(30), wait).await.is_ok(), "it never was so");
}

fn target<'a>(status: &'a [JobStatus], kind: &str) -> &'a TargetStatus {
    status.iter().flat_map(|job| &job.targets).find(|one| one.target.kind == kind).unwrap()
}

#[tokio::test]
async fn profiles_come_with_labels_and_are_listed() {
    let fake = Fake::start(Speaks::Plain).await;
    let sink = Arc::new(Memory { refused: "/refused", ..Memory::default() });
    let kinds = kinds(&[("memory", "/heap"), ("mutex", "/refused"), ("block", "/404")]);
    let scraper =
        Scraper::start(config(&[job("shop", &fake.address, &kinds)]), Arc::clone(&sink) as Arc<dyn Sink>);
    until(|| {
        let status = scraper.status();
        let targets = status.iter().flat_map(|job| &job.targets);
        targets.filter(|target| target.scrapes >= 2).count() == 3
    })
    .await;
    let scraped = sink.of("memory");
    assert_eq!(&*scraped[0].body, b"profile of /heap?");
    assert_eq!(scraped[0].target.labels["job"], "shop");
    assert_eq!(scraped[0].target.temporality, Some(profile::Temporality::Cumulative));
    assert!(scraped[1].begun > scraped[0].begun);
    let status = scraper.status();
    let memory = target(&status, "memory").last.clone().unwrap();
    assert_eq!((memory.bytes, memory.outcome.unwrap()), (17, Kept::Stored));
    let block = target(&status, "block").last.clone().unwrap().outcome.unwrap_err();
    assert_eq!((block.kind, block.text.contains("404")), (FailureKind::Status, true));
    let mutex = target(&status, "mutex").last.clone().unwrap().outcome.unwrap_err();
    assert_eq!((mutex.kind, &*mutex.text), (FailureKind::Refused, "not wanted"));
    let mut registry = prometheus_client::registry::Registry::default();
    scraper.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for line in [
        "scrapes_total{outcome=\"stored\"}",
        "scrapes_total{outcome=\"status\"}",
        "scrape_targets{health=\"up\"} 1\n",
        "scrape_targets{health=\"down\"} 2\n",
        "scrape_discoveries_failed 0\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    scraper.stop().await;
    assert!(scraper.status().is_empty());
}

#[tokio::test]
async fn hanging_targets_hold_nobody_up_and_a_stop_is_at_once() {
    let fake = Fake::start(Speaks::Plain).await;
    let sink = Arc::new(Memory::default());
    let hanging = kinds(&[("memory", "/silent"), ("mutex", "/stalls"), ("process_cpu", "/huge")]);
    let addresses: Vec<String> = (0..100).map(|_| format!("'{}'", fake.address)).collect();
    // A hundred hanging targets that differ by a label of their group.
    let groups: Vec<String> = addresses
        .iter()
        .enumerate()
        .map(|(number, address)| format!("{{targets: [{address}], labels: {{number: '{number}'}}}}"))
        .collect();
    let many = format!(
        "{{job_name: hanging, scrape_interval: 100ms, scrape_timeout: 60s, static_configs: [{}], {hanging}}}",
        groups.join(", ")
    );
    let healthy = job("healthy", &fake.address, &kinds(&[("memory", "/heap")]));
    let scraper = Scraper::start(config(&[many, healthy]), Arc::clone(&sink) as Arc<dyn Sink>);
    // Every hanging scrape is under way; each (target, kind) has one.
    fake.seen
        .until(|seen| seen.requests("/silent").len() == 100 && seen.requests("/stalls").len() == 100)
        .await;
    let before = sink.of("memory").len();
    until(|| sink.of("memory").len() >= before + 5).await;
    assert_eq!(fake.seen.requests("/silent").len(), 100, "one scrape at a time per target and kind");
    let begun = Instant::now();
    scraper.stop().await;
    fake.seen.until(|seen| seen.open() == 0).await;
    // No measure of speed: those scrapes had a minute to go.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_reload_leaves_alone_what_is_the_same() {
    let fake = Fake::start(Speaks::Plain).await;
    let sink = Arc::new(Memory::default());
    let (first, second) = (
        job("first", &fake.address, &kinds(&[("memory", "/silent")])),
        job("second", &fake.address, &kinds(&[("memory", "/before")])),
    );
    let changed = job("second", &fake.address, &kinds(&[("memory", "/after")]));
    let scraper = Scraper::start(config(&[first.clone(), second]), Arc::clone(&sink) as Arc<dyn Sink>);
    fake.seen
        .until(|seen| !seen.requests("/silent").is_empty() && !seen.requests("/before").is_empty())
        .await;
    scraper.reload(config(&[changed, first])).await;
    let names: Vec<String> = scraper.status().into_iter().map(|job| job.name).collect();
    assert_eq!(names, ["second", "first"]);
    let before = fake.seen.requests("/before").len();
    fake.seen.until(|seen| seen.requests("/after").len() >= 3).await;
    assert_eq!(fake.seen.requests("/before").len(), before);
    assert_eq!(fake.seen.requests("/silent").len(), 1, "the scrape under way was not disturbed");
    scraper.reload(ScrapeConfig::default()).await;
    assert!(scraper.status().is_empty());
    fake.seen.until(|seen| seen.open() == 0).await;
}

#[tokio::test]
async fn two_targets_with_the_same_labels_are_not_mixed_up() {
    let (one, other) = (Fake::start(Speaks::Plain).await, Fake::start(Speaks::Plain).await);
    let sink = Arc::new(Memory::default());
    let same = "relabel_configs: [{target_label: instance, replacement: same}]";
    let kinds = kinds(&[("memory", "/heap")]);
    let both = format!(
        "{{job_name: a, scrape_interval: 100ms, static_configs: [{{targets: ['{}', '{}', '{}']}}], {kinds}, {same}}}",
        one.address, other.address, one.address
    );
    let scraper = Scraper::start(config(&[both]), Arc::clone(&sink) as Arc<dyn Sink>);
    until(|| sink.of("memory").len() >= 3).await;
    let status = &scraper.status()[0];
    assert_eq!((status.targets.len(), status.unusable_count), (1, 1));
    assert!(status.unusable[0].reason.contains("same labels"), "{:?}", status.unusable);
    assert!(one.seen.requests("/heap").is_empty() || other.seen.requests("/heap").is_empty());
    scraper.stop().await;
}

#[tokio::test]
async fn targets_of_a_file_come_and_go() {
    let fake = Fake::start(Speaks::Plain).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("targets.json");
    std::fs::write(&file, format!(r#"[{{"targets": ["{}", "bad address"]}}]"#, fake.address)).unwrap();
    let rules = "relabel_configs: [{action: drop, source_labels: [env], regex: test}]";
    let text = format!(
        "scrape_configs: [{{job_name: a, scrape_interval: 100ms, file_sd_configs: [{{files: ['{}']}}], {}, {rules}}}]",
        file.display(),
        kinds(&[("memory", "/heap")])
    );
    let sink = Arc::new(Memory::default());
    let config = ScrapeConfig::parse(&text, Path::new("/")).unwrap();
    let scraper = Scraper::start(config, Arc::clone(&sink) as Arc<dyn Sink>);
    until(|| sink.of("memory").len() >= 2).await;
    let status = &scraper.status()[0];
    assert_eq!((status.targets.len(), status.unusable_count, status.discoveries[0].targets), (1, 1, 2));
    assert!(status.unusable[0].reason.contains("bad address"));
    std::fs::write(&file, format!(r#"[{{"targets": ["{}"], "labels": {{"env": "test"}}}}]"#, fake.address))
        .unwrap();
    until(|| scraper.status()[0].dropped_count == 1).await;
    assert_eq!((scraper.status()[0].targets.len(), scraper.status()[0].unusable_count), (0, 0));
    std::fs::write(&file, "[").unwrap();
    until(|| scraper.status()[0].discoveries[0].error.is_some()).await;
    scraper.stop().await;
}
