//! Up to 128 numbers in as few bits as most of them need.
//!
//! A pack is `width` (low 6 bits; bit 7 set when there are exceptions), the low `width` bits of every number, then the
//! exceptions: their count, their positions, and what they have above `width` as variable-length numbers. The width is
//! the one that makes the pack smallest, so one large number among 128 costs its own bytes and not everyone's.
//!
//! 128 numbers are packed in four interleaved lanes, which one SIMD register unpacks at once; fewer are packed one
//! behind the other, lowest bit first.

use bitpacking::{BitPacker as _, BitPacker4x};

use crate::cursor::{Cursor, Malformed, put_varint, varint_length};

/// Numbers in a full pack.
pub(crate) const PACK_LENGTH: usize = BitPacker4x::BLOCK_LEN;

/// Widest pack; wider numbers are exceptions.
const WIDTH_MAX: u32 = 32;

/// Set in the width byte when exceptions follow.
const HAS_EXCEPTIONS: u8 = 0x80;

/// Bytes that reading a number of a short pack may touch behind its own: it loads 8 at once.
const SLACK: usize = 8;

/// The low bits of a pack's numbers.
pub(crate) type Lows = [u32; PACK_LENGTH];

/// Packs and unpacks; holds what the machine can do.
#[derive(Clone, Copy)]
pub(crate) struct Packer {
    wide: BitPacker4x,
}

/// A pack in its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pack<'a> {
    /// How many numbers.
    length: usize,
    /// Bits of each.
    pub width: u8,
    packed: &'a [u8],
    positions: &'a [u8],
    highs: &'a [u8],
}

impl<'a> Pack<'a> {
    /// Finds the ends of a pack of `length` numbers.
    #[inline]
    pub(crate) fn read(cursor: &mut Cursor<'a>, length: usize) -> Result<Self, Malformed> {
        let head = cursor.byte()?;
        let width = head & !HAS_EXCEPTIONS;
        if u32::from(width) > WIDTH_MAX {
            return Err(Malformed("pack is wider than 32 bits"));
        }
        let packed = cursor.take((length * usize::from(width)).div_ceil(8))?;
        if head & HAS_EXCEPTIONS == 0 {
            return Ok(Self { length, width, packed, positions: &[], highs: &[] });
        }
        let count = usize::from(cursor.byte()?);
        let positions = cursor.take(count)?;
        let highs_length = cursor.varint()?;
        let highs = cursor.take(usize::try_from(highs_length).map_err(|_| Malformed("pack is too long"))?)?;
        if positions.iter().any(|&position| usize::from(position) >= length) {
            return Err(Malformed("exception lies outside its pack"));
        }
        Ok(Self { length, width, packed, positions, highs })
    }

    /// Calls back with each exception's position and its bits above the width, already in their place.
    #[inline]
    pub(crate) fn for_each_exception(&self, mut call: impl FnMut(usize, u64)) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(self.highs);
        for &position in self.positions {
            call(usize::from(position), cursor.varint()? << self.width);
        }
        Ok(())
    }
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self { wide: BitPacker4x::new() }
    }

    /// Appends a pack of at most [`PACK_LENGTH`] numbers.
    pub(crate) fn write(&self, numbers: &[u64], out: &mut Vec<u8>) {
        debug_assert!(numbers.len() <= PACK_LENGTH);
        let (width, exceptions) = best_width(numbers);
        let mask = (1_u64 << width) - 1;
        let mut lows = [0_u32; PACK_LENGTH];
        for (low, &number) in lows.iter_mut().zip(numbers) {
            // The width is at most 32.
            *low = (number & mask) as u32;
        }
        out.push(width | if exceptions == 0 { 0 } else { HAS_EXCEPTIONS });
        if numbers.len() == PACK_LENGTH {
            let start = out.len();
            out.resize(start + PACK_LENGTH / 8 * usize::from(width), 0);
            self.wide.compress(&lows, &mut out[start..], width);
        } else {
            pack_short(&lows[..numbers.len()], width, out);
        }
        if exceptions > 0 {
            put_exceptions(numbers, width, exceptions, out);
        }
    }

    /// Unpacks the low bits of all numbers.
    #[inline]
    pub(crate) fn lows(&self, pack: &Pack<'_>, lows: &mut Lows) {
        if pack.length == PACK_LENGTH {
            self.wide.decompress(pack.packed, lows, pack.width);
        } else {
            unpack_short(pack, lows);
        }
    }

    /// Unpacks numbers that are distances between nodes, so of 32 bits.
    #[inline]
    pub(crate) fn distances(&self, pack: &Pack<'_>, distances: &mut Lows) -> Result<(), Malformed> {
        self.lows(pack, distances);
        let mut is_too_wide = false;
        pack.for_each_exception(|position, high| match u32::try_from(high) {
            Ok(high) => distances[position] |= high,
            Err(_) => is_too_wide = true,
        })?;
        if is_too_wide { Err(Malformed("distance has more than 32 bits")) } else { Ok(()) }
    }

    /// Unpacks numbers that are distances, and adds them up from `start`, wrapping.
    pub(crate) fn running_sums(&self, pack: &Pack<'_>, start: u32, sums: &mut Lows) -> Result<(), Malformed> {
        self.distances(pack, sums)?;
        let mut sum = start;
        for number in &mut sums[..pack.length] {
            sum = sum.wrapping_add(*number);
            *number = sum;
        }
        Ok(())
    }
}

/// Appends the exceptions of a pack: count, positions, and what they have above the width.
fn put_exceptions(numbers: &[u64], width: u8, count: usize, out: &mut Vec<u8>) {
    out.push(u8::try_from(count).unwrap_or(u8::MAX));
    // Every position is written, and the next one over it unless it stays: which do no processor could predict.
    let mut positions = [0_u8; PACK_LENGTH + 1];
    let mut found = 0;
    for (position, &number) in (0_u8..).zip(numbers) {
        positions[found] = position;
        found += usize::from(number >> width != 0);
    }
    debug_assert_eq!(found, count);
    let positions = &positions[..count];
    out.extend_from_slice(positions);
    let highs = || positions.iter().map(|&position| numbers[usize::from(position)] >> width);
    let length: u32 = highs().map(|high| varint_length(u64::BITS - high.leading_zeros())).sum();
    put_varint(out, u64::from(length));
    highs().for_each(|high| put_varint(out, high));
}

/// The width that makes the pack smallest, and how many numbers are wider.
fn best_width(numbers: &[u64]) -> (u8, usize) {
    // Counted in turns: neighbours mostly have as many bits, and adding to the number just stored would wait for it.
    const TURNS: usize = 4;
    let mut turns = [[0_u8; 65]; TURNS];
    for chunk in numbers.chunks(TURNS) {
        for (of_bits, number) in turns.iter_mut().zip(chunk) {
            of_bits[(u64::BITS - number.leading_zeros()) as usize] += 1;
        }
    }
    let count_of = |bits: u32| turns.iter().map(|of_bits| u32::from(of_bits[bits as usize])).sum::<u32>();
    let all = numbers.iter().fold(0, |all, number| all | number);
    let widest = u64::BITS - all.leading_zeros();
    let mut of_bits = [0_u32; 65];
    (0..=widest).for_each(|bits| of_bits[bits as usize] = count_of(bits));
    let mut best = (u64::MAX, 0, 0);
    // Of the numbers wider than the width.
    let mut exceptions: u32 = (WIDTH_MAX + 1..=widest).map(|bits| of_bits[bits as usize]).sum();
    for width in (0..=widest.min(WIDTH_MAX)).rev() {
        // Each takes two bytes at least, and narrower packs have no fewer of them.
        if 2 * u64::from(exceptions) >= best.0 {
            break;
        }
        let size = (numbers.len() as u64 * u64::from(width)).div_ceil(8);
        // Exceptions cost time to read, so they have to save something worth it.
        let least = size + u64::from(exceptions) / 4;
        if least < best.0 {
            let high_bytes: u32 =
                (width + 1..=widest).map(|bits| of_bits[bits as usize] * varint_length(bits - width)).sum();
            let head = if exceptions > 0 { 2 + u64::from(exceptions + high_bytes) } else { 0 };
            if least + head < best.0 {
                best = (least + head, width, exceptions);
            }
        }
        exceptions += of_bits[width as usize];
    }
    (u8::try_from(best.1).unwrap_or(0), best.2 as usize)
}

fn pack_short(lows: &[u32], width: u8, out: &mut Vec<u8>) {
    let mut waiting = 0_u64;
    let mut waiting_bits = 0_u32;
    for &low in lows {
        waiting |= u64::from(low) << waiting_bits;
        waiting_bits += u32::from(width);
        while waiting_bits >= 8 {
            out.push(waiting.to_le_bytes()[0]);
            waiting >>= 8;
            waiting_bits -= 8;
        }
    }
    if waiting_bits > 0 {
        out.push(waiting.to_le_bytes()[0]);
    }
}

fn unpack_short(pack: &Pack<'_>, lows: &mut Lows) {
    let width = usize::from(pack.width);
    let mask = (1_u64 << width) - 1;
    let number = |bytes: &[u8], bit: usize| {
        let window = bytes
            .get(bit / 8..)
            .and_then(<[u8]>::first_chunk::<8>)
            .map_or(0, |eight| u64::from_le_bytes(*eight));
        // Under a mask of at most 32 bits.
        ((window >> (bit % 8)) & mask) as u32
    };
    // Whole words can be read for all numbers but the last few, which are read from a copy with slack behind it.
    let whole = match (pack.packed.len().checked_sub(SLACK), width) {
        (None, _) => 0,
        (_, 0) => pack.length,
        (Some(bytes), _) => (bytes * 8 / width + 1).min(pack.length),
    };
    let (front, rest) = lows[..pack.length].split_at_mut(whole);
    for (position, low) in front.iter_mut().enumerate() {
        *low = number(pack.packed, position * width);
    }
    let start = whole * width / 8;
    let mut padded = [0_u8; 3 * SLACK];
    let tail = pack.packed.get(start..).unwrap_or_default();
    padded[..tail.len()].copy_from_slice(tail);
    for (position, low) in (whole..).zip(rest) {
        *low = number(&padded, position * width - start * 8);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(numbers: &[u64]) -> Vec<u64> {
        let packer = Packer::new();
        let mut bytes = Vec::new();
        packer.write(numbers, &mut bytes);
        let mut cursor = Cursor::new(&bytes);
        let pack = Pack::read(&mut cursor, numbers.len()).unwrap();
        cursor.finish().unwrap();
        let mut lows = [0; PACK_LENGTH];
        packer.lows(&pack, &mut lows);
        let mut back: Vec<u64> = lows[..numbers.len()].iter().map(|&low| u64::from(low)).collect();
        pack.for_each_exception(|position, high| back[position] |= high).unwrap();
        back
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            numbers in proptest::collection::vec((0_u32..65).prop_flat_map(|bits| {
                (0..=u64::MAX.checked_shr(64 - bits).unwrap_or(0)).boxed()
            }), 0..=PACK_LENGTH),
        ) {
            prop_assert_eq!(round_trip(&numbers), numbers);
        }

        #[test]
        fn distances_add_up(distances in proptest::collection::vec(0_u32..1 << 20, 1..=PACK_LENGTH), start in 0_u32..99) {
            let packer = Packer::new();
            let mut bytes = Vec::new();
            packer.write(&distances.iter().map(|&distance| u64::from(distance)).collect::<Vec<_>>(), &mut bytes);
            let pack = Pack::read(&mut Cursor::new(&bytes), distances.len()).unwrap();
            let mut sums = [0; PACK_LENGTH];
            packer.running_sums(&pack, start, &mut sums).unwrap();
            let mut sum = start;
            for (position, distance) in distances.iter().enumerate() {
                sum += distance;
                prop_assert_eq!(sums[position], sum);
            }
        }
    }

    #[test]
    fn one_large_number_does_not_widen_the_others() {
        let mut numbers = vec![1; PACK_LENGTH];
        numbers[77] = 1 << 40;
        let mut bytes = Vec::new();
        Packer::new().write(&numbers, &mut bytes);
        assert!(bytes.len() < 30, "{}", bytes.len());
        assert_eq!(round_trip(&numbers), numbers);
    }
}
