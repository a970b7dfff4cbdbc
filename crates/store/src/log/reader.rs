//! Reading a log file after a start.
//!
//! A tail that is no whole frame is what a crash leaves behind: it was never acknowledged and is dropped. Damage with
//! whole frames behind it is something else: it is reported with its place, and the frames behind it are used.
//!
//! What lies behind damage is searched for the file's own marker, see [`frame`]. Where both the file header and the
//! first frame are damaged the marker is not known, and all of the file is reported as damaged: to guess it would be to
//! let clients' bytes say what a frame is.

use std::io;

use super::{
    file_name,
    frame::{self, FILE_HEADER_LENGTH, Marker},
};
use crate::{
    disk::{Disk, DiskReader},
    partition::Damaged,
};

/// A part of a log that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogDamage {
    /// The end of the file is no whole frame.
    TornTail {
        /// Where the tail begins.
        offset: u64,
        /// Its bytes.
        length: u64,
    },
    /// Bytes between whole frames, or a file header, are damaged.
    Middle {
        /// Where the damage begins.
        offset: u64,
        /// Bytes up to the next whole frame.
        length: u64,
    },
}

/// A log file in memory.
pub(crate) struct LogFile {
    bytes: Vec<u8>,
    offset: usize,
    /// What frames begin with; `None` where that cannot be known any more.
    marker: Option<Marker>,
    /// Whether the file header was looked at; `offset` does not tell, a file can be empty.
    is_begun: bool,
    decompressor: zstd::bulk::Decompressor<'static>,
    record: Vec<u8>,
}

/// Looks whether a log file has the name that it was written under. One whose header is damaged does not say.
///
/// A copy under another number would be one more generation of the same profiles, and count each of them twice; one under
/// the number of a generation that is done would be removed as if it were that.
pub(crate) fn check_name(disk: &dyn Disk, generation: u64) -> io::Result<()> {
    let reader = disk.open(&file_name(generation))?;
    let mut header = [0; FILE_HEADER_LENGTH];
    if reader.length() < header.len() as u64 {
        return Ok(());
    }
    reader.read_at(0, &mut header)?;
    match frame::generation_in(&header) {
        Some(written) if written != generation => {
            let reason = format!(
                "was written as {}, so it is a copy of that file or was renamed; move a copy out of the data folder, or give \
                 the file its name back where no other has it",
                file_name(written)
            );
            Err(io::Error::new(io::ErrorKind::InvalidData, reason))
        }
        _ => Ok(()),
    }
}

/// Reads a whole log file. One of another version is an error.
pub(crate) fn read_log(disk: &dyn Disk, name: &str) -> io::Result<LogFile> {
    let reader: Box<dyn DiskReader> = disk.open(name)?;
    let length = usize::try_from(reader.length()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    reader.read_at(0, &mut bytes)?;
    if let Some(version) = frame::other_version(&bytes) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, frame::version_reason(version)));
    }
    LogFile::new(bytes)
}

/// What comes next in a log file.
#[derive(Debug)]
pub(crate) enum LogItem<'a> {
    /// A whole record: its number in the log and its bytes.
    Record(u64, &'a [u8]),
    /// A part that cannot be read.
    Damage(LogDamage),
}

impl LogFile {
    /// A file of these bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> io::Result<Self> {
        Ok(Self {
            bytes,
            offset: 0,
            marker: None,
            is_begun: false,
            decompressor: zstd::bulk::Decompressor::new()?,
            record: Vec::new(),
        })
    }

    /// The next record or damage; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<LogItem<'_>> {
        if !self.is_begun {
            self.is_begun = true;
            self.offset = FILE_HEADER_LENGTH.min(self.bytes.len());
            match frame::read_file_header(&self.bytes) {
                Ok(marker) => self.marker = Some(marker),
                Err(Damaged(reason)) => {
                    tracing::debug!(reason, "log header");
                    self.marker = frame::marker_of_first_frame(&self.bytes);
                    let next = self.find_frame(0);
                    return Some(LogItem::Damage(self.damage_up_to(0, next)));
                }
            }
        }
        if self.offset == self.bytes.len() {
            return None;
        }
        let start = self.offset;
        let found = self.marker.and_then(|marker| frame::read_frame(&self.bytes[start..], marker));
        let Some(found) = found else {
            let next = self.find_frame(start + 1);
            return Some(LogItem::Damage(self.damage_up_to(start, next)));
        };
        self.offset += found.length();
        let (sequence, raw_length) = (found.sequence, found.raw_length as usize);
        let payload = start + frame::FRAME_HEADER_LENGTH..self.offset;
        self.record.clear();
        if raw_length == 0 {
            return Some(LogItem::Record(sequence, &self.bytes[payload]));
        }
        // No more than a record may have: a frame that says so is none.
        self.record.reserve(raw_length);
        let inflated = self.decompressor.decompress_to_buffer(&self.bytes[payload], &mut self.record);
        if inflated.is_ok_and(|length| length == raw_length) {
            return Some(LogItem::Record(sequence, &self.record));
        }
        let length = (self.offset - start) as u64;
        Some(LogItem::Damage(LogDamage::Middle { offset: start as u64, length }))
    }

    /// The next whole frame at or behind `from`. Takes time in proportion to what is searched: a payload is only looked
    /// at behind a frame header whose own checksum is right, and such frames do not lie within each other.
    fn find_frame(&self, from: usize) -> Option<usize> {
        let marker = self.marker?;
        let candidates = self.bytes[from..].windows(marker.len()).enumerate();
        candidates
            .filter(|(_, window)| *window == marker)
            .map(|(position, _)| from + position)
            .find(|&position| frame::read_frame(&self.bytes[position..], marker).is_some())
    }

    fn damage_up_to(&mut self, start: usize, next: Option<usize>) -> LogDamage {
        let end = next.unwrap_or(self.bytes.len());
        self.offset = end;
        let (offset, length) = (start as u64, (end - start) as u64);
        // Without a marker there may be whole frames that were not found; a file that was never synced has zeros there.
        let is_lost =
            || self.marker.is_none() && self.bytes.iter().skip(FILE_HEADER_LENGTH).any(|&byte| byte != 0);
        if next.is_some() || is_lost() {
            return LogDamage::Middle { offset, length };
        }
        LogDamage::TornTail { offset, length }
    }
}
