//! The bare protobuf walk: visits every field of a pprof message and keeps nothing.
//!
//! This is the floor under any decoder that looks at all bytes. It knows which fields hold messages and which hold
//! packed numbers, reads every number of every message, and adds up what it sees so that no work can be left out. Packed numbers go by eight bytes, since limits ask for a walk that is six times as fast as `gzip -dc`.

/// The walk met something that is no protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// Reads bytes from the front.
struct Walker<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walker<'a> {
    #[inline]
    fn varint(&mut self) -> Result<u64, Broken> {
        // Most numbers of a profile have one or two bytes.
        let Some(&first) = self.bytes.get(self.at) else { return Err(Broken) };
        if first < 0x80 {
            self.at += 1;
            return Ok(u64::from(first));
        }
        let Some(&second) = self.bytes.get(self.at + 1) else { return Err(Broken) };
        if second < 0x80 {
            self.at += 2;
            return Ok(u64::from(first & 0x7f) | u64::from(second) << 7);
        }
        self.long_varint()
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else { return Err(Broken) };
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken)
    }

    #[inline]
    fn slice(&mut self) -> Result<&'a [u8], Broken> {
        let length = usize::try_from(self.varint()?).map_err(|_| Broken)?;
        let rest = self.bytes.get(self.at..).ok_or(Broken)?;
        let part = rest.get(..length).ok_or(Broken)?;
        self.at += length;
        Ok(part)
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Skips a fixed-width field.
    fn fixed(&mut self, width: usize) -> Result<u64, Broken> {
        self.at += width;
        if self.at > self.bytes.len() { Err(Broken) } else { Ok(0) }
    }
}

/// Bytes of a word that begin or continue a number that goes on.
const CONTINUED: u64 = 0x8080_8080_8080_8080;

/// Adds up packed numbers, eight bytes at a time whatever begins or ends in them.
///
/// A byte adds its seven bits, and 127 times as much again if it is the second one of its number. Words with a longer
/// number go byte by byte.
#[inline]
fn packed(bytes: &[u8]) -> Result<u64, Broken> {
    const EVEN_BYTES: u64 = 0x00ff_00ff_00ff_00ff;
    const EVEN_PAIRS: u64 = 0x0000_ffff_0000_ffff;
    let mut sum = 0_u64;
    // bits that are known of the number that goes on into the next word; 0 between two numbers
    let mut shift = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for eight in words {
        let word = u64::from_le_bytes(*eight);
        let more = word & CONTINUED;
        let second_bytes = more << 8 | u64::from(shift == 7) << 7;
        if more & second_bytes == 0 && shift <= 7 {
            let low = word & !CONTINUED;
            let second = low & (second_bytes - (second_bytes >> 7));
            let ones = (low & EVEN_BYTES) + (low >> 8 & EVEN_BYTES);
            let seconds = (second & EVEN_BYTES) + (second >> 8 & EVEN_BYTES);
            let pairs = ones + 127 * seconds;
            let halves = (pairs & EVEN_PAIRS) + (pairs >> 16 & EVEN_PAIRS);
            sum = sum.wrapping_add(halves & 0xffff_ffff).wrapping_add(halves >> 32);
            shift = if more >> 63 == 0 { 0 } else { 7 };
        } else {
            for &byte in eight {
                (sum, shift) = packed_byte(sum, shift, byte)?;
            }
        }
    }
    for &byte in rest {
        (sum, shift) = packed_byte(sum, shift, byte)?;
    }
    if shift == 0 { Ok(sum) } else { Err(Broken) }
}

/// Adds one byte of a number of which `shift` bits are known; tells the sum and how many are known then, 0 at its end.
#[inline(always)]
fn packed_byte(sum: u64, shift: u32, byte: u8) -> Result<(u64, u32), Broken> {
    if shift > 63 {
        return Err(Broken);
    }
    let sum = sum.wrapping_add(u64::from(byte & 0x7f) << shift);
    Ok((sum, if byte < 0x80 { 0 } else { shift + 7 }))
}

/// Visits a message of numbers only (mapping, function, value type, line, label).
#[inline]
fn flat(bytes: &[u8]) -> Result<u64, Broken> {
    let mut sum = 0_u64;
    let mut walker = Walker { bytes, at: 0 };
    while !walker.is_done() {
        let key = walker.varint()?;
        sum = sum.wrapping_add(match key & 7 {
            0 => walker.varint()?,
            1 => walker.fixed(8)?,
            2 => walker.slice()?.len() as u64,
            5 => walker.fixed(4)?,
            _ => return Err(Broken),
        });
    }
    Ok(sum)
}

/// Visits a sample or a location: fields of bytes go to `inner` with their number.
#[inline]
fn nested(bytes: &[u8], inner: impl Fn(u64, &[u8]) -> Result<u64, Broken>) -> Result<u64, Broken> {
    let mut sum = 0_u64;
    let mut walker = Walker { bytes, at: 0 };
    while !walker.is_done() {
        let key = walker.varint()?;
        sum = sum.wrapping_add(match key & 7 {
            0 => walker.varint()?,
            1 => walker.fixed(8)?,
            2 => inner(key >> 3, walker.slice()?)?,
            5 => walker.fixed(4)?,
            _ => return Err(Broken),
        });
    }
    Ok(sum)
}

/// Visits every field of a profile. Gives the sum of all numbers and of the lengths of all strings.
///
/// # Errors
/// When the bytes are no protobuf message.
pub fn walk(profile: &[u8]) -> Result<u64, Broken> {
    nested(profile, |field, bytes| match field {
        2 => nested(bytes, |inner, part| if inner == 3 { flat(part) } else { packed(part) }),
        4 => nested(bytes, |_, line| flat(line)),
        1 | 3 | 5 | 11 => flat(bytes),
        13 => packed(bytes),
        _ => Ok(bytes.len() as u64),
    })
}

#[cfg(test)]
mod tests {
    use formats::{Decoder, Limits};
    use testkit::{Fleet, FleetOptions};

    use super::*;

    #[test]
    fn visits_every_number() {
        // sample { location_id: [1, 2], value: [300] }, string_table: "abc", time_nanos: 7
        let profile = [0x12, 8, 0x0a, 2, 1, 2, 0x12, 2, 0xac, 2, 0x32, 3, b'a', b'b', b'c', 0x48, 7];
        assert_eq!(walk(&profile), Ok(1 + 2 + 300 + 3 + 7));
    }

    fn put(bytes: &mut Vec<u8>, mut number: u64) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    #[test]
    fn packed_numbers_of_every_length_add_up_wherever_they_begin() {
        for ahead in 0..8 {
            let mut bytes = vec![127; ahead];
            let mut expected = 127 * ahead as u64;
            let short = (0..200).chain(16_300..16_400).chain([127; 40]).chain([16_383; 40]);
            let long = [20_000, 3_000_000, 400_000_000, u64::MAX, 5, 300, u64::MAX >> 1];
            for number in short.chain(long).chain(1000..1100) {
                expected = expected.wrapping_add(number);
                put(&mut bytes, number);
            }
            assert_eq!(packed(&bytes), Ok(expected), "{ahead} ahead");
        }
    }

    fn value_of(number: &[u8]) -> u64 {
        number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
    }

    /// The same walk byte by byte.
    fn plainly(bytes: &[u8], path: &[u64], sum: &mut u64) {
        if matches!(path, [2, 1 | 2]) {
            for number in bytes.split_inclusive(|byte| *byte < 0x80) {
                *sum = sum.wrapping_add(value_of(number));
            }
            return;
        }
        let mut rest = bytes;
        while let Some(&key) = rest.first() {
            let number = rest[1..].iter().position(|byte| *byte < 0x80).unwrap() + 2;
            let value = value_of(&rest[1..number]);
            rest = &rest[number..];
            if key & 7 == 0 {
                *sum = sum.wrapping_add(value);
                continue;
            }
            let (part, behind) = rest.split_at(usize::try_from(value).unwrap());
            rest = behind;
            let inner: Vec<u64> = path.iter().copied().chain([u64::from(key) >> 3]).collect();
            match inner.as_slice() {
                [1 | 2 | 3 | 4 | 5 | 11] | [2, _] | [4, 4] => plainly(part, &inner, sum),
                _ => *sum = sum.wrapping_add(value),
            }
        }
    }

    #[test]
    fn sees_all_numbers_of_whole_profiles() {
        for options in [FleetOptions::mix(), FleetOptions::one()] {
            let mut decoder = Decoder::new();
            for drawn in Fleet::new(FleetOptions { pods: 1, intervals: 2, ..options }) {
                let raw = decoder.inflate(&drawn.body, &Limits::default()).unwrap().bytes.to_vec();
                let mut expected = 0;
                plainly(&raw, &[], &mut expected);
                assert_eq!(walk(&raw), Ok(expected));
            }
        }
    }

    #[test]
    fn refuses_what_ends_early() {
        assert_eq!(walk(&[0x12, 9, 0x0a]), Err(Broken));
        assert_eq!(walk(&[0x80]), Err(Broken));
        assert_eq!(walk(&[0x12, 3, 0x0a, 1, 0x80]), Err(Broken));
        assert_eq!(packed(&[0x80; 12]), Err(Broken));
    }
}
