//! Puts the commit into `--version`. A build outside of git, or without the program, says so and goes on.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=EVERFLAME_COMMIT");
    // The log of HEAD changes with every commit, checkout and rebase, in work trees as well.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = std::env::var("EVERFLAME_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
        .or_else(|| git(&["rev-parse", "--short=12", "HEAD"]))
        .unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo::rustc-env=EVERFLAME_VERSION={} ({commit})", env!("CARGO_PKG_VERSION"));
}

/// The first line that git prints, `None` where it cannot answer.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}
