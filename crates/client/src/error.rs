//! Why a request has no answer.

/// Bytes of a URL that the HTTP library sends, and that servers take.
pub(crate) const URL_BYTES_MAX: usize = 65_534;

/// Why a request has no answer. The texts say what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server's address cannot be used.
    #[error("server address {address:?}: {reason}")]
    Address {
        /// As given.
        address: String,
        /// Why.
        reason: &'static str,
    },
    /// Nothing answers there.
    #[error(
        "no server answers at {server} ({reason}); start one with `everflame server`, or name another with --server URL"
    )]
    Unreachable {
        /// The server.
        server: String,
        /// What the system said.
        reason: String,
    },
    /// The server wants a token, or another one.
    #[error("{server} wants a token{}; give it with --token or EVERFLAME_TOKEN", if *given { ", and not the one given" } else { "" })]
    Unauthorized {
        /// The server.
        server: String,
        /// Whether one was given.
        given: bool,
    },
    /// The server has several tenants and was not told whose data is meant.
    #[error("{server} has several tenants; name one with --tenant or EVERFLAME_TENANT")]
    NoTenant {
        /// The server.
        server: String,
    },
    /// The server refused; the text is its own.
    #[error("{server} refused: {message}{}", retry.map(|seconds| format!("; try again in {seconds} s")).unwrap_or_default())]
    Refused {
        /// The server.
        server: String,
        /// HTTP status.
        status: u16,
        /// `invalid_argument`, `not_found`, …; empty where the answer had none.
        code: String,
        /// The parameter that is wrong, or empty.
        field: String,
        /// The server's sentence.
        message: String,
        /// When to try again, seconds.
        retry: Option<u32>,
    },
    /// The answer cannot be read.
    #[error(
        "{server} answered {what} in a way that is not understood: {reason}; is it an Everflame server of this version?"
    )]
    Answer {
        /// The server.
        server: String,
        /// Path of the request.
        what: String,
        /// Why.
        reason: String,
    },
    /// The question is longer than a URL may be.
    #[error(
        "the question has {bytes} bytes as a URL, which may have {URL_BYTES_MAX}; ask for less with a shorter selector"
    )]
    TooLong {
        /// Bytes of the URL.
        bytes: usize,
    },
    /// The token cannot stand in a header.
    #[error("the token holds characters that cannot be sent; it is one line of printable ASCII")]
    Token,
    /// The tenant cannot stand in a header.
    #[error("tenant {tenant:?} holds characters that no tenant has; it is printable ASCII without spaces")]
    Tenant {
        /// As given.
        tenant: String,
    },
}
