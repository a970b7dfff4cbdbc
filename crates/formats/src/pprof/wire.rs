//! Reading protobuf's wire format from slices: varints, lengths, skipping.
//!
//! Hot: short varints are read inline, longer ones eight bytes at a time. Errors are one byte here; the callers that know
//! where they are add names and offsets.

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The message ends inside a number.
    Truncated,
    /// A number has more than ten bytes.
    VarintTooLong,
    /// A field reaches beyond the end of its message.
    BeyondEnd,
    /// A field has a wire type that does not exist.
    WireType {
        /// The field number.
        field: u32,
    },
    /// A known field has another wire type than it should.
    Misfit {
        /// The field number.
        field: u32,
    },
    /// Field number zero.
    FieldZero,
    /// The tables of the profile would pass their memory budget.
    Full,
    /// The quick pass met something that only the careful pass can judge.
    Odd,
    /// The decoder has noted the whole error itself.
    Noted,
}

impl From<crate::budget::Full> for Fault {
    fn from(_: crate::budget::Full) -> Self {
        Self::Full
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truncated => formatter.write_str("ends inside a number"),
            Self::VarintTooLong => formatter.write_str("a number has more than 10 bytes"),
            Self::BeyondEnd => formatter.write_str("a field reaches beyond the end"),
            Self::WireType { field } => write!(formatter, "field {field} has an unknown wire type"),
            Self::Misfit { field } => write!(formatter, "field {field} has the wrong wire type"),
            Self::FieldZero => formatter.write_str("field number 0"),
            Self::Full => formatter.write_str("too many entries for its size"),
            Self::Odd | Self::Noted => formatter.write_str("cannot be read"),
        }
    }
}

/// One bit per byte: "another byte follows".
pub(crate) const MORE: u64 = 0x8080_8080_8080_8080;

/// Squeezes the seven-bit groups of up to eight bytes together.
#[inline(always)]
pub(crate) const fn squeeze(word: u64) -> u64 {
    let word = word & 0x7f7f_7f7f_7f7f_7f7f;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// The low 32 bits. Callers have checked the range or check the largest value seen before they use the result.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
pub(crate) const fn low32(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}

/// The two's complement reading that protobuf gives to `int64` fields.
#[inline(always)]
pub(crate) const fn signed(value: u64) -> i64 {
    value.cast_signed()
}

/// A count or offset of a body, which is at most 256 MiB, as the 32 bits that tables hold.
#[inline(always)]
pub(crate) fn narrow(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A place in the text that is read. Messages are read to their `end`; a field that reaches beyond it is noticed there
/// (see [`Reader::done`]), so that numbers can be read eight bytes at a time whatever follows them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// At a place of a text.
    #[inline(always)]
    pub(crate) fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    /// Bytes before this place.
    #[inline(always)]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Whether the next byte is this one.
    #[inline(always)]
    pub(crate) fn starts_with(&self, byte: u8) -> bool {
        self.text.get(self.at) == Some(&byte)
    }

    /// Goes on by some bytes.
    #[inline(always)]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// The bytes from here to `end`.
    #[inline(always)]
    pub(crate) fn until(&self, end: usize) -> &'a [u8] {
        self.text.get(self.at..end).unwrap_or_default()
    }

    /// Goes to `end`, which [`Reader::delimited`] gave.
    #[inline(always)]
    pub(crate) fn skip_to(&mut self, end: usize) {
        self.at = end;
    }

    /// The next eight bytes, where there are as many.
    #[inline(always)]
    fn word(&self) -> Option<u64> {
        let eight = self.text.get(self.at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*eight))
    }

    /// Goes back to the beginning of the number that this place is in, if it is in one; it is behind its first byte then.
    #[inline(always)]
    pub(crate) fn back_to_number(&mut self) {
        let before = self.at.checked_sub(1);
        if let Some(before) = before.filter(|&before| self.text.get(before).is_some_and(|&byte| byte >= 0x80))
        {
            self.at = before;
        }
    }

    /// Sixteen bytes from the one before this place, where there are as many.
    #[inline(always)]
    pub(crate) fn byte_before_and_on(&self) -> Option<&'a [u8; 16]> {
        self.text.get(self.at.checked_sub(1)?..)?.first_chunk()
    }

    /// Whether a message that goes to `end` has been read whole.
    ///
    /// # Errors
    /// When its last field went beyond it.
    #[inline(always)]
    pub(crate) fn done(&self, end: usize) -> Result<(), Fault> {
        if self.at == end { Ok(()) } else { Err(Fault::BeyondEnd) }
    }

    /// Reads a varint.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Result<u64, Fault> {
        if let Some(word) = self.word() {
            if word & 0x80 == 0 {
                self.at += 1;
                return Ok(word & 0x7f);
            }
            if word & 0x8000 == 0 {
                self.at += 2;
                return Ok(word & 0x7f | word >> 1 & 0x3f80);
            }
            let last = !word & MORE;
            if last != 0 {
                // `last ^ (last - 1)` has all bits up to and including the end bit of the first byte without a follower
                self.at += (last.trailing_zeros() as usize >> 3) + 1;
                return Ok(squeeze(word & (last ^ last.wrapping_sub(1))));
            }
        }
        let (value, at) = slow_varint(self.text, self.at)?;
        self.at = at;
        Ok(value)
    }

    /// Reads a length; gives the place where that many bytes end, which is inside the text.
    #[inline(always)]
    pub(crate) fn delimited(&mut self) -> Result<usize, Fault> {
        let length = self.varint()?;
        let left = self.text.len() - self.at;
        match usize::try_from(length) {
            Ok(length) if length <= left => Ok(self.at + length),
            _ => Err(Fault::BeyondEnd),
        }
    }

    /// Whether the next field before `end` has this one-byte tag; steps over the tag if so.
    ///
    /// Producers write fields in the order of their numbers, so asking for them in that order predicts well.
    #[inline(always)]
    pub(crate) fn is_next(&mut self, tag: u8, end: usize) -> bool {
        if self.at < end && self.text.get(self.at) == Some(&tag) {
            self.at += 1;
            return true;
        }
        false
    }

    /// Reads a varint where the next field has this tag; else 0, which is what an absent field means.
    #[inline(always)]
    pub(crate) fn varint_if(&mut self, tag: u8, end: usize) -> Result<u64, Fault> {
        if self.is_next(tag, end) { self.varint() } else { Ok(0) }
    }

    /// Two fields with these one-byte tags and values of one or two bytes each, which are all that is left before `end`;
    /// steps over them. Their lengths, which no processor could predict, are not branched on.
    #[inline(always)]
    pub(crate) fn short_pair(&mut self, first: u8, second: u8, end: usize) -> Option<(u64, u64)> {
        let word = self.word()?;
        let two_bytes = |word: u64| {
            let more = word >> 7 & 1;
            (word & 0x7f | word >> 1 & 0x3f80 & more.wrapping_neg(), more)
        };
        let (first_value, first_more) = two_bytes(word >> 8);
        let rest = word >> (16 + 8 * first_more);
        let (second_value, second_more) = two_bytes(rest >> 8);
        let is_short = word >> 23 & first_more | rest >> 23 & second_more == 0;
        let has_tags = word & 0xff == u64::from(first) && rest & 0xff == u64::from(second);
        let bytes = (4 + first_more + second_more) as usize;
        if !is_short || !has_tags || self.at + bytes != end {
            return None;
        }
        self.at = end;
        Some((first_value, second_value))
    }

    /// Skips the value of a field that the caller does not know. Fields `1..=known_max` exist, so they are here only
    /// because their wire type is wrong.
    #[inline(always)]
    pub(crate) fn skip(&mut self, tag: u64, known_max: u32) -> Result<(), Fault> {
        self.at = skip_unknown(self.text, self.at, tag, known_max)?;
        Ok(())
    }

    /// Skips a value of any field.
    #[inline(always)]
    pub(crate) fn skip_value(&mut self, tag: u64, field: u32) -> Result<(), Fault> {
        match tag & 7 {
            0 => {
                self.varint()?;
            }
            1 => self.at += 8,
            2 => self.at = self.delimited()?,
            5 => self.at += 4,
            _ => return Err(Fault::WireType { field }),
        }
        if self.at > self.text.len() { Err(Fault::BeyondEnd) } else { Ok(()) }
    }
}

#[cold]
#[inline(never)]
fn skip_unknown(text: &[u8], at: usize, tag: u64, known_max: u32) -> Result<usize, Fault> {
    let field = low32((tag >> 3).min(u64::from(u32::MAX)));
    if field == 0 {
        return Err(Fault::FieldZero);
    }
    if field <= known_max {
        return Err(Fault::Misfit { field });
    }
    let mut reader = Reader::new(text, at);
    reader.skip_value(tag, field)?;
    Ok(reader.at)
}

/// Reads a varint byte by byte: of nine or ten bytes, or near the end of the text. Gives the place behind it, too.
///
/// A function of values: if it took a reference, readers would have to live in memory everywhere.
#[cold]
#[inline(never)]
fn slow_varint(text: &[u8], at: usize) -> Result<(u64, usize), Fault> {
    let rest = text.get(at..).unwrap_or_default();
    let mut value = 0_u64;
    for (position, &byte) in rest.iter().enumerate().take(10) {
        // bits beyond the 64th are lost, as every protobuf reader does it
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            return Ok((value, at + position + 1));
        }
    }
    Err(if rest.len() < 10 { Fault::Truncated } else { Fault::VarintTooLong })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        bytes.push(u8::try_from(value).unwrap());
        bytes
    }

    #[test]
    fn varints_of_every_length_with_and_without_bytes_behind() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1_u64 << shift) - 1, u64::MAX >> shift] {
                for padding in [0, 1, 12] {
                    let mut bytes = write(value);
                    bytes.extend(std::iter::repeat_n(0xff, padding));
                    let mut reader = Reader::new(&bytes, 0);
                    assert_eq!(reader.varint(), Ok(value));
                    assert_eq!(reader.at(), bytes.len() - padding);
                }
            }
        }
    }

    #[test]
    fn two_short_fields_are_read_whole_or_not_at_all() {
        for first in [0, 1, 127, 128, 16_383, 16_384, u64::MAX] {
            for second in [0, 127, 128, 16_383, 16_384] {
                let bytes = [vec![8], write(first), vec![16], write(second)].concat();
                let end = bytes.len();
                let padded = [bytes, vec![0xff; 8]].concat();
                let is_short = first < 16_384 && second < 16_384;
                let mut reader = Reader::new(&padded, 0);
                assert_eq!(reader.short_pair(8, 16, end), is_short.then_some((first, second)));
                assert_eq!(reader.at(), if is_short { end } else { 0 });
                for (one, other, end) in [(8, 24, end), (16, 16, end), (8, 16, end - 1), (8, 16, end + 1)] {
                    let mut reader = Reader::new(&padded, 0);
                    assert_eq!(reader.short_pair(one, other, end), None);
                    assert_eq!(reader.at(), 0);
                }
            }
        }
    }

    #[test]
    fn bad_varints() {
        assert_eq!(Reader::new(&[], 0).varint(), Err(Fault::Truncated));
        assert_eq!(Reader::new(&[0x80; 3], 0).varint(), Err(Fault::Truncated));
        assert_eq!(Reader::new(&[0x80; 20], 0).varint(), Err(Fault::VarintTooLong));
    }
}
