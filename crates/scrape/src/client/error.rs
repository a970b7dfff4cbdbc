//! Why nothing was scraped.

/// What kind of failure, a word of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The name was not found, nothing listens, the connection broke.
    Connect,
    /// TLS could not be agreed upon.
    Tls,
    /// It took too long.
    Timeout,
    /// Another status than 200.
    Status,
    /// Redirects without end, or to where they may not lead.
    Redirect,
    /// What came is no HTTP, or ended in the middle.
    Answer,
    /// The answer is too large, or there was no memory for it.
    TooLarge,
    /// A secret or certificate cannot be read.
    Settings,
    /// The profile was not taken in.
    Refused,
}

impl FailureKind {
    /// The word of metrics and of the listing.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::Answer => "answer",
            Self::TooLarge => "too_large",
            Self::Settings => "settings",
            Self::Refused => "refused",
        }
    }
}

/// Why nothing was scraped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ScrapeError {
    /// What kind.
    pub kind: FailureKind,
    /// In words.
    pub text: String,
}

impl ScrapeError {
    /// An error of a kind.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}
