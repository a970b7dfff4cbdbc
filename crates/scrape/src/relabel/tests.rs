//! Relabelling, case by case, from `cases.txt`; and that it cannot grow without bounds.

use super::*;
use crate::config::relabel_rules;

fn rules(yaml: &str) -> Vec<Rule> {
    let node = crate::yaml::read(yaml).unwrap();
    relabel_rules(&node, "relabel_configs").unwrap()
}

fn labels(text: &str) -> Labels {
    let pairs = text.lines().map(|line| line.split_once('=').unwrap_or_else(|| panic!("{line:?}")));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn every_case_of_the_file() {
    let text = include_str!("cases.txt");
    let mut count = 0;
    for case in text.split("\n== ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let [yaml, before, after] = rest.split("--\n").collect::<Vec<_>>().try_into().unwrap();
        let mut found = labels(before.trim());
        let is_kept = relabel(&mut found, &rules(yaml)).unwrap();
        match after.trim() {
            "dropped" => assert!(!is_kept, "{title}: {found:?}"),
            after => assert_eq!((is_kept, &found), (true, &labels(after)), "{title}"),
        }
        count += 1;
    }
    assert_eq!(count, text.matches("\n== ").count());
    assert!(count > 20);
}

#[test]
fn labels_and_values_cannot_double_for_ever() {
    let doubling = "- {regex: '(.+)', action: labelmap, replacement: 'x$1'}\n".repeat(40);
    let mut found = labels("a=1\nb=2");
    // a, xa, xxa, …: each rule adds one more generation at least
    let doubled = "- {regex: '(.+)', action: labelmap, replacement: '${1}0'}\n- {regex: '(.+)', action: labelmap, replacement: '${1}1'}\n".repeat(20);
    assert!(relabel(&mut found.clone(), &rules(&doubling)).is_ok());
    assert!(matches!(relabel(&mut found, &rules(&doubled)), Err(RelabelError::Labels { .. })));
    let growing = "- {source_labels: [a], target_label: a, replacement: '$1$1'}\n".repeat(64);
    let mut found = labels("a=xx");
    assert!(matches!(relabel(&mut found, &rules(&growing)), Err(RelabelError::Value { .. })));
    assert!(found["a"].len() <= limits::VALUE_BYTES_MAX);
    let joining = "- {source_labels: [a, a, a, a], target_label: a, action: uppercase}\n".repeat(64);
    assert!(matches!(relabel(&mut labels("a=xx"), &rules(&joining)), Err(RelabelError::Value { .. })));
}

#[test]
fn c089_expressions_are_bounded() {
    assert!(Pattern::parse("(a{1000}){1000}").is_err());
    assert!(Pattern::parse(&"a".repeat(limits::PATTERN_BYTES_MAX + 1)).is_err());
    assert!(Pattern::parse("a)(?:b").is_err());
    assert!(Pattern::parse("(").unwrap_err().contains("no regular expression"));
    let trap = Pattern::parse("(a+)+b").unwrap();
    assert!(!trap.regex.is_match(&"a".repeat(20_000)));
}
