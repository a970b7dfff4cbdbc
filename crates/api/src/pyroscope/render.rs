//! `GET /pyroscope/render`: the flame graph and its timeline as one JSON document, or the call graph as DOT;
//! `/pyroscope/render-diff`: two selections laid over each other.
//!
//! Parameters that are given twice count as their last one says. Unlike the original, the timeline is that of all series
//! together, also where they are grouped, and what cannot be read is 400 instead of a default.

use std::sync::Arc;

use axum::{
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};
use profile::{ProfileType, Tenant, TimeRange, Timestamp};
use query::{
    Control, Engine, Exemplars, NameMode, NodeLimit, PointsQuestion, Selection, Selector, SeriesPoint,
    StepRange, TypeSelector,
};

use super::{
    attime,
    document::{DocumentTimeline, FlameDocument},
    flamebearer::{DoubleFlamebearer, Flamebearer},
    select::{MilliRange, nodes_max, selection, type_selector},
};
use crate::{ApiError, ApiState, QueryCost, access, limits};

const SECOND: i64 = 1_000_000_000;

/// Widths of a timeline's steps, seconds; a range of 1,500 steps takes the nearest one.
const STEPS: [i64; 19] = [
    15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800,
    2_592_000, 31_536_000,
];

/// Steps that a timeline should have about.
const STEPS_WANTED: i64 = 1500;

/// Parameters in their order.
pub(super) type Parameters = Vec<(String, String)>;

/// What was asked.
struct Question {
    selection: Selection,
    format: Format,
    nodes_max: usize,
    group_by: Option<String>,
    put: Put,
    steps: StepRange,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    /// With at most so many functions; 0 = the default.
    Dot(usize),
}

/// How the profiles of a step are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Sum,
    /// Per profile.
    Average,
}

/// One request as it came.
pub(super) struct Asked<'a> {
    parameters: &'a Parameters,
    now: Timestamp,
}

pub(super) async fn render(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<Parameters>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let rendered = async {
        let Query(parameters) = parameters.map_err(|error| ApiError::invalid("query", error.body_text()))?;
        let question = Question::read(&state, &Asked::new(&parameters), &headers)?;
        let content_type = question.format.content_type();
        let job = move |engine: &Engine, control: &Control| match question.format {
            Format::Json => question.answer(engine, control)?.to_json(),
            Format::Dot(functions_max) => Ok(engine.dot(&question.selection, functions_max, control)?.data),
        };
        Ok((content_type, state.query("render", QueryCost::Merge, None, job).await?))
    };
    answered(rendered.await)
}

pub(super) async fn render_diff(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<Parameters>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let rendered = async {
        let Query(parameters) = parameters.map_err(|error| ApiError::invalid("query", error.body_text()))?;
        let asked = Asked::new(&parameters);
        let tenants = access::read_tenants(&headers, state.options.tenancy)?;
        let (left, _) = asked.selection(tenants.clone(), ["leftQuery", "leftFrom", "leftUntil"])?;
        let (right, _) = asked.selection(tenants, ["rightQuery", "rightFrom", "rightUntil"])?;
        let limit = NodeLimit::at_least_with_root(nodes_max(asked.nodes()?)?);
        let job = move |engine: &Engine, control: &Control| {
            let answer = engine.diff(&left, &right, NameMode::Display, limit, control)?;
            if answer.data.nodes.iter().any(|node| node.left_self < 0 || node.right_self < 0) {
                return Err(ApiError::invalid("leftQuery", "a comparison cannot hold negative values"));
            }
            let (name, unit) = sample_type(&left, answer.stats.profile_type);
            FlameDocument::double(DoubleFlamebearer::new(answer.data), name, unit).to_json()
        };
        Ok((JSON, state.query("render_diff", QueryCost::Merge, None, job).await?))
    };
    answered(rendered.await)
}

const JSON: &str = "application/json";

fn answered(rendered: Result<(&'static str, String), ApiError>) -> Response {
    match rendered {
        Ok((content_type, body)) => ([(header::CONTENT_TYPE, content_type)], body).into_response(),
        Err(error) => error.into_ingest_response(),
    }
}

impl Format {
    fn content_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Dot(_) => "text/plain; charset=utf-8",
        }
    }
}

impl<'a> Asked<'a> {
    pub(super) fn new(parameters: &'a Parameters) -> Self {
        Self { parameters, now: Timestamp::now() }
    }

    /// The last value of a parameter, whichever of its spellings it has; empty ones count as not given.
    pub(super) fn last(&self, names: &[&str]) -> Option<&'a str> {
        let found = self.parameters.iter().rev().find(|(name, _)| names.contains(&name.as_str()));
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The range between two parameters; by default the last hour.
    pub(super) fn range(&self, from: &str, until: &str) -> Result<MilliRange, ApiError> {
        let time = |field: &str| match self.last(&[field]) {
            None => Ok(0),
            Some(text) => Ok::<i64, ApiError>(attime::parse(field, text, self.now)?.millis()),
        };
        MilliRange::new(time(from)?, time(until)?, self.now)
    }

    fn nodes(&self) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.last(&["max-nodes", "maxNodes"]) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            let shown: String = text.chars().take(64).collect();
            ApiError::invalid("max-nodes", format!("{shown:?} is no number"))
        })
    }

    /// What a query with its two times selects, and the range as asked for.
    fn selection(
        &self,
        tenants: Vec<Tenant>,
        [query, from, until]: [&str; 3],
    ) -> Result<(Selection, MilliRange), ApiError> {
        let text = self.last(&[query]).ok_or_else(|| ApiError::invalid(query, "is required"))?;
        let range = self.range(from, until)?;
        let (type_text, matchers) = split_query(text)?;
        let mut selection = selection(tenants, "", range.nanos())?;
        selection.selector = matchers;
        selection.profile_type = type_selector(&type_text)?;
        Ok((selection, range))
    }
}

impl Question {
    fn read(state: &ApiState, asked: &Asked<'_>, headers: &HeaderMap) -> Result<Self, ApiError> {
        let tenants = access::read_tenants(headers, state.options.tenancy)?;
        let (selection, range) = asked.selection(tenants, ["query", "from", "until"])?;
        let nodes = asked.nodes()?;
        let nodes_max = nodes_max(nodes)?;
        let format = match asked.last(&["format"]) {
            None | Some("json") => Format::Json,
            // The default number of nodes is one for flame graphs; a graph of so many shows nothing.
            Some("dot") => Format::Dot(if nodes.unwrap_or(0) == 0 { 0 } else { nodes_max }),
            Some(other) => {
                let shown: String = other.chars().take(64).collect();
                return Err(ApiError::invalid("format", format!("{shown:?} is neither json nor dot")));
            }
        };
        let put = match asked.last(&["aggregation"]) {
            None | Some("sum") => Put::Sum,
            Some("avg") => Put::Average,
            Some(other) => {
                let shown: String = other.chars().take(64).collect();
                return Err(ApiError::invalid("aggregation", format!("{shown:?} is neither sum nor avg")));
            }
        };
        // Only the first of several is grouped by, as there.
        let group_by = asked.parameters.iter().find(|(name, value)| name == "groupBy" && !value.is_empty());
        Ok(Self {
            selection,
            format,
            nodes_max,
            group_by: group_by.map(|(_, value)| value.clone()),
            put,
            steps: timeline_steps(range),
        })
    }

    fn answer(&self, engine: &Engine, control: &Control) -> Result<FlameDocument, ApiError> {
        let limit = NodeLimit::at_least(self.nodes_max);
        let tree = engine.flame(&self.selection, NameMode::Display, limit, control)?;
        let flame = Flamebearer::new(tree.data);
        let timed = Selection { range: self.steps.range, ..self.selection.clone() };
        let points = |group_by: &[String]| {
            let question = PointsQuestion {
                steps: self.steps,
                group_by,
                exemplars: Exemplars::None,
                series_max: usize::MAX,
            };
            engine.points(&timed, &question, control)
        };
        let whole = points(&[])?.data;
        let groups = match &self.group_by {
            None => None,
            Some(name) => {
                let by = points(std::slice::from_ref(name))?.data;
                self.check_size(by.len())?;
                let named = by.iter().map(|series| {
                    (series.labels.get(name).unwrap_or("").to_owned(), self.timeline(&series.points))
                });
                Some(named.collect())
            }
        };
        let (name, unit) = sample_type(&self.selection, tree.stats.profile_type);
        let timeline = self.timeline(whole.first().map_or(&[], |series| &series.points));
        Ok(FlameDocument::single(flame, name, unit).with_timeline(timeline, groups))
    }

    /// Whether timelines of so many groups are few enough numbers.
    fn check_size(&self, groups: usize) -> Result<(), ApiError> {
        let steps = self.step_count();
        if groups.saturating_mul(steps) <= limits::DENSE_POINTS_MAX {
            return Ok(());
        }
        let message = format!(
            "gives {groups} groups of {steps} steps, more than {} numbers; choose other labels, a narrower selection or a \
             shorter range",
            limits::DENSE_POINTS_MAX
        );
        Err(ApiError::invalid("groupBy", message))
    }

    fn step_count(&self) -> usize {
        let StepRange { range, step_nanos } = self.steps;
        usize::try_from((range.to.0.saturating_sub(range.from.0) - 1) / step_nanos + 1).unwrap_or(0)
    }

    /// All steps of the range, with zeros where nothing was stored.
    fn timeline(&self, points: &[SeriesPoint]) -> DocumentTimeline {
        let StepRange { range, step_nanos } = self.steps;
        let mut samples = vec![0; self.step_count()];
        for point in points {
            if let Some(sample) = samples.get_mut(point.step as usize) {
                let value = u64::try_from(point.value).unwrap_or(0);
                *sample = match self.put {
                    Put::Sum => value,
                    Put::Average => value / point.profiles.max(1),
                };
            }
        }
        DocumentTimeline {
            start_time: range.from.0.div_euclid(SECOND),
            samples,
            duration_delta: step_nanos / SECOND,
            watermarks: None,
        }
    }
}

/// Sample type and unit: as asked for, else as found.
fn sample_type(selection: &Selection, found: Option<ProfileType>) -> (String, String) {
    match (&selection.profile_type, found) {
        (TypeSelector::Exact(exact), _) => (exact.sample_type.clone(), exact.sample_unit.clone()),
        (_, Some(found)) => (found.sample_type, found.sample_unit),
        (_, None) => (String::new(), String::new()),
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
    fn a_query_is_type_and_matchers() {
        let (kind, _) =
            split_query("process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"x\"}").unwrap();
        assert_eq!(kind, "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
        assert_eq!(split_query("cpu").unwrap().0, "cpu");
        assert!(split_query("cpu{").is_err());
    }
}
