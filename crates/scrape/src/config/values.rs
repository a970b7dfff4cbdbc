//! Single values of a configuration: lengths of time, bytes, truths, as Prometheus writes them.

use std::time::Duration;

/// `true` or `false`; also `yes`, `no`, `on`, `off`, which the YAML of Prometheus takes for the same.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

/// `500ms`, `15s`, `1m30s`, `2h`, `1d`, `1w`, `1y`; `0` is no time at all.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time such as 15s, 1m30s or 500ms");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut sum) = (text, 0_u64);
    // Units come in this order, each at most once.
    let mut units: &[(&str, u64)] = &[
        ("y", 365 * 86_400_000),
        ("w", 7 * 86_400_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
        ("ms", 1),
    ];
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = &rest[digits..digits + letters];
        let position = units.iter().position(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let milliseconds = number.checked_mul(units[position].1).ok_or_else(wrong)?;
        sum = sum.checked_add(milliseconds).ok_or_else(wrong)?;
        units = &units[position + 1..];
        rest = &rest[digits + letters..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(Duration::from_millis(sum)) }
}

/// A time of at least a tenth of a second and at most a week.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    use crate::limits::{INTERVAL_MAX, INTERVAL_MIN};
    let duration = duration(text)?;
    if (INTERVAL_MIN..=INTERVAL_MAX).contains(&duration) {
        Ok(duration)
    } else {
        Err(format!("{text:?} is not from 100ms to 1w"))
    }
}

/// `500KB`, `10MB`, `1GiB`, or a number of bytes; with or without the i these are powers of 1024, as in Prometheus.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is no number of bytes such as 10MB");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: usize = text[..digits].parse().map_err(|_| wrong())?;
    let factor: usize = match text[digits..].trim_start().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_prometheus_writes_them() {
        for (text, milliseconds) in [
            ("15s", 15_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("1h", 3_600_000),
            ("0", 0),
            ("1d2h", 93_600_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for bad in ["", "s", "15", "1s1m", "1s1s", "-1s", "1.5s", "99999999999999999y", "15 s", "15ß"] {
            assert!(duration(bad).is_err(), "{bad:?}");
        }
        assert!(period("0").is_err() && period("99ms").is_err() && period("8d").is_err());
    }

    #[test]
    fn bytes_and_truths() {
        assert_eq!(bytes("10MB"), Ok(10 << 20));
        assert_eq!(bytes("1GiB"), Ok(1 << 30));
        assert_eq!(bytes("0"), Ok(0));
        for bad in ["", "MB", "-1", "1TB", "99999999999999999999GB"] {
            assert!(bytes(bad).is_err(), "{bad:?}");
        }
        assert_eq!((switch("Yes"), switch("false")), (Ok(true), Ok(false)));
        assert!(switch("1").is_err());
    }
}
