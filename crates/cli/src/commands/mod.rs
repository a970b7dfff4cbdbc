//! The command line: one file per command, each with its arguments and what it does.

mod completions;
mod man;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Everflame, a continuous profiler: keeps profiles, finds them again, and shows where time and memory go.
///
/// FILE and SELECTOR are accepted alike: an argument that is an existing file is read here, anything else is asked of
/// the server (--server, default http://127.0.0.1:4040).
#[derive(Debug, Parser)]
#[command(name = "everflame", version = env!("EVERFLAME_VERSION"), disable_help_subcommand = true)]
#[command(
    after_help = "Examples:\n  everflame server --data-dir ./data\n  everflame top cpu.pprof\n  everflame flame 'cpu{service_name=\"api\"}' --from now-1h"
)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print shell completions
    Completions(completions::Arguments),
    /// Print manual pages
    Man(man::Arguments),
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Man(arguments) => man::run(&arguments),
        }
    }
}
