//! Flame graph, table, callers, timeline, difference.

use std::sync::Arc;

use axum::{extract::State, response::IntoResponse};
use profile::TimeRange;
use query::StepRange;

use super::{
    NativeResult,
    answer::Wanted,
    convert,
    parameters::{Parameters, cut},
    selection::{COMMON, ROWS, name_mode, nodes_max, selection, sided},
    time,
};
use crate::{ApiError, ApiState, QueryCost, flame_format, limits};

/// `GET /api/v1/flame`
pub(super) async fn flame(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[COMMON, ROWS, &["max_nodes"]])?;
    let selection = selection(&state, &parameters)?;
    let wanted = Wanted::graph(&parameters.headers);
    let (mode, nodes_max) = (name_mode(&parameters)?, nodes_max(&parameters, wanted)?);
    let body = state
        .query("flame", QueryCost::Merge, None, move |engine, control| {
            let answer = engine.flame(&selection, mode, nodes_max, control)?;
            let stats = convert::stats(answer.stats, selection.range);
            match wanted.is_binary() {
                true => wanted.write_binary(flame_format::encode_flame(&answer.data, &stats)?),
                false => wanted.write_json(&convert::flame(answer.data, stats)),
            }
        })
        .await?;
    Ok(body.into_response())
}

/// `GET /api/v1/top`
pub(super) async fn top(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[COMMON, ROWS, &["limit"]])?;
    let wanted = Wanted::json(&parameters.headers);
    let selection = selection(&state, &parameters)?;
    let mode = name_mode(&parameters)?;
    let limit = match parameters.count("limit")?.unwrap_or(limits::TABLE_ROWS_DEFAULT) {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let body = state
        .query("top", QueryCost::Merge, None, move |engine, control| {
            let answer = engine.top(&selection, mode, control)?;
            let table = answer.data;
            wanted.write_json(&wire::TopReply {
                unit: table.unit,
                total: table.total,
                rows_total: table.rows.len() as u64,
                rows: table.rows.into_iter().take(limit).map(convert::row).collect(),
                stats: convert::stats(answer.stats, selection.range),
            })
        })
        .await?;
    Ok(body.into_response())
}

/// `GET /api/v1/callers`
pub(super) async fn callers(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[COMMON, ROWS, &["function"]])?;
    let wanted = Wanted::json(&parameters.headers);
    let selection = selection(&state, &parameters)?;
    let mode = name_mode(&parameters)?;
    let function = parameters.required("function")?.to_owned();
    let body = state
        .query("callers", QueryCost::Merge, None, move |engine, control| {
            let answer = engine.callers(&selection, mode, &function, control)?;
            wanted.write_json(&convert::callers(answer.data, convert::stats(answer.stats, selection.range)))
        })
        .await?;
    Ok(body.into_response())
}

/// `GET /api/v1/timeline`
pub(super) async fn timeline(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    parameters.allow(&[COMMON, ROWS, &["step", "by"]])?;
    let wanted = Wanted::json(&parameters.headers);
    let selection = selection(&state, &parameters)?;
    let steps = steps(selection.range, parameters.one("step")?)?;
    let by: Vec<String> = parameters.list("by").map(str::to_owned).collect();
    let body = state
        .query("timeline", QueryCost::Merge, None, move |engine, control| {
            let answer = engine.timeline(&selection, steps, &by, control)?;
            let series = answer.data.series.into_iter().map(|series| wire::TimelineSeries {
                labels: convert::labels(&series.labels),
                points: series.points,
                total: series.total,
            });
            let group = |labels| wire::TimelineGroup { labels: convert::labels(labels) };
            let overflowing = answer.data.overflowing.iter().map(group);
            wanted.write_json(&wire::TimelineReply {
                rate_divisor: steps.rate_divisor(&answer.data.unit),
                unit: answer.data.unit,
                start: time::text(steps.range.from),
                step_ms: steps.step_nanos / limits::STEP_NANOS_MIN,
                steps: step_count(steps.range, steps.step_nanos),
                series: series.collect(),
                overflowing: overflowing.collect(),
                stats: convert::stats(answer.stats, steps.range),
            })
        })
        .await?;
    Ok(body.into_response())
}

/// `GET /api/v1/diff`
pub(super) async fn diff(State(state): State<Arc<ApiState>>, parameters: Parameters) -> NativeResult {
    const SIDES: &[&str] = &["left", "left_from", "left_to", "right", "right_from", "right_to"];
    parameters.allow(&[SIDES, ROWS, &["type", "max_nodes"]])?;
    let left = sided(&state, &parameters, ("left", "left_from", "left_to"))?;
    let right = sided(&state, &parameters, ("right", "right_from", "right_to"))?;
    let wanted = Wanted::graph(&parameters.headers);
    let (mode, nodes_max) = (name_mode(&parameters)?, nodes_max(&parameters, wanted)?);
    let body = state
        .query("diff", QueryCost::Merge, None, move |engine, control| {
            let answer = engine.diff(&left, &right, mode, nodes_max, control)?;
            let range = TimeRange {
                from: left.range.from.min(right.range.from),
                to: left.range.to.max(right.range.to),
            };
            let stats = convert::stats(answer.stats, range);
            match wanted.is_binary() {
                true => wanted.write_binary(flame_format::encode_diff(&answer.data, &stats)?),
                false => wanted.write_json(&convert::diff(answer.data, stats)),
            }
        })
        .await?;
    Ok(body.into_response())
}

/// The steps of a timeline. They begin at whole multiples of the step, so that a page that is loaded again a little
/// later shows the same bars.
fn steps(range: TimeRange, step: Option<&str>) -> Result<StepRange, ApiError> {
    let width = range.to.0.saturating_sub(range.from.0);
    let step_nanos = match step {
        None => nice_step(width),
        Some(text) => {
            query::read_length(text).filter(|&step| step >= limits::STEP_NANOS_MIN).ok_or_else(|| {
                ApiError::invalid(
                    "step",
                    format!("{:?} is no length of time of at least 1ms, such as 15s", cut(text)),
                )
            })?
        }
    };
    let start = range.from.0.div_euclid(step_nanos).saturating_mul(step_nanos);
    let range = TimeRange { from: profile::Timestamp(start), to: range.to };
    let count = step_count(range, step_nanos);
    if count > limits::STEPS_MAX {
        let message = format!("{count} steps are too many (limit {}); choose a wider one", limits::STEPS_MAX);
        return Err(ApiError::invalid("step", message));
    }
    Ok(StepRange { range, step_nanos })
}

fn step_count(range: TimeRange, step_nanos: i64) -> u64 {
    let width = u64::try_from(range.to.0.saturating_sub(range.from.0)).unwrap_or(0);
    u64::try_from(step_nanos).map_or(0, |step| width.div_ceil(step.max(1)))
}

/// The smallest step of a clock's face with which the range has at most [`limits::STEPS_DEFAULT`] points.
fn nice_step(width: i64) -> i64 {
    const SECONDS: [i64; 15] =
        [1, 5, 10, 15, 30, 60, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400];
    let wanted = width / limits::STEPS_DEFAULT;
    let nice = SECONDS.iter().map(|seconds| seconds * 1_000_000_000).find(|&step| step >= wanted);
    // Beyond a day per point: whole days.
    nice.unwrap_or_else(|| (wanted / 86_400_000_000_000 + 1).saturating_mul(86_400_000_000_000))
}

#[cfg(test)]
mod tests {
    use profile::Timestamp;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange { from: Timestamp(from * SECOND), to: Timestamp(to * SECOND) }
    }

    #[test]
    fn steps_begin_at_whole_multiples() {
        let steps = steps(range(1_000_007, 1_003_607), None).unwrap();
        assert_eq!(steps.step_nanos, 15 * SECOND);
        assert_eq!(steps.range.from.0, 999_990 * SECOND + 15 * SECOND);
        assert_eq!(step_count(steps.range, steps.step_nanos), 241);
    }

    #[test]
    fn too_many_steps_are_refused() {
        assert_eq!(steps(range(0, 3_600), Some("1ms")).unwrap_err().field, "step");
        assert_eq!(steps(range(0, 3_600), Some("0s")).unwrap_err().field, "step");
        assert_eq!(steps(range(0, 3_600), Some("60s")).unwrap().step_nanos, 60 * SECOND);
        assert!(nice_step(i64::MAX) > 0);
    }
}
