//! Frames of a log file.
//!
//! ```text
//! file header (24 bytes):  "EVERFLOG" · version u32 · generation u64 · crc32c u32 of the 20 bytes before
//! frame:                   "Rec1" · length u32 · raw length u32 · sequence u64 · crc32c u32 · payload
//! ```
//!
//! Numbers are little-endian. The checksum covers length, raw length, sequence and payload. The payload is a zstd frame
//! of `raw length` bytes. The word in front lets a reader find the next frame behind damage.

use crate::partition::Damaged;

/// First bytes of a log file.
const MAGIC: &[u8; 8] = b"EVERFLOG";
/// Version that is written; others are refused.
const VERSION: u32 = 1;
/// Bytes of the file header.
pub(super) const FILE_HEADER_LENGTH: usize = 24;
/// First bytes of a frame.
pub(super) const FRAME_MAGIC: &[u8; 4] = b"Rec1";
/// Bytes of a frame before its payload.
pub(super) const FRAME_HEADER_LENGTH: usize = 24;

/// The header of a file.
pub(super) fn file_header(generation: u64) -> [u8; FILE_HEADER_LENGTH] {
    let mut header = [0; FILE_HEADER_LENGTH];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&generation.to_le_bytes());
    let checksum = crc32c::crc32c(&header[..20]);
    header[20..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Checks the header of a file and returns its generation.
pub(super) fn read_file_header(bytes: &[u8]) -> Result<u64, Damaged> {
    let Some(header) = bytes.first_chunk::<FILE_HEADER_LENGTH>() else {
        return Err(Damaged("header cut short"));
    };
    if &header[..8] != MAGIC {
        return Err(Damaged("header is not that of a log"));
    }
    if word(header, 20) != crc32c::crc32c(&header[..20]) {
        return Err(Damaged("header checksum"));
    }
    if word(header, 8) != VERSION {
        return Err(Damaged("log version"));
    }
    Ok(long(header, 12))
}

/// Appends a frame.
pub(super) fn write_frame(out: &mut Vec<u8>, sequence: u64, raw_length: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    debug_assert_eq!(length as usize, payload.len());
    let start = out.len();
    out.extend_from_slice(FRAME_MAGIC);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&raw_length.to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&out[start + 4..]), payload);
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(payload);
}

/// A file with these records as they are, numbered from 1 on.
pub(crate) fn file_of(generation: u64, records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = file_header(generation).to_vec();
    for (sequence, record) in (1..).zip(records) {
        write_frame(&mut file, sequence, 0, record);
    }
    file
}

/// A whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) sequence: u64,
    pub(super) raw_length: u32,
    pub(super) payload: &'a [u8],
}

impl Frame<'_> {
    /// Bytes of the frame in the file.
    pub(super) fn length(&self) -> usize {
        FRAME_HEADER_LENGTH + self.payload.len()
    }
}

/// The frame at the front of `bytes`; `None` where there is no whole and undamaged one.
pub(super) fn read_frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let header = bytes.first_chunk::<FRAME_HEADER_LENGTH>()?;
    if &header[..4] != FRAME_MAGIC {
        return None;
    }
    let length = usize::try_from(word(header, 4)).ok()?;
    let payload = bytes[FRAME_HEADER_LENGTH..].get(..length)?;
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&header[4..20]), payload);
    (checksum == word(header, 20)).then(|| Frame {
        sequence: long(header, 12),
        raw_length: word(header, 8),
        payload,
    })
}

fn word(bytes: &[u8], offset: usize) -> u32 {
    bytes[offset..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8], offset: usize) -> u64 {
    bytes[offset..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_and_every_flipped_bit_is_noticed() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, 9, 100, b"payload");
        let frame = Frame { sequence: 9, raw_length: 100, payload: b"payload" };
        assert_eq!(read_frame(&bytes), Some(frame));
        assert!((0..bytes.len()).all(|length| read_frame(&bytes[..length]).is_none()));
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_frame(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn file_headers_say_their_generation() {
        let header = file_header(3);
        assert_eq!(read_file_header(&header), Ok(3));
        for bit in 0..header.len() * 8 {
            let mut damaged = header;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read_file_header(&damaged).is_err(), "bit {bit}");
        }
    }
}
