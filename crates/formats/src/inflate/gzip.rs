//! gzip: members back to back, padding of zeros behind the last one.

use flate2::bufread::GzDecoder;
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use super::{Buffer, Filled, head_of, read_all, room_first};
use crate::{DecodeError, Limits, sniff::GZIP_MAGIC};

/// Bytes of the smallest member: header, empty block, trailer.
const MEMBER_BYTES_MIN: usize = 18;

/// Inflates all members of `body` into the empty `buffer`.
pub(super) fn inflate(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Result<(), DecodeError> {
    // the length that the trailer states, if the body is one member
    let stated = body.last_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let first = room_first(body, usize::try_from(stated).unwrap_or(usize::MAX));
    let mut decompressor = Decompressor::new();
    let mut is_one_member = !may_have_more_members(body);
    buffer.fill(first, limits, "gzip", |room| {
        if is_one_member {
            match decompressor.gzip_decompress(body, room) {
                // Nothing stands behind the member if the last four bytes of the body are the length of the output.
                Ok(length) if u32::try_from(length) == Ok(stated) => return Ok(Filled::Done(length)),
                Err(DecompressionError::InsufficientSpace) => return Ok(Filled::NeedsMore),
                // damage, or something behind the member
                Ok(_) | Err(DecompressionError::BadData) => is_one_member = false,
            }
        }
        inflate_members(body, room)
    })
}

/// Whether a further member's header may stand somewhere inside: magic, deflate, no reserved flag. Compressed data has
/// these bytes by chance once in some hundred megabytes.
fn may_have_more_members(body: &[u8]) -> bool {
    let Some(inside) = body.get(MEMBER_BYTES_MIN..) else { return false };
    memchr::memmem::find_iter(inside, b"\x1f\x8b\x08")
        .any(|position| inside.get(position + 3).is_some_and(|flags| flags & 0xe0 == 0))
}

/// Inflates member by member and knows where it is.
fn inflate_members(body: &[u8], room: &mut [u8]) -> Result<Filled, DecodeError> {
    let mut rest = body;
    let mut length = 0;
    loop {
        let start = body.len() - rest.len();
        if start > 0 && rest.iter().all(|&byte| byte == 0) {
            return Ok(Filled::Done(length));
        }
        if start > 0 && !rest.starts_with(&GZIP_MAGIC) {
            let reason = format!("{} bytes behind the last member, at byte {start}", rest.len());
            return Err(DecodeError::malformed("gzip", reason));
        }
        let mut decoder = GzDecoder::new(rest);
        match read_all(&mut decoder, &mut room[length..]) {
            Ok(Filled::Done(more)) => length += more,
            Ok(Filled::NeedsMore) => return Ok(Filled::NeedsMore),
            Err(error) => {
                let at = body.len() - decoder.get_ref().len();
                let is_cut = error.kind() == std::io::ErrorKind::UnexpectedEof;
                let what = if is_cut { "truncated" } else { "corrupt" };
                return Err(DecodeError::malformed("gzip", format!("{what} gzip at byte {at}")));
            }
        }
        rest = decoder.into_inner();
    }
}

/// The first bytes of the first member, as far as it can be inflated.
pub(super) fn head(body: &[u8], count: usize) -> Vec<u8> {
    head_of(&mut GzDecoder::new(body), count)
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
