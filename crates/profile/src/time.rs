//! Instants and ranges, always in ns since the Unix epoch; each API states and converts its own unit.

/// Nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The earliest instant that is taken for a real time: 1971-01-01 (D11); 0 and 1970 mean "no time".
    pub const EARLIEST: Self = Self(31_536_000_000_000_000);

    /// From milliseconds; `None` where ns do not fit in 64 bits.
    #[must_use]
    pub fn from_millis(millis: i64) -> Option<Self> {
        millis.checked_mul(1_000_000).map(Self)
    }

    /// Whole milliseconds, rounded down.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// The machine's clock.
    #[must_use]
    pub fn now() -> Self {
        let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// A range of instants, half-open: `from <= t < to` (D10). An API with inclusive ends adds 1 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// First instant inside.
    pub from: Timestamp,
    /// First instant outside.
    pub to: Timestamp,
}

impl TimeRange {
    /// Everything.
    pub const ALL: Self = Self { from: Timestamp(i64::MIN), to: Timestamp(i64::MAX) };

    /// Whether the instant is inside.
    #[must_use]
    pub fn contains(&self, instant: Timestamp) -> bool {
        self.from <= instant && instant < self.to
    }

    /// Whether some instant of the closed range `first..=last` is inside.
    #[must_use]
    pub fn touches(&self, first: Timestamp, last: Timestamp) -> bool {
        first < self.to && self.from <= last
    }
}
