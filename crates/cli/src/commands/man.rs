//! `everflame man`: manual pages, made from the command line's own definition.

use std::{fs, io, path::PathBuf};

use clap::CommandFactory;

use super::CommandLine;
use crate::{failure::Failure, output};

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame man | man -l -\n  everflame man flame | man -l -\n  everflame man --output-dir /usr/local/share/man/man1"
)]
pub struct Arguments {
    /// Page of this command; without one, the page of the whole program
    command: Option<String>,
    /// Write all pages into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    output_dir: Option<PathBuf>,
}

/// Prints a page or writes all.
///
/// # Errors
/// For a command that is not there, and when writing fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut whole = CommandLine::command();
    whole.build();
    if let Some(folder) = &arguments.output_dir {
        return write_all(&whole, folder).map_err(|error| {
            Failure::Failed(format!("cannot write pages to {}: {error}", folder.display()))
        });
    }
    let page = match &arguments.command {
        None => whole,
        Some(name) => {
            whole.get_subcommands().find(|command| command.get_name() == name).cloned().ok_or_else(|| {
                Failure::Usage(format!("there is no command {name:?}; see everflame --help"))
            })?
        }
    };
    output::write_data(None, |out| clap_mangen::Man::new(page).render(out))
}

fn write_all(whole: &clap::Command, folder: &std::path::Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for page in std::iter::once(whole).chain(whole.get_subcommands()) {
        let mut text = Vec::new();
        // `build` has named the commands' pages `everflame-top`, as `git-log` is.
        let file = folder.join(format!("{}.1", page.get_display_name().unwrap_or(page.get_name())));
        clap_mangen::Man::new(page.clone()).render(&mut text)?;
        fs::write(&file, text)?;
        output::say(&format!("wrote {}", file.display()));
    }
    Ok(())
}
