//! The records that trees and tries are made of.

use crate::{DecodeError, work};

/// Bytes that every record takes at least: three numbers.
const RECORD_BYTES_MIN: usize = 3;

/// One node as it stands in the bytes; all that is below it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRecord<'a> {
    /// Name of the node (tree: one frame; trie: what it adds to the key above).
    pub name: &'a [u8],
    /// What was counted at the node itself.
    pub self_value: u64,
    /// Number of children.
    pub children: u64,
}

/// Reads records one after the other, holding no more than a position. Fewer than two bytes are an empty tree.
///
/// Names and numbers of children are held against what is left of the bytes (C059), so nothing that a reader makes room
/// for is larger than the body.
#[derive(Clone, Debug)]
pub struct TreeReader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Records that the ones before have promised.
    owed: usize,
    index: usize,
    name_start: usize,
    is_ended: bool,
}

impl<'a> TreeReader<'a> {
    /// Reads from the first byte on.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let is_ended = bytes.len() < 2;
        Self { bytes, position: 0, owed: 1, index: 0, name_start: 0, is_ended }
    }

    /// Where the name of the record that was read last begins.
    pub(crate) fn name_start(&self) -> usize {
        self.name_start
    }

    /// The self value of the record that was read last, as values are kept.
    pub(crate) fn value_of(&self, record: &TreeRecord<'_>) -> Result<i64, DecodeError> {
        i64::try_from(record.self_value).map_err(|_| {
            let reason = format!("{} does not fit in 63 bits", record.self_value);
            DecodeError::malformed(format!("node[{}].self", self.index - 1), reason)
        })
    }

    fn record(&mut self) -> Result<TreeRecord<'a>, DecodeError> {
        let length = self.number("name length")?;
        let rest = &self.bytes[self.position..];
        let name = usize::try_from(length).ok().and_then(|length| rest.get(..length)).ok_or_else(|| {
            let reason = format!("{length} bytes at byte {}, where {} are left", self.position, rest.len());
            self.wrong("name length", reason)
        })?;
        self.name_start = self.position;
        self.position += name.len();
        let self_value = self.number("self")?;
        let children = self.number("children")?;
        let room = (self.bytes.len() - self.position) / RECORD_BYTES_MIN;
        // those that are owed already come behind these
        let owed = usize::try_from(children).ok().and_then(|children| children.checked_add(self.owed - 1));
        let Some(owed) = owed.filter(|&owed| owed <= room) else {
            let left = self.bytes.len() - self.position;
            let reason =
                format!("{children} more nodes at byte {}, where {left} bytes are left", self.position);
            return Err(self.wrong("children", reason));
        };
        self.owed = owed;
        self.index += 1;
        Ok(TreeRecord { name, self_value, children })
    }

    /// A number of at most ten bytes, seven bits each, the lowest first.
    fn number(&mut self, field: &str) -> Result<u64, DecodeError> {
        let mut value = 0_u64;
        for (position, &byte) in self.bytes[self.position..].iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if position == 9 && bits > 1 {
                break;
            }
            value |= bits << (7 * position);
            if byte < 0x80 {
                self.position += position + 1;
                return Ok(value);
            }
        }
        let is_cut = self.bytes.len() - self.position < 10;
        let reason = if is_cut { "the bytes end inside the number" } else { "the number passes 64 bits" };
        Err(self.wrong(field, format!("{reason} at byte {}", self.position)))
    }

    fn wrong(&self, field: &str, reason: String) -> DecodeError {
        DecodeError::malformed(format!("node[{}].{field}", self.index), reason)
    }
}

impl<'a> Iterator for TreeReader<'a> {
    type Item = Result<TreeRecord<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        if self.owed == 0 {
            self.is_ended = true;
            let left = self.bytes.len() - self.position;
            let reason = format!("{left} bytes behind the last node, from byte {}", self.position);
            return (left > 0).then(|| Err(DecodeError::malformed("tree", reason)));
        }
        let start = self.position;
        let record = self.record();
        work::count(self.position - start);
        self.is_ended = record.is_err();
        Some(record)
    }
}

/// Writes records one after the other.
#[must_use]
pub fn write_tree<'a>(records: impl IntoIterator<Item = TreeRecord<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        put_number(&mut bytes, u64::try_from(record.name.len()).unwrap_or(u64::MAX));
        bytes.extend_from_slice(record.name);
        put_number(&mut bytes, record.self_value);
        put_number(&mut bytes, record.children);
    }
    bytes
}

fn put_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format: a root, `a` below it, `b` and `c` below that.
    const EXAMPLE: &[u8] = b"\x00\x00\x01\x01a\x00\x02\x01b\x01\x00\x01c\x02\x00";

    fn read(bytes: &[u8]) -> Result<Vec<(String, u64, u64)>, DecodeError> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        TreeReader::new(bytes)
            .map(|record| record.map(|node| (text(node.name), node.self_value, node.children)))
            .collect()
    }

    #[test]
    fn the_example_is_read_and_written_again() {
        let nodes = read(EXAMPLE).unwrap();
        let node = |name: &str, self_value, children| (name.to_owned(), self_value, children);
        assert_eq!(nodes, [node("", 0, 1), node("a", 0, 2), node("b", 1, 0), node("c", 2, 0)]);
        assert_eq!(write_tree(TreeReader::new(EXAMPLE).map(Result::unwrap)), EXAMPLE);
    }

    #[test]
    fn fewer_than_two_bytes_are_an_empty_tree() {
        for empty in [&b""[..], b"\x00"] {
            assert_eq!(read(empty), Ok(Vec::new()));
        }
        assert_eq!(read(b"\x00\x00\x00").unwrap().len(), 1);
    }

    #[test]
    fn numbers_go_to_64_bits() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let bytes = write_tree([TreeRecord { name: b"x", self_value: value, children: 0 }]);
            assert_eq!(read(&bytes).unwrap()[0].1, value);
        }
    }

    #[test]
    fn c059_lengths_and_counts_are_held_against_the_bytes() {
        let long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        for (bytes, field, word) in [
            (long.to_vec(), "node[0].name length", "18446744073709551615 bytes"),
            ([&long[..9], &[0x7f]].concat(), "node[0].name length", "passes 64 bits"),
            ([&[0, 0][..], &long].concat(), "node[0].children", "more nodes"),
            (b"\x00\x00\x02\x00\x00\x00".to_vec(), "node[0].children", "more nodes"),
            (b"\x00\x00\x01\x05abc".to_vec(), "node[1].name length", "where 3 are left"),
            (b"\x00\x80".to_vec(), "node[0].self", "end inside"),
            (b"\x00\x00\x00\x00".to_vec(), "tree", "1 bytes behind"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.field, field, "{error}");
            assert!(error.reason.contains(word), "{error}");
        }
    }
}
