//! `everflame up`: a server that profiles itself and a small demo, so that there is a live flame graph from the first
//! seconds on.
//!
//! Every few seconds the samples of this process become profiles of two services: `everflame-demo` has those of the
//! demo's thread, `everflame` all others. They take the way of any push, so they are on disk before they are seen.
//!
//! Not here: the timer and its signal handler (`self_profile`), the workload (`demo`).

use std::sync::Arc;

use api::{
    ApiError, ApiState,
    push::{Api, PushRequest, push_profile},
};
use profile::{SERVICE_NAME, Tenant};
use tokio::task::JoinHandle;

use crate::{
    Config, ServerError,
    demo::{self, Demo},
    limits,
    run::{self, AtHangUp},
    self_profile::Running,
};

/// Service of the demo's samples.
pub const DEMO_SERVICE: &str = "everflame-demo";

/// Service of all other samples of this process.
const OWN_SERVICE: &str = "everflame";

/// Runs a server with sampler and demo until SIGINT, SIGTERM or SIGHUP. `started` is told the address once requests are
/// answered.
///
/// # Errors
/// See [`ServerError`].
pub fn up(config: Config, started: impl FnOnce(&str)) -> Result<(), ServerError> {
    run::run_with(config, AtHangUp::Stop, |server| {
        let demo = Demo::start()
            .map_err(|error| ServerError::System { what: "the demo's thread", reason: error.to_string() })?;
        let sampler = AbortOnDrop(tokio::spawn(sample_for_ever(server.state())));
        started(&format!("http://{}", server.address()));
        Ok((demo, sampler))
    })
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn sample_for_ever(state: Arc<ApiState>) {
    loop {
        if let Err(error) = sample_once(&state).await {
            // Somebody takes a profile by hand, or the disk is full: the next one will do.
            tracing::warn!(%error, "no profile of this process");
            tokio::time::sleep(limits::UP_INTERVAL).await;
        }
    }
}

async fn sample_once(state: &Arc<ApiState>) -> Result<(), ApiError> {
    let running = Running::start_blocking().await?;
    tokio::time::sleep(limits::UP_INTERVAL).await;
    let services = [DEMO_SERVICE, OWN_SERVICE];
    let of_thread = |name: &str| usize::from(name != demo::THREAD);
    let bodies = running.finish_blocking(services.len(), of_thread).await?;
    for (service, body) in services.into_iter().zip(bodies) {
        let Some(body) = body else { continue };
        let labels = vec![(SERVICE_NAME.to_owned(), service.to_owned())];
        let request = PushRequest::pprof(Tenant::anonymous(), Api::Native, labels, body.into());
        push_profile(state, request).await?;
    }
    Ok(())
}
