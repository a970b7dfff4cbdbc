//! Bounds of what is written and of what a reader believes.

/// Decoded bytes of a chunk that the writer aims at: large enough to compress well, small enough that reading one
/// profile of many reads little else.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

/// Most decoded bytes of a compressed chunk that a reader accepts, so that a few bytes cannot ask for gigabytes.
pub(crate) const COMPRESSED_CHUNK_BYTES_MAX: u32 = 1 << 20;

/// How much of a file's end is read to find the footer, bytes; most footers fit (C107).
pub(crate) const FOOTER_GUESS_BYTES: u64 = 64 << 10;

/// Level of zstd: what level 3 saves on these tables is 1 % of a block, for half as much time again. These blocks are the
/// first ones, which live until they are joined.
pub(crate) const ZSTD_LEVEL: i32 = 1;

/// How many times larger than their bytes in the file all strings of a dataset may be. Strings share what they have in
/// common with the one before; without a bound a file of kilobytes could ask for gigabytes.
pub(crate) const TEXT_GROWTH_MAX: usize = 6;

/// Text that may always be shared, bytes; small tables need no bound.
pub(crate) const TEXT_GROWTH_FREE: usize = 64 << 10;

/// Most columns of a series; pprof's largest producers have five.
pub(crate) const COLUMNS_MAX: usize = 256;
