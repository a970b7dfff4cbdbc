//! Log events on stderr: structured, lower-case, with the glossary's field names (D28: data on stdout, talk on stderr).

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::{Config, LogFormat, ServerError};

/// Sends events to stderr from now on. Where something else already receives them, nothing changes.
pub(crate) fn install(config: &Config) -> Result<(), ServerError> {
    let filter = EnvFilter::try_new(&config.log_level)
        .map_err(|error| ServerError::Usage(format!("log_level: {error}")))?;
    let is_terminal = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(is_terminal)
        // An event that cannot be written would be told to stderr by a macro that panics: a full disk below the log, or
        // a terminal that has gone, must not end requests.
        .log_internal_errors(false);
    let _ = match config.log_format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(())
}
