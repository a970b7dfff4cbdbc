//! Times as people write them: RFC 3339, ms since 1970, `now`, `now-1h`. The same words as in the native API.

use profile::Timestamp;

/// Reads one.
///
/// # Errors
/// A sentence with the forms that are known.
pub fn instant(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let wrong =
        || format!("{text:?} is no time: give RFC 3339, ms since 1970, or now-1h (ms, s, m, h, d, w)");
    if let Some(rest) = text.strip_prefix("now") {
        return relative(rest).and_then(|nanos| now.0.checked_add(nanos)).map(Timestamp).ok_or_else(wrong);
    }
    if let Ok(millis) = text.parse::<i64>() {
        return Timestamp::from_millis(millis).ok_or_else(wrong);
    }
    let parsed: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    i64::try_from(parsed.as_nanosecond()).map(Timestamp).map_err(|_| wrong())
}

/// What stands behind `now`, ns.
fn relative(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let (sign, length) = match text.split_at_checked(1)? {
        ("-", length) => (-1, length),
        ("+", length) => (1, length),
        _ => return None,
    };
    let digits = length.find(|character: char| !character.is_ascii_digit())?;
    let unit: i64 = match &length[digits..] {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "w" => 604_800_000_000_000,
        _ => return None,
    };
    length[..digits].parse::<i64>().ok()?.checked_mul(unit)?.checked_mul(sign)
}

/// An instant as RFC 3339 to the second; empty for none.
#[must_use]
pub fn text(instant: Timestamp) -> String {
    let seconds = instant.0.div_euclid(1_000_000_000);
    match jiff::Timestamp::from_second(seconds) {
        Ok(shown) if instant.0 != 0 => shown.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_ways_to_say_a_time() {
        let now = Timestamp(1_800_000_000_000_000_000);
        assert_eq!(instant("now", now), Ok(now));
        assert_eq!(instant("now-1h", now), Ok(Timestamp(now.0 - 3_600_000_000_000)));
        assert_eq!(instant("1800000000000", now), Ok(now));
        assert_eq!(instant("2027-01-15T08:00:00Z", now), Ok(now));
        for bad in ["", "now-", "now-1", "now-1y", "now-9999999999w", "nowé1h", "yesterday"] {
            assert!(instant(bad, now).is_err(), "{bad}");
        }
        assert_eq!(text(now), "2027-01-15T08:00:00Z");
        assert_eq!(text(Timestamp(0)), "");
    }
}
