//! Counters in Prometheus's text format 0.0.4, which every scraper reads. (OpenMetrics would want names that end in
//! `_total`; these are the user's.)

use std::fmt::Write as _;

use crate::MetricSeries;

/// What a scrape gets for a content type.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes series that are sorted by metric. Values are whole numbers, so a sample is exact below 2⁵³.
#[must_use]
pub fn write(series: &[MetricSeries]) -> String {
    let mut text = String::new();
    let mut last = "";
    for one in series {
        if one.metric != last {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# HELP {} Sum over accepted profiles, in {}.",
                one.metric,
                escaped(unit(one), false)
            );
            let _ = writeln!(text, "# TYPE {} counter", one.metric);
            last = &one.metric;
        }
        text.push_str(&one.metric);
        for (position, (name, value)) in one.labels.iter().enumerate() {
            let before = if position == 0 { '{' } else { ',' };
            let _ = write!(text, "{before}{name}=\"{}\"", escaped(value, true));
        }
        if !one.labels.is_empty() {
            text.push('}');
        }
        let _ = writeln!(text, " {}", one.value);
    }
    text
}

fn unit(series: &MetricSeries) -> &str {
    if series.unit.is_empty() { "counts" } else { &series.unit }
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '"' if quotes => escaped.push_str("\\\""),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_are_escaped_and_each_metric_is_described_once() {
        let one = |value: &str| MetricSeries {
            metric: "m".into(),
            labels: vec![("a".into(), value.into()), ("b".into(), "y".into())],
            unit: "nano\nseconds".into(),
            value: 9_007_199_254_740_991,
        };
        let expected = "# HELP m Sum over accepted profiles, in nano\\nseconds.\n# TYPE m counter\n\
                        m{a=\"x\\\"\\\\\\n\",b=\"y\"} 9007199254740991\nm{a=\"服务\",b=\"y\"} 9007199254740991\n";
        assert_eq!(write(&[one("x\"\\\n"), one("服务")]), expected);
        assert_eq!(write(&[]), "");
    }
}
