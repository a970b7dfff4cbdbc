//! The profile name (`process_cpu`, `memory`, …) of a pushed profile.
//!
//! Where the client does not say one, it is read off the sample types by Pyroscope's rule for `/ingest`, so that
//! profiles of one kind have one name whichever way they came.

use std::collections::BTreeMap;

use profile::Profile;

use crate::{ApiError, limits};

/// How a push gets its profile name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// The client's protocol says it.
    Given(String),
    /// The label `__name__`, which must be there.
    Label,
    /// The label `__name__`, else the sample types with the usual display names.
    LabelOrSampleTypes,
    /// The sample types with the client's own display names (multipart `sample_type_config`).
    SampleTypes(BTreeMap<String, String>),
}

/// Display names that the rule assumes where the client sends none.
const DISPLAY_NAMES: [(&str, &str); 4] = [
    ("samples", "cpu"),
    ("goroutine", "goroutines"),
    ("contentions", "mutex_count"),
    ("delay", "mutex_duration"),
];

/// Finds the name.
///
/// # Errors
/// 400 when a required name is missing or not acceptable.
pub fn profile_name(rule: &NameRule, label: Option<&str>, profile: &Profile<'_>) -> Result<String, ApiError> {
    let name = match (rule, label) {
        (NameRule::Given(name), _) => name.clone(),
        (NameRule::Label | NameRule::LabelOrSampleTypes, Some(label)) => {
            label.strip_prefix("godeltaprof_").unwrap_or(label).to_owned()
        }
        (NameRule::Label, None) => {
            return Err(ApiError::invalid("label \"__name__\"", "is required: it names the profile"));
        }
        (NameRule::LabelOrSampleTypes, None) => from_sample_types(profile, |kind| {
            DISPLAY_NAMES.iter().find(|(known, _)| *known == kind).map(|(_, display)| *display)
        }),
        (NameRule::SampleTypes(display), _) => {
            from_sample_types(profile, |kind| display.get(kind).map(String::as_str))
        }
    };
    check(&name)?;
    Ok(name)
}

/// Whether a text can be the first part of a profile type.
fn check(name: &str) -> Result<(), ApiError> {
    let field = "profile name";
    if name.is_empty() {
        return Err(ApiError::invalid(field, "is empty"));
    }
    if name.len() > limits::PROFILE_NAME_BYTES_MAX {
        let limit = limits::PROFILE_NAME_BYTES_MAX;
        return Err(ApiError::invalid(field, format!("has {} bytes (limit {limit})", name.len())));
    }
    match name.char_indices().find(|(_, character)| *character == ':' || character.is_control()) {
        Some((position, character)) => {
            Err(ApiError::invalid(field, format!("has the character {character:?} at byte {position}")))
        }
        None => Ok(()),
    }
}

fn from_sample_types<'a>(profile: &Profile<'_>, display: impl Fn(&str) -> Option<&'a str>) -> String {
    let kinds: Vec<_> =
        profile.columns.sample_types.iter().map(|typed| profile.text_of(typed.kind)).collect();
    if kinds.iter().any(|kind| kind == "wall") {
        return "wall".into();
    }
    let mut last = String::from("other");
    for kind in &kinds {
        let shown = display(kind).unwrap_or(kind);
        let known = match shown {
            shown if shown.contains("cpu") => Some("process_cpu"),
            shown if shown.contains("alloc_") || shown.contains("inuse_") => Some("memory"),
            "space" | "objects" => Some("memory"),
            shown if shown.contains("mutex_") => Some("mutex"),
            shown if shown.contains("block_") => Some("block"),
            shown if shown.contains("goroutines") => Some("goroutines"),
            _ => None,
        };
        if let Some(known) = known {
            return known.into();
        }
        if !shown.is_empty() {
            last = shown.replace(':', "_");
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use profile::{Columns, StringIndex, StringRange, ValueType};

    use super::*;

    fn named(kinds: &[&str], rule: &NameRule) -> String {
        let mut columns = Columns::default();
        columns.clear();
        let mut text = Vec::new();
        for kind in kinds {
            let start = u32::try_from(text.len()).unwrap();
            text.extend_from_slice(kind.as_bytes());
            columns.strings.push(StringRange { start, length: u32::try_from(kind.len()).unwrap() });
            let kind = StringIndex(u32::try_from(columns.strings.len() - 1).unwrap());
            columns.sample_types.push(ValueType { kind, unit: StringIndex::EMPTY });
        }
        profile_name(rule, None, &Profile { text: &text, columns: &columns }).unwrap()
    }

    #[test]
    fn names_follow_the_sample_types() {
        let rule = NameRule::LabelOrSampleTypes;
        assert_eq!(named(&["samples", "cpu"], &rule), "process_cpu");
        assert_eq!(named(&["alloc_objects", "inuse_space"], &rule), "memory");
        assert_eq!(named(&["objects", "space"], &rule), "memory");
        assert_eq!(named(&["contentions", "delay"], &rule), "mutex");
        assert_eq!(named(&["goroutine"], &rule), "goroutines");
        assert_eq!(named(&["cpu", "wall"], &rule), "wall");
        assert_eq!(named(&["threadcreate"], &rule), "threadcreate");
        assert_eq!(named(&[], &rule), "other");
        let block = BTreeMap::from([("contentions".to_owned(), "block_count".to_owned())]);
        assert_eq!(named(&["contentions", "delay"], &NameRule::SampleTypes(block)), "block");
    }

    #[test]
    fn c030_the_delta_profilers_prefix_is_no_other_name() {
        let columns = Columns::default();
        let profile = Profile { text: &[], columns: &columns };
        let name = profile_name(&NameRule::Label, Some("godeltaprof_memory"), &profile).unwrap();
        assert_eq!(name, "memory");
        assert!(profile_name(&NameRule::Label, None, &profile).is_err());
        assert!(profile_name(&NameRule::Label, Some("a:b"), &profile).is_err());
    }
}
