//! The binary flame reply, `application/vnd.everflame.flame`, version 1: columns of fixed width that a page reads in
//! place. Every byte is described in `docs/flame-format.md`.
//!
//! Written straight from the columns of [`FlameTree`] and [`DiffTree`]: siblings are put in order of size and what the
//! cut left out becomes a table of its own, everything else is copied. Equal trees give equal bytes.
//!
//! It refuses a tree that the format cannot hold: deeper than 65,535 frames or larger than 4 GiB.
//!
//! Not here: reading it (`ui/src/flame`, and the slow reader in the tests), compressing it (`native`).

use std::collections::HashMap;

use query::{DiffTree, FlameTree, Rest};
use serde::Serialize;

use crate::{ApiError, ErrorKind};

/// What `Accept` and `Content-Type` call it.
pub const MEDIA_TYPE: &str = "application/vnd.everflame.flame";

const MAGIC: [u8; 4] = *b"EFLM";
const VERSION: u16 = 1;

/// Two value columns: left and right of a comparison.
const FLAG_DIFF: u16 = 1;
/// Something was cut; sections 14 to 16 say what.
const FLAG_PRUNED: u16 = 2;

/// The frame has no name of its own: an address or a file is shown.
const FRAME_UNSYMBOLISED: u8 = 2;

/// Sections begin at multiples of this, so that eight-byte numbers can be read in place.
const ALIGNMENT: usize = 8;

/// Section 1.
#[derive(Serialize)]
struct Meta<'a> {
    unit: &'a str,
    sample_type: &'a str,
    /// Text, because a page's numbers end at 2⁵³.
    totals: Vec<String>,
    stats: &'a wire::Stats,
}

/// A tree as the writer sees it.
struct Columns<'a> {
    nodes: Vec<Shape>,
    /// Totals and own values, one list per column; one column, or two for a comparison.
    totals: Vec<Vec<i64>>,
    selfs: Vec<Vec<i64>>,
    names: &'a [String],
    files: &'a [String],
    unit: &'a str,
    other: Option<u32>,
    rest: &'a [Rest],
    unsymbolised: &'a [u32],
}

#[derive(Clone, Copy)]
struct Shape {
    parent: u32,
    name: u32,
}

/// Writes a merged tree.
///
/// # Errors
/// 413 for a tree that the format cannot hold.
pub fn encode_flame(tree: &FlameTree, stats: &wire::Stats) -> Result<Vec<u8>, ApiError> {
    encode(
        &Columns {
            nodes: tree.nodes.iter().map(|node| Shape { parent: node.parent, name: node.name }).collect(),
            totals: vec![tree.nodes.iter().map(|node| node.total).collect()],
            selfs: vec![tree.nodes.iter().map(|node| node.self_value).collect()],
            names: &tree.names,
            files: &tree.files,
            unit: &tree.unit,
            other: tree.other,
            rest: &tree.rest,
            unsymbolised: &tree.unsymbolised,
        },
        stats,
    )
}

/// Writes two trees laid over each other.
///
/// # Errors
/// 413 for a tree that the format cannot hold.
pub fn encode_diff(tree: &DiffTree, stats: &wire::Stats) -> Result<Vec<u8>, ApiError> {
    let nodes = &tree.nodes;
    encode(
        &Columns {
            nodes: nodes.iter().map(|node| Shape { parent: node.parent, name: node.name }).collect(),
            totals: vec![
                nodes.iter().map(|node| node.left_total).collect(),
                nodes.iter().map(|node| node.right_total).collect(),
            ],
            selfs: vec![
                nodes.iter().map(|node| node.left_self).collect(),
                nodes.iter().map(|node| node.right_self).collect(),
            ],
            names: &tree.names,
            files: &tree.files,
            unit: &tree.unit,
            other: tree.other,
            rest: &tree.rest,
            unsymbolised: &tree.unsymbolised,
        },
        stats,
    )
}

fn encode(columns: &Columns<'_>, stats: &wire::Stats) -> Result<Vec<u8>, ApiError> {
    let placed = largest_first(columns)?;
    let frames = Frames::of(columns, &placed.order);
    let rest = rest_totals(columns, &placed);

    let mut flags = 0;
    if columns.totals.len() == 2 {
        flags |= FLAG_DIFF;
    }
    if !rest.parents.is_empty() {
        flags |= FLAG_PRUNED;
    }
    let meta = Meta {
        unit: columns.unit,
        sample_type: stats.profile_type.split(':').nth(1).unwrap_or(""),
        totals: columns.totals.iter().map(|of| of.first().copied().unwrap_or(0).to_string()).collect(),
        stats,
    };
    let meta = serde_json::to_vec(&meta).map_err(|error| ApiError::internal(error.to_string()))?;

    let nodes = placed.order.len();
    let mut writer = Writer::new(nodes * (10 + 16 * columns.totals.len()) + frames.strings.bytes.len());
    writer.section(1, |out| out.extend_from_slice(&meta));
    writer.section(2, |out| put_u32(out, &frames.strings.lengths));
    writer.section(3, |out| out.extend_from_slice(&frames.strings.bytes));
    writer.section(4, |out| put_u32(out, &frames.names));
    writer.section(5, |out| put_u32(out, &frames.packages));
    writer.section(6, |out| put_u32(out, &frames.files));
    // Nodes join all lines of a function, so no line is known.
    writer.section(7, |out| put_u32(out, &vec![0; frames.names.len()]));
    writer.section(8, |out| out.extend_from_slice(&frames.kinds));
    writer.section(9, |out| out.extend_from_slice(&frames.flags));
    writer.section(10, |out| out.extend(placed.depths.iter().flat_map(|depth| depth.to_le_bytes())));
    writer.section(11, |out| put_u32(out, &frames.of_nodes));
    for (kind, values) in [(12, &columns.totals), (13, &columns.selfs)] {
        writer.section(kind, |out| {
            for column in values {
                put_i64(out, placed.order.iter().map(|&node| column[node as usize]));
            }
        });
    }
    writer.section(14, |out| put_u32(out, &rest.parents));
    writer.section(15, |out| put_u32(out, &rest.counts));
    writer.section(16, |out| put_i64(out, rest.totals.iter().flatten().copied()));
    writer.finish(flags)
}

/// Nodes in the order of the reply.
struct Placed {
    /// Position of each node in the tree that came in.
    order: Vec<u32>,
    depths: Vec<u16>,
    /// The other way round; `u32::MAX` for "other" nodes, which are left out.
    position_of: Vec<u32>,
}

/// Depth first, siblings by the larger of their totals, largest first; they come in by name, so equal ones stay so.
fn largest_first(columns: &Columns<'_>) -> Result<Placed, ApiError> {
    let count = columns.nodes.len();
    let is_other = |node: usize| node != 0 && Some(columns.nodes[node].name) == columns.other;
    // Children of each node, one after the other.
    let mut ends = vec![0_usize; count + 1];
    for node in (1..count).filter(|&node| !is_other(node)) {
        ends[columns.nodes[node].parent as usize + 1] += 1;
    }
    for node in 0..count {
        ends[node + 1] += ends[node];
    }
    let starts = ends.clone();
    let mut children = vec![0_u32; ends[count]];
    for node in (1..count).filter(|&node| !is_other(node)) {
        let end = &mut ends[columns.nodes[node].parent as usize];
        children[*end] = index(node)?;
        *end += 1;
    }
    let size = |node: u32| columns.totals.iter().map(|of| of[node as usize]).max().unwrap_or(0);
    let mut placed = Placed {
        order: Vec::with_capacity(count),
        depths: Vec::with_capacity(count),
        position_of: vec![u32::MAX; count],
    };
    let mut stack: Vec<(u32, u16)> = if count == 0 { Vec::new() } else { vec![(0, 0)] };
    while let Some((node, depth)) = stack.pop() {
        placed.position_of[node as usize] = index(placed.order.len())?;
        placed.order.push(node);
        placed.depths.push(depth);
        let below = &mut children[starts[node as usize]..starts[node as usize + 1]];
        if below.is_empty() {
            continue;
        }
        below.sort_by_key(|&child| std::cmp::Reverse(size(child)));
        let deeper = depth.checked_add(1).ok_or_else(|| too_large("a stack is deeper than 65,535 frames"))?;
        stack.extend(below.iter().rev().map(|&child| (child, deeper)));
    }
    Ok(placed)
}

/// What was cut, by parent in the order of the reply.
struct RestColumns {
    parents: Vec<u32>,
    counts: Vec<u32>,
    totals: Vec<Vec<i64>>,
}

fn rest_totals(columns: &Columns<'_>, placed: &Placed) -> RestColumns {
    let mut others: HashMap<u32, usize> = HashMap::new();
    if let Some(other) = columns.other {
        let nodes = columns.nodes.iter().enumerate().skip(1);
        others.extend(
            nodes.filter(|(_, node)| node.name == other).map(|(position, node)| (node.parent, position)),
        );
    }
    let mut entries: Vec<(u32, &Rest)> =
        columns.rest.iter().map(|rest| (placed.position_of[rest.parent as usize], rest)).collect();
    entries.sort_unstable_by_key(|&(position, _)| position);
    let total = |rest: &Rest, column: &Vec<i64>| others.get(&rest.parent).map_or(0, |&node| column[node]);
    RestColumns {
        parents: entries.iter().map(|&(position, _)| position).collect(),
        counts: entries.iter().map(|(_, rest)| u32::try_from(rest.count).unwrap_or(u32::MAX)).collect(),
        totals: columns
            .totals
            .iter()
            .map(|column| entries.iter().map(|(_, rest)| total(rest, column)).collect())
            .collect(),
    }
}

/// Frames in the order in which nodes need them; frame 0 is the root's and has no name.
struct Frames<'a> {
    names: Vec<u32>,
    packages: Vec<u32>,
    files: Vec<u32>,
    kinds: Vec<u8>,
    flags: Vec<u8>,
    of_nodes: Vec<u32>,
    strings: Strings<'a>,
}

impl<'a> Frames<'a> {
    fn of(columns: &Columns<'a>, order: &[u32]) -> Self {
        const UNKNOWN: u32 = u32::MAX;
        let mut frames = Self {
            names: vec![0],
            packages: vec![0],
            files: vec![0],
            kinds: vec![names::FrameKind::Pseudo as u8],
            flags: vec![0],
            of_nodes: Vec::with_capacity(order.len()),
            strings: Strings::new(),
        };
        let mut frame_of = vec![UNKNOWN; columns.names.len()];
        let mut name_flags = vec![0_u8; columns.names.len()];
        for &name in columns.unsymbolised {
            name_flags[name as usize] |= FRAME_UNSYMBOLISED;
        }
        for &node in order {
            let name = columns.nodes[node as usize].name as usize;
            if node == 0 {
                frames.of_nodes.push(0);
                continue;
            }
            if frame_of[name] == UNKNOWN {
                frame_of[name] = u32::try_from(frames.names.len()).unwrap_or(UNKNOWN);
                let text = columns.names[name].as_str();
                let file = columns.files.get(name).map_or("", String::as_str);
                let kind = names::frame_kind(text, file);
                let package =
                    if kind == names::FrameKind::Pseudo { "" } else { names::package_of(text, file) };
                frames.names.push(frames.strings.position(text));
                frames.packages.push(frames.strings.position(package));
                frames.files.push(frames.strings.position(file));
                frames.kinds.push(kind as u8);
                frames.flags.push(name_flags[name]);
            }
            frames.of_nodes.push(frame_of[name]);
        }
        frames
    }
}

/// Texts, each once; text 0 is empty.
struct Strings<'a> {
    lengths: Vec<u32>,
    bytes: Vec<u8>,
    positions: HashMap<&'a str, u32>,
}

impl<'a> Strings<'a> {
    fn new() -> Self {
        Self { lengths: vec![0], bytes: Vec::new(), positions: HashMap::from([("", 0)]) }
    }

    fn position(&mut self, text: &'a str) -> u32 {
        let Self { lengths, bytes, positions } = self;
        *positions.entry(text).or_insert_with(|| {
            // Too many or too long ones make the whole too large, which is refused at the end.
            let position = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
            lengths.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
            bytes.extend_from_slice(text.as_bytes());
            position
        })
    }
}

/// Collects sections behind a header that is written at the end.
struct Writer {
    out: Vec<u8>,
    /// Kind, offset, length in bytes.
    table: Vec<(u32, usize, usize)>,
}

/// Sections of this version.
const SECTIONS: usize = 16;
const HEADER_BYTES: usize = 16 + 12 * SECTIONS;

impl Writer {
    fn new(bytes_expected: usize) -> Self {
        let mut out = Vec::with_capacity(HEADER_BYTES + bytes_expected + 4096);
        out.resize(HEADER_BYTES, 0);
        Self { out, table: Vec::with_capacity(SECTIONS) }
    }

    fn section(&mut self, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.resize(self.out.len().next_multiple_of(ALIGNMENT), 0);
        let start = self.out.len();
        write(&mut self.out);
        self.table.push((kind, start, self.out.len() - start));
    }

    fn finish(mut self, flags: u16) -> Result<Vec<u8>, ApiError> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&flags.to_le_bytes());
        header.extend_from_slice(&index(self.table.len())?.to_le_bytes());
        header.extend_from_slice(&index(self.out.len())?.to_le_bytes());
        for &(kind, offset, length) in &self.table {
            put_u32(&mut header, &[kind, index(offset)?, index(length)?]);
        }
        self.out[..HEADER_BYTES].copy_from_slice(&header);
        Ok(self.out)
    }
}

fn put_u32(out: &mut Vec<u8>, values: &[u32]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn put_i64(out: &mut Vec<u8>, values: impl Iterator<Item = i64>) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn index(value: usize) -> Result<u32, ApiError> {
    u32::try_from(value).map_err(|_| too_large("the graph is larger than 4 GiB"))
}

fn too_large(reason: &str) -> ApiError {
    ApiError::new(ErrorKind::TooLarge, "", format!("{reason}; ask for JSON or for fewer nodes (max_nodes)"))
}
