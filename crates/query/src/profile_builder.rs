//! A merged profile being written: samples of equal stack and labels are added up.
//!
//! Of the headers: the earliest time, the sum of durations, the largest period, all comments once, the first profile's
//! drop and keep expressions, the first documentation link and default sample type that there is, as pprof merges them.

use block::{NONE, ProfileMeta};
use profile::{
    LocationIndex, Profile, ProfileId, ProfileType, SampleLabel, StringIndex, Timestamp, ValueType,
};

use crate::{
    QueryError,
    amount::divide_rounded,
    path_table::{PathTable, ROOT},
    profile_tables::{Map, MappingRule, Set, Tables, Translation, position},
};

/// The profile.
pub(crate) struct ProfileBuilder {
    tables: Tables,
    types: Vec<ProfileType>,
    denominators: Vec<i128>,
    stacks: PathTable,
    label_sets: Map<Vec<SampleLabel>, u32>,
    label_texts: Vec<Vec<SampleLabel>>,
    /// Row of each stack without labels, [`NONE`] = none so far.
    plain_rows: Vec<u32>,
    /// Row of each stack and label set.
    labelled_rows: Map<(u32, u32), u32>,
    /// Stack and labels of each row.
    keys: Vec<(u32, u32)>,
    values: Vec<i128>,
    seen: Set<ProfileId>,
    first: Option<Timestamp>,
    comments: Vec<StringIndex>,
    trim: Option<GoPgo>,
}

/// What is left of stacks in a profile for Go's compiler, which looks at the innermost calls alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoPgo {
    /// Innermost locations that stay; 0 = all.
    pub keep_locations: u32,
    /// Whether samples of one called function are one, wherever in its code they were taken.
    pub aggregate_callees: bool,
}

/// What the nodes and label sets of one dataset have become.
pub(crate) struct Nodes<'a> {
    symbols: Translation<'a>,
    /// Stack of each node, [`NONE`] = not translated yet.
    stacks: Vec<u32>,
    label_sets: Map<u32, u32>,
    /// Callers that are still to be translated: node and location. Kept for its memory.
    pending: Vec<(u32, u32)>,
}

impl<'a> Nodes<'a> {
    /// Nothing is known yet.
    pub fn new(symbols: &'a dyn block::Symbols) -> Self {
        Self {
            stacks: vec![NONE; symbols.node_count() as usize],
            symbols: Translation::new(symbols),
            label_sets: Map::default(),
            pending: Vec::new(),
        }
    }
}

impl ProfileBuilder {
    /// An empty profile with these columns.
    pub fn new(types: Vec<ProfileType>) -> Self {
        let mut tables = Tables::new(MappingRule::Joined);
        for one in &types {
            let kind = tables.string(one.sample_type.as_bytes());
            let unit = tables.string(one.sample_unit.as_bytes());
            tables.columns.sample_types.push(ValueType { kind, unit });
        }
        if let Some(first) = types.first() {
            let kind = tables.string(first.period_type.as_bytes());
            let unit = tables.string(first.period_unit.as_bytes());
            tables.columns.header.period_type = Some(ValueType { kind, unit });
        }
        Self {
            tables,
            denominators: vec![1; types.len()],
            types,
            stacks: PathTable::new(NONE),
            label_sets: [(Vec::new(), 0)].into_iter().collect(),
            label_texts: vec![Vec::new()],
            plain_rows: Vec::new(),
            labelled_rows: Map::default(),
            keys: Vec::new(),
            values: Vec::new(),
            seen: Set::default(),
            first: None,
            comments: Vec::new(),
            trim: None,
        }
    }

    /// Trims stacks as Go's compiler wants them.
    pub fn trim(&mut self, trim: Option<GoPgo>) {
        self.trim = trim;
    }

    /// What the values of a column are divided by at the end.
    pub fn set_denominator(&mut self, column: usize, denominator: i128) {
        self.denominators[column] = denominator;
    }

    /// Takes over a profile's header, once per profile.
    pub fn see_profile(&mut self, nodes: &mut Nodes<'_>, meta: &ProfileMeta) {
        if !self.seen.insert(meta.id) {
            return;
        }
        let from = &mut nodes.symbols;
        let stored = from.symbols.header(meta.header).into_owned();
        for &id in &stored.comments {
            let comment = self.tables.stored_string(from, id);
            if !self.comments.contains(&comment) {
                self.comments.push(comment);
            }
        }
        for &id in &stored.mappings {
            self.tables.mapping(from, id);
        }
        let doc_url = self.tables.stored_string(from, stored.doc_url);
        let default_type = self.tables.stored_string(from, stored.default_sample_type);
        let is_first = self.first.is_none_or(|first| meta.time < first);
        if is_first {
            self.first = Some(meta.time);
            let drop_frames = self.tables.stored_string(from, stored.drop_frames);
            let keep_frames = self.tables.stored_string(from, stored.keep_frames);
            let header = &mut self.tables.columns.header;
            header.time_nanos = meta.time.0;
            (header.drop_frames, header.keep_frames) = (drop_frames, keep_frames);
        }
        let header = &mut self.tables.columns.header;
        header.duration_nanos = header.duration_nanos.saturating_add(meta.duration_nanos);
        header.period = header.period.max(meta.period);
        if is_first && doc_url != StringIndex::EMPTY || header.doc_url == StringIndex::EMPTY {
            header.doc_url = doc_url;
        }
        if is_first && default_type != StringIndex::EMPTY || header.default_sample_type == StringIndex::EMPTY
        {
            header.default_sample_type = default_type;
        }
    }

    /// Adds to the sample of a node ([`NONE`] = no stack) and a label set.
    pub fn add(&mut self, nodes: &mut Nodes<'_>, node: u32, label_set: u32, column: usize, value: i128) {
        let stack = match self.trim {
            _ if node == NONE => ROOT,
            None => self.stack(nodes, node),
            Some(trim) => self.trimmed_stack(nodes, node, trim),
        };
        let labels = self.labels(nodes, label_set);
        let width = self.types.len();
        let row = self.row(stack, labels);
        self.values[row as usize * width + column] += value;
    }

    /// The row of a stack and a label set. Most samples have no labels, and stacks are numbered without gaps.
    fn row(&mut self, stack: u32, labels: u32) -> u32 {
        let next = position(self.keys.len());
        let place = if labels == 0 {
            if self.plain_rows.len() <= stack as usize {
                self.plain_rows.resize(self.stacks.len(), NONE);
            }
            &mut self.plain_rows[stack as usize]
        } else {
            self.labelled_rows.entry((stack, labels)).or_insert(NONE)
        };
        if *place != NONE {
            return *place;
        }
        *place = next;
        self.keys.push((stack, labels));
        self.values.resize(self.values.len() + self.types.len(), 0);
        next
    }

    /// The stack of a node, its callers first.
    fn stack(&mut self, nodes: &mut Nodes<'_>, node: u32) -> u32 {
        let mut known = ROOT;
        let mut at = node;
        while at != NONE {
            let stack = nodes.stacks[at as usize];
            if stack != NONE {
                known = stack;
                break;
            }
            let walked = nodes.symbols.symbols.node(at);
            nodes.pending.push((at, walked.location));
            at = walked.parent;
        }
        while let Some((at, location)) = nodes.pending.pop() {
            let location = self.tables.location(&mut nodes.symbols, location);
            known = self.stacks.child(known, location.0);
            nodes.stacks[at as usize] = known;
        }
        known
    }

    /// The innermost part of the stack of a node.
    fn trimmed_stack(&mut self, nodes: &mut Nodes<'_>, leaf: u32, trim: GoPgo) -> u32 {
        if nodes.stacks[leaf as usize] != NONE {
            return nodes.stacks[leaf as usize];
        }
        let mut kept = Vec::new();
        let mut node = leaf;
        while node != NONE && (trim.keep_locations == 0 || kept.len() < trim.keep_locations as usize) {
            let walked = nodes.symbols.symbols.node(node);
            kept.push(if trim.aggregate_callees && node == leaf {
                self.tables.callee(&mut nodes.symbols, walked.location)
            } else {
                self.tables.location(&mut nodes.symbols, walked.location)
            });
            node = walked.parent;
        }
        let stack = kept.iter().rev().fold(ROOT, |stack, location| self.stacks.child(stack, location.0));
        // Only of leaves: with trimmed stacks a caller's stack is no part of its callee's.
        nodes.stacks[leaf as usize] = stack;
        stack
    }

    fn labels(&mut self, nodes: &mut Nodes<'_>, label_set: u32) -> u32 {
        if label_set == 0 {
            return 0;
        }
        if let Some(&known) = nodes.label_sets.get(&label_set) {
            return known;
        }
        let labels = self.tables.labels(&mut nodes.symbols, label_set);
        let next = position(self.label_texts.len());
        let number = *self.label_sets.entry(labels.clone()).or_insert(next);
        if number == next {
            self.label_texts.push(labels);
        }
        nodes.label_sets.insert(label_set, number);
        number
    }

    /// Writes the profile. Samples without a value are left out.
    pub fn finish(mut self) -> Result<Vec<u8>, QueryError> {
        let width = self.types.len();
        let has_labels = self.label_texts.len() > 1;
        let columns = &mut self.tables.columns;
        columns.header.comments = self.comments;
        for (row, &(stack, labels)) in self.keys.iter().enumerate() {
            let values = &self.values[row * width..][..width];
            let before = columns.values.len();
            for (&value, &denominator) in values.iter().zip(&self.denominators) {
                let value = divide_rounded(value, denominator);
                columns.values.push(i64::try_from(value).map_err(|_| QueryError::Overflow)?);
            }
            if columns.values[before..].iter().all(|&value| value == 0) {
                columns.values.truncate(before);
                continue;
            }
            let mut at = stack;
            while at != ROOT {
                columns.stacks.push(LocationIndex(self.stacks.names()[at as usize]));
                at = self.stacks.parents()[at as usize];
            }
            columns.stack_ends.push(position(columns.stacks.len()));
            if has_labels {
                columns.labels.extend(&self.label_texts[labels as usize]);
                columns.label_ends.push(position(columns.labels.len()));
            }
        }
        Ok(formats::encode_pprof(&Profile { text: &self.tables.text, columns: &self.tables.columns }))
    }
}
