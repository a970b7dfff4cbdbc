//! Heat maps as Grafana's panel asks for them. A slot is named by its right edge and covers `(t − step, t]`.

use buffa::EnumValue;
use profile::Tenant;
use query::{Control, Engine, Exemplars};
use rpc::{
    querier::v1::{HeatmapQueryType, SelectHeatmapRequest},
    types::v1 as types,
};

use super::{
    label_pairs,
    series::{SeriesFields, SeriesQuestion, exemplar},
};
use crate::ApiError;

/// What is asked for, and whether values are those of spans.
pub(super) fn question(
    tenants: Vec<Tenant>,
    request: SelectHeatmapRequest,
) -> Result<(SeriesQuestion, bool), ApiError> {
    let of_spans = match request.query_type {
        EnumValue::Known(
            HeatmapQueryType::HEATMAP_QUERY_TYPE_UNSPECIFIED
            | HeatmapQueryType::HEATMAP_QUERY_TYPE_INDIVIDUAL,
        ) => false,
        EnumValue::Known(HeatmapQueryType::HEATMAP_QUERY_TYPE_SPAN) => true,
        EnumValue::Unknown(number) => {
            return Err(ApiError::invalid("query_type", format!("{number} is not known")));
        }
    };
    let question = SeriesQuestion::new(
        tenants,
        SeriesFields {
            profile_type: request.profile_typeID,
            label_selector: request.label_selector,
            start: request.start,
            end: request.end,
            step: request.step,
            group_by: request.group_by,
            exemplars: request.exemplar_type,
            limit: request.limit,
        },
    )?;
    if question.exemplars == Exemplars::Spans && !of_spans {
        let reason = "spans are exemplars of heat maps of spans; ask for query_type HEATMAP_QUERY_TYPE_SPAN";
        return Err(ApiError::invalid("exemplar_type", reason));
    }
    Ok((question, of_spans))
}

pub(super) fn answer(
    question: &SeriesQuestion,
    of_spans: bool,
    engine: &Engine,
    control: &Control,
) -> Result<Vec<types::HeatmapSeries>, ApiError> {
    let found = engine.heatmap(&question.selection, &question.points(), of_spans, control)?.data;
    let slot = |slot: query::HeatmapSlot| types::HeatmapSlot {
        timestamp: question.grid.timestamp(slot.step),
        y_min: slot.cells.iter().map(|cell| cell.low).collect(),
        counts: slot.cells.iter().map(|cell| i32::try_from(cell.count).unwrap_or(i32::MAX)).collect(),
        exemplars: slot.cells.iter().filter_map(|cell| cell.exemplar.as_ref()).map(exemplar).collect(),
    };
    let series = found.into_iter().map(|series| types::HeatmapSeries {
        labels: label_pairs(&series.labels),
        slots: series.slots.into_iter().map(slot).collect(),
    });
    Ok(series.collect())
}
