//! Values along time as Pyroscope's clients ask for them: steps, points, exemplars.
//!
//! Points lie at `start + k·step`, each the sum over `(t − step, t]`; empty ones are left out. The range read begins one
//! step earlier, so that the first point is complete, and ends with the last point. In a range that is shorter than a step
//! lies only the first point, which says nothing of the range itself; there the next point is answered too, with what the
//! range has of it. A value is a plain sum, or its average over the profiles of the step.

use buffa::EnumValue;
use profile::{Tenant, TimeRange, Timestamp};
use query::{Control, Engine, Exemplar, Exemplars, PointsQuestion, Selection, StepRange};
use rpc::{querier::v1::SelectSeriesRequest, types::v1 as types};

use super::label_pairs;
use crate::{
    ApiError, limits,
    pyroscope::select::{MilliRange, selection, stack_selector, type_selector},
};

/// How the values of one step are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Put {
    Sum,
    Average,
}

/// Values along time that are asked for.
pub(super) struct SeriesQuestion {
    pub(super) selection: Selection,
    pub(super) grid: Grid,
    pub(super) group_by: Vec<String>,
    pub(super) exemplars: Exemplars,
    pub(super) series_max: usize,
    put: Put,
}

/// What the calls of this kind have in common.
pub(super) struct SeriesFields {
    pub(super) profile_type: String,
    pub(super) label_selector: String,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) step: f64,
    pub(super) group_by: Vec<String>,
    pub(super) exemplars: EnumValue<types::ExemplarType>,
    pub(super) limit: Option<i64>,
}

impl SeriesQuestion {
    /// Reads what the calls have in common.
    pub(super) fn new(tenants: Vec<Tenant>, fields: SeriesFields) -> Result<Self, ApiError> {
        let range = MilliRange::new(fields.start, fields.end, Timestamp::now())?;
        let grid = Grid::new(range, fields.step)?;
        let mut selection = selection(tenants, &fields.label_selector, grid.steps.range)?;
        selection.profile_type = type_selector(&fields.profile_type)?;
        let mut group_by = fields.group_by;
        group_by.retain(|name| !name.is_empty());
        let mut seen = std::collections::HashSet::new();
        group_by.retain(|name| seen.insert(name.clone()));
        Ok(Self {
            selection,
            grid,
            group_by,
            exemplars: exemplars(&fields.exemplars)?,
            series_max: series_max(fields.limit)?,
            put: Put::Sum,
        })
    }

    /// Reads a request for series.
    pub(super) fn of_series(tenants: Vec<Tenant>, request: SelectSeriesRequest) -> Result<Self, ApiError> {
        let put = put(request.aggregation.as_ref())?;
        let fields = SeriesFields {
            profile_type: request.profile_typeID,
            label_selector: request.label_selector,
            start: request.start,
            end: request.end,
            step: request.step,
            group_by: request.group_by,
            exemplars: request.exemplar_type,
            limit: request.limit,
        };
        let mut question = Self { put, ..Self::new(tenants, fields)? };
        let selector = request.stack_trace_selector.into_option();
        if stack_selector(&mut question.selection, selector)?.is_some() {
            return Err(super::merge::only_for_pprof());
        }
        Ok(question)
    }

    /// The engine's form of it.
    pub(super) fn points(&self) -> PointsQuestion<'_> {
        PointsQuestion {
            steps: self.grid.steps,
            group_by: &self.group_by,
            exemplars: self.exemplars,
            series_max: self.series_max,
        }
    }

    pub(super) fn series(&self, engine: &Engine, control: &Control) -> Result<Vec<types::Series>, ApiError> {
        let found = engine.points(&self.selection, &self.points(), control)?.data;
        let point = |point: query::SeriesPoint| types::Point {
            // A double holds sums up to 2^53 exactly; that is the wire's own bound.
            value: match self.put {
                Put::Sum => point.value as f64,
                Put::Average => point.value as f64 / point.profiles.max(1) as f64,
            },
            timestamp: self.grid.timestamp(point.step),
            exemplars: point.exemplar.iter().map(exemplar).collect(),
            ..Default::default()
        };
        let series = found.into_iter().map(|series| types::Series {
            labels: label_pairs(&series.labels),
            points: series.points.into_iter().map(point).collect(),
        });
        Ok(series.collect())
    }
}

/// An exemplar as clients know it; ids that it does not have are empty.
pub(super) fn exemplar(exemplar: &Exemplar) -> types::Exemplar {
    types::Exemplar {
        timestamp: exemplar.time.millis(),
        profile_id: exemplar.profile.to_string(),
        span_id: hexadecimal(&exemplar.link.span_id),
        value: exemplar.value,
        labels: label_pairs(&exemplar.labels),
        trace_id: hexadecimal(&exemplar.link.trace_id),
    }
}

fn hexadecimal(id: &[u8]) -> String {
    if id.iter().all(|&byte| byte == 0) {
        return String::new();
    }
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn put(aggregation: Option<&EnumValue<types::TimeSeriesAggregationType>>) -> Result<Put, ApiError> {
    use types::TimeSeriesAggregationType as Aggregation;
    match aggregation {
        None | Some(EnumValue::Known(Aggregation::TIME_SERIES_AGGREGATION_TYPE_SUM)) => Ok(Put::Sum),
        Some(EnumValue::Known(Aggregation::TIME_SERIES_AGGREGATION_TYPE_AVERAGE)) => Ok(Put::Average),
        Some(EnumValue::Unknown(number)) => {
            Err(ApiError::invalid("aggregation", format!("{number} is not known")))
        }
    }
}

fn exemplars(kind: &EnumValue<types::ExemplarType>) -> Result<Exemplars, ApiError> {
    use types::ExemplarType as Kind;
    match kind {
        EnumValue::Known(Kind::EXEMPLAR_TYPE_UNSPECIFIED | Kind::EXEMPLAR_TYPE_NONE) => Ok(Exemplars::None),
        EnumValue::Known(Kind::EXEMPLAR_TYPE_INDIVIDUAL) => Ok(Exemplars::Profiles),
        EnumValue::Known(Kind::EXEMPLAR_TYPE_SPAN) => Ok(Exemplars::Spans),
        EnumValue::Unknown(number) => {
            Err(ApiError::invalid("exemplar_type", format!("{number} is not known")))
        }
    }
}

/// Series in the answer: not sent or 0 = all.
fn series_max(limit: Option<i64>) -> Result<usize, ApiError> {
    match limit {
        Some(limit) if limit < 0 => Err(ApiError::invalid("limit", format!("{limit} is negative"))),
        None | Some(0) => Ok(usize::MAX),
        Some(limit) => Ok(usize::try_from(limit).unwrap_or(usize::MAX)),
    }
}

/// Points at `start + k·step`, each the sum over `(t − step, t]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    start_millis: i64,
    pub(super) steps: StepRange,
}

impl Grid {
    pub(super) fn new(range: MilliRange, step_seconds: f64) -> Result<Self, ApiError> {
        if !(0.001..=1e9).contains(&step_seconds) {
            return Err(ApiError::invalid(
                "step",
                format!("{step_seconds} s is not within 0.001 s to 1e9 s"),
            ));
        }
        // Within the bounds above the number of nanoseconds is a whole one that fits.
        let step_nanos = (step_seconds * 1e9).round() as i64;
        let nanos = range.nanos();
        let length = i128::from(nanos.to.0) - 1 - i128::from(nanos.from.0);
        let is_short = 0 < length && length < i128::from(step_nanos);
        let last = if is_short { 1 } else { length / i128::from(step_nanos) };
        if last >= i128::from(limits::STEPS_MAX) {
            let limit = limits::STEPS_MAX;
            return Err(ApiError::invalid(
                "step",
                format!("the range has {} steps (limit {limit}); choose a longer step", last + 1),
            ));
        }
        let Some(from) = nanos.from.0.checked_sub(step_nanos - 1) else {
            return Err(ApiError::invalid("start", "the step before it lies before all time"));
        };
        let end = i128::from(nanos.from.0) + length.min(last * i128::from(step_nanos));
        let to = Timestamp(i64::try_from(end + 1).unwrap_or(i64::MAX));
        let range = TimeRange { from: Timestamp(from), to };
        Ok(Self { start_millis: nanos.from.millis(), steps: StepRange { range, step_nanos } })
    }

    /// Where the point of a step lies, rounded down to milliseconds.
    pub(super) fn timestamp(&self, step: u32) -> i64 {
        let offset = i128::from(step) * i128::from(self.steps.step_nanos) / 1_000_000;
        self.start_millis.saturating_add(i64::try_from(offset).unwrap_or(i64::MAX))
    }
}
