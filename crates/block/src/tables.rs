//! Bytes of the symbol tables.
//!
//! Each table is written column by column, as distances where that makes numbers small, and left to zstd. Reading
//! checks every id against its table, so that nothing which is read later can point nowhere.

use profile::MappingFlags;

use crate::{
    FunctionNode, LabelPair, NONE, Node, StoredFrame, StoredFunction, StoredHeader, StoredLabelValue,
    StoredLine, StoredLocation, StoredMapping,
    cursor::{Cursor, Malformed, put_bytes, put_signed, put_varint},
    footer::Counts,
    limits::{TEXT_GROWTH_FREE, TEXT_GROWTH_MAX},
    symbols::BlockSymbols,
};

/// Ids that may be absent are kept one higher, with 0 for [`NONE`].
fn put_optional(out: &mut Vec<u8>, id: u32) {
    put_varint(out, u64::from(id.wrapping_add(1)));
}

fn optional(cursor: &mut Cursor<'_>, length: u32) -> Result<u32, Malformed> {
    match cursor.varint_u32()? {
        0 => Ok(NONE),
        id if id <= length => Ok(id - 1),
        _ => Err(Malformed("points behind its table")),
    }
}

/// Appends an id as its distance from the one before.
fn put_distance(out: &mut Vec<u8>, id: u32, last: &mut u32) {
    put_signed(out, i64::from(id) - i64::from(*last));
    *last = id;
}

fn distance(cursor: &mut Cursor<'_>, last: &mut u32, length: u32) -> Result<u32, Malformed> {
    let id = i64::from(*last).checked_add(cursor.signed()?).and_then(|id| u32::try_from(id).ok());
    *last = id.filter(|&id| id < length).ok_or(Malformed("points behind its table"))?;
    Ok(*last)
}

/// A second id that is nearly always equal to the first: 0 for equal, else one higher.
fn put_same_or(out: &mut Vec<u8>, id: u32, usual: u32) {
    put_varint(out, if id == usual { 0 } else { u64::from(id) + 1 });
}

fn same_or(cursor: &mut Cursor<'_>, usual: u32, length: u32) -> Result<u32, Malformed> {
    match cursor.varint()? {
        0 => Ok(usual),
        id => match u32::try_from(id - 1) {
            Ok(id) if id < length => Ok(id),
            _ => Err(Malformed("points behind its table")),
        },
    }
}

/// A table of a declared length, each entry of which needs at least `bytes_each` bytes of what is left.
fn table<T>(cursor: &Cursor<'_>, length: u32, bytes_each: usize) -> Result<Vec<T>, Malformed> {
    match (length as usize).checked_mul(bytes_each) {
        Some(needed) if needed <= cursor.remaining() => Ok(Vec::with_capacity(length as usize)),
        _ => Err(Malformed("table is larger than its section")),
    }
}

impl BlockSymbols {
    /// Strings but the first, each as what it shares with the one before and the rest.
    pub(crate) fn put_strings(&self, out: &mut Vec<u8>) {
        let mut last: &[u8] = b"";
        let mut text_bytes = 0;
        for id in 1..u32::try_from(self.string_ends.len()).unwrap_or(u32::MAX) {
            let string = self.string_bytes(id);
            text_bytes += string.len();
            let may_share = text_bytes <= TEXT_GROWTH_FREE + TEXT_GROWTH_MAX * out.len();
            let common = last.iter().zip(string).take_while(|(a, b)| a == b).count();
            let shared = if may_share { common } else { 0 };
            put_varint(out, shared as u64);
            put_bytes(out, &string[shared..]);
            last = string;
        }
    }

    pub(crate) fn read_strings(&mut self, bytes: &[u8], counts: &Counts) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        self.string_ends = table(&cursor, counts.strings.saturating_sub(1), 2)?;
        if counts.strings == 0 {
            return Err(Malformed("has no empty string"));
        }
        let text_bytes_max = (TEXT_GROWTH_MAX + 1) * bytes.len() + 2 * TEXT_GROWTH_FREE;
        let text_bytes = usize::try_from(counts.text_bytes).unwrap_or(usize::MAX);
        if text_bytes > text_bytes_max || u32::try_from(text_bytes).is_err() {
            return Err(Malformed("is larger than its bytes allow"));
        }
        self.text = Vec::with_capacity(text_bytes);
        self.string_ends.push(0);
        let mut last_start = 0;
        for _ in 1..counts.strings {
            let shared = usize::try_from(cursor.varint()?).unwrap_or(usize::MAX);
            let rest = cursor.bytes()?;
            let start = self.text.len();
            if shared > start - last_start || start + shared + rest.len() > text_bytes {
                return Err(Malformed("string shares more than there is"));
            }
            self.text.extend_from_within(last_start..last_start + shared);
            self.text.extend_from_slice(rest);
            last_start = start;
            self.string_ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        }
        cursor.finish()
    }

    /// Mappings, functions, locations and their lines.
    pub(crate) fn put_code(&self, out: &mut Vec<u8>) {
        for mapping in &self.mappings {
            for number in [mapping.start, mapping.limit.wrapping_sub(mapping.start), mapping.offset] {
                put_varint(out, number);
            }
            put_varint(out, u64::from(mapping.file));
            put_varint(out, u64::from(mapping.build_id));
            out.push(mapping.flags.0);
        }
        let (mut name, mut file) = (0, 0);
        self.functions.iter().for_each(|function| put_distance(out, function.name, &mut name));
        self.functions.iter().for_each(|function| put_same_or(out, function.system_name, function.name));
        self.functions.iter().for_each(|function| put_distance(out, function.file, &mut file));
        self.functions.iter().for_each(|function| put_signed(out, function.start_line));
        for location in &self.locations {
            put_varint(out, u64::from(location.lines_length) << 1 | u64::from(location.is_folded));
        }
        self.locations.iter().for_each(|location| put_optional(out, location.mapping));
        let mut address = 0;
        for location in &self.locations {
            put_signed(out, location.address.wrapping_sub(address).cast_signed());
            address = location.address;
        }
        let mut function = 0;
        self.lines.iter().for_each(|line| put_distance(out, line.function, &mut function));
        let mut last = StoredLine { function: NONE, line: 0, column: 0 };
        for line in &self.lines {
            let near = if line.function == last.function { last.line } else { 0 };
            put_signed(out, line.line.wrapping_sub(near));
            last = *line;
        }
        self.lines.iter().for_each(|line| put_signed(out, line.column));
    }

    pub(crate) fn read_code(&mut self, bytes: &[u8], counts: &Counts) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        let cursor = &mut cursor;
        self.mappings = table(cursor, counts.mappings, 6)?;
        for _ in 0..counts.mappings {
            let start = cursor.varint()?;
            let limit = start.wrapping_add(cursor.varint()?);
            let offset = cursor.varint()?;
            let file = cursor.position(counts.strings)?;
            let build_id = cursor.position(counts.strings)?;
            let flags = MappingFlags(cursor.byte()?);
            self.mappings.push(StoredMapping { start, limit, offset, file, build_id, flags });
        }
        self.read_functions(cursor, counts)?;
        self.read_locations(cursor, counts)?;
        self.read_lines(cursor, counts)?;
        cursor.finish()
    }

    fn read_functions(&mut self, cursor: &mut Cursor<'_>, counts: &Counts) -> Result<(), Malformed> {
        self.functions = table(cursor, counts.functions, 4)?;
        let (mut name, mut file) = (0, 0);
        for _ in 0..counts.functions {
            let name = distance(cursor, &mut name, counts.strings)?;
            self.functions.push(StoredFunction { name, system_name: 0, file: 0, start_line: 0 });
        }
        for function in &mut self.functions {
            function.system_name = same_or(cursor, function.name, counts.strings)?;
        }
        for function in &mut self.functions {
            function.file = distance(cursor, &mut file, counts.strings)?;
        }
        for function in &mut self.functions {
            function.start_line = cursor.signed()?;
        }
        Ok(())
    }

    fn read_locations(&mut self, cursor: &mut Cursor<'_>, counts: &Counts) -> Result<(), Malformed> {
        self.locations = table(cursor, counts.locations, 3)?;
        let mut lines_start = 0_u32;
        for _ in 0..counts.locations {
            let head = cursor.varint()?;
            let lines_length =
                u32::try_from(head >> 1).map_err(|_| Malformed("location has too many lines"))?;
            self.locations.push(StoredLocation {
                mapping: NONE,
                address: 0,
                lines_start,
                lines_length,
                is_folded: head & 1 != 0,
            });
            lines_start = lines_start.checked_add(lines_length).ok_or(Malformed("too many lines"))?;
        }
        if lines_start != counts.lines {
            return Err(Malformed("locations have another number of lines than there are"));
        }
        for location in &mut self.locations {
            location.mapping = optional(cursor, counts.mappings)?;
        }
        let mut address = 0_u64;
        for location in &mut self.locations {
            address = address.wrapping_add(cursor.signed()?.cast_unsigned());
            location.address = address;
        }
        Ok(())
    }

    fn read_lines(&mut self, cursor: &mut Cursor<'_>, counts: &Counts) -> Result<(), Malformed> {
        self.lines = table(cursor, counts.lines, 3)?;
        let mut function = 0;
        for _ in 0..counts.lines {
            let function = distance(cursor, &mut function, counts.functions)?;
            self.lines.push(StoredLine { function, line: 0, column: 0 });
        }
        let mut last = StoredLine { function: NONE, line: 0, column: 0 };
        for line in &mut self.lines {
            let near = if line.function == last.function { last.line } else { 0 };
            line.line = near.wrapping_add(cursor.signed()?);
            last = *line;
        }
        for line in &mut self.lines {
            line.column = cursor.signed()?;
        }
        Ok(())
    }

    /// Frames; build id, mapping and address only for those without a name (D3).
    pub(crate) fn put_frames(&self, out: &mut Vec<u8>) {
        let (mut name, mut file) = (0, 0);
        self.frames.iter().for_each(|frame| put_distance(out, frame.name, &mut name));
        self.frames.iter().for_each(|frame| put_same_or(out, frame.system_name, frame.name));
        self.frames.iter().for_each(|frame| put_distance(out, frame.file, &mut file));
        for frame in self.frames.iter().filter(|frame| frame.name == 0) {
            put_varint(out, u64::from(frame.mapping_file));
            put_varint(out, u64::from(frame.build_id));
            put_varint(out, frame.address);
        }
    }

    pub(crate) fn read_frames(&mut self, bytes: &[u8], counts: &Counts) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        self.frames = table(&cursor, counts.frames, 3)?;
        let (mut name, mut file) = (0, 0);
        for _ in 0..counts.frames {
            let name = distance(&mut cursor, &mut name, counts.strings)?;
            let (mapping_file, build_id, address) = (0, 0, 0);
            self.frames.push(StoredFrame { name, file: 0, mapping_file, build_id, address, system_name: 0 });
        }
        for frame in &mut self.frames {
            frame.system_name = same_or(&mut cursor, frame.name, counts.strings)?;
        }
        for frame in &mut self.frames {
            frame.file = distance(&mut cursor, &mut file, counts.strings)?;
        }
        for frame in self.frames.iter_mut().filter(|frame| frame.name == 0) {
            frame.mapping_file = cursor.position(counts.strings)?;
            frame.build_id = cursor.position(counts.strings)?;
            frame.address = cursor.varint()?;
        }
        cursor.finish()
    }

    /// Function nodes in depth-first order: how many levels each lies above where a child of the one before would be,
    /// and its frame.
    pub(crate) fn put_function_nodes(&self, out: &mut Vec<u8>) {
        let mut path = Path::default();
        for (id, node) in self.function_nodes.iter().enumerate() {
            put_varint(out, path.levels_up(id, node.parent));
            put_varint(out, u64::from(node.frame));
        }
    }

    pub(crate) fn read_function_nodes(&mut self, bytes: &[u8], counts: &Counts) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        self.function_nodes = table(&cursor, counts.function_nodes, 2)?;
        let mut path = Path::default();
        for id in 0..counts.function_nodes {
            let parent = path.parent(id, cursor.varint()?)?;
            let frame = cursor.position(counts.frames)?;
            self.function_nodes.push(FunctionNode { parent, frame });
        }
        cursor.finish()
    }

    /// Nodes, like function nodes, with locations.
    pub(crate) fn put_nodes(&self, out: &mut Vec<u8>) {
        let mut path = Path::default();
        for (id, node) in self.nodes.iter().enumerate() {
            put_varint(out, path.levels_up(id, node.parent));
            put_varint(out, u64::from(node.location));
        }
    }

    /// Function node of each node, as its distance from that of the node before.
    pub(crate) fn put_node_functions(&self, out: &mut Vec<u8>) {
        let mut last = 0_i64;
        for node in &self.nodes {
            let function_node = i64::from(node.function_node.wrapping_add(1));
            put_signed(out, function_node - last);
            last = function_node + 1;
        }
    }

    pub(crate) fn read_nodes(
        &mut self,
        bytes: &[u8],
        functions: &[u8],
        counts: &Counts,
    ) -> Result<(), Malformed> {
        let (mut cursor, mut functions) = (Cursor::new(bytes), Cursor::new(functions));
        self.nodes = table(&cursor, counts.nodes, 2)?;
        let mut path = Path::default();
        let mut last = 0_i64;
        for id in 0..counts.nodes {
            let parent = path.parent(id, cursor.varint()?)?;
            let location = cursor.position(counts.locations)?;
            let function_node = last.checked_add(functions.signed()?).unwrap_or(-1);
            if !(0..=i64::from(counts.function_nodes)).contains(&function_node) {
                return Err(Malformed("node points behind the function nodes"));
            }
            last = function_node + 1;
            let function_node = u32::try_from(function_node).unwrap_or(0).wrapping_sub(1);
            self.nodes.push(Node { parent, location, function_node });
        }
        functions.finish()?;
        cursor.finish()
    }

    /// Label sets but the first, which is empty.
    pub(crate) fn put_label_sets(&self, out: &mut Vec<u8>) {
        let mut start = 0;
        for &end in self.label_set_ends.iter().skip(1) {
            let pairs = &self.label_pairs[start as usize..end as usize];
            put_varint(out, pairs.len() as u64);
            for pair in pairs {
                let is_number = matches!(pair.value, StoredLabelValue::Number { .. });
                put_varint(out, u64::from(pair.key) << 1 | u64::from(is_number));
                match pair.value {
                    StoredLabelValue::Text(text) => put_varint(out, u64::from(text)),
                    StoredLabelValue::Number { value, unit } => {
                        put_signed(out, value);
                        put_varint(out, u64::from(unit));
                    }
                }
            }
            start = end;
        }
    }

    pub(crate) fn read_label_sets(&mut self, bytes: &[u8], counts: &Counts) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        self.label_set_ends = table(&cursor, counts.label_sets.saturating_sub(1), 1)?;
        self.label_pairs = table(&cursor, counts.label_pairs, 2)?;
        self.label_set_ends.push(0);
        for _ in 1..counts.label_sets {
            for _ in 0..cursor.count(2)? {
                let key = cursor.varint()?;
                let is_number = key & 1 != 0;
                let key = u32::try_from(key >> 1).ok().filter(|&key| key < counts.strings);
                let key = key.ok_or(Malformed("points behind its table"))?;
                let value = if is_number {
                    let value = cursor.signed()?;
                    StoredLabelValue::Number { value, unit: cursor.position(counts.strings)? }
                } else {
                    StoredLabelValue::Text(cursor.position(counts.strings)?)
                };
                self.label_pairs.push(LabelPair { key, value });
            }
            self.label_set_ends.push(u32::try_from(self.label_pairs.len()).unwrap_or(u32::MAX));
        }
        cursor.finish()
    }

    pub(crate) fn put_headers(&self, out: &mut Vec<u8>) {
        for header in &self.headers {
            out.push(u8::from(header.has_period_type));
            for id in [header.default_sample_type, header.drop_frames, header.keep_frames, header.doc_url] {
                put_varint(out, u64::from(id));
            }
            for ids in [&header.comments, &header.mappings] {
                put_varint(out, ids.len() as u64);
                ids.iter().for_each(|&id| put_varint(out, u64::from(id)));
            }
        }
    }

    pub(crate) fn read_headers(&mut self, bytes: &[u8], counts: &Counts) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        self.headers = table(&cursor, counts.headers, 7)?;
        for _ in 0..counts.headers {
            let has_period_type = cursor.byte()? != 0;
            let default_sample_type = cursor.position(counts.strings)?;
            let drop_frames = cursor.position(counts.strings)?;
            let keep_frames = cursor.position(counts.strings)?;
            let doc_url = cursor.position(counts.strings)?;
            let comments = (0..cursor.count(1)?).map(|_| cursor.position(counts.strings));
            let comments = comments.collect::<Result<_, _>>()?;
            let mappings = (0..cursor.count(1)?).map(|_| cursor.position(counts.mappings));
            let mappings = mappings.collect::<Result<_, _>>()?;
            self.headers.push(StoredHeader {
                comments,
                default_sample_type,
                drop_frames,
                keep_frames,
                doc_url,
                has_period_type,
                mappings,
            });
        }
        cursor.finish()
    }
}

/// The nodes from the root to the last one, while a tree is walked depth first.
#[derive(Debug, Default)]
struct Path {
    nodes: Vec<u32>,
}

impl Path {
    /// How many of the last nodes are not above the next one.
    fn levels_up(&mut self, id: usize, parent: u32) -> u64 {
        let depth = self.nodes.len();
        let kept = self.nodes.iter().rposition(|&node| node == parent).map_or(0, |position| position + 1);
        self.nodes.truncate(kept);
        self.nodes.push(u32::try_from(id).unwrap_or(u32::MAX));
        (depth - kept) as u64
    }

    fn parent(&mut self, id: u32, levels_up: u64) -> Result<u32, Malformed> {
        let levels_up = usize::try_from(levels_up).unwrap_or(usize::MAX);
        let kept = self.nodes.len().checked_sub(levels_up).ok_or(Malformed("node lies above the root"))?;
        self.nodes.truncate(kept);
        let parent = self.nodes.last().copied().unwrap_or(NONE);
        self.nodes.push(id);
        Ok(parent)
    }
}
