//! Variable-length numbers, and a reader that never runs past its bytes.
//!
//! A number takes 7 bits per byte, lowest first, the high bit set on all bytes but the last. Signed numbers are folded
//! so that small ones of either sign are short: 0, -1, 1, -2 … become 0, 1, 2, 3 ….

/// Stored bytes that cannot be what the writer wrote. [`crate::BlockError`] adds file and section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub &'static str);

/// Longest number, bytes.
const VARINT_BYTES_MAX: u32 = 10;

/// Appends a number.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Appends a signed number.
#[inline]
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, fold(value));
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Small numbers of either sign become small numbers.
#[inline]
pub(crate) const fn fold(value: i64) -> u64 {
    (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned()
}

/// Undoes [`fold`].
#[inline]
pub(crate) const fn unfold(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// How many bytes [`put_varint`] needs for a number of so many bits.
pub(crate) const fn varint_length(bits: u32) -> u32 {
    if bits == 0 { 1 } else { bits.div_ceil(7) }
}

/// Reads from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes not read yet.
    pub(crate) const fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// The next `length` bytes.
    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let Some((front, rest)) = self.bytes.split_at_checked(length) else {
            return Err(Malformed("ends in the middle"));
        };
        self.bytes = rest;
        Ok(front)
    }

    /// The next bytes as an array.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let Some((front, rest)) = self.bytes.split_first_chunk::<N>() else {
            return Err(Malformed("ends in the middle"));
        };
        self.bytes = rest;
        Ok(*front)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// A number.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        self.long_varint(first)
    }

    fn long_varint(&mut self, first: u8) -> Result<u64, Malformed> {
        let mut value = u64::from(first & 0x7f);
        for position in 1..VARINT_BYTES_MAX {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if position == VARINT_BYTES_MAX - 1 && byte > 1 {
                return Err(Malformed("number has more than 64 bits"));
            }
            value |= bits << (7 * position);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("number has more than 10 bytes"))
    }

    /// A number of at most 32 bits.
    #[inline]
    pub(crate) fn varint_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.varint()?).map_err(|_| Malformed("number has more than 32 bits"))
    }

    /// A signed number.
    #[inline]
    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        Ok(unfold(self.varint()?))
    }

    /// A position in a table that has `length` entries.
    #[inline]
    pub(crate) fn position(&mut self, length: u32) -> Result<u32, Malformed> {
        let position = self.varint_u32()?;
        if position < length { Ok(position) } else { Err(Malformed("points behind its table")) }
    }

    /// A number of things that follow, each of at least `bytes_each` bytes, so that nothing is reserved for things that
    /// cannot be there.
    pub(crate) fn count(&mut self, bytes_each: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.varint()?).map_err(|_| Malformed("count is too large"))?;
        match count.checked_mul(bytes_each) {
            Some(needed) if needed <= self.remaining() => Ok(count),
            _ => Err(Malformed("count is larger than its section")),
        }
    }

    /// A length and as many bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// A length and as many bytes of text.
    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("text is no UTF-8"))
    }

    /// Fails when something is left.
    pub(crate) fn finish(&self) -> Result<(), Malformed> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Malformed("has bytes behind its end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(bytes.len() as u32, varint_length(64 - value.leading_zeros()));
            assert_eq!(Cursor::new(&bytes).varint(), Ok(value));
            assert!(Cursor::new(&bytes[..bytes.len() - 1]).varint().is_err());
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unfold(fold(value)), value);
        }
        assert!(Cursor::new(&[0xff; 10]).varint().is_err());
        assert!(Cursor::new(&[0x80; 11]).varint().is_err());
        assert!(Cursor::new(&[200, 1, 0]).count(1).is_err());
    }
}
