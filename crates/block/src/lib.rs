//! Datasets: one service's profiles and symbols, and the immutable file that keeps them.
//!
//! [`Dataset`] is what a query reads; the head of `store` and the reader of a block file both are one.
//!
//! Not here: where files lie and when they are written (`store`), what a query means (`query`).

// The test datasets name this crate as everyone else does.
#[cfg(test)]
extern crate self as block;

mod attachments;
mod content;
mod cursor;
mod dataset;
mod divisor;
mod error;
mod footer;
#[cfg(test)]
mod fuzz;
mod limits;
mod node_order;
mod packing;
mod prefetch;
mod profiles;
mod reader;
mod renumber;
mod rows;
mod section;
mod source;
mod sums;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
mod symbols;
mod tables;
mod text_order;
mod writer;

pub use content::{AttachmentPart, BlockAttachment, BlockInput, BlockSummary, DatasetPart};
pub use dataset::{
    Dataset, DatasetId, Frame, FunctionNode, LabelPair, NONE, Node, Pick, ProfileMeta, Rows, Series,
    StoredFrame, StoredFunction, StoredHeader, StoredLabelValue, StoredLine, StoredLocation, StoredMapping,
    Symbols,
};
pub use divisor::Divisor;
pub use error::BlockError;
pub use node_order::sort_by_node;
pub use prefetch::prefetch;
pub use reader::{Block, BlockDataset};
pub use source::{MemoryFile, ReadAt};
pub use sums::{NodeOutOfRange, NodeSums, ROWS_PER_ADD, RowPack, SumsView};
pub use writer::write_block;
