//! Errors of reading stored data.

/// Why stored data could not be read. Corruption names the file and what is wrong with it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The bytes are not what the writer wrote.
    #[error("{file}: corrupt {section}: {reason}")]
    Corrupt {
        /// File name within the data folder.
        file: String,
        /// Section or table.
        section: String,
        /// What is wrong.
        reason: String,
    },
    /// The file was written by a newer version.
    #[error("{file}: format version {version} is newer than this program reads ({supported})")]
    Version {
        /// File name within the data folder.
        file: String,
        /// Version found.
        version: u32,
        /// Highest version read.
        supported: u32,
    },
    /// The file went while it was being read, because it was time for it to go.
    #[error("{file}: dropped by retention while it was being read; ask again")]
    Dropped {
        /// File name within the data folder.
        file: String,
    },
    /// Reading failed.
    #[error("{file}: {reason}")]
    Io {
        /// File name within the data folder.
        file: String,
        /// What the system said.
        reason: String,
    },
}
