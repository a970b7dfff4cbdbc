//! Relabelling: rules that rename, join, keep and drop labels of targets, as Prometheus has them.
//!
//! Called for each pair of target and kind before it is scraped. Regular expressions match the whole text. What labels
//! mean, and that names with `__` in front go at the end, is [`crate::target`]'s. Growth is bounded: rules can double
//! labels and values each time.

mod md5;
mod template;

use std::{borrow::Cow, collections::BTreeMap};

use regex::{Regex, RegexBuilder};
pub(crate) use template::Template;

use crate::limits;

/// Labels by name.
pub type Labels = BTreeMap<String, String>;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sets the target label to the filled replacement where the sources match; empties remove it.
    Replace,
    /// Drops targets whose sources do not match.
    Keep,
    /// Drops targets whose sources match.
    Drop,
    /// Drops targets whose sources differ from the target label.
    KeepEqual,
    /// Drops targets whose sources equal the target label.
    DropEqual,
    /// Sets the target label to a hash of the sources, modulo a number.
    HashMod,
    /// Copies labels whose names match to the filled replacement.
    LabelMap,
    /// Removes labels whose names match.
    LabelDrop,
    /// Removes labels whose names do not match.
    LabelKeep,
    /// Sets the target label to the sources in small letters.
    Lowercase,
    /// Sets the target label to the sources in capital letters.
    Uppercase,
}

impl Action {
    /// All words.
    pub(crate) const WORDS: [(&'static str, Self); 11] = [
        ("replace", Self::Replace),
        ("keep", Self::Keep),
        ("drop", Self::Drop),
        ("keepequal", Self::KeepEqual),
        ("dropequal", Self::DropEqual),
        ("hashmod", Self::HashMod),
        ("labelmap", Self::LabelMap),
        ("labeldrop", Self::LabelDrop),
        ("labelkeep", Self::LabelKeep),
        ("lowercase", Self::Lowercase),
        ("uppercase", Self::Uppercase),
    ];
}

/// One rule, checked.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) action: Action,
    pub(crate) source_labels: Vec<String>,
    pub(crate) separator: String,
    pub(crate) regex: Pattern,
    pub(crate) modulus: u64,
    pub(crate) target_label: Template,
    pub(crate) replacement: Template,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        let own = (&self.action, &self.source_labels, &self.separator, &self.regex.text, &self.modulus);
        let others =
            (&other.action, &other.source_labels, &other.separator, &other.regex.text, &other.modulus);
        own == others && self.target_label == other.target_label && self.replacement == other.replacement
    }
}

/// A regular expression that matches whole texts.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > limits::PATTERN_BYTES_MAX {
            return Err(format!("has {} bytes (limit {})", text.len(), limits::PATTERN_BYTES_MAX));
        }
        let compiled = |text: &str| {
            RegexBuilder::new(text)
                .size_limit(limits::REGEX_BYTES_MAX)
                .dfa_size_limit(limits::REGEX_BYTES_MAX)
                .build()
                .map_err(|error| format!("is no regular expression: {}", one_line(&error.to_string())))
        };
        // By itself first: `a)(b` is none, though it would become one within the parentheses below.
        compiled(text)?;
        Ok(Self { text: text.to_owned(), regex: compiled(&format!("^(?s:{text})$"))? })
    }
}

/// The last line of a message of several, which says what is wrong.
fn one_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default().trim_start_matches("error: ")
}

/// Why labels cannot be relabelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RelabelError {
    #[error("rule {rule} of relabel_configs makes more than {} labels", limits::RELABELLED_MAX)]
    Labels { rule: usize },
    #[error("rule {rule} of relabel_configs makes a value of more than {} bytes", limits::VALUE_BYTES_MAX)]
    Value { rule: usize },
}

/// Applies rules in their order. `false` when the target is dropped.
pub(crate) fn relabel(labels: &mut Labels, rules: &[Rule]) -> Result<bool, RelabelError> {
    for (position, rule) in rules.iter().enumerate() {
        if !apply(labels, rule, position + 1)? {
            return Ok(false);
        }
        if labels.len() > limits::RELABELLED_MAX {
            return Err(RelabelError::Labels { rule: position + 1 });
        }
    }
    Ok(true)
}

fn apply(labels: &mut Labels, rule: &Rule, number: usize) -> Result<bool, RelabelError> {
    let regex = &rule.regex.regex;
    match rule.action {
        Action::Replace => replace(labels, rule, number)?,
        Action::Keep => return Ok(regex.is_match(&joined(labels, rule))),
        Action::Drop => return Ok(!regex.is_match(&joined(labels, rule))),
        Action::KeepEqual => return Ok(value(labels, rule) == joined(labels, rule)),
        Action::DropEqual => return Ok(value(labels, rule) != joined(labels, rule)),
        Action::HashMod => {
            let digest = md5::md5(joined(labels, rule).as_bytes());
            let [.., a, b, c, d, e, f, g, h] = digest;
            let hash = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
            set_target(labels, rule, number, (hash % rule.modulus.max(1)).to_string())?;
        }
        Action::Lowercase => set_target(labels, rule, number, joined(labels, rule).to_lowercase())?,
        Action::Uppercase => set_target(labels, rule, number, joined(labels, rule).to_uppercase())?,
        Action::LabelMap => label_map(labels, rule, number)?,
        Action::LabelDrop => labels.retain(|name, _| !regex.is_match(name)),
        Action::LabelKeep => labels.retain(|name, _| regex.is_match(name)),
    }
    Ok(true)
}

/// Values of the source labels with the separator between them.
fn joined<'a>(labels: &'a Labels, rule: &Rule) -> Cow<'a, str> {
    let one = |name: &String| labels.get(name).map_or("", String::as_str);
    match rule.source_labels.as_slice() {
        [] => Cow::Borrowed(""),
        [name] => Cow::Borrowed(one(name)),
        names => Cow::Owned(names.iter().map(one).collect::<Vec<_>>().join(&rule.separator)),
    }
}

fn value<'a>(labels: &'a Labels, rule: &Rule) -> &'a str {
    rule.target_label.constant().and_then(|name| labels.get(name)).map_or("", String::as_str)
}

fn set_target(labels: &mut Labels, rule: &Rule, number: usize, value: String) -> Result<(), RelabelError> {
    if value.len() > limits::VALUE_BYTES_MAX {
        return Err(RelabelError::Value { rule: number });
    }
    // Checked when the rule was read: of these actions the name is a constant.
    if let Some(name) = rule.target_label.constant() {
        set(labels, name.to_owned(), value);
    }
    Ok(())
}

/// An empty value means that the label is not there.
fn set(labels: &mut Labels, name: String, value: String) {
    if value.is_empty() {
        labels.remove(&name);
    } else {
        labels.insert(name, value);
    }
}

fn replace(labels: &mut Labels, rule: &Rule, number: usize) -> Result<(), RelabelError> {
    let (name, value) = {
        let joined = joined(labels, rule);
        let Some(captures) = rule.regex.regex.captures(&joined) else { return Ok(()) };
        let too_long = RelabelError::Value { rule: number };
        let name = rule.target_label.expand(&captures, limits::VALUE_BYTES_MAX).ok_or(too_long.clone())?;
        let value = rule.replacement.expand(&captures, limits::VALUE_BYTES_MAX).ok_or(too_long)?;
        (name, value)
    };
    if is_label_name(&name) {
        set(labels, name, value);
    }
    Ok(())
}

fn label_map(labels: &mut Labels, rule: &Rule, number: usize) -> Result<(), RelabelError> {
    let mut added = Vec::new();
    for (name, value) in labels.iter() {
        let Some(captures) = rule.regex.regex.captures(name) else { continue };
        let renamed = rule.replacement.expand(&captures, limits::VALUE_BYTES_MAX);
        added.push((renamed.ok_or(RelabelError::Value { rule: number })?, value.clone()));
    }
    for (name, value) in added {
        if is_label_name(&name) {
            set(labels, name, value);
        }
    }
    Ok(())
}

/// Any text of a sensible length without control characters: dots, dashes and other scripts are names here, as in pushes.
pub(crate) fn is_label_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= limits::LABEL_NAME_BYTES_MAX && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
