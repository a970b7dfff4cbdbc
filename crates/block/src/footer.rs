//! The footer: what a block holds and where, in one read from the end of the file.
//!
//! ```text
//! … sections … | footer | footer length u32 | version u32 | xxh3-64 u64 | magic 8
//! ```
//!
//! The checksum covers the footer, its length and the version. The last 24 bytes are of this form in every version.

use profile::{Tenant, Timestamp};
use xxhash_rust::xxh3::Xxh3;

use crate::{
    BlockError, BlockSummary, ReadAt,
    cursor::{Cursor, Malformed, put_bytes, put_signed, put_varint},
    limits::FOOTER_GUESS_BYTES,
    section::{Section, corrupt, read_at},
};

/// First and last bytes of every block.
pub(crate) const MAGIC: [u8; 8] = *b"EVFLBLK\n";

/// Version that is written, and the highest that is read.
pub(crate) const VERSION: u32 = 1;

/// Bytes behind the footer.
const TRAILER_BYTES: u64 = 24;

/// Smallest file that can be a block.
const FILE_BYTES_MIN: u64 = MAGIC.len() as u64 + TRAILER_BYTES;

/// Sizes of a dataset's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub series: u32,
    pub profiles: u32,
    pub nodes: u32,
    pub function_nodes: u32,
    pub frames: u32,
    pub strings: u32,
    pub mappings: u32,
    pub functions: u32,
    pub locations: u32,
    pub lines: u32,
    pub label_sets: u32,
    pub label_pairs: u32,
    pub headers: u32,
    pub rows: u64,
    pub text_bytes: u64,
}

/// Sum of one profile type in a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeTotal {
    /// Its five parts, joined by `:`.
    pub profile_type: String,
    pub total: i128,
}

/// A dataset as the footer names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatasetEntry {
    pub service: String,
    pub time_first: Timestamp,
    pub time_last: Timestamp,
    pub counts: Counts,
    /// Names of all series labels, sorted.
    pub label_names: Vec<String>,
    /// Sorted by type.
    pub totals: Vec<TypeTotal>,
    pub sections: Vec<Section>,
}

/// The footer, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub tenant: Tenant,
    pub summary: BlockSummary,
    pub datasets: Vec<DatasetEntry>,
    /// Sections of the whole block.
    pub sections: Vec<Section>,
}

impl Counts {
    fn put(&self, out: &mut Vec<u8>) {
        for count in [
            self.series,
            self.profiles,
            self.nodes,
            self.function_nodes,
            self.frames,
            self.strings,
            self.mappings,
            self.functions,
            self.locations,
            self.lines,
            self.label_sets,
            self.label_pairs,
            self.headers,
        ] {
            put_varint(out, u64::from(count));
        }
        put_varint(out, self.rows);
        put_varint(out, self.text_bytes);
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            series: cursor.varint_u32()?,
            profiles: cursor.varint_u32()?,
            nodes: cursor.varint_u32()?,
            function_nodes: cursor.varint_u32()?,
            frames: cursor.varint_u32()?,
            strings: cursor.varint_u32()?,
            mappings: cursor.varint_u32()?,
            functions: cursor.varint_u32()?,
            locations: cursor.varint_u32()?,
            lines: cursor.varint_u32()?,
            label_sets: cursor.varint_u32()?,
            label_pairs: cursor.varint_u32()?,
            headers: cursor.varint_u32()?,
            rows: cursor.varint()?,
            text_bytes: cursor.varint()?,
        })
    }
}

impl DatasetEntry {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.service.as_bytes());
        put_signed(out, self.time_first.0);
        put_signed(out, self.time_last.0);
        self.counts.put(out);
        put_varint(out, self.label_names.len() as u64);
        for name in &self.label_names {
            put_bytes(out, name.as_bytes());
        }
        put_varint(out, self.totals.len() as u64);
        for total in &self.totals {
            put_bytes(out, total.profile_type.as_bytes());
            out.extend_from_slice(&total.total.to_le_bytes());
        }
        Section::put_list(&self.sections, out);
    }

    fn read(cursor: &mut Cursor<'_>, data_end: u64) -> Result<Self, Malformed> {
        let service = cursor.text()?.to_owned();
        let (time_first, time_last) = (Timestamp(cursor.signed()?), Timestamp(cursor.signed()?));
        let counts = Counts::read(cursor)?;
        let label_names = (0..cursor.count(1)?).map(|_| Ok(cursor.text()?.to_owned()));
        let label_names = label_names.collect::<Result<_, Malformed>>()?;
        let totals = (0..cursor.count(17)?).map(|_| {
            let profile_type = cursor.text()?.to_owned();
            Ok(TypeTotal { profile_type, total: i128::from_le_bytes(cursor.array()?) })
        });
        let totals = totals.collect::<Result<_, Malformed>>()?;
        let sections = Section::read_list(cursor, data_end)?;
        Ok(Self { service, time_first, time_last, counts, label_names, totals, sections })
    }
}

impl Footer {
    /// Appends footer and trailer; sets the file's size in the summary.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> Result<(), BlockError> {
        let start = out.len();
        put_bytes(out, self.tenant.as_str().as_bytes());
        let summary = &self.summary;
        for time in [summary.time_first, summary.time_last, summary.data_end, summary.arrived] {
            put_signed(out, time.0);
        }
        for count in [summary.profiles, summary.rows, summary.attachments] {
            put_varint(out, count);
        }
        put_varint(out, self.datasets.len() as u64);
        for dataset in &self.datasets {
            dataset.put(out);
        }
        Section::put_list(&self.sections, out);
        let length = u32::try_from(out.len() - start).map_err(|error| BlockError::Io {
            file: "block".to_owned(),
            reason: format!("footer: {error}"),
        })?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        let mut hash = Xxh3::new();
        hash.update(&out[start..]);
        out.extend_from_slice(&hash.digest().to_le_bytes());
        out.extend_from_slice(&MAGIC);
        self.summary.bytes = out.len() as u64;
        Ok(())
    }

    /// Reads the footer of a file: its last 64 KiB, and once more what was missing.
    pub(crate) fn open(source: &dyn ReadAt) -> Result<Self, BlockError> {
        let wrong = |reason: &str| corrupt(source.name(), "footer", reason);
        let file_length = source.length();
        if file_length < FILE_BYTES_MIN {
            let reason = format!("file has {file_length} bytes, a block has at least {FILE_BYTES_MIN}");
            return Err(wrong(&reason));
        }
        let guess = file_length.min(FOOTER_GUESS_BYTES);
        let mut tail = vec![0; usize::try_from(guess).unwrap_or(0)];
        read_at(source, file_length - guess, &mut tail)?;
        let trailer = Trailer::read(&tail).map_err(|malformed| wrong(malformed.0))?;
        let needed = u64::from(trailer.footer_length) + TRAILER_BYTES;
        if needed + MAGIC.len() as u64 > file_length {
            return Err(wrong("footer is longer than the file"));
        }
        if needed > guess {
            let mut front = vec![0; usize::try_from(needed - guess).unwrap_or(0)];
            read_at(source, file_length - needed, &mut front)?;
            front.extend_from_slice(&tail);
            tail = front;
        }
        let start = tail.len() - usize::try_from(needed).unwrap_or(0);
        let checked_end = tail.len() - (TRAILER_BYTES as usize - 8);
        let mut hash = Xxh3::new();
        hash.update(&tail[start..checked_end]);
        if hash.digest() != trailer.checksum {
            return Err(wrong("checksum does not match"));
        }
        if trailer.version > VERSION {
            let (file, version) = (source.name().to_owned(), trailer.version);
            return Err(BlockError::Version { file, version, supported: VERSION });
        }
        let footer = &tail[start..tail.len() - TRAILER_BYTES as usize];
        let mut parsed = Self::parse(footer, file_length - needed).map_err(|malformed| wrong(malformed.0))?;
        parsed.summary.bytes = file_length;
        Ok(parsed)
    }

    fn parse(bytes: &[u8], data_end: u64) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let tenant =
            Tenant::parse(cursor.text()?).map_err(|_| Malformed("tenant has a name that cannot be"))?;
        let summary = BlockSummary {
            bytes: 0,
            time_first: Timestamp(cursor.signed()?),
            time_last: Timestamp(cursor.signed()?),
            data_end: Timestamp(cursor.signed()?),
            arrived: Timestamp(cursor.signed()?),
            profiles: cursor.varint()?,
            rows: cursor.varint()?,
            attachments: cursor.varint()?,
        };
        let datasets = (0..cursor.count(20)?).map(|_| DatasetEntry::read(&mut cursor, data_end));
        let datasets = datasets.collect::<Result<_, Malformed>>()?;
        let sections = Section::read_list(&mut cursor, data_end)?;
        cursor.finish()?;
        Ok(Self { tenant, summary, datasets, sections })
    }
}

struct Trailer {
    footer_length: u32,
    version: u32,
    checksum: u64,
}

impl Trailer {
    fn read(tail: &[u8]) -> Result<Self, Malformed> {
        let start = tail.len().checked_sub(TRAILER_BYTES as usize).ok_or(Malformed("file is too short"))?;
        let mut cursor = Cursor::new(&tail[start..]);
        let trailer = Self {
            footer_length: u32::from_le_bytes(cursor.array()?),
            version: u32::from_le_bytes(cursor.array()?),
            checksum: u64::from_le_bytes(cursor.array()?),
        };
        if cursor.array::<8>()? != MAGIC {
            return Err(Malformed("file does not end as a block does"));
        }
        Ok(trailer)
    }
}
