//! The one policy for the labels of a pushed series, on every API (C080–C083).
//!
//! - **Names are kept as sent.** Any UTF-8 is a label name: dots, dashes and other scripts stay, nothing is renamed, so
//!   the name that was sent is the name that is stored and asked for (quoted in selectors: `{"k8s-app"="a"}`). Refused
//!   with 400 are an empty name, control characters, and names or values over the limits.
//! - **Equal twins merge**, one name with two values is refused. `service.name` is another spelling of `service_name`:
//!   it is dropped when both agree and stays a label of its own when they do not.
//! - **An empty value** means that the label is not there, as in every selector.
//! - **Reserved names** (`__…`) are directions to the server, never stored: `__name__` is the profile name, one of them,
//!   `__session_id__` and all others are dropped. `__delta__` changes nothing, because values are stored as sent in
//!   either case (D8, C030, C031).
//! - **`service_name`** is, in this order: `service_name`, `service.name`, `app`, `job`, `container`, else
//!   `unknown_service`. A fall-back is counted as `service_name_defaulted`; the label it was taken from stays.

use profile::{Altered, AlteredReason, LabelError, LabelSet, SERVICE_NAME};

use crate::{ApiError, limits};

/// Where `service_name` comes from when it is not there, first to last.
pub const SERVICE_NAME_FALLBACKS: [&str; 4] = ["service.name", "app", "job", "container"];

/// The service of a series that names none.
pub const UNKNOWN_SERVICE: &str = "unknown_service";

/// What the labels of a series say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesLabels {
    /// Labels to store, `service_name` among them.
    pub labels: LabelSet,
    /// The value of `__name__`.
    pub name: Option<String>,
}

/// Applies the policy to labels as a client sent them.
///
/// # Errors
/// 400 naming the label.
pub fn series_labels(pairs: Vec<(String, String)>, altered: &mut Altered) -> Result<SeriesLabels, ApiError> {
    let mut name = None;
    let mut kept: Vec<(String, String)> = Vec::with_capacity(pairs.len() + 1);
    for (label, value) in pairs {
        check(&label, &value)?;
        if label == "__name__" {
            if let Some(other) = name.replace(value.clone()).filter(|other| *other != value) {
                let message = format!("is given twice ({:?} and {:?})", cut(&other), cut(&value));
                return Err(ApiError::invalid("label \"__name__\"", message));
            }
        } else if !label.starts_with("__") && !value.is_empty() {
            kept.push((label, value));
        }
    }
    let service = value_of(&kept, SERVICE_NAME).map(str::to_owned);
    match service {
        Some(service) => {
            kept.retain(|(label, value)| label != "service.name" || *value != service);
        }
        None => {
            altered.add(AlteredReason::ServiceNameDefaulted, 1);
            let found = SERVICE_NAME_FALLBACKS.iter().find_map(|label| value_of(&kept, label));
            let service = found.unwrap_or(UNKNOWN_SERVICE).to_owned();
            kept.retain(|(label, _)| label != "service.name");
            kept.push((SERVICE_NAME.into(), service));
        }
    }
    let labels = LabelSet::from_pairs(kept).map_err(|error| match &error {
        LabelError::Duplicate { name, .. } => ApiError::invalid(format!("label {name:?}"), error.to_string()),
        _ => ApiError::invalid("labels", error.to_string()),
    })?;
    if labels.len() > limits::LABELS_MAX {
        return Err(ApiError::invalid(
            "labels",
            format!("{} labels are too many for one series (limit {})", labels.len(), limits::LABELS_MAX),
        ));
    }
    Ok(SeriesLabels { labels, name })
}

fn value_of<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
}

fn check(name: &str, value: &str) -> Result<(), ApiError> {
    if name.is_empty() {
        return Err(ApiError::invalid("labels", format!("a label name is empty (value {:?})", cut(value))));
    }
    let field = || format!("label {:?}", cut(name));
    if name.len() > limits::LABEL_NAME_BYTES_MAX {
        let limit = limits::LABEL_NAME_BYTES_MAX;
        return Err(ApiError::invalid(field(), format!("the name has {} bytes (limit {limit})", name.len())));
    }
    if value.len() > limits::LABEL_VALUE_BYTES_MAX {
        let limit = limits::LABEL_VALUE_BYTES_MAX;
        return Err(ApiError::invalid(
            field(),
            format!("the value has {} bytes (limit {limit})", value.len()),
        ));
    }
    if let Some((position, character)) = name.char_indices().find(|(_, character)| character.is_control()) {
        return Err(ApiError::invalid(
            field(),
            format!("the name has the control character {character:?} at byte {position}"),
        ));
    }
    Ok(())
}

/// The beginning of a text, for messages.
fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(pairs: &[(&str, &str)]) -> Result<(String, Altered), ApiError> {
        let mut altered = Altered::default();
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        series_labels(pairs, &mut altered).map(|series| (series.labels.to_string(), altered))
    }

    #[test]
    fn c080_dotted_labels_are_kept_and_equal_twins_merge() {
        let (labels, altered) = apply(&[
            ("label.dot", "v2"),
            ("foo.bar", "v1"),
            ("service.name", "a"),
            ("service_name", "a"),
            ("foo.bar", "v1"),
        ])
        .unwrap();
        assert_eq!(labels, r#"{"foo.bar"="v1","label.dot"="v2",service_name="a"}"#);
        assert!(altered.is_empty());
        let (labels, _) = apply(&[("service.name", "b"), ("service_name", "a")]).unwrap();
        assert_eq!(labels, r#"{"service.name"="b",service_name="a"}"#);
    }

    #[test]
    fn c081_dashes_and_unicode_are_kept() {
        let (labels, _) = apply(&[("k8s-app", "x"), ("温度", "高"), ("service_name", "服务")]).unwrap();
        assert_eq!(labels, r#"{"k8s-app"="x",service_name="服务","温度"="高"}"#);
    }

    #[test]
    fn c083_service_name_fall_back_chain() {
        for (pairs, service) in [
            (vec![("container", "c"), ("job", "j"), ("app", "a")], "a"),
            (vec![("container", "c"), ("job", "j")], "j"),
            (vec![("container", "c")], "c"),
            (vec![("service.name", "s"), ("app", "a")], "s"),
            (vec![("pod", "p")], UNKNOWN_SERVICE),
            (vec![("service_name", ""), ("app", "a")], "a"),
        ] {
            let (labels, altered) = apply(&pairs).unwrap();
            assert!(labels.contains(&format!("service_name=\"{service}\"")), "{labels}");
            assert_eq!(altered.count(AlteredReason::ServiceNameDefaulted), 1);
        }
    }

    #[test]
    fn reserved_names_are_directions() {
        let mut altered = Altered::default();
        let pairs = [
            ("__name__", "process_cpu"),
            ("__session_id__", "1"),
            ("__delta__", "false"),
            ("app", "a"),
            ("__name__", "process_cpu"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let series = series_labels(pairs, &mut altered).unwrap();
        assert_eq!(series.name.as_deref(), Some("process_cpu"));
        assert_eq!(series.labels.to_string(), r#"{app="a",service_name="a"}"#);
    }

    #[test]
    fn limits_and_bad_names_are_refused_by_name() {
        let long = "n".repeat(limits::LABEL_NAME_BYTES_MAX + 1);
        let value = "v".repeat(limits::LABEL_VALUE_BYTES_MAX + 1);
        for pairs in [
            vec![("", "v")],
            vec![("a\nb", "v")],
            vec![(long.as_str(), "v")],
            vec![("pod", value.as_str())],
            vec![("pod", "1"), ("pod", "2")],
            vec![("__name__", "memory"), ("__name__", "process_cpu")],
        ] {
            let error = apply(&pairs).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.field.starts_with("label"), "{error}");
        }
        let many: Vec<(String, String)> =
            (0..=limits::LABELS_MAX).map(|number| (format!("l{number}"), "v".to_owned())).collect();
        assert!(series_labels(many, &mut Altered::default()).is_err());
    }
}
