//! A tree that grows by paths: a child is found by its parent and its name, or made.
//!
//! Parents have smaller positions than their children. Keys are compared whole, so a hash collision never joins two
//! paths (D3).

use hashbrown::HashTable;

/// Position of the root.
pub(crate) const ROOT: u32 = 0;

/// A tree of (parent, name) with look-up.
#[derive(Clone, Debug)]
pub(crate) struct PathTable {
    parents: Vec<u32>,
    names: Vec<u32>,
    table: HashTable<u32>,
}

impl PathTable {
    /// A root alone, with the given name.
    pub fn new(root_name: u32) -> Self {
        Self { parents: vec![ROOT], names: vec![root_name], table: HashTable::new() }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Parent of each node; the root is its own.
    pub fn parents(&self) -> &[u32] {
        &self.parents
    }

    /// Name of each node.
    pub fn names(&self) -> &[u32] {
        &self.names
    }

    /// The child of `parent` with this name.
    #[inline]
    pub fn child(&mut self, parent: u32, name: u32) -> u32 {
        let hash = hash(parent, name);
        let found = self.table.find(hash, |&node| {
            let node = node as usize;
            self.parents[node] == parent && self.names[node] == name
        });
        if let Some(&node) = found {
            return node;
        }
        // Ids are 32 bits wide all through the store, so a tree of more nodes cannot come in.
        let node = u32::try_from(self.parents.len()).unwrap_or(u32::MAX);
        self.parents.push(parent);
        self.names.push(name);
        let (parents, names) = (&self.parents, &self.names);
        self.table
            .insert_unique(hash, node, |&node| self::hash(parents[node as usize], names[node as usize]));
        node
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> u64 {
        (self.parents.capacity() + self.names.capacity()) as u64 * 4 + self.table.capacity() as u64 * 6
    }
}

/// Mixes two ids. Both are positions that we gave out ourselves, so no client can choose them to collide.
#[inline]
fn hash(parent: u32, name: u32) -> u64 {
    let mixed = (u64::from(parent) << 32 | u64::from(name)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_again_and_parents_come_first() {
        let mut paths = PathTable::new(7);
        let a = paths.child(ROOT, 1);
        let b = paths.child(a, 2);
        for name in 0..10_000 {
            paths.child(b, name);
        }
        assert_eq!((paths.child(ROOT, 1), paths.child(a, 2)), (a, b));
        assert_ne!(paths.child(b, 1), a);
        assert_eq!(paths.len(), 10_003);
        assert!((1..paths.len()).all(|node| (paths.parents()[node] as usize) < node));
    }
}
