//! The pages of `docs/clients` say which version is tested, and by what; here both are held against the lock files and the
//! tests.

use std::collections::BTreeMap;

use super::locked_version;
use crate::support::repository_file;

/// The pages by name, without the index.
fn pages() -> BTreeMap<String, String> {
    let folder = repository_file("docs/clients");
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let pages = files.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .filter(|(name, _)| name != "README")
        .collect()
}

/// Cells of the table at the top of a page, by their heading.
fn said<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let start = format!("| {heading} | ");
    page.lines().filter_map(|line| line.strip_prefix(start.as_str())?.strip_suffix(" |")).collect()
}

#[test]
fn every_client_has_its_page_in_the_index() {
    let index = std::fs::read_to_string(repository_file("docs/clients/README.md")).unwrap();
    let pages = pages();
    let wanted = [
        "alloy", "cron", "curl", "dotnet", "ebpf", "go", "grafana", "java", "node", "python", "ruby", "rust",
    ];
    assert_eq!(pages.keys().map(String::as_str).collect::<Vec<_>>(), wanted);
    for (name, page) in &pages {
        assert!(index.contains(&format!("({name}.md)")), "{name} is not in the index");
        assert!(page.contains(" to change\n"), "{name}");
        assert!(page.contains("\n## Seeing that it "), "{name}");
        assert!(page.contains("\n## Pitfalls\n"), "{name}");
    }
}

#[test]
fn every_page_names_a_test_that_is_there() {
    for (name, page) in pages() {
        let version = said(&page, "Version");
        assert_eq!(version.len(), 1, "{name} names one version");
        let tests = said(&page, "Tested by");
        assert!(!tests.is_empty(), "{name} names its test");
        for test in tests {
            let parts: Vec<&str> = test.split('`').collect();
            let [_, file, _, function, _] = parts.as_slice() else {
                panic!("{name}: no `FILE` `TEST` in {test}")
            };
            let source = std::fs::read_to_string(repository_file(file)).unwrap();
            assert!(source.contains(&format!("#[test]\nfn {function}()")), "{name}: no {function} in {file}");
            let built = version[0].contains("built, not recorded");
            assert_eq!(built, function.ends_with("_built_not_recorded"), "{name}: {test}");
        }
    }
}

#[test]
fn pages_name_the_versions_of_the_lock_files() {
    let pages = pages();
    for (name, client, sdk) in [
        ("go", "go-push", "`github.com/grafana/pyroscope-go`"),
        ("python", "python-push", "`pyroscope-io`"),
        ("node", "node-push", "`@pyroscope/nodejs`"),
        ("rust", "rust-push", "`pyroscope`"),
    ] {
        let version = locked_version(client);
        assert!(version.split('.').count() == 3, "{client}: {version}");
        let said = said(&pages[name], "Version")[0];
        assert!(said.starts_with(&format!("{sdk} {version}")), "{name}: {said}, but {version} is locked");
    }
    // The agent that was recorded, by what it said itself.
    let recorded = String::from_utf8_lossy(&testkit::fixture("java-agent/itimer.http")).into_owned();
    let version =
        recorded.split_once("otel.scope.version%3D").unwrap().1.split('%').next().unwrap().to_owned();
    assert_eq!(said(&pages["java"], "Version"), [format!("`io.pyroscope:agent` {version}")]);
}
