//! What a decoder may use at most (D19): each number with unit and reason.

use std::sync::Arc;

use crate::TableMemory;

/// Bytes of a body as received: the largest heap dumps of real programs that we know of are below 20 MB compressed.
pub const BODY_BYTES_MAX: usize = 64 << 20;

/// Bytes of a body after inflation: four times the body, which is above the usual ratio of pprof (3–5) for bodies of
/// that size, and a quarter of the address space that 32-bit string ranges have.
pub const INFLATED_BYTES_MAX: usize = 256 << 20;

/// Frames of one stack, inlined ones counted: 128 times what Go records, and what the deepest recursion reported for
/// JVM profilers needs (C026).
pub const STACK_DEPTH_MAX: usize = 16_384;

/// Bytes of one string: what a 16-bit length holds; mangled C++ names beyond 20,000 bytes have been seen.
pub const STRING_BYTES_MAX: usize = 65_535;

/// Inlined frames that all stacks together may expand to, per byte of the inflated body: a stack entry takes at least
/// one byte and real locations carry 1–20 lines, so only a body made for it passes this. It keeps the work of whoever
/// walks frames in proportion to the input (R1).
pub const FRAMES_PER_BYTE_MAX: usize = 64;

/// Bytes of decoded tables per byte of the inflated body; with the body itself and the growth of one table this stays
/// below the eight times of D20. Real profiles need 2–4.
pub const TABLE_BYTES_PER_BYTE_MAX: usize = 6;

/// Bytes of decoded tables that even the smallest body may use.
pub const TABLE_BYTES_MIN: usize = 10 << 20;

/// Bytes of names that a trie (or the frames of a speedscope file, used by several profiles) may spell out, per byte of the
/// body: names share their beginnings, by which real tries are
/// two to five times smaller than what they say.
pub const SPELLED_BYTES_PER_BYTE_MAX: usize = 16;

/// Bytes of names that even the smallest body may spell out.
pub const SPELLED_BYTES_MIN: usize = 10 << 20;

/// Profiles in one speedscope file: one per thread of a large program, as many as one push may hold.
pub const SPEEDSCOPE_PROFILES_MAX: usize = 16_384;

/// Bytes that a decoder keeps between two bodies; more is given back, so that one huge profile does not stay in memory.
pub const KEPT_BYTES_MAX: usize = 4 << 20;

/// Base-two logarithm of the largest zstd window: 8 MiB is what every zstd decoder must support; more would be memory
/// that a small body can ask for.
pub const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// What a decoder may use at most. The defaults are the constants of this module.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body as received.
    pub body_bytes_max: usize,
    /// Bytes of a body after inflation.
    pub inflated_bytes_max: usize,
    /// Frames of one stack; deeper ones lose frames at the root (C026).
    pub stack_depth_max: usize,
    /// Bytes of one string; longer ones lose their head.
    pub string_bytes_max: usize,
    /// Refuse names that are no valid UTF-8 instead of keeping their bytes (C011).
    pub strict_utf8: bool,
    /// Keep negative values: the profile is a difference (C009).
    pub keep_negative: bool,
    /// Have `_` for `-` in names of value columns, as old .NET profilers mean it.
    pub without_dashes: bool,
    /// Bytes of decoded tables, whatever the size of the body allows.
    pub table_bytes_max: usize,
    /// Where tables beyond [`TABLE_BYTES_MIN`] come from; `None`: they are only bounded.
    pub table_memory: Option<Arc<dyn TableMemory>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: BODY_BYTES_MAX,
            inflated_bytes_max: INFLATED_BYTES_MAX,
            stack_depth_max: STACK_DEPTH_MAX,
            string_bytes_max: STRING_BYTES_MAX,
            strict_utf8: false,
            keep_negative: false,
            without_dashes: false,
            table_bytes_max: usize::MAX,
            table_memory: None,
        }
    }
}
