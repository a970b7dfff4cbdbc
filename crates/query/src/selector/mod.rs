//! Selectors: `cpu{service_name="api",pod=~"a.*"}`, the syntax of a PromQL instant selector.
//!
//! A profile type (full or short form) may stand before the brace; inside it are matchers `=`, `!=`, `=~`, `!~`, all of
//! which must hold. A label that is not there has the empty value. Regular expressions are anchored at both ends, match
//! in time linear to the value, and are bounded in size (C089, `limits`). Label names that are no plain words may be
//! quoted, `{"服务"="a"}` (C081); dots and dashes are also taken unquoted.
//!
//! Not here: what a short form stands for (`profile_types`), and which rows a sample label chooses (`row_filter`).

mod parse;

use parse::pattern;
pub(crate) use parse::search_pattern;

use std::fmt;

use profile::LabelSet;
use regex::Regex;

use crate::QueryError;

/// A parsed selector: an optional profile type and label matchers, `cpu{service_name="api",pod=~"a.*"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    profile_type: Option<String>,
    matchers: Vec<Matcher>,
}

/// How a matcher compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOperator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`
    Regex,
    /// `!~`
    NotRegex,
}

/// One condition on one label.
#[derive(Clone, Debug)]
pub struct Matcher {
    name: Box<str>,
    operator: MatchOperator,
    value: Box<str>,
    /// There exactly for the two operators on regular expressions.
    regex: Option<Regex>,
}

impl Selector {
    /// Parses `type{matchers}`, `{matchers}`, `type` or the empty text. Label names may be quoted UTF-8 (C081).
    ///
    /// # Errors
    /// Names the byte position and what was expected; a regular expression over the size limit names the limit (C089).
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        parse::selector(text)
    }

    /// The text before the brace, if any: a full profile type or a short form.
    #[must_use]
    pub fn profile_type(&self) -> Option<&str> {
        self.profile_type.as_deref()
    }

    /// Sets the text before the brace.
    #[must_use]
    pub fn with_profile_type(mut self, text: &str) -> Self {
        self.profile_type = Some(text.into());
        self
    }

    /// The matchers alone, of any profile type.
    #[must_use]
    pub fn without_profile_type(self) -> Self {
        Self { profile_type: None, ..self }
    }

    /// Adds `name="value"`.
    #[must_use]
    pub fn with_equal(mut self, name: &str, value: &str) -> Self {
        self.matchers.push(Matcher {
            name: name.into(),
            operator: MatchOperator::Equal,
            value: value.into(),
            regex: None,
        });
        self
    }

    /// Adds all matchers of another selector; its profile type counts where this one has none.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.matchers.extend(other.matchers);
        self.profile_type = self.profile_type.or(other.profile_type);
        self
    }

    /// Whether all matchers accept a label set (a label that is not there has the empty value).
    #[must_use]
    pub fn matches(&self, labels: &LabelSet) -> bool {
        self.matchers.iter().all(|matcher| matcher.accepts(labels.get(&matcher.name).unwrap_or("")))
    }

    /// The matchers in the order in which they were written.
    #[must_use]
    pub fn matchers(&self) -> &[Matcher] {
        &self.matchers
    }

    /// The value that a label must have, where an `=` matcher says so.
    #[must_use]
    pub fn exact(&self, name: &str) -> Option<&str> {
        let wanted = |matcher: &&Matcher| &*matcher.name == name && matcher.operator == MatchOperator::Equal;
        self.matchers.iter().find(wanted).map(|matcher| &*matcher.value)
    }
}

impl Matcher {
    /// A matcher; a pattern is compiled here.
    ///
    /// # Errors
    /// For a pattern that is none or is too large.
    pub fn new(name: &str, operator: MatchOperator, value: &str) -> Result<Self, QueryError> {
        let regex = match operator {
            MatchOperator::Equal | MatchOperator::NotEqual => None,
            MatchOperator::Regex | MatchOperator::NotRegex => Some(
                pattern(value)
                    .map_err(|reason| QueryError::invalid("selector", format!("label {name:?}: {reason}")))?,
            ),
        };
        Ok(Self { name: name.into(), operator, value: value.into(), regex })
    }

    /// The label.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it compares.
    #[must_use]
    pub fn operator(&self) -> MatchOperator {
        self.operator
    }

    /// The value or pattern.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether a label of this value is accepted; the empty value stands for "not there".
    #[must_use]
    pub fn accepts(&self, value: &str) -> bool {
        self.hits(value) != self.is_negative()
    }

    /// Whether a label with several values is accepted: one must fit, or none for the negative operators. No value at
    /// all is the empty value.
    pub(crate) fn accepts_any<'a>(&self, values: impl IntoIterator<Item = &'a str>) -> bool {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return self.accepts("");
        }
        values.any(|value| self.hits(value)) != self.is_negative()
    }

    fn is_negative(&self) -> bool {
        matches!(self.operator, MatchOperator::NotEqual | MatchOperator::NotRegex)
    }

    fn hits(&self, value: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(value),
            None => *self.value == *value,
        }
    }
}

/// Equal text means equal meaning: the compiled pattern follows from the value.
impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.operator, &self.value) == (&other.name, other.operator, &other.value)
    }
}

impl Eq for Matcher {}

impl fmt::Display for Selector {
    /// Writes a text that parses to an equal selector.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.profile_type.as_deref().is_none_or(parse::is_plain_type);
        if plain {
            formatter.write_str(self.profile_type.as_deref().unwrap_or(""))?;
        }
        if plain && self.matchers.is_empty() && self.profile_type.is_some() {
            return Ok(());
        }
        formatter.write_str("{")?;
        let mut comma = "";
        if !plain {
            parse::write_quoted(formatter, self.profile_type.as_deref().unwrap_or(""))?;
            comma = ",";
        }
        for matcher in &self.matchers {
            write!(formatter, "{comma}{matcher}")?;
            comma = ",";
        }
        formatter.write_str("}")
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if parse::is_plain_name(&self.name) {
            formatter.write_str(&self.name)?;
        } else {
            parse::write_quoted(formatter, &self.name)?;
        }
        formatter.write_str(self.operator.text())?;
        parse::write_quoted(formatter, &self.value)
    }
}

impl MatchOperator {
    /// As it is written.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Regex => "=~",
            Self::NotRegex => "!~",
        }
    }
}

#[cfg(test)]
mod tests;
