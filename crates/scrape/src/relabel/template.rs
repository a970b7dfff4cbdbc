//! Texts with `$1`, `${1}`, `$name` and `${name}` in them, as Go's regular expressions expand them.

use regex::Captures;

/// A text with holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// A group by its number.
    Number(usize),
    /// A group by its name.
    Name(String),
}

impl Template {
    /// Reads a text. A `$` that begins no name stands for itself, `$$` for one `$`.
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(position) = rest.find('$') {
            plain.push_str(&rest[..position]);
            rest = &rest[position + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                plain.push('$');
                rest = after;
                continue;
            }
            match hole(rest) {
                Some((name, after)) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(match name.parse() {
                        Ok(number) => Part::Number(number),
                        Err(_) => Part::Name(name.to_owned()),
                    });
                    rest = after;
                }
                None => plain.push('$'),
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Self { parts }
    }

    /// The text, if it has no holes.
    pub(crate) fn constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Fills the holes; `None` when the result is longer than `bytes_max`. Groups that are not there are empty.
    pub(crate) fn expand(&self, captures: &Captures<'_>, bytes_max: usize) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            let piece = match part {
                Part::Text(text) => text.as_str(),
                Part::Number(number) => captures.get(*number).map_or("", |found| found.as_str()),
                Part::Name(name) => captures.name(name).map_or("", |found| found.as_str()),
            };
            if text.len() + piece.len() > bytes_max {
                return None;
            }
            text.push_str(piece);
        }
        Some(text)
    }
}

/// The name at the beginning of a text that follows a `$`, and what comes after it.
fn hole(rest: &str) -> Option<(&str, &str)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if let Some(inner) = rest.strip_prefix('{') {
        let end = inner.find('}')?;
        let name = &inner[..end];
        let is_name = !name.is_empty() && name.bytes().all(is_word);
        return is_name.then(|| (name, &inner[end + 1..]));
    }
    let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
    (length > 0).then(|| rest.split_at(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(pattern: &str, text: &str, template: &str) -> String {
        let regex = regex::Regex::new(pattern).unwrap();
        Template::parse(template).expand(&regex.captures(text).unwrap(), 100).unwrap()
    }

    #[test]
    fn holes_are_filled_as_go_fills_them() {
        for (template, wanted) in [
            ("$1", "ab"),
            ("${1}x", "abx"),
            // the longest name counts: there is no group 1x
            ("$1x", ""),
            ("$1-$2-$9", "ab-12-"),
            ("${word}/$word", "12/12"),
            ("$$1 $ $", "$1 $ $"),
            ("${}", "${}"),
            ("${a-b}", "${a-b}"),
            ("é$1é", "éabé"),
        ] {
            assert_eq!(expanded("([a-z]+)(?P<word>[0-9]+)", "ab12", template), wanted, "{template}");
        }
    }

    #[test]
    fn what_grows_too_long_is_none() {
        let regex = regex::Regex::new("(.*)").unwrap();
        let long = "x".repeat(60);
        assert_eq!(Template::parse("$1$1").expand(&regex.captures(&long).unwrap(), 100), None);
        assert_eq!(Template::parse("plain").constant(), Some("plain"));
        assert_eq!(Template::parse("a$1").constant(), None);
        assert_eq!(Template::parse("").constant(), Some(""));
    }
}
