//! What the numbers of a text format mean: type, unit, and the scale from samples to time.

use formats::{DecodeError, DecodeErrorKind};
use profile::{Columns, Profile, StringIndex, StringRange, ValueType};

/// Type and unit of a text profile's one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextType {
    sample_type: String,
    sample_unit: String,
    sample_rate: Option<u32>,
}

/// A second, ns.
const SECOND: i64 = 1_000_000_000;

impl TextType {
    /// Numbers that are stored as they are, without a period type.
    #[must_use]
    pub fn plain(sample_type: &str, sample_unit: &str) -> Self {
        Self { sample_type: sample_type.into(), sample_unit: sample_unit.into(), sample_rate: None }
    }

    /// Numbers of samples, stored as time: each stands for `1 s / sample_rate`, which becomes the period
    /// (`cpu`/`nanoseconds`).
    #[must_use]
    pub fn sampled(sample_type: &str, sample_rate: u32) -> Self {
        Self {
            sample_type: sample_type.into(),
            sample_unit: "nanoseconds".into(),
            sample_rate: Some(sample_rate.max(1)),
        }
    }

    /// The column's type.
    #[must_use]
    pub fn sample_type(&self) -> &str {
        &self.sample_type
    }

    /// The column's unit.
    #[must_use]
    pub fn sample_unit(&self) -> &str {
        &self.sample_unit
    }
}

/// A profile whose values were scaled, or the profile as it was.
pub(super) enum Scaled<'a> {
    AsIs(Profile<'a>),
    Owned { text: Vec<u8>, columns: Box<Columns> },
}

impl Scaled<'_> {
    pub(super) fn profile(&self) -> Profile<'_> {
        match self {
            Self::AsIs(profile) => *profile,
            Self::Owned { text, columns } => Profile { text, columns },
        }
    }
}

/// Bytes that [`scaled`] takes for its copy.
pub(super) fn scaled_bytes(profile: &Profile<'_>, typed: &TextType) -> usize {
    if typed.sample_rate.is_none() { 0 } else { profile.text.len() + profile.columns.allocated_bytes() }
}

/// Turns all values from samples into time and states the period. Each value is scaled by the rate itself: the period is a
/// whole number of ns, and 190 samples at 19 Hz multiplied by it would be less than 10 s (C033).
pub(super) fn scaled<'a>(profile: Profile<'a>, typed: &TextType) -> Result<Scaled<'a>, DecodeError> {
    let Some(sample_rate) = typed.sample_rate else { return Ok(Scaled::AsIs(profile)) };
    let mut text = profile.text.to_vec();
    let mut columns = profile.columns.clone();
    for value in &mut columns.values {
        *value = nanos(*value, sample_rate).ok_or_else(|| overflow("value", *value))?;
    }
    let kind = add_string(&mut text, &mut columns, "cpu")?;
    let unit = add_string(&mut text, &mut columns, "nanoseconds")?;
    columns.header.period_type = Some(ValueType { kind, unit });
    columns.header.period = (SECOND / i64::from(sample_rate)).max(1);
    Ok(Scaled::Owned { text, columns: Box::new(columns) })
}

/// The time of so many samples, rounded to the nearest ns; `None` where it does not fit.
fn nanos(samples: i64, sample_rate: u32) -> Option<i64> {
    let rate = i128::from(sample_rate);
    // Rounds half away from zero, so that a difference and its opposite cancel.
    let half = if samples < 0 { -rate } else { rate } / 2;
    i64::try_from((i128::from(samples) * i128::from(SECOND) + half) / rate).ok()
}

fn add_string(text: &mut Vec<u8>, columns: &mut Columns, string: &str) -> Result<StringIndex, DecodeError> {
    let too_long = || overflow("text", i64::MAX);
    let start = u32::try_from(text.len()).map_err(|_| too_long())?;
    let length = u32::try_from(string.len()).map_err(|_| too_long())?;
    let index = u32::try_from(columns.strings.len()).map_err(|_| too_long())?;
    text.extend_from_slice(string.as_bytes());
    columns.strings.push(StringRange { start, length });
    Ok(StringIndex(index))
}

fn overflow(field: &str, value: i64) -> DecodeError {
    DecodeError {
        kind: DecodeErrorKind::Malformed,
        field: field.into(),
        reason: format!("{value} samples do not fit in 64 bits of nanoseconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_nanoseconds() {
        let mut columns = Columns::default();
        columns.clear();
        columns.values = vec![3, 7];
        let profile = Profile { text: b"ab", columns: &columns };
        let scaled = scaled(profile, &TextType::sampled("cpu", 100)).unwrap();
        let scaled = scaled.profile();
        assert_eq!(scaled.columns.values, [30_000_000, 70_000_000]);
        assert_eq!(scaled.columns.header.period, 10_000_000);
        let period = scaled.columns.header.period_type.unwrap();
        assert_eq!(
            (scaled.string(period.kind), scaled.string(period.unit)),
            (&b"cpu"[..], &b"nanoseconds"[..])
        );
    }

    #[test]
    fn c032_no_division_by_zero_and_no_overflow() {
        assert_eq!(TextType::sampled("cpu", 0), TextType::sampled("cpu", 1));
        assert_eq!((nanos(1, u32::MAX), nanos(5, u32::MAX)), (Some(0), Some(1)));
        let mut columns = Columns::default();
        columns.clear();
        columns.values = vec![i64::MAX];
        let profile = Profile { text: b"", columns: &columns };
        assert!(scaled(profile, &TextType::sampled("cpu", 1)).is_err());
    }

    #[test]
    fn c033_samples_of_an_odd_rate_are_exact_time() {
        assert_eq!(nanos(190, 19), Some(10_000_000_000));
        assert_eq!(nanos(1, 19), Some(52_631_579));
        assert_eq!(nanos(-190, 19), Some(-10_000_000_000));
        assert_eq!(nanos(-1, 19), Some(-52_631_579));
    }
}
