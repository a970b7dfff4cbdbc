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
    /// A length reaches beyond the end of the message.
    LengthBeyondEnd,
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
            Self::LengthBeyondEnd => formatter.write_str("a length reaches beyond the end"),
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

/// Reads a varint.
#[inline(always)]
pub(crate) fn varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    match *rest {
        [first, tail @ ..] if *first < 0x80 => {
            *rest = tail;
            Ok(u64::from(*first))
        }
        [first, second, tail @ ..] if *second < 0x80 => {
            *rest = tail;
            Ok(u64::from(*first & 0x7f) | u64::from(*second) << 7)
        }
        _ => long_varint(rest),
    }
}

/// Reads a varint of three bytes or more.
#[inline]
fn long_varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    if let Some((chunk, _)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let last = !word & MORE;
        if last != 0 {
            // `last ^ (last - 1)` has all bits up to and including the end bit of the first byte without a follower
            let value = squeeze(word & (last ^ last.wrapping_sub(1)));
            *rest = &rest[(last.trailing_zeros() as usize >> 3) + 1..];
            return Ok(value);
        }
    }
    slow_varint(rest)
}

/// Reads a varint byte by byte: of nine or ten bytes, or near the end of the message.
#[cold]
#[inline(never)]
fn slow_varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    let mut value = 0_u64;
    for (position, &byte) in rest.iter().enumerate().take(10) {
        // bits beyond the 64th are lost, as every protobuf reader does it
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            *rest = &rest[position + 1..];
            return Ok(value);
        }
    }
    Err(if rest.len() < 10 { Fault::Truncated } else { Fault::VarintTooLong })
}

/// Reads a length and that many bytes.
#[inline(always)]
pub(crate) fn delimited<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Fault> {
    let length = varint(rest)?;
    let length = usize::try_from(length).map_err(|_| Fault::LengthBeyondEnd)?;
    let (inside, tail) = rest.split_at_checked(length).ok_or(Fault::LengthBeyondEnd)?;
    *rest = tail;
    Ok(inside)
}

/// Skips the value of a field that the caller does not know. Fields `1..=known_max` exist, so they are here only
/// because their wire type is wrong.
#[cold]
#[inline(never)]
pub(crate) fn skip(tag: u64, known_max: u32, rest: &mut &[u8]) -> Result<(), Fault> {
    let field = low32((tag >> 3).min(u64::from(u32::MAX)));
    if field == 0 {
        return Err(Fault::FieldZero);
    }
    if field <= known_max {
        return Err(Fault::Misfit { field });
    }
    match tag & 7 {
        0 => varint(rest).map(|_| ()),
        1 => rest.split_at_checked(8).map(|(_, tail)| *rest = tail).ok_or(Fault::Truncated),
        2 => delimited(rest).map(|_| ()),
        5 => rest.split_at_checked(4).map(|(_, tail)| *rest = tail).ok_or(Fault::Truncated),
        _ => Err(Fault::WireType { field }),
    }
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
                    let mut rest = bytes.as_slice();
                    assert_eq!(varint(&mut rest), Ok(value));
                    assert_eq!(rest.len(), padding);
                }
            }
        }
    }

    #[test]
    fn bad_varints() {
        assert_eq!(varint(&mut &[][..]), Err(Fault::Truncated));
        assert_eq!(varint(&mut &[0x80, 0x80, 0x80][..]), Err(Fault::Truncated));
        assert_eq!(varint(&mut &[0x80; 20][..]), Err(Fault::VarintTooLong));
    }
}
