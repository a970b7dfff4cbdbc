//! Finds the recorded profiles of this checkout.

use std::path::PathBuf;

/// Where `fixtures/real/NAME` is.
#[must_use]
pub fn fixture_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/real").join(name)
}

/// The bytes of `fixtures/real/NAME`.
///
/// # Panics
/// When there is no such file: the checkout is then incomplete.
#[must_use]
pub fn fixture(name: &str) -> Vec<u8> {
    let path = fixture_path(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
