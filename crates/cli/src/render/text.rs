//! Names as one line of a terminal: control characters out, wide characters counted, clipped to a width.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Columns that a text takes in a terminal. The text has been through [`one_line`].
#[must_use]
pub fn display_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// The text without anything that would move the cursor, break the line or turn the writing direction.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars().map(|character| if is_unsafe(character) { '\u{fffd}' } else { character }).collect(),
    )
}

/// Like [`one_line`] for a text whose lines are meant: names of files and words of a server in it must not steer the terminal
/// either.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    let is_unsafe = |character: char| character != '\n' && is_unsafe(character);
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars().map(|character| if is_unsafe(character) { '\u{fffd}' } else { character }).collect(),
    )
}

/// Control characters, line and paragraph separators, marks that turn the direction of the text.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// At most `width` columns of the text, `…` at the end where something was cut.
#[must_use]
pub fn clip(text: &str, width: usize) -> Cow<'_, str> {
    let mut used = 0;
    let mut fits = 0;
    for (position, character) in text.char_indices() {
        let columns = char_width(character);
        if used + columns > width {
            let mut clipped = text[..fits].to_owned();
            if width > 0 {
                clipped.push('…');
            }
            return Cow::Owned(clipped);
        }
        used += columns;
        // The last column is kept free for the ellipsis until the whole text is known to fit.
        if used < width {
            fits = position + character.len_utf8();
        }
    }
    Cow::Borrowed(text)
}

/// Appends `text` and spaces up to `width` columns; the text must not be wider.
pub fn push_padded(line: &mut String, text: &str, width: usize) {
    line.push_str(text);
    for _ in display_width(text)..width {
        line.push(' ');
    }
}

/// Appends `text` right-aligned in a cell of `width` columns.
pub fn push_right(line: &mut String, text: &str, width: usize) {
    for _ in display_width(text)..width {
        line.push(' ');
    }
    line.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_counts_columns_not_bytes() {
        assert_eq!(clip("main.main", 9), "main.main");
        assert_eq!(clip("main.main", 8), "main.ma…");
        assert_eq!(clip("main.main", 1), "…");
        assert_eq!(clip("main.main", 0), "");
        assert_eq!(clip("火焰图火焰图", 7), "火焰图…");
        assert_eq!(clip("火焰图火焰图", 6), "火焰…");
        for width in 0..14 {
            assert!(display_width(&clip("a火b焰c图d", width)) <= width, "{width}");
        }
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(one_line("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d");
        assert_eq!(one_line("std::vec<&T>"), "std::vec<&T>");
        assert_eq!(lines("a\u{1b}[31mb\nc\r\u{202e}d"), "a\u{fffd}[31mb\nc\u{fffd}\u{fffd}d");
    }
}
