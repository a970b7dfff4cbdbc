//! Numbers for people: a value in the profile's unit, and its share of a whole.

/// Units of time and what one is in ns.
const TIME_UNITS: [(&str, f64); 8] = [
    ("nanoseconds", 1.0),
    ("ns", 1.0),
    ("microseconds", 1e3),
    ("us", 1e3),
    ("milliseconds", 1e6),
    ("ms", 1e6),
    ("seconds", 1e9),
    ("s", 1e9),
];

/// A value with its unit, three digits or more: `9.80 s`, `12.4 MiB`, `1,234`, `17 widgets`.
#[must_use]
pub fn value(number: i64, unit: &str) -> String {
    if let Some((_, factor)) = TIME_UNITS.iter().find(|(name, _)| *name == unit) {
        return time(number as f64 * factor);
    }
    match unit {
        "bytes" | "byte" | "B" => bytes(number),
        "" | "count" | "counts" | "samples" | "objects" | "goroutine" | "goroutines" => grouped(number),
        other => format!("{} {}", grouped(number), super::one_line(other)),
    }
}

/// The share of a whole as a percentage: `72.4%`, `100%`, `<0.1%`; a whole of 0 has no shares.
#[must_use]
pub fn share(part: i64, whole: i64) -> String {
    if whole == 0 || part == 0 {
        return "0%".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    let size = percent.abs();
    if part == whole {
        "100%".to_owned()
    } else if size < 0.05 {
        if percent < 0.0 { "-0.0%".to_owned() } else { "<0.1%".to_owned() }
    } else if size > 99.95 && size < 100.0 {
        if percent < 0.0 { "-99.9%".to_owned() } else { "99.9%".to_owned() }
    } else {
        format!("{percent:.1}%")
    }
}

/// A whole number with commas.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn time(nanos: f64) -> String {
    let steps = [(3.6e12, "h"), (6e10, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    scaled(nanos, &steps)
}

fn bytes(number: i64) -> String {
    let steps = [
        (1024f64.powi(5), "PiB"),
        (1024f64.powi(4), "TiB"),
        (1024f64.powi(3), "GiB"),
        (1024f64.powi(2), "MiB"),
        (1024.0, "KiB"),
        (1.0, "B"),
    ];
    scaled(number as f64, &steps)
}

/// Three digits in the largest step that is not above the number; the smallest step has whole numbers.
fn scaled(number: f64, steps: &[(f64, &str)]) -> String {
    let size = number.abs();
    let smallest = steps.len() - 1;
    let chosen = steps.iter().position(|(factor, _)| size >= *factor * 0.9995).unwrap_or(smallest);
    let (factor, name) = steps[chosen];
    let shown = number / factor;
    let places = match shown.abs() {
        _ if chosen == smallest => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{shown:.places$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_a_unit() {
        assert_eq!(value(9_800_000_000, "nanoseconds"), "9.80 s");
        assert_eq!(value(72, "nanoseconds"), "72 ns");
        assert_eq!(value(999_999, "nanoseconds"), "1.00 ms");
        assert_eq!(value(7_200, "seconds"), "2.00 h");
        assert_eq!(value(-1_500, "microseconds"), "-1.50 ms");
        assert_eq!(value(1536, "bytes"), "1.50 KiB");
        assert_eq!(value(13_000_000, "bytes"), "12.4 MiB");
        assert_eq!(value(1_234_567, "count"), "1,234,567");
        assert_eq!(value(-1_000, ""), "-1,000");
        assert_eq!(value(17, "widgets"), "17 widgets");
        assert_eq!(value(i64::MIN, "count"), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn shares_never_say_zero_or_all_of_something_else() {
        assert_eq!(share(1, 2), "50.0%");
        assert_eq!(share(2, 2), "100%");
        assert_eq!(share(0, 2), "0%");
        assert_eq!(share(1, 1_000_000), "<0.1%");
        assert_eq!(share(999_999, 1_000_000), "99.9%");
        assert_eq!(share(-6, 10), "-60.0%");
        assert_eq!(share(5, 0), "0%");
    }
}
