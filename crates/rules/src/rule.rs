//! What a rule is: as a person writes it, and checked.
//!
//! A rule is known by its content: metric, selector, groups, function and fixed labels give a digest that is its
//! [`Rule::key`] and the label [`RULE_LABEL`] of all its series. A changed rule is another one with a counter of its own,
//! so no counter ever stands for two questions.

use std::collections::BTreeMap;

use profile::ProfileType;
use query::{CountQuery, Selector};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{RuleError, limits};

/// The label that says which rule a series comes from, as Pyroscope calls it.
pub const RULE_LABEL: &str = "profiles_rule_id";

/// The label, with the value `true`, of the one series of a rule that has what no group of its own was left for.
pub const REST_LABEL: &str = "profiles_rule_rest";

/// A rule as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSpec {
    /// Name of the metric.
    pub metric: String,
    /// Selectors that must all hold, `{service_name="api"}`; one of them names the full profile type.
    pub selectors: Vec<String>,
    /// Labels with a counter for each of their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_by: Vec<String>,
    /// Only stacks with this function (a display name, D41) count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Labels that all series of the rule get.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// A checked rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What callers know it by; stays when the content changes.
    pub id: String,
    /// How often the content changed, from 1 on.
    pub generation: i64,
    /// Whether it comes from the server's rules file.
    pub is_provisioned: bool,
    spec: RuleSpec,
    key: String,
    query: CountQuery,
    /// Names of the labels grouped by as the metric has them, in the query's order.
    group_labels: Vec<String>,
}

impl Rule {
    /// Checks what was written. The id is the content's digest.
    ///
    /// # Errors
    /// Names the field and the reason.
    pub fn new(spec: RuleSpec) -> Result<Self, RuleError> {
        check_metric(&spec.metric)?;
        let selector = parse_selectors(&spec.selectors)?;
        if let Some(function) = spec.function.as_ref().filter(|name| name.len() > limits::FUNCTION_BYTES_MAX)
        {
            return Err(too_long("function", function.len(), limits::FUNCTION_BYTES_MAX));
        }
        if spec.group_by.len() > limits::GROUP_LABELS_MAX {
            let reason = format!("has {} labels (limit {})", spec.group_by.len(), limits::GROUP_LABELS_MAX);
            return Err(RuleError::invalid("group_by", reason));
        }
        // Sorted, so that the order in which they are written does not matter.
        let mut group_by = spec.group_by.clone();
        group_by.sort_unstable();
        let query = CountQuery::new(&selector, &group_by, spec.function.as_deref())?;
        check_labels(&spec.labels)?;
        let mut group_labels: Vec<String> = Vec::new();
        for name in &group_by {
            if name.len() > limits::NAME_BYTES_MAX {
                return Err(too_long("group_by", name.len(), limits::NAME_BYTES_MAX));
            }
            let label = prometheus_name(name);
            if group_labels.contains(&label) || spec.labels.contains_key(&label) || is_reserved(&label) {
                let reason = format!("{name:?} becomes the label {label:?}, which is taken already");
                return Err(RuleError::invalid("group_by", reason));
            }
            group_labels.push(label);
        }
        let key = key_of(&spec, &query);
        Ok(Self { id: key.clone(), generation: 1, is_provisioned: false, spec, key, query, group_labels })
    }

    /// As it was written.
    #[must_use]
    pub fn spec(&self) -> &RuleSpec {
        &self.spec
    }

    /// Digest of the content: 16 letters from a to p.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The type whose column is added up; its unit is the counter's.
    #[must_use]
    pub fn profile_type(&self) -> &ProfileType {
        self.query.profile_type()
    }

    /// What is asked of each profile.
    #[must_use]
    pub fn query(&self) -> &CountQuery {
        &self.query
    }

    pub(crate) fn group_labels(&self) -> &[String] {
        &self.group_labels
    }
}

fn parse_selectors(selectors: &[String]) -> Result<Selector, RuleError> {
    if selectors.is_empty() {
        return Err(RuleError::invalid("selector", "is missing"));
    }
    let bytes = selectors.iter().map(String::len).sum();
    if bytes > limits::SELECTOR_BYTES_MAX {
        return Err(too_long("selector", bytes, limits::SELECTOR_BYTES_MAX));
    }
    let mut all = Selector::default();
    for text in selectors {
        let one = Selector::parse(text)?;
        if let (Some(first), Some(second)) = (all.profile_type(), one.profile_type())
            && first != second
        {
            return Err(RuleError::invalid("selector", "names several profile types"));
        }
        all = all.and(one);
    }
    if all.matchers().len() > query::limits::MATCHERS_MAX {
        let reason = format!("more than {} matchers", query::limits::MATCHERS_MAX);
        return Err(RuleError::invalid("selector", reason));
    }
    Ok(all)
}

fn check_metric(name: &str) -> Result<(), RuleError> {
    if name.len() > limits::NAME_BYTES_MAX {
        return Err(too_long("metric_name", name.len(), limits::NAME_BYTES_MAX));
    }
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b':';
    let is_name = name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit());
    if is_name {
        return Ok(());
    }
    let reason = format!("{name:?} is no name of a metric (letters, digits, _ and :, no digit first)");
    Err(RuleError::invalid("metric_name", reason))
}

fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), RuleError> {
    if labels.len() > limits::EXTERNAL_LABELS_MAX {
        let reason = format!("has {} labels (limit {})", labels.len(), limits::EXTERNAL_LABELS_MAX);
        return Err(RuleError::invalid("external_labels", reason));
    }
    for (name, value) in labels {
        if name.len() > limits::NAME_BYTES_MAX {
            return Err(too_long("external_labels", name.len(), limits::NAME_BYTES_MAX));
        }
        if name.is_empty() || prometheus_name(name) != *name || is_reserved(name) {
            let reason =
                format!("{name:?} is no label name (letters, digits and _, no digit first, not __…)");
            return Err(RuleError::invalid("external_labels", reason));
        }
        if value.len() > limits::VALUE_BYTES_MAX {
            return Err(too_long("external_labels", value.len(), limits::VALUE_BYTES_MAX));
        }
        if value.is_empty() {
            return Err(RuleError::invalid("external_labels", format!("the value of {name:?} is empty")));
        }
    }
    Ok(())
}

fn too_long(field: &str, bytes: usize, limit: usize) -> RuleError {
    RuleError::invalid(field, format!("has {bytes} bytes (limit {limit})"))
}

/// Names that are ours or Prometheus's own.
fn is_reserved(label: &str) -> bool {
    label.starts_with("__") || label == RULE_LABEL || label == REST_LABEL
}

/// A label's name as Prometheus takes it: what is no letter, digit or `_` becomes `_`.
fn prometheus_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut label: String = name.chars().map(plain).collect();
    if label.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) {
        label.insert(0, '_');
    }
    label
}

/// The content as one text of which equal questions have the same; ids on disk depend on it.
fn key_of(spec: &RuleSpec, query: &CountQuery) -> String {
    let matchers = query.matchers().iter().filter(|matcher| matcher.name() != "__profile_type__");
    let mut matchers: Vec<String> = matchers.map(ToString::to_string).collect();
    matchers.sort_unstable();
    matchers.dedup();
    let parts = (
        &spec.metric,
        query.profile_type().to_string(),
        matchers,
        query.group_by(),
        query.function(),
        &spec.labels,
    );
    // Strings, lists and maps with text keys always have a JSON form.
    let text = serde_json::to_string(&parts).unwrap_or_default();
    // Letters alone, as Pyroscope's clients expect of an id.
    format!("{:016x}", xxh3_64(text.as_bytes()))
        .bytes()
        .map(|digit| {
            char::from(if digit.is_ascii_digit() { digit - b'0' + b'a' } else { digit - b'a' + b'k' })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> RuleSpec {
        RuleSpec {
            metric: "profiles_recorded_cpu".into(),
            selectors: vec![
                r#"{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds",service_name="a"}"#.into(),
            ],
            ..RuleSpec::default()
        }
    }

    fn refused(change: impl FnOnce(&mut RuleSpec)) -> String {
        let mut changed = spec();
        change(&mut changed);
        Rule::new(changed).unwrap_err().to_string()
    }

    #[test]
    fn equal_questions_have_one_key_and_changed_ones_another() {
        let key = |change: &dyn Fn(&mut RuleSpec)| {
            let mut changed = spec();
            change(&mut changed);
            Rule::new(changed).unwrap().key().to_owned()
        };
        let plain = key(&|_| {});
        assert_eq!(plain.len(), 16);
        assert!(plain.bytes().all(|byte| (b'a'..=b'p').contains(&byte)), "{plain}");
        let split = [r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{}"#, r#"{service_name="a"}"#];
        assert_eq!(key(&|spec| spec.selectors = split.map(Into::into).to_vec()), plain);
        let by = |names: [&str; 2]| key(&|spec| spec.group_by = names.map(Into::into).to_vec());
        assert_eq!(by(["pod", "zone"]), by(["zone", "pod"]));
        let others = [
            by(["pod", "zone"]),
            key(&|spec| spec.metric.push('s')),
            key(&|spec| spec.function = Some("f".into())),
            key(&|spec| drop(spec.labels.insert("team".into(), "x".into()))),
            key(&|spec| spec.selectors[0] = spec.selectors[0].replace("\"a\"", "\"b\"")),
        ];
        for (position, other) in others.iter().enumerate() {
            assert!(*other != plain && !others[..position].contains(other));
        }
    }

    #[test]
    fn keys_on_disk_stay_as_they_are() {
        assert_eq!(Rule::new(spec()).unwrap().key(), "jjeecnkmnpbhacjp");
    }

    #[test]
    fn hostile_rules_are_refused_by_field() {
        let long = |bytes: usize| "x".repeat(bytes);
        for name in ["", "1a", "a-b", "a b", "ä", "a{}", "a\n"] {
            assert!(refused(|spec| spec.metric = name.into()).starts_with("metric_name: "), "{name:?}");
        }
        assert!(refused(|spec| spec.metric = long(201)).contains("201 bytes (limit 200)"));
        assert!(refused(|spec| spec.selectors.clear()).starts_with("selector: is missing"));
        assert!(refused(|spec| spec.selectors.push("{a=~\"(\"}".into())).starts_with("selector: "));
        assert!(
            refused(|spec| spec.selectors.push("{a=~\"((a{100}){100}){100}\"}".into())).contains("compiled")
        );
        assert!(
            refused(|spec| spec.selectors.push(format!("{{a=\"{}\"}}", long(9_000)))).contains("limit 8192")
        );
        assert!(refused(|spec| spec.selectors.push("{".into())).starts_with("selector: "));
        assert!(refused(|spec| spec.selectors = vec!["{a=\"b\"}".into()]).contains("names no profile type"));
        assert!(refused(|spec| spec.function = Some(long(5_000))).starts_with("function: "));
        assert!(refused(|spec| spec.function = Some(String::new())).starts_with("function: "));
        assert!(refused(|spec| spec.group_by = vec!["a.b".into(), "a-b".into()]).contains("taken already"));
        assert!(refused(|spec| spec.group_by = vec![RULE_LABEL.into()]).starts_with("group_by: "));
        assert!(refused(|spec| spec.group_by = vec!["..x".into()]).contains("\"__x\""));
        assert!(
            refused(|spec| spec.group_by = (0..17).map(|n| format!("l{n}")).collect()).contains("limit 16")
        );
        for name in ["", "1", "a-b", "__name__", "profiles_rule_rest"] {
            let text = refused(|spec| drop(spec.labels.insert(name.into(), "x".into())));
            assert!(text.starts_with("external_labels: "), "{text}");
        }
        assert!(refused(|spec| drop(spec.labels.insert("a".into(), long(2_000)))).contains("limit 1024"));
    }
}
