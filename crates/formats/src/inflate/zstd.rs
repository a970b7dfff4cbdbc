//! zstd frames, back to back, streamed.

use super::{Buffer, head_of, read_all, room_first};
use crate::{DecodeError, Limits, limits::ZSTD_WINDOW_LOG_MAX};

/// Inflates all frames of `body` into the empty `buffer`.
pub(super) fn inflate(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Result<(), DecodeError> {
    let unusable = |error: std::io::Error| DecodeError::malformed("zstd", error.to_string());
    buffer.fill(room_first(body, usize::MAX), limits, "zstd", |room| {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(unusable)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(unusable)?;
        read_all(&mut decoder, room).map_err(|error| {
            let at = body.len() - decoder.get_ref().len();
            let what = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "truncated".to_owned(),
                _ => format!("corrupt ({error})"),
            };
            DecodeError::malformed("zstd", format!("{what} zstd at byte {at}"))
        })
    })
}

/// The first bytes of the first frame, as far as it can be inflated.
pub(super) fn head(body: &[u8], count: usize) -> Vec<u8> {
    let Ok(mut decoder) = zstd::stream::read::Decoder::with_buffer(body) else { return Vec::new() };
    match decoder.window_log_max(ZSTD_WINDOW_LOG_MAX) {
        Ok(()) => head_of(&mut decoder, count),
        Err(_) => Vec::new(),
    }
}
