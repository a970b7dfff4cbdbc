//! The parser of selectors: one pass over the bytes, no recursion, an error that names the byte and what was expected.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::{MatchOperator, Matcher, Selector};
use crate::{QueryError, limits};

/// Where the parser stands.
struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

pub(super) fn selector(text: &str) -> Result<Selector, QueryError> {
    if text.len() > limits::SELECTOR_BYTES_MAX {
        let reason = format!("has {} bytes (at most {} are allowed)", text.len(), limits::SELECTOR_BYTES_MAX);
        return Err(QueryError::invalid("selector", reason));
    }
    let mut cursor = Cursor { text, position: 0 };
    cursor.skip_space();
    let mut parsed = Selector::default();
    let prefix = cursor.take_while(is_type_character);
    if !prefix.is_empty() {
        parsed.profile_type = Some(prefix.into());
    }
    cursor.skip_space();
    if cursor.peek() == Some('{') {
        cursor.position += 1;
        braces(&mut cursor, &mut parsed)?;
        cursor.skip_space();
    }
    match cursor.peek() {
        None => Ok(parsed),
        Some(other) if parsed == Selector::default() && cursor.position == 0 => {
            Err(cursor.wrong(format!("expected a profile type or '{{', found {other:?}")))
        }
        Some(other) => Err(cursor.wrong(format!("expected the end, found {other:?}"))),
    }
}

/// Everything up to the closing brace.
fn braces(cursor: &mut Cursor<'_>, parsed: &mut Selector) -> Result<(), QueryError> {
    loop {
        cursor.skip_space();
        if cursor.peek() == Some('}') {
            cursor.position += 1;
            return Ok(());
        }
        entry(cursor, parsed)?;
        cursor.skip_space();
        match cursor.peek() {
            Some(',') => cursor.position += 1,
            Some('}') => {}
            other => return Err(cursor.expected("',' or '}'", other)),
        }
    }
}

/// One matcher, or a quoted profile type.
fn entry(cursor: &mut Cursor<'_>, parsed: &mut Selector) -> Result<(), QueryError> {
    let start = cursor.position;
    let quoted = matches!(cursor.peek(), Some('"' | '\'' | '`'));
    let name = if quoted { cursor.string()? } else { cursor.take_while(is_name_character).to_owned() };
    if name.is_empty() && !quoted {
        let other = cursor.peek();
        return Err(cursor.expected("a label name or '}'", other));
    }
    cursor.skip_space();
    if quoted && matches!(cursor.peek(), Some(',' | '}')) {
        if parsed.profile_type.is_some() {
            return Err(cursor.wrong_at(start, "a second profile type"));
        }
        parsed.profile_type = Some(name);
        return Ok(());
    }
    if name.is_empty() {
        return Err(cursor.wrong_at(start, "the label name is empty"));
    }
    let operator = cursor.operator()?;
    cursor.skip_space();
    let value_start = cursor.position;
    let value = cursor.string()?;
    if parsed.matchers.len() == limits::MATCHERS_MAX {
        let reason = format!("more than {} matchers", limits::MATCHERS_MAX);
        return Err(cursor.wrong_at(start, reason));
    }
    let regex = match operator {
        MatchOperator::Equal | MatchOperator::NotEqual => None,
        MatchOperator::Regex | MatchOperator::NotRegex => {
            Some(pattern(&value).map_err(|reason| cursor.wrong_at(value_start, reason))?)
        }
    };
    parsed.matchers.push(Matcher { name: name.into(), operator, value: value.into(), regex });
    Ok(())
}

/// Compiles a pattern, anchored at both ends; a dot matches any character, as in Prometheus.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    // Alone first, so that an unbalanced bracket cannot close the group of the anchors.
    search_pattern(text)?;
    compiled(&format!("^(?:{text})$"))
}

/// Compiles a pattern that may fit anywhere in a text.
pub(crate) fn search_pattern(text: &str) -> Result<Regex, String> {
    if text.len() > limits::PATTERN_BYTES_MAX {
        return Err(format!(
            "the regular expression has {} bytes (at most {} are allowed)",
            text.len(),
            limits::PATTERN_BYTES_MAX
        ));
    }
    compiled(text)
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern)
        .dot_matches_new_line(true)
        .nest_limit(limits::PATTERN_DEPTH_MAX)
        .size_limit(limits::PATTERN_COMPILED_BYTES_MAX)
        .dfa_size_limit(limits::PATTERN_AUTOMATON_BYTES_MAX)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("the regular expression needs more than {limit} bytes when compiled")
        }
        // The engine draws a picture of several lines; its last line says what is wrong.
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            format!("not a regular expression: {last}")
        }
    })
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_space(&mut self) {
        self.take_while(|character| character.is_ascii_whitespace());
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|character| !accept(character)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    fn wrong(&self, reason: impl fmt::Display) -> QueryError {
        self.wrong_at(self.position, reason)
    }

    fn wrong_at(&self, position: usize, reason: impl fmt::Display) -> QueryError {
        QueryError::invalid("selector", format!("at byte {position}: {reason}"))
    }

    fn expected(&self, what: &str, found: Option<char>) -> QueryError {
        match found {
            Some(found) => self.wrong(format!("expected {what}, found {found:?}")),
            None => self.wrong(format!("expected {what}, found the end")),
        }
    }

    fn operator(&mut self) -> Result<MatchOperator, QueryError> {
        const OPERATORS: [MatchOperator; 4] =
            [MatchOperator::Regex, MatchOperator::NotRegex, MatchOperator::NotEqual, MatchOperator::Equal];
        for operator in OPERATORS {
            if self.rest().starts_with(operator.text()) {
                self.position += operator.text().len();
                return Ok(operator);
            }
        }
        let found = self.peek();
        Err(self.expected("=, !=, =~ or !~", found))
    }

    /// A string in double or single quotes with Go's escapes, or in back quotes without any.
    fn string(&mut self) -> Result<String, QueryError> {
        let start = self.position;
        let Some(quote @ ('"' | '\'' | '`')) = self.peek() else {
            let found = self.peek();
            return Err(self.expected("a quoted string", found));
        };
        self.position += 1;
        let mut bytes = Vec::new();
        loop {
            let Some(character) = self.peek() else {
                return Err(self.wrong_at(start, "the string has no end"));
            };
            let at = self.position;
            self.position += character.len_utf8();
            if character == quote {
                break;
            }
            if character == '\\' && quote != '`' {
                self.escape(at, &mut bytes)?;
                continue;
            }
            bytes.extend_from_slice(&self.text.as_bytes()[at..self.position]);
        }
        String::from_utf8(bytes).map_err(|_| self.wrong_at(start, "the string is no valid UTF-8"))
    }

    /// What follows a backslash at byte `at`.
    fn escape(&mut self, at: usize, bytes: &mut Vec<u8>) -> Result<(), QueryError> {
        let Some(letter) = self.peek() else {
            return Err(self.wrong_at(at, "the escape has no end"));
        };
        self.position += letter.len_utf8();
        let plain = match letter {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            '\'' => b'\'',
            '"' => b'"',
            'x' => return self.byte_escape(at, 2, 16, bytes),
            '0'..='7' => {
                self.position -= 1;
                return self.byte_escape(at, 3, 8, bytes);
            }
            'u' => return self.character_escape(at, 4, bytes),
            'U' => return self.character_escape(at, 8, bytes),
            other => return Err(self.wrong_at(at, format!("unknown escape \\{other}"))),
        };
        bytes.push(plain);
        Ok(())
    }

    fn digits(&mut self, at: usize, count: usize, radix: u32) -> Result<u32, QueryError> {
        let wrong = || self.wrong_at(at, format!("the escape needs {count} digits of base {radix}"));
        let digits = self.rest().get(..count).ok_or_else(wrong)?;
        if !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Err(wrong());
        }
        let value = u32::from_str_radix(digits, radix).map_err(|_| wrong())?;
        self.position += count;
        Ok(value)
    }

    fn byte_escape(
        &mut self,
        at: usize,
        count: usize,
        radix: u32,
        bytes: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let value = self.digits(at, count, radix)?;
        bytes.push(u8::try_from(value).map_err(|_| self.wrong_at(at, "the escape is no byte"))?);
        Ok(())
    }

    fn character_escape(&mut self, at: usize, count: usize, bytes: &mut Vec<u8>) -> Result<(), QueryError> {
        let value = self.digits(at, count, 16)?;
        let character =
            char::from_u32(value).ok_or_else(|| self.wrong_at(at, "the escape is no character"))?;
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

/// Profile types have colons; names of applications had dots, dashes and slashes (C082).
fn is_type_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | ':' | '.' | '-' | '/')
}

/// Wider than PromQL's identifiers: what cannot be mistaken for an operator needs no quotes.
fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | ':' | '.' | '-' | '/')
}

pub(super) fn is_plain_type(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_type_character)
}

pub(super) fn is_plain_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Writes a string in double quotes with the escapes that [`Cursor::string`] reads.
pub(super) fn write_quoted(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    formatter.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => formatter.write_str("\\\"")?,
            '\\' => formatter.write_str("\\\\")?,
            '\n' => formatter.write_str("\\n")?,
            '\t' => formatter.write_str("\\t")?,
            control if control.is_control() => write!(formatter, "\\u{:04x}", u32::from(control))?,
            other => write!(formatter, "{other}")?,
        }
    }
    formatter.write_str("\"")
}
