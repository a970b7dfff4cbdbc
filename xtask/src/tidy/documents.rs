//! Checks of what is written for people: links lead somewhere, fixtures say how they were made, every dependency has
//! its paragraph, every invariant its guarding test.

use std::{collections::BTreeSet, path::Path};

use super::{Findings, Tree};

/// Links between Markdown files, `[text](target)`, must lead to a file of the checkout, and `#part` to a heading of
/// it. Addresses of other sites are not asked: a check must not need the network.
pub(super) fn links(tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    let known: BTreeSet<&str> = tree.files.iter().map(String::as_str).collect();
    for name in tree.ending(".md") {
        let text = without_code(&tree.read(name)?);
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, part) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { name.to_owned() } else { resolve(name, path) };
            let is_folder = known.iter().any(|file_name| file_name.starts_with(&format!("{file}/")));
            if !known.contains(file.as_str()) && !is_folder {
                findings.push(format!("{name}: link to `{target}`, but there is no `{file}`"));
            } else if !part.is_empty() && file.ends_with(".md") && !anchors(&tree.read(&file)?).contains(part)
            {
                findings.push(format!("{name}: link to `{target}`, but `{file}` has no such heading"));
            }
        }
    }
    Ok(())
}

/// Every folder of recorded profiles has a README.md and a file whose name begins with `recipe`.
pub(super) fn fixtures(tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    let mut folders = BTreeSet::new();
    for file in tree.files.iter().filter_map(|file| file.strip_prefix("fixtures/real/")) {
        match file.split_once('/') {
            Some((folder, _)) => _ = folders.insert(folder),
            None if file == "README.md" => {}
            None => findings.push(format!("fixtures/real/{file}: belongs in a folder with its recipe")),
        }
    }
    for folder in folders {
        let prefix = format!("fixtures/real/{folder}/");
        let inside: Vec<&str> = tree.files.iter().filter_map(|file| file.strip_prefix(&prefix)).collect();
        if !inside.contains(&"README.md") {
            findings.push(format!("{prefix}: has no README.md that says what is known of it"));
        }
        if !inside.iter().any(|file| file.starts_with("recipe")) {
            findings.push(format!("{prefix}: has no `recipe…` that makes it again"));
        }
    }
    Ok(())
}

/// Every crate of others that the root manifest names has its row in docs/dependencies.md.
pub(super) fn dependencies(tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    const PAGE: &str = "docs/dependencies.md";
    let page = tree.read(PAGE)?;
    let manifest: toml::Table =
        tree.read("Cargo.toml")?.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let listed = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(toml::Value::as_table)
        .ok_or("Cargo.toml: no [workspace.dependencies]")?;
    for (name, value) in listed {
        if value.get("path").is_none() && !page.contains(&format!("| `{name}` |")) {
            findings.push(format!(
                "{PAGE}: no row for `{name}`: what for, what else was looked at, licence, cost"
            ));
        }
    }
    Ok(())
}

/// The invariants of ARCHITECTURE.md name the test that guards each, as `path/to/file.rs` `test_name`.
pub(super) fn invariants(tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    const MAP: &str = "ARCHITECTURE.md";
    let mut inside = false;
    for line in tree.read(MAP)?.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            inside = false;
        } else if cells.first() == Some(&"Invariant") {
            inside = true;
        } else if inside && !cells[0].starts_with('-') {
            let words: Vec<&str> = cells.last().unwrap_or(&"").split('`').skip(1).step_by(2).collect();
            let [file, guards @ ..] = words.as_slice() else {
                findings.push(format!("{MAP}: invariant without a guard: {}", cells[0]));
                continue;
            };
            match tree.read(file) {
                Err(reason) => findings.push(format!("{MAP}: {reason}")),
                Ok(text) => {
                    for guard in guards.iter().filter(|guard| !text.contains(&format!("fn {guard}("))) {
                        findings.push(format!("{MAP}: `{file}` has no test `{guard}`"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The text with everything between code fences and backticks removed, where brackets mean something else.
fn without_code(text: &str) -> String {
    let mut out = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            out.extend(line.split('`').step_by(2));
            out.push('\n');
        }
    }
    out
}

/// The targets of `[…](target)` links.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.trim())
}

/// The path of `target` as seen from the file `from`, relative to the root.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = Path::new(from)
        .parent()
        .map_or(Vec::new(), |folder| folder.iter().filter_map(|part| part.to_str()).collect());
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// Names of a file's headings as links spell them: lower case, words joined by dashes, other signs dropped.
fn anchors(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .chars()
                .filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'))
                .flat_map(char::to_lowercase)
                .map(|sign| if sign == ' ' { '-' } else { sign })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code_only() {
        let text = without_code("see [a](b.md) and `[c](d.md)`\n```\n[e](f.md)\n```\n");
        assert_eq!(targets(&text).collect::<Vec<_>>(), ["b.md"]);
    }

    #[test]
    fn paths_are_resolved_from_the_file() {
        assert_eq!(resolve("docs/decisions/README.md", "../api.md"), "docs/api.md");
        assert_eq!(resolve("README.md", "./docs"), "docs");
    }

    #[test]
    fn headings_become_anchors() {
        assert!(anchors("## Where do I change X?\n").contains("where-do-i-change-x"));
    }
}
