//! The table of settings: one line each, from which flags, environment variables and the file all are made (D25).
//!
//! A key `data_dir` is the flag `--data-dir`, the variable `EVERFLAME_DATA_DIR` and the line `data_dir = "…"` of the
//! file. The command line builds its flags from [`KEYS`], so that no setting exists in one place only.

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A file or folder.
    Path,
    /// `ADDRESS:PORT`.
    Address,
    /// A number of bytes: `1048576`, `512MiB`, `20GiB`.
    Bytes,
    /// A length of time: `250ms`, `10s`, `5m`, `36h`, `30d`; `off` where the default is `off`.
    Duration,
    /// A whole number.
    Count,
    /// `true` or `false`; as a flag it needs no value.
    Switch,
    /// One of a few words, or free text.
    Word,
}

impl KeyKind {
    /// Stands for the value in the help.
    #[must_use]
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Path => "PATH",
            Self::Address => "ADDRESS:PORT",
            Self::Bytes => "BYTES",
            Self::Duration => "TIME",
            Self::Count => "NUMBER",
            Self::Switch => "BOOL",
            Self::Word => "WORD",
        }
    }
}

/// What the names of all our variables begin with.
pub(super) const VARIABLE_PREFIX: &str = "EVERFLAME_";

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name in the file.
    pub name: &'static str,
    /// What a value looks like.
    pub kind: KeyKind,
    /// The default, written as in the file; empty = none.
    pub default: &'static str,
    /// One sentence.
    pub help: &'static str,
}

impl Key {
    /// `--data-dir` without the dashes in front.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// `EVERFLAME_DATA_DIR`.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.name.to_ascii_uppercase())
    }
}

const fn key(name: &'static str, kind: KeyKind, default: &'static str, help: &'static str) -> Key {
    Key { name, kind, default, help }
}

/// All settings, in the order of the help.
pub const KEYS: &[Key] = &[
    key("data_dir", KeyKind::Path, "everflame-data", "Folder of all data; scratch files go there too"),
    key("listen", KeyKind::Address, "127.0.0.1:4040", "Address and port for HTTP/1.1 and HTTP/2 without TLS"),
    key(
        "token_file",
        KeyKind::Path,
        "",
        "File with the secret that every request but health checks must carry (Bearer, or Basic as the password); read again at SIGHUP",
    ),
    key(
        "insecure_listen",
        KeyKind::Switch,
        "false",
        "Allow an address beyond loopback without a token: everybody who reaches it can read and write",
    ),
    key(
        "multi_tenant",
        KeyKind::Switch,
        "false",
        "Take the tenant from X-Scope-OrgID; without it all data is one tenant's",
    ),
    key(
        "scrape_config",
        KeyKind::Path,
        "",
        "YAML file with scrape_configs as Prometheus and Parca have them; read again at SIGHUP",
    ),
    key(
        "ui_dir",
        KeyKind::Path,
        "",
        "Serve the web page from this folder instead of the one inside the program",
    ),
    key(
        "base_path",
        KeyKind::Word,
        "/",
        "Path below which a proxy shows this server, such as /everflame/; links of the web page begin with it",
    ),
    key(
        "frame_ancestors",
        KeyKind::Word,
        "'none'",
        "Who may show the web page in a frame, in the words of CSP: 'self' https://grafana.example",
    ),
    key(
        "retention_bytes",
        KeyKind::Bytes,
        "20GiB",
        "Drop the oldest blocks when all together are larger; 0 = never",
    ),
    key("retention", KeyKind::Duration, "off", "Drop blocks older than this; off = never"),
    key(
        "free_bytes_min",
        KeyKind::Bytes,
        "512MiB",
        "Refuse pushes with 503 while the disk has less free space",
    ),
    key("flush_interval", KeyKind::Duration, "60s", "Turn recent data into a block at this age"),
    key("flush_bytes", KeyKind::Bytes, "128MiB", "Turn recent data into a block at this size"),
    key("rules", KeyKind::Path, "", "File with rules that count profiles as metrics; see docs/rules.md"),
    key(
        "remote_write_url",
        KeyKind::Word,
        "",
        "Send the counters of rules there by Prometheus's remote write, such as http://prometheus:9090/api/v1/write",
    ),
    key("remote_write_interval", KeyKind::Duration, "15s", "How often counters of rules are sent"),
    key(
        "remote_write_user",
        KeyKind::Word,
        "",
        "User name for remote write; needs remote_write_password_file",
    ),
    key("remote_write_password_file", KeyKind::Path, "", "File with the password for remote write"),
    key("remote_write_token_file", KeyKind::Path, "", "File with a bearer token for remote write"),
    key("cache_bytes", KeyKind::Bytes, "64MiB", "Memory for decoded symbols and trees"),
    key("query_bytes_max", KeyKind::Bytes, "4GiB", "Most encoded bytes that one query may read"),
    key("query_timeout", KeyKind::Duration, "60s", "Give up a query after this"),
    key(
        "header_timeout",
        KeyKind::Duration,
        "10s",
        "Cut a client that has not sent a whole request header by then",
    ),
    key(
        "body_timeout",
        KeyKind::Duration,
        "30s",
        "Cut a client whose body, or whose reading of the answer, stands still",
    ),
    key(
        "idle_timeout",
        KeyKind::Duration,
        "5m",
        "Close a kept-alive connection that has been idle for this long",
    ),
    key("connections_max", KeyKind::Count, "10000", "Most connections at once; further ones get 503"),
    key("stop_timeout", KeyKind::Duration, "30s", "How long a graceful stop waits for requests under way"),
    key(
        "log_level",
        KeyKind::Word,
        "info",
        "error, warn, info, debug or trace, or per module: info,store=debug",
    ),
    key("log_format", KeyKind::Word, "text", "text or json"),
];

/// Finds a key by its name in the file.
#[must_use]
pub fn key_named(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
