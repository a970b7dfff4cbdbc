//! Sections: named runs of bytes, cut into chunks that are compressed and checked one by one.
//!
//! A section's chunks lie one behind the other. How they are cut, their codec, sizes and checksums stand in the footer
//! and not before each chunk, so that one read of the footer plans every other read.

use xxhash_rust::xxh3::xxh3_64;

use crate::{
    BlockError, ReadAt,
    cursor::{Cursor, Malformed, put_varint},
    limits::{CHUNK_BYTES, COMPRESSED_CHUNK_BYTES_MAX, ZSTD_LEVEL},
};

/// What a section holds. Numbers are for ever; see `FORMAT.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SectionKind {
    Series = 1,
    Profiles = 2,
    Rows = 3,
    RowLabels = 4,
    RowLinks = 5,
    RowTimes = 6,
    Strings = 16,
    Code = 17,
    Frames = 18,
    FunctionNodes = 19,
    Nodes = 20,
    NodeFunctions = 21,
    LabelSets = 22,
    Headers = 23,
    Digests = 32,
    Attachments = 33,
    AttachmentBodies = 34,
}

impl SectionKind {
    /// Name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Series => "series",
            Self::Profiles => "profiles",
            Self::Rows => "rows",
            Self::RowLabels => "row labels",
            Self::RowLinks => "row links",
            Self::RowTimes => "row times",
            Self::Strings => "strings",
            Self::Code => "code",
            Self::Frames => "frames",
            Self::FunctionNodes => "function nodes",
            Self::Nodes => "nodes",
            Self::NodeFunctions => "node functions",
            Self::LabelSets => "label sets",
            Self::Headers => "headers",
            Self::Digests => "digests",
            Self::Attachments => "attachments",
            Self::AttachmentBodies => "attachment bodies",
        }
    }

    const ALL: [Self; 17] = [
        Self::Series,
        Self::Profiles,
        Self::Rows,
        Self::RowLabels,
        Self::RowLinks,
        Self::RowTimes,
        Self::Strings,
        Self::Code,
        Self::Frames,
        Self::FunctionNodes,
        Self::Nodes,
        Self::NodeFunctions,
        Self::LabelSets,
        Self::Headers,
        Self::Digests,
        Self::Attachments,
        Self::AttachmentBodies,
    ];

    const fn number(self) -> u8 {
        self as u8
    }
}

/// Set in a section's flags when a reader that does not know its kind must refuse the file.
const FLAG_REQUIRED: u8 = 1;

const CODEC_RAW: u8 = 0;
const CODEC_ZSTD: u8 = 1;

/// Bytes that a chunk takes in the footer at least.
const CHUNK_ENTRY_BYTES_MIN: usize = 11;

/// One chunk as the footer names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    codec: u8,
    pub raw_length: u32,
    pub length: u32,
    checksum: u64,
}

/// A section as the footer names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub kind: SectionKind,
    pub offset: u64,
    pub chunks: Vec<Chunk>,
}

/// Makes chunks smaller by zstd. One is made for a whole block: what it keeps from one chunk to the next costs more to
/// set up than most chunks cost to compress.
pub(crate) struct Packing {
    compressor: zstd::bulk::Compressor<'static>,
    packed: Vec<u8>,
}

impl Packing {
    pub(crate) fn new() -> Result<Self, BlockError> {
        let compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(too_large)?;
        Ok(Self { compressor, packed: Vec::new() })
    }

    /// The chunk in fewer bytes; `None` where it does not get smaller.
    fn pack(&mut self, raw: &[u8]) -> Result<Option<&[u8]>, BlockError> {
        if raw.len() <= PACKED_BYTES_MIN {
            return Ok(None);
        }
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        self.compressor.compress_to_buffer(raw, &mut self.packed).map_err(too_large)?;
        Ok((self.packed.len() < raw.len()).then_some(self.packed.as_slice()))
    }
}

/// A frame of zstd has nine bytes beside what it holds; shorter chunks cannot get smaller.
const PACKED_BYTES_MIN: usize = 9;

impl Section {
    /// Appends a section to the file, cut into chunks of [`CHUNK_BYTES`], which are packed where a packing is given.
    pub(crate) fn write(
        kind: SectionKind,
        bytes: &[u8],
        mut packing: Option<&mut Packing>,
        out: &mut Vec<u8>,
    ) -> Result<Self, BlockError> {
        let mut section = Self::begin(kind, out);
        for part in bytes.chunks(CHUNK_BYTES) {
            section.push(part, packing.as_deref_mut(), out)?;
        }
        Ok(section)
    }

    /// A section without chunks at the end of the file.
    pub(crate) fn begin(kind: SectionKind, out: &[u8]) -> Self {
        Self { kind, offset: out.len() as u64, chunks: Vec::new() }
    }

    /// Appends one chunk; nothing else may have been written since the last. Without a packing it stays as it is: rows are
    /// packed already, and reading them is the hot path.
    pub(crate) fn push(
        &mut self,
        raw: &[u8],
        packing: Option<&mut Packing>,
        out: &mut Vec<u8>,
    ) -> Result<(), BlockError> {
        debug_assert_eq!(self.offset + self.length(), out.len() as u64);
        let packed = match packing {
            Some(packing) => packing.pack(raw)?,
            None => None,
        };
        let (codec, bytes) = packed.map_or((CODEC_RAW, raw), |packed| (CODEC_ZSTD, packed));
        out.extend_from_slice(bytes);
        self.chunks.push(Chunk {
            codec,
            raw_length: u32::try_from(raw.len()).map_err(too_large)?,
            length: u32::try_from(bytes.len()).map_err(too_large)?,
            checksum: xxh3_64(bytes),
        });
        Ok(())
    }

    /// Bytes in the file.
    pub(crate) fn length(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.length)).sum()
    }

    /// Decoded bytes.
    pub(crate) fn raw_length(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.raw_length)).sum()
    }

    /// Appends the footer's entry.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.push(self.kind.number());
        out.push(FLAG_REQUIRED);
        put_varint(out, self.offset);
        put_varint(out, self.chunks.len() as u64);
        for chunk in &self.chunks {
            out.push(chunk.codec);
            put_varint(out, u64::from(chunk.raw_length));
            put_varint(out, u64::from(chunk.length));
            out.extend_from_slice(&chunk.checksum.to_le_bytes());
        }
    }

    /// Reads a footer's entry; `None` for a section that this version does not know and need not know.
    fn read(cursor: &mut Cursor<'_>, data_end: u64) -> Result<Option<Self>, Malformed> {
        let number = cursor.byte()?;
        let flags = cursor.byte()?;
        let offset = cursor.varint()?;
        let count = cursor.count(CHUNK_ENTRY_BYTES_MIN)?;
        let mut chunks = Vec::with_capacity(count);
        for _ in 0..count {
            let codec = cursor.byte()?;
            let (raw_length, length) = (cursor.varint_u32()?, cursor.varint_u32()?);
            let checksum = u64::from_le_bytes(cursor.array()?);
            chunks.push(Chunk { codec, raw_length, length, checksum });
        }
        let Some(kind) = SectionKind::ALL.into_iter().find(|kind| kind.number() == number) else {
            if flags & FLAG_REQUIRED != 0 {
                return Err(Malformed("needs a section that this version does not know"));
            }
            return Ok(None);
        };
        let section = Self { kind, offset, chunks };
        if offset.checked_add(section.length()).is_none_or(|end| end > data_end) {
            return Err(Malformed("section reaches behind the data"));
        }
        Ok(Some(section))
    }

    /// Reads a list of entries.
    pub(crate) fn read_list(cursor: &mut Cursor<'_>, data_end: u64) -> Result<Vec<Self>, Malformed> {
        let count = cursor.count(4)?;
        let mut sections: Vec<Self> = Vec::new();
        for _ in 0..count {
            if let Some(section) = Self::read(cursor, data_end)? {
                if sections.iter().any(|known| known.kind == section.kind) {
                    return Err(Malformed("names a section twice"));
                }
                sections.push(section);
            }
        }
        Ok(sections)
    }

    /// Appends a list of entries.
    pub(crate) fn put_list(sections: &[Self], out: &mut Vec<u8>) {
        put_varint(out, sections.len() as u64);
        for section in sections {
            section.put(out);
        }
    }

    /// The error for bytes of this section.
    pub(crate) fn corrupt(&self, source: &dyn ReadAt, malformed: Malformed) -> BlockError {
        corrupt(source.name(), self.kind.name(), malformed.0)
    }

    /// Reads and decodes the whole section.
    pub(crate) fn read_all(&self, source: &dyn ReadAt) -> Result<Vec<u8>, BlockError> {
        let mut encoded = vec![0; usize::try_from(self.length()).map_err(too_large)?];
        read_at(source, self.offset, &mut encoded)?;
        let mut raw = Vec::new();
        let mut rest = encoded.as_slice();
        for chunk in &self.chunks {
            let (bytes, behind) = rest.split_at(chunk.length as usize);
            rest = behind;
            self.decode(chunk, bytes, source, &mut raw)?;
        }
        Ok(raw)
    }

    /// Reads the decoded bytes `start..start + length` of the section into `raw`. Returns the encoded bytes read.
    pub(crate) fn read_range(
        &self,
        source: &dyn ReadAt,
        start: u64,
        length: u64,
        raw: &mut Vec<u8>,
    ) -> Result<u64, BlockError> {
        raw.clear();
        let end = start.checked_add(length).filter(|&end| end <= self.raw_length());
        let Some(end) = end else {
            return Err(self.corrupt(source, Malformed("ends before what the profile table says")));
        };
        let (mut offset, mut raw_offset, mut bytes_read) = (self.offset, 0, 0);
        let (mut encoded, mut first) = (Vec::new(), None);
        for chunk in &self.chunks {
            let raw_end = raw_offset + u64::from(chunk.raw_length);
            if raw_offset < end && raw_end > start {
                first.get_or_insert(raw_offset);
                encoded.resize(chunk.length as usize, 0);
                read_at(source, offset, &mut encoded)?;
                self.decode(chunk, &encoded, source, raw)?;
                bytes_read += u64::from(chunk.length);
            }
            offset += u64::from(chunk.length);
            raw_offset = raw_end;
        }
        let skipped = usize::try_from(start - first.unwrap_or(start)).map_err(too_large)?;
        raw.drain(..skipped);
        raw.truncate(usize::try_from(length).map_err(too_large)?);
        Ok(bytes_read)
    }

    /// Reads one chunk that is not compressed into `buffer`, as rows are.
    pub(crate) fn read_raw_chunk(
        &self,
        source: &dyn ReadAt,
        chunk: &Chunk,
        offset: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<(), BlockError> {
        buffer.resize(chunk.length as usize, 0);
        read_at(source, offset, buffer)?;
        self.check(chunk, buffer, source)?;
        if chunk.codec != CODEC_RAW || chunk.length != chunk.raw_length {
            return Err(self.corrupt(source, Malformed("chunk has a codec that its section does not use")));
        }
        Ok(())
    }

    fn check(&self, chunk: &Chunk, bytes: &[u8], source: &dyn ReadAt) -> Result<(), BlockError> {
        if xxh3_64(bytes) == chunk.checksum {
            return Ok(());
        }
        Err(self.corrupt(source, Malformed("checksum does not match")))
    }

    /// Checks a chunk and appends its decoded bytes.
    fn decode(
        &self,
        chunk: &Chunk,
        bytes: &[u8],
        source: &dyn ReadAt,
        raw: &mut Vec<u8>,
    ) -> Result<(), BlockError> {
        self.check(chunk, bytes, source)?;
        let wrong = |reason| self.corrupt(source, Malformed(reason));
        match chunk.codec {
            CODEC_RAW if chunk.length == chunk.raw_length => raw.extend_from_slice(bytes),
            CODEC_ZSTD if chunk.raw_length <= COMPRESSED_CHUNK_BYTES_MAX => {
                let decoded = zstd::bulk::decompress(bytes, chunk.raw_length as usize)
                    .map_err(|_| wrong("chunk cannot be decompressed"))?;
                if decoded.len() != chunk.raw_length as usize {
                    return Err(wrong("chunk has another length than the footer says"));
                }
                raw.extend_from_slice(&decoded);
            }
            CODEC_RAW | CODEC_ZSTD => return Err(wrong("chunk has a length that cannot be")),
            _ => return Err(wrong("chunk has an unknown codec")),
        }
        Ok(())
    }
}

/// Fills the buffer or says which file could not be read.
pub(crate) fn read_at(source: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
    source
        .read_at(offset, buffer)
        .map_err(|error| BlockError::Io { file: source.name().to_owned(), reason: error.to_string() })
}

pub(crate) fn corrupt(file: &str, section: &str, reason: &str) -> BlockError {
    BlockError::Corrupt { file: file.to_owned(), section: section.to_owned(), reason: reason.to_owned() }
}

fn too_large(error: impl std::fmt::Display) -> BlockError {
    BlockError::Io { file: "block".to_owned(), reason: error.to_string() }
}
