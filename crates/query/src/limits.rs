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
