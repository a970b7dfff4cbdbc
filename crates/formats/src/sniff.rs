//! Says what a body is by its first bytes; headers of clients are only hints (C021).

/// What the first bytes say a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SniffedFormat {
    /// gzip members.
    Gzip,
    /// A zstd frame.
    Zstd,
    /// Most likely a protobuf profile.
    Pprof,
    /// A Go execution trace.
    GoTrace,
    /// A text dump of goroutines or threads (C020).
    GoTextDump,
    /// A JFR recording.
    Jfr,
    /// JSON, most likely a speedscope file.
    Json,
    /// Text (folded stacks, …), with or without byte-order mark.
    Text,
    /// Nothing known.
    Unknown,
}

/// First two bytes of a gzip member.
pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const UTF8_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// Bytes of a body that are looked at to tell text from binary.
const LOOKED_AT: usize = 512;

/// Looks at the first bytes.
#[must_use]
pub fn sniff(bytes: &[u8]) -> SniffedFormat {
    let start = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
    match bytes {
        [0x1f, 0x8b, ..] => SniffedFormat::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => SniffedFormat::Zstd,
        [b'F', b'L', b'R', 0, ..] => SniffedFormat::Jfr,
        [b'g', b'o', b' ', b'1', b'.', ..]
            if bytes[..bytes.len().min(16)].windows(6).any(|part| part == b" trace") =>
        {
            SniffedFormat::GoTrace
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => SniffedFormat::Text,
        _ if is_go_text_dump(start) => SniffedFormat::GoTextDump,
        _ if is_pprof(bytes) => SniffedFormat::Pprof,
        _ if is_json(start) => SniffedFormat::Json,
        _ if is_text(start) => SniffedFormat::Text,
        _ => SniffedFormat::Unknown,
    }
}

/// Whether the body is compressed in a way that we inflate.
pub(crate) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP_MAGIC) || bytes.starts_with(&ZSTD_MAGIC)
}

/// Whether each of the first lines ends with a blank and a number, as those of folded stacks do. The last one may be cut.
pub(crate) fn lines_end_with_counts(text: &[u8]) -> bool {
    let window = &text[..text.len().min(LOOKED_AT)];
    let mut lines: Vec<&[u8]> = window.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).collect();
    if lines.len() > 1 {
        lines.pop();
    }
    let ends_with_count = |line: &&[u8]| {
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && line[..line.len() - digits].last().is_some_and(u8::is_ascii_whitespace)
    };
    lines.retain(|line| !line.is_empty());
    !lines.is_empty() && lines.iter().all(ends_with_count)
}

/// `goroutine 1 [running]:` (debug=2), `goroutine profile: total 12` and its sisters (debug=1), and thread dumps.
fn is_go_text_dump(bytes: &[u8]) -> bool {
    let line_end =
        bytes.iter().take(LOOKED_AT).position(|&byte| byte == b'\n').unwrap_or(bytes.len().min(LOOKED_AT));
    let line = bytes[..line_end].trim_ascii_end();
    let numbered_goroutine = line
        .strip_prefix(b"goroutine ")
        .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit) && rest.ends_with(b"]:"));
    let counted = line.windows(15).any(|part| part == b" profile: total");
    let heap = line.starts_with(b"heap profile: ");
    numbered_goroutine
        || counted
        || heap
        || line.starts_with(b"--- ")
        || line.starts_with(b"Full thread dump")
}

/// An object whose first field has a name. A frame may begin with a brace as well (`{main};f 1`).
fn is_json(bytes: &[u8]) -> bool {
    let inside = bytes.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with(b"\"") || inside == b"}") && is_text(bytes)
}

/// Whether the first field looks like one of a profile. Every tag is also a character (`j` is the tag of comments, `2` that
/// of strings), so the bytes must not be text: a profile has control characters in its first fields, as lengths and numbers.
fn is_pprof(bytes: &[u8]) -> bool {
    let [tag, rest @ ..] = bytes else { return false };
    let (field, wire) = (tag >> 3, tag & 7);
    let first_fits = match (field, wire) {
        // messages and strings
        (1..=6 | 11, 2) => {
            rest.first().is_some_and(|&length| length >= 0x80 || rest.len() > usize::from(length))
        }
        // numbers
        (7..=10 | 12..=15, 0) => !rest.is_empty(),
        (13, 2) => true,
        _ => false,
    };
    first_fits && !is_text(bytes)
}

/// Whether the first bytes are text: valid UTF-8 (a character cut at the end of the window is no fault) without
/// control characters.
fn is_text(bytes: &[u8]) -> bool {
    let window = &bytes[..bytes.len().min(LOOKED_AT)];
    let valid = match std::str::from_utf8(window) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && window.len() == LOOKED_AT,
    };
    valid
        && !window.is_empty()
        && window.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\n' | b'\r' | b'\t' | 0x1b))
}
