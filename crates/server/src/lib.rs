//! The composition root: puts store, engine and APIs together behind one port and looks after their lives.
//!
//! Settings ([`Settings`] → [`Config`]), sockets and slow clients, the secret of `--token-file`, logs,
//! figures and profiles of the process itself, graceful stop ([`run`], [`Server`]). Called by the command line.
//!
//! Not here: routes and wire formats (`api`), rules of storing and querying (`store`, `query`).

mod activity;
mod auth;
mod body;
mod config;
mod demo;
mod door;
mod files;
mod front;
mod limits;
mod listener;
mod log;
mod own_metrics;
mod refusal;
mod remote_write;
mod request_log;
mod rule_figures;
mod run;
mod scraping;
mod self_profile;
mod ui;
mod up;

pub use api::BuildInfo;
pub use config::{
    Config, ConfigError, ConnectionLimits, KEYS, Key, KeyKind, LogFormat, Settings, Token, TokenFile,
    key_named,
};
pub use demo::SHARES as DEMO_SHARES;
pub use listener::{ClientAddress, ListenerStats};
pub use remote_write::RemoteWriteOptions;
pub use run::{Server, ServerError, StartingServer, run};
pub use up::{DEMO_SERVICE, up};
