//! `relabel_configs`: rules that fit their action.

use super::{ConfigError, section::Section, section::texts};
use crate::{
    limits,
    relabel::{Action, Pattern, Rule, Template, is_label_name},
    yaml::{Node, Value},
};

/// Reads a list of rules.
///
/// # Errors
/// Names line and key.
pub(crate) fn relabel_rules(node: &Node, path: &str) -> Result<Vec<Rule>, ConfigError> {
    let nodes: &[Node] = match &node.value {
        Value::List(nodes) => nodes,
        Value::Null => &[],
        _ => return Err(ConfigError::at(node.line, path, format!("is {}, not a list", node.word()))),
    };
    if nodes.len() > limits::RULES_MAX {
        let reason = format!("has {} rules (limit {})", nodes.len(), limits::RULES_MAX);
        return Err(ConfigError::at(node.line, path, reason));
    }
    let rule = |(position, node)| rule(Section::of(node, format!("{path}[{position}]"))?);
    nodes.iter().enumerate().map(rule).collect()
}

fn rule(mut section: Section<'_>) -> Result<Rule, ConfigError> {
    let action = section.read("action", |text| {
        let word = text.to_ascii_lowercase();
        let found = Action::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, action)| *action).ok_or_else(|| {
            let known: Vec<&str> = Action::WORDS.iter().map(|(word, _)| *word).collect();
            format!("{text:?} is none of {}", known.join(", "))
        })
    })?;
    let action = action.unwrap_or(Action::Replace);
    let sources = section.path_of("source_labels");
    let source_labels = section.node("source_labels").map(|node| texts(node, &sources)).transpose()?;
    if source_labels.as_ref().is_some_and(|names| names.len() > limits::SOURCES_MAX) {
        return Err(section.error("source_labels", format!("more than {} labels", limits::SOURCES_MAX)));
    }
    let separator = section.read("separator", |text| match text.len() {
        0..=limits::SEPARATOR_BYTES_MAX => Ok(text.to_owned()),
        length => Err(format!("has {length} bytes (limit {})", limits::SEPARATOR_BYTES_MAX)),
    })?;
    let regex = section.read("regex", Pattern::parse)?;
    let modulus = section.read("modulus", |text| match text.parse() {
        Ok(0) | Err(_) => Err(format!("{text:?} is no whole number of at least 1")),
        Ok(modulus) => Ok(modulus),
    })?;
    let target_label = section.read("target_label", |text| {
        if text.len() > limits::PATTERN_BYTES_MAX { Err(too_long(text)) } else { Ok(Template::parse(text)) }
    })?;
    // Nothing between the quotes is a value here: it removes the label.
    let replacement = match section.entry("replacement") {
        None => None,
        Some(_) => section.read("replacement", |text| {
            if text.len() > limits::PATTERN_BYTES_MAX {
                Err(too_long(text))
            } else {
                Ok(Template::parse(text))
            }
        })?,
    };
    check(
        &section,
        action,
        [
            ("source_labels", source_labels.is_some()),
            ("separator", separator.is_some()),
            ("regex", regex.is_some()),
            ("modulus", modulus.is_some()),
            ("replacement", replacement.is_some()),
            ("target_label", target_label.is_some()),
        ],
    )?;
    let needs_constant = !matches!(action, Action::Replace);
    if let Some(name) = &target_label {
        let is_name = match name.constant() {
            Some(name) => is_label_name(name),
            None => !needs_constant,
        };
        if !is_name {
            return Err(section.error("target_label", "is no label name"));
        }
    }
    section.finish()?;
    let everything = || Pattern::parse("(.*)").map_err(|reason| ConfigError::at(0, "regex", reason));
    Ok(Rule {
        action,
        source_labels: source_labels.unwrap_or_default(),
        separator: separator.unwrap_or_else(|| ";".to_owned()),
        regex: regex.map_or_else(everything, Ok)?,
        modulus: modulus.unwrap_or_default(),
        target_label: target_label.unwrap_or_else(|| Template::parse("")),
        replacement: replacement.unwrap_or_else(|| Template::parse("$1")),
    })
}

fn too_long(text: &str) -> String {
    format!("has {} bytes (limit {})", text.len(), limits::PATTERN_BYTES_MAX)
}

/// Which keys an action needs and which it cannot have, as Prometheus checks them.
fn check(section: &Section<'_>, action: Action, given: [(&str, bool); 6]) -> Result<(), ConfigError> {
    let word = Action::WORDS.iter().find(|(_, known)| *known == action).map_or("", |(word, _)| word);
    let (needed, allowed): (&[&str], &[&str]) = match action {
        Action::Replace => (
            &["target_label"],
            &["source_labels", "separator", "regex", "replacement", "target_label", "modulus"],
        ),
        Action::Keep | Action::Drop => (
            &["source_labels"],
            &["source_labels", "separator", "regex", "replacement", "target_label", "modulus"],
        ),
        Action::KeepEqual | Action::DropEqual => {
            (&["source_labels", "target_label"], &["source_labels", "target_label"])
        }
        Action::HashMod => (
            &["source_labels", "target_label", "modulus"],
            &["source_labels", "separator", "regex", "replacement", "target_label", "modulus"],
        ),
        Action::Lowercase | Action::Uppercase => {
            (&["source_labels", "target_label"], &["source_labels", "separator", "regex", "target_label"])
        }
        Action::LabelMap => {
            (&[], &["source_labels", "separator", "regex", "replacement", "target_label", "modulus"])
        }
        Action::LabelDrop | Action::LabelKeep => (&["regex"], &["regex"]),
    };
    for (name, is_given) in given {
        if is_given && !allowed.contains(&name) {
            return Err(section.error(name, format!("means nothing with action {word}")));
        }
        if !is_given && needed.contains(&name) {
            return Err(section.error(name, format!("is needed by action {word}")));
        }
    }
    Ok(())
}
