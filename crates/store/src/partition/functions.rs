//! The function-level tree of a partition, derived from the location-level one when somebody reads it.
//!
//! Function nodes and frames follow from nodes, locations and functions, so neither the log has them nor does a push
//! wait for them: most of what is pushed is first read by a flush, and finding a function node costs a cache miss per
//! node. Readers call [`FunctionTree::extend`] under the partition's own lock for it, which pushes never take.
//!
//! Not here: nodes themselves (`intern`).

use block::NONE;

use super::tables::Tables;
use crate::hash::high_word;
use crate::hash::{HashKeys, SymbolTable, join_words, low_word};

/// Lookup tables of what was derived; only the holder of the lock has them.
pub(crate) struct FunctionTree {
    keys: HashKeys,
    frames: SymbolTable,
    /// By parent and frame.
    function_nodes: SymbolTable,
    /// Frame of each function; [`NONE`] where it depends on the address.
    function_frames: Vec<u32>,
    /// Frame of each location that is one frame; [`NONE`] where it is several, or not yet known.
    location_frames: Vec<u32>,
}

impl FunctionTree {
    /// Nothing derived yet.
    pub(crate) fn new() -> Self {
        Self {
            keys: HashKeys::random(),
            frames: SymbolTable::default(),
            function_nodes: SymbolTable::default(),
            function_frames: Vec::new(),
            location_frames: Vec::new(),
        }
    }

    /// Derives what is missing for the first `nodes` nodes.
    pub(crate) fn extend(&mut self, tables: &Tables, nodes: u32) {
        for node in tables.node_functions.len()..nodes {
            let [parent, location] = tables.nodes.get(node);
            let above = if parent == NONE { NONE } else { tables.node_functions.get(parent)[0] };
            let function_node = self.innermost(tables, above, location);
            tables.node_functions.push([function_node]);
        }
    }

    /// The function node of the innermost frame of a location below `above`; finds or makes those in between, outermost
    /// first.
    fn innermost(&mut self, tables: &Tables, above: u32, location: u32) -> u32 {
        let position = location as usize;
        match self.location_frames.get(position) {
            Some(&frame) if frame != NONE => return self.function_node(tables, above, frame),
            Some(_) => {}
            None => self.location_frames.resize((position + 1).max(2 * position), NONE),
        }
        let [mapping, address_low, address_high, first, lines_and_fold] = tables.locations.get(location);
        let address = join_words(address_low, address_high);
        let frame = match lines_and_fold >> 1 {
            0 => self.address_frame(tables, mapping, address, 0),
            1 => self.line_frame(tables, first, mapping, address),
            lines => {
                return (first..first + lines).rev().fold(above, |function_node, line| {
                    let frame = self.line_frame(tables, line, mapping, address);
                    self.function_node(tables, function_node, frame)
                });
            }
        };
        self.location_frames[position] = frame;
        self.function_node(tables, above, frame)
    }

    /// The frame of one line of a location.
    fn line_frame(&mut self, tables: &Tables, line: u32, mapping: u32, address: u64) -> u32 {
        let [function, ..] = tables.lines.get(line);
        match self.function_frame(tables, function) {
            NONE => {
                let [_, _, file, ..] = tables.functions.get(function);
                self.address_frame(tables, mapping, address, file)
            }
            frame => frame,
        }
    }

    fn function_node(&mut self, tables: &Tables, parent: u32, frame: u32) -> u32 {
        let hash = self.keys.of(&[join_words(parent, frame)]);
        // A new stack goes down from node to node, and the node made last has no children that could be looked for.
        let is_childless = parent.wrapping_add(1) == tables.function_nodes.len() && parent != NONE;
        let known = if is_childless { None } else { self.function_nodes.get(hash) };
        known.unwrap_or_else(|| {
            let id = tables.function_nodes.push([parent, frame]);
            self.function_nodes.insert(hash, id);
            id
        })
    }

    /// The frame of a function; [`NONE`] where it has no name of any kind.
    fn function_frame(&mut self, tables: &Tables, function: u32) -> u32 {
        while self.function_frames.len() <= function as usize {
            let known = u32::try_from(self.function_frames.len()).unwrap_or(function);
            let [name, system_name, file, ..] = tables.functions.get(known);
            let frame = self.named_frame(tables, name, system_name, file);
            self.function_frames.push(frame);
        }
        self.function_frames[function as usize]
    }

    fn named_frame(&mut self, tables: &Tables, name: u32, system_name: u32, file: u32) -> u32 {
        if name == 0 && system_name == 0 {
            return NONE;
        }
        let (kind, identity) = if name == 0 { (1, system_name) } else { (0, name) };
        let hash = self.keys.of(&[join_words(identity, file), kind]);
        self.frames.get(hash).unwrap_or_else(|| {
            let id = tables.frames.push([name, system_name, file, 0, 0, 0, 0]);
            self.frames.insert(hash, id);
            id
        })
    }

    /// The frame of an address without a name: where it is in the mapped file.
    fn address_frame(&mut self, tables: &Tables, mapping: u32, address: u64, file: u32) -> u32 {
        let [start_low, start_high, _, _, offset_low, offset_high, mapping_file, build_id, _] =
            if mapping == NONE { [0; 9] } else { tables.mappings.get(mapping) };
        let start = join_words(start_low, start_high);
        let inside = if mapping == NONE || address < start {
            address
        } else {
            (address - start).wrapping_add(join_words(offset_low, offset_high))
        };
        let (kind, identity) = if build_id == 0 { (2, mapping_file) } else { (3, build_id) };
        let hash = self.keys.of(&[u64::from(identity), kind, inside]);
        self.frames.get(hash).unwrap_or_else(|| {
            let id =
                tables.frames.push([0, 0, file, mapping_file, build_id, low_word(inside), high_word(inside)]);
            self.frames.insert(hash, id);
            id
        })
    }
}
