//! `everflame up`: from nothing to a live flame graph. Runs in the foreground until it is interrupted, which is its
//! usual end (exit code 0).
//!
//! Not here: what is sampled and what the demo does (`server`).

use std::{
    io::IsTerminal,
    path::PathBuf,
    process::{Command, Stdio},
};

use server::Settings;

use super::server::{failure, variables};
use crate::{allocator, failure::Failure, output};

/// Arguments of `up`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame up\n  everflame up --listen 127.0.0.1:4041 --data-dir ./data --no-browser"
)]
pub struct Arguments {
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:4040]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Keep the data in this folder; without it, in a temporary one that goes away at the end
    #[arg(long, value_name = "PATH")]
    data_dir: Option<PathBuf>,
    /// Serve the web page from this folder instead of the one inside the program
    #[arg(long, value_name = "PATH")]
    ui_dir: Option<PathBuf>,
    /// Do not open a browser; none is opened either without a terminal or a display
    #[arg(long)]
    no_browser: bool,
}

/// Runs server, sampler and demo until the program is interrupted.
///
/// # Errors
/// Wrong settings are wrong usage; everything else failed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    allocator::serve();
    let usage = |error: server::ConfigError| Failure::Usage(error.to_string());
    let mut settings = Settings::new();
    // Said first, so that a variable wins.
    settings.add_flag("log_level", "warn").map_err(usage)?;
    settings.add_environment(variables()).map_err(usage)?;
    let mut temporary = None;
    let folder = match &arguments.data_dir {
        Some(folder) => Some(folder.clone()),
        None if std::env::var_os("EVERFLAME_DATA_DIR").is_some() => None,
        None => {
            let made = tempfile::Builder::new().prefix("everflame-up-").tempdir();
            let made =
                made.map_err(|error| Failure::Failed(format!("cannot make a temporary folder: {error}")))?;
            Some(temporary.insert(made).path().to_owned())
        }
    };
    let text = |path: &PathBuf| {
        let told = path.to_str().map(str::to_owned);
        told.ok_or_else(|| Failure::Usage(format!("{}: is no UTF-8", path.display())))
    };
    if let Some(folder) = &folder {
        settings.add_flag("data_dir", text(folder)?).map_err(usage)?;
    }
    if let Some(folder) = &arguments.ui_dir {
        settings.add_flag("ui_dir", text(folder)?).map_err(usage)?;
    }
    if let Some(listen) = &arguments.listen {
        settings.add_flag("listen", listen).map_err(usage)?;
    }
    let mut config = settings.build().map_err(usage)?;
    config.build = server::BuildInfo::from_version(env!("EVERFLAME_VERSION"));
    server::up(config, |url| {
        output::say(&format!("running at {url}"));
        output::say(&format!(
            "the first profiles of {} are there in a few seconds; Ctrl-C ends it",
            server::DEMO_SERVICE
        ));
        if !arguments.no_browser && std::io::stderr().is_terminal() && has_display() {
            open_browser(url);
        }
    })
    .map_err(failure)
    // `temporary` is dropped here, once the store is closed.
}

fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Asks the desktop to show the page. Where that cannot be done, the address was printed all the same.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut opener) = started {
        // It ends by itself after a moment; somebody has to collect it.
        std::thread::spawn(move || opener.wait());
    }
}
