//! Where a reader gets its bytes from.

use std::io;

/// A file or object that is read by position and never changes.
///
/// Positional reads are all that a local file, a range request and a test's buffer have in common.
pub trait ReadAt: Send + Sync {
    /// Name for error messages, within the data folder.
    fn name(&self) -> &str;
    /// Bytes in the file.
    fn length(&self) -> u64;
    /// Fills the buffer from `offset` on.
    ///
    /// # Errors
    /// What the system says; `UnexpectedEof` when the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// A file that is in memory.
#[derive(Clone, Debug)]
pub struct MemoryFile {
    name: String,
    bytes: Vec<u8>,
}

impl MemoryFile {
    /// A file of these bytes.
    #[must_use]
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes }
    }
}

impl ReadAt for MemoryFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let part = self.bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(part);
        Ok(())
    }
}
