//! Settings: a TOML file, `EVERFLAME_*` variables and flags; a flag wins over a variable, a variable over the file (D25).
//!
//! [`Settings`] collects texts from the three places, [`Settings::build`] turns them into a [`Config`] that cannot be
//! wrong, or into an error that names the place. An unknown key of the file is an error. An unknown variable is one only
//! where it is spelled almost as a key: container platforms put variables such as `EVERFLAME_PORT_4040_TCP` into every
//! process beside a service of our name.
//!
//! ```toml
//! data_dir = "/var/lib/everflame"
//! listen = "127.0.0.1:4040"
//! retention_bytes = "50GiB"
//! ```

mod keys;
mod values;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use api::BuildInfo;
use keys::VARIABLE_PREFIX;
pub use keys::{KEYS, Key, KeyKind, key_named};

use crate::{
    limits,
    remote_write::{RemoteWriteOptions, basic, bearer, check_url, read_secret},
    scraping::ScrapeSettings,
    ui::UiOptions,
};

/// Why the settings cannot be used. Always the user's to mend, so the program ends with 2 (D28).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("config file {path}: {reason}")]
    File {
        /// Its path.
        path: String,
        /// What the system or the TOML reader said.
        reason: String,
    },
    /// A key that does not exist.
    #[error("{origin}: unknown key {key:?}{}", hint.as_deref().map(|hint| format!("; did you mean {hint:?}?")).unwrap_or_default())]
    UnknownKey {
        /// Where it was found.
        origin: String,
        /// The key.
        key: String,
        /// A key that is spelled alike.
        hint: Option<String>,
    },
    /// A value that cannot be read.
    #[error("{origin}: {reason}")]
    Value {
        /// Flag, variable, or file and key.
        origin: String,
        /// Why.
        reason: String,
    },
    /// Listening beyond loopback without a token (D26).
    #[error(
        "listening on {listen} would let everybody who reaches it read and write; give --token-file FILE, or say that \
         this is wanted with --insecure-listen"
    )]
    InsecureListen {
        /// The address.
        listen: SocketAddr,
    },
}

/// Every setting of a server, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder of all data and scratch.
    pub data_dir: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The secret that requests must carry; `None` = no check.
    pub token: Option<TokenFile>,
    /// Whether requests name their tenant.
    pub multi_tenant: bool,
    /// Most bytes of all blocks; 0 = no limit.
    pub retention_bytes: u64,
    /// Oldest block to keep.
    pub retention: Option<Duration>,
    /// Free disk space below which pushes are refused, bytes.
    pub free_bytes_min: u64,
    /// Age at which the head becomes a block.
    pub flush_interval: Duration,
    /// Size at which the head becomes a block, bytes.
    pub flush_bytes: u64,
    /// Rules of the rules file.
    pub rules: Vec<rules::FileRule>,
    /// Where the counters of rules are sent.
    pub remote_write: Option<RemoteWriteOptions>,
    /// Memory for decoded symbols and trees, bytes.
    pub cache_bytes: u64,
    /// Most encoded bytes of one query.
    pub query_bytes_max: u64,
    /// Longest query.
    pub query_timeout: Duration,
    /// What is scraped, with the file that says it.
    pub(crate) scrape: Option<ScrapeSettings>,
    /// The web page.
    pub(crate) ui: UiOptions,
    /// Limits on connections and slow clients.
    pub connections: ConnectionLimits,
    /// How long a graceful stop waits.
    pub stop_timeout: Duration,
    /// Filter of log events.
    pub log_level: String,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Which build this is, for clients that ask.
    pub build: BuildInfo,
}

/// Limits on connections and slow clients (C102).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Time for a whole request header.
    pub header_timeout: Duration,
    /// Longest stand-still of a request body, and of the reading of an answer.
    pub body_timeout: Duration,
    /// Longest pause between two requests of a connection.
    pub idle_timeout: Duration,
    /// Most connections at once.
    pub connections_max: usize,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// A secret, with the file that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFile {
    /// Where it is read again.
    pub(crate) path: PathBuf,
    /// What stood there.
    pub(crate) token: Token,
}

impl TokenFile {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        Ok(Self { path: path.to_owned(), token: Token::read(path)? })
    }
}

/// A secret. Never shown, neither by `Debug` nor by `--check-config`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Token {
    /// Reads a secret from a file; white space around it does not count.
    fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = text.trim();
        if text.len() < limits::TOKEN_BYTES_MIN {
            return Err(format!(
                "{}: the secret has {} bytes (at least {})",
                path.display(),
                text.len(),
                limits::TOKEN_BYTES_MIN
            ));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "{}: the secret is not one line of printable ASCII without spaces",
                path.display()
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether a client gave this secret. Takes equally long wherever the first difference is.
    #[must_use]
    pub fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let length_differs = u8::from(own.len() != given.len());
        let difference = own.iter().enumerate().fold(length_differs, |difference, (position, byte)| {
            difference | (byte ^ given.get(position).copied().unwrap_or(0))
        });
        std::hint::black_box(difference) == 0
    }

    #[cfg(test)]
    pub(crate) fn for_test(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Texts of settings with the place that each comes from.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, Given>,
}

#[derive(Clone, Debug)]
struct Given {
    text: String,
    origin: String,
}

impl Settings {
    /// No settings: all defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the keys of a TOML text; `origin` is what errors call it.
    ///
    /// # Errors
    /// For text that is no TOML, unknown keys, and values that are no text, number or boolean.
    pub fn add_toml(&mut self, text: &str, origin: &str) -> Result<(), ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ConfigError::File {
            path: origin.into(),
            reason: error.to_string(),
        })?;
        for (name, value) in table {
            let Some(key) = key_named(&name) else {
                if value.is_table() {
                    let reason = "is a section, and this file has none: all settings stand at its top".into();
                    return Err(ConfigError::Value { origin: format!("{origin}: {name}"), reason });
                }
                return Err(ConfigError::UnknownKey {
                    origin: origin.into(),
                    hint: similar(&name),
                    key: name,
                });
            };
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Boolean(switch) => switch.to_string(),
                other => {
                    let reason =
                        format!("expected text, a whole number or true/false, found {}", other.type_str());
                    return Err(ConfigError::Value { origin: format!("{origin}: {name}"), reason });
                }
            };
            self.values.insert(key.name, Given { text, origin: format!("{origin}: {name}") });
        }
        Ok(())
    }

    /// Adds the keys of a TOML file.
    ///
    /// # Errors
    /// When it cannot be read; see [`Settings::add_toml`].
    pub fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::File { path: name.clone(), reason: error.to_string() })?;
        self.add_toml(&text, &name)
    }

    /// Adds `EVERFLAME_*` variables; others are ignored, also those that name no key (see the module's header).
    ///
    /// # Errors
    /// For a variable that is most likely a misspelled key.
    pub fn add_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        let known: BTreeMap<String, &Key> = KEYS.iter().map(|key| (key.variable(), key)).collect();
        for (name, text) in variables {
            if let Some(key) = known.get(&name) {
                self.values.insert(key.name, Given { text, origin: name });
                continue;
            }
            let hint = name.strip_prefix(VARIABLE_PREFIX).and_then(similar).and_then(|key| key_named(&key));
            if let Some(hint) = hint {
                let hint = Some(hint.variable());
                return Err(ConfigError::UnknownKey { origin: "environment".into(), key: name, hint });
            }
        }
        Ok(())
    }

    /// Adds a flag's value.
    ///
    /// # Errors
    /// For a key that does not exist.
    pub fn add_flag(&mut self, name: &str, text: impl Into<String>) -> Result<(), ConfigError> {
        let Some(key) = key_named(name) else {
            return Err(ConfigError::UnknownKey {
                origin: "flag".into(),
                key: name.into(),
                hint: similar(name),
            });
        };
        self.values.insert(key.name, Given { text: text.into(), origin: format!("--{}", key.flag()) });
        Ok(())
    }

    /// All settings as a TOML text, defaults filled in: what `--check-config` prints.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for key in KEYS {
            let value = self.values.get(key.name).map_or(key.default, |given| given.text.as_str());
            let comment = if value.is_empty() { "# " } else { "" };
            // A JSON string is a TOML string too, so every path comes out as it went in.
            let quoted = serde_json::Value::from(value);
            let _ = writeln!(text, "{comment}{} = {quoted}", key.name);
        }
        text
    }

    /// Reads every value and checks that they fit together.
    ///
    /// # Errors
    /// Names flag, variable or file and key.
    pub fn build(&self) -> Result<Config, ConfigError> {
        let listen = self.read("listen", values::address)?;
        let token_file = self.read("token_file", |text| Ok(PathBuf::from(text)))?;
        let token = if token_file.as_os_str().is_empty() {
            None
        } else {
            Some(TokenFile::read(&token_file).map_err(|reason| self.value_error("token_file", reason))?)
        };
        let insecure_listen = self.read("insecure_listen", values::switch)?;
        if !listen.ip().is_loopback() && token.is_none() && !insecure_listen {
            return Err(ConfigError::InsecureListen { listen });
        }
        let multi_tenant = self.read("multi_tenant", values::switch)?;
        Ok(Config {
            build: BuildInfo::from_version(env!("CARGO_PKG_VERSION")),
            data_dir: self.read("data_dir", |text| non_empty(text).map(PathBuf::from))?,
            listen,
            token,
            multi_tenant,
            retention_bytes: self.read("retention_bytes", values::bytes)?,
            retention: self.read("retention", |text| match text {
                "off" => Ok(None),
                // Not "never", as 0 is for the bytes: every push would be acknowledged and gone at the next flush.
                text => match values::duration(text)? {
                    Duration::ZERO => Err(format!("{text:?} would drop every block at once; off = never")),
                    age_max => Ok(Some(age_max)),
                },
            })?,
            free_bytes_min: self.read("free_bytes_min", values::bytes)?,
            flush_interval: self.read("flush_interval", positive_duration)?,
            flush_bytes: self.read("flush_bytes", values::bytes)?,
            rules: self.read_rules()?,
            remote_write: self.read_remote_write()?,
            cache_bytes: self.read("cache_bytes", values::bytes)?,
            query_bytes_max: self.read("query_bytes_max", values::bytes)?,
            query_timeout: self.read("query_timeout", positive_duration)?,
            scrape: self.read("scrape_config", |path| match path {
                "" => Ok(None),
                path => ScrapeSettings::read(Path::new(path), multi_tenant).map(Some),
            })?,
            ui: UiOptions {
                dir: self.read("ui_dir", |text| Ok((!text.is_empty()).then(|| PathBuf::from(text))))?,
                base_path: self.read("base_path", values::base_path)?,
                frame_ancestors: self.read("frame_ancestors", values::frame_ancestors)?,
            },
            connections: ConnectionLimits {
                header_timeout: self.read("header_timeout", positive_duration)?,
                body_timeout: self.read("body_timeout", positive_duration)?,
                idle_timeout: self.read("idle_timeout", positive_duration)?,
                connections_max: self.read("connections_max", |text| match text.parse() {
                    Ok(0) | Err(_) => Err(format!("{text:?} is no whole number of at least 1")),
                    Ok(count) => Ok(count),
                })?,
            },
            stop_timeout: self.read("stop_timeout", values::duration)?,
            log_level: self.read("log_level", |text| values::log_filter(text).map(str::to_owned))?,
            log_format: self.read("log_format", |text| match text {
                "text" => Ok(LogFormat::Text),
                "json" => Ok(LogFormat::Json),
                _ => Err(format!("{text:?} is neither text nor json")),
            })?,
        })
    }

    /// The rules of the rules file.
    fn read_rules(&self) -> Result<Vec<rules::FileRule>, ConfigError> {
        let rules = self.read("rules", |text| match text {
            "" => Ok(Vec::new()),
            path => rules::read_file(Path::new(path)),
        })?;
        let is_own = |rule: &&rules::FileRule| rule.tenant != profile::Tenant::anonymous();
        match rules.iter().find(is_own) {
            Some(rule) if !self.read("multi_tenant", values::switch)? => {
                let reason =
                    format!("a rule is for tenant {:?}, which only multi_tenant has", rule.tenant.as_str());
                Err(self.value_error("rules", reason))
            }
            _ => Ok(rules),
        }
    }

    /// Where the counters of rules are sent; settings about it alone mean nothing and are an error.
    fn read_remote_write(&self) -> Result<Option<RemoteWriteOptions>, ConfigError> {
        const URL: &str = "remote_write_url";
        const USER: &str = "remote_write_user";
        const PASSWORD: &str = "remote_write_password_file";
        const TOKEN: &str = "remote_write_token_file";
        let url = self.read(URL, |text| if text.is_empty() { Ok(String::new()) } else { check_url(text) })?;
        let secret = |text: &str| match text {
            "" => Ok(None),
            path => read_secret(Path::new(path)).map(Some),
        };
        let user = self.read(USER, |text| Ok(text.to_owned()))?;
        let password = self.read(PASSWORD, secret)?;
        let token = self.read(TOKEN, |text| secret(text)?.map(|token| bearer(&token)).transpose())?;
        let authorization = match (user.is_empty(), password, token) {
            (true, None, token) => token,
            (false, Some(password), None) => Some(basic(&user, &password)),
            (false, None, _) => return Err(self.value_error(USER, format!("needs {PASSWORD} beside it"))),
            (true, Some(_), _) => return Err(self.value_error(PASSWORD, format!("needs {USER} beside it"))),
            (false, Some(_), Some(_)) => {
                return Err(self.value_error(TOKEN, format!("cannot be given beside {USER}")));
            }
        };
        let interval = self.read("remote_write_interval", positive_duration)?;
        if url.is_empty() {
            return match authorization {
                Some(_) => Err(self.value_error(URL, "is needed where credentials for it are given".into())),
                None => Ok(None),
            };
        }
        Ok(Some(RemoteWriteOptions { url, interval, authorization }))
    }

    fn read<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        let default = key_named(name).map_or("", |key| key.default);
        let text = self.values.get(name).map_or(default, |given| given.text.as_str());
        parse(text).map_err(|reason| self.value_error(name, reason))
    }

    fn value_error(&self, name: &str, reason: String) -> ConfigError {
        let origin = self.values.get(name).map_or_else(|| name.to_owned(), |given| given.origin.clone());
        ConfigError::Value { origin, reason }
    }
}

fn non_empty(text: &str) -> Result<&str, String> {
    if text.is_empty() { Err("is empty".into()) } else { Ok(text) }
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    match values::duration(text)? {
        Duration::ZERO => Err(format!("{text:?} is no time to wait for")),
        duration => Ok(duration),
    }
}

/// The key that differs from `name` in dashes, case or at most two letters.
fn similar(name: &str) -> Option<String> {
    let wanted = name.replace('-', "_").to_ascii_lowercase();
    KEYS.iter()
        .map(|key| (strsim::levenshtein(&wanted, key.name), key.name))
        .filter(|(distance, _)| *distance <= 2)
        .min()
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests;
