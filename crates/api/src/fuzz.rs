//! The way in for fuzzers: a multipart body as `/ingest` reads it, in pieces as a socket may give it.
//!
//! Called by `tests/fuzz.rs` and `fuzz/` alone. Not here: what is inside of the parts (`formats`).

use axum::body::Body;
use bytes::Bytes;
use futures::{FutureExt as _, stream};

use crate::{ApiError, pyroscope::multipart};

/// What a multipart body gave.
#[derive(Debug, PartialEq, Eq)]
pub struct FuzzedParts {
    /// The part `profile`.
    pub profile: Option<Bytes>,
    /// How many sample types got a display name.
    pub display_names: usize,
}

/// Reads the parts of `body`, which comes in pieces of `piece_bytes`.
///
/// # Errors
/// As a client would be told.
pub fn fuzz_multipart(content_type: &str, body: &[u8], piece_bytes: usize) -> Result<FuzzedParts, ApiError> {
    let pieces: Vec<Result<Bytes, std::io::Error>> =
        body.chunks(piece_bytes.max(1)).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let body = Body::from_stream(stream::iter(pieces));
    // nothing is waited for: all pieces are there
    let read = multipart::read(content_type, body).now_or_never();
    let parts = read.unwrap_or_else(|| Err(ApiError::internal("a body that is all there was waited for")))?;
    Ok(FuzzedParts {
        profile: parts.profile,
        display_names: parts.display_names.map_or(0, |names| names.len()),
    })
}
