//! Symbol tables of a block's dataset, decoded.
//!
//! Ids are positions. Strings and frames are sorted, nodes and function nodes are in depth-first order with children in
//! frame order, so a subtree is a range and a tree that is walked from left to right comes out sorted.

use std::borrow::Cow;

use crate::{
    FunctionNode, LabelPair, Node, StoredFrame, StoredFunction, StoredHeader, StoredLine, StoredLocation,
    StoredMapping, Symbols,
};

/// All symbol tables of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockSymbols {
    pub text: Vec<u8>,
    /// End of each string in `text`; the first is the empty string.
    pub string_ends: Vec<u32>,
    pub mappings: Vec<StoredMapping>,
    pub functions: Vec<StoredFunction>,
    pub locations: Vec<StoredLocation>,
    pub lines: Vec<StoredLine>,
    pub frames: Vec<StoredFrame>,
    pub function_nodes: Vec<FunctionNode>,
    pub nodes: Vec<Node>,
    pub label_pairs: Vec<LabelPair>,
    /// End of each label set in `label_pairs`; the first is the empty set.
    pub label_set_ends: Vec<u32>,
    pub headers: Vec<StoredHeader>,
}

impl BlockSymbols {
    pub(crate) fn string_bytes(&self, id: u32) -> &[u8] {
        span(&self.text, &self.string_ends, id)
    }
}

/// The part of `items` that belongs to `id`.
fn span<'a, T>(items: &'a [T], ends: &[u32], id: u32) -> &'a [T] {
    let start = if id == 0 { 0 } else { ends[id as usize - 1] };
    &items[start as usize..ends[id as usize] as usize]
}

/// Lengths fit: the tables were made from counts of 32 bits.
fn count<T>(table: &[T]) -> u32 {
    u32::try_from(table.len()).unwrap_or(u32::MAX)
}

impl Symbols for BlockSymbols {
    fn node_count(&self) -> u32 {
        count(&self.nodes)
    }

    fn function_node_count(&self) -> u32 {
        count(&self.function_nodes)
    }

    fn frame_count(&self) -> u32 {
        count(&self.frames)
    }

    fn node(&self, id: u32) -> Node {
        self.nodes[id as usize]
    }

    fn function_node(&self, id: u32) -> FunctionNode {
        self.function_nodes[id as usize]
    }

    fn stored_frame(&self, id: u32) -> StoredFrame {
        self.frames[id as usize]
    }

    fn location(&self, id: u32) -> StoredLocation {
        self.locations[id as usize]
    }

    fn line(&self, id: u32) -> StoredLine {
        self.lines[id as usize]
    }

    fn function(&self, id: u32) -> StoredFunction {
        self.functions[id as usize]
    }

    fn mapping(&self, id: u32) -> StoredMapping {
        self.mappings[id as usize]
    }

    fn string(&self, id: u32) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.string_bytes(id))
    }

    fn label_set(&self, id: u32) -> Cow<'_, [LabelPair]> {
        Cow::Borrowed(span(&self.label_pairs, &self.label_set_ends, id))
    }

    fn label_set_count(&self) -> u32 {
        count(&self.label_set_ends)
    }

    fn header(&self, id: u32) -> Cow<'_, StoredHeader> {
        Cow::Borrowed(&self.headers[id as usize])
    }
}
