//! `everflame targets`: what a server scrapes, and how that goes.

use client::Question;
use wire::{JobItem, TargetItem, TargetsReply, UnusedTargetItem};

use crate::{
    failure::Failure,
    output,
    render::{one_line, write_line},
    source::ServerArguments,
    time::brief,
};

/// Arguments of `targets`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame targets\n  everflame targets --job apps\n  everflame targets --json"
)]
pub struct Arguments {
    /// Only of this job
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// JSON: the server's answer as it is
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArguments,
}

/// Asks and prints.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut question = Question::new();
    if let Some(job) = &arguments.job {
        question = question.with("job", job);
    }
    let reply = arguments.server.client()?.targets(&question);
    let reply = reply.map_err(|error| Failure::Failed(error.to_string()))?;
    if reply.jobs.is_empty() {
        output::say(&match &arguments.job {
            Some(job) => {
                one_line(&format!("no job {job:?} is scraped; everflame targets lists all")).into_owned()
            }
            None => "nothing is scraped here; everflame server --scrape-config FILE scrapes".to_owned(),
        });
    }
    output::write_data(None, |out| {
        if arguments.json {
            return write_line(&serde_json::json!(reply), out);
        }
        lines(&reply).iter().try_for_each(|line| writeln!(out, "{}", one_line(line)))
    })
}

fn lines(reply: &TargetsReply) -> Vec<String> {
    let mut lines = Vec::new();
    for job in &reply.jobs {
        let JobItem { name, targets, dropped, unusable, discoveries } = job;
        lines.push(format!("job {name}: {targets} scraped, {dropped} dropped, {unusable} unusable"));
        for one in discoveries.iter().filter(|one| !one.error.is_empty()) {
            lines.push(format!("  error: {}_sd_configs: {}", one.kind, one.error));
        }
        for target in reply.targets.iter().filter(|target| target.job == *name) {
            lines.extend(target_lines(target));
        }
        for one in reply.unused.iter().filter(|one| one.job == *name && !one.error.is_empty()) {
            let UnusedTargetItem { kind, discovered, error, .. } = one;
            let address = discovered.get("__address__").map_or("", String::as_str);
            lines.push(format!("  unusable  {kind}  {address}: {error}"));
        }
    }
    lines
}

fn target_lines(target: &TargetItem) -> Vec<String> {
    let TargetItem { health, kind, url, last, outcome, duration_seconds, bytes, error, .. } = target;
    let mut line = format!("  {health:8}  {kind}  {url}");
    if !last.is_empty() {
        line.push_str(&format!("  {outcome}  {bytes} bytes in {duration_seconds:.3} s, {}", brief(last)));
    }
    let mut lines = vec![line];
    if !error.is_empty() {
        lines.push(format!("      {error} ({} of {} scrapes failed)", target.failures, target.scrapes));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_and_errors_are_shown_by_job() {
        let target = |kind: &str, error: &str| TargetItem {
            job: "shop".into(),
            kind: kind.into(),
            url: format!("http://a:1/{kind}"),
            health: if error.is_empty() { "up".into() } else { "down".into() },
            last: "2026-01-01T00:00:00Z".into(),
            outcome: if error.is_empty() { "stored".into() } else { "status".into() },
            duration_seconds: 0.25,
            bytes: 7,
            error: error.into(),
            scrapes: 3,
            failures: 1,
            ..TargetItem::default()
        };
        let reply = TargetsReply {
            jobs: vec![JobItem { name: "shop".into(), targets: 2, ..JobItem::default() }],
            targets: vec![target("memory", ""), target("mutex", "the target answered 404 Not Found")],
            unused: Vec::new(),
        };
        let expected = "\
job shop: 2 scraped, 0 dropped, 0 unusable
  up        memory  http://a:1/memory  stored  7 bytes in 0.250 s, 2026-01-01T00:00:00Z
  down      mutex  http://a:1/mutex  status  7 bytes in 0.250 s, 2026-01-01T00:00:00Z
      the target answered 404 Not Found (1 of 3 scrapes failed)";
        assert_eq!(lines(&reply).join("\n"), expected);
    }
}
