//! The life of a server: listen, open the store, wait for the word to stop, stop without losing anything.
//!
//! Probes are answered from the first moment on; while the log is replayed, everything else is told to come again.
//!
//! Order of a stop: no new connections; requests under way end, at most for `stop_timeout`, then they are cut and were
//! never acknowledged; the store makes everything durable and closes. A second signal ends the process at once.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use api::{ApiOptions, ApiState, Tenancy};
use query::{Engine, EngineOptions};
use rules::RuleBook;
use store::{Store, StoreOptions, Tally};
use tokio::{net::TcpListener, signal::unix::SignalKind, sync::watch, task::JoinHandle};

use crate::{
    Config, ConfigError, ListenerStats, auth::Secret, door::Door, files, front::Front, limits, listener, log,
    own_metrics, remote_write::RemoteWrite, rule_figures, scraping::Scraping, self_profile, ui::Ui,
};

/// Why a server could not start or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The settings cannot be used, seen only when they were applied.
    #[error("{0}")]
    Usage(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {reason}; --listen ADDRESS:PORT chooses another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// The data folder cannot be opened or was not closed well.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// Threads or signals cannot be set up.
    #[error("cannot set up {what}: {reason}")]
    System {
        /// What.
        what: &'static str,
        /// What the system said.
        reason: String,
    },
}

impl ServerError {
    /// The program's exit code: 2 for wrong usage, 1 otherwise (D28).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Usage(_) => 2,
            _ => 1,
        }
    }
}

/// Runs a server until SIGINT or SIGTERM. Blocks; sets up its own threads and the log.
///
/// # Errors
/// See [`ServerError`].
pub fn run(config: Config) -> Result<(), ServerError> {
    run_with(config, AtHangUp::Reload, |_| Ok(()))
}

/// What SIGHUP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtHangUp {
    /// Has files read again, as of any service.
    Reload,
    /// Ends it as SIGTERM does, for what belongs to its terminal.
    Stop,
}

/// As [`run`]; what `begin` makes once the server answers is kept until it is told to stop.
pub(crate) fn run_with<T>(
    config: Config,
    at_hang_up: AtHangUp,
    begin: impl FnOnce(&Server) -> Result<T, ServerError>,
) -> Result<(), ServerError> {
    log::install(&config)?;
    files::raise_open_files_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("everflame")
        .max_blocking_threads(limits::BLOCKING_THREADS_MAX)
        .build()
        .map_err(|error| ServerError::System { what: "threads", reason: error.to_string() })?;
    let result = runtime.block_on(run_until_signal(config, at_hang_up, begin));
    runtime.shutdown_timeout(limits::RUNTIME_STOP);
    result
}

async fn run_until_signal<T>(
    config: Config,
    at_hang_up: AtHangUp,
    begin: impl FnOnce(&Server) -> Result<T, ServerError>,
) -> Result<(), ServerError> {
    let mut signals = Signals::new(at_hang_up)?;
    let running = tokio::select! {
        running = Server::start(config) => running?,
        name = signals.stop() => {
            tracing::info!(signal = name, "stopped while starting");
            return Ok(());
        }
    };
    let beside = begin(&running)?;
    let name = loop {
        tokio::select! {
            heard = signals.next() => match heard {
                Heard::Stop(name) => break name,
                Heard::Reload => running.reload().await,
            },
        }
    };
    drop(beside);
    tracing::info!(signal = name, "stopping: requests under way end first");
    tokio::select! {
        result = running.stop() => result,
        name = signals.stop() => {
            tracing::warn!(signal = name, "stopping at once; what was acknowledged is on disk");
            Ok(())
        }
    }
}

/// Signals that are listened to, from the start to the end, so that none of them ends the process by itself.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    at_hang_up: AtHangUp,
}

/// What a signal asks for.
enum Heard {
    /// The end; the name of the signal.
    Stop(&'static str),
    /// To read files again.
    Reload,
}

impl Signals {
    fn new(at_hang_up: AtHangUp) -> Result<Self, ServerError> {
        let listen = |kind| {
            tokio::signal::unix::signal(kind)
                .map_err(|error| ServerError::System { what: "signals", reason: error.to_string() })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            at_hang_up,
        })
    }

    async fn next(&mut self) -> Heard {
        tokio::select! {
            _ = self.interrupt.recv() => Heard::Stop("SIGINT"),
            _ = self.terminate.recv() => Heard::Stop("SIGTERM"),
            _ = self.hang_up.recv() => match self.at_hang_up {
                AtHangUp::Reload => Heard::Reload,
                AtHangUp::Stop => Heard::Stop("SIGHUP"),
            },
        }
    }

    /// The next signal that asks for the end. A wish to read files again waits for [`Signals::next`]: while the log is
    /// replayed, there is nobody to do it.
    async fn stop(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hang_up.recv(), if self.at_hang_up == AtHangUp::Stop => "SIGHUP",
        }
    }
}

/// A server that runs within the current Tokio runtime.
pub struct Server {
    address: SocketAddr,
    store: Arc<Store>,
    state: Arc<ApiState>,
    secret: Option<Arc<Secret>>,
    scraping: Arc<Scraping>,
    remote_write: Option<RemoteWrite>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<usize>,
}

impl Server {
    /// [`Server::listen`], then [`StartingServer::open`].
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn start(config: Config) -> Result<Self, ServerError> {
        Self::listen(config).await?.open().await
    }

    /// Binds the address and answers health checks; every other request is told to come again.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn listen(config: Config) -> Result<StartingServer, ServerError> {
        let begun = Instant::now();
        let listen_error =
            |error: std::io::Error| ServerError::Listen { address: config.listen, reason: error.to_string() };
        let listener = TcpListener::bind(config.listen).await.map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let stats = Arc::new(ListenerStats::default());
        let door = Door::default();
        let secret = config.token.clone().map(Secret::new).map(Arc::new);
        let front = Front { ui: Ui::new(&config.ui)?, secret: secret.clone(), door: door.clone() };
        let (stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(listener::serve(
            listener,
            Arc::new(front),
            config.connections,
            Arc::clone(&stats),
            stopped,
            config.stop_timeout,
        ));
        Ok(StartingServer { config, address, begun, door, secret, stats, stop, serving })
    }

    /// Where it listens; the real port where 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its APIs share.
    pub(crate) fn state(&self) -> Arc<ApiState> {
        Arc::clone(&self.state)
    }

    /// Reads again what may change while the server runs: the files of `token_file` and `scrape_config`. Where there is
    /// neither, it says so in the log.
    pub async fn reload(&self) {
        if let Some(secret) = &self.secret {
            Arc::clone(secret).reload().await;
        }
        let scrapes = self.scraping.reload().await;
        if self.secret.is_none() && !scrapes {
            tracing::info!(
                "SIGHUP changes nothing: there is no token_file and no scrape_config to read again"
            );
        }
    }

    /// Stops gracefully, see the module's header.
    ///
    /// # Errors
    /// When the store cannot make everything durable.
    pub async fn stop(self) -> Result<(), ServerError> {
        let _ = self.stop.send(true);
        self.scraping.stop().await;
        match self.serving.await {
            Ok(0) => {}
            Ok(cut) => tracing::warn!(connections = cut, "requests did not end in time and were cut"),
            Err(error) => tracing::error!(%error, "the listener ended by itself"),
        }
        if let Some(remote_write) = self.remote_write {
            let stopped = tokio::task::spawn_blocking(move || remote_write.stop()).await;
            if let Err(error) = stopped {
                tracing::error!(%error, "remote write did not stop");
            }
        }
        self.store.close().await?;
        tracing::info!("stopped");
        Ok(())
    }
}

/// A server that listens and has not opened its data folder yet. When it is dropped, it listens no more.
pub struct StartingServer {
    config: Config,
    address: SocketAddr,
    begun: Instant,
    door: Door,
    secret: Option<Arc<Secret>>,
    stats: Arc<ListenerStats>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<usize>,
}

impl StartingServer {
    /// Where it listens; the real port where 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens the data folder, recovers, and lets requests in.
    ///
    /// # Errors
    /// When the data folder cannot be opened.
    pub async fn open(self) -> Result<Server, ServerError> {
        let Self { config, address, begun, door, secret, stats, stop, serving } = self;
        let options = store_options(&config);
        // Replaying a log is work without a pause: on a thread of its own, so that probes are answered meanwhile.
        let runtime = tokio::runtime::Handle::current();
        let book = RuleBook::new();
        let tally: Arc<dyn Tally> = Arc::clone(&book) as Arc<_>;
        let opening =
            tokio::task::spawn_blocking(move || runtime.block_on(Store::open_counting(options, Some(tally))));
        let opened = opening.await;
        let store = opened
            .map_err(|error| ServerError::System { what: "the store", reason: error.to_string() })??;
        book.provision(&store, config.rules.clone()).await.map_err(rule_error)?;
        files::keep_scratch_in(&config.data_dir);
        let engine = Arc::new(Engine::new(
            Arc::clone(&store),
            EngineOptions { cache_bytes: config.cache_bytes, query_bytes_max: config.query_bytes_max },
        ));
        let rules = Some(Arc::clone(&book));
        let state = ApiState::with_rules(Arc::clone(&store), engine, api_options(&config), rules);
        own_metrics::register(&state.metrics, stats);
        let remote_write = match config.remote_write.clone() {
            None => None,
            Some(options) => Some(
                RemoteWrite::start(options, config.multi_tenant, Arc::clone(&store), Arc::clone(&book))
                    .map_err(|error| ServerError::System {
                        what: "remote write",
                        reason: error.to_string(),
                    })?,
            ),
        };
        rule_figures::register(&state.metrics, book, remote_write.as_ref().map(RemoteWrite::stats));
        let scraping = Scraping::start(config.scrape.as_ref(), config.multi_tenant, &state);
        let own = self_profile::router().merge(Scraping::router(&scraping));
        door.open(api::router(Arc::clone(&state)).merge(api::refuse_wrong_methods(own)));
        warn_of_open_door(&config);
        tracing::info!(
            url = %format_args!("http://{address}"),
            data_dir = %config.data_dir.display(),
            start_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            "listening"
        );
        Ok(Server { address, store, state, secret, scraping, remote_write, stop, serving })
    }
}

/// A rule of the file that does not fit what is there is the user's to mend.
fn rule_error(error: rules::RuleError) -> ServerError {
    match error {
        rules::RuleError::Store(error) => ServerError::Store(error),
        other => ServerError::Usage(format!("rules: {other}")),
    }
}

fn store_options(config: &Config) -> StoreOptions {
    StoreOptions {
        data_dir: config.data_dir.clone(),
        retention_bytes: config.retention_bytes,
        retention: config.retention,
        free_bytes_min: config.free_bytes_min,
        flush_interval: config.flush_interval,
        flush_bytes: config.flush_bytes,
    }
}

fn api_options(config: &Config) -> ApiOptions {
    ApiOptions {
        build: config.build.clone(),
        tenancy: if config.multi_tenant { Tenancy::Multi } else { Tenancy::Single },
        query_time_max: config.query_timeout,
        ..ApiOptions::default()
    }
}

fn warn_of_open_door(config: &Config) {
    if !config.listen.ip().is_loopback() && config.token.is_none() {
        tracing::warn!(listen = %config.listen, "anybody who reaches this address can read and write (--insecure-listen)");
    }
}
