//! Profile types: what a number in a profile means, as Pyroscope spells it.

/// How values of one series relate along time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Temporality {
    /// Each profile covers its own time; values add up.
    #[default]
    Delta,
    /// Each profile is a state (in-use heap, goroutines); values are averaged or the last is taken (D7).
    Instant,
    /// Each profile counts since the start of the process; turned into deltas on ingest (D8).
    Cumulative,
}

/// What all profiles of one series have in common beside their labels (D1): name, period type, columns in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeriesType {
    /// Profile name, `process_cpu`, `memory`, …
    pub name: String,
    /// Period type, may be empty.
    pub period_type: String,
    /// Period unit, may be empty.
    pub period_unit: String,
    /// Columns in the order of the profile.
    pub columns: Vec<TypedColumn>,
}

/// One value column of a series.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypedColumn {
    /// `cpu`, `alloc_space`, …
    pub sample_type: String,
    /// `nanoseconds`, `bytes`, …
    pub sample_unit: String,
}

impl SeriesType {
    /// The profile type of a column; `None` beyond the last one.
    #[must_use]
    pub fn profile_type(&self, column: usize) -> Option<ProfileType> {
        self.columns.get(column).map(|typed| ProfileType {
            name: self.name.clone(),
            sample_type: typed.sample_type.clone(),
            sample_unit: typed.sample_unit.clone(),
            period_type: self.period_type.clone(),
            period_unit: self.period_unit.clone(),
        })
    }
}

/// A profile type: `name:sample_type:sample_unit:period_type:period_unit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProfileType {
    /// Profile name.
    pub name: String,
    /// What is measured, may be empty.
    pub sample_type: String,
    /// Its unit, may be empty.
    pub sample_unit: String,
    /// Period type, may be empty.
    pub period_type: String,
    /// Period unit, may be empty.
    pub period_unit: String,
}

/// A text that is no profile type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile type {0:?} is not of the form name:sample_type:sample_unit:period_type:period_unit")]
pub struct ParseProfileTypeError(pub String);

impl ProfileType {
    /// Reads the five-part form; the six-part form with `:delta` at the end is taken too.
    ///
    /// # Errors
    /// When the number of parts is another, or the name is empty. Everything else may be: pprof has columns without a type.
    pub fn parse(text: &str) -> Result<Self, ParseProfileTypeError> {
        let parts: Vec<&str> = text.split(':').collect();
        let wrong = || ParseProfileTypeError(text.chars().take(256).collect());
        let parts = match parts.as_slice() {
            [five @ .., "delta"] if five.len() == 5 => five,
            five if five.len() == 5 => five,
            _ => return Err(wrong()),
        };
        if parts[0].is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            name: parts[0].into(),
            sample_type: parts[1].into(),
            sample_unit: parts[2].into(),
            period_type: parts[3].into(),
            period_unit: parts[4].into(),
        })
    }

    /// Whether values are a state rather than an amount of a time span: in-use heap, goroutines, threads, live objects.
    ///
    /// The store has no other sign for it where a client says nothing (D7).
    #[must_use]
    pub fn is_instant(&self) -> bool {
        self.sample_type.starts_with("inuse_")
            || matches!(
                self.sample_type.as_str(),
                "goroutine" | "goroutines" | "threadcreate" | "live" | "thread"
            )
    }
}

impl std::fmt::Display for ProfileType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, sample_type, sample_unit, period_type, period_unit } = self;
        write!(formatter, "{name}:{sample_type}:{sample_unit}:{period_type}:{period_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_and_six_part_forms() {
        let text = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
        assert_eq!(ProfileType::parse(text).unwrap().to_string(), text);
        assert_eq!(ProfileType::parse(&format!("{text}:delta")).unwrap().to_string(), text);
        assert_eq!(ProfileType::parse("off_cpu:off_cpu:nanoseconds::").unwrap().period_type, "");
        assert_eq!(ProfileType::parse("other::::").unwrap().to_string(), "other::::");
        for bad in ["", "cpu", "a:b:c", "a:b:c:d:e:f", ":a:b:c:d"] {
            assert!(ProfileType::parse(bad).is_err(), "{bad}");
        }
    }
}
