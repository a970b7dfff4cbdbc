//! Reading a log file after a start.
//!
//! A tail that is no whole frame is what a crash leaves behind: it was never acknowledged and is dropped. Damage with
//! whole frames behind it is something else: it is reported with its place, and the frames behind it are used.

use std::io;

use super::frame::{self, FILE_HEADER_LENGTH, FRAME_MAGIC};
use crate::{
    disk::{Disk, DiskReader},
    limits::LOG_RECORD_BYTES_MAX,
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
    /// Whether the file header was looked at; `offset` does not tell, a file can be empty.
    is_begun: bool,
    decompressor: zstd::bulk::Decompressor<'static>,
    record: Vec<u8>,
}

/// Reads a whole log file.
pub(crate) fn read_log(disk: &dyn Disk, name: &str) -> io::Result<LogFile> {
    let reader: Box<dyn DiskReader> = disk.open(name)?;
    let length = usize::try_from(reader.length()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    reader.read_at(0, &mut bytes)?;
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
            if let Err(Damaged(reason)) = frame::read_file_header(&self.bytes) {
                tracing::debug!(reason, "log header");
                // Frames carry all that is needed; a bad header costs nothing but a look for the first one.
                let next = self.find_frame(0);
                return Some(LogItem::Damage(self.damage_up_to(0, next)));
            }
        }
        if self.offset == self.bytes.len() {
            return None;
        }
        let start = self.offset;
        let Some(found) = frame::read_frame(&self.bytes[start..]) else {
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
        if raw_length <= LOG_RECORD_BYTES_MAX {
            self.record.reserve(raw_length);
            let inflated = self.decompressor.decompress_to_buffer(&self.bytes[payload], &mut self.record);
            if inflated.is_ok_and(|length| length == raw_length) {
                return Some(LogItem::Record(sequence, &self.record));
            }
        }
        let length = (self.offset - start) as u64;
        Some(LogItem::Damage(LogDamage::Middle { offset: start as u64, length }))
    }

    /// The next whole frame at or behind `from`.
    fn find_frame(&self, from: usize) -> Option<usize> {
        let candidates = self.bytes[from..].windows(FRAME_MAGIC.len()).enumerate();
        candidates
            .filter(|(_, window)| window == FRAME_MAGIC)
            .map(|(position, _)| from + position)
            .find(|&position| frame::read_frame(&self.bytes[position..]).is_some())
    }

    fn damage_up_to(&mut self, start: usize, next: Option<usize>) -> LogDamage {
        let end = next.unwrap_or(self.bytes.len());
        self.offset = end;
        let (offset, length) = (start as u64, (end - start) as u64);
        match next {
            Some(_) => LogDamage::Middle { offset, length },
            None => LogDamage::TornTail { offset, length },
        }
    }
}
