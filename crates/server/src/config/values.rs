//! Reading single values: sizes, times, addresses, switches, filters of log events.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

/// Reads `1048576`, `512MiB`, `20GiB`, `64kB`.
///
/// # Errors
/// A sentence without the key's name.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split_number(text);
    let factor: u64 = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "TiB" | "T" => 1 << 40,
        _ => return Err(format!("{text:?} is no size such as 1048576, 512MiB or 20GiB")),
    };
    let number: u64 =
        number.parse().map_err(|_| format!("{text:?} is no size such as 1048576, 512MiB or 20GiB"))?;
    number.checked_mul(factor).ok_or_else(|| format!("{text:?} does not fit in 64 bits"))
}

/// Reads `250ms`, `10s`, `5m`, `36h`, `30d`.
///
/// # Errors
/// A sentence without the key's name.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no length of time such as 250ms, 10s, 5m, 36h or 30d");
    let (number, unit) = split_number(text);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)
}

/// Reads `127.0.0.1:4040`, `[::1]:4040` or `localhost:4040`. Other host names are refused: which address they mean may
/// change between two starts.
///
/// # Errors
/// A sentence without the key's name.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| format!("{text:?} is no ADDRESS:PORT such as 127.0.0.1:4040 or [::1]:4040"))
}

/// Reads `true` and `false` in the spellings that people use in environment variables.
///
/// # Errors
/// A sentence without the key's name.
pub fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

/// Checks a filter of log events: levels, and `MODULE=LEVEL`, with commas between. The filter's own reader takes a word
/// that is no level for a module, and then nothing at all is logged.
///
/// # Errors
/// A sentence without the key's name.
pub fn log_filter(text: &str) -> Result<&str, String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let is_level = |text: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text));
    let is_module = |text: &str| {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
        !text.is_empty() && text.bytes().all(letter)
    };
    for part in text.split(',') {
        let is_known = match part.split_once('=') {
            None => is_level(part),
            Some((module, level)) => is_module(module) && is_level(level),
        };
        if !is_known {
            return Err(format!("{part:?} is neither one of {} nor MODULE=LEVEL", LEVELS.join(", ")));
        }
    }
    Ok(text)
}

fn split_number(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// A path below which a proxy shows the server, with a slash at both ends.
pub(super) fn base_path(text: &str) -> Result<String, String> {
    let inner = text.trim_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    if !text.starts_with('/') || !inner.chars().all(is_plain) || inner.split('/').any(|part| part == "..") {
        return Err(format!("{text:?} is no path such as /everflame/"));
    }
    Ok(if inner.is_empty() { "/".to_owned() } else { format!("/{inner}/") })
}

/// Sources of CSP: `'none'`, `'self'`, origins.
pub(super) fn frame_ancestors(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_graphic() && !";,\"<>".contains(c) || c == ' ';
    if text.trim().is_empty() || !text.chars().all(is_plain) {
        return Err(format!("{text:?} is no list such as 'self' https://grafana.example"));
    }
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("512MiB"), Ok(536_870_912));
        assert_eq!(bytes("1 GB"), Ok(1_000_000_000));
        assert_eq!(bytes("0"), Ok(0));
        for bad in ["", "-1", "1.5GiB", "MiB", "1XB", "99999999999TiB"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for bad in ["", "10", "s", "-1s", "1y", "99999999999999999999s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn log_filters() {
        for good in ["info", "WARN", "off", "info,store=debug", "api::push=trace", "error,h2=off"] {
            assert_eq!(log_filter(good), Ok(good));
        }
        for bad in
            ["", "foo", "inf", "verbose", "info,", "store=", "=debug", "store=debig", "info, warn", "3"]
        {
            assert!(log_filter(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses() {
        assert_eq!(address("localhost:1").map(|address| address.to_string()), Ok("127.0.0.1:1".into()));
        assert_eq!(address("[::1]:4040").map(|address| address.ip().is_loopback()), Ok(true));
        for bad in ["4040", "example.org:80", "localhost:x", "127.0.0.1"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
