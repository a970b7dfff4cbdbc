//! From a dataset's symbols to a block's: only what the chosen profiles use, in the block's order.
//!
//! ```text
//! rows → nodes → locations → lines → functions → strings, sorted
//!          ↘ function nodes → frames, sorted ↗
//! ```
//!
//! Everything is first marked from the rows down, then numbered from the strings up, because each table is sorted by
//! the new ids of the tables below it.

use std::borrow::Cow;

use foldhash::{HashMap, HashSet, HashSetExt as _};

use crate::{
    FunctionNode, LabelPair, NONE, Node, StoredFrame, StoredFunction, StoredHeader, StoredLabelValue,
    StoredLine, StoredLocation, StoredMapping, Symbols,
    symbols::BlockSymbols,
    text_order::{Text, sort_texts},
};

/// Which ids of a dataset are used: filled row by row, then closed over everything that they point to.
#[derive(Debug)]
pub(crate) struct Used {
    nodes: Vec<bool>,
    label_sets: Vec<bool>,
    /// Headers in the order in which they were met.
    headers: Vec<u32>,
    known_headers: HashSet<u32>,
}

/// New ids by old ids; [`NONE`] for what is not used.
#[derive(Debug)]
pub(crate) struct Renumbered {
    pub symbols: BlockSymbols,
    pub nodes: Vec<u32>,
    pub label_sets: Vec<u32>,
    pub headers: HashMap<u32, u32>,
}

impl Used {
    pub(crate) fn new(symbols: &dyn Symbols) -> Self {
        let mut label_sets = vec![false; symbols.label_set_count() as usize];
        if let Some(empty) = label_sets.first_mut() {
            *empty = true;
        }
        Self {
            nodes: vec![false; symbols.node_count() as usize],
            label_sets,
            headers: Vec::new(),
            known_headers: HashSet::new(),
        }
    }

    pub(crate) fn mark(&mut self, nodes: &[u32], label_sets: &[u32], header: u32) {
        for &node in nodes.iter().filter(|&&node| node != NONE) {
            self.nodes[node as usize] = true;
        }
        for &label_set in label_sets {
            self.label_sets[label_set as usize] = true;
        }
        if self.known_headers.insert(header) {
            self.headers.push(header);
        }
    }
}

/// Builds the tables of a block.
pub(crate) fn renumber(symbols: &dyn Symbols, mut used: Used) -> Renumbered {
    let old_nodes = OldNodes::collect(symbols, &mut used.nodes);
    let mut code = OldCode::collect(symbols, &old_nodes);
    for &header in &used.headers {
        code.mappings.extend_from_slice(&symbols.header(header).mappings);
    }
    code.mappings.sort_unstable();
    code.mappings.dedup();
    let frames: Vec<(u32, StoredFrame)> =
        ids(&old_nodes.frames).map(|frame| (frame, symbols.stored_frame(frame))).collect();
    let mut new = BlockSymbols::default();
    let strings = number_strings(symbols, &used_strings(symbols, &used, &code, &frames), &mut new);
    let mappings = number_mappings(symbols, &code, &strings, &mut new);
    let functions = number_functions(symbols, &code, &strings, &mut new);
    let locations = number_locations(symbols, &old_nodes, &mappings, &functions, &mut new);
    let frames = number_frames(&frames, old_nodes.frames.len(), &strings, &mut new);
    let function_nodes = number_function_nodes(&old_nodes, &frames, &mut new);
    let nodes = number_nodes(&old_nodes.nodes, &used.nodes, &function_nodes, &locations, &mut new);
    let label_sets = number_label_sets(symbols, &used.label_sets, &strings, &mut new);
    let headers = number_headers(symbols, &used.headers, &strings, &mappings, &mut new);
    Renumbered { symbols: new, nodes, label_sets, headers }
}

/// Ids that are marked, ascending.
fn ids(marks: &[bool]) -> impl Iterator<Item = u32> + '_ {
    (0..).zip(marks).filter(|(_, is_used)| **is_used).map(|(id, _)| id)
}

/// Used nodes and what they point to.
struct OldNodes {
    /// By old id; those that are not used are blank.
    nodes: Vec<Node>,
    function_nodes: Vec<FunctionNode>,
    used_function_nodes: Vec<bool>,
    frames: Vec<bool>,
    /// Used locations, sorted.
    locations: Vec<u32>,
}

impl OldNodes {
    /// Copies used nodes and marks their parents, which have smaller ids: one pass from the last to the first.
    fn collect(symbols: &dyn Symbols, used: &mut [bool]) -> Self {
        let mut used_function_nodes = vec![false; symbols.function_node_count() as usize];
        let mut used_locations = Vec::new();
        let blank = Node { parent: NONE, location: NONE, function_node: NONE };
        let mut nodes = vec![blank; used.len()];
        for id in (0..used.len()).rev().filter_map(|id| u32::try_from(id).ok()) {
            if !used[id as usize] {
                continue;
            }
            let node = symbols.node(id);
            nodes[id as usize] = node;
            mark(&mut used_locations, node.location);
            if node.parent != NONE {
                used[node.parent as usize] = true;
            }
            if node.function_node != NONE {
                used_function_nodes[node.function_node as usize] = true;
            }
        }
        let mut frames = vec![false; symbols.frame_count() as usize];
        let blank = FunctionNode { parent: NONE, frame: NONE };
        let mut function_nodes = vec![blank; used_function_nodes.len()];
        for id in (0..used_function_nodes.len()).rev().filter_map(|id| u32::try_from(id).ok()) {
            if !used_function_nodes[id as usize] {
                continue;
            }
            let node = symbols.function_node(id);
            function_nodes[id as usize] = node;
            frames[node.frame as usize] = true;
            if node.parent != NONE {
                used_function_nodes[node.parent as usize] = true;
            }
        }
        let locations = ids(&used_locations).collect();
        Self { nodes, function_nodes, used_function_nodes, frames, locations }
    }
}

/// Marks an id in a table whose length is not known beforehand.
fn mark(marks: &mut Vec<bool>, id: u32) {
    if id as usize >= marks.len() {
        marks.resize((id as usize + 1).max(2 * marks.len()), false);
    }
    marks[id as usize] = true;
}

/// Functions of used locations and mappings of locations and headers, sorted.
struct OldCode {
    functions: Vec<u32>,
    mappings: Vec<u32>,
}

impl OldCode {
    fn collect(symbols: &dyn Symbols, nodes: &OldNodes) -> Self {
        let (mut functions, mut mappings) = (Vec::new(), Vec::new());
        for &location in &nodes.locations {
            let location = symbols.location(location);
            if location.mapping != NONE {
                mappings.push(location.mapping);
            }
            for line in 0..location.lines_length {
                mark(&mut functions, symbols.line(location.lines_start + line).function);
            }
        }
        mappings.sort_unstable();
        mappings.dedup();
        Self { functions: ids(&functions).collect(), mappings }
    }
}

/// Marks the strings that anything used points to, and the empty one.
fn used_strings(
    symbols: &dyn Symbols,
    used: &Used,
    code: &OldCode,
    frames: &[(u32, StoredFrame)],
) -> Vec<bool> {
    let mut marks = vec![true];
    let mut mark_all = |ids: &[u32]| ids.iter().for_each(|&id| mark(&mut marks, id));
    for &function in &code.functions {
        let function = symbols.function(function);
        mark_all(&[function.name, function.system_name, function.file]);
    }
    for &mapping in &code.mappings {
        let mapping = symbols.mapping(mapping);
        mark_all(&[mapping.file, mapping.build_id]);
    }
    for (_, frame) in frames {
        mark_all(&[frame.name, frame.system_name, frame.file, frame.mapping_file, frame.build_id]);
    }
    for label_set in ids(&used.label_sets) {
        for pair in symbols.label_set(label_set).iter() {
            let (StoredLabelValue::Text(value) | StoredLabelValue::Number { unit: value, .. }) = pair.value;
            mark_all(&[pair.key, value]);
        }
    }
    for &header in &used.headers {
        let header = symbols.header(header);
        mark_all(&header.comments);
        mark_all(&[header.default_sample_type, header.drop_frames, header.keep_frames, header.doc_url]);
    }
    marks
}

/// Used strings by content, each once: a new id is the rank. Returns new ids by old ids.
fn number_strings(symbols: &dyn Symbols, used: &[bool], new: &mut BlockSymbols) -> Vec<u32> {
    let texts: Vec<(u32, Cow<'_, [u8]>)> = ids(used).map(|id| (id, symbols.string(id))).collect();
    new.text.reserve_exact(texts.iter().map(|(_, text)| text.len()).sum());
    new.string_ends.reserve_exact(texts.len());
    let mut sorted: Vec<Text<'_>> = texts.iter().map(|(id, text)| Text::new(text, *id)).collect();
    sort_texts(&mut sorted);
    let mut of_old = vec![NONE; used.len()];
    let mut last: Option<&[u8]> = None;
    for text in sorted {
        if last != Some(text.bytes) {
            new.text.extend_from_slice(text.bytes);
            new.string_ends.push(u32::try_from(new.text.len()).unwrap_or(u32::MAX));
            last = Some(text.bytes);
        }
        of_old[text.id as usize] = u32::try_from(new.string_ends.len() - 1).unwrap_or(u32::MAX);
    }
    of_old
}

/// New mapping ids by old ids.
fn number_mappings(
    symbols: &dyn Symbols,
    code: &OldCode,
    strings: &[u32],
    new: &mut BlockSymbols,
) -> Vec<u32> {
    for &mapping in &code.mappings {
        let old = symbols.mapping(mapping);
        let (file, build_id) = (strings[old.file as usize], strings[old.build_id as usize]);
        new.mappings.push(StoredMapping { file, build_id, ..old });
    }
    inverse(&code.mappings, length_of(&code.mappings))
}

/// New function ids by old ids.
fn number_functions(
    symbols: &dyn Symbols,
    code: &OldCode,
    strings: &[u32],
    new: &mut BlockSymbols,
) -> Vec<u32> {
    let mut sorted: Vec<((u32, u32, u32, i64), u32)> = Vec::with_capacity(code.functions.len());
    for &function in &code.functions {
        let old = symbols.function(function);
        let string = |id: u32| strings[id as usize];
        let key = (string(old.name), string(old.file), string(old.system_name), old.start_line);
        sorted.push((key, function));
    }
    sorted.sort_unstable();
    let mut of_old = vec![NONE; length_of(&code.functions)];
    new.functions.reserve_exact(sorted.len());
    for (id, &((name, file, system_name, start_line), old)) in (0..).zip(&sorted) {
        of_old[old as usize] = id;
        new.functions.push(StoredFunction { name, system_name, file, start_line });
    }
    of_old
}

/// Length of a table that has place for all of some ascending ids.
fn length_of(ids: &[u32]) -> usize {
    ids.last().map_or(0, |&last| last as usize + 1)
}

/// New location ids by old ids.
fn number_locations(
    symbols: &dyn Symbols,
    nodes: &OldNodes,
    mappings: &[u32],
    functions: &[u32],
    new: &mut BlockSymbols,
) -> Vec<u32> {
    let mut sorted = Vec::with_capacity(nodes.locations.len());
    for &old in &nodes.locations {
        let location = symbols.location(old);
        let first = (location.lines_length > 0).then(|| symbols.line(location.lines_start));
        let key =
            first.map_or((NONE, 0, 0), |line| (functions[line.function as usize], line.line, line.column));
        sorted.push((key, location.address, old));
    }
    sorted.sort_unstable();
    let mut of_old = vec![NONE; length_of(&nodes.locations)];
    new.locations.reserve_exact(sorted.len());
    new.lines.reserve(sorted.len());
    for (id, &(_, _, old)) in (0..).zip(&sorted) {
        of_old[old as usize] = id;
        let old = symbols.location(old);
        let lines_start = u32::try_from(new.lines.len()).unwrap_or(u32::MAX);
        for line in 0..old.lines_length {
            let line = symbols.line(old.lines_start + line);
            new.lines.push(StoredLine { function: functions[line.function as usize], ..line });
        }
        let mapping = if old.mapping == NONE { NONE } else { mappings[old.mapping as usize] };
        new.locations.push(StoredLocation { mapping, lines_start, ..old });
    }
    of_old
}

/// New frame ids by old ids.
fn number_frames(
    frames: &[(u32, StoredFrame)],
    frame_count: usize,
    strings: &[u32],
    new: &mut BlockSymbols,
) -> Vec<u32> {
    let mut sorted: Vec<(StoredFrame, u32)> = Vec::with_capacity(frames.len());
    for &(old, frame) in frames {
        let string = |id: u32| strings[id as usize];
        // The empty string is the first one here as there.
        let name = string(frame.name);
        let of_nameless = |value| if name == 0 { value } else { 0 };
        let frame = StoredFrame {
            name,
            system_name: string(frame.system_name),
            file: string(frame.file),
            mapping_file: of_nameless(string(frame.mapping_file)),
            build_id: of_nameless(string(frame.build_id)),
            address: if name == 0 { frame.address } else { 0 },
        };
        sorted.push((frame, old));
    }
    sorted.sort_unstable();
    let mut of_old = vec![NONE; frame_count];
    new.frames.reserve_exact(sorted.len());
    for (id, &(frame, old)) in (0..).zip(&sorted) {
        of_old[old as usize] = id;
        new.frames.push(frame);
    }
    of_old
}

fn number_function_nodes(nodes: &OldNodes, frames: &[u32], new: &mut BlockSymbols) -> Vec<u32> {
    let old = &nodes.function_nodes;
    let parent = |id: u32| old[id as usize].parent;
    let key = |id: u32| u64::from(frames[old[id as usize].frame as usize]);
    let mut of_old = vec![NONE; old.len()];
    depth_first(&nodes.used_function_nodes, parent, key, |id, new_id| {
        let node = old[id as usize];
        let parent = if node.parent == NONE { NONE } else { of_old[node.parent as usize] };
        new.function_nodes.push(FunctionNode { parent, frame: frames[node.frame as usize] });
        of_old[id as usize] = new_id;
    });
    of_old
}

fn number_nodes(
    old: &[Node],
    used: &[bool],
    function_nodes: &[u32],
    locations: &[u32],
    new: &mut BlockSymbols,
) -> Vec<u32> {
    let new_function_node = |old: u32| if old == NONE { NONE } else { function_nodes[old as usize] };
    let parent = |id: u32| old[id as usize].parent;
    let key = |id: u32| {
        let node = old[id as usize];
        let function_node = u64::from(new_function_node(node.function_node));
        function_node << 32 | u64::from(locations[node.location as usize])
    };
    let mut of_old = vec![NONE; used.len()];
    new.nodes.reserve_exact(ids(used).count());
    depth_first(used, parent, key, |id, new_id| {
        let node = old[id as usize];
        new.nodes.push(Node {
            parent: if node.parent == NONE { NONE } else { of_old[node.parent as usize] },
            location: locations[node.location as usize],
            function_node: new_function_node(node.function_node),
        });
        of_old[id as usize] = new_id;
    });
    of_old
}

/// Calls back with old ids in depth-first order, children sorted by their key, and with their places in that order.
fn depth_first(
    used: &[bool],
    parent: impl Fn(u32) -> u32,
    key: impl Fn(u32) -> u64,
    mut visit: impl FnMut(u32, u32),
) {
    // Children of one parent become neighbours by a counting sort; roots are children of an extra entry at the end.
    let slot = |parent: u32| if parent == NONE { used.len() } else { parent as usize };
    // Where each slot's children end, and once they are filled in, where they begin.
    let mut starts = vec![0_u32; used.len() + 2];
    for id in ids(used) {
        starts[slot(parent(id))] += 1;
    }
    let mut length = 0;
    for start in &mut starts {
        length += *start;
        *start = length;
    }
    let mut children = vec![0_u32; length as usize];
    for id in (0..used.len()).rev().filter(|&id| used[id]).filter_map(|id| u32::try_from(id).ok()) {
        let place = &mut starts[slot(parent(id))];
        *place -= 1;
        children[*place as usize] = id;
    }
    let range = |slot: usize| starts[slot] as usize..starts[slot + 1] as usize;
    let mut keyed: Vec<(u64, u32)> = Vec::new();
    for slot in 0..=used.len() {
        // Descending, because the last one pushed is visited first. Most nodes have one child or none.
        let children = &mut children[range(slot)];
        if children.len() > 1 {
            keyed.clear();
            keyed.extend(children.iter().map(|&id| (key(id), id)));
            keyed.sort_unstable_by(|left, right| right.cmp(left));
            children.iter_mut().zip(&keyed).for_each(|(child, &(_, id))| *child = id);
        }
    }
    let mut visited = 0;
    let mut waiting: Vec<u32> = children[range(used.len())].to_vec();
    while let Some(mut id) = waiting.pop() {
        // Down to a leaf; what parts on the way waits.
        loop {
            visit(id, visited);
            visited += 1;
            let Some((&next, others)) = children[range(id as usize)].split_last() else { break };
            waiting.extend_from_slice(others);
            id = next;
        }
    }
}

/// New ids by old ids.
fn inverse(order: &[u32], length: usize) -> Vec<u32> {
    let mut of_old = vec![NONE; length];
    for (new, &old) in (0..).zip(order) {
        of_old[old as usize] = new;
    }
    of_old
}

fn number_label_sets(
    symbols: &dyn Symbols,
    used: &[bool],
    strings: &[u32],
    new: &mut BlockSymbols,
) -> Vec<u32> {
    let mut of_old = vec![NONE; used.len()];
    for (id, old) in (0..).zip(ids(used)) {
        of_old[old as usize] = id;
        for pair in symbols.label_set(old).iter() {
            let value = match pair.value {
                StoredLabelValue::Text(text) => StoredLabelValue::Text(strings[text as usize]),
                StoredLabelValue::Number { value, unit } => {
                    StoredLabelValue::Number { value, unit: strings[unit as usize] }
                }
            };
            new.label_pairs.push(LabelPair { key: strings[pair.key as usize], value });
        }
        new.label_set_ends.push(u32::try_from(new.label_pairs.len()).unwrap_or(u32::MAX));
    }
    if new.label_set_ends.is_empty() {
        new.label_set_ends.push(0);
    }
    of_old
}

fn number_headers(
    symbols: &dyn Symbols,
    used: &[u32],
    strings: &[u32],
    mappings: &[u32],
    new: &mut BlockSymbols,
) -> HashMap<u32, u32> {
    for &header in used {
        let old = symbols.header(header);
        new.headers.push(StoredHeader {
            comments: old.comments.iter().map(|&comment| strings[comment as usize]).collect(),
            default_sample_type: strings[old.default_sample_type as usize],
            drop_frames: strings[old.drop_frames as usize],
            keep_frames: strings[old.keep_frames as usize],
            doc_url: strings[old.doc_url as usize],
            has_period_type: old.has_period_type,
            mappings: old.mappings.iter().map(|mapping| mappings[*mapping as usize]).collect(),
        });
    }
    used.iter().copied().zip(0..).collect()
}

#[cfg(test)]
mod tests {
    use proptest::{bool::weighted, collection::vec, prelude::*};

    use super::*;

    /// A tree that is made for a test.
    struct Made {
        parents: Vec<u32>,
        used: Vec<bool>,
        keys: Vec<u64>,
    }

    impl Made {
        fn visited(&self) -> Vec<u32> {
            let mut ids = Vec::new();
            let parent = |id: u32| self.parents[id as usize];
            depth_first(
                &self.used,
                parent,
                |id| self.keys[id as usize],
                |id, place| {
                    assert_eq!(place as usize, ids.len());
                    ids.push(id);
                },
            );
            ids
        }

        /// Ids sorted by the keys on their paths: whoever begins another path comes before it.
        fn expected(&self) -> Vec<u32> {
            let mut paths: Vec<(Vec<(u64, u32)>, u32)> = Vec::new();
            for id in ids(&self.used) {
                let mut path = Vec::new();
                let mut next = id;
                while next != NONE {
                    path.push((self.keys[next as usize], next));
                    next = self.parents[next as usize];
                }
                path.reverse();
                paths.push((path, id));
            }
            paths.sort();
            paths.into_iter().map(|(_, id)| id).collect()
        }
    }

    proptest! {
        #[test]
        fn trees_of_all_kinds_are_walked_depth_first_in_the_order_of_keys(
            kind in 0..4_u32,
            // Few keys, so that some are equal: then the older id is first.
            nodes in vec((any::<u32>(), weighted(0.6), 0..5_u64), 0..60),
        ) {
            let parents: Vec<u32> = (0..)
                .zip(&nodes)
                .map(|(id, &(number, ..))| match kind {
                    // Bushy, long, a wood of roots, a star.
                    0 => number % (id + 1),
                    1 => u32::saturating_sub(id, number % 3),
                    2 => number % (3 * id + 1),
                    _ => 0,
                })
                .zip(0..)
                .map(|(parent, id)| if parent < id { parent } else { NONE })
                .collect();
            let mut used: Vec<bool> = nodes.iter().map(|&(_, is_used, _)| is_used).collect();
            for id in (0..used.len()).rev().filter(|&id| parents[id] != NONE) {
                used[parents[id] as usize] |= used[id];
            }
            let made = Made { parents, used, keys: nodes.iter().map(|&(_, _, key)| key).collect() };
            prop_assert_eq!(made.visited(), made.expected());
        }
    }

    #[test]
    fn the_deepest_stack_and_the_widest_node_are_walked() {
        let length = 200_000_u32;
        let all = || vec![true; length as usize];
        let chain = (0..length).map(|id| id.checked_sub(1).unwrap_or(NONE)).collect();
        let made = Made { parents: chain, used: all(), keys: vec![0; length as usize] };
        assert!(made.visited().into_iter().eq(0..length));
        let roots = vec![NONE; length as usize];
        let keys = (0..u64::from(length)).rev().collect();
        let made = Made { parents: roots, used: all(), keys };
        assert!(made.visited().into_iter().eq((0..length).rev()));
    }
}
