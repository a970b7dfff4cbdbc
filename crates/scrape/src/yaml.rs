//! YAML as values that know their lines, for configurations and files of targets.
//!
//! Anchors, aliases and merge keys (`<<`) work, within limits; a key that comes twice is an error. Scalars stay the
//! texts that they are: what a number or a truth is, is said where it is read. JSON is YAML, so JSON files are read here
//! too. Not here: what the keys mean ([`crate::config`]).

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::{ConfigError, limits};

/// A value and the line on which it begins, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub line: usize,
    pub value: Value,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing, `null`, `~`.
    Null,
    /// Text, number, truth.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in their order.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub name: String,
    pub line: usize,
    pub node: Node,
}

impl Node {
    /// What it is, in words.
    pub(crate) fn word(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a section",
        }
    }

    /// Values in it, itself included, and how deep it is.
    fn extent(&self) -> (usize, usize) {
        let inner = |nodes: &mut dyn Iterator<Item = &Node>| {
            nodes.map(Self::extent).fold((1_usize, 1_usize), |(count, depth), (more, deep)| {
                (count.saturating_add(more), depth.max(deep + 1))
            })
        };
        match &self.value {
            Value::Null | Value::Text(_) => (1, 1),
            Value::List(nodes) => inner(&mut nodes.iter()),
            Value::Map(entries) => inner(&mut entries.iter().map(|entry| &entry.node)),
        }
    }
}

/// Reads one document; an empty text is `Null`.
///
/// # Errors
/// Names the line.
pub(crate) fn read(text: &str) -> Result<Node, ConfigError> {
    if text.len() > limits::TEXT_BYTES_MAX {
        let (bytes, limit) = (text.len(), limits::TEXT_BYTES_MAX);
        return Err(ConfigError::at(0, "", format!("the text has {bytes} bytes (limit {limit})")));
    }
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|error| ConfigError::at(error.marker().line(), "", error.info().to_owned()))?;
        builder.take(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node { line: 1, value: Value::Null }))
}

/// A list or section that is not whole yet.
struct Open {
    line: usize,
    anchor: usize,
    list: Vec<Node>,
    /// `None` for a list.
    map: Option<OpenMap>,
}

#[derive(Default)]
struct OpenMap {
    key: Option<(String, usize)>,
    entries: Vec<Entry>,
    merges: Vec<Node>,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), ConfigError> {
        let line = span.start.line();
        match event {
            Event::SequenceStart(anchor, _) => self.begin(line, anchor, None),
            Event::MappingStart(anchor, _) => self.begin(line, anchor, Some(OpenMap::default())),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Scalar(text, style, anchor, _) => {
                let is_null =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let value = if is_null { Value::Null } else { Value::Text(text.into_owned()) };
                self.charge(line, 1)?;
                self.add(Node { line, value }, anchor)
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(ConfigError::at(line, "", "an alias stands within what it repeats"));
                };
                let (count, depth) = node.extent();
                let node = node.clone();
                self.charge(line, count)?;
                self.check_depth(line, depth)?;
                self.add(node, 0)
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(ConfigError::at(line, "", "there is more than one document"))
            }
            _ => Ok(()),
        }
    }

    fn charge(&mut self, line: usize, count: usize) -> Result<(), ConfigError> {
        self.nodes = self.nodes.saturating_add(count);
        if self.nodes > limits::YAML_NODES_MAX {
            let limit = limits::YAML_NODES_MAX;
            return Err(ConfigError::at(line, "", format!("more than {limit} values, aliases included")));
        }
        Ok(())
    }

    fn check_depth(&self, line: usize, more: usize) -> Result<(), ConfigError> {
        if self.open.len() + more > limits::YAML_DEPTH_MAX {
            let limit = limits::YAML_DEPTH_MAX;
            return Err(ConfigError::at(line, "", format!("nested deeper than {limit}")));
        }
        Ok(())
    }

    fn begin(&mut self, line: usize, anchor: usize, map: Option<OpenMap>) -> Result<(), ConfigError> {
        self.charge(line, 1)?;
        self.check_depth(line, 1)?;
        self.open.push(Open { line, anchor, list: Vec::new(), map });
        Ok(())
    }

    fn end(&mut self) -> Result<(), ConfigError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.map {
            None => Value::List(open.list),
            Some(map) => Value::Map(merged(map)?),
        };
        self.add(Node { line: open.line, value }, open.anchor)
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), ConfigError> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        let Some(map) = &mut open.map else {
            open.list.push(node);
            return Ok(());
        };
        match map.key.take() {
            None => {
                let name = match node.value {
                    Value::Text(text) => text,
                    Value::Null => String::new(),
                    Value::List(_) | Value::Map(_) => {
                        return Err(ConfigError::at(node.line, "", format!("{} is no key", node.word())));
                    }
                };
                map.key = Some((name, node.line));
                Ok(())
            }
            Some((name, _)) if name == "<<" => {
                map.merges.push(node);
                Ok(())
            }
            Some((name, line)) => {
                if let Some(first) = map.entries.iter().find(|entry| entry.name == name) {
                    let reason = format!("the key stands on line {} already", first.line);
                    return Err(ConfigError::at(line, &name, reason));
                }
                map.entries.push(Entry { name, line, node });
                check_keys(map.entries.len(), line)
            }
        }
    }
}

fn check_keys(count: usize, line: usize) -> Result<(), ConfigError> {
    if count > limits::YAML_KEYS_MAX {
        let limit = limits::YAML_KEYS_MAX;
        return Err(ConfigError::at(line, "", format!("more than {limit} keys in one section")));
    }
    Ok(())
}

/// Adds what `<<` brings and the section itself has not.
fn merged(map: OpenMap) -> Result<Vec<Entry>, ConfigError> {
    let mut entries = map.entries;
    for node in map.merges {
        let line = node.line;
        let sources = match node.value {
            Value::List(nodes) => nodes,
            _ => vec![node],
        };
        for source in sources {
            let Value::Map(more) = source.value else {
                return Err(ConfigError::at(line, "<<", format!("{} cannot be merged", source.word())));
            };
            for entry in more {
                if entries.iter().all(|known| known.name != entry.name) {
                    entries.push(entry);
                    check_keys(entries.len(), line)?;
                }
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(node: &Node, path: &[&str]) -> String {
        let mut node = node;
        for step in path {
            node = match &node.value {
                Value::Map(entries) => {
                    &entries.iter().find(|entry| entry.name == *step).unwrap_or_else(|| panic!("{step}")).node
                }
                Value::List(nodes) => &nodes[step.parse::<usize>().unwrap()],
                _ => panic!("nothing below {step}"),
            };
        }
        match &node.value {
            Value::Text(text) => text.clone(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn values_know_their_lines() {
        let root = read("a: 1\nb:\n  - x\n  - {c: 'null', d: null, e:}\n").unwrap();
        assert_eq!(text(&root, &["a"]), "1");
        assert_eq!(text(&root, &["b", "1", "c"]), "null");
        assert_eq!(text(&root, &["b", "1", "d"]), "Null");
        assert_eq!(text(&root, &["b", "1", "e"]), "Null");
        let Value::Map(entries) = &root.value else { panic!() };
        assert_eq!((entries[1].line, entries[1].node.line), (2, 3));
        assert_eq!(read("").unwrap().value, Value::Null);
    }

    #[test]
    fn json_is_read_too() {
        let root =
            read("[\n {\"targets\": [\"a:1\", \"b:2\"], \"labels\": {\"x\": \"y\\u00e9\"}}\n]").unwrap();
        assert_eq!(text(&root, &["0", "targets", "1"]), "b:2");
        assert_eq!(text(&root, &["0", "labels", "x"]), "yé");
    }

    #[test]
    fn anchors_and_merge_keys() {
        let root = read("base: &b {x: 1, y: 2}\none:\n  <<: *b\n  y: 3\ntwo: *b\n").unwrap();
        assert_eq!(text(&root, &["one", "x"]), "1");
        assert_eq!(text(&root, &["one", "y"]), "3");
        assert_eq!(text(&root, &["two", "y"]), "2");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (bad, line, word) in [
            ("a: 1\nb: 2\na: 3\n", 3, "line 1"),
            ("a: [1\n", 2, ""),
            ("a: 1\n---\nb: 2\n", 2, "document"),
            ("? [1]\n: 2\n", 1, "key"),
            ("a: 1\n<<: 4\n", 2, "merged"),
            ("a: *nobody\n", 1, ""),
        ] {
            let error = read(bad).unwrap_err();
            assert_eq!(error.line, line, "{bad:?}: {error}");
            assert!(error.reason.contains(word), "{bad:?}: {error}");
        }
    }

    #[test]
    fn aliases_cannot_grow_without_bounds() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let before = level - 1;
            bomb += &format!(
                "a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}]\n"
            );
        }
        assert!(read(&bomb).unwrap_err().reason.contains("values"));
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(read(&deep).unwrap_err().reason.contains("deeper"));
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
