//! The bare protobuf walk: visits every field of a pprof message and keeps nothing.
//!
//! This is the floor under any decoder that looks at all bytes. It knows which fields hold messages and which hold
//! packed numbers, and adds up what it sees so that no work can be left out.

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

/// Adds up packed numbers: eight one-byte or four two-byte numbers at a time where there are such.
#[inline]
fn packed(bytes: &[u8]) -> Result<u64, Broken> {
    const PAIRS: u64 = 0x0080_0080_0080_0080;
    let mut sum = 0_u64;
    let mut walker = Walker { bytes, at: 0 };
    while let Some(chunk) = bytes.get(walker.at..walker.at + 8) {
        let word = u64::from_le_bytes(chunk.try_into().map_err(|_| Broken)?);
        match word & CONTINUED {
            0 => {
                // Byte lanes to one sum: pairs, then all.
                let pairs = (word & 0x00ff_00ff_00ff_00ff) + (word >> 8 & 0x00ff_00ff_00ff_00ff);
                sum = sum.wrapping_add(pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48);
                walker.at += 8;
            }
            PAIRS => {
                let low = word & 0x007f_007f_007f_007f;
                let numbers = low | (word & 0x7f00_7f00_7f00_7f00) >> 1;
                sum = sum.wrapping_add(numbers.wrapping_mul(0x0001_0001_0001_0001) >> 48);
                walker.at += 8;
            }
            marks => {
                // The first number of the word, without a branch on its length.
                let length = ((!marks & CONTINUED).trailing_zeros() + 1) / 8;
                if length > 4 {
                    sum = sum.wrapping_add(walker.long_varint()?);
                } else {
                    let kept = word & (u64::MAX >> (64 - 8 * length));
                    let low = kept & 0x7f | (kept & 0x7f00) >> 1;
                    sum = sum.wrapping_add(low | (kept & 0x7f_0000) >> 2 | (kept & 0x7f00_0000) >> 3);
                    walker.at += length as usize;
                }
            }
        }
    }
    while !walker.is_done() {
        sum = sum.wrapping_add(walker.varint()?);
    }
    Ok(sum)
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

/// Visits every field of a profile.
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
    use super::*;

    #[test]
    fn visits_every_number() {
        // sample { location_id: [1, 2], value: [300] }, string_table: "abc", time_nanos: 7
        let profile = [0x12, 8, 0x0a, 2, 1, 2, 0x12, 2, 0xac, 2, 0x32, 3, b'a', b'b', b'c', 0x48, 7];
        assert_eq!(walk(&profile), Ok(1 + 2 + 300 + 3 + 7));
    }

    #[test]
    fn packed_numbers_of_every_length_add_up() {
        let mut bytes = Vec::new();
        let mut expected = 0_u64;
        for number in (0..200_u64).chain([300, 20_000, 3_000_000, 400_000_000, u64::MAX]).chain(1000..1100) {
            expected = expected.wrapping_add(number);
            let mut rest = number;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        assert_eq!(packed(&bytes), Ok(expected));
    }

    #[test]
    fn refuses_what_ends_early() {
        assert_eq!(walk(&[0x12, 9, 0x0a]), Err(Broken));
        assert_eq!(walk(&[0x80]), Err(Broken));
    }
}
