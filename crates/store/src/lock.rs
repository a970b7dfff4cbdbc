//! One data folder, one process (D21).
//!
//! The lock is the system's lock on a file in the data folder, so it goes with its holder however that ends. The file
//! names the holder for the second process's error; its text decides nothing.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

use crate::StoreError;

/// Name of the lock file in the data folder.
pub const LOCK_FILE: &str = "lock";

/// Holds a data folder until it is dropped.
#[derive(Debug)]
pub struct FolderLock {
    /// Dropping the file gives the lock back.
    _file: File,
}

impl FolderLock {
    /// Takes the folder, which must be there.
    ///
    /// # Errors
    /// [`StoreError::Locked`] names the process that has it.
    pub fn acquire(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(LOCK_FILE);
        let failed = |error: io::Error| StoreError::Io {
            what: format!("lock file {}", path.display()),
            reason: error.to_string(),
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(locked(folder, &mut file)),
            Err(error) => return Err(failed(error.into())),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn locked(folder: &Path, file: &mut File) -> StoreError {
    let mut text = String::new();
    // A holder that has not written its number yet leaves the text empty.
    let read = file.take(32).read_to_string(&mut text);
    let number = read.ok().and_then(|_| text.trim().parse::<u32>().ok());
    let holder = number.map_or_else(|| "unknown".to_owned(), |number| number.to_string());
    StoreError::Locked { folder: folder.display().to_string(), holder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_holder_hears_who_has_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let held = FolderLock::acquire(folder.path()).unwrap();
        let error = FolderLock::acquire(folder.path()).unwrap_err();
        let StoreError::Locked { holder, .. } = &error else { panic!("{error}") };
        assert_eq!(*holder, std::process::id().to_string());
        drop(held);
        FolderLock::acquire(folder.path()).unwrap();
    }
}
