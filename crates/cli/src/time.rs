//! Times as people write them: RFC 3339, ms since 1970, `now`, `now-1h`. The same words as in the native API.

use profile::Timestamp;
use query::read_instant;

/// Reads one.
///
/// # Errors
/// A sentence with the forms that are known, and with what was most likely meant.
pub fn instant(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    read_instant(text, now).ok_or_else(|| {
        let hint = meant(text, now).map(|hint| format!("; did you mean {hint}?")).unwrap_or_default();
        format!(
            "is no time: give 2026-01-31T14:00:00Z (RFC 3339, +02:00 for another zone), ms since 1970, or now-1h (ms, s, m, h, \
             d, w){hint}"
        )
    })
}

/// The text of a flag, as it is passed on: a server knows the same words.
///
/// # Errors
/// See [`instant`].
pub fn flag(text: &str) -> Result<String, String> {
    instant(text, Timestamp::now()).map(|_| text.to_owned())
}

/// The time that a text lacks little of: `-1h` and `1h` lack the `now`, a date lacks the time of the day, `14:00` lacks date and
/// zone. Nothing is taken for it by itself: nobody knows here which day and whose clock is meant.
fn meant(text: &str, now: Timestamp) -> Option<String> {
    let text = if text == "yesterday" { "-1d" } else { text };
    let today = self::text(now).chars().take_while(|one| *one != 'T').collect::<String>();
    let fuller = [
        format!("now{text}"),
        format!("now-{text}"),
        format!("{text}Z"),
        format!("{text}T00:00:00Z"),
        format!("{today}T{text}:00Z"),
        format!("{today}T{text}Z"),
    ];
    fuller.into_iter().filter(|_| !text.is_empty()).find(|text| read_instant(text, now).is_some())
}

/// What to say of a whole number that is so small as ms that seconds were most likely meant; `0` is the beginning of time.
#[must_use]
pub fn seconds_for_millis(text: &str) -> Option<String> {
    const YEAR_MILLIS: i64 = 365 * 86_400_000;
    let millis = text.parse().ok().filter(|millis| (1..YEAR_MILLIS).contains(millis))?;
    let shown = self::text(Timestamp::from_millis(millis)?);
    Some(format!("{text} is taken for ms since 1970, which is {shown}; seconds need 000 behind them"))
}

/// A length of time for people: its two largest units.
#[must_use]
pub fn length(nanos: i64) -> String {
    let seconds = nanos / 1_000_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let parts = match (days, hours, minutes) {
        (0, 0, 0) => return format!("{seconds} s"),
        (0, 0, _) => [(minutes, "min"), (seconds % 60, "s")],
        (0, ..) => [(hours, "h"), (minutes, "min")],
        _ => [(days, "d"), (hours, "h")],
    };
    let shown = parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}"));
    shown.collect::<Vec<_>>().join(" ")
}

/// An RFC 3339 text of a server to the second, so that columns of them stand straight; anything else stays as it is.
#[must_use]
pub fn brief(text: &str) -> String {
    match text.split_once('.') {
        Some((seconds, fraction)) if fraction.ends_with('Z') => format!("{seconds}Z"),
        _ => text.to_owned(),
    }
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
    fn times_are_read_and_shown() {
        let now = Timestamp(1_800_000_000_000_000_000);
        assert_eq!(instant("now-1h", now), Ok(Timestamp(now.0 - 3_600_000_000_000)));
        assert!(instant("now-1y", now).is_err());
        assert_eq!(flag("now-1h").unwrap(), "now-1h");
        assert_eq!(text(now), "2027-01-15T08:00:00Z");
        assert_eq!(text(Timestamp(0)), "");
    }

    #[test]
    fn what_lacks_little_of_a_time_is_told_the_rest() {
        let now = Timestamp(1_800_000_000_000_000_000);
        for (said, hint) in [
            ("-1h", "now-1h"),
            ("+5m", "now+5m"),
            ("90s", "now-90s"),
            ("yesterday", "now-1d"),
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("2026-01-31T14:00:00", "2026-01-31T14:00:00Z"),
            ("14:00", "2027-01-15T14:00:00Z"),
            ("14:00:05", "2027-01-15T14:00:05Z"),
        ] {
            let refused = instant(said, now).unwrap_err();
            assert!(refused.ends_with(&format!("; did you mean {hint}?")), "{said}: {refused}");
        }
        for other in ["", "soon", "25:00", "2026-02-30", "-1"] {
            let said = instant(other, now).map_or_else(|refused| refused, |_| String::new());
            assert!(!said.contains("did you mean"), "{other}: {said}");
        }
    }

    #[test]
    fn seconds_where_ms_are_meant_are_told() {
        let said = seconds_for_millis("1764500000").unwrap();
        assert!(said.contains("1970-01-21T10:08:20Z") && said.contains("000"), "{said}");
        for good in ["0", "1764500000000", "now-1h", "2026-01-31T14:00:00Z", ""] {
            assert_eq!(seconds_for_millis(good), None, "{good}");
        }
    }

    #[test]
    fn lengths_and_times_are_short() {
        let shown = |seconds: i64| length(seconds * 1_000_000_000);
        assert_eq!([shown(5), shown(300), shown(3_600), shown(5_430)], ["5 s", "5 min", "1 h", "1 h 30 min"]);
        assert_eq!([shown(90), shown(86_400 * 3 + 7_200)], ["1 min 30 s", "3 d 2 h"]);
        assert_eq!(brief("2026-01-01T00:00:00.123456789Z"), "2026-01-01T00:00:00Z");
        assert_eq!([brief("2026-01-01T00:00:00Z"), brief("v1.2")], ["2026-01-01T00:00:00Z", "v1.2"]);
    }
}
