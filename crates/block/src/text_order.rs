//! Sorting many texts that begin alike, as names of functions and files do.
//!
//! Comparing two such texts reads both from the start, from two places in memory. Here eight bytes of every text are
//! taken at a time and sorted as numbers; only texts that agree in them are looked at again, eight bytes further on.
//!
//! Called by `renumber`. The order is that of slices of bytes.

/// Words after which texts that still agree are compared as they are, so that the depth of recursion does not depend on
/// what somebody pushed.
const WORDS_MAX: usize = 32;

/// A text with a number that goes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    /// The eight bytes that are sorted by now.
    word: u64,
    /// How many of them there are; one more stands for "and others behind them".
    length: u8,
    /// The text.
    pub bytes: &'a [u8],
    /// The number.
    pub id: u32,
}

impl<'a> Text<'a> {
    pub(crate) fn new(bytes: &'a [u8], id: u32) -> Self {
        Self { word: 0, length: 0, bytes, id }
    }

    fn take_word(&mut self, start: usize) {
        let rest = self.bytes.get(start..).unwrap_or_default();
        let mut word = [0; 8];
        let length = rest.len().min(word.len());
        word[..length].copy_from_slice(&rest[..length]);
        self.word = u64::from_be_bytes(word);
        self.length = u8::try_from(rest.len()).unwrap_or(GOES_ON).min(GOES_ON);
    }

    fn key(&self) -> (u64, u8) {
        (self.word, self.length)
    }
}

const GOES_ON: u8 = 9;

/// Sorts texts by their bytes; equal ones stay side by side in any order.
pub(crate) fn sort_texts(texts: &mut [Text<'_>]) {
    sort_from(texts, 0);
}

fn sort_from(texts: &mut [Text<'_>], word: usize) {
    if word == WORDS_MAX {
        texts.sort_unstable_by(|left, right| left.bytes.cmp(right.bytes));
        return;
    }
    texts.iter_mut().for_each(|text| text.take_word(8 * word));
    texts.sort_unstable_by_key(Text::key);
    for alike in texts.chunk_by_mut(|left, right| left.key() == right.key()) {
        if alike.len() > 1 && alike[0].length == GOES_ON {
            sort_from(alike, word + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_slices() {
        let mut texts: Vec<Vec<u8>> = vec![Vec::new(), vec![0], vec![0; 8], vec![0; 9], vec![255; 8]];
        for length in [1, 7, 8, 9, 16, 17, 8 * WORDS_MAX, 8 * WORDS_MAX + 1, 8 * WORDS_MAX + 9] {
            let same = vec![b'a'; length];
            texts.push([&same[..], b"\0"].concat());
            texts.push([&same[..], b"b"].concat());
            texts.push([&same[..], &[0xff]].concat());
            texts.push(same.clone());
            texts.push(same);
        }
        let mut sorted: Vec<Text<'_>> = (0..).zip(&texts).map(|(id, text)| Text::new(text, id)).collect();
        sort_texts(&mut sorted);
        let found: Vec<&[u8]> = sorted.iter().map(|text| text.bytes).collect();
        let mut expected: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        expected.sort();
        assert_eq!(found, expected);
        assert!(sorted.iter().all(|text| texts[text.id as usize] == text.bytes));
    }
}
