//! The least work that reading a pprof body takes: a walk over every field of every message that decodes each number and
//! keeps nothing. The measure for the decoder.
//!
//! It is written for speed like the decoder (short numbers inline, long ones eight bytes at a time), shares no code with
//! it, and checks only what it must to stay inside the bytes.

/// What a walk saw; a checksum, so that no compiler leaves the walk out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Fields of all messages.
    pub fields: u64,
    /// Numbers, packed ones too.
    pub numbers: u64,
    /// Sum of all numbers, wrapping.
    pub sum: u64,
    /// Bytes of strings.
    pub string_bytes: u64,
}

/// Which fields of a message hold what.
#[derive(Clone, Copy)]
struct Shape {
    /// One bit per field number: a message.
    messages: u32,
    /// One bit per field number: packed numbers.
    packed: u32,
}

const PROFILE: Shape =
    Shape { messages: 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 11, packed: 1 << 13 };
const SAMPLE: Shape = Shape { messages: 1 << 3, packed: 1 << 1 | 1 << 2 };
const LOCATION: Shape = Shape { messages: 1 << 4, packed: 0 };

/// Walks an inflated pprof body; `None` where the bytes are no message.
#[must_use]
pub fn bare_walk(body: &[u8]) -> Option<Walked> {
    let mut walked = Walked::default();
    let mut rest = body;
    while !rest.is_empty() {
        let tag = number(&mut rest)?;
        walked.fields += 1;
        let field = tag >> 3;
        if tag & 7 != 2 {
            scalar(tag, &mut rest, &mut walked)?;
            continue;
        }
        let inside = delimited(&mut rest)?;
        match field {
            2 => sample(inside, &mut walked)?,
            4 => location(inside, &mut walked)?,
            _ if field < 32 && PROFILE.messages >> field & 1 == 1 => flat(inside, &mut walked)?,
            _ if field < 32 && PROFILE.packed >> field & 1 == 1 => packed(inside, &mut walked)?,
            _ => walked.string_bytes += inside.len() as u64,
        }
    }
    Some(walked)
}

#[inline(always)]
fn sample(mut rest: &[u8], walked: &mut Walked) -> Option<()> {
    while !rest.is_empty() {
        let tag = number(&mut rest)?;
        walked.fields += 1;
        if tag & 7 != 2 {
            scalar(tag, &mut rest, walked)?;
            continue;
        }
        let inside = delimited(&mut rest)?;
        if SAMPLE.packed >> (tag >> 3 & 31) & 1 == 1 {
            packed(inside, walked)?;
        } else if SAMPLE.messages >> (tag >> 3 & 31) & 1 == 1 {
            flat(inside, walked)?;
        }
    }
    Some(())
}

#[inline(always)]
fn location(mut rest: &[u8], walked: &mut Walked) -> Option<()> {
    while !rest.is_empty() {
        let tag = number(&mut rest)?;
        walked.fields += 1;
        if tag & 7 != 2 {
            scalar(tag, &mut rest, walked)?;
            continue;
        }
        let inside = delimited(&mut rest)?;
        if LOCATION.messages >> (tag >> 3 & 31) & 1 == 1 {
            flat(inside, walked)?;
        }
    }
    Some(())
}

#[inline(always)]
fn flat(mut rest: &[u8], walked: &mut Walked) -> Option<()> {
    while !rest.is_empty() {
        let tag = number(&mut rest)?;
        walked.fields += 1;
        if tag & 7 == 2 {
            walked.string_bytes += delimited(&mut rest)?.len() as u64;
        } else {
            scalar(tag, &mut rest, walked)?;
        }
    }
    Some(())
}

#[inline(always)]
fn scalar(tag: u64, rest: &mut &[u8], walked: &mut Walked) -> Option<()> {
    match tag & 7 {
        0 => {
            let value = number(rest)?;
            walked.numbers += 1;
            walked.sum = walked.sum.wrapping_add(value);
        }
        1 => *rest = rest.get(8..)?,
        5 => *rest = rest.get(4..)?,
        _ => return None,
    }
    Some(())
}

#[inline(always)]
fn packed(mut rest: &[u8], walked: &mut Walked) -> Option<()> {
    while !rest.is_empty() {
        let value = number(&mut rest)?;
        walked.numbers += 1;
        walked.sum = walked.sum.wrapping_add(value);
    }
    Some(())
}

#[inline(always)]
fn delimited<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (inside, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(inside)
}

#[inline(always)]
fn number(rest: &mut &[u8]) -> Option<u64> {
    match *rest {
        [first, tail @ ..] if *first < 0x80 => {
            *rest = tail;
            Some(u64::from(*first))
        }
        [first, second, tail @ ..] if *second < 0x80 => {
            *rest = tail;
            Some(u64::from(*first & 0x7f) | u64::from(*second) << 7)
        }
        _ => long_number(rest),
    }
}

#[inline]
fn long_number(rest: &mut &[u8]) -> Option<u64> {
    let Some((eight, _)) = rest.split_first_chunk::<8>() else { return slow_number(rest) };
    let word = u64::from_le_bytes(*eight);
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return slow_number(rest);
    }
    let length = ends.trailing_zeros() as usize / 8 + 1;
    let mut value = word & (ends ^ ends.wrapping_sub(1)) & 0x7f7f_7f7f_7f7f_7f7f;
    value = value & 0x007f_007f_007f_007f | (value & 0x7f00_7f00_7f00_7f00) >> 1;
    value = value & 0x0000_3fff_0000_3fff | (value & 0x3fff_0000_3fff_0000) >> 2;
    value = value & 0x0fff_ffff | (value & 0x0fff_ffff_0000_0000) >> 4;
    *rest = &rest[length..];
    Some(value)
}

#[cold]
fn slow_number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (position, &byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            *rest = &rest[position + 1..];
            return Some(value);
        }
    }
    None
}
