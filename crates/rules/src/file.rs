//! Rules from a file: TOML, one table `[[rule]]` each. Unknown keys are errors (D25).
//!
//! ```toml
//! [[rule]]
//! metric = "profiles_recorded_checkout_cpu"
//! selector = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="checkout"}'
//! group_by = ["namespace"]
//! function = "main.(*Cart).Total"
//! labels = { team = "shop" }
//! tenant = "anonymous"
//! ```

use std::{collections::BTreeMap, io::Read as _, path::Path};

use profile::Tenant;
use serde::Deserialize;

use crate::{Rule, RuleError, RuleSpec, kept::Kept, limits};

/// A rule of a file and whose it is.
#[derive(Clone, Debug)]
pub struct FileRule {
    /// Whose profiles it counts.
    pub tenant: Tenant,
    /// The rule.
    pub rule: Rule,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    metric: String,
    selector: String,
    #[serde(default)]
    group_by: Vec<String>,
    function: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    tenant: Option<String>,
}

/// Reads and checks a file of rules.
///
/// # Errors
/// A sentence that names the file, the rule and its field; several where several rules are wrong.
pub fn read_file(path: &Path) -> Result<Vec<FileRule>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(limits::FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > limits::FILE_BYTES_MAX {
        return Err(format!("{}: has more than {} bytes", path.display(), limits::FILE_BYTES_MAX));
    }
    parse(&text).map_err(|reasons| {
        let lines: Vec<String> =
            reasons.iter().map(|reason| format!("{}: {reason}", path.display())).collect();
        lines.join("\n")
    })
}

/// What a fuzzer does with one input: as a file of rules, and as what is kept of a rule book, reading ends with an answer
/// or an error.
///
/// # Panics
/// When what was read is not kept as it was, which is what a fuzzer looks for.
pub fn fuzz_rules(bytes: &[u8]) {
    if let Ok(rules) = parse(&String::from_utf8_lossy(bytes)) {
        assert!(rules.len() <= bytes.len());
    }
    let Ok(kept) = Kept::read(bytes) else { return };
    let written = kept.to_bytes();
    assert_eq!(Kept::read(&written).map(|again| again.to_bytes()), Ok(written));
    for rule in kept.rules {
        let _ = rule.into_parts();
    }
}

fn parse(text: &str) -> Result<Vec<FileRule>, Vec<String>> {
    let file: RulesFile =
        toml::from_str(text).map_err(|error| vec![error.to_string().trim_end().to_owned()])?;
    // Before each is compiled and compared with those before it.
    if file.rule.len() > limits::RULES_MAX {
        return Err(vec![format!("{} rules (limit {})", file.rule.len(), limits::RULES_MAX)]);
    }
    let mut rules: Vec<FileRule> = Vec::new();
    let mut wrong = Vec::new();
    for (position, written) in file.rule.into_iter().enumerate() {
        let name = format!("rule {} ({:?})", position + 1, written.metric);
        match check(written) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(rule) => {
                let is_same =
                    |other: &FileRule| other.tenant == rule.tenant && other.rule.key() == rule.rule.key();
                if let Some(same) = rules.iter().position(is_same) {
                    wrong.push(format!("{name}: counts the same as rule {}", same + 1));
                }
                rules.push(rule);
            }
        }
    }
    let mut per_tenant: BTreeMap<&Tenant, usize> = BTreeMap::new();
    rules.iter().for_each(|rule| *per_tenant.entry(&rule.tenant).or_default() += 1);
    let of_tenant = per_tenant.iter().filter(|(_, rules)| **rules > limits::RULES_PER_TENANT_MAX);
    wrong.extend(of_tenant.map(|(tenant, rules)| {
        format!("{rules} rules for tenant {} (limit {})", tenant.as_str(), limits::RULES_PER_TENANT_MAX)
    }));
    if wrong.is_empty() { Ok(rules) } else { Err(wrong) }
}

fn check(written: WrittenRule) -> Result<FileRule, RuleError> {
    let tenant = match &written.tenant {
        None => Tenant::anonymous(),
        Some(name) => Tenant::parse(name).map_err(|error| RuleError::invalid("tenant", error.to_string()))?,
    };
    let rule = Rule::new(RuleSpec {
        metric: written.metric,
        selectors: vec![written.selector],
        group_by: written.group_by,
        function: written.function,
        labels: written.labels,
    })?;
    Ok(FileRule { tenant, rule })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "metric = \"m\"\nselector = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{a=\"b\"}'\n";

    #[test]
    fn a_whole_rule_is_read() {
        let text = format!(
            "[[rule]]\n{GOOD}group_by=[\"pod\"]\nfunction=\"f\"\nlabels={{team=\"x\"}}\ntenant=\"t\""
        );
        let rules = parse(&text).unwrap();
        assert_eq!(rules[0].tenant.as_str(), "t");
        assert_eq!(rules[0].rule.spec().function.as_deref(), Some("f"));
        assert_eq!(rules[0].rule.query().group_by(), ["pod"]);
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn more_rules_than_a_server_takes_are_refused_unread() {
        let text = format!("[[rule]]\n{GOOD}\n").repeat(limits::RULES_MAX + 1);
        assert_eq!(parse(&text).unwrap_err(), ["10001 rules (limit 10000)"]);
    }

    #[test]
    fn every_wrong_rule_is_named() {
        let text = format!("[[rule]]\n{GOOD}\n[[rule]]\n{GOOD}\n[[rule]]\nmetric=\"n\"\nselector=\"{{}}\"\n");
        let wrong = parse(&text).unwrap_err();
        assert_eq!(wrong[0], "rule 2 (\"m\"): counts the same as rule 1");
        assert!(wrong[1].starts_with("rule 3 (\"n\"): selector: names no profile type"), "{wrong:?}");
        for (text, word) in [
            ("[[rule]]\nmetrics=\"m\"", "metrics"),
            ("[rules]", "rules"),
            (&*format!("[[rule]]\n{GOOD}tenant=\"..\""), "tenant"),
            ("[[rule]]\nmetric=\"m\"", "selector"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong[0].contains(word), "{wrong:?}");
        }
    }
}
