//! Frames of a log file.
//!
//! ```text
//! file header (32 bytes):  "EVERFLOG" · version u32 · generation u64 · marker 8 bytes · crc32c u32 of the 28 before
//! frame header (32 bytes): marker 8 bytes · length u32 · raw length u32 · sequence u64
//!                          · crc32c u32 of the 24 before · crc32c u32, which goes on over the payload
//! frame:                   frame header · payload
//! ```
//!
//! Numbers are little-endian. The payload is a zstd frame of `raw length` bytes, or the record itself where that is 0.
//!
//! The marker lets a reader find the next frame behind damage. Payloads hold what clients have sent, so the marker must
//! be one that no client can know: it is drawn anew for every file and is never told to anybody. With a fixed word,
//! whole frames inside of an upload would be taken for ours as soon as the frame around them is damaged.
//!
//! The header's own checksum decides before its length is believed, so a search never reads a payload that is not of a
//! frame that was written here.

use std::hash::{BuildHasher as _, RandomState};

use crate::{limits::LOG_RECORD_BYTES_MAX, partition::Damaged};

/// First bytes of a log file.
const MAGIC: &[u8; 8] = b"EVERFLOG";
/// Version that is written; others are refused.
const VERSION: u32 = 2;
/// Bytes of the file header.
pub(super) const FILE_HEADER_LENGTH: usize = 32;
/// Bytes of the file header that its checksum covers.
const FILE_HEADER_CHECKED: usize = FILE_HEADER_LENGTH - 4;
/// Like [`FILE_HEADER_CHECKED`], of version 1.
const FILE_HEADER_CHECKED_V1: usize = 20;
/// Bytes of a frame before its payload.
pub(super) const FRAME_HEADER_LENGTH: usize = 32;
/// Bytes of a frame header that its first checksum covers.
const FRAME_HEADER_CHECKED: usize = FRAME_HEADER_LENGTH - 8;

/// What frames of one file begin with.
pub(crate) type Marker = [u8; 8];

/// A marker for a new file. The hasher is keyed from the system's randomness, and what a keyed hash answers cannot be
/// told without the key.
pub(super) fn random_marker() -> Marker {
    RandomState::new().hash_one(VERSION).to_le_bytes()
}

/// The header of a file.
pub(super) fn file_header(generation: u64, marker: Marker) -> [u8; FILE_HEADER_LENGTH] {
    let mut header = [0; FILE_HEADER_LENGTH];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&generation.to_le_bytes());
    header[20..28].copy_from_slice(&marker);
    let checksum = crc32c::crc32c(&header[..FILE_HEADER_CHECKED]);
    header[FILE_HEADER_CHECKED..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Checks the header of a file and returns its marker.
pub(super) fn read_file_header(bytes: &[u8]) -> Result<Marker, Damaged> {
    let Some(header) = bytes.first_chunk::<FILE_HEADER_LENGTH>() else {
        return Err(Damaged("header cut short"));
    };
    if &header[..8] != MAGIC {
        return Err(Damaged("header is not that of a log"));
    }
    if !is_checked(header, FILE_HEADER_CHECKED) {
        return Err(Damaged("header checksum"));
    }
    if word(header, 8) != VERSION {
        return Err(Damaged("log version"));
    }
    Ok(marker_at(header, 20))
}

/// The generation that a file was written for; `None` where its header is damaged or of another version.
pub(super) fn generation_in(bytes: &[u8]) -> Option<u64> {
    read_file_header(bytes).is_ok().then(|| long(bytes, 12))
}

/// The version of a file, where its header is whole and says another than the one that is read.
pub(super) fn other_version(bytes: &[u8]) -> Option<u32> {
    let is_whole = |checked: usize| bytes.len() >= checked + 4 && is_checked(bytes, checked);
    let is_log =
        bytes.starts_with(MAGIC) && (is_whole(FILE_HEADER_CHECKED) || is_whole(FILE_HEADER_CHECKED_V1));
    is_log.then(|| word(bytes, 8)).filter(|&version| version != VERSION)
}

/// Why a file of another version is not read.
pub(super) fn version_reason(version: u32) -> String {
    format!(
        "is of log version {version}, and this program reads version {VERSION} alone; start the program that wrote it \
         and stop it in order once its head has been flushed, or move the file away and lose what is in no block yet"
    )
}

fn is_checked(header: &[u8], checked: usize) -> bool {
    word(header, checked) == crc32c::crc32c(&header[..checked])
}

/// Appends a frame.
pub(super) fn write_frame(out: &mut Vec<u8>, marker: Marker, sequence: u64, raw_length: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    debug_assert_eq!(length as usize, payload.len());
    let start = out.len();
    out.extend_from_slice(&marker);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&raw_length.to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    let checksum = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(&crc32c::crc32c_append(checksum, payload).to_le_bytes());
    out.extend_from_slice(payload);
}

/// A file with these records as they are, numbered from 1 on.
pub(crate) fn file_of(generation: u64, marker: Marker, records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = file_header(generation, marker).to_vec();
    for (sequence, record) in (1..).zip(records) {
        write_frame(&mut file, marker, sequence, 0, record);
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

/// The frame at the front of `bytes`; `None` where there is no whole and undamaged one of this marker.
pub(super) fn read_frame(bytes: &[u8], marker: Marker) -> Option<Frame<'_>> {
    let header = bytes.first_chunk::<FRAME_HEADER_LENGTH>()?;
    if marker_at(header, 0) != marker || !is_checked(header, FRAME_HEADER_CHECKED) {
        return None;
    }
    let length = usize::try_from(word(header, 8)).ok()?;
    let raw_length = word(header, 12);
    if usize::try_from(raw_length).ok()? > LOG_RECORD_BYTES_MAX {
        return None;
    }
    let payload = bytes[FRAME_HEADER_LENGTH..].get(..length)?;
    let checksum = crc32c::crc32c_append(word(header, FRAME_HEADER_CHECKED), payload);
    (checksum == word(header, FRAME_HEADER_LENGTH - 4)).then(|| Frame {
        sequence: long(header, 16),
        raw_length,
        payload,
    })
}

/// The marker of a file whose own header is damaged: the one that the first frame begins with, if its header is whole.
/// The first frame's place is fixed, so no client's bytes can lie there.
pub(super) fn marker_of_first_frame(bytes: &[u8]) -> Option<Marker> {
    let header = bytes.get(FILE_HEADER_LENGTH..)?.first_chunk::<FRAME_HEADER_LENGTH>()?;
    is_checked(header, FRAME_HEADER_CHECKED).then(|| marker_at(header, 0))
}

fn marker_at(bytes: &[u8], offset: usize) -> Marker {
    bytes[offset..].first_chunk().copied().unwrap_or_default()
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
        let (mut bytes, marker) = (Vec::new(), random_marker());
        write_frame(&mut bytes, marker, 9, 100, b"payload");
        let frame = Frame { sequence: 9, raw_length: 100, payload: b"payload" };
        assert_eq!(read_frame(&bytes, marker), Some(frame));
        assert_eq!(read_frame(&bytes, random_marker()), None);
        assert!((0..bytes.len()).all(|length| read_frame(&bytes[..length], marker).is_none()));
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_frame(&bytes, marker), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn file_headers_say_their_marker() {
        let marker = random_marker();
        let header = file_header(3, marker);
        assert_eq!((read_file_header(&header), other_version(&header)), (Ok(marker), None));
        assert_eq!(generation_in(&header), Some(3));
        for bit in 0..header.len() * 8 {
            let mut damaged = header;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read_file_header(&damaged).is_err(), "bit {bit}");
            assert_eq!(generation_in(&damaged), None, "bit {bit}");
            assert_eq!(other_version(&damaged), None, "bit {bit}");
        }
        assert_ne!(marker, random_marker());
    }

    #[test]
    fn whole_headers_of_other_versions_are_told_from_damage() {
        let mut first = b"EVERFLOG\x01\0\0\0\x07\0\0\0\0\0\0\0".to_vec();
        first.extend_from_slice(&crc32c::crc32c(&first).to_le_bytes());
        assert_eq!(other_version(&first), Some(1));
        let mut later = file_header(3, random_marker());
        later[8] = 3;
        let checksum = crc32c::crc32c(&later[..FILE_HEADER_CHECKED]);
        later[FILE_HEADER_CHECKED..].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(other_version(&later), Some(3));
        assert!(read_file_header(&later).is_err());
    }
}
