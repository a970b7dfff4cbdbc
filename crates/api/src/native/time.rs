//! Times in query strings: RFC 3339, ms since the epoch, or relative to now.

use profile::{TimeRange, Timestamp};

use super::parameters::{Parameters, cut};
use crate::{ApiError, limits};

/// Reads `2026-11-29T18:00:00Z`, `1764439200000`, `now` or `now-1h`.
pub(crate) fn instant(field: &str, text: &str, now: Timestamp) -> Result<Timestamp, ApiError> {
    let wrong = || {
        ApiError::invalid(
            field,
            format!(
                "{:?} is no time: give 2026-01-31T14:00:00Z (RFC 3339), ms since the epoch, or now-1h (ms, s, m, h, d, w)",
                cut(text)
            ),
        )
    };
    query::read_instant(text, now).ok_or_else(wrong)
}

/// The half-open range `[from, to)` of a request (D10). Without `to` it ends now, without `from` it begins an hour
/// before its end (D12); a range that ends before it begins is refused (C085).
pub(crate) fn range(
    parameters: &Parameters,
    names: (&str, &str),
    now: Timestamp,
) -> Result<TimeRange, ApiError> {
    let to = parameters.one(names.1)?.map(|text| instant(names.1, text, now)).transpose()?;
    let from = parameters.one(names.0)?.map(|text| instant(names.0, text, now)).transpose()?;
    // A profile that was pushed in this very ms is inside.
    let to = to.unwrap_or(Timestamp(now.0.saturating_add(1)));
    let hour = i64::try_from(limits::QUERY_RANGE_DEFAULT.as_nanos()).unwrap_or(i64::MAX);
    let from = from.unwrap_or(Timestamp(to.0.saturating_sub(hour)));
    if from > to {
        let message = format!("{} is after {} ({})", text(from), names.1, text(to));
        return Err(ApiError::invalid(names.0, message));
    }
    Ok(TimeRange { from, to })
}

/// RFC 3339 with as many fractional digits as there are.
pub(crate) fn text(time: Timestamp) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(time.0)) {
        Ok(time) => time.to_string(),
        Err(_) => String::new(),
    }
}

/// RFC 3339; empty for an end that is open.
pub(crate) fn bound(time: Timestamp) -> String {
    if time == TimeRange::ALL.from || time == TimeRange::ALL.to { String::new() } else { text(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_123_456_789);
    const HOUR: i64 = 3_600_000_000_000;

    #[test]
    fn what_is_no_time_is_refused_by_its_field() {
        assert_eq!(text(instant("from", "now-1h", NOW).unwrap()), "2027-01-15T07:00:00.123456789Z");
        assert_eq!(instant("from", "yesterday", NOW).unwrap_err().field, "from");
    }

    #[test]
    fn c085_ranges_have_defaults_and_are_never_inverted() {
        let read = |pairs: &[(&str, &str)]| range(&Parameters::of(pairs), ("from", "to"), NOW);
        let whole = read(&[]).unwrap();
        assert_eq!((whole.from.0, whole.to.0), (NOW.0 + 1 - HOUR, NOW.0 + 1));
        assert_eq!(read(&[("from", "now-2h")]).unwrap().to.0, NOW.0 + 1);
        assert_eq!(read(&[("to", "now-2h")]).unwrap().from.0, NOW.0 - 3 * HOUR);
        assert!(read(&[("from", "now"), ("to", "now")]).is_ok());
        let error = read(&[("from", "now"), ("to", "now-1h")]).unwrap_err();
        assert_eq!((error.status().as_u16(), error.field.as_str()), (400, "from"));
    }
}
