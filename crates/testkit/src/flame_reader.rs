//! A slow and obvious reader of the binary flame reply (`docs/flame-format.md`), the judge of the fast writer: it shares
//! no code with it and refuses whatever the format does not allow.

use serde_json::{Value, json};

/// What is in a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct FlameDump {
    /// Flags of the header.
    pub flags: u16,
    /// Section 1.
    pub meta: Value,
    /// Frames; the first is the root's.
    pub frames: Vec<FrameDump>,
    /// Nodes in the order of the reply.
    pub nodes: Vec<NodeDump>,
    /// What was cut, by parent.
    pub rest: Vec<RestDump>,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameDump {
    /// Name.
    pub name: String,
    /// Package.
    pub package: String,
    /// Source file.
    pub file: String,
    /// Line, 0 = not known.
    pub line: u32,
    /// Kind.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
}

/// A node; one value for each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDump {
    /// Steps from the root.
    pub depth: u16,
    /// Position among the frames.
    pub frame: u32,
    /// Values with all callees.
    pub totals: Vec<i64>,
    /// Own values.
    pub selfs: Vec<i64>,
}

/// What was cut below one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestDump {
    /// Position of the node.
    pub parent: u32,
    /// Number of nodes.
    pub count: u32,
    /// Their values.
    pub totals: Vec<i64>,
}

/// Sections of version 1, by kind.
const SECTIONS: u32 = 16;

/// Reads a reply.
///
/// # Errors
/// Says what the format does not allow.
pub fn read_flame(bytes: &[u8]) -> Result<FlameDump, String> {
    let at = |start: usize, length: usize| {
        let end = start.checked_add(length).ok_or("a length overflows")?;
        bytes.get(start..end).ok_or(format!("{length} bytes at {start} are outside"))
    };
    let u32_at =
        |start: usize| at(start, 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    if at(0, 4)? != b"EFLM" {
        return Err("wrong magic".into());
    }
    let u16_at = |start: usize| at(start, 2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    let version = u16_at(4)?;
    if version != 1 {
        return Err(format!("version {version}"));
    }
    let flags = u16_at(6)?;
    let columns = if flags & 1 == 0 { 1 } else { 2 };
    if u32_at(12)? as usize != bytes.len() {
        return Err(format!("total length {}, but there are {} bytes", u32_at(12)?, bytes.len()));
    }
    let mut sections: Vec<Option<&[u8]>> = vec![None; SECTIONS as usize + 1];
    for entry in 0..u32_at(8)? as usize {
        let place = 16 + 12 * entry;
        let (kind, offset, length) = (u32_at(place)?, u32_at(place + 4)?, u32_at(place + 8)?);
        if offset % 8 != 0 {
            return Err(format!("section {kind} begins at {offset}"));
        }
        let content = at(offset as usize, length as usize)?;
        if let Some(known) = sections.get_mut(kind as usize)
            && known.replace(content).is_some()
        {
            return Err(format!("section {kind} twice"));
        }
    }
    let section = |kind: usize| sections[kind].ok_or(format!("no section {kind}"));
    let numbers = |kind: usize| -> Result<Vec<u32>, String> {
        let content = section(kind)?;
        if content.len() % 4 != 0 {
            return Err(format!("section {kind} has {} bytes", content.len()));
        }
        Ok(content
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect())
    };
    let values = |kind: usize, count: usize| -> Result<Vec<Vec<i64>>, String> {
        let content = section(kind)?;
        if content.len() != 8 * count * columns {
            return Err(format!("section {kind} has {} bytes for {count} entries", content.len()));
        }
        let read =
            |eight: &[u8]| eight.iter().rev().fold(0_i64, |value, byte| (value << 8) | i64::from(*byte));
        let all: Vec<i64> = content.chunks_exact(8).map(read).collect();
        Ok((0..count).map(|entry| (0..columns).map(|column| all[column * count + entry]).collect()).collect())
    };

    let meta: Value = serde_json::from_slice(section(1)?).map_err(|error| error.to_string())?;
    let text = std::str::from_utf8(section(3)?).map_err(|error| error.to_string())?;
    let (mut strings, mut start) = (Vec::new(), 0);
    for length in numbers(2)? {
        let end = start + length as usize;
        strings.push(text.get(start..end).ok_or(format!("string {} is outside", strings.len()))?);
        start = end;
    }
    if start != text.len() || strings.first() != Some(&"") {
        return Err("the strings do not fit their lengths".into());
    }
    let string =
        |id: &u32| strings.get(*id as usize).map(|text| (*text).to_owned()).ok_or(format!("no string {id}"));
    let (names, packages, files, lines) = (numbers(4)?, numbers(5)?, numbers(6)?, numbers(7)?);
    let (kinds, frame_flags) = (section(8)?, section(9)?);
    let lengths = [packages.len(), files.len(), lines.len(), kinds.len(), frame_flags.len()];
    if lengths.iter().any(|length| *length != names.len()) {
        return Err(format!("{} frames, but columns of {lengths:?}", names.len()));
    }
    let mut frames = Vec::new();
    for frame in 0..names.len() {
        frames.push(FrameDump {
            name: string(&names[frame])?,
            package: string(&packages[frame])?,
            file: string(&files[frame])?,
            line: lines[frame],
            kind: kinds[frame],
            flags: frame_flags[frame],
        });
    }

    let node_frames = numbers(11)?;
    let count = node_frames.len();
    let depths = section(10)?;
    if depths.len() != 2 * count {
        return Err(format!("{count} nodes, but {} bytes of depths", depths.len()));
    }
    let (totals, selfs) = (values(12, count)?, values(13, count)?);
    let mut nodes: Vec<NodeDump> = Vec::new();
    for (position, (totals, selfs)) in totals.into_iter().zip(selfs).enumerate() {
        let depth = u16::from_le_bytes([depths[2 * position], depths[2 * position + 1]]);
        let before = nodes.last().map(|node| node.depth);
        let fits =
            before.map_or(depth == 0, |before| depth >= 1 && u32::from(depth) <= u32::from(before) + 1);
        if !fits {
            return Err(format!("depth {depth} after {before:?}"));
        }
        let frame = node_frames[position];
        if frame as usize >= frames.len() || (position == 0) != (frame == 0) {
            return Err(format!("node {position} has frame {frame}"));
        }
        nodes.push(NodeDump { depth, frame, totals, selfs });
    }
    let (parents, counts) = (numbers(14)?, numbers(15)?);
    if counts.len() != parents.len() {
        return Err(format!("{} parents of {} counts", parents.len(), counts.len()));
    }
    let mut rest: Vec<RestDump> = Vec::new();
    for (entry, totals) in values(16, parents.len())?.into_iter().enumerate() {
        let parent = parents[entry];
        if parent as usize >= count || rest.last().is_some_and(|last| last.parent >= parent) {
            return Err(format!("rest {entry} is of node {parent}"));
        }
        rest.push(RestDump { parent, count: counts[entry], totals });
    }
    if rest.is_empty() != (flags & 2 == 0) {
        return Err("the flag for a cut does not fit".into());
    }
    Ok(FlameDump { flags, meta, frames, nodes, rest })
}

impl FlameDump {
    /// Everything as JSON, values as text.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let texts = |values: &[i64]| values.iter().map(i64::to_string).collect::<Vec<_>>();
        let frames = self.frames.iter().map(|frame| {
            json!({
                "name": frame.name, "package": frame.package, "file": frame.file,
                "line": frame.line, "kind": frame.kind, "flags": frame.flags,
            })
        });
        let nodes = self.nodes.iter().map(|node| {
            json!({
                "depth": node.depth, "frame": node.frame,
                "total": texts(&node.totals), "self": texts(&node.selfs),
            })
        });
        let rest = self
            .rest
            .iter()
            .map(|rest| json!({ "parent": rest.parent, "count": rest.count, "total": texts(&rest.totals) }));
        json!({
            "flags": self.flags,
            "meta": self.meta,
            "frames": frames.collect::<Vec<_>>(),
            "nodes": nodes.collect::<Vec<_>>(),
            "rest": rest.collect::<Vec<_>>(),
        })
    }

    /// Every node as its path, own values and totals, sorted, so that orders do not count.
    #[must_use]
    pub fn paths(&self) -> Vec<(String, Vec<i64>, Vec<i64>)> {
        let mut open: Vec<&str> = Vec::new();
        let mut paths = Vec::new();
        for node in &self.nodes {
            open.truncate(usize::from(node.depth));
            open.push(&self.frames[node.frame as usize].name);
            paths.push((open.join("\n"), node.selfs.clone(), node.totals.clone()));
        }
        paths.sort();
        paths
    }
}
