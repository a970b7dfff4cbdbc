//! From a query string to a [`Selection`]: which profiles an operation of the native API is about.

use profile::{ProfileId, ProfileType, Timestamp};
use query::{Aggregation, NameMode, Selection, Selector, SpanFilter, TypeSelector};

use super::{
    answer::Wanted,
    parameters::{Parameters, cut},
    time,
};
use crate::{ApiError, ApiState, access, limits};

/// Parameters that every query knows.
pub(crate) const COMMON: &[&str] = &["q", "type", "from", "to"];

/// Parameters of queries over rows.
pub(crate) const ROWS: &[&str] = &["agg", "names", "profile_id", "span_id", "trace_id", "call_site"];

/// The words of `agg`.
const AGGREGATIONS: [(&str, Aggregation); 3] =
    [("avg", Aggregation::Native), ("sum", Aggregation::Sum), ("last", Aggregation::Last)];

/// Reads the selection of a request.
pub(crate) fn selection(state: &ApiState, parameters: &Parameters) -> Result<Selection, ApiError> {
    sided(state, parameters, ("q", "from", "to"))
}

/// Like [`selection`], with other names for selector and range: the sides of a difference have one each.
pub(crate) fn sided(
    state: &ApiState,
    parameters: &Parameters,
    (q, from, to): (&str, &str, &str),
) -> Result<Selection, ApiError> {
    let selector = parameters.one(q)?.map(Selector::parse).transpose().map_err(|error| in_field(q, error))?;
    Ok(Selection {
        tenants: access::read_tenants(&parameters.headers, state.options.tenancy)?,
        selector: selector.unwrap_or_default(),
        profile_type: type_selector(parameters.one("type")?)?,
        range: time::range(parameters, (from, to), Timestamp::now())?,
        profile_ids: ids(parameters)?,
        spans: spans(parameters)?,
        call_site: parameters.many("call_site").map(str::to_owned).collect(),
        aggregation: parameters.word("agg", &AGGREGATIONS)?.unwrap_or_default(),
        frames: query::FrameFilter::default(),
    })
}

/// Whether names are for people or as stored.
pub(crate) fn name_mode(parameters: &Parameters) -> Result<NameMode, ApiError> {
    let words = [("display", NameMode::Display), ("raw", NameMode::Raw)];
    Ok(parameters.word("names", &words)?.unwrap_or_default())
}

/// How many nodes a graph may have: 0 or nothing = the default, larger than the cap = the cap (C086).
pub(crate) fn nodes_max(parameters: &Parameters, wanted: Wanted) -> Result<usize, ApiError> {
    let default = if wanted.is_binary() { limits::NODES_DEFAULT_BINARY } else { limits::NODES_DEFAULT };
    let asked = parameters.count("max_nodes")?.unwrap_or(0);
    let asked = usize::try_from(asked).unwrap_or(usize::MAX);
    Ok(if asked == 0 { default } else { asked.min(limits::NODES_MAX) })
}

/// A full profile type or a short form; nothing = what stands before the selector's brace.
fn type_selector(text: Option<&str>) -> Result<TypeSelector, ApiError> {
    match text {
        None => Ok(TypeSelector::Default),
        Some(full) if full.contains(':') => ProfileType::parse(full)
            .map(TypeSelector::Exact)
            .map_err(|error| ApiError::invalid("type", error.to_string())),
        Some(short) => Ok(TypeSelector::Short(short.to_owned())),
    }
}

fn in_field(field: &str, error: query::QueryError) -> ApiError {
    let mut error = ApiError::from(error);
    error.field = field.to_owned();
    error
}

fn ids(parameters: &Parameters) -> Result<Vec<ProfileId>, ApiError> {
    let ids = parameters
        .list("profile_id")
        .map(|text| {
            ProfileId::parse(text).map_err(|error| ApiError::invalid("profile_id", error.to_string()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    not_too_many("profile_id", ids)
}

fn spans(parameters: &Parameters) -> Result<SpanFilter, ApiError> {
    let spans = hexadecimal::<8>(parameters, "span_id")?;
    let traces = hexadecimal::<16>(parameters, "trace_id")?;
    match (spans.is_empty(), traces.is_empty()) {
        (true, true) => Ok(SpanFilter::None),
        (false, true) => Ok(SpanFilter::Spans(spans)),
        (true, false) => Ok(SpanFilter::Traces(traces)),
        (false, false) => Err(ApiError::invalid("span_id", "give either span_id or trace_id")),
    }
}

fn hexadecimal<const N: usize>(
    parameters: &Parameters,
    name: &'static str,
) -> Result<Vec<[u8; N]>, ApiError> {
    let read = |text: &str| -> Option<[u8; N]> {
        if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; N];
        for (position, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * position..2 * position + 2], 16).ok()?;
        }
        Some(bytes)
    };
    let values = parameters
        .list(name)
        .map(|text| {
            let wrong =
                || ApiError::invalid(name, format!("{:?} is not {} hexadecimal digits", cut(text), 2 * N));
            let id = read(text).ok_or_else(wrong)?;
            if id == [0; N] { Err(ApiError::no_id(name)) } else { Ok(id) }
        })
        .collect::<Result<Vec<_>, _>>()?;
    not_too_many(name, values)
}

fn not_too_many<T>(name: &str, values: Vec<T>) -> Result<Vec<T>, ApiError> {
    if values.len() > limits::IDS_MAX {
        return Err(ApiError::invalid(
            name,
            format!("{} ids are too many (limit {})", values.len(), limits::IDS_MAX),
        ));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn c086_max_nodes_extremes() {
        let read =
            |text| nodes_max(&Parameters::of(&[("max_nodes", text)]), Wanted::graph(&HeaderMap::new()));
        assert_eq!(read("9223372036854775807").unwrap(), limits::NODES_MAX);
        assert_eq!(read("0").unwrap(), limits::NODES_DEFAULT);
        assert_eq!(read("100").unwrap(), 100);
        assert_eq!(read("-1").unwrap_err().status(), 400);
        assert_eq!(read("abc").unwrap_err().status(), 400);
    }

    #[test]
    fn types_are_full_or_short() {
        assert!(matches!(type_selector(Some("a:b:c:d:e")), Ok(TypeSelector::Exact(_))));
        assert!(matches!(type_selector(Some("cpu")), Ok(TypeSelector::Short(_))));
        assert_eq!(type_selector(Some("a:b")).unwrap_err().field, "type");
    }

    #[test]
    fn span_ids_are_sixteen_digits() {
        let read = |text| spans(&Parameters::of(&[("span_id", text)]));
        assert!(matches!(read("00112233445566ff"), Ok(SpanFilter::Spans(spans)) if spans[0][7] == 0xff));
        for bad in ["1", "00112233445566fg", "é0112233445566f"] {
            assert_eq!(read(bad).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn ids_of_zeros_alone_are_refused() {
        let (span, trace) = ("0".repeat(16), "0".repeat(32));
        for (name, text) in [("span_id", &span), ("trace_id", &trace)] {
            let error = spans(&Parameters::of(&[(name, text)])).unwrap_err();
            assert_eq!((error.status().as_u16(), error.field.as_str()), (400, name));
        }
        let among_others = format!("00112233445566ff,{span}");
        assert_eq!(spans(&Parameters::of(&[("span_id", &among_others)])).unwrap_err().field, "span_id");
    }
}
