//! `app{key=value,…}`: the `name` parameter of `/ingest` (C082).
//!
//! Everything before the brace is the application, values stand without quotes and may hold anything but a comma:
//! braces, `=`, spaces and emoji too. What the syntax has no place for (a comma in a value, text after the last brace,
//! a missing brace) is an error with its byte position; nothing is cut in silence.

use crate::ApiError;

/// An application with its labels, in the order in which they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AppName {
    pub(super) application: String,
    pub(super) labels: Vec<(String, String)>,
}

impl AppName {
    /// Reads the parameter.
    ///
    /// # Errors
    /// 400 with the byte position.
    pub(super) fn parse(text: &str) -> Result<Self, ApiError> {
        let (application, rest) = match text.find('{') {
            Some(brace) => (&text[..brace], Some((brace + 1, &text[brace + 1..]))),
            None => (text, None),
        };
        if application.trim().is_empty() {
            return Err(wrong(0, "the application name is empty"));
        }
        let odd =
            |(_, character): &(usize, char)| character.is_control() || matches!(character, '}' | ',' | '=');
        if let Some((position, character)) = application.char_indices().find(odd) {
            return Err(wrong(position, &format!("{character:?} is not allowed in an application name")));
        }
        let labels = match rest {
            Some((start, rest)) => labels(rest, start)?,
            None => Vec::new(),
        };
        Ok(Self { application: application.trim().to_owned(), labels })
    }
}

fn labels(text: &str, start: usize) -> Result<Vec<(String, String)>, ApiError> {
    let Some(close) = text.rfind('}') else {
        return Err(wrong(start + text.len(), "the closing brace is missing"));
    };
    let after = &text[close + 1..];
    if !after.trim().is_empty() {
        return Err(wrong(start + close + 1, "there is text after the closing brace"));
    }
    let inside = &text[..close];
    if inside.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut labels = Vec::new();
    let mut position = start;
    // clients that write a list item by item leave a comma at its end
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    for pair in inside.split(',') {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(wrong(position, "a label needs name=value; a value cannot hold a comma"));
        };
        if name.trim().is_empty() {
            return Err(wrong(position, "a label name is empty"));
        }
        // no more than spaces: control characters in a name are refused, not taken away
        labels.push((name.trim_matches(' ').to_owned(), value.trim_matches(' ').to_owned()));
        position += pair.len() + 1;
    }
    Ok(labels)
}

fn wrong(position: usize, reason: &str) -> ApiError {
    ApiError::invalid("name", format!("{reason} (byte {position})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        let name = AppName::parse(text).unwrap();
        let labels: Vec<_> = name.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} [{}]", name.application, labels.join("; "))
    }

    #[test]
    fn c082_odd_names_are_accepted_whole() {
        for (text, expected) in [
            ("team/app.v2", "team/app.v2 []"),
            ("app{}", "app []"),
            (" app { a = b , c = d } ", "app [a=b; c=d]"),
            ("app{path=/users/{id}}", "app [path=/users/{id}]"),
            ("app{path={id},b=2}", "app [path={id}; b=2]"),
            ("app{query=a=b}", "app [query=a=b]"),
            ("app{note=two words 🔥}", "app [note=two words 🔥]"),
            ("app{a=b,c=d,}", "app [a=b; c=d]"),
            ("app{quoted=\"x\"}", "app [quoted=\"x\"]"),
            ("服务{区=东}", "服务 [区=东]"),
        ] {
            assert_eq!(parsed(text), expected);
        }
    }

    #[test]
    fn c082_only_spaces_around_labels_go() {
        assert_eq!(parsed("app{a\n= b\t}"), "app [a\n=b\t]");
    }

    #[test]
    fn c082_what_does_not_fit_is_400_with_its_position() {
        for (text, position) in [
            ("", 0),
            ("{a=b}", 0),
            ("a\nb", 1),
            ("app{a=b", 7),
            ("app{a=b}x", 8),
            ("app{a=b,c}", 8),
            ("app{a=b,,}", 8),
            ("app{=b}", 4),
            ("a=b", 1),
        ] {
            let error = AppName::parse(text).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.message.ends_with(&format!("(byte {position})")), "{text}: {error}");
        }
    }
}
