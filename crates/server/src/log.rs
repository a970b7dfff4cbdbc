//! Log events on stderr: structured, lower-case, with the glossary's field names (D28: data on stdout, talk on stderr).
//!
//! The HTTP/2 library is not heard unless the filter names it: it warns of what any client can do at will, such as an
//! answer to a ping that was never sent, and at `debug` it tells of every frame. It knows no errors.

use std::io::IsTerminal as _;

use tracing_subscriber::{EnvFilter, filter::ParseError};

use crate::{Config, LogFormat, ServerError};

/// Sends events to stderr from now on. Where something else already receives them, nothing changes.
pub(crate) fn install(config: &Config) -> Result<(), ServerError> {
    let filter =
        filter(&config.log_level).map_err(|error| ServerError::Usage(format!("log_level: {error}")))?;
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

/// What is logged; of two words for one module the later one holds.
fn filter(log_level: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(format!("h2=off,{log_level}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_http2_library_is_quiet_unless_it_is_named() {
        for (log_level, expected) in [
            ("info", "h2=off,info"),
            ("debug", "h2=off,debug"),
            ("debug,h2=trace", "h2=trace,debug"),
            ("off", "h2=off,off"),
        ] {
            assert_eq!(filter(log_level).unwrap().to_string(), expected, "{log_level}");
        }
        assert!(filter("store=loud").is_err());
    }
}
