//! Labels of a series: sorted, unique, valid UTF-8.
//!
//! The rules of what a *client* may send (sanitising, fall-backs, lengths) are the APIs' and `store`'s; here a set only
//! keeps its own invariants.

/// The one required label (D23).
pub const SERVICE_NAME: &str = "service_name";

/// A sorted set of `name=value` pairs with unique, non-empty names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelSet(Vec<(Box<str>, Box<str>)>);

/// Why pairs are no label set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// A name is empty.
    #[error("label name is empty (value {value:?})")]
    EmptyName {
        /// Its value.
        value: String,
    },
    /// A name comes twice with different values.
    #[error("label {name:?} is given twice ({first:?} and {second:?})")]
    Duplicate {
        /// The name.
        name: String,
        /// One value.
        first: String,
        /// The other.
        second: String,
    },
}

impl LabelSet {
    /// Sorts pairs and joins equal twins (C080).
    ///
    /// # Errors
    /// For an empty name and for one name with two values.
    pub fn from_pairs<N: Into<Box<str>>, V: Into<Box<str>>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, LabelError> {
        let mut pairs: Vec<(Box<str>, Box<str>)> =
            pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        pairs.sort();
        pairs.dedup();
        for pair in &pairs {
            if pair.0.is_empty() {
                return Err(LabelError::EmptyName { value: pair.1.to_string() });
            }
        }
        for window in pairs.windows(2) {
            if window[0].0 == window[1].0 {
                return Err(LabelError::Duplicate {
                    name: window[0].0.to_string(),
                    first: window[0].1.to_string(),
                    second: window[1].1.to_string(),
                });
            }
        }
        Ok(Self(pairs))
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok().map(|position| &*self.0[position].1)
    }

    /// The value of `service_name`, or the empty string.
    #[must_use]
    pub fn service_name(&self) -> &str {
        self.get(SERVICE_NAME).unwrap_or("")
    }

    /// All pairs, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Number of labels.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no label.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Display for LabelSet {
    /// Writes `{a="b",c="d"}`, names that are no plain words quoted.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("{")?;
        for (position, (name, value)) in self.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
                && !name.as_bytes().first().is_some_and(u8::is_ascii_digit);
            if plain {
                write!(formatter, "{comma}{name}={value:?}")?;
            } else {
                write!(formatter, "{comma}{name:?}={value:?}")?;
            }
        }
        formatter.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sorted_and_equal_twins_merge() {
        let set = LabelSet::from_pairs([("b", "2"), ("a", "1"), ("b", "2")]).unwrap();
        assert_eq!(set.to_string(), r#"{a="1",b="2"}"#);
        assert_eq!(set.get("b"), Some("2"));
        assert!(LabelSet::from_pairs([("b", "2"), ("b", "3")]).is_err());
        assert!(LabelSet::from_pairs([("", "2")]).is_err());
    }
}
