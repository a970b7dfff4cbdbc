//! When a pushed profile began: the body's word, else the client's, else ours (D2, D11).

use profile::{Altered, AlteredReason, Timestamp};

use crate::{ApiError, limits};

/// A time that the client named outside of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientTime {
    /// The parameter: `from`, `created_at`.
    pub field: &'static str,
    /// Its value.
    pub time: Timestamp,
}

/// A profile's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The start.
    pub time: Timestamp,
    /// Whether body or client said it.
    pub is_stated: bool,
}

/// Chooses and checks the start.
///
/// # Errors
/// 400 for a time before 1970 or more than ten minutes ahead of our clock, naming the field and the skew (C098).
pub fn start_of(
    body_nanos: i64,
    client: Option<ClientTime>,
    now: Timestamp,
    altered: &mut Altered,
) -> Result<Start, ApiError> {
    if let Some(time) = checked("time_nanos", Timestamp(body_nanos), now)? {
        return Ok(Start { time, is_stated: true });
    }
    if altered.count(AlteredReason::NoTime) == 0 {
        // The pprof decoder has counted it already; text has no time at all.
        altered.add(AlteredReason::NoTime, 1);
    }
    if let Some(client) = client
        && let Some(time) = checked(client.field, client.time, now)?
    {
        return Ok(Start { time, is_stated: true });
    }
    Ok(Start { time: now, is_stated: false })
}

/// `None` where the time means "not said": 0 and all of 1970 (clients that wrote another unit).
fn checked(field: &str, time: Timestamp, now: Timestamp) -> Result<Option<Timestamp>, ApiError> {
    if time.0 < 0 {
        return Err(ApiError::invalid(
            field,
            format!("{} is before 1970; the client's clock is {} behind", shown(time), span(now.0, time.0)),
        ));
    }
    if time < Timestamp::EARLIEST {
        return Ok(None);
    }
    if time.0.saturating_sub(now.0) > limits::FUTURE_NANOS_MAX {
        return Err(ApiError::invalid(
            field,
            format!(
                "{} is {} ahead of this server's clock (limit 10 min); check the client's clock",
                shown(time),
                span(time.0, now.0)
            ),
        ));
    }
    Ok(Some(time))
}

/// As people read it, and ns where no calendar has it.
fn shown(time: Timestamp) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(time.0))
        .map_or_else(|_| format!("{} ns", time.0), |shown| shown.to_string())
}

/// The distance of two times in words, to the second.
fn span(later: i64, earlier: i64) -> String {
    let seconds = (i128::from(later) - i128::from(earlier)) / 1_000_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000_000_000);
    const HOUR: i64 = 3_600_000_000_000;

    fn start(body: i64, client: Option<i64>) -> Result<Start, ApiError> {
        let client = client.map(|nanos| ClientTime { field: "from", time: Timestamp(nanos) });
        start_of(body, client, NOW, &mut Altered::default())
    }

    #[test]
    fn c098_future_and_ancient() {
        for good in [NOW.0 - 400 * 24 * HOUR, NOW.0 + HOUR / 6, NOW.0, Timestamp::EARLIEST.0] {
            assert_eq!(start(good, None).unwrap(), Start { time: Timestamp(good), is_stated: true });
        }
        for (bad, words) in [
            (NOW.0 + 12 * HOUR, "2027-01-15T20:00:00Z is 12 h 0 min ahead"),
            (i64::MAX, "ahead"),
            (-HOUR, "before 1970"),
        ] {
            let error = start(bad, None).unwrap_err();
            assert_eq!((error.status().as_u16(), error.field.as_str()), (400, "time_nanos"));
            assert!(error.message.contains(words), "{error}");
        }
    }

    #[test]
    fn c010_no_time_falls_back_to_client_then_receipt() {
        for none in [0, 1, Timestamp::EARLIEST.0 - 1] {
            assert_eq!(start(none, Some(NOW.0 - 5)).unwrap().time, Timestamp(NOW.0 - 5));
            assert_eq!(start(none, None).unwrap(), Start { time: NOW, is_stated: false });
            assert_eq!(start(none, Some(0)).unwrap(), Start { time: NOW, is_stated: false });
        }
        assert_eq!(start(0, Some(NOW.0 + HOUR)).unwrap_err().field, "from");
    }
}
