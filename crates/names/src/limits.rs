//! Every limit of this crate, each with its unit and reason. Names come from anyone, so reading one ends within a multiple
//! of its length (R1).

/// Bytes of a mangled name that are read; longer ones stay as they are. The longest of 280,000 names of a Linux system's
/// own libraries has 604.
pub(crate) const MANGLED_BYTES_MAX: usize = 16 << 10;

/// Bytes of a demangled name; where more would come out, the mangled name stays.
pub(crate) const DEMANGLED_BYTES_MAX: usize = 64 << 10;

/// Bytes that come out for each of the mangled name. Those 280,000 names have at most 29.
pub(crate) const DEMANGLED_BYTES_PER_BYTE: usize = 64;

/// Bytes that even the shortest name may stand for.
pub(crate) const DEMANGLED_BYTES_MIN: usize = 1 << 10;

/// Nesting of a mangled C++ name that is followed; bounds the stack that parsing uses. Of 395,000 names of a Linux system's
/// programs and libraries, none has more than 24.
pub(crate) const PARSE_DEPTH_MAX: usize = 96;

/// Nesting of a C++ name's parts that is followed; bounds the stack that printing uses. Deeper than the name itself is
/// nested, because each part may refer to earlier ones; those names have less than 48.
pub(crate) const PRINT_DEPTH_MAX: usize = 192;

/// Rules that parsing a C++ name may begin for each of its bytes; each may leave a part of about 50 bytes in memory until
/// the end. Those names need fewer than 2.
pub(crate) const PARSE_STEPS_PER_BYTE: usize = 8;

/// Rules that may be begun for even the shortest name.
pub(crate) const PARSE_STEPS_MIN: usize = 256;

/// Parts of a C++ name that printing may walk for each byte that may come out. Those names need fewer than 1.
pub(crate) const PRINT_STEPS_PER_BYTE: usize = 2;

/// Bytes that a compiled `drop_frames` or `keep_frames` may take: profiles bring their own patterns, so they are input like
/// any other.
pub(crate) const PATTERN_BYTES_MAX: usize = 1 << 20;
