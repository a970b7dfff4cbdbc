//! What the numbers of a format mean that has no word for it: type, unit, and the scale from samples to time.

use profile::{Columns, StringIndex, ValueType};

use crate::{DecodeError, DecodeErrorKind};

/// A second, ns.
const SECOND: i64 = 1_000_000_000;

/// How values are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// As they are, without a period type.
    #[default]
    Plain,
    /// They count samples and are stored as time: each stands for a second divided by the rate. The period type is
    /// `cpu`/`nanoseconds`.
    Samples {
        /// Samples per second; 0 counts as 1.
        per_second: u32,
    },
    /// They are nanoseconds already; the period type is `cpu`/`nanoseconds` all the same.
    Nanoseconds {
        /// Samples per second; 0 counts as 1.
        per_second: u32,
    },
}

/// The one value column of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Measure<'a> {
    /// `cpu`, `alloc_space`, …
    pub sample_type: &'a str,
    /// `nanoseconds`, `bytes`, …
    pub sample_unit: &'a str,
    /// How values are stored.
    pub scale: Scale,
    /// Length of the profile, ns; 0 = not known.
    pub duration_nanos: i64,
}

impl<'a> Measure<'a> {
    /// Values as they are.
    #[must_use]
    pub const fn plain(sample_type: &'a str, sample_unit: &'a str) -> Self {
        Self { sample_type, sample_unit, scale: Scale::Plain, duration_nanos: 0 }
    }
}

impl Scale {
    /// The period, ns; `None` where there is none.
    pub(crate) fn period(self) -> Option<i64> {
        match self {
            Self::Plain => None,
            Self::Samples { per_second } | Self::Nanoseconds { per_second } => {
                Some((SECOND / i64::from(per_second.max(1))).max(1))
            }
        }
    }

    /// A value as it is stored. It is scaled by the rate itself: the period is a whole number of ns, and 190 samples at
    /// 19 Hz multiplied by it would be less than 10 s (C033).
    pub(crate) fn stored(self, value: i64) -> Result<i64, DecodeError> {
        let Self::Samples { per_second } = self else { return Ok(value) };
        nanos(value, per_second.max(1)).ok_or_else(|| DecodeError {
            kind: DecodeErrorKind::Malformed,
            field: "value".into(),
            reason: format!("{value} samples do not fit in 64 bits of nanoseconds"),
        })
    }
}

/// States period and duration.
pub(crate) fn state(columns: &mut Columns, measure: &Measure<'_>, kind: StringIndex, unit: StringIndex) {
    columns.header.duration_nanos = measure.duration_nanos.max(0);
    if let Some(period) = measure.scale.period() {
        columns.header.period_type = Some(ValueType { kind, unit });
        columns.header.period = period;
    }
}

/// The time of so many samples, rounded to the nearest ns; `None` where it does not fit.
fn nanos(samples: i64, per_second: u32) -> Option<i64> {
    let rate = i128::from(per_second);
    // Rounds half away from zero, so that a difference and its opposite cancel.
    let half = if samples < 0 { -rate } else { rate } / 2;
    i64::try_from((i128::from(samples) * i128::from(SECOND) + half) / rate).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_nanoseconds() {
        let scale = Scale::Samples { per_second: 100 };
        assert_eq!((scale.stored(3), scale.stored(7)), (Ok(30_000_000), Ok(70_000_000)));
        assert_eq!(scale.period(), Some(10_000_000));
        assert_eq!((Scale::Plain.stored(3), Scale::Plain.period()), (Ok(3), None));
        let scale = Scale::Nanoseconds { per_second: 19 };
        assert_eq!((scale.stored(3), scale.period()), (Ok(3), Some(52_631_578)));
    }

    #[test]
    fn c032_no_division_by_zero_and_no_overflow() {
        let scale = |per_second| Scale::Samples { per_second };
        assert_eq!((scale(0).stored(1), scale(0).period()), (Ok(SECOND), Some(SECOND)));
        assert_eq!((nanos(1, u32::MAX), nanos(5, u32::MAX)), (Some(0), Some(1)));
        assert_eq!(scale(u32::MAX).period(), Some(1));
        assert!(scale(1).stored(i64::MAX).unwrap_err().reason.contains("64 bits"));
    }

    #[test]
    fn c033_samples_of_an_odd_rate_are_exact_time() {
        assert_eq!(nanos(190, 19), Some(10_000_000_000));
        assert_eq!(nanos(1, 19), Some(52_631_579));
        assert_eq!(nanos(-190, 19), Some(-10_000_000_000));
        assert_eq!(nanos(-1, 19), Some(-52_631_579));
    }
}
