//! Finds the folder of shared test data, which is beside the checkout on some machines and absent on others.

use std::path::PathBuf;

/// The shared folder: `EVERFLAME_SHARED`, else `../shared` beside the checkout; `None` where neither is there.
#[must_use]
pub fn shared_dir() -> Option<PathBuf> {
    let candidate = std::env::var_os("EVERFLAME_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    candidate.join("corpus").is_dir().then_some(candidate)
}

/// The shared folder, or a line on stderr that says which test was skipped without it.
#[must_use]
pub fn skip_without_shared(test: &str) -> Option<PathBuf> {
    let found = shared_dir();
    if found.is_none() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: {test} needs the shared corpus, which is not on this machine");
        }
    }
    found
}
