//! `everflame server`: every setting of the server's own table is a flag, a variable and a line of the file (D25).
//!
//! Not here: what the settings mean and everything that runs (`server`).

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, error::ErrorKind};
use server::{KEYS, KeyKind, ServerError, Settings};

use crate::{allocator, failure::Failure, output};

/// Arguments of `server`, made from [`KEYS`].
#[derive(Debug, Default)]
pub struct Arguments {
    config: Option<PathBuf>,
    check_config: bool,
    flags: Vec<(&'static str, String)>,
}

/// Left to `--help`, so that `-h` stays on a screen.
const RARELY_SET: [&str; 10] = [
    "ui_dir",
    "base_path",
    "frame_ancestors",
    "remote_write_interval",
    "remote_write_user",
    "remote_write_password_file",
    "remote_write_token_file",
    "header_timeout",
    "body_timeout",
    "idle_timeout",
];

const EXAMPLES: &str = "Examples:\n  everflame server --data-dir ./data\n  everflame server --config /etc/everflame.toml --listen 0.0.0.0:4040 --token-file /etc/everflame.token\n  everflame server --config /etc/everflame.toml --check-config";

impl clap::Args for Arguments {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .env("EVERFLAME_CONFIG")
            .value_parser(clap::value_parser!(PathBuf))
            .help("TOML file with settings; flags win over EVERFLAME_* variables, variables over the file");
        let check = Arg::new("check_config")
            .long("check-config")
            .action(ArgAction::SetTrue)
            .help("Check the settings, print them as TOML, and end");
        let command = command.after_help(EXAMPLES).arg(config).arg(check);
        KEYS.iter().fold(command, |command, key| {
            // clap keeps names for the life of the program, and there is one program per process.
            let flag: &'static str = key.flag().leak();
            let default =
                if key.default.is_empty() { String::new() } else { format!(" [default: {}]", key.default) };
            let argument = Arg::new(key.name)
                .long(flag)
                .value_name(key.kind.placeholder())
                .hide_short_help(RARELY_SET.contains(&key.name))
                .help(format!("{}{default}", key.help));
            command.arg(match key.kind {
                KeyKind::Switch => {
                    argument.num_args(0..=1).require_equals(true).default_missing_value("true")
                }
                // So that `-1` and `-1d` are wrong values, not unknown flags.
                KeyKind::Bytes | KeyKind::Count => argument.allow_negative_numbers(true),
                KeyKind::Duration => argument.allow_hyphen_values(true),
                _ => argument,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Arguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self::default();
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.config = matches.get_one::<PathBuf>("config").cloned();
        self.check_config = matches.get_flag("check_config");
        for key in KEYS {
            let value = matches
                .try_get_one::<String>(key.name)
                .map_err(|error| clap::Error::raw(ErrorKind::InvalidValue, error.to_string()))?;
            if let Some(value) = value {
                self.flags.push((key.name, value.clone()));
            }
        }
        Ok(())
    }
}

/// Runs the server until it is told to stop, or only checks its settings.
///
/// # Errors
/// Wrong settings are wrong usage; everything else failed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |error: server::ConfigError| Failure::Usage(error.to_string());
    let mut settings = Settings::new();
    if let Some(path) = &arguments.config {
        settings.add_file(path).map_err(usage)?;
    }
    settings.add_environment(variables()).map_err(usage)?;
    for (name, value) in &arguments.flags {
        settings.add_flag(name, value.clone()).map_err(usage)?;
    }
    let mut config = settings.build().map_err(usage)?;
    config.build = server::BuildInfo::from_version(env!("EVERFLAME_VERSION"));
    if arguments.check_config {
        return output::write_text(None, &settings.to_toml());
    }
    allocator::serve();
    server::run(config).map_err(failure)
}

/// A server's failure as the program's.
pub(super) fn failure(error: ServerError) -> Failure {
    match error.exit_code() {
        2 => Failure::Usage(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    }
}

/// Variables of the environment; those that are no text cannot name one of our settings.
pub(super) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
