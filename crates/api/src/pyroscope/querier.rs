//! `querier.v1.QuerierService`: the calls that Grafana's data source and Pyroscope's typed clients start with.
//!
//! Field rules are in `select`, the layout of flame graphs in `flamebearer`. Formats and selectors that are not served
//! answer `unimplemented` with a sentence instead of a wrong result.

use std::{collections::BTreeSet, sync::Arc};

use buffa::{EnumValue, MessageField};
use bytes::Bytes;
use connectrpc::{
    CodecFormat, ConnectError, Encodable, RequestContext, Response, ServiceRequest, ServiceResult,
};
use profile::{LabelSet, Tenant, TimeRange, Timestamp};
use query::{Control, Engine, NameMode, Selection, StepRange};

use rpc::{google, querier::v1::*, types::v1 as types};

use super::{
    flamebearer::Flamebearer,
    select::{MilliRange, nodes_max, profile_ids, selection, span_filter, type_selector},
};
use crate::{ApiError, ApiState, ErrorKind, QueryCost, access, limits};

/// Labels that every profile type answers, beside those that were sent.
const TYPE_LABELS: [&str; 6] =
    ["__name__", "__period_type__", "__period_unit__", "__profile_type__", "__type__", "__unit__"];

pub(super) struct Querier {
    pub(super) state: Arc<ApiState>,
}

impl Querier {
    fn tenants(&self, context: &RequestContext) -> Result<Vec<Tenant>, ApiError> {
        access::read_tenants(context.headers(), self.state.options.tenancy)
    }

    async fn query<T: Send + 'static>(
        &self,
        context: &RequestContext,
        call: &'static str,
        cost: QueryCost,
        job: impl FnOnce(&Engine, &Control) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ConnectError> {
        Ok(self.state.query(call, cost, context.deadline(), job).await?)
    }
}

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl QuerierService for Querier {
    async fn profile_types<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, ProfileTypesRequest>,
    ) -> ServiceResult<ProfileTypesResponse> {
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let selection = selection(self.tenants(&context)?, "", range)?;
        let found = self
            .query(&context, "profile_types", QueryCost::Metadata, move |engine, control| {
                Ok(engine.profile_types(&selection, control)?.data)
            })
            .await?;
        let profile_types = found
            .into_iter()
            .map(|found| types::ProfileType {
                ID: found.to_string(),
                name: found.name,
                sample_type: found.sample_type,
                sample_unit: found.sample_unit,
                period_type: found.period_type,
                period_unit: found.period_unit,
            })
            .collect();
        Response::ok(ProfileTypesResponse { profile_types })
    }

    async fn label_values<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, types::LabelValuesRequest>,
    ) -> ServiceResult<types::LabelValuesResponse> {
        let request = request.to_owned_message();
        if request.name.is_empty() {
            return Err(ApiError::invalid("name", "is required").into());
        }
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let selections = selections(&self.tenants(&context)?, &request.matchers, range)?;
        let names = self
            .query(&context, "label_values", QueryCost::Metadata, move |engine, control| {
                union(&selections, |selection| {
                    Ok(engine.label_values(selection, &request.name, control)?.data)
                })
            })
            .await?;
        Response::ok(types::LabelValuesResponse { names })
    }

    async fn label_names<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, types::LabelNamesRequest>,
    ) -> ServiceResult<types::LabelNamesResponse> {
        let request = request.to_owned_message();
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let selections = selections(&self.tenants(&context)?, &request.matchers, range)?;
        let names = self
            .query(&context, "label_names", QueryCost::Metadata, move |engine, control| {
                union(&selections, |selection| all_label_names(engine, selection, control))
            })
            .await?;
        Response::ok(types::LabelNamesResponse { names })
    }

    async fn series<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SeriesRequest>,
    ) -> ServiceResult<SeriesResponse> {
        let request = request.to_owned_message();
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let selections = selections(&self.tenants(&context)?, &request.matchers, range)?;
        let sets = self
            .query(&context, "series", QueryCost::Metadata, move |engine, control| {
                union(&selections, |selection| {
                    let names = match request.label_names.as_slice() {
                        [] => all_label_names(engine, selection, control)?,
                        names => names.to_vec(),
                    };
                    Ok(engine.series(selection, &names, control)?.data)
                })
            })
            .await?;
        let labels_set = sets.iter().map(|set| types::Labels { labels: label_pairs(set) }).collect();
        Response::ok(SeriesResponse { labels_set })
    }

    async fn select_merge_stacktraces<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SelectMergeStacktracesRequest>,
    ) -> ServiceResult<SelectMergeStacktracesResponse> {
        let request = request.to_owned_message();
        let nodes_max = nodes_max(request.max_nodes)?;
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let mut selection = selection(self.tenants(&context)?, &request.label_selector, range)?;
        selection.profile_type = type_selector(&request.profile_typeID)?;
        selection.profile_ids = profile_ids(&request.profile_id_selector)?;
        selection.spans = span_filter(&request.span_selector, &request.trace_id_selector)?;
        selection.call_site = call_site(request.stack_trace_selector)?;
        let format = merge_format(&request.format)?;
        let answer = self
            .query(&context, "select_merge_stacktraces", QueryCost::Merge, move |engine, control| {
                merge(engine, control, &selection, format, nodes_max)
            })
            .await?;
        Response::ok(answer)
    }

    async fn select_merge_profile<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SelectMergeProfileRequest>,
    ) -> ServiceResult<EncodedPprof> {
        let request = request.to_owned_message();
        nodes_max(request.max_nodes)?;
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let mut selection = selection(self.tenants(&context)?, &request.label_selector, range)?;
        selection.profile_type = type_selector(&request.profile_typeID)?;
        selection.profile_ids = profile_ids(&request.profile_id_selector)?;
        selection.spans = span_filter(&[], &request.trace_id_selector)?;
        selection.call_site = call_site(request.stack_trace_selector)?;
        let pprof = self
            .query(&context, "select_merge_profile", QueryCost::Merge, move |engine, control| {
                Ok(engine.pprof(&selection, control)?.data)
            })
            .await?;
        Response::ok(EncodedPprof(pprof.into()))
    }

    async fn select_series<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SelectSeriesRequest>,
    ) -> ServiceResult<SelectSeriesResponse> {
        let request = request.to_owned_message();
        is_sum(request.aggregation.as_ref())?;
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?;
        let grid = Grid::new(range, request.step)?;
        let mut selection = selection(self.tenants(&context)?, &request.label_selector, grid.steps.range)?;
        selection.profile_type = type_selector(&request.profile_typeID)?;
        selection.call_site = call_site(request.stack_trace_selector)?;
        let limit = match request.limit {
            Some(limit) if limit < 0 => {
                return Err(ApiError::invalid("limit", format!("{limit} is negative")).into());
            }
            None | Some(0) => usize::MAX,
            Some(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let series = self
            .query(&context, "select_series", QueryCost::Merge, move |engine, control| {
                let timeline =
                    engine.timeline(&selection, grid.steps, &request.group_by, control)?.data.whole()?;
                Ok(timeline.series.into_iter().take(limit).map(|series| grid.series(&series)).collect())
            })
            .await?;
        Response::ok(SelectSeriesResponse { series })
    }
}

/// One selection per matcher; they are alternatives, and none means everything.
fn selections(tenants: &[Tenant], matchers: &[String], range: TimeRange) -> Result<Vec<Selection>, ApiError> {
    if matchers.is_empty() {
        return Ok(vec![selection(tenants.to_vec(), "", range)?]);
    }
    matchers.iter().map(|matcher| selection(tenants.to_vec(), matcher, range)).collect()
}

/// The sorted union of one answer per selection.
fn union<T: Ord>(
    selections: &[Selection],
    answer: impl Fn(&Selection) -> Result<Vec<T>, ApiError>,
) -> Result<Vec<T>, ApiError> {
    if let [only] = selections {
        return answer(only);
    }
    let mut all = BTreeSet::new();
    for selection in selections {
        all.extend(answer(selection)?);
    }
    Ok(all.into_iter().collect())
}

/// Sent labels and those of the profile type; nothing where nothing is stored.
fn all_label_names(
    engine: &Engine,
    selection: &Selection,
    control: &Control,
) -> Result<Vec<String>, ApiError> {
    let mut names = engine.label_names(selection, control)?.data;
    if !names.is_empty() {
        names.extend(TYPE_LABELS.map(str::to_owned));
        names.sort();
        names.dedup();
    }
    Ok(names)
}

fn label_pairs(set: &LabelSet) -> Vec<types::LabelPair> {
    set.iter().map(|(name, value)| types::LabelPair { name: name.into(), value: value.into() }).collect()
}

fn call_site<P>(selector: MessageField<types::StackTraceSelector, P>) -> Result<Vec<String>, ApiError>
where
    P: buffa::ProtoBox<types::StackTraceSelector>,
{
    let Some(selector) = selector.into_option() else { return Ok(Vec::new()) };
    if selector.go_pgo.is_set() {
        return Err(unimplemented(
            "stack_trace_selector.go_pgo is not served; download the merged pprof instead",
        ));
    }
    let has_filter =
        selector.frame_filter.as_option().is_some_and(|filter| *filter != types::FrameFilter::default());
    if has_filter {
        return Err(unimplemented("stack_trace_selector.frame_filter is not served"));
    }
    Ok(selector.call_site.into_iter().map(|location| location.name).collect())
}

fn unimplemented(message: &str) -> ApiError {
    ApiError::new(ErrorKind::Unimplemented, "", message)
}

/// Points are sums (D7); an average under that name would be taken for one.
fn is_sum(aggregation: Option<&EnumValue<types::TimeSeriesAggregationType>>) -> Result<(), ApiError> {
    use types::TimeSeriesAggregationType as Aggregation;
    match aggregation {
        None | Some(EnumValue::Known(Aggregation::TIME_SERIES_AGGREGATION_TYPE_SUM)) => Ok(()),
        Some(EnumValue::Known(_)) => {
            Err(unimplemented("averages are not served here; ask for sums, or /api/v1/timeline for averages"))
        }
        Some(EnumValue::Unknown(number)) => {
            Err(ApiError::invalid("aggregation", format!("{number} is not known")))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeFormat {
    FlameGraph,
    Pprof,
}

fn merge_format(format: &EnumValue<ProfileFormat>) -> Result<MergeFormat, ApiError> {
    match format {
        EnumValue::Known(
            ProfileFormat::PROFILE_FORMAT_UNSPECIFIED | ProfileFormat::PROFILE_FORMAT_FLAMEGRAPH,
        ) => Ok(MergeFormat::FlameGraph),
        EnumValue::Known(ProfileFormat::PROFILE_FORMAT_PPROF) => Ok(MergeFormat::Pprof),
        EnumValue::Known(ProfileFormat::PROFILE_FORMAT_TREE | ProfileFormat::PROFILE_FORMAT_DOT) => {
            Err(unimplemented("this format is not served; ask for a flame graph or pprof"))
        }
        EnumValue::Unknown(number) => Err(ApiError::invalid("format", format!("{number} is not known"))),
    }
}

fn merge(
    engine: &Engine,
    control: &Control,
    selection: &Selection,
    format: MergeFormat,
    nodes_max: usize,
) -> Result<SelectMergeStacktracesResponse, ApiError> {
    match format {
        MergeFormat::FlameGraph => {
            let tree = engine.flame(selection, NameMode::Display, nodes_max, control)?.data;
            Ok(SelectMergeStacktracesResponse {
                flamegraph: MessageField::some(flame_graph(Flamebearer::new(tree))),
                ..Default::default()
            })
        }
        MergeFormat::Pprof => {
            let pprof = engine.pprof(selection, control)?.data;
            let profile = decode_pprof(&pprof).map_err(|error| ApiError::internal(error.to_string()))?;
            let pprof = PprofProfile { profile: MessageField::some(profile) };
            Ok(SelectMergeStacktracesResponse { pprof: MessageField::some(pprof), ..Default::default() })
        }
    }
}

fn flame_graph(flame: Flamebearer) -> FlameGraph {
    FlameGraph {
        names: flame.names,
        levels: flame.levels.into_iter().map(|values| Level { values }).collect(),
        total: flame.total,
        max_self: flame.max_self,
    }
}

/// Points at `start + k·step`, each the sum over `(t − step, t]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    start_millis: i64,
    steps: StepRange,
}

impl Grid {
    fn new(range: MilliRange, step_seconds: f64) -> Result<Self, ApiError> {
        if !(0.001..=1e9).contains(&step_seconds) {
            return Err(ApiError::invalid("step", format!("{step_seconds} s is not at least 0.001 s")));
        }
        // Within the bounds above the number of nanoseconds is a whole one that fits.
        let step_nanos = (step_seconds * 1e9).round() as i64;
        let nanos = range.nanos();
        let last = (i128::from(nanos.to.0) - 1 - i128::from(nanos.from.0)) / i128::from(step_nanos);
        if last >= i128::from(limits::STEPS_MAX) {
            let limit = limits::STEPS_MAX;
            return Err(ApiError::invalid(
                "step",
                format!("the range has {} steps (limit {limit})", last + 1),
            ));
        }
        let length = i64::try_from(last * i128::from(step_nanos)).unwrap_or(i64::MAX);
        let range = TimeRange {
            from: Timestamp(nanos.from.0.saturating_sub(step_nanos).saturating_add(1)),
            to: Timestamp(nanos.from.0.saturating_add(length).saturating_add(1)),
        };
        Ok(Self { start_millis: range_start(nanos), steps: StepRange { range, step_nanos } })
    }

    fn series(&self, series: &query::TimelineSeries) -> types::Series {
        let points = series.points.iter().map(|&(step, value)| types::Point {
            // A double holds sums up to 2^53 exactly; that is the wire's own bound.
            value: value as f64,
            timestamp: self.start_millis + i64::from(step) * self.steps.step_nanos / 1_000_000,
            ..Default::default()
        });
        types::Series { labels: label_pairs(&series.labels), points: points.collect() }
    }
}

fn range_start(range: TimeRange) -> i64 {
    range.from.millis()
}

/// A pprof body as the reply of a call: bytes as they are for proto, a message only where JSON is asked for.
pub(super) struct EncodedPprof(Bytes);

impl Encodable<google::v1::Profile> for EncodedPprof {
    fn encode(&self, codec: CodecFormat) -> Result<Bytes, ConnectError> {
        match codec {
            CodecFormat::Proto => Ok(self.0.clone()),
            CodecFormat::Json => {
                let profile =
                    decode_pprof(&self.0).map_err(|error| ConnectError::internal(error.to_string()))?;
                let json = serde_json::to_vec(&profile)
                    .map_err(|error| ConnectError::internal(error.to_string()))?;
                Ok(json.into())
            }
            _ => Err(ConnectError::unimplemented("this codec is not served")),
        }
    }
}

/// Reads a body that we wrote ourselves, so the decoder's guard against small bodies with many elements is off.
fn decode_pprof(pprof: &[u8]) -> Result<google::v1::Profile, buffa::DecodeError> {
    buffa::DecodeOptions::new().with_element_memory_limit(usize::MAX).decode_from_slice(pprof)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn points_lie_on_the_grid_and_cover_the_step_before() {
        let range = MilliRange { start: 1_000_000, end: 1_031_000 };
        let grid = Grid::new(range, 15.0).unwrap();
        assert_eq!(grid.steps.step_nanos, 15 * SECOND);
        assert_eq!(grid.steps.range.from, Timestamp(985 * SECOND + 1));
        assert_eq!(grid.steps.range.to, Timestamp(1030 * SECOND + 1));
        let series =
            query::TimelineSeries { labels: LabelSet::default(), points: vec![(0, 7), (2, 9)], total: 16 };
        let points = grid.series(&series).points;
        assert_eq!(
            points.iter().map(|point| (point.timestamp, point.value)).collect::<Vec<_>>(),
            [(1_000_000, 7.0), (1_030_000, 9.0)]
        );
    }

    #[test]
    fn odd_steps_are_400() {
        let range = MilliRange { start: 1_000_000, end: 2_000_000_000 };
        for step in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.0001, 0.001] {
            assert_eq!(Grid::new(range, step).unwrap_err().field, "step", "{step}");
        }
        let all = MilliRange { start: i64::MIN, end: i64::MAX };
        assert!(Grid::new(all, 1e9).is_ok());
    }
}
