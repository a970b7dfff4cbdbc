//! `GET /pyroscope/render`: the flame graph and its timeline as one JSON document.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};
use profile::{TimeRange, Timestamp};
use query::{Control, Engine, NameMode, NodeLimit, Selection, Selector, StepRange, TypeSelector};
use serde::Serialize;

use super::{
    attime,
    flamebearer::Flamebearer,
    select::{MilliRange, nodes_max, selection, type_selector},
};
use crate::{ApiError, ApiState, ErrorKind, QueryCost, access};

const SECOND: i64 = 1_000_000_000;

/// Widths of a timeline's steps, seconds; a range of 1,500 steps takes the nearest one.
const STEPS: [i64; 19] = [
    15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800,
    2_592_000, 31_536_000,
];

/// Steps that a timeline should have about.
const STEPS_WANTED: i64 = 1500;

#[derive(Serialize)]
struct Rendered {
    version: u32,
    flamebearer: Flames,
    metadata: Metadata,
    timeline: TimelineJson,
    groups: Option<HashMap<String, TimelineJson>>,
    heatmap: Option<()>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Flames {
    names: Vec<String>,
    levels: Vec<Vec<i64>>,
    num_ticks: i64,
    max_self: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    format: &'static str,
    spy_name: &'static str,
    sample_rate: i64,
    units: String,
    name: String,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct TimelineJson {
    start_time: i64,
    samples: Vec<u64>,
    duration_delta: i64,
    watermarks: Option<()>,
}

type Parameters = Vec<(String, String)>;

/// What was asked.
struct Question {
    selection: Selection,
    nodes_max: usize,
    group_by: Option<String>,
    steps: StepRange,
}

pub(super) async fn render(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<Parameters>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let rendered = async {
        let Query(parameters) = parameters.map_err(|error| ApiError::invalid("query", error.body_text()))?;
        let question = Question::read(&state, &parameters, &headers)?;
        state
            .query("render", QueryCost::Merge, None, move |engine, control| {
                serde_json::to_vec(&question.answer(engine, control)?)
                    .map_err(|error| ApiError::internal(error.to_string()))
            })
            .await
    };
    match rendered.await {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error) => error.into_ingest_response(),
    }
}

impl Question {
    fn read(state: &ApiState, parameters: &Parameters, headers: &HeaderMap) -> Result<Self, ApiError> {
        // The last one wins, whichever of two spellings it has.
        let last = |names: &[&str]| {
            let found = parameters.iter().rev().find(|(name, _)| names.contains(&name.as_str()));
            found.map(|(_, value)| value.as_str())
        };
        match last(&["format"]) {
            None | Some("" | "json") => {}
            Some("dot") => {
                return Err(ApiError::new(
                    ErrorKind::Unimplemented,
                    "format",
                    "dot is not served; ask for json",
                ));
            }
            Some(other) => return Err(ApiError::invalid("format", format!("{other:?} is not known"))),
        }
        let query = last(&["query"]).filter(|query| !query.is_empty());
        let query = query.ok_or_else(|| ApiError::invalid("query", "is required"))?;
        let now = Timestamp::now();
        let time = |field: &str| match last(&[field]) {
            None | Some("") => Ok(0),
            Some(text) => Ok::<i64, ApiError>(attime::parse(field, text, now)?.millis()),
        };
        let range = MilliRange::new(time("from")?, time("until")?, now)?;
        let nodes = match last(&["max-nodes", "maxNodes"]) {
            None | Some("") => None,
            Some(text) => Some(text.parse::<i64>().map_err(|_| {
                ApiError::invalid(
                    "max-nodes",
                    format!("{:?} is no number", text.chars().take(64).collect::<String>()),
                )
            })?),
        };
        let (type_text, matchers) = split_query(query)?;
        let tenants = access::read_tenants(headers, state.options.tenancy)?;
        let mut selection = selection(tenants, "", range.nanos())?;
        selection.selector = matchers;
        selection.profile_type = type_selector(&type_text)?;
        let steps = timeline_steps(range);
        Ok(Self {
            selection,
            nodes_max: nodes_max(nodes)?,
            group_by: last(&["groupBy"]).filter(|name| !name.is_empty()).map(str::to_owned),
            steps,
        })
    }

    fn answer(&self, engine: &Engine, control: &Control) -> Result<Rendered, ApiError> {
        let limit = NodeLimit::at_least(self.nodes_max);
        let tree = engine.flame(&self.selection, NameMode::Display, limit, control)?;
        let flame = Flamebearer::new(tree.data);
        let timed = Selection { range: self.steps.range, ..self.selection.clone() };
        let whole = engine.timeline(&timed, self.steps, &[], control)?.data;
        let groups = match &self.group_by {
            None => None,
            Some(name) => {
                let by =
                    engine.timeline(&timed, self.steps, std::slice::from_ref(name), control)?.data.whole()?;
                let named = by.series.iter().map(|series| {
                    (series.labels.get(name).unwrap_or("").to_owned(), self.timeline(&series.points))
                });
                Some(named.collect())
            }
        };
        let (name, unit) = match (&self.selection.profile_type, tree.stats.profile_type) {
            (TypeSelector::Exact(exact), _) => (exact.sample_type.clone(), exact.sample_unit.clone()),
            (_, Some(found)) => (found.sample_type, found.sample_unit),
            (_, None) => (String::new(), String::new()),
        };
        let points = whole.series.first().map_or(&[][..], |series| &series.points);
        Ok(Rendered {
            version: 1,
            flamebearer: Flames {
                names: flame.names,
                levels: flame.levels,
                num_ticks: flame.total,
                max_self: flame.max_self,
            },
            metadata: metadata(name, unit),
            timeline: self.timeline(points),
            groups,
            heatmap: None,
        })
    }

    /// All steps of the range, with zeros where nothing was stored.
    fn timeline(&self, points: &[(u32, i64)]) -> TimelineJson {
        let StepRange { range, step_nanos } = self.steps;
        let count = (range.to.0.saturating_sub(range.from.0) - 1) / step_nanos + 1;
        let mut samples = vec![0; usize::try_from(count).unwrap_or(0)];
        for &(step, value) in points {
            if let Some(sample) = samples.get_mut(step as usize) {
                *sample = u64::try_from(value).unwrap_or(0);
            }
        }
        TimelineJson {
            start_time: range.from.0.div_euclid(SECOND),
            samples,
            duration_delta: step_nanos / SECOND,
            watermarks: None,
        }
    }
}

/// `type{matchers}` into its two halves. The type has colons, which a selector's own syntax may not take.
fn split_query(query: &str) -> Result<(String, Selector), ApiError> {
    let (type_text, matchers) = match query.find('{') {
        Some(brace) => query.split_at(brace),
        None => (query, ""),
    };
    let selector = Selector::parse(matchers).map_err(ApiError::from)?;
    Ok((type_text.trim().to_owned(), selector))
}

fn metadata(name: String, unit: String) -> Metadata {
    let units = match name.as_str() {
        "inuse_objects" | "alloc_objects" | "goroutine" | "samples" => "objects".into(),
        "cpu" => "samples".into(),
        _ => unit,
    };
    let sample_rate = if name == "cpu" { SECOND } else { 100 };
    Metadata { format: "single", spy_name: "", sample_rate, units, name }
}

/// Steps from the ladder, aligned to their own width, over the whole range.
fn timeline_steps(range: MilliRange) -> StepRange {
    let nanos = range.nanos();
    let length = (i128::from(nanos.to.0) - i128::from(nanos.from.0)) / i128::from(SECOND);
    let wanted = i64::try_from(length).unwrap_or(i64::MAX) / STEPS_WANTED;
    let step = STEPS
        .windows(2)
        .find(|pair| wanted * 2 <= pair[0] + pair[1])
        .map_or(STEPS[STEPS.len() - 1], |pair| pair[0]);
    let step_nanos = step * SECOND;
    let from = nanos.from.0.saturating_sub(nanos.from.0.rem_euclid(step_nanos));
    StepRange { range: TimeRange { from: Timestamp(from), to: nanos.to }, step_nanos }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_climb_the_ladder() {
        let hours = |hours: i64| {
            timeline_steps(MilliRange {
                start: 1_800_000_007_000,
                end: 1_800_000_007_000 + hours * 3_600_000,
            })
        };
        assert_eq!(hours(1).step_nanos, 15 * SECOND);
        assert_eq!(hours(24).step_nanos, 60 * SECOND);
        assert_eq!(hours(24 * 7).step_nanos, 300 * SECOND);
        assert_eq!(hours(1).range.from.0 % (15 * SECOND), 0);
        assert!(timeline_steps(MilliRange { start: i64::MIN, end: i64::MAX }).step_nanos > 0);
    }

    #[test]
    fn units_are_the_words_that_clients_know() {
        assert_eq!(metadata("cpu".into(), "nanoseconds".into()).units, "samples");
        assert_eq!(metadata("inuse_objects".into(), "count".into()).units, "objects");
        assert_eq!(metadata("inuse_space".into(), "bytes".into()).units, "bytes");
        assert_eq!(metadata("cpu".into(), "nanoseconds".into()).sample_rate, SECOND);
    }

    #[test]
    fn a_query_is_type_and_matchers() {
        let (kind, _) =
            split_query("process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"x\"}").unwrap();
        assert_eq!(kind, "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
        assert_eq!(split_query("cpu").unwrap().0, "cpu");
        assert!(split_query("cpu{").is_err());
    }
}
