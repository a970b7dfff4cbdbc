//! gzip: members back to back, padding of zeros behind the last one.

use std::io::Read;

use flate2::bufread::GzDecoder;
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use super::{Buffer, inflated_bytes_max, too_large};
use crate::{DecodeError, Limits};

/// Bytes of the smallest member: header, empty block, trailer.
const MEMBER_BYTES_MIN: usize = 18;

/// Output that is allocated at first whatever the trailer says, bytes.
const FIRST_GUESS_MIN: usize = 64 << 10;

/// Output per input byte that a trailer is believed without proof. Real profiles have 2–5; a body that promises more
/// starts with this much, so that a lie costs no memory.
const BELIEVED_RATIO: usize = 6;

/// Output taken from the streaming decoder at once, bytes.
const STEP_BYTES: usize = 64 << 10;

/// Inflates all members of `body` into the empty `buffer`.
pub(super) fn inflate(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Result<(), DecodeError> {
    if may_have_more_members(body) {
        return inflate_members(body, buffer, limits);
    }
    match inflate_whole(body, buffer, limits) {
        Whole::Done => Ok(()),
        Whole::TooLarge => Err(too_large("gzip", limits)),
        Whole::Unclear => {
            buffer.length = 0;
            inflate_members(body, buffer, limits)
        }
    }
}

/// How the quick way ended.
enum Whole {
    Done,
    TooLarge,
    /// Damage, or something behind the member.
    Unclear,
}

/// Takes `body` for one member. Done only where the last four bytes of the body are the length of the output, so that
/// nothing stands behind the member.
fn inflate_whole(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Whole {
    let Some(stated) = body.last_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)) else {
        return Whole::Unclear;
    };
    let limit = inflated_bytes_max(limits);
    let believed = body.len().saturating_mul(BELIEVED_RATIO).max(FIRST_GUESS_MIN);
    // one byte more than stated: an output that is exactly as long as its buffer is told from one that is longer
    let mut size = usize::try_from(stated).unwrap_or(usize::MAX).saturating_add(1).min(believed).min(limit);
    let mut decompressor = Decompressor::new();
    loop {
        let room = buffer.room(size);
        let end = room.len().min(limit);
        match decompressor.gzip_decompress(body, &mut room[..end]) {
            Ok(length) if u32::try_from(length) == Ok(stated) => {
                buffer.length = length;
                return Whole::Done;
            }
            Ok(_) | Err(DecompressionError::BadData) => return Whole::Unclear,
            Err(DecompressionError::InsufficientSpace) if end >= limit => return Whole::TooLarge,
            Err(DecompressionError::InsufficientSpace) => size = end.saturating_mul(4).min(limit),
        }
    }
}

/// Whether a further member's header may stand somewhere inside: magic, deflate, no reserved flag. Compressed data has
/// these bytes by chance once in some hundred megabytes.
fn may_have_more_members(body: &[u8]) -> bool {
    let Some(inside) = body.get(MEMBER_BYTES_MIN..) else { return false };
    memchr::memmem::find_iter(inside, b"\x1f\x8b\x08")
        .any(|position| inside.get(position + 3).is_some_and(|flags| flags & 0xe0 == 0))
}

/// Inflates member by member and knows where it is.
fn inflate_members(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Result<(), DecodeError> {
    let mut rest = body;
    loop {
        let start = body.len() - rest.len();
        if rest.iter().all(|&byte| byte == 0) && start > 0 {
            return Ok(());
        }
        if start > 0 && !rest.starts_with(&crate::sniff::GZIP_MAGIC) {
            let reason = format!("{} bytes behind the last member, at byte {start}", rest.len());
            return Err(DecodeError::malformed("gzip", reason));
        }
        let mut decoder = GzDecoder::new(rest);
        loop {
            let limit = inflated_bytes_max(limits);
            // one byte beyond the limit is asked for, so that a body of exactly the limit passes
            let step = STEP_BYTES.min(limit - buffer.length + 1);
            grow_for_step(buffer, step, limit);
            let room = buffer.room(step);
            match decoder.read(&mut room[..step]) {
                Ok(0) => break,
                Ok(count) => buffer.length += count,
                Err(error) => {
                    let at = body.len() - decoder.get_ref().len();
                    let what = match error.kind() {
                        std::io::ErrorKind::UnexpectedEof => "truncated",
                        _ => "corrupt",
                    };
                    return Err(DecodeError::malformed("gzip", format!("{what} gzip at byte {at}")));
                }
            }
            if buffer.length > limit {
                return Err(too_large("gzip", limits));
            }
        }
        rest = decoder.into_inner();
    }
}

/// Doubles the memory rather than adding a step at a time, but not beyond the limit.
pub(super) fn grow_for_step(buffer: &mut Buffer, step: usize, limit: usize) {
    let needed = buffer.length + step;
    if buffer.bytes.capacity() < needed {
        let wanted = needed.saturating_mul(2).min(limit.saturating_add(1)).max(needed);
        buffer.room(wanted - buffer.length);
    }
}

/// Compresses with gzip (for pprof downloads).
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut out = vec![0; compressor.gzip_compress_bound(bytes.len())];
    // the bound is what the library needs at most, so it cannot run out of space
    let length = compressor.gzip_compress(bytes, &mut out).unwrap_or(0);
    out.truncate(length);
    out
}
