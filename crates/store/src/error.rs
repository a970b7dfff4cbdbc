//! Why the store could not do its work. A refused push has an error of its own, [`crate::PushError`].

/// Why the store could not do its work.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the data folder (D21).
    #[error("{folder} is in use by process {holder}; stop it or choose another --data-dir")]
    Locked {
        /// The folder.
        folder: String,
        /// Process id or "unknown".
        holder: String,
    },
    /// Reading or writing failed.
    #[error("{what}: {reason}")]
    Io {
        /// File or step.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// Something beside the profiles could not be kept, as on a full disk; what was there is still there.
    #[error("{what} was not kept: {reason}")]
    NotKept {
        /// File.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// Stored bytes are damaged.
    #[error(transparent)]
    Block(#[from] block::BlockError),
    /// Closed while waiting.
    #[error("the store is closing")]
    Closing,
}
