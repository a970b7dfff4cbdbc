//! Hashing of symbols into 96 bits, and the tables keyed by them.
//!
//! A table does not look at the symbol again when 96 bits agree: with keys drawn anew for every partition a false
//! match has a chance of about 10⁻¹⁵ in a partition of ten million symbols, and nobody outside can aim for one.
//! Comparing would cost a cache miss per stack, which is most of what interning costs.

use std::hash::{BuildHasher, RandomState};

use block::prefetch;
use profile::LocationIndex;
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

    /// Adds a word and a hash that was made with these keys. The two are only joined bit by bit: hashes that differ in no
    /// more bits than words have meet as seldom as any.
    #[inline]
    pub(crate) fn add_hash(&self, hash: PathHash, other: PathHash, word: u64) -> PathHash {
        let [first, second] = hash.lanes;
        let [other_first, other_second] = other.lanes;
        let [first_key, second_key] = self.multiply;
        PathHash {
            lanes: [
                fold(first ^ other_first ^ word, first_key),
                fold(second ^ other_second ^ word, second_key),
            ],
        }
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

/// Keys for hashing stacks. Each frame has a secret number and each depth a secret key. Frames are taken in pairs from the
/// root: the sums of number and key of both are multiplied, and the hash of a path is the sum of these products, all 128
/// bits of them (NH, the hash under UMAC). A missing second frame counts as 0. So the hash of a beginning follows by
/// taking frames away, and no step waits for the one before, which for deep stacks is many times as fast as a chain.
///
/// Two paths that differ in a frame meet for at most four of the 2⁶⁴ keys of the other frame of its pair: the numbers
/// differ by D · 2ⁿ with odd D and n ≤ 32 (see [`PathKeys::frame`]), so the first lane leaves 2ⁿ keys; for these the second
/// lane goes up in steps of D, which its low 32 bits tell apart, but for what either sum carries out of 64 bits. So a
/// false match in ten million paths has a proven chance of about 10⁻⁵; since the frames' numbers are secret too, 10⁻¹⁵ is
/// to be expected.
pub(crate) struct PathKeys {
    depths: Vec<u64>,
    /// Draws the keys of depths, which have to be independent of each other: sums of products of keys that follow a rule
    /// meet where stacks are each other's mirror image.
    drawn_by: RandomState,
    seed: HashKeys,
}

impl PathKeys {
    /// Draws keys from the system's randomness.
    pub(crate) fn random() -> Self {
        Self { depths: Vec::new(), drawn_by: RandomState::new(), seed: HashKeys::random() }
    }

    /// Makes keys for paths of up to `depth` frames; always those of two whole pairs.
    pub(crate) fn reach(&mut self, depth: usize) {
        while self.depths.len() < depth.next_multiple_of(4) {
            self.depths.push(self.drawn_by.hash_one(self.depths.len()));
        }
    }

    /// The number of a frame: odd, so that a path is not equal to its beginning, and different from those of all other
    /// ids in the low 33 bits. The bits above are only mixed.
    #[inline]
    pub(crate) fn frame(&self, id: u32) -> u64 {
        const LOW_BITS: u64 = (1 << 33) - 1;
        let [start, _] = self.seed.start;
        let [first, second] = self.seed.multiply;
        let scattered = (u64::from(id) ^ start).wrapping_mul(first);
        scattered.wrapping_mul(second) & !LOW_BITS | u64::from(low_word(scattered)) << 1 | 1
    }

    /// What two frames of a pair add to the hash.
    #[inline]
    fn term(pair: [u64; 2], keys: [u64; 2]) -> u128 {
        let [first, second] = pair;
        u128::from(first.wrapping_add(keys[0])) * u128::from(second.wrapping_add(keys[1]))
    }

    /// The hash of a stack, not deeper than what was reached, whose locations have the numbers `frames`.
    ///
    /// A call of its own: what surrounds it would leave it too few registers.
    #[inline(never)]
    pub(crate) fn path(&self, leaf_first: &[LocationIndex], frames: &[u64]) -> PathHash {
        let frame = |location: LocationIndex| frames[location.position()];
        let mut sum = 0u128;
        // Two pairs at a time: otherwise counting takes as long as the sums.
        let (rest, fours) = leaf_first.as_rchunks::<4>();
        let (keys, _) = self.depths.as_chunks::<4>();
        for (&[fourth, third, second, first], keys) in fours.iter().rev().zip(keys) {
            sum = sum.wrapping_add(Self::term([frame(first), frame(second)], [keys[0], keys[1]]));
            sum = sum.wrapping_add(Self::term([frame(third), frame(fourth)], [keys[2], keys[3]]));
        }
        let [outer, inner] = match *rest {
            [third, second, first] => [[frame(first), frame(second)], [frame(third), 0]],
            [second, first] => [[frame(first), frame(second)], [0; 2]],
            [first] => [[frame(first), 0], [0; 2]],
            _ => return PathHash::of_sum(sum),
        };
        if let Some(&[first, second, third, fourth]) = keys.get(fours.len()) {
            sum = sum.wrapping_add(Self::term(outer, [first, second]));
            if inner != [0; 2] {
                sum = sum.wrapping_add(Self::term(inner, [third, fourth]));
            }
        }
        PathHash::of_sum(sum)
    }

    /// The hash of a stack without its leaf, from that of the whole one, which is `path`.
    #[inline]
    pub(crate) fn without_leaf(
        &self,
        path: PathHash,
        leaf_first: &[LocationIndex],
        frames: &[u64],
    ) -> PathHash {
        let [leaf, above @ ..] = leaf_first else { return path };
        let leaf = frames[leaf.position()];
        let first_key = above.len() & !1;
        let keys = [self.depths[first_key], self.depths[first_key + 1]];
        let (gone, left) = match above.first() {
            Some(first) if above.len() % 2 == 1 => {
                let first = frames[first.position()];
                (Self::term([first, leaf], keys), Self::term([first, 0], keys))
            }
            _ => (Self::term([leaf, 0], keys), 0),
        };
        PathHash::of_sum(path.sum().wrapping_sub(gone).wrapping_add(left))
    }
}

impl PathHash {
    #[inline]
    fn of_sum(sum: u128) -> Self {
        let (first, second) = halves(sum);
        Self { lanes: [first, second] }
    }

    #[inline]
    fn sum(self) -> u128 {
        let [first, second] = self.lanes;
        u128::from(second) << 64 | u128::from(first)
    }

    /// The 96 bits that a table keeps: the first lane, whose high bits are the better mixed ones, and the low bits of the
    /// second.
    #[inline]
    fn words(self) -> [u32; 3] {
        let [first, second] = self.lanes;
        [low_word(first) ^ high_word(first), high_word(first), low_word(second)]
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

/// Entries that share a cache line: their 96 bits of hash, word by word, and their ids plus one, 0 = free. Free entries
/// are behind taken ones. Laid out so that all four are compared with a few instructions: which of them it is, if any, no
/// processor could predict.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Group {
    words: [[u32; ENTRIES]; 3],
    ids: [u32; ENTRIES],
}

const ENTRIES: usize = 4;

impl Group {
    /// The id plus one of an entry, 0 if it is not here.
    #[inline]
    fn find(&self, words: [u32; 3]) -> u32 {
        let mut found = 0;
        for entry in 0..ENTRIES {
            let differ = (self.words[0][entry] ^ words[0])
                | (self.words[1][entry] ^ words[1])
                | (self.words[2][entry] ^ words[2]);
            found |= if differ == 0 { self.ids[entry] } else { 0 };
        }
        found
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.ids[ENTRIES - 1] != 0
    }

    /// Adds an entry; there must be a free place.
    #[inline]
    fn add(&mut self, words: [u32; 3], id: u32) {
        let taken: usize = self.ids.iter().map(|&id| usize::from(id != 0)).sum();
        let place = taken.min(ENTRIES - 1);
        for (kept, word) in self.words.iter_mut().zip(words) {
            kept[place] = word;
        }
        self.ids[place] = id;
    }
}

/// A table is made larger when so many of its entries are taken, in 16ths: groups of four stay short up to here.
const FULL_SIXTEENTHS: usize = 13;

/// A table from 96-bit hashes to ids. Entries lie in groups of one cache line each, so a look-up costs one cache miss,
/// and [`SymbolTable::prefetch`] lets a caller with many look-ups wait for all of them together.
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
        self.find(hash).checked_sub(1)
    }

    /// The id of a hash plus one, 0 where there is none.
    #[inline]
    pub(crate) fn find(&self, hash: PathHash) -> u32 {
        let words = hash.words();
        let mut home = self.home(words);
        loop {
            let Some(group) = self.groups.get(home) else { return 0 };
            let found = group.find(words);
            if found != 0 || !group.is_full() {
                return found;
            }
            home = (home + 1) & (self.groups.len() - 1);
        }
    }

    /// Asks for the place of a hash to be brought into the cache and does not wait for it: who has many to look up asks for
    /// all of them first, so that cache misses do not add up.
    #[inline]
    pub(crate) fn prefetch(&self, hash: PathHash) {
        if let Some(group) = self.groups.get(self.home(hash.words())) {
            prefetch(group);
        }
    }

    /// Adds a hash that is not there yet.
    #[inline]
    pub(crate) fn insert(&mut self, hash: PathHash, id: u32) {
        if self.length * 16 >= self.groups.len() * ENTRIES * FULL_SIXTEENTHS {
            self.grow();
        }
        self.length += 1;
        self.place(hash.words(), id + 1);
    }

    #[inline]
    fn place(&mut self, words: [u32; 3], id: u32) {
        let mut home = self.home(words);
        while self.groups[home].is_full() {
            home = (home + 1) & (self.groups.len() - 1);
        }
        self.groups[home].add(words, id);
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (self.groups.len() * 2).max(2);
        let old = std::mem::replace(&mut self.groups, vec![Group::default(); larger]);
        for group in &old {
            for entry in (0..ENTRIES).filter(|&entry| group.ids[entry] != 0) {
                self.place(group.words.map(|word| word[entry]), group.ids[entry]);
            }
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
        keys.reach(10);
        let frames = [5, 9].map(|id| keys.frame(id));
        let stack = [0, 1, 1, 0, 1, 0, 0, 0, 1, 1].map(LocationIndex);
        let hash = |leaf: usize| keys.path(&stack[leaf..], &frames);
        for leaf in 0..stack.len() {
            assert_eq!(keys.without_leaf(hash(leaf), &stack[leaf..], &frames), hash(leaf + 1));
        }
        assert_eq!(hash(stack.len()), PathHash::default());
        assert_ne!(keys.path(&stack[..2], &frames), keys.path(&[stack[1], stack[0]], &frames));
    }

    /// A stack and its mirror image have the same products where the keys of four depths follow a rule, as those of one
    /// in 80,000 partitions did when each was a product of its depth.
    #[test]
    fn recursions_that_mirror_each_other_are_told_apart() {
        let stacks = [[0, 1, 1, 0], [1, 0, 0, 1]].map(|stack| stack.map(LocationIndex));
        for _ in 0..400_000 {
            let mut keys = PathKeys::random();
            keys.reach(4);
            let frames = [5, 9].map(|id| keys.frame(id));
            let [one, other] = stacks.map(|stack| keys.path(&stack, &frames));
            assert_ne!(one.words(), other.words());
        }
    }

    #[test]
    fn paths_of_few_frames_have_hashes_of_their_own_and_spread() {
        let mut keys = PathKeys::random();
        keys.reach(3);
        let mut seen = std::collections::HashSet::new();
        let mut homes = [0u32; 16];
        let frames: Vec<_> = (0..32).map(|id| keys.frame(id)).collect();
        let index = |id: usize| u32::try_from(id).unwrap();
        for path in 0..32 * 32 * 32usize {
            let stack = [path % 32, path / 32 % 32, path / 1024].map(|id| LocationIndex(index(id)));
            let words = keys.path(&stack, &frames).words();
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
