//! How a command ends when it does not end well, and which exit code that is (D28).

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The command line is wrong: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// The work failed: exit code 1. The text says what to do.
    #[error("{0}")]
    Failed(String),
    /// The reader of stdout has gone, as `head` does. Nothing is wrong: exit code 0 and no word.
    #[error("the reader of the output has gone")]
    ReaderGone,
}

impl Failure {
    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
        }
    }

    /// A failed write of data.
    #[must_use]
    pub fn from_write(error: &std::io::Error, target: &str) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        Self::Failed(format!("cannot write to {target}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn exit_codes() {
        assert_eq!(Failure::Usage(String::new()).code(), 2);
        assert_eq!(Failure::Failed(String::new()).code(), 1);
        assert_eq!(Failure::from_write(&Error::from(ErrorKind::BrokenPipe), "stdout").code(), 0);
        assert_eq!(Failure::from_write(&Error::from(ErrorKind::StorageFull), "stdout").code(), 1);
    }
}
