//! What `cargo metadata` says of the workspace, for the checks that need it.

use serde_json::Value;

use super::Tree;

/// Asks cargo, for the platform that the server runs on: crates for other platforms are never downloaded, and so
/// never looked at.
pub(super) fn load(tree: &Tree, with_dependencies: bool) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(&tree.root);
    if with_dependencies {
        command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    } else {
        command.arg("--no-deps");
    }
    let output = command.output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// A text field, or the empty text.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A list field, or nothing.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}
