//! What operators and their probes ask (`/healthz`, `/ready`, `/metrics`, `/debug/vars`), and what a wrong path is told.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{StatusCode, header};
use store::StoreState;

use crate::{ApiError, ApiState, ErrorKind, ErrorShape};

/// The type of `/metrics`, which Prometheus asks for too.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the answer to a wrong path says.
const PATHS: &str = "there is no such path; APIs: /api/v1/{push,services,labels,series,cardinality,profiles,flame,top,\
callers,timeline,diff,pprof,targets,rules/metrics,ingest/explain}, /api/0/profiles (profefe), /pprof/SERVICE/debug/pprof/{profile,heap,allocs,mutex,block,goroutine,\
threadcreate} (go tool pprof), /ingest, /push.v1.PusherService/Push, /querier.v1.QuerierService/* and /pyroscope/{render,render-diff,labels,label-values} (Pyroscope), \
/metrics, /healthz, /ready, /readyz, /debug/pprof/profile; they are described in docs/api.md";

/// What a program meant where a path begins like this, whatever it accepts as an answer; other APIs' paths have error
/// shapes of their own.
const OWN_PREFIXES: [&str; 2] = ["/api/", "/debug/"];

/// The routes.
pub(crate) fn router(state: &Arc<ApiState>) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/ready", get(ready))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/debug/metrics", get(metrics))
        .route("/debug/vars", get(variables))
        .route("/api/v1/status/buildinfo", get(build_information))
        .with_state(Arc::clone(state))
}

/// Answers unknown paths, and wrong methods of the paths that are in the router already, in the shape of their API.
pub(crate) fn with_fallbacks(router: Router) -> Router {
    refuse_wrong_methods(router.fallback(unknown_path))
}

/// Answers wrong methods of the paths that are in a router already, in the shape of their API; without it they get an empty
/// body. For routes that are merged with those of [`crate::router`].
pub fn refuse_wrong_methods(router: Router) -> Router {
    router.method_not_allowed_fallback(wrong_method)
}

/// The process runs.
async fn healthz() -> &'static str {
    "ok\n"
}

/// Queries are answered, and pushes too unless the text says otherwise. Read-only is ready: a balancer that took the
/// server out would take its queries away as well.
async fn ready(State(state): State<Arc<ApiState>>) -> Response {
    match state.store.state() {
        StoreState::Ready => "ready\n".into_response(),
        StoreState::ReadOnly(reason) => format!("ready, read-only: {reason}\n").into_response(),
        StoreState::Closing => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
    }
}

async fn metrics(State(state): State<Arc<ApiState>>) -> Response {
    ([(header::CONTENT_TYPE, OPEN_METRICS)], state.metrics.text()).into_response()
}

/// Which build answers, as Pyroscope and Prometheus say it. What has no counterpart here is empty.
async fn build_information(State(state): State<Arc<ApiState>>) -> Response {
    let build = &state.options.build;
    let data = serde_json::json!({
        "version": build.version, "revision": build.commit, "branch": "",
        "buildUser": "", "buildDate": build.time, "goVersion": "",
    });
    let reply = serde_json::json!({ "status": "success", "data": data });
    ([(header::CONTENT_TYPE, "application/json")], format!("{reply}\n")).into_response()
}

/// The store's figures, where profefe has Go's variables.
async fn variables(State(state): State<Arc<ApiState>>) -> Response {
    let stats = state.store.stats();
    let reply = serde_json::json!({
        "version": state.options.build.version,
        "commit": state.options.build.commit,
        "profiles": stats.profiles,
        "duplicates": stats.duplicates,
        "log_bytes": stats.log_bytes,
        "log_records": stats.log_records,
        "log_syncs": stats.log_syncs,
        "head_bytes": stats.head_bytes,
        "head_profiles": stats.head_profiles,
        "blocks": stats.blocks,
        "block_bytes": stats.block_bytes,
        "flushes": stats.flushes,
        "blocks_dropped": stats.blocks_dropped,
        "free_bytes": stats.free_bytes,
    });
    ([(header::CONTENT_TYPE, "application/json")], format!("{reply}\n")).into_response()
}

/// Among the extensions of an answer: its path is none of ours, nor like one of ours. Who serves a web page may show that
/// instead of the JSON.
#[derive(Clone, Copy, Debug)]
pub struct NoSuchPath;

/// What the answer to a method of RPC that is not served says.
const METHODS: &str = "this method is not served; docs/compat/pyroscope.md says which";

/// Whether a path is `/package.Service/Method`: clients of RPC know what is missing there as `unimplemented`. A file such
/// as `/index.html/..` is none.
fn is_method(path: &str) -> bool {
    let Some((package, method)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return false;
    };
    let is_capital = |text: &str| text.starts_with(|letter: char| letter.is_ascii_uppercase());
    let is_word = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric());
    package.rsplit_once('.').is_some_and(|(_, service)| is_capital(service) && is_word(service))
        && is_capital(method)
        && is_word(method)
}

async fn unknown_path(request: Request) -> Response {
    let path = request.uri().path();
    let is_like_ours = OWN_PREFIXES.iter().any(|prefix| path.starts_with(prefix));
    let is_method = is_method(path);
    let shape = ErrorShape::of(&request);
    let is_native = matches!(shape, ErrorShape::Native);
    let error = match shape {
        ErrorShape::Rpc(_) if is_method => ApiError::new(ErrorKind::Unimplemented, "", METHODS),
        _ => ApiError::not_found(PATHS),
    };
    let mut response = shape.render(error);
    if is_native && !is_like_ours {
        response.extensions_mut().insert(NoSuchPath);
    }
    response
}

async fn wrong_method(request: Request) -> Response {
    ErrorShape::of(&request).render(ApiError::wrong_method(request.method()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_told_from_files() {
        for (path, expected) in [
            ("/vcs.v1.VCSService/GetFile", true),
            ("/a.B/C", true),
            ("/../.secret", false),
            ("/index.html/..", false),
            ("/a.B/C/D", false),
            ("/a.B/", false),
            ("/a.B", false),
            ("/", false),
        ] {
            assert_eq!(is_method(path), expected, "{path}");
        }
    }

    #[test]
    fn a_wrong_path_is_told_of_every_profile_and_probe() {
        let listed = PATHS.split(['{', '}', ',', ' ', '(', ')', ';']).collect::<Vec<_>>();
        for entry in crate::profile_words::GO_PATHS {
            assert!(listed.contains(&entry.word), "{}", entry.word);
        }
        for probe in ["/healthz", "/ready", "/readyz", "/metrics"] {
            assert!(listed.contains(&probe), "{probe}");
        }
    }
}
