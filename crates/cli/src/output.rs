//! Where data and talk go: data to stdout or the file of `--output`, talk to stderr (D28).

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
};

use crate::{
    failure::Failure,
    render::{Palette, lines},
};

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always, as for `less -R`.
    Always,
    /// Never.
    Never,
}

/// Columns where there is no terminal to ask (D28: the same everywhere).
const COLUMNS_DEFAULT: usize = 80;

/// Columns of the terminal that stdout is; without one, `COLUMNS`, else 80.
#[must_use]
pub fn columns() -> usize {
    let asked = terminal_size::terminal_size()
        .map(|(width, _)| usize::from(width.0))
        .filter(|_| stdout_is_terminal());
    let stated = || std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    asked.or_else(stated).filter(|&columns| columns > 0).unwrap_or(COLUMNS_DEFAULT)
}

/// Whether a person reads stdout.
#[must_use]
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Which colours stdout is given.
#[must_use]
pub fn palette(choice: ColourChoice, to_file: bool) -> Palette {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let wanted = match choice {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        ColourChoice::Auto => {
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            !to_file && stdout_is_terminal() && !set("NO_COLOR") && !dumb
        }
    };
    match std::env::var("COLORTERM").as_deref() {
        _ if !wanted => Palette::Plain,
        Ok("truecolor" | "24bit") => Palette::Full,
        _ => Palette::Indexed,
    }
}

/// Writes data to stdout, or to a file where one is named (`-` is stdout).
///
/// # Errors
/// When writing fails; a reader that has gone is [`Failure::ReaderGone`].
pub fn write_data(
    file: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let file = file.filter(|path| *path != Path::new("-"));
    let Some(path) = file else {
        let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
        return write(&mut out)
            .and_then(|()| out.flush())
            .map_err(|error| Failure::from_write(&error, "stdout"));
    };
    let failed = |error: io::Error| Failure::Failed(format!("cannot write {}: {error}", path.display()));
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    write(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

/// Writes text as [`write_data`] does.
///
/// # Errors
/// See [`write_data`].
pub fn write_text(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    write_data(file, |out| out.write_all(text.as_bytes()))
}

/// Says something to the person; a closed stderr is no failure of the work.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "everflame: {}", lines(text.trim_end()));
}

/// Where data goes.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OutputArguments {
    /// Write to this file instead of stdout.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Colours: on a terminal, always, or never.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", help_heading = "Output", alias = "colour")]
    pub color: ColourChoice,
}

impl OutputArguments {
    /// Which colours to use.
    #[must_use]
    pub fn palette(&self) -> Palette {
        palette(self.color, self.output.as_ref().is_some_and(|path| path != Path::new("-")))
    }
}

/// Columns that a table may take: those of the terminal; lines of files and pipes are as long as they are.
#[must_use]
pub fn table_columns(file: Option<&Path>) -> Option<usize> {
    let to_terminal = file.is_none_or(|path| path == Path::new("-")) && stdout_is_terminal();
    to_terminal.then(columns)
}
