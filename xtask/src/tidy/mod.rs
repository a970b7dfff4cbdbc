//! `cargo xtask tidy`: the rules of the house that a machine can check.
//!
//! Every check collects findings, `file: what is wrong and what to do`; one finding fails the run. A rule that needs
//! an exception has a written way to state it (see each check), there is no list of ignored findings.

mod documents;
mod edges;
mod licences;
mod metadata;
mod sources;

use std::path::{Path, PathBuf};

/// Findings of all checks, each one line.
type Findings = Vec<String>;

/// A check with the name that is printed beside its count.
type Check = (&'static str, fn(&Tree, &mut Findings) -> Result<(), String>);

const CHECKS: &[Check] = &[
    ("crate edges", edges::check),
    ("sources", sources::check),
    ("licences", licences::check),
    ("markdown links", documents::links),
    ("fixtures have recipes", documents::fixtures),
    ("dependencies are explained", documents::dependencies),
    ("invariants have guards", documents::invariants),
    ("generated code", generated),
];

/// The checkout: its root and every file that git knows or would add.
struct Tree {
    root: PathBuf,
    files: Vec<String>,
}

impl Tree {
    /// Lists the checkout that holds this crate.
    fn open() -> Result<Self, String> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .map(Path::to_path_buf)
            .ok_or("the xtask crate has no parent folder")?;
        let output = std::process::Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(&root)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        if !output.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let listing = String::from_utf8(output.stdout).map_err(|error| format!("git ls-files: {error}"))?;
        let mut files: Vec<String> = listing
            .split('\0')
            .filter(|name| !name.is_empty() && root.join(name).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(Self { root, files })
    }

    /// The text of a file of the checkout.
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.root.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// Files whose name ends so.
    fn ending<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.iter().map(String::as_str).filter(move |name| name.ends_with(suffix))
    }
}

/// What `cargo xtask codegen` would write is what is checked in.
fn generated(_tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    findings.extend(crate::codegen::run(&["--check".to_owned()]).err());
    Ok(())
}

/// Runs all checks.
pub(crate) fn run(_arguments: &[String]) -> Result<(), String> {
    let tree = Tree::open()?;
    let mut findings = Findings::new();
    for (name, check) in CHECKS {
        let before = findings.len();
        check(&tree, &mut findings)?;
        let found = findings.len() - before;
        println!("tidy: {name}: {}", if found == 0 { "ok".to_owned() } else { format!("{found} findings") });
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("{} findings", findings.len())) }
}
