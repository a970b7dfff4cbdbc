//! Columns that one writer appends to while any number of readers look at what was there before.
//!
//! A column is a row of buckets, each twice as large as the one before, so nothing ever moves: an entry keeps its
//! place and a reader needs no lock. The length is published after the entry (release, acquire), so whoever has read
//! a length may read every entry below it. Pushes hold the partition's lock; queries hold nothing, and a snapshot is
//! a handful of lengths (D21).
//!
//! Appending from two threads at once would mix up entries, but never break memory: everything here is safe code.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

/// Entries of the first bucket; small, because most services have few of most things.
const FIRST_BUCKET: u32 = 32;
/// Buckets of a column; together they hold 2³² − 32 entries.
const BUCKETS: usize = 27;

/// Where an entry lies.
#[inline]
const fn place(id: u32) -> (usize, usize) {
    let shifted = id as u64 + FIRST_BUCKET as u64;
    let bucket = (63 - shifted.leading_zeros()) - FIRST_BUCKET.trailing_zeros();
    let offset = shifted - ((FIRST_BUCKET as u64) << bucket);
    (bucket as usize, offset as usize)
}

/// Number of entries of a bucket.
const fn bucket_length(bucket: usize) -> usize {
    (FIRST_BUCKET as usize) << bucket
}

/// One bucket of records, there once it is needed.
type WordBucket<const WORDS: usize> = OnceLock<Box<[[AtomicU32; WORDS]]>>;

/// A column of records of `WORDS` 32-bit words.
pub(crate) struct WordColumn<const WORDS: usize> {
    buckets: [WordBucket<WORDS>; BUCKETS],
    length: AtomicU32,
}

impl<const WORDS: usize> WordColumn<WORDS> {
    /// An empty column; allocates nothing.
    pub(crate) const fn new() -> Self {
        Self { buckets: [const { OnceLock::new() }; BUCKETS], length: AtomicU32::new(0) }
    }

    /// Entries that may be read.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.length.load(Ordering::Acquire)
    }

    /// Appends a record and returns its id. Only for the writer.
    #[inline]
    pub(crate) fn push(&self, record: [u32; WORDS]) -> u32 {
        let id = self.length.load(Ordering::Relaxed);
        let (bucket, offset) = place(id);
        let entries = self.buckets[bucket].get_or_init(|| {
            (0..bucket_length(bucket)).map(|_| [const { AtomicU32::new(0) }; WORDS]).collect()
        });
        for (word, value) in entries[offset].iter().zip(record) {
            word.store(value, Ordering::Relaxed);
        }
        self.length.store(id + 1, Ordering::Release);
        id
    }

    /// Reads a record below a length that was read before; all zero beyond the end.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> [u32; WORDS] {
        let (bucket, offset) = place(id);
        let mut record = [0; WORDS];
        if let Some(entries) = self.buckets[bucket].get() {
            for (value, word) in record.iter_mut().zip(&entries[offset]) {
                *value = word.load(Ordering::Relaxed);
            }
        }
        record
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        let entries: usize = self.buckets.iter().filter_map(OnceLock::get).map(|entries| entries.len()).sum();
        (entries * WORDS * size_of::<AtomicU32>()) as u64
    }
}

/// One bucket of values, there once it is needed.
type ObjectBucket<T> = OnceLock<Box<[OnceLock<T>]>>;

/// A column of values of any type.
pub(crate) struct ObjectColumn<T> {
    buckets: [ObjectBucket<T>; BUCKETS],
    length: AtomicU32,
}

impl<T> ObjectColumn<T> {
    /// An empty column; allocates nothing.
    pub(crate) const fn new() -> Self {
        Self { buckets: [const { OnceLock::new() }; BUCKETS], length: AtomicU32::new(0) }
    }

    /// Entries that may be read.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.length.load(Ordering::Acquire)
    }

    /// Appends a value and returns its id. Only for the writer.
    pub(crate) fn push(&self, value: T) -> u32 {
        let id = self.length.load(Ordering::Relaxed);
        let (bucket, offset) = place(id);
        let entries = self.buckets[bucket]
            .get_or_init(|| (0..bucket_length(bucket)).map(|_| OnceLock::new()).collect());
        let fresh = entries[offset].set(value).is_ok();
        debug_assert!(fresh, "two writers on one column");
        self.length.store(id + 1, Ordering::Release);
        id
    }

    /// The value of an id below a length that was read before.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        let (bucket, offset) = place(id);
        self.buckets[bucket].get()?.get(offset)?.get()
    }

    /// All values so far.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|id| self.get(id))
    }

    /// Bytes allocated for the entries themselves.
    pub(crate) fn bytes(&self) -> u64 {
        let entries: usize = self.buckets.iter().filter_map(OnceLock::get).map(|entries| entries.len()).sum();
        (entries * size_of::<OnceLock<T>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn entries_have_places_of_their_own() {
        let mut expected = (0, 0);
        for id in 0..100_000 {
            assert_eq!(place(id), expected, "{id}");
            expected.1 += 1;
            if expected.1 == bucket_length(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place(u32::MAX - FIRST_BUCKET).0 < BUCKETS);
    }

    #[test]
    fn what_was_pushed_is_read() {
        let words = WordColumn::<3>::new();
        let objects = ObjectColumn::new();
        for id in 0..1000 {
            assert_eq!(words.push([id, id + 1, id + 2]), id);
            assert_eq!(objects.push(id.to_string()), id);
        }
        assert_eq!((words.len(), objects.len()), (1000, 1000));
        assert!((0..1000).all(|id| words.get(id) == [id, id + 1, id + 2]));
        assert!(objects.iter().enumerate().all(|(id, text)| *text == id.to_string()));
        assert_eq!(objects.get(1000), None);
    }

    #[test]
    fn readers_see_whole_entries_below_the_length() {
        let column = Arc::new(WordColumn::<2>::new());
        let reader = {
            let column = Arc::clone(&column);
            std::thread::spawn(move || {
                loop {
                    let length = column.len();
                    for id in length.saturating_sub(50)..length {
                        assert_eq!(column.get(id), [id, !id]);
                    }
                    if length == 50_000 {
                        return;
                    }
                }
            })
        };
        for id in 0..50_000u32 {
            column.push([id, !id]);
        }
        reader.join().unwrap();
    }
}
