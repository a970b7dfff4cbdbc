//! Every crate in the lock file must be under a licence that the program may be shipped with.

use super::{Findings, Tree, metadata};

/// Licences that ask for no more than notice and attribution. Copyleft of any strength is not here on purpose.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    let metadata = metadata::load(tree, true)?;
    for package in metadata::list(&metadata, "packages") {
        let (name, version) = (metadata::text(package, "name"), metadata::text(package, "version"));
        let expression = metadata::text(package, "license");
        if expression.is_empty() {
            findings.push(format!("Cargo.lock: {name} {version} states no licence"));
        } else if !acceptable(expression) {
            findings.push(format!(
                "Cargo.lock: {name} {version} is under `{expression}`, which is not on the list of xtask/src/tidy/licences.rs"
            ));
        }
    }
    Ok(())
}

/// Whether an SPDX expression can be met with allowed licences alone. `AND` binds stronger than `OR`; `/` is the old
/// spelling of `OR`.
fn acceptable(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut position = 0;
    either(&words, &mut position) && position == words.len()
}

fn either(words: &[&str], position: &mut usize) -> bool {
    let mut good = both(words, position);
    while words.get(*position) == Some(&"OR") {
        *position += 1;
        good |= both(words, position);
    }
    good
}

fn both(words: &[&str], position: &mut usize) -> bool {
    let mut good = single(words, position);
    while words.get(*position) == Some(&"AND") {
        *position += 1;
        good &= single(words, position);
    }
    good
}

fn single(words: &[&str], position: &mut usize) -> bool {
    let Some(&word) = words.get(*position) else { return false };
    *position += 1;
    if word == "(" {
        let good = either(words, position);
        *position += 1;
        return good;
    }
    if words.get(*position) == Some(&"WITH") {
        let exception = words.get(*position + 1).copied().unwrap_or_default();
        *position += 2;
        return ALLOWED.contains(&format!("{word} WITH {exception}").as_str());
    }
    ALLOWED.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_good_alternative_is_enough() {
        assert!(acceptable("GPL-3.0 OR MIT"));
        assert!(acceptable("MIT/GPL-2.0"));
    }

    #[test]
    fn every_part_of_a_conjunction_must_be_good() {
        assert!(acceptable("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!acceptable("MIT AND GPL-3.0"));
    }

    #[test]
    fn an_exception_belongs_to_its_licence() {
        assert!(acceptable("Apache-2.0 WITH LLVM-exception"));
        assert!(!acceptable("GPL-2.0 WITH Classpath-exception-2.0"));
    }
}
