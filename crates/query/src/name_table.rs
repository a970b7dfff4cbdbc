//! Names of display nodes, each once, with the file that goes with them.

use std::hash::BuildHasher as _;

use foldhash::quality::FixedState;
use hashbrown::HashTable;

/// One name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// What is shown, and what functions are joined by.
    pub text: Box<str>,
    /// Tells frames apart that are shown alike and are not joined: the whole path behind `[base name]` in raw mode.
    pub scope: Box<str>,
    /// Source file of the first function seen; may be empty.
    pub file: Box<str>,
    /// The frame has no name of its own; an address or a file is shown.
    pub unsymbolised: bool,
}

/// Names by position and by text.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    names: Vec<Name>,
    table: HashTable<u32>,
    /// Place of each name in sorted order.
    ranks: Vec<u32>,
    has_unsymbolised: bool,
    has_go_runtime: bool,
    text_bytes: u64,
}

impl NameTable {
    /// The position of a name, which is added where it is new.
    pub fn intern(&mut self, name: Name) -> u32 {
        let hash = hash(&name.text, &name.scope);
        let found = self.table.find(hash, |&known| {
            let known = &self.names[known as usize];
            known.text == name.text && known.scope == name.scope
        });
        if let Some(&position) = found {
            let known = &mut self.names[position as usize];
            if known.file.is_empty() {
                known.file = name.file;
            }
            return position;
        }
        let position = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.has_unsymbolised |= name.unsymbolised;
        self.has_go_runtime |= name.text.starts_with("runtime.");
        self.text_bytes += (name.text.len() + name.scope.len() + name.file.len()) as u64;
        self.names.push(name);
        let names = &self.names;
        self.table.insert_unique(hash, position, |&known| {
            let known = &names[known as usize];
            self::hash(&known.text, &known.scope)
        });
        position
    }

    /// A name.
    #[inline]
    pub fn get(&self, position: u32) -> &Name {
        &self.names[position as usize]
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether some name stands for a frame without one.
    pub fn has_unsymbolised(&self) -> bool {
        self.has_unsymbolised
    }

    /// Whether some name is of Go's runtime.
    pub fn has_go_runtime(&self) -> bool {
        self.has_go_runtime
    }

    /// Brings the sorted order up to date after names were added.
    pub fn sort(&mut self) {
        if self.ranks.len() == self.names.len() {
            return;
        }
        let mut order: Vec<u32> = (0..).take(self.names.len()).collect();
        order.sort_unstable_by(|&left, &right| {
            let (left, right) = (self.get(left), self.get(right));
            (&left.text, &left.scope).cmp(&(&right.text, &right.scope))
        });
        self.ranks = vec![0; order.len()];
        for (rank, position) in (0..).zip(order) {
            self.ranks[position as usize] = rank;
        }
    }

    /// The place of a name in sorted order; call [`NameTable::sort`] first.
    #[inline]
    pub fn rank(&self, position: u32) -> u32 {
        self.ranks[position as usize]
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> u64 {
        self.names.capacity() as u64 * (size_of::<Name>() as u64 + 4)
            + self.table.capacity() as u64 * 6
            + self.text_bytes
    }
}

/// Function names come from clients, so the hash is of the kind that cannot be steered to collide cheaply; comparing
/// whole texts keeps it right in any case.
fn hash(text: &str, scope: &str) -> u64 {
    FixedState::default().hash_one((text, scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str, scope: &str) -> Name {
        Name { text: text.into(), scope: scope.into(), file: "".into(), unsymbolised: false }
    }

    #[test]
    fn names_are_once_and_ranked_by_text() {
        let mut names = NameTable::default();
        let b = names.intern(name("b", ""));
        let a = names.intern(name("a", ""));
        let scoped = names.intern(name("a", "/x"));
        assert_eq!(names.intern(name("b", "")), b);
        names.sort();
        assert!(names.rank(a) < names.rank(scoped) && names.rank(scoped) < names.rank(b));
    }
}
