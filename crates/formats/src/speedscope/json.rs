//! Steps through a JSON text without building anything: no recursion, no memory, every error with its byte.
//!
//! What nobody asks for is skipped by its brackets and quotes alone, so a text that is no JSON in such a place may pass.

use std::ops::Range;

use crate::DecodeError;

/// A string as it stands between its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) range: Range<usize>,
    /// It holds backslashes, so it is not what it says.
    pub(super) is_escaped: bool,
}

/// A place in a text.
#[derive(Clone, Debug)]
pub(super) struct Json<'a> {
    pub(super) text: &'a [u8],
    pub(super) position: usize,
}

impl<'a> Json<'a> {
    pub(super) fn at(text: &'a [u8], position: usize) -> Self {
        Self { text, position }
    }

    /// The next byte that is no space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let spaces = self.text[self.position..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.position += spaces;
        self.text.get(self.position).copied()
    }

    /// The next byte must be this one.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), DecodeError> {
        if self.peek() == Some(byte) {
            self.position += 1;
            return Ok(());
        }
        Err(self.wrong(&format!("{:?} is expected", char::from(byte))))
    }

    /// Whether a further item follows in a list or object that was begun; what ends it is eaten.
    pub(super) fn has_next(&mut self, is_first: &mut bool, end: u8) -> Result<bool, DecodeError> {
        if self.peek() == Some(end) {
            self.position += 1;
            return Ok(false);
        }
        if !std::mem::take(is_first) {
            self.expect(b',')?;
        }
        Ok(true)
    }

    /// Calls `field` for each field of an object, standing at its value, which it must eat.
    pub(super) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.expect(b'{')?;
        let mut is_first = true;
        while self.has_next(&mut is_first, b'}')? {
            let name = self.string()?;
            self.expect(b':')?;
            field(self, &self.text[name.range])?;
        }
        Ok(())
    }

    /// A string.
    pub(super) fn string(&mut self) -> Result<Text, DecodeError> {
        self.expect(b'"')?;
        let start = self.position;
        let mut is_escaped = false;
        while let Some(found) = memchr::memchr2(b'"', b'\\', &self.text[self.position..]) {
            let at = self.position + found;
            if self.text[at] == b'"' {
                self.position = at + 1;
                return Ok(Text { range: start..at, is_escaped });
            }
            is_escaped = true;
            self.position = (at + 2).min(self.text.len());
        }
        self.position = start;
        Err(self.wrong("the string has no end"))
    }

    /// The bytes of a number.
    pub(super) fn number(&mut self) -> Result<&'a [u8], DecodeError> {
        let _ = self.peek();
        let rest = &self.text[self.position..];
        let is_part = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(is_part).count();
        if length == 0 {
            return Err(self.wrong("a number is expected"));
        }
        self.position += length;
        Ok(&rest[..length])
    }

    /// Passes over any value.
    pub(super) fn skip(&mut self) -> Result<(), DecodeError> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return Err(self.wrong("the text ends inside a value")),
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.position += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.position += 1;
                }
                Some(b',' | b':') if depth > 0 => self.position += 1,
                Some(byte) if byte.is_ascii_alphanumeric() || byte == b'-' => {
                    let is_part =
                        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                    self.position += self.text[self.position..].iter().take_while(is_part).count();
                }
                Some(_) => return Err(self.wrong("a value is expected")),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// An error at the next byte.
    pub(super) fn wrong(&self, reason: &str) -> DecodeError {
        DecodeError::malformed("json", format!("{reason} at byte {}", self.position))
    }
}

/// What a string with backslashes says. Halves of characters beyond 16 bits that stand alone become U+FFFD.
pub(super) fn unescaped(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..at]);
        let escape = rest.get(at + 1).copied();
        rest = rest.get(at + 2..).unwrap_or_default();
        match escape {
            Some(b'n') => text.push(b'\n'),
            Some(b't') => text.push(b'\t'),
            Some(b'r') => text.push(b'\r'),
            Some(b'b') => text.push(8),
            Some(b'f') => text.push(12),
            Some(b'u') => {
                let character = character(&mut rest);
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    text.extend_from_slice(rest);
    text
}

/// The character behind `\u`, both halves of it where it has two.
fn character(rest: &mut &[u8]) -> char {
    let unit = |bytes: &[u8]| -> Option<u16> {
        let digits = std::str::from_utf8(bytes.get(..4)?).ok()?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let Some(first) = unit(rest) else { return char::REPLACEMENT_CHARACTER };
    *rest = &rest[4..];
    let second = rest.strip_prefix(b"\\u").and_then(unit);
    let both = [first, second.unwrap_or_default()];
    match char::decode_utf16(both).next() {
        Some(Ok(character)) => {
            if character.len_utf16() == 2 {
                *rest = &rest[6..];
            }
            character
        }
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_passed_over_whole() {
        for value in
            [r#"{"a":[1,{"b":"]}\""}],"c":null}"#, "[]", "-1.5e+7", "true", r#""\\""#, r#"[[[["deep"]]]]"#]
        {
            let text = format!(" {value} ,");
            let mut json = Json::at(text.as_bytes(), 0);
            json.skip().unwrap();
            assert_eq!(json.position, value.len() + 1, "{value}");
        }
        for broken in ["", "[1", "\"a", "}", "[\"\\"] {
            assert!(Json::at(broken.as_bytes(), 0).skip().is_err(), "{broken}");
        }
        // as deep as the text is long, without recursion
        assert!(Json::at(&vec![b'['; 1 << 20], 0).skip().is_err());
    }

    #[test]
    fn escapes_say_what_they_stand_for() {
        for (raw, said) in [
            (r"a\n\tb\\\/", "a\n\tb\\/"),
            (r"\u5e27", "帧"),
            (r"\ud83d\udd25x", "🔥x"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"\u12", "\u{fffd}12"),
        ] {
            assert_eq!(String::from_utf8(unescaped(raw.as_bytes())).unwrap(), said, "{raw}");
        }
    }
}
