//! Datasets: one service's profiles and symbols, and the immutable file that keeps them.
//!
//! [`Dataset`] is what a query reads; the head of `store` and the reader of a block file both are one.
//!
//! Not here: where files lie and when they are written (`store`), what a query means (`query`).

mod contract;
mod dataset;
mod error;
mod source;

pub use contract::{
    AttachmentPart, Block, BlockAttachment, BlockDataset, BlockInput, BlockSummary, DatasetPart, write_block,
};
pub use dataset::{
    Dataset, DatasetId, Frame, FunctionNode, LabelPair, NONE, Node, Pick, ProfileMeta, Rows, Series,
    StoredFunction, StoredHeader, StoredLabelValue, StoredLine, StoredLocation, StoredMapping, Symbols,
};
pub use error::BlockError;
pub use source::{MemoryFile, ReadAt};
