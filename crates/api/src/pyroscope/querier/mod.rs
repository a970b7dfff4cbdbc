//! `querier.v1.QuerierService`: what Grafana, its Drilldown app, Pyroscope's own page and typed clients ask.
//!
//! Field rules are in `select`, the layout of flame graphs in `flamebearer`, merged answers in `merge`, steps and points in
//! `series`, heat maps in `heatmap`. Queries are never put off: `async` with `FORCE` answers `unimplemented`, as does a
//! request that asks how an earlier one is doing.

mod heatmap;
mod merge;
mod series;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use buffa::{EnumValue, MessageField};
use connectrpc::{ConnectError, RequestContext, Response, ServiceRequest, ServiceResult};
use profile::{LabelSet, Tenant, TimeRange, Timestamp};
use query::{Control, Engine, NameMode, NodeLimit, QueryScope, SampleLabels, Selection};
use rpc::{querier::v1 as messages, querier::v1::*, types::v1 as types};

use self::{
    merge::{EncodedPprof, MergeAnswer, MergeFormat, MergeQuestion},
    series::SeriesQuestion,
};
use super::{
    flamebearer::DoubleFlamebearer,
    select::{
        MilliRange, nodes_max, profile_ids, selection, span_filter, stack_selector, too_many, type_selector,
    },
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

    /// What a merge is asked for; `field` names the side in a comparison.
    fn merge_question(
        &self,
        context: &RequestContext,
        request: SelectMergeStacktracesRequest,
    ) -> Result<MergeQuestion, ApiError> {
        is_waited_for(request.r#async.into_option())?;
        let nodes_asked = request.max_nodes.is_some_and(|asked| asked != 0);
        let nodes_max = nodes_max(request.max_nodes)?;
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let mut selection = selection(self.tenants(context)?, &request.label_selector, range)?;
        selection.profile_type = type_selector(&request.profile_typeID)?;
        selection.profile_ids = profile_ids(&request.profile_id_selector)?;
        selection.spans = span_filter(&request.span_selector, &request.trace_id_selector)?;
        let trim = stack_selector(&mut selection, request.stack_trace_selector.into_option())?;
        let format = MergeFormat::read(&request.format)?;
        Ok(MergeQuestion { selection, format, trim, nodes_max, nodes_asked })
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

    /// All names, whatever characters they have: a client that does not say that it takes them may still name them in
    /// matchers, quoted or not.
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
                    Ok(engine.series(selection, &names, SampleLabels::Texts, control)?.data)
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
    ) -> ServiceResult<MergeAnswer> {
        let question = self.merge_question(&context, request.to_owned_message())?;
        let answer = self
            .query(&context, "select_merge_stacktraces", QueryCost::Merge, move |engine, control| {
                question.answer(engine, control)
            })
            .await?;
        Response::ok(answer)
    }

    async fn select_merge_span_profile<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SelectMergeSpanProfileRequest>,
    ) -> ServiceResult<SelectMergeSpanProfileResponse> {
        let request = request.to_owned_message();
        let request = SelectMergeStacktracesRequest {
            profile_typeID: request.profile_typeID,
            label_selector: request.label_selector,
            span_selector: request.span_selector,
            start: request.start,
            end: request.end,
            max_nodes: request.max_nodes,
            format: request.format,
            ..Default::default()
        };
        let question = self.merge_question(&context, request)?;
        if !matches!(question.format, MergeFormat::FlameGraph | MergeFormat::Tree) {
            let reason = "this call answers a flame graph or a tree; SelectMergeStacktraces has more";
            return Err(ApiError::invalid("format", reason).into());
        }
        let answer = self
            .query(&context, "select_merge_span_profile", QueryCost::Merge, move |engine, control| {
                question.answer(engine, control)
            })
            .await?;
        let answer = answer.into_message()?;
        Response::ok(SelectMergeSpanProfileResponse { flamegraph: answer.flamegraph, tree: answer.tree })
    }

    async fn select_merge_profile<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SelectMergeProfileRequest>,
    ) -> ServiceResult<EncodedPprof> {
        let request = request.to_owned_message();
        // A pprof profile is never cut, whatever number is asked for.
        nodes_max(request.max_nodes)?;
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let mut selection = selection(self.tenants(&context)?, &request.label_selector, range)?;
        selection.profile_type = type_selector(&request.profile_typeID)?;
        selection.profile_ids = profile_ids(&request.profile_id_selector)?;
        selection.spans = span_filter(&[], &request.trace_id_selector)?;
        let trim = stack_selector(&mut selection, request.stack_trace_selector.into_option())?;
        let pprof = self
            .query(&context, "select_merge_profile", QueryCost::Merge, move |engine, control| {
                Ok(engine.pprof_trimmed(&selection, trim, control)?.data)
            })
            .await?;
        Response::ok(EncodedPprof(pprof.into()))
    }

    async fn select_series<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SelectSeriesRequest>,
    ) -> ServiceResult<SelectSeriesResponse> {
        let question = SeriesQuestion::of_series(self.tenants(&context)?, request.to_owned_message())?;
        let series = self
            .query(&context, "select_series", QueryCost::Merge, move |engine, control| {
                question.series(engine, control)
            })
            .await?;
        Response::ok(SelectSeriesResponse { series })
    }

    async fn select_heatmap<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SelectHeatmapRequest>,
    ) -> ServiceResult<SelectHeatmapResponse> {
        let (question, of_spans) = heatmap::question(self.tenants(&context)?, request.to_owned_message())?;
        let series = self
            .query(&context, "select_heatmap", QueryCost::Merge, move |engine, control| {
                heatmap::answer(&question, of_spans, engine, control)
            })
            .await?;
        Response::ok(SelectHeatmapResponse { series })
    }

    async fn diff<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, DiffRequest>,
    ) -> ServiceResult<DiffResponse> {
        let request = request.to_owned_message();
        let side = |name: &str, side: Option<SelectMergeStacktracesRequest>| {
            let side = side.ok_or_else(|| ApiError::invalid(name, "is required"))?;
            // The format of a side says nothing: the answer is a flame graph.
            let side = SelectMergeStacktracesRequest { format: EnumValue::default(), ..side };
            self.merge_question(&context, side).map_err(|error| error.within(name))
        };
        let left = side("left", request.left.into_option())?;
        let right = side("right", request.right.into_option())?;
        if left.trim.is_some() || right.trim.is_some() {
            return Err(merge::only_for_pprof().into());
        }
        // One picture has one number of nodes; the left side's is asked first.
        let nodes_max = if left.nodes_asked { left.nodes_max } else { right.nodes_max };
        let flamegraph = self
            .query(&context, "diff", QueryCost::Merge, move |engine, control| {
                let limit = NodeLimit::at_least_with_root(nodes_max);
                let (left, right) = (&left.selection, &right.selection);
                let tree = engine.diff(left, right, NameMode::Display, limit, control)?.data;
                let negative = |node: &query::DiffNode| node.left_self < 0 || node.right_self < 0;
                if tree.nodes.iter().any(negative) {
                    let reason = "a comparison cannot hold negative values";
                    return Err(ApiError::invalid("profile_typeID", reason));
                }
                Ok(DoubleFlamebearer::new(tree))
            })
            .await?;
        let flamegraph = FlameGraphDiff {
            names: flamegraph.names,
            levels: flamegraph.levels.into_iter().map(|values| Level { values }).collect(),
            total: flamegraph.total,
            max_self: flamegraph.max_self,
            leftTicks: flamegraph.left_ticks,
            rightTicks: flamegraph.right_ticks,
        };
        Response::ok(DiffResponse { flamegraph: MessageField::some(flamegraph) })
    }

    async fn get_profile_stats<'a>(
        &'a self,
        context: RequestContext,
        _request: ServiceRequest<'_, types::GetProfileStatsRequest>,
    ) -> ServiceResult<types::GetProfileStatsResponse> {
        let tenants = self.tenants(&context)?;
        let bounds = self
            .query(&context, "get_profile_stats", QueryCost::Metadata, move |engine, control| {
                Ok(engine.time_bounds(&tenants, control)?)
            })
            .await?;
        Response::ok(types::GetProfileStatsResponse {
            data_ingested: bounds.is_some(),
            oldest_profile_time: bounds.map_or(0, |(first, _)| first.millis()),
            newest_profile_time: bounds.map_or(0, |(_, last)| last.millis()),
        })
    }

    async fn analyze_query<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, AnalyzeQueryRequest>,
    ) -> ServiceResult<AnalyzeQueryResponse> {
        let range = MilliRange::new(request.start, request.end, Timestamp::now())?.nanos();
        let selection = selection(self.tenants(&context)?, request.query, range)?;
        let scopes = self
            .query(&context, "analyze_query", QueryCost::Metadata, move |engine, control| {
                Ok(engine.scopes(&selection, control)?.data)
            })
            .await?;
        let impact = QueryImpact {
            total_bytes_in_time_range: scopes.heads.bytes().saturating_add(scopes.blocks.bytes()),
            total_queried_series: scopes.series,
            // Every profile is stored once.
            deduplication_needed: false,
        };
        Response::ok(AnalyzeQueryResponse {
            query_scopes: vec![
                query_scope("Short term storage", &scopes.heads),
                query_scope("Long term storage", &scopes.blocks),
            ],
            query_impact: MessageField::some(impact),
        })
    }
}

/// What one kind of storage has, in Pyroscope's words; a block is counted once per service.
fn query_scope(component_type: &str, scope: &QueryScope) -> messages::QueryScope {
    messages::QueryScope {
        component_type: component_type.into(),
        component_count: 1,
        block_count: scope.datasets,
        series_count: scope.series,
        profile_count: scope.profiles,
        sample_count: scope.rows,
        index_bytes: scope.table_bytes,
        profile_bytes: scope.row_bytes,
        symbol_bytes: scope.symbol_bytes,
    }
}

/// Refuses to answer later: an empty answer with an id would be taken for a promise.
fn is_waited_for(request: Option<AsyncQueryRequest>) -> Result<(), ApiError> {
    let Some(request) = request else { return Ok(()) };
    match request.r#type {
        EnumValue::Known(AsyncQueryType::ASYNC_QUERY_TYPE_DISABLED) if request.request_id.is_empty() => {
            Ok(())
        }
        EnumValue::Known(_) => Err(ApiError::new(
            ErrorKind::Unimplemented,
            "async",
            "queries are not put off here; ask without it and wait for the answer",
        )),
        EnumValue::Unknown(number) => Err(ApiError::invalid("async.type", format!("{number} is not known"))),
    }
}

/// One selection per matcher; they are alternatives, and none means everything.
fn selections(tenants: &[Tenant], matchers: &[String], range: TimeRange) -> Result<Vec<Selection>, ApiError> {
    if matchers.len() > limits::SELECTORS_MAX {
        return Err(too_many("matchers", matchers.len(), limits::SELECTORS_MAX));
    }
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
