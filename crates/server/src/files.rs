//! The process's file descriptors and scratch folder.

use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard one: each connection is one, and 1,024 are soon used up (C102).
pub(crate) fn raise_open_files_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, current = ?limit.current, "open files limit could not be raised");
    }
}

/// Lets libraries that want temporary files make them under the data folder: `/tmp` may be small or not there (C109).
pub(crate) fn keep_scratch_in(data_dir: &Path) {
    let folder = data_dir.join("scratch");
    if let Err(error) = std::fs::create_dir_all(&folder) {
        tracing::warn!(%error, "no scratch folder");
        return;
    }
    // An earlier server of the same process has set it already; its folder will do.
    let _ = tempfile::env::override_temp_dir(&folder);
}
