//! `everflame completions`: completions for a shell, made from the command line's own definition.

use clap::CommandFactory;
use clap_complete::Shell;

use super::CommandLine;
use crate::{failure::Failure, output};

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame completions bash > /etc/bash_completion.d/everflame\n  everflame completions zsh > ~/.zfunc/_everflame"
)]
pub struct Arguments {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints them.
///
/// # Errors
/// When stdout takes no more.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "everflame", &mut script);
    output::write_data(None, |out| out.write_all(&script))
}
