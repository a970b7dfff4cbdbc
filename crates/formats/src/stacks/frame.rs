//! One frame of a text or tree format: a name, and where a profiler glued file and line to it, those apart (C061).

use std::ops::Range;

/// Longest extension of a source file's name that is believed, bytes (`.swift`, `.scala`).
const EXTENSION_BYTES_MAX: usize = 6;

/// Parts of a frame's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) name: Range<usize>,
    pub(super) file: Range<usize>,
    pub(super) line: i64,
}

impl Frame {
    /// Reads `name file.ext:41` and `name (path/file.ext:41)`; everything else is a name as a whole, brackets and all
    /// (C064).
    pub(super) fn read(text: &[u8]) -> Self {
        Self::with_line(text).unwrap_or(Self { name: 0..text.len(), file: 0..0, line: 0 })
    }

    fn with_line(text: &[u8]) -> Option<Self> {
        let is_bracketed = text.ends_with(b")");
        let end = text.len() - usize::from(is_bracketed);
        let colon = text[..end].iter().rposition(|&byte| byte == b':')?;
        let digits = &text[colon + 1..end];
        if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let line = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let file_start = if is_bracketed {
            let bracket = text[..colon].iter().rposition(|&byte| byte == b'(')?;
            // the bracket must be set apart, else it is an argument list
            if bracket == 0 || text[bracket - 1] != b' ' {
                return None;
            }
            bracket + 1
        } else {
            text[..colon].iter().rposition(|&byte| byte == b' ')? + 1
        };
        let file = &text[file_start..colon];
        let dot = file.iter().rposition(|&byte| byte == b'.')?;
        let extension = &file[dot + 1..];
        let is_file = dot > 0
            && (1..=EXTENSION_BYTES_MAX).contains(&extension.len())
            && extension.iter().all(u8::is_ascii_alphanumeric)
            && !file.contains(&b'(');
        let name = text[..file_start - usize::from(is_bracketed)].trim_ascii_end();
        (is_file && !name.is_empty()).then_some(Self { name: 0..name.len(), file: file_start..colon, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (&str, &str, i64) {
        let frame = Frame::read(text.as_bytes());
        (&text[frame.name], &text[frame.file], frame.line)
    }

    #[test]
    fn c061_line_numbers_in_names() {
        assert_eq!(parts("run file.py:41"), ("run", "file.py", 41));
        assert_eq!(parts("run file.py:42"), ("run", "file.py", 42));
        assert_eq!(parts("run (lib/file.py:42)"), ("run", "lib/file.py", 42));
        assert_eq!(parts("block in run (app.rb:7)"), ("block in run", "app.rb", 7));
    }

    #[test]
    fn c064_brackets_in_names_stay() {
        for name in [
            "operator()(int)",
            "(anonymous namespace)::f",
            "main.(*T).Method",
            "std::pair<int, a::b>",
            "f(x:1)",
            "a::b:12",
            "Foo.bar:12",
            "file.py:41",
            "thread 1:2",
        ] {
            assert_eq!(parts(name), (name, "", 0));
        }
    }
}
