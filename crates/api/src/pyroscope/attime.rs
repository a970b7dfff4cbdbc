//! Times in the query string of Pyroscope's older HTTP calls.
//!
//! Digits are a date (8 digits), milliseconds (13), microseconds (16), nanoseconds (19) or else seconds since the
//! epoch. Anything else is relative to now: `now-1h`, `now`, also `-15m`. Unlike the original, text that fits neither is
//! an error instead of "now".

use profile::Timestamp;

use crate::ApiError;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Reads a time.
///
/// # Errors
/// 400 naming the parameter.
pub(super) fn parse(field: &str, text: &str, now: Timestamp) -> Result<Timestamp, ApiError> {
    let text: String = text.chars().filter(|character| !matches!(character, ' ' | '_' | ',')).collect();
    let wrong = || {
        ApiError::invalid(
            field,
            format!(
                "{:?} is no time; give seconds, ms, us or ns since 1970, YYYYMMDD, or now-1h",
                text.chars().take(64).collect::<String>()
            ),
        )
    };
    let nanos = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        absolute(&text)
    } else {
        relative(&text).and_then(|offset| now.0.checked_add(offset))
    };
    nanos.map(Timestamp).ok_or_else(wrong)
}

fn absolute(digits: &str) -> Option<i64> {
    if digits.len() == 8
        && let Some(nanos) = date(digits)
    {
        return Some(nanos);
    }
    let number: i64 = digits.parse().ok()?;
    let unit = match digits.len() {
        13 => 1_000_000,
        16 => 1000,
        19 => 1,
        _ => SECOND,
    };
    number.checked_mul(unit)
}

fn date(digits: &str) -> Option<i64> {
    let year = digits[..4].parse().ok()?;
    let month = digits[4..6].parse().ok()?;
    let day = digits[6..].parse().ok()?;
    let date = jiff::civil::Date::new(year, month, day).ok()?;
    let zoned = date.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok()?;
    zoned.timestamp().as_second().checked_mul(SECOND)
}

fn relative(text: &str) -> Option<i64> {
    if text == "now" {
        return Some(0);
    }
    let text = text.strip_prefix("now").unwrap_or(text);
    let (sign, mut rest) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(rest), _) => (-1, rest),
        (_, Some(rest)) => (1, rest),
        _ => return None,
    };
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0_i64;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let number: i64 = rest[..digits].parse().ok()?;
        let unit = unit(&rest[digits..digits + letters])?;
        sum = sum.checked_add(number.checked_mul(unit)?)?;
        rest = &rest[digits + letters..];
    }
    Some(sign * sum)
}

fn unit(word: &str) -> Option<i64> {
    match word {
        word if word.starts_with('s') => Some(SECOND),
        word if word.starts_with("mon") || word.starts_with('M') => Some(30 * DAY),
        word if word.starts_with('m') => Some(60 * SECOND),
        word if word.starts_with('h') => Some(3600 * SECOND),
        word if word.starts_with('d') => Some(DAY),
        word if word.starts_with('w') => Some(7 * DAY),
        word if word.starts_with('y') => Some(365 * DAY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000 * SECOND);

    #[test]
    fn digits_are_read_by_their_number() {
        for (text, nanos) in [
            ("1730000000", 1_730_000_000 * SECOND),
            ("1730000000000", 1_730_000_000 * SECOND),
            ("1730000000000000", 1_730_000_000 * SECOND),
            ("1730000000000000001", 1_730_000_000 * SECOND + 1),
            ("20240229", 1_709_164_800 * SECOND),
            ("20241399", 20_241_399 * SECOND),
            ("1_730_000_000", 1_730_000_000 * SECOND),
        ] {
            assert_eq!(parse("from", text, NOW), Ok(Timestamp(nanos)), "{text}");
        }
    }

    #[test]
    fn words_are_relative_to_now() {
        for (text, seconds) in [
            ("now", 0),
            ("now-1h", -3600),
            ("now - 15m", -900),
            ("now+2d", 172_800),
            ("-1h30min", -5400),
            ("now-1M", -2_592_000),
        ] {
            assert_eq!(parse("from", text, NOW), Ok(Timestamp(NOW.0 + seconds * SECOND)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in
            ["foo", "", "now-", "now-1x", "now-99999999999999999999h", "99999999999999999999", "1.5", "温度"]
        {
            let error = parse("until", text, NOW).unwrap_err();
            assert_eq!((error.status().as_u16(), error.field.as_str()), (400, "until"), "{text}");
        }
    }
}
