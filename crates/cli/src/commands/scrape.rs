//! `everflame scrape check`: reads a file with `scrape_configs`, looks for its targets, and shows what would be scraped.
//!
//! Discoveries are asked as a server would ask them; no target is.

use std::path::PathBuf;

use profile::LabelSet;
use scrape::{CheckedJob, Labels, ScrapeConfig};

use crate::{failure::Failure, output, render::one_line};

/// Arguments of `scrape`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame scrape check scrape.yml\n  everflame server --scrape-config scrape.yml"
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Check a file with scrape_configs and print its targets and URLs
    Check {
        /// YAML as Prometheus and Parca have it
        file: PathBuf,
    },
}

/// Checks and prints.
///
/// # Errors
/// A file that cannot be used, a discovery that fails, or a target that cannot be scraped.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Action::Check { file } = &arguments.action;
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
    let config = ScrapeConfig::read(file).map_err(|error| failed(&error))?;
    for notice in &config.notices {
        output::say(&one_line(&format!("{}: {notice}", file.display())));
    }
    let checked = scrape::check_blocking(&config).map_err(|error| failed(&error))?;
    output::write_data(None, |out| {
        lines(&checked).iter().try_for_each(|line| writeln!(out, "{}", one_line(line)))
    })?;
    if checked.is_empty() {
        output::say(&one_line(&format!(
            "{}: no job is in it; jobs stand under scrape_configs",
            file.display()
        )));
    }
    let errors: usize = checked.iter().map(|job| job.errors.len() + job.unusable.len()).sum();
    if errors > 0 {
        return Err(Failure::Failed(format!("{} of {} is not right: see above", errors, file.display())));
    }
    Ok(())
}

fn lines(checked: &[CheckedJob]) -> Vec<String> {
    let mut lines = Vec::new();
    for job in checked {
        let CheckedJob { name, targets, dropped, unusable, errors } = job;
        lines.push(format!("job {name}: {} to scrape, {} dropped", targets.len(), dropped.len()));
        lines.extend(errors.iter().map(|error| format!("  error: {error}")));
        for (labels, reason) in unusable {
            lines.push(format!("  error: {reason}  {}", text(labels)));
        }
        for target in targets {
            let seconds = target.interval.as_secs_f64();
            lines.push(format!("  {}  every {seconds} s  {}", target.url(), text(&target.labels)));
        }
        lines.extend(dropped.iter().map(|labels| format!("  dropped  {}", text(labels))));
    }
    lines
}

fn text(labels: &Labels) -> String {
    let pairs = labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    LabelSet::from_pairs(pairs).map(|labels| labels.to_string()).unwrap_or_default()
}
