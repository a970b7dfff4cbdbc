//! Times as people write them in a question: RFC 3339, ms since 1970, `now`, `now-1h`. The same words in a URL and on the
//! command line.
//!
//! Refused: what needs somebody's clock or calendar to be understood, such as `14:00` or `yesterday`.

use profile::Timestamp;

/// Reads `2026-11-29T18:00:00Z`, `1764439200000`, `now` or `now-1h`; `None` for anything else, and for what ns since 1970
/// cannot say in 64 bits.
#[must_use]
pub fn read_instant(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(rest) = text.strip_prefix("now") {
        return now.0.checked_add(offset(rest)?).map(Timestamp);
    }
    if let Ok(millis) = text.parse::<i64>() {
        return Timestamp::from_millis(millis);
    }
    let parsed: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(parsed.as_nanosecond()).map(Timestamp).ok()
}

/// Reads `250ms`, `90s`, `5m`, `1h`, `2d` or `1w` as ns.
#[must_use]
pub fn read_length(text: &str) -> Option<i64> {
    let end = text.find(|character: char| !character.is_ascii_digit())?;
    let unit: i64 = match &text[end..] {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "w" => 604_800_000_000_000,
        _ => return None,
    };
    text[..end].parse::<i64>().ok()?.checked_mul(unit)
}

/// What stands behind `now`, as ns: nothing, or a sign and a length.
fn offset(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let (sign, length) = match text.split_at_checked(1)? {
        ("-", length) => (-1, length),
        // In a URL, a plus sign that was not encoded is a space.
        ("+" | " ", length) => (1, length),
        _ => return None,
    };
    read_length(length)?.checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_123_456_789);

    #[test]
    fn three_ways_to_say_a_time() {
        for (text, expected) in [
            ("2027-01-15T08:00:00.123456789Z", NOW.0),
            ("2027-01-15T09:00:00.123456789+01:00", NOW.0),
            ("1800000000123", 1_800_000_000_123_000_000),
            ("now", NOW.0),
            ("now-1h", NOW.0 - 3_600_000_000_000),
            ("now+250ms", NOW.0 + 250_000_000),
            ("now 2d", NOW.0 + 172_800_000_000_000),
        ] {
            assert_eq!(read_instant(text, NOW), Some(Timestamp(expected)), "{text}");
        }
        for bad in [
            "",
            "yesterday",
            "14:00",
            "now-",
            "now-1",
            "now-h",
            "now-1y",
            "now*1h",
            "nowé1h",
            "2027-01-15",
            "99999999999999999",
            "now-9999999999w",
        ] {
            assert_eq!(read_instant(bad, NOW), None, "{bad}");
        }
    }
}
