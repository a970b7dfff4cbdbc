//! Pyroscope's queries through the real handlers, from the request's bytes to the last byte of the answer: what a landing
//! page, a label filter, a flame graph and a merged profile cost. Sockets are not in it, see `server::queries`.
//!
//! Requests are those of Grafana's data source (protobuf, gzip both ways), of the Drilldown app (JSON, any encoding that
//! a browser takes) and of clients that take answers as they are. Handlers work on several threads, so the clock is the
//! process's own CPU time; what the engine alone takes of it stands beside it. *Warm* as elsewhere: each query runs once unmeasured, and no answer is kept.

use std::{sync::Arc, time::Duration};

use api::{ApiOptions, ApiState};
use axum::{Router, body::Body};
use buffa::Message;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use profile::{Tenant, TimeRange};
use query::{Control, Engine, EngineOptions, NameMode, NodeLimit};
use rpc::{google::v1::Profile, querier::v1::*, types::v1 as types};
use serde_json::{Value, json};
use store::{Store, StoreOptions};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use super::{
    Sets,
    merge::{self, NODES_MAX},
};
use crate::{
    BenchError,
    accumulate::PlainRows,
    clock::{process_seconds, timed},
    figure::{Figure, Limit},
    set::{Set, SetProfile, sets_folder},
};

const ROUNDS: usize = 9;

/// What the services of the landing page must not exceed, ms.
const SERVICES_MAX: f64 = 20.0;
/// The same for the values of a label.
const VALUES_MAX: f64 = 5.0;
/// The same for a flame graph.
const FLAME_MAX: f64 = 80.0;
/// The same for a merged profile.
const PPROF_MAX: f64 = 500.0;

const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

/// `query-…`: over 1,000 services and over 10,240 profiles of one, in blocks; the former also from memory.
///
/// # Errors
/// When a set is refused or an answer cannot be read.
pub fn measure(sets: &mut Sets) -> Result<Vec<Figure>, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = thousand(&runtime, sets.thousand()?)?;
    figures.extend(one(&runtime, sets.one()?)?);
    Ok(figures)
}

fn thousand(runtime: &Runtime, set: &Set) -> Result<Vec<Figure>, BenchError> {
    let served = Served::filled(runtime, "thousand", set)?;
    let (start, end) = served.range;
    let values = types::LabelValuesRequest {
        name: "service_name".into(),
        matchers: vec![format!("{{__profile_type__=\"{CPU}\"}}")],
        start,
        end,
    };
    let mut figures = Vec::new();
    for place in ["-head", ""] {
        if place.is_empty() {
            runtime.block_on(served.store.flush())?;
        }
        let services = json!({
            "start": start, "end": end, "labelNames": ["service_name", "__profile_type__"], "matchers": []
        });
        let call = Call::of_app("Series", services);
        let count = |body: &[u8]| {
            let answer: Value = serde_json::from_slice(body)?;
            let sets = answer["labelsSet"].as_array().map_or(&[][..], Vec::as_slice);
            let named = |set: &&Value| set["labels"].as_array().is_some_and(|labels| labels.len() == 2);
            // A service answers once for each of its types.
            Ok(sets.iter().filter(named).count() as i64 / 2)
        };
        let answered = served.ask(runtime, &call, count)?;
        figures.push(answered.figure(&format!("query-services{place}"), SERVICES_MAX, 1000));
        let call = Call::of_data_source("LabelValues", &values);
        let count = |body: &[u8]| Ok(types::LabelValuesResponse::decode_from_slice(body)?.names.len() as i64);
        let answered = served.ask(runtime, &call, count)?;
        figures.push(answered.figure(&format!("query-values{place}"), VALUES_MAX, 1000));
    }
    Ok(figures)
}

fn one(runtime: &Runtime, set: &Set) -> Result<Vec<Figure>, BenchError> {
    let served = Served::filled(runtime, "one", set)?;
    runtime.block_on(served.store.flush())?;
    let expected = served.cpu_total()?;
    let (start, end) = served.range;
    let label_selector = "{service_name=\"checkout-go\"}";
    let flames = SelectMergeStacktracesRequest {
        profile_typeID: CPU.into(),
        label_selector: label_selector.into(),
        start,
        end,
        max_nodes: Some(NODES_MAX as i64),
        ..Default::default()
    };
    let total = |body: &[u8]| {
        let answer = SelectMergeStacktracesResponse::decode_from_slice(body)?;
        Ok(answer.flamegraph.as_option().map_or(0, |flames| flames.total))
    };
    let grafana = served.ask(runtime, &Call::of_data_source("SelectMergeStacktraces", &flames), total)?;
    let message = json!({
        "profile_typeID": CPU, "label_selector": label_selector, "start": start, "end": end,
        "max_nodes": NODES_MAX
    });
    let json_total = |body: &[u8]| {
        let answer: Value = serde_json::from_slice(body)?;
        Ok(answer["flamegraph"]["total"].as_str().unwrap_or_default().parse()?)
    };
    let app = served.ask(runtime, &Call::of_app("SelectMergeStacktraces", message), json_total)?;
    let profile = SelectMergeProfileRequest {
        profile_typeID: CPU.into(),
        label_selector: label_selector.into(),
        start,
        end,
        ..Default::default()
    };
    let pprof = served.ask(runtime, &Call::plain("SelectMergeProfile", &profile), pprof_total)?;
    let packed = served.ask(runtime, &Call::of_data_source("SelectMergeProfile", &profile), pprof_total)?;
    let (selection, control) = (merge::cpu()?, Control::default());
    let limit = NodeLimit::at_least(NODES_MAX);
    let flame = best(|| served.engine.flame(&selection, NameMode::Display, limit, &control))?;
    let merged = best(|| served.engine.pprof(&selection, &control))?;
    Ok(vec![
        grafana.beside(flame).figure("query-flame", FLAME_MAX, expected),
        app.beside(flame).figure("query-flame-json", FLAME_MAX, expected),
        pprof.beside(merged).figure("query-pprof", PPROF_MAX, expected),
        packed.beside(merged).figure("query-pprof-gzip", PPROF_MAX, expected),
    ])
}

/// The least CPU seconds that a query of the engine takes.
fn best<T, E>(mut query: impl FnMut() -> Result<T, E>) -> Result<f64, E> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (seconds, answer) = timed(&mut query);
        answer?;
        least = least.min(seconds);
    }
    Ok(least)
}

/// The sum of all values of a profile.
fn pprof_total(body: &[u8]) -> Result<i64, BenchError> {
    let options = buffa::DecodeOptions::new().with_element_memory_limit(usize::MAX);
    let profile: Profile = options.decode_from_slice(body)?;
    Ok(profile.sample.iter().flat_map(|sample| &sample.value).sum())
}

/// All APIs over a store with a set inside.
struct Served {
    store: Arc<Store>,
    engine: Arc<Engine>,
    router: Router,
    /// Milliseconds from the first to the last profile.
    range: (i64, i64),
}

impl Served {
    /// Pushes a set into an empty store; everything stays in memory until a flush is asked for.
    fn filled(runtime: &Runtime, name: &str, set: &Set) -> Result<Self, BenchError> {
        let data_dir = sets_folder()?.join(format!("data-query-{name}"));
        if data_dir.exists() {
            std::fs::remove_dir_all(&data_dir)?;
        }
        let options = StoreOptions::by_hand(data_dir);
        let store = runtime.block_on(Store::open(options))?;
        let engine = Arc::new(Engine::new(Arc::clone(&store), EngineOptions::default()));
        let router =
            api::router(ApiState::new(Arc::clone(&store), Arc::clone(&engine), ApiOptions::default()));
        let millis = |profile: Option<&SetProfile>| profile.map_or(0, |one| one.time_nanos / 1_000_000);
        let range = (millis(set.profiles.first()), millis(set.profiles.last()) + 1);
        let served = Self { store, engine, router, range };
        runtime.block_on(served.push(set))?;
        Ok(served)
    }

    /// Pushes all profiles, many at once, so that they share the syncs of the log.
    async fn push(&self, set: &Set) -> Result<(), BenchError> {
        const AT_ONCE: usize = 64;
        for some in set.profiles.chunks(AT_ONCE) {
            let mut running = tokio::task::JoinSet::new();
            for profile in some {
                let body = Bytes::copy_from_slice(set.body(profile));
                running.spawn(push_one(self.router.clone(), push_path(profile), body));
            }
            while let Some(pushed) = running.join_next().await {
                pushed??;
            }
        }
        Ok(())
    }

    /// The sum of all CPU time, added up row by row.
    fn cpu_total(&self) -> Result<i64, BenchError> {
        let view = self.store.view(&Tenant::anonymous(), TimeRange::ALL);
        let mut total = 0;
        for dataset in &view.datasets {
            // Columns are samples and cpu.
            total += PlainRows::of(dataset.as_ref(), 1)?.accumulate();
        }
        Ok(total)
    }

    /// Asks again and again; `read` says the number by which the first answer is known to be right.
    fn ask(
        &self,
        runtime: &Runtime,
        call: &Call,
        read: impl Fn(&[u8]) -> Result<i64, BenchError>,
    ) -> Result<Answered, BenchError> {
        let (first, encoding) = runtime.block_on(self.answer(call))?;
        let whole = match encoding.as_str() {
            "" => first.to_vec(),
            "gzip" => gunzip(&first)?,
            "zstd" => zstd::decode_all(&*first)?,
            other => return Err(format!("an answer in {other}").into()),
        };
        let number = read(&whole)?;
        let mut seconds = f64::INFINITY;
        for _ in 0..ROUNDS {
            let before = process_seconds();
            let (bytes, _) = runtime.block_on(self.answer(call))?;
            seconds = seconds.min(process_seconds() - before);
            if bytes.len() != first.len() {
                return Err(format!("{} answers once so and once so", call.method).into());
            }
        }
        Ok(Answered { seconds, engine: None, sent: first.len(), whole: whole.len(), encoding, number })
    }

    /// One answer to its last byte, and its encoding.
    async fn answer(&self, call: &Call) -> Result<(Bytes, String), BenchError> {
        let mut request = Request::post(format!("/querier.v1.QuerierService/{}", call.method));
        for &(name, value) in &call.headers {
            request = request.header(name, value);
        }
        let reply = self.router.clone().oneshot(request.body(Body::from(call.body.clone()))?).await?;
        let (parts, body) = reply.into_parts();
        let body = body.collect().await?.to_bytes();
        if !parts.status.is_success() {
            return Err(
                format!("{}: {} {}", call.method, parts.status, String::from_utf8_lossy(&body)).into()
            );
        }
        let encoding = parts.headers.get(header::CONTENT_ENCODING);
        let encoding = encoding.map(|value| value.to_str()).transpose()?.unwrap_or_default();
        Ok((body, encoding.to_owned()))
    }
}

/// Pushes a profile, as often as the store asks for it again: on a busy machine its log may be behind.
async fn push_one(router: Router, path: String, body: Bytes) -> Result<(), String> {
    const TRIES: usize = 600;
    let mut refused = String::new();
    for _ in 0..TRIES {
        let request = Request::post(&path).body(Body::from(body.clone()));
        let request = request.map_err(|error| error.to_string())?;
        let Ok(reply) = router.clone().oneshot(request).await;
        let (parts, body) = reply.into_parts();
        if parts.status.is_success() {
            return Ok(());
        }
        let text = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
        refused = format!("a push was answered {} {}", parts.status, String::from_utf8_lossy(&text));
        if parts.status != StatusCode::SERVICE_UNAVAILABLE {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(refused)
}

fn push_path(profile: &SetProfile) -> String {
    let labels = profile.labels.iter().filter(|(name, _)| *name != profile::SERVICE_NAME);
    let labels: String = labels
        .map(|(name, value)| format!("&label={}", testkit::encoded(&format!("{name}={value}"))))
        .collect();
    format!("/api/v1/push?service={}&name={}{labels}", profile.labels.service_name(), profile.name)
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, BenchError> {
    // A gzip member ends in its length before compression.
    let length = bytes.last_chunk().map_or(0, |last| u32::from_le_bytes(*last));
    let mut whole = vec![0; length as usize];
    libdeflater::Decompressor::new().gzip_decompress(bytes, &mut whole)?;
    Ok(whole)
}

/// A request.
struct Call {
    method: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: Bytes,
}

impl Call {
    /// As Grafana's data source sends it.
    fn of_data_source(method: &'static str, message: &impl Message) -> Self {
        let headers = vec![
            ("content-type", "application/proto"),
            ("content-encoding", "gzip"),
            ("accept-encoding", "gzip"),
            ("connect-protocol-version", "1"),
            ("connect-timeout-ms", "30000"),
            ("user-agent", "connect-go/1.19.1 (go1.25)"),
        ];
        Self { method, headers, body: formats::gzip(&message.encode_to_vec()).into() }
    }

    /// As the Drilldown app sends it through Grafana's proxy.
    fn of_app(method: &'static str, message: Value) -> Self {
        let headers = vec![
            ("content-type", "application/json"),
            ("accept", "*/*;allow-utf8-labelnames=true"),
            ("accept-encoding", "gzip, deflate, br"),
        ];
        Self { method, headers, body: message.to_string().into() }
    }

    /// As a program sends it that wants the answer as it is.
    fn plain(method: &'static str, message: &impl Message) -> Self {
        let headers = vec![("content-type", "application/proto")];
        Self { method, headers, body: message.encode_to_vec().into() }
    }
}

/// What asking has shown.
struct Answered {
    seconds: f64,
    /// Seconds that the engine alone takes, where that was measured.
    engine: Option<f64>,
    /// Bytes of an answer as it goes out.
    sent: usize,
    /// The same before compression.
    whole: usize,
    encoding: String,
    number: i64,
}

impl Answered {
    /// With what the engine alone takes.
    fn beside(self, engine: f64) -> Self {
        Self { engine: Some(engine), ..self }
    }

    fn figure(&self, name: &str, milliseconds_max: f64, expected: i64) -> Figure {
        let packed = match self.encoding.as_str() {
            "" => String::new(),
            encoding => format!(", {} kB {encoding}", self.sent / 1000),
        };
        let engine =
            self.engine.map_or_else(String::new, |alone| format!("engine alone {:.1} ms; ", alone * 1e3));
        let reference =
            format!("process CPU, best of {ROUNDS}; {engine}answer {} kB{packed}", self.whole / 1000);
        let fault = (self.number != expected).then(|| format!("{} instead of {expected}", self.number));
        Figure::new(name, self.seconds * 1e3, "ms", Limit::AtMost(milliseconds_max), reference)
            .with_fault(fault)
    }
}
