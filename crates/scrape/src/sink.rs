//! Where scraped profiles go.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use profile::Timestamp;

use crate::Target;

/// A profile as a target sent it.
#[derive(Clone, Debug)]
pub struct Scraped {
    /// Whose.
    pub target: Arc<Target>,
    /// Its bytes, as received.
    pub body: Bytes,
    /// When it was asked for.
    pub begun: Timestamp,
}

/// What became of a profile that was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is kept.
    Stored,
    /// It was known already.
    Duplicate,
    /// There was nothing in it.
    Empty,
    /// The first of a series that counts since the start: later ones are held against it.
    Baseline,
}

impl Kept {
    /// The word of metrics and of the listing.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Duplicate => "duplicate",
            Self::Empty => "empty",
            Self::Baseline => "baseline",
        }
    }
}

/// Takes scraped profiles in: a server's store, an agent's spool.
pub trait Sink: Send + Sync + 'static {
    /// Keeps one profile. The future may be dropped at any time.
    ///
    /// # Errors
    /// Why it is not kept, in words.
    fn keep(&self, scraped: Scraped) -> BoxFuture<'_, Result<Kept, String>>;
}
