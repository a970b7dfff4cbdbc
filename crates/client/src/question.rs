//! Parameters of a request, percent-encoded so that everything arrives as it was given (C092).

use std::fmt::Write as _;

/// Names and values of a query string, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pairs: Vec<(String, String)>,
}

impl Question {
    /// No parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.pairs.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a parameter where there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The value of a parameter, the first where it repeats.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The query string with `?` in front; empty without parameters.
    #[must_use]
    pub fn query_string(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.pairs {
            text.push(if text.is_empty() { '?' } else { '&' });
            push_encoded(&mut text, name);
            text.push('=');
            push_encoded(&mut text, value);
        }
        text
    }
}

/// Appends a text with everything but letters, digits and `-._~` as `%XX`.
pub fn push_encoded(target: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            let _ = write!(target, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c092_selectors_survive_the_url() {
        let question = Question::new()
            .with("q", "cpu{function=~\"starts_with(\\\"std::vec<&T>\\\")\"}")
            .with_some("from", None)
            .with("label", "k=a b+c&d#é");
        assert_eq!(
            question.query_string(),
            "?q=cpu%7Bfunction%3D~%22starts_with%28%5C%22std%3A%3Avec%3C%26T%3E%5C%22%29%22%7D\
             &label=k%3Da%20b%2Bc%26d%23%C3%A9"
        );
        assert_eq!(Question::new().query_string(), "");
        assert_eq!(question.get("label"), Some("k=a b+c&d#é"));
    }
}
