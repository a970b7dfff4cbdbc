//! The server's own CPU profile, `/debug/pprof/profile?seconds=N`, as pprof.
//!
//! A timer of the kernel interrupts whichever thread is using the CPU, 99 times per second of CPU time; the handler
//! walks the stack by the unwind tables that are in the binary anyway. It neither allocates nor waits: what it writes to
//! was allocated before the timer began, and a sample is dropped when another thread is writing one (C077). Names are
//! looked up after the timer was stopped. One profile at a time; a second request is told to wait.
//!
//! `everflame up` takes one after the other and sorts them by thread, see `up`.
//!
//! Other kinds (heap, goroutines, …) cannot be measured here and say so.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use api::{ApiError, ErrorKind};
use axum::{
    Router,
    body::Bytes,
    extract::{Path, RawQuery},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, header};
use profile::{
    Columns, Function, FunctionIndex, LabelValue, Line, Location, LocationIndex, MappingIndex, Profile,
    SampleLabel, StringIndex, StringRange, ValueType,
};

use crate::limits;

/// Parts of the names of the sampler's own frames, which are at the leaf of every stack.
const OWN_FRAMES: [&str; 4] = ["backtrace::", "pprof::", "perf_signal_handler", "__restore_rt"];

/// The routes.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/debug/pprof/", get(kinds))
        .route("/debug/pprof/profile", get(profile))
        .route("/debug/pprof/{kind}", get(other))
}

async fn kinds() -> &'static str {
    "profiles of this server itself:\n  profile?seconds=N  CPU\nprofiles of services are at /pprof/SERVICE/debug/pprof/\n"
}

async fn other(Path(kind): Path<String>) -> Response {
    let kind: String = kind.chars().take(64).collect();
    let message = format!(
        "this server cannot measure {kind:?} of itself; there is /debug/pprof/profile?seconds=N (CPU)"
    );
    ApiError::not_found(message).into_pprof_response()
}

async fn profile(RawQuery(query): RawQuery) -> Response {
    match measured(query.as_deref().unwrap_or("")).await {
        Ok(body) => {
            let mut response = Bytes::from(body).into_response();
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            response
        }
        Err(error) => error.into_pprof_response(),
    }
}

async fn measured(query: &str) -> Result<Vec<u8>, ApiError> {
    let seconds = seconds(query)?;
    // Start and end take milliseconds (memory for the samples), so neither belongs on the runtime.
    let running = Running::start_blocking().await?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    blocking(move || running.finish()).await
}

/// A profile that is being taken.
pub(crate) struct Running {
    guard: pprof::ProfilerGuard<'static>,
    begun: SystemTime,
}

impl Running {
    /// Starts the timer, away from the runtime.
    pub async fn start_blocking() -> Result<Self, ApiError> {
        blocking(Self::start).await
    }

    /// Stops the timer and writes one gzip pprof for each group of threads; `None` where a group has no sample.
    pub async fn finish_blocking(
        self,
        groups: usize,
        group_of: impl Fn(&str) -> usize + Send + 'static,
    ) -> Result<Vec<Option<Vec<u8>>>, ApiError> {
        blocking(move || {
            let builders = self.builders(groups, group_of)?;
            let written = |builder: &Builder| formats::gzip(&builder.encode());
            Ok(builders.iter().map(|builder| (!builder.is_empty()).then(|| written(builder))).collect())
        })
        .await
    }

    fn start() -> Result<Self, ApiError> {
        let guard = pprof::ProfilerGuardBuilder::default().frequency(limits::PROFILE_FREQUENCY).build();
        let guard = guard.map_err(|error| match error {
            pprof::Error::Running => {
                ApiError::unavailable("another profile of this server is being taken", 5)
            }
            error => failed(&error),
        })?;
        Ok(Self { guard, begun: SystemTime::now() })
    }

    /// Stops the timer and writes gzip pprof.
    fn finish(self) -> Result<Vec<u8>, ApiError> {
        let builders = self.builders(1, |_| 0)?;
        let body = builders.first().map(Builder::encode).unwrap_or_default();
        Ok(formats::gzip(&body))
    }

    /// Stops the timer, looks names up and sorts samples by their thread's group.
    fn builders(self, groups: usize, group_of: impl Fn(&str) -> usize) -> Result<Vec<Builder>, ApiError> {
        let duration = self.begun.elapsed().unwrap_or_default();
        let report = self.guard.report().build_unresolved();
        drop(self.guard);
        let report = report.map_err(|error| failed(&error))?;
        let mut builders: Vec<Builder> = (0..groups).map(|_| Builder::new(self.begun, duration)).collect();
        for (frames, count) in report.data {
            let frames = pprof::Frames::from(frames);
            let group = group_of(&frames.thread_name_or_id());
            if let Some(builder) = builders.get_mut(group) {
                builder.add(&frames, i64::try_from(count).unwrap_or(i64::MAX))?;
            }
        }
        Ok(builders)
    }
}

fn failed(error: &pprof::Error) -> ApiError {
    ApiError::internal(format!("this process cannot be profiled: {error}"))
}

async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(job)
        .await
        .unwrap_or_else(|error| Err(ApiError::internal(format!("this process cannot be profiled: {error}"))))
}

/// Reads `seconds`; whatever else Go's tools send is left alone.
fn seconds(query: &str) -> Result<u64, ApiError> {
    let text = query.split('&').find_map(|pair| pair.strip_prefix("seconds="));
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(limits::PROFILE_SECONDS_DEFAULT) };
    match text.parse() {
        Ok(seconds @ 1..=limits::PROFILE_SECONDS_MAX) => Ok(seconds),
        _ => Err(ApiError::new(
            ErrorKind::Invalid,
            "seconds",
            format!("is not from 1 to {}", limits::PROFILE_SECONDS_MAX),
        )),
    }
}

/// Collects samples into a profile.
struct Builder {
    text: Vec<u8>,
    columns: Columns,
    strings: HashMap<String, StringIndex>,
    functions: HashMap<(StringIndex, StringIndex), FunctionIndex>,
    locations: HashMap<Vec<(FunctionIndex, i64)>, LocationIndex>,
    period: i64,
}

impl Builder {
    fn new(begun: SystemTime, duration: Duration) -> Self {
        let mut builder = Self {
            text: Vec::new(),
            columns: Columns::default(),
            strings: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            period: 1_000_000_000 / i64::from(limits::PROFILE_FREQUENCY),
        };
        builder.columns.clear();
        let (samples, count) = (builder.known("samples"), builder.known("count"));
        let (cpu, nanoseconds) = (builder.known("cpu"), builder.known("nanoseconds"));
        let period_type = ValueType { kind: cpu, unit: nanoseconds };
        builder.columns.sample_types = vec![ValueType { kind: samples, unit: count }, period_type];
        let since_epoch = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = &mut builder.columns.header;
        header.time_nanos = i64::try_from(since_epoch.as_nanos()).unwrap_or(0);
        header.duration_nanos = i64::try_from(duration.as_nanos()).unwrap_or(0);
        header.period_type = Some(period_type);
        header.period = builder.period;
        builder
    }

    fn add(&mut self, frames: &pprof::Frames, count: i64) -> Result<(), ApiError> {
        let is_own = |symbols: &Vec<pprof::Symbol>| {
            symbols.iter().any(|symbol| OWN_FRAMES.iter().any(|own| symbol.name().contains(own)))
        };
        for symbols in frames.frames.iter().skip_while(|symbols| is_own(symbols)) {
            let location = self.location(symbols)?;
            self.columns.stacks.push(location);
        }
        self.columns.stack_ends.push(index(self.columns.stacks.len())?);
        self.columns.values.extend([count, count.saturating_mul(self.period)]);
        let key = self.string("thread")?;
        let value = LabelValue::Text(self.string(&frames.thread_name_or_id())?);
        self.columns.labels.push(SampleLabel { key, value });
        self.columns.label_ends.push(index(self.columns.labels.len())?);
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.columns.values.is_empty()
    }

    /// The location of an address: the functions inlined there, innermost first.
    fn location(&mut self, symbols: &[pprof::Symbol]) -> Result<LocationIndex, ApiError> {
        let mut lines = Vec::with_capacity(symbols.len());
        for symbol in symbols {
            let file = symbol.filename.as_ref().map(|path| path.to_string_lossy().into_owned());
            let name = self.string(&symbol.name())?;
            let system_name = self.string(&symbol.sys_name())?;
            let file = self.string(file.as_deref().unwrap_or(""))?;
            let function = match self.functions.get(&(system_name, file)) {
                Some(&known) => known,
                None => {
                    let new = FunctionIndex(index(self.columns.functions.len())?);
                    self.columns.functions.push(Function { name, system_name, file, start_line: 0 });
                    self.functions.insert((system_name, file), new);
                    new
                }
            };
            lines.push((function, i64::from(symbol.lineno())));
        }
        if let Some(&known) = self.locations.get(&lines) {
            return Ok(known);
        }
        let new = LocationIndex(index(self.columns.locations.len())?);
        self.columns.locations.push(Location {
            mapping: MappingIndex::NONE,
            address: 0,
            lines_start: index(self.columns.lines.len())?,
            lines_length: index(lines.len())?,
            is_folded: false,
        });
        self.columns.lines.extend(lines.iter().map(|&(function, line)| Line { function, line, column: 0 }));
        self.locations.insert(lines, new);
        Ok(new)
    }

    /// A string of our own, which always fits.
    fn known(&mut self, text: &str) -> StringIndex {
        self.string(text).unwrap_or(StringIndex::EMPTY)
    }

    fn string(&mut self, text: &str) -> Result<StringIndex, ApiError> {
        if text.is_empty() {
            return Ok(StringIndex::EMPTY);
        }
        if let Some(&known) = self.strings.get(text) {
            return Ok(known);
        }
        let range = StringRange { start: index(self.text.len())?, length: index(text.len())? };
        let new = StringIndex(index(self.columns.strings.len())?);
        self.text.extend_from_slice(text.as_bytes());
        self.columns.strings.push(range);
        self.strings.insert(text.to_owned(), new);
        Ok(new)
    }

    fn encode(&self) -> Vec<u8> {
        formats::encode_pprof(&Profile { text: &self.text, columns: &self.columns })
    }
}

fn index(length: usize) -> Result<u32, ApiError> {
    u32::try_from(length).map_err(|_| ApiError::internal("the profile of this server is too large"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn seconds_are_bounded() {
        assert_eq!(seconds("").unwrap(), limits::PROFILE_SECONDS_DEFAULT);
        assert_eq!(seconds("debug=0&seconds=5").unwrap(), 5);
        for bad in ["seconds=0", "seconds=-1", "seconds=x", "seconds=301"] {
            assert_eq!(seconds(bad).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[inline(never)]
    fn a_function_that_is_known_to_be_hot(until: Instant) -> u64 {
        let mut sum = 0_u64;
        while Instant::now() < until {
            for number in 0..100_000_u64 {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
            }
        }
        sum
    }

    #[test]
    fn c077_a_hot_function_is_found_while_others_allocate() {
        let running = Running::start().unwrap();
        let until = Instant::now() + Duration::from_secs(2);
        let hot = std::thread::spawn(move || a_function_that_is_known_to_be_hot(until));
        let storm = std::thread::spawn(move || {
            let mut kept = 0;
            while Instant::now() < until {
                kept += std::hint::black_box(vec![String::from("storm"); 64]).len();
            }
            kept
        });
        assert!(hot.join().unwrap() > 0 && storm.join().unwrap() > 0);
        let body = running.finish().unwrap();
        let mut decoder = formats::Decoder::new();
        let (profile, _) = decoder.pprof(&body, &api::limits::decoder()).unwrap();
        let total: i64 = profile.samples().map(|sample| sample.values[0]).sum();
        let is_hot = |location: LocationIndex| {
            let location = &profile.columns.locations[location.position()];
            profile.columns.location_lines(location).iter().any(|line| {
                let name = profile.columns.functions[line.function.position()].name;
                profile.text_of(name).contains("a_function_that_is_known_to_be_hot")
            })
        };
        let hot: i64 = profile
            .samples()
            .filter(|sample| sample.stack.iter().any(|&location| is_hot(location)))
            .map(|sample| sample.values[0])
            .sum();
        // Two threads share the machine with other tests, so only the order of magnitude is known.
        assert!(total > 10 && hot * 10 > total, "{hot} of {total} samples are in the hot function");
    }
}
