//! One section of a configuration while it is read: every key is either asked for or an error.

use super::{ConfigError, values};
use crate::yaml::{Entry, Node, Value};

/// Keys and values of a section, with what has been asked for so far.
pub(crate) struct Section<'a> {
    /// Where it stands, such as `scrape_configs[0]`; empty for the whole file.
    path: String,
    /// The line on which it begins.
    pub line: usize,
    entries: &'a [Entry],
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// A section; nothing at all is an empty one.
    pub(crate) fn of(node: &'a Node, path: impl Into<String>) -> Result<Self, ConfigError> {
        let path = path.into();
        let entries: &[Entry] = match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            _ => return Err(ConfigError::at(node.line, &path, format!("is {}, not a section", node.word()))),
        };
        Ok(Self { path, line: node.line, entries, known: Vec::new() })
    }

    /// The path of a key.
    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// All keys, for sections whose keys are names that people choose. Asks for none of them.
    pub(crate) fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// A key's entry. `null` counts as not given.
    pub(crate) fn entry(&mut self, name: &'static str) -> Option<&'a Entry> {
        self.known.push(name);
        self.entries.iter().find(|entry| entry.name == name && entry.node.value != Value::Null)
    }

    /// A key's value.
    pub(crate) fn node(&mut self, name: &'static str) -> Option<&'a Node> {
        self.entry(name).map(|entry| &entry.node)
    }

    /// An error about a key.
    pub(crate) fn error(&self, name: &str, reason: impl Into<String>) -> ConfigError {
        let line = self.entries.iter().find(|entry| entry.name == name).map_or(self.line, |entry| entry.line);
        ConfigError::at(line, &self.path_of(name), reason)
    }

    /// A section within this one.
    pub(crate) fn section(&mut self, name: &'static str) -> Result<Option<Section<'a>>, ConfigError> {
        let path = self.path_of(name);
        self.node(name).map(|node| Section::of(node, path)).transpose()
    }

    /// A list of sections within this one.
    pub(crate) fn sections(&mut self, name: &'static str) -> Result<Vec<Section<'a>>, ConfigError> {
        let path = self.path_of(name);
        let nodes = self.list(name)?;
        nodes
            .iter()
            .enumerate()
            .map(|(position, node)| Section::of(node, format!("{path}[{position}]")))
            .collect()
    }

    /// A list.
    pub(crate) fn list(&mut self, name: &'static str) -> Result<&'a [Node], ConfigError> {
        match self.node(name) {
            None => Ok(&[]),
            Some(Node { value: Value::List(nodes), .. }) => Ok(nodes),
            Some(node) => Err(self.error(name, format!("is {}, not a list", node.word()))),
        }
    }

    /// A text; numbers and truths are texts too.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, ConfigError> {
        match self.node(name) {
            None => Ok(None),
            Some(Node { value: Value::Text(text), .. }) => Ok(Some(text)),
            Some(node) => Err(self.error(name, format!("is {}, not a text", node.word()))),
        }
    }

    /// A list of texts; a single text is a list of one.
    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, ConfigError> {
        let path = self.path_of(name);
        self.node(name).map(|node| texts(node, &path)).transpose()
    }

    /// A text that is turned into something.
    pub(crate) fn read<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        parse(text).map(Some).map_err(|reason| self.error(name, reason))
    }

    /// `true` or `false`.
    pub(crate) fn switch(&mut self, name: &'static str) -> Result<Option<bool>, ConfigError> {
        self.read(name, values::switch)
    }

    /// Refuses keys that exist elsewhere and not here yet.
    pub(crate) fn refuse(&mut self, names: &[&'static str], reason: &str) -> Result<(), ConfigError> {
        for name in names {
            if self.entry(name).is_some() {
                return Err(self.error(name, reason));
            }
        }
        Ok(())
    }

    /// Passes over keys that mean nothing for profiles, and says so.
    pub(crate) fn ignore(&mut self, names: &[&'static str], reason: &str, notices: &mut Vec<String>) {
        for name in names {
            if let Some(entry) = self.entry(name) {
                notices.push(format!("line {}: {}: {reason}", entry.line, self.path_of(name)));
            }
        }
    }

    /// Every key must have been asked for.
    pub(crate) fn finish(self) -> Result<(), ConfigError> {
        for entry in self.entries {
            if self.known.contains(&entry.name.as_str()) {
                continue;
            }
            let hint = similar(&entry.name, &self.known);
            let hint = hint.map(|hint| format!("; did you mean {hint:?}?")).unwrap_or_default();
            let reason = format!("unknown key{hint}");
            return Err(ConfigError::at(entry.line, &self.path_of(&entry.name), reason));
        }
        Ok(())
    }
}

/// A list of texts; a single text is a list of one.
pub(crate) fn texts(node: &Node, path: &str) -> Result<Vec<String>, ConfigError> {
    let text = |node: &Node| match &node.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        _ => Err(ConfigError::at(node.line, path, format!("{} stands where texts should", node.word()))),
    };
    match &node.value {
        Value::List(nodes) => nodes.iter().map(text).collect(),
        _ => Ok(vec![text(node)?]),
    }
}

/// The known key that shares most with a misspelled one: the same letters but for two.
fn similar<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // The keys are short: what comes behind makes no name more like one of them.
    let name: String = name.chars().take(64).collect();
    known
        .iter()
        .map(|known| (strsim::levenshtein(&name, known), *known))
        .filter(|(distance, _)| *distance <= 2)
        .min()
        .map(|(_, known)| known)
}
