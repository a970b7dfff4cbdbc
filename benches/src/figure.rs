//! One line per figure: name, value, limit, verdict, and what it was measured against.

use std::fmt;

/// How a value is bounded.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Good when not above.
    AtMost(f64),
    /// Good when not below.
    AtLeast(f64),
    /// Shown for context, always good.
    None,
}

/// A measured figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What `ONLY=` selects by, and what the line begins with.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Its unit; `×` for a ratio.
    pub unit: &'static str,
    /// What it is held to.
    pub limit: Limit,
    /// What it was measured against, with that measurement's own figure.
    pub reference: String,
    /// A reason why the line is `short` whatever the value: its reference was slow, or the answer was wrong.
    pub fault: Option<String>,
}

impl Figure {
    /// A figure without a fault.
    #[must_use]
    pub fn new(name: &str, value: f64, unit: &'static str, limit: Limit, reference: String) -> Self {
        Self { name: name.to_owned(), value, unit, limit, reference, fault: None }
    }

    /// The same figure with a fault, if there is one.
    #[must_use]
    pub fn with_fault(mut self, fault: Option<String>) -> Self {
        self.fault = self.fault.or(fault);
        self
    }

    /// Whether the limit is kept and nothing was at fault.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let kept = match self.limit {
            Limit::AtMost(limit) => self.value <= limit,
            Limit::AtLeast(limit) => self.value >= limit,
            Limit::None => true,
        };
        kept && self.fault.is_none()
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = match self.limit {
            Limit::AtMost(limit) => format!("<= {limit}"),
            Limit::AtLeast(limit) => format!(">= {limit}"),
            Limit::None => "-".to_owned(),
        };
        let value = format!("{:.3} {}", self.value, self.unit);
        let verdict = if self.is_ok() { "ok" } else { "short" };
        write!(formatter, "{:32} {value:>16}   {limit:>10}   {verdict:5}   {}", self.name, self.reference)?;
        if let Some(fault) = &self.fault {
            write!(formatter, " [{fault}]")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inclusive() {
        let figure = |value, limit| Figure::new("f", value, "ms", limit, String::new());
        assert!(figure(2.0, Limit::AtMost(2.0)).is_ok());
        assert!(!figure(2.1, Limit::AtMost(2.0)).is_ok());
        assert!(figure(2.0, Limit::AtLeast(2.0)).is_ok());
        assert!(!figure(1.9, Limit::AtLeast(2.0)).is_ok());
    }

    #[test]
    fn a_fault_makes_any_value_short() {
        let figure = Figure::new("f", 1.0, "ms", Limit::None, String::new());
        assert!(figure.clone().to_string().contains("ok"));
        assert!(figure.with_fault(Some("slow reference".to_owned())).to_string().contains("short"));
    }
}
