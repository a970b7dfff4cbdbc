//! Every number that bounds a query, with its unit and its reason.

/// Bytes of a selector. Grafana's multi-value variables make long alternations; 64 KiB holds thousands of pods.
pub const SELECTOR_BYTES_MAX: usize = 64 << 10;

/// Matchers of one selector. People write a handful, and every series is tried against each.
pub const MATCHERS_MAX: usize = 128;

/// Bytes of one regular expression (C089). Compiling takes time in proportion to it.
pub const PATTERN_BYTES_MAX: usize = 16 << 10;

/// Bytes of a compiled regular expression (C089): stops `(((a{100}){100}){100})` before it is built.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 1 << 20;

/// Bytes of a pattern's lazily built automaton; beyond it matching goes on, slower, still in linear time.
pub const PATTERN_AUTOMATON_BYTES_MAX: usize = 1 << 20;

/// Depth of brackets in a regular expression: the parser of patterns recurses.
pub const PATTERN_DEPTH_MAX: u32 = 100;

/// Profiles between two looks at deadline, cancellation and budget: well under a millisecond of work.
pub const PROFILES_PER_CHECK: usize = 256;

/// Steps of a timeline; a screen has a few thousand columns.
pub const STEPS_MAX: i64 = 100_000;

/// Groups of a timeline. More are an error: nobody can look at them, and each costs memory.
pub const GROUPS_MAX: usize = 10_000;

/// Profiles of one listing.
pub const LISTED_PROFILES_MAX: usize = 100_000;

/// Values of one label, or label sets of one series listing, that come from sample labels (D6). Series labels are not cut.
pub const SAMPLE_LABEL_VALUES_MAX: usize = 10_000;

/// Labels of one report of cardinality; each goes over all series once. A fleet has some dozens, one whose clients make up
/// names has as many as it has series.
pub const CARDINALITY_LABELS_MAX: usize = 1_000;

/// Bytes of the label sets of one series listing that come from sample labels: a set may be as large as its profile has
/// strings, and differs for each series.
pub const SAMPLE_LABEL_SET_BYTES_MAX: usize = 32 << 20;

/// Sample labels that are looked at between two looks at deadline and cancellation: about a millisecond of work.
pub const SAMPLE_LABELS_PER_CHECK: usize = 4_096;

/// Frames that are named between two looks at deadline and cancellation: a tenth of a second where all are mangled names
/// of the worst kind, next to nothing else.
pub const FRAMES_NAMED_PER_CHECK: u32 = 64;

/// Labels of one group-by. A series has at most 30, and each group holds one value of each.
pub const GROUP_LABELS_MAX: usize = 64;

/// Rows that are read to say which sample labels the chosen profiles have; beyond it the label sets of their whole
/// datasets answer.
pub const SAMPLE_LABEL_ROWS_MAX: u64 = 4_000_000;

/// Default of [`crate::EngineOptions::cache_bytes`]: display trees of some five million nodes.
pub const CACHE_BYTES_DEFAULT: u64 = 64 << 20;

/// Default of [`crate::EngineOptions::query_bytes_max`], as of the server: a day of a large fleet at 2 kB per profile.
pub const QUERY_BYTES_DEFAULT: u64 = 4 << 30;

/// Nodes of a flame graph where nothing else is asked for; what Pyroscope's clients expect.
pub const FLAME_NODES_DEFAULT: usize = 8_192;

/// Nodes of a flame graph at most (C086): more is not looked at, and an answer of that size is some 50 MB.
pub const FLAME_NODES_MAX: usize = 1_048_576;

/// Names of a frame filter. People write a handful; each is compared with every function name.
pub const FRAME_NAMES_MAX: usize = 1_024;

/// Patterns of a frame filter: each is tried on every function name, of which a large service has a hundred thousand.
pub const FRAME_PATTERNS_MAX: usize = 64;

/// Names and patterns of a frame filter that must be on one stack: one bit each in a 64-bit number per node.
pub const FRAME_INCLUDES_MAX: usize = 64;

/// Names or nodes between two looks at deadline and cancellation.
pub const NAMES_PER_CHECK: usize = 4_096;

/// Functions of a call site; no stack is deeper.
pub const CALL_SITE_MAX: usize = 16_384;

/// Spans or traces that one query may name; each row is looked up among them.
pub const SPANS_MAX: usize = 16_384;

/// Exemplars of one answer; each holds the labels of its profile. More points than this are looked at by nobody one by one.
pub const EXEMPLARS_MAX: usize = 50_000;

/// Functions of a call graph in DOT where nothing else is asked for: more cannot be read on a page.
pub const DOT_NODES_DEFAULT: usize = 100;

/// Bands that a heat map divides values into, as Pyroscope.
pub const HEATMAP_BANDS: u32 = 20;
