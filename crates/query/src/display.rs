//! Display trees: the function tree of a dataset with functions of one display name joined (R6).
//!
//! Built once per dataset and name mode and kept in a cache; a head's tree is extended by what the head has learnt since.
//! Afterwards a merge is two dense additions: rows into nodes, nodes into display nodes.
//!
//! Raw mode names frames as `go tool pprof -top` does (`[file]` or `<unknown>` where there is no name) and may apply the
//! profile's own drop and keep expressions ([`Pruning`]).

use std::{borrow::Cow, collections::HashMap};

use block::{Frame, NONE, Symbols};

use crate::{
    NameMode, QueryError, limits,
    name_table::{Name, NameTable},
    path_table::{PathTable, ROOT},
    progress::Progress,
    pruning::Pruning,
};

/// Position of the node that stands for samples without a stack (C006).
pub(crate) const NO_STACK: u32 = 1;

/// Name of the root.
const ROOT_NAME: &str = "total";

/// Name of [`NO_STACK`].
const NO_STACK_NAME: &str = "(no stack)";

/// The display tree of one dataset.
pub(crate) struct DisplayTree {
    mode: NameMode,
    pruning: Option<Pruning>,
    names: NameTable,
    /// Name of each frame.
    frame_names: Vec<u32>,
    /// Whether nodes are walked one by one, see [`DisplayTree::extend_by_walks`]; once they are, they stay so.
    walks: bool,
    /// Display node of each function node; not used where nodes are walked.
    function_display: Vec<u32>,
    /// Display node of each node.
    node_display: Vec<u32>,
    /// With pruning: what becomes of the callees of each node.
    node_states: Vec<u8>,
    paths: PathTable,
    /// Already made names, so that a display name is worked out once per distinct raw name.
    known_names: HashMap<Box<[u8]>, u32>,
}

impl DisplayTree {
    /// A tree without nodes.
    pub fn new(mode: NameMode, pruning: Option<Pruning>) -> Self {
        let mut names = NameTable::default();
        let plain =
            |text: &str| Name { text: text.into(), scope: "".into(), file: "".into(), unsymbolised: false };
        // The root's name is scoped: a function of that name is another.
        let root = names.intern(Name { scope: "\0root".into(), ..plain(ROOT_NAME) });
        let no_stack = names.intern(plain(NO_STACK_NAME));
        names.sort();
        let mut paths = PathTable::new(root);
        let node = paths.child(ROOT, no_stack);
        debug_assert_eq!(node, NO_STACK);
        Self {
            mode,
            walks: pruning.is_some(),
            pruning,
            names,
            frame_names: Vec::new(),
            function_display: Vec::new(),
            node_display: Vec::new(),
            node_states: Vec::new(),
            paths,
            known_names: HashMap::new(),
        }
    }

    /// Whether everything that the symbols have is here.
    pub fn covers(&self, symbols: &dyn Symbols) -> bool {
        self.node_display.len() >= symbols.node_count() as usize
    }

    /// Adds what the symbols have beyond what is here.
    ///
    /// # Errors
    /// When the query is over; what has been named by then stays, and the next query goes on from there.
    pub fn extend(&mut self, symbols: &dyn Symbols, progress: &Progress<'_>) -> Result<(), QueryError> {
        let named = self.name_frames(symbols, progress);
        if named.is_ok() {
            self.add_nodes(symbols);
        }
        self.names.sort();
        named
    }

    /// Undoing a mangled name may take a millisecond, and a profile brings as many as it likes.
    fn name_frames(&mut self, symbols: &dyn Symbols, progress: &Progress<'_>) -> Result<(), QueryError> {
        for id in (0_u32..symbols.frame_count()).skip(self.frame_names.len()) {
            if id.is_multiple_of(limits::FRAMES_NAMED_PER_CHECK) {
                progress.check()?;
            }
            let frame = symbols.frame(id);
            self.walks |= self.depends_on_mapping(&frame);
            let name = self.frame_name(&frame);
            self.frame_names.push(name);
        }
        Ok(())
    }

    fn add_nodes(&mut self, symbols: &dyn Symbols) {
        self.node_display.reserve((symbols.node_count() as usize).saturating_sub(self.node_display.len()));
        if self.walks {
            self.extend_by_walks(symbols);
        } else {
            for id in (0_u32..symbols.function_node_count()).skip(self.function_display.len()) {
                let node = symbols.function_node(id);
                let parent =
                    if node.parent == NONE { ROOT } else { self.function_display[node.parent as usize] };
                let display = self.paths.child(parent, self.frame_names[node.frame as usize]);
                self.function_display.push(display);
            }
            for id in (0_u32..symbols.node_count()).skip(self.node_display.len()) {
                self.node_display.push(self.function_display[symbols.node(id).function_node as usize]);
            }
        }
    }

    /// As [`DisplayTree::add_nodes`], node by node: where frames are dropped, because pprof drops by location, and where the
    /// name of a frame depends on the mapping of the location.
    fn extend_by_walks(&mut self, symbols: &dyn Symbols) {
        let mut pruning = self.pruning.take();
        let mut frames = Vec::new();
        for id in (0_u32..symbols.node_count()).skip(self.node_display.len()) {
            let node = symbols.node(id);
            let (mut display, mut state, mut above) = (ROOT, 0, NONE);
            if node.parent != NONE {
                let parent = node.parent as usize;
                display = self.node_display[parent];
                state = self.node_states.get(parent).copied().unwrap_or_default();
                above = symbols.node(node.parent).function_node;
            }
            frames.clear();
            let mut function = node.function_node;
            while function != above && function != NONE {
                let walked = symbols.function_node(function);
                frames.push(walked.frame);
                function = walked.parent;
            }
            let mut kept = frames.len();
            if let Some(pruning) = &mut pruning {
                (kept, state) = pruning.location(symbols, &frames, state);
                self.node_states.push(state);
            }
            // Innermost first, so the caller's side is at the end.
            for &frame in frames[frames.len() - kept..].iter().rev() {
                let name = self.name_at(symbols, frame, node.location);
                display = self.paths.child(display, name);
            }
            self.node_display.push(display);
        }
        self.pruning = pruning;
    }

    /// In raw mode a function that has only a linker name is shown by the file of its mapping, as pprof does, and the
    /// stored frame does not know that.
    fn depends_on_mapping(&self, frame: &Frame<'_>) -> bool {
        self.mode == NameMode::Raw && frame.name.is_empty() && !frame.system_name.is_empty()
    }

    /// The name of a frame at a location.
    fn name_at(&mut self, symbols: &dyn Symbols, frame: u32, location: u32) -> u32 {
        if self.mode == NameMode::Raw {
            let mut stored = symbols.frame(frame);
            let mapping = symbols.location(location).mapping;
            if self.depends_on_mapping(&stored) && mapping != NONE {
                stored.mapping_file = symbols.string(symbols.mapping(mapping).file);
                return self.names.intern(unnamed(self.mode, &stored));
            }
        }
        self.frame_names[frame as usize]
    }

    /// Works out a frame's name.
    fn frame_name(&mut self, frame: &Frame<'_>) -> u32 {
        let named =
            !frame.name.is_empty() || (self.mode == NameMode::Display && !frame.system_name.is_empty());
        if !named {
            return self.names.intern(unnamed(self.mode, frame));
        }
        let key = if frame.name.is_empty() { &frame.system_name } else { &frame.name };
        if let Some(&known) = self.known_names.get(&**key) {
            // A later function of the name may be the first that knows its file.
            if self.names.get(known).file.is_empty() && !frame.file.is_empty() {
                let name = Name { file: lossy(&frame.file).into(), ..self.names.get(known).clone() };
                self.names.intern(name);
            }
            return known;
        }
        let raw = lossy(&frame.name);
        let system = lossy(&frame.system_name);
        let text = match self.mode {
            NameMode::Raw => raw,
            NameMode::Display => match names::display_name(&raw, &system) {
                Some(shown) => Cow::Owned(shown.into_owned()),
                None => return self.names.intern(unnamed(self.mode, frame)),
            },
        };
        let position = self.names.intern(Name {
            text: text.into(),
            scope: "".into(),
            file: lossy(&frame.file).into(),
            unsymbolised: false,
        });
        self.known_names.insert(key.to_vec().into(), position);
        position
    }

    /// The names.
    pub fn names(&self) -> &NameTable {
        &self.names
    }

    /// The tree.
    pub fn paths(&self) -> &PathTable {
        &self.paths
    }

    /// Display node of each node.
    pub fn node_display(&self) -> &[u32] {
        &self.node_display
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> u64 {
        let columns =
            self.frame_names.capacity() + self.function_display.capacity() + self.node_display.capacity();
        let known = self.known_names.keys().map(|key| key.len() as u64 + 32).sum::<u64>();
        columns as u64 * 4
            + self.node_states.capacity() as u64
            + self.paths.bytes()
            + self.names.bytes()
            + known
    }
}

/// The display name of a frame, for who needs no tree.
pub(crate) fn shown_name(frame: &Frame<'_>) -> String {
    let (name, system_name) = (lossy(&frame.name), lossy(&frame.system_name));
    match names::display_name(&name, &system_name) {
        Some(shown) => shown.into_owned(),
        None => unnamed(NameMode::Display, frame).text.into(),
    }
}

/// What is shown for a frame without a name: file and address for people (C067), as pprof's table does in raw mode.
fn unnamed(mode: NameMode, frame: &Frame<'_>) -> Name {
    let path = lossy(&frame.mapping_file);
    let base = path.rsplit('/').next().unwrap_or_default();
    let (text, scope) = match mode {
        NameMode::Raw if path.is_empty() => ("<unknown>".to_owned(), String::new()),
        NameMode::Raw => (format!("[{base}]"), path.to_string()),
        NameMode::Display if !base.is_empty() => (format!("{base} 0x{:x}", frame.address), path.to_string()),
        NameMode::Display if !frame.build_id.is_empty() => {
            let id = lossy(&frame.build_id);
            let short: String = id.chars().take(12).collect();
            (format!("{short} 0x{:x}", frame.address), id.to_string())
        }
        NameMode::Display => (format!("0x{:x}", frame.address), String::new()),
    };
    Name { text: text.into(), scope: scope.into(), file: "".into(), unsymbolised: true }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
