//! Hashing of symbols into 96 bits, and the tables keyed by them.
//!
//! A table does not look at the symbol again when 96 bits agree: with keys drawn anew for every partition a false
//! match has a chance of about 10⁻¹⁵ in a partition of ten million symbols, and nobody outside can aim for one.
//! Comparing would cost a cache miss per stack, which is most of what interning costs.

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Multiplies to 128 bits and folds the halves.
#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    let (low, high) = halves(product);
    low ^ high
}

/// Low and high half; cutting off is the point.
#[inline]
#[allow(clippy::cast_possible_truncation)]
const fn halves(value: u128) -> (u64, u64) {
    (value as u64, (value >> 64) as u64)
}

/// Secret keys of one partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashKeys {
    start: [u64; 2],
    multiply: [u64; 2],
}

impl HashKeys {
    /// Draws keys from the system's randomness.
    pub(crate) fn random() -> Self {
        let state = RandomState::new();
        let draw = |position: u64| state.hash_one(position);
        Self { start: [draw(0), draw(1)], multiply: [draw(2) | 1, draw(3) | 1] }
    }

    /// The hash of nothing.
    #[inline]
    pub(crate) fn start(&self) -> PathHash {
        PathHash { lanes: self.start }
    }

    /// Adds a word.
    #[inline]
    pub(crate) fn add(&self, hash: PathHash, word: u64) -> PathHash {
        let PathHash { lanes: [first, second] } = hash;
        let [first_key, second_key] = self.multiply;
        PathHash { lanes: [fold(first ^ word, first_key), fold(second ^ word, second_key)] }
    }

    /// The hash of some bytes.
    #[inline]
    pub(crate) fn of_bytes(&self, bytes: &[u8]) -> PathHash {
        let (first, second) = halves(xxh3_128_with_seed(bytes, self.start[0]));
        PathHash { lanes: [first, second] }
    }

    /// The hash of some words.
    #[inline]
    pub(crate) fn of(&self, words: &[u64]) -> PathHash {
        words.iter().fold(self.start(), |hash, &word| self.add(hash, word))
    }
}

/// A hash that can be carried on: the hash of a path is that of its parent with one word more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathHash {
    lanes: [u64; 2],
}

/// Keys for hashing stacks. The number of a frame is mixed with two random numbers of its depth, and the halves of each
/// are multiplied; the hash of a path is the sums of these products over its frames (as in NH, the hash under UMAC, but
/// with numbers that nobody outside knows). So the hash of a beginning follows by taking frames away, and no step waits for
/// the one before, which for deep stacks is many times as fast as a chain.
///
/// That two paths meet is proven only for 64 of the 128 bits (NH's bound); that all of them count rests on the frames'
/// numbers being secret too. So a false match in ten million paths has a proven chance below 10⁻⁵, expected 10⁻¹⁵.
pub(crate) struct PathKeys {
    depths: Vec<[u64; 2]>,
    seed: HashKeys,
}

impl PathKeys {
    /// Draws keys from the system's randomness.
    pub(crate) fn random() -> Self {
        Self { depths: Vec::new(), seed: HashKeys::random() }
    }

    /// Makes keys for paths of up to `depth` frames.
    pub(crate) fn reach(&mut self, depth: usize) {
        while self.depths.len() < depth {
            self.depths.push(self.seed.of(&[self.depths.len() as u64]).lanes);
        }
    }

    /// The number of a frame; no two ids have the same, since every step can be undone.
    #[inline]
    pub(crate) fn frame(&self, id: u32) -> u64 {
        let [start, _] = self.seed.start;
        let [first, second] = self.seed.multiply;
        let mixed = (u64::from(id) ^ start).wrapping_mul(first);
        (mixed ^ mixed >> 32).wrapping_mul(second)
    }

    /// What a frame at a depth adds to the hash.
    #[inline]
    fn term(frame: u64, depth: [u64; 2]) -> [u64; 2] {
        depth.map(|depth| {
            let mixed = frame ^ depth;
            (mixed & u64::from(u32::MAX)) * (mixed >> 32)
        })
    }

    /// The hash of a path of frames, root first; not longer than what was reached.
    #[inline]
    pub(crate) fn path(&self, frames: impl Iterator<Item = u64>) -> PathHash {
        let mut lanes = [0u64; 2];
        for (frame, &depth) in frames.zip(&self.depths) {
            let [first, second] = Self::term(frame, depth);
            lanes = [lanes[0].wrapping_add(first), lanes[1].wrapping_add(second)];
        }
        PathHash { lanes }
    }

    /// The hash of a path without its last frame, which is at `depth`.
    #[inline]
    pub(crate) fn without(&self, path: PathHash, frame: u64, depth: usize) -> PathHash {
        let [first, second] = Self::term(frame, self.depths[depth]);
        let [path_first, path_second] = path.lanes;
        PathHash { lanes: [path_first.wrapping_sub(first), path_second.wrapping_sub(second)] }
    }
}

impl PathHash {
    /// The 96 bits that a table keeps. Low bits of products are often zero, so the halves are put over each other.
    #[inline]
    fn words(self) -> [u32; 3] {
        let [first, second] = self.lanes;
        [low_word(first) ^ high_word(first), high_word(first), low_word(second) ^ high_word(second)]
    }
}

/// The low 32 bits.
#[inline]
pub(crate) fn low_word(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// The high 32 bits.
#[inline]
pub(crate) fn high_word(value: u64) -> u32 {
    low_word(value >> 32)
}

/// From low and high 32 bits.
#[inline]
pub(crate) fn join_words(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Entries that share a cache line: 96 bits of hash and the id plus one; all zero = free.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Group([[u32; 4]; 4]);

/// A table is made larger when so many of its entries are taken, in 16ths: groups of four stay short up to here.
const FULL_SIXTEENTHS: usize = 13;

/// A table from 96-bit hashes to ids. Entries lie in groups of one cache line each, so a look-up costs one cache miss,
/// and [`SymbolTable::touch`] lets a caller with many look-ups wait for all of them together.
#[derive(Default)]
pub(crate) struct SymbolTable {
    groups: Vec<Group>,
    length: usize,
}

impl SymbolTable {
    /// Where a hash belongs; the number of groups is a power of two.
    #[inline]
    fn home(&self, words: [u32; 3]) -> usize {
        words[0] as usize & self.groups.len().wrapping_sub(1)
    }

    /// The id of a hash.
    #[inline]
    pub(crate) fn get(&self, hash: PathHash) -> Option<u32> {
        let words = hash.words();
        let mut home = self.home(words);
        loop {
            for entry in &self.groups.get(home)?.0 {
                if entry[3] == 0 {
                    return None;
                }
                if entry[..3] == words {
                    return Some(entry[3] - 1);
                }
            }
            home = (home + 1) & (self.groups.len() - 1);
        }
    }

    /// Brings the places of many hashes into the cache. Nothing but reads in this loop, so that as many are under way at
    /// once as the machine can have.
    #[inline]
    pub(crate) fn touch<'a>(&self, hashes: impl Iterator<Item = &'a PathHash>) {
        let first_ids =
            hashes.map(|hash| self.groups.get(self.home(hash.words())).map_or(0, |group| group.0[0][3]));
        // The sum is of no use, but an unused read would be left out.
        std::hint::black_box(first_ids.fold(0, |all, id| all ^ id));
    }

    /// Adds a hash that is not there yet.
    #[inline]
    pub(crate) fn insert(&mut self, hash: PathHash, id: u32) {
        if self.length * 4 >= self.groups.len() * FULL_SIXTEENTHS {
            self.grow();
        }
        self.length += 1;
        let [first, second, third] = hash.words();
        self.place([first, second, third, id + 1]);
    }

    #[inline]
    fn place(&mut self, new: [u32; 4]) {
        let mut home = self.home([new[0], new[1], new[2]]);
        loop {
            for entry in &mut self.groups[home].0 {
                if entry[3] == 0 {
                    *entry = new;
                    return;
                }
            }
            home = (home + 1) & (self.groups.len() - 1);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (self.groups.len() * 2).max(2);
        let old = std::mem::replace(&mut self.groups, vec![Group::default(); larger]);
        for entry in old.iter().flat_map(|group| &group.0).filter(|entry| entry[3] != 0) {
            self.place(*entry);
        }
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        (self.groups.capacity() * size_of::<Group>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_depend_on_order_words_and_keys() {
        let keys = HashKeys::random();
        assert_eq!(keys.of(&[1, 2]), keys.add(keys.of(&[1]), 2));
        assert_ne!(keys.of(&[1, 2]), keys.of(&[2, 1]));
        assert_ne!(keys.of(&[0]), keys.of(&[0, 0]));
        assert_ne!(keys.of(&[1]), HashKeys::random().of(&[1]));
    }

    #[test]
    fn the_hash_of_a_path_gives_those_of_its_beginnings() {
        let mut keys = PathKeys::random();
        keys.reach(3);
        let frames = [5, 9, 5].map(|id| keys.frame(id));
        let hash = |length: usize| keys.path(frames[..length].iter().copied());
        for length in 1..=3 {
            assert_eq!(keys.without(hash(length), frames[length - 1], length - 1), hash(length - 1));
        }
        assert_eq!(hash(0), PathHash::default());
        let backwards = keys.path([frames[1], frames[0]].into_iter());
        assert_ne!(hash(2), backwards);
    }

    #[test]
    fn paths_of_few_frames_have_hashes_of_their_own_and_spread() {
        let mut keys = PathKeys::random();
        keys.reach(3);
        let mut seen = std::collections::HashSet::new();
        let mut homes = [0u32; 16];
        let frames: Vec<_> = (0..32).map(|id| keys.frame(id)).collect();
        for path in 0..32 * 32 * 32usize {
            let frames = [frames[path / 1024], frames[path / 32 % 32], frames[path % 32]];
            let words = keys.path(frames.into_iter()).words();
            assert!(seen.insert(words));
            homes[words[0] as usize % 16] += 1;
        }
        // Each of the sixteen expects 2,048; ten standard deviations are 440.
        assert!(homes.iter().all(|&count| count.abs_diff(2048) < 600), "{homes:?}");
    }

    #[test]
    fn strings_are_told_apart_by_every_byte() {
        let keys = HashKeys::random();
        let mut seen = std::collections::HashSet::new();
        for length in 0..300 {
            let bytes = vec![b'a'; length];
            assert!(seen.insert(keys.of_bytes(&bytes).words()));
            for position in [0, length / 2, length.saturating_sub(1)] {
                let mut changed = bytes.clone();
                if let Some(byte) = changed.get_mut(position) {
                    *byte = b'b';
                    assert_ne!(keys.of_bytes(&changed), keys.of_bytes(&bytes));
                }
            }
        }
        assert_ne!(keys.of_bytes(b"main"), HashKeys::random().of_bytes(b"main"));
    }

    #[test]
    fn table_finds_what_was_inserted() {
        let keys = HashKeys::random();
        let mut table = SymbolTable::default();
        for id in 0..10_000 {
            let hash = keys.of(&[u64::from(id), 7]);
            assert_eq!(table.get(hash), None);
            table.insert(hash, id);
        }
        assert!((0..10_000).all(|id| table.get(keys.of(&[u64::from(id), 7])) == Some(id)));
    }

    #[test]
    fn words_join_as_they_were_split() {
        for value in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(join_words(low_word(value), high_word(value)), value);
        }
    }
}
