//! Faces of writer and reader.

use std::sync::Arc;

use profile::{LabelSet, ProfileId, Tenant, TimeRange, Timestamp};

use crate::{BlockError, Dataset, DatasetId, ReadAt};

/// One dataset's share of a block.
#[derive(Clone)]
pub struct DatasetPart<'a> {
    /// Where rows and symbols come from.
    pub dataset: &'a dyn Dataset,
    /// Positions of the profiles to take (one UTC day of them), each once, in any order.
    pub profiles: Vec<u32>,
}

/// An upload that is kept whole, with what is known of it.
#[derive(Clone, Debug)]
pub struct AttachmentPart<'a> {
    /// Id, by the rule of profiles.
    pub id: ProfileId,
    /// Labels with `service_name`.
    pub labels: LabelSet,
    /// What it is: `trace`.
    pub kind: &'a str,
    /// When it was taken.
    pub time: Timestamp,
    /// The bytes as sent.
    pub body: &'a [u8],
}

/// What goes into one block.
#[derive(Clone)]
pub struct BlockInput<'a> {
    /// Whose data it is.
    pub tenant: &'a Tenant,
    /// One entry per service; parts without profiles are left out of the block.
    pub datasets: Vec<DatasetPart<'a>>,
    /// Uploads kept whole.
    pub attachments: Vec<AttachmentPart<'a>>,
    /// Latest arrival of what is inside (D13).
    pub arrived: Timestamp,
}

/// What a block holds, in numbers; the same from the writer and from the reader's footer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSummary {
    /// Size of the file, bytes.
    pub bytes: u64,
    /// Start of the earliest profile or attachment.
    pub time_first: Timestamp,
    /// Start of the latest.
    pub time_last: Timestamp,
    /// Latest end.
    pub data_end: Timestamp,
    /// Latest arrival.
    pub arrived: Timestamp,
    /// Number of profiles.
    pub profiles: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of attachments.
    pub attachments: u64,
}

/// Writes a block to `out`. Needs, beside the output itself, some 60 bytes per node of the largest dataset and one
/// decoded profile.
///
/// # Errors
/// When a dataset cannot be read.
pub fn write_block(input: &BlockInput<'_>, out: &mut Vec<u8>) -> Result<BlockSummary, BlockError> {
    let _ = (input, out);
    todo!()
}

/// An attachment of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockAttachment {
    /// Id.
    pub id: ProfileId,
    /// Labels with `service_name`.
    pub labels: LabelSet,
    /// What it is.
    pub kind: String,
    /// When it was taken.
    pub time: Timestamp,
    /// Size, bytes.
    pub length: u64,
}

/// An open block: its footer is in memory, everything else is read when asked for.
pub struct Block {
    _private: (),
}

impl Block {
    /// Reads the footer: the last 64 KiB, and a second read when it is larger (C107).
    ///
    /// # Errors
    /// When the file is no whole block, damaged, or of a newer version.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Arc<Self>, BlockError> {
        let _ = source;
        todo!()
    }

    /// Name of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        todo!()
    }

    /// Whose data it is.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        todo!()
    }

    /// The block in numbers.
    #[must_use]
    pub fn summary(&self) -> &BlockSummary {
        todo!()
    }

    /// Number of datasets.
    #[must_use]
    pub fn dataset_count(&self) -> usize {
        todo!()
    }

    /// Name of a dataset within this process; stays the same each time it is loaded.
    #[must_use]
    pub fn dataset_id(&self, position: usize) -> DatasetId {
        let _ = position;
        todo!()
    }

    /// Whether a dataset has a profile that may start in the range.
    #[must_use]
    pub fn dataset_touches(&self, position: usize, range: TimeRange) -> bool {
        let _ = (position, range);
        todo!()
    }

    /// Loads series and profiles of a dataset (some 150 bytes per profile); rows and symbols are read when asked for.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn dataset(self: &Arc<Self>, position: usize) -> Result<BlockDataset, BlockError> {
        let _ = position;
        todo!()
    }

    /// Whether a profile or attachment of this id is inside. The first call reads 8 bytes per profile and keeps them
    /// until [`Block::drop_digests`].
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn contains(&self, id: ProfileId) -> Result<bool, BlockError> {
        let _ = id;
        todo!()
    }

    /// Frees what [`Block::contains`] keeps.
    pub fn drop_digests(&self) {
        todo!()
    }

    /// All attachments, sorted by time.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn attachments(&self) -> Result<Vec<BlockAttachment>, BlockError> {
        todo!()
    }

    /// Bytes of an attachment; `None` where there is none of that id.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn attachment_body(&self, id: ProfileId) -> Result<Option<Vec<u8>>, BlockError> {
        let _ = id;
        todo!()
    }
}

/// A dataset of a block; implements [`Dataset`].
pub struct BlockDataset {
    _private: (),
}

impl BlockDataset {
    /// Bytes that it holds now: profiles, series, and symbols while they are loaded.
    #[must_use]
    pub fn loaded_bytes(&self) -> u64 {
        todo!()
    }

    /// Frees decoded symbols; the next call of [`Dataset::symbols`] reads them again.
    pub fn drop_symbols(&self) {
        todo!()
    }
}
