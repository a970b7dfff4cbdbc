//! Data flows down the page: a crate may use the crates that ARCHITECTURE.md's table grants it, and no others.
//!
//! The table is the one whose first heading is `Crate` and whose second is `May use`. Test-only dependencies may also
//! name `testkit` and every crate that the table grants to `testkit`, because they never reach the program.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Tree, metadata};

const MAP: &str = "ARCHITECTURE.md";

/// Allowed edges by crate.
type Edges = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    let allowed = table(&tree.read(MAP)?);
    if allowed.is_empty() {
        findings.push(format!("{MAP}: no table that begins with `| Crate | May use |`"));
        return Ok(());
    }
    let metadata = metadata::load(tree, false)?;
    let members: BTreeSet<&str> =
        metadata::list(&metadata, "packages").map(|package| metadata::text(package, "name")).collect();
    for named in allowed.keys().filter(|name| !members.contains(name.as_str())) {
        findings.push(format!("{MAP}: the crate table has `{named}`, which is no member of the workspace"));
    }
    let test_only = allowed.get("testkit").cloned().unwrap_or_default();
    for package in metadata::list(&metadata, "packages") {
        let name = metadata::text(package, "name");
        let Some(granted) = allowed.get(name) else {
            findings.push(format!("{MAP}: the crate table lacks `{name}`"));
            continue;
        };
        for dependency in metadata::list(package, "dependencies") {
            let used = metadata::text(dependency, "name");
            if !members.contains(used) || granted.contains(used) {
                continue;
            }
            let is_test = metadata::text(dependency, "kind") == "dev";
            if is_test && (used == "testkit" || used == name || test_only.contains(used)) {
                continue;
            }
            findings.push(format!(
                "crates/{name}/Cargo.toml: uses `{used}`, which {MAP} does not allow; move the code or change the table \
                 with a reason"
            ));
        }
    }
    Ok(())
}

/// Reads the crate table: names in backticks in the first and second column.
fn table(map: &str) -> Edges {
    let mut edges = Edges::new();
    let mut inside = false;
    for line in map.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if !line.trim_start().starts_with('|') {
            inside = false;
        } else if cells.first() == Some(&"Crate") && cells.get(1) == Some(&"May use") {
            inside = true;
        } else if inside && cells.len() >= 2 && !cells[0].starts_with('-') {
            for name in quoted(cells[0]) {
                edges.entry(name).or_default().extend(quoted(cells[1]));
            }
        }
    }
    edges
}

/// The words between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_edges() {
        let edges = table(
            "text\n\n| Crate | May use | Owns |\n|---|---|---|\n| `a` | – | x |\n| `b`, `c` | `a` | y |\n\nend",
        );
        assert_eq!(edges.len(), 3);
        assert!(edges["a"].is_empty());
        assert!(edges["c"].contains("a"));
    }

    #[test]
    fn other_tables_grant_nothing() {
        assert!(table("| Word | Meaning |\n|---|---|\n| `a` | `b` |\n").is_empty());
    }
}
