//! A bar for long work, on a terminal only (D28): nothing is drawn for one file, nor where stderr is a pipe.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work below this many files is over before a bar can be read.
const FILES_MIN: usize = 8;

/// A bar, or nothing.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For work over many files.
    #[must_use]
    pub fn of_files(what: &'static str, files: usize) -> Self {
        if files < FILES_MIN || !std::io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let bar = ProgressBar::with_draw_target(u64::try_from(files).ok(), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:32} {pos}/{len}  {eta}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar: Some(bar) }
    }

    /// One file is done.
    pub fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
