//! What the querier's calls and `/pyroscope/render` have in common: ranges, profile types, matchers, node limits.
//!
//! Times are milliseconds and both ends are inside, compared in nanoseconds. A call without a range is about the last
//! hour, one without an end goes to now (D12, C085). Values are summed along time whatever their kind (D7).

use profile::{ProfileId, ProfileType, Tenant, TimeRange, Timestamp};
use query::{Aggregation, FrameFilter, FrameRules, GoPgo, Selection, Selector, SpanFilter, TypeSelector};
use rpc::types::v1 as types;

use crate::{ApiError, limits};

const MILLI: i64 = 1_000_000;

/// A range of whole milliseconds, both ends inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MilliRange {
    pub(super) start: i64,
    pub(super) end: i64,
}

impl MilliRange {
    /// Applies the defaults to a range as sent; 0 means "not sent".
    ///
    /// # Errors
    /// 400 when the end lies before the start.
    pub(super) fn new(start: i64, end: i64, now: Timestamp) -> Result<Self, ApiError> {
        let default = i64::try_from(limits::QUERY_RANGE_DEFAULT.as_millis()).unwrap_or(i64::MAX);
        let end = if end == 0 { now.millis() } else { end };
        let start = if start == 0 { end.saturating_sub(default) } else { start };
        if start > end {
            return Err(ApiError::invalid(
                "end",
                format!("{end} is before the start {start} (milliseconds)"),
            ));
        }
        Ok(Self { start, end })
    }

    /// As the store compares it.
    pub(super) fn nanos(self) -> TimeRange {
        TimeRange {
            from: Timestamp(self.start.saturating_mul(MILLI)),
            to: Timestamp(self.end.saturating_mul(MILLI).saturating_add(1)),
        }
    }
}

/// A selection of everything that matchers and range allow, of no particular type.
///
/// # Errors
/// 400 for a selector that cannot be read.
pub(super) fn selection(
    tenants: Vec<Tenant>,
    selector: &str,
    range: TimeRange,
) -> Result<Selection, ApiError> {
    let selector = Selector::parse(selector)?;
    Ok(Selection { tenants, selector, range, aggregation: Aggregation::Sum, ..Selection::default() })
}

/// The profile type of a call: the five-part form or a short one (D24).
///
/// # Errors
/// 400 when there is none.
pub(super) fn type_selector(text: &str) -> Result<TypeSelector, ApiError> {
    if text.is_empty() {
        return Err(ApiError::invalid(
            "profile_typeID",
            "is required, such as process_cpu:cpu:nanoseconds:cpu:nanoseconds",
        ));
    }
    if !text.contains(':') {
        return Ok(TypeSelector::Short(text.into()));
    }
    let parsed =
        ProfileType::parse(text).map_err(|error| ApiError::invalid("profile_typeID", error.to_string()))?;
    Ok(TypeSelector::Exact(parsed))
}

/// Which stacks a call is about, and how a pprof answer's stacks are trimmed.
///
/// # Errors
/// 400 for a call site that is deeper than any stack, and for rules about frames that cannot be read.
pub(super) fn stack_selector(
    selection: &mut Selection,
    selector: Option<types::StackTraceSelector>,
) -> Result<Option<GoPgo>, ApiError> {
    let Some(selector) = selector else { return Ok(None) };
    let depth_max = query::limits::CALL_SITE_MAX;
    if selector.call_site.len() > depth_max {
        return Err(too_many("stack_trace_selector.call_site", selector.call_site.len(), depth_max));
    }
    selection.call_site = selector.call_site.into_iter().map(|location| location.name).collect();
    if let Some(filter) = selector.frame_filter.into_option() {
        selection.frames = FrameFilter::new(FrameRules {
            include_names: filter.include_function_names,
            exclude_names: filter.exclude_function_names,
            include_patterns: filter.include_function_name_regexes,
            exclude_patterns: filter.exclude_function_name_regexes,
        })?;
    }
    Ok(selector.go_pgo.into_option().map(|go_pgo| GoPgo {
        keep_locations: go_pgo.keep_locations,
        aggregate_callees: go_pgo.aggregate_callees,
    }))
}

/// Nodes of a flame graph: not sent or 0 is the default, more than the server's cap is the cap (C086).
///
/// # Errors
/// 400 for a negative number.
pub(super) fn nodes_max(asked: Option<i64>) -> Result<usize, ApiError> {
    match asked {
        None | Some(0) => Ok(limits::NODES_DEFAULT),
        Some(asked) if asked < 0 => Err(ApiError::invalid("max_nodes", format!("{asked} is negative"))),
        Some(asked) => Ok(usize::try_from(asked).unwrap_or(usize::MAX).min(limits::NODES_MAX)),
    }
}

/// Profile ids in UUID form.
///
/// # Errors
/// 400 naming the one that is none.
pub(super) fn profile_ids(texts: &[String]) -> Result<Vec<ProfileId>, ApiError> {
    if texts.len() > limits::IDS_MAX {
        return Err(too_many("profile_id_selector", texts.len(), limits::IDS_MAX));
    }
    let parse = |text: &String| {
        ProfileId::parse(text).map_err(|error| ApiError::invalid("profile_id_selector", error.to_string()))
    };
    texts.iter().map(parse).collect()
}

/// Spans or traces, not both.
///
/// # Errors
/// 400 for both, or for text that is no id.
pub(super) fn span_filter(spans: &[String], traces: &[String]) -> Result<SpanFilter, ApiError> {
    match (spans, traces) {
        ([], []) => Ok(SpanFilter::None),
        (spans, []) => Ok(SpanFilter::Spans(hex_ids("span_selector", spans)?)),
        ([], traces) => Ok(SpanFilter::Traces(hex_ids("trace_id_selector", traces)?)),
        _ => Err(ApiError::invalid("span_selector", "cannot be combined with trace_id_selector")),
    }
}

/// A list is longer than anybody needs.
pub(super) fn too_many(field: &str, count: usize, limit: usize) -> ApiError {
    ApiError::invalid(field, format!("has {count} entries (limit {limit})"))
}

fn hex_ids<const N: usize>(field: &str, texts: &[String]) -> Result<Vec<[u8; N]>, ApiError> {
    if texts.len() > query::limits::SPANS_MAX {
        return Err(too_many(field, texts.len(), query::limits::SPANS_MAX));
    }
    texts
        .iter()
        .map(|text| {
            let id = hex_id(text).ok_or_else(|| {
                let shown: String = text.chars().take(64).collect();
                ApiError::invalid(field, format!("{shown:?} is not {} hexadecimal digits", 2 * N))
            })?;
            if id == [0; N] { Err(ApiError::no_id(field)) } else { Ok(id) }
        })
        .collect()
}

fn hex_id<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut id = [0; N];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_123_456_789);

    #[test]
    fn c085_ranges_inverted_or_missing() {
        let now = NOW.millis();
        let range = |start, end| MilliRange::new(start, end, NOW);
        assert_eq!(range(0, 0), Ok(MilliRange { start: now - 3_600_000, end: now }));
        assert_eq!(range(5, 0), Ok(MilliRange { start: 5, end: now }));
        assert_eq!(range(0, 9_000_000), Ok(MilliRange { start: 5_400_000, end: 9_000_000 }));
        assert_eq!(range(2, 1).unwrap_err().status(), 400);
        let nanos = range(1000, 2000).unwrap().nanos();
        assert!(
            nanos.contains(Timestamp(2_000 * MILLI)) && !nanos.contains(Timestamp(2_000 * MILLI + MILLI / 2))
        );
        assert_eq!(range(i64::MIN, i64::MAX).unwrap().nanos().from, Timestamp(i64::MIN));
    }

    #[test]
    fn c086_node_limits() {
        assert_eq!(nodes_max(None), Ok(limits::NODES_DEFAULT));
        assert_eq!(nodes_max(Some(0)), Ok(limits::NODES_DEFAULT));
        assert_eq!(nodes_max(Some(i64::MAX)), Ok(limits::NODES_MAX));
        assert_eq!(nodes_max(Some(7)), Ok(7));
        assert_eq!(nodes_max(Some(-1)).unwrap_err().status(), 400);
    }

    #[test]
    fn span_and_trace_ids() {
        let span = ["00000000000000ff".to_owned()];
        let trace = ["000000000000000000000000000000FF".to_owned()];
        assert!(matches!(span_filter(&span, &[]), Ok(SpanFilter::Spans(ids)) if ids[0][7] == 255));
        assert!(matches!(span_filter(&[], &trace), Ok(SpanFilter::Traces(ids)) if ids[0][15] == 255));
        assert!(span_filter(&span, &trace).is_err());
        assert!(span_filter(&trace, &[]).is_err());
        assert!(span_filter(&["00000000000000fé".to_owned()], &[]).is_err());
        let zeros = |digits| ["f".repeat(digits), "0".repeat(digits)];
        assert_eq!(span_filter(&zeros(16), &[]).unwrap_err().field, "span_selector");
        assert_eq!(span_filter(&[], &zeros(32)).unwrap_err().field, "trace_id_selector");
    }
}
