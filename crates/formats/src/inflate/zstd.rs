//! zstd frames, back to back, streamed.

use std::io::Read;

use super::{Buffer, inflated_bytes_max, too_large};
use crate::{DecodeError, Limits, limits::ZSTD_WINDOW_LOG_MAX};

/// Output taken from the decoder at once, bytes.
const STEP_BYTES: usize = 128 << 10;

/// Inflates all frames of `body` into the empty `buffer`.
pub(super) fn inflate(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Result<(), DecodeError> {
    let limit = inflated_bytes_max(limits);
    let unusable = |error: std::io::Error| DecodeError::malformed("zstd", error.to_string());
    let mut decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(unusable)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(unusable)?;
    loop {
        let step = STEP_BYTES.min(limit - buffer.length + 1);
        super::gzip::grow_for_step(buffer, step, limit);
        let room = buffer.room(step);
        match decoder.read(&mut room[..step]) {
            Ok(0) => return Ok(()),
            Ok(count) => buffer.length += count,
            Err(error) => {
                let at = body.len() - decoder.get_ref().len();
                let what = match error.kind() {
                    std::io::ErrorKind::UnexpectedEof => "truncated".to_owned(),
                    _ => format!("corrupt ({error})"),
                };
                return Err(DecodeError::malformed("zstd", format!("{what} zstd at byte {at}")));
            }
        }
        if buffer.length > limit {
            return Err(too_large("zstd", limits));
        }
    }
}
