//! Reading and writing of plain bytes and varints, with an end to everything.

/// Bytes that are not what was written; says which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged(pub(crate) &'static str);

/// Appends a LEB128 number.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Appends LEB128 numbers, each without a branch on its length, which no processor could predict.
#[inline]
pub(crate) fn put_words(out: &mut Vec<u8>, words: impl ExactSizeIterator<Item = u32>) {
    /// Bytes that are written for each word; those that it does not need are overwritten by the next.
    const WRITTEN: usize = size_of::<u64>();
    /// Continuation bits of as many bytes as a 32-bit number may have.
    const CONTINUED: u64 = 0x80_8080_8080;
    let mut end = out.len();
    out.resize(end + words.len() * WORD_BYTES_MAX + WRITTEN, 0);
    for word in words {
        let bytes = ((u32::BITS - (word | 1).leading_zeros()).div_ceil(7)) as usize;
        let word = u64::from(word);
        let spread = (0..WORD_BYTES_MAX).fold(0, |all, byte| all | (word << byte) & 0x7f << (8 * byte));
        let continued = CONTINUED & ((1 << (8 * (bytes - 1))) - 1);
        if let Some(place) = out.get_mut(end..).and_then(<[_]>::first_chunk_mut::<WRITTEN>) {
            *place = (spread | continued).to_le_bytes();
        }
        end += bytes;
    }
    out.truncate(end);
}

/// Bytes of the longest LEB128 number of 32 bits.
const WORD_BYTES_MAX: usize = 5;

/// Appends length and bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Maps small numbers of either sign to small numbers.
#[inline]
pub(crate) const fn zigzag_encode(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Back from [`zigzag_encode`].
#[inline]
pub(crate) const fn zigzag_decode(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Reads from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What is left.
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// One byte.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Damaged> {
        let (&first, rest) = self.rest.split_first().ok_or(Damaged("end of bytes"))?;
        self.rest = rest;
        Ok(first)
    }

    /// Some bytes.
    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Damaged("end of bytes"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// A fixed number of bytes.
    #[inline]
    pub(crate) fn chunk<const LENGTH: usize>(&mut self) -> Result<&'a [u8; LENGTH], Damaged> {
        let (taken, rest) = self.rest.split_first_chunk::<LENGTH>().ok_or(Damaged("end of bytes"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// A LEB128 number of at most 64 bits.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Damaged> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damaged("varint"))
    }

    /// A number of things to come.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<usize, Damaged> {
        usize::try_from(self.varint()?).map_err(|_| Damaged("count"))
    }

    /// A 32-bit number.
    #[inline]
    pub(crate) fn word(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.varint()?).map_err(|_| Damaged("32-bit number"))
    }

    /// Length and bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let length = self.count()?;
        self.take(length)
    }

    /// A zigzag number.
    pub(crate) fn signed(&mut self) -> Result<i64, Damaged> {
        self.varint().map(zigzag_decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_as_varints() {
        let words: Vec<u32> = (0..32).flat_map(|bit| [(1 << bit) - 1, 1 << bit, u32::MAX >> bit]).collect();
        let (mut together, mut single) = (vec![7], vec![7]);
        put_words(&mut together, words.iter().copied());
        words.iter().for_each(|&word| put_varint(&mut single, u64::from(word)));
        assert_eq!(together, single);
        put_words(&mut together, [].into_iter());
        assert_eq!(together, single);
    }

    #[test]
    fn varints_and_zigzag_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(Reader::new(&out).varint(), Ok(value));
            assert_eq!(zigzag_encode(zigzag_decode(value)), value);
        }
        assert_eq!(zigzag_encode(-1), 1);
        assert!(Reader::new(&[0x80; 12]).varint().is_err());
        assert!(Reader::new(&[0x80]).varint().is_err());
    }
}
