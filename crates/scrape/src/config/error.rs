//! What is wrong with a configuration, and where.

/// Why a configuration cannot be used. Always the writer's to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file; empty where it is not known.
    pub origin: String,
    /// The line, counted from 1; 0 = none.
    pub line: usize,
    /// The key, such as `scrape_configs[0].scheme`; may be empty.
    pub field: String,
    /// Why.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn at(line: usize, field: &str, reason: impl Into<String>) -> Self {
        Self { origin: String::new(), line, field: field.to_owned(), reason: reason.into() }
    }

    /// The same error of a file.
    #[must_use]
    pub(crate) fn of(mut self, origin: &str) -> Self {
        origin.clone_into(&mut self.origin);
        self
    }
}

impl std::error::Error for ConfigError {}

impl std::fmt::Display for ConfigError {
    /// `scrape.yml:12: scrape_configs[0].scheme: "ftp" is neither http nor https`
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.origin.as_str(), self.line) {
            ("", 0) => {}
            ("", line) => write!(formatter, "line {line}: ")?,
            (origin, 0) => write!(formatter, "{origin}: ")?,
            (origin, line) => write!(formatter, "{origin}:{line}: ")?,
        }
        if !self.field.is_empty() {
            write!(formatter, "{}: ", self.field)?;
        }
        formatter.write_str(&self.reason)
    }
}
