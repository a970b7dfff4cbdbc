//! What goes into a block, and what is known of one that is there.

use profile::{LabelSet, ProfileId, Tenant, Timestamp};

use crate::Dataset;

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
