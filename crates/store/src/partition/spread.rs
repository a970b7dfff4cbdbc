//! Streams of numbers of at most four bytes, a control byte at a time: its numbers are put in their places by one
//! instruction where the machine has it. This is how a query reads the rows of the head; streams of longer numbers, and
//! readers that want each number by itself, go through `rows`.

use super::{
    bytes::{Damaged, Reader},
    rows::{lengths, unpack},
};
use crate::hash::low_word;

/// Stands for a byte that is zero.
const ZERO: u8 = 0x80;

/// By control byte: which bytes of the data its numbers are made of, and how many they are together. A control byte has
/// `8 / BITS` numbers, which share 16 bytes.
struct Places<const BITS: usize> {
    places: [[u8; 16]; 256],
    lengths: [u8; 256],
}

impl<const BITS: usize> Places<BITS> {
    /// For streams whose longest number has so many bytes.
    #[allow(clippy::cast_possible_truncation, reason = "numbers up to 16 in a constant")]
    const fn new(longest: usize) -> Self {
        let numbers = 8 / BITS;
        let choices = lengths(longest);
        let mut table = Self { places: [[ZERO; 16]; 256], lengths: [0; 256] };
        let mut control = 0;
        while control < 256 {
            let (mut number, mut from) = (0, 0);
            while number < numbers {
                let length = choices[(control >> (number * BITS)) % (1 << BITS)];
                let mut byte = 0;
                while byte < length {
                    table.places[control][number * (16 / numbers) + byte] = (from + byte) as u8;
                    byte += 1;
                }
                from += length;
                number += 1;
            }
            table.lengths[control] = from as u8;
            control += 1;
        }
        table
    }
}

static OF_2_BYTES: Places<1> = Places::new(2);
static OF_3_BYTES: Places<2> = Places::new(3);
static OF_4_BYTES: Places<2> = Places::new(4);

/// Reads a stream of `count` numbers: their low 32 bits into `lows`, what is above to `high`, by position.
pub(super) fn unpack_lows(
    input: &mut Reader<'_>,
    count: usize,
    lows: &mut Vec<u32>,
    mut high: impl FnMut(usize, u64),
) -> Result<(), Damaged> {
    match input.rest().first() {
        Some(2) => spread(input, count, lows, &OF_2_BYTES, pairs),
        Some(3) => spread(input, count, lows, &OF_3_BYTES, fours),
        Some(4) => spread(input, count, lows, &OF_4_BYTES, fours),
        _ => {
            lows.clear();
            unpack(input, count, |number| {
                if number > u64::from(u32::MAX) {
                    high(lows.len(), number >> 32 << 32);
                }
                lows.push(low_word(number));
            })
        }
    }
}

/// Eight numbers of at most two bytes.
#[inline]
fn pairs(bytes: [u8; 16], places: &[u8; 16]) -> [u32; 8] {
    let pairs: [u16; 8] = shuffled(bytes, places);
    let mut numbers = [0; 8];
    for (number, pair) in numbers.iter_mut().zip(pairs) {
        *number = u32::from(pair);
    }
    numbers
}

/// Four numbers of at most four bytes.
#[inline]
fn fours(bytes: [u8; 16], places: &[u8; 16]) -> [u32; 4] {
    shuffled(bytes, places)
}

/// A stream with control bytes.
#[inline]
fn spread<const BITS: usize, const NUMBERS: usize>(
    input: &mut Reader<'_>,
    count: usize,
    lows: &mut Vec<u32>,
    table: &Places<BITS>,
    numbers: impl Fn([u8; 16], &[u8; 16]) -> [u32; NUMBERS],
) -> Result<(), Damaged> {
    input.byte()?;
    let data_bytes = input.count()?;
    let controls = input.take((count * BITS).div_ceil(8))?;
    let data = input.rest();
    input.take(data_bytes)?;
    lows.resize(controls.len() * NUMBERS, 0);
    let mut position = 0;
    for (index, (low, &control)) in lows.as_chunks_mut::<NUMBERS>().0.iter_mut().zip(controls).enumerate() {
        let unused = ((index + 1) * NUMBERS).saturating_sub(count);
        // Bits behind the last number mean nothing.
        let control = usize::from(control) & (0xff >> (unused * BITS));
        let bytes = match data.get(position..).and_then(<[u8]>::first_chunk::<16>) {
            Some(bytes) => *bytes,
            None => padded(data.get(position..).unwrap_or_default()),
        };
        *low = numbers(bytes, &table.places[control]);
        position += usize::from(table.lengths[control]) - unused;
    }
    lows.truncate(count);
    if position == data_bytes { Ok(()) } else { Err(Damaged("stream length")) }
}

/// The first bytes of what may be fewer than 16, then zeros.
#[cold]
fn padded(bytes: &[u8]) -> [u8; 16] {
    let mut padded = [0; 16];
    let length = bytes.len().min(padded.len());
    padded[..length].copy_from_slice(&bytes[..length]);
    padded
}

/// The bytes at `places`, as numbers.
#[cfg(all(target_arch = "x86_64", target_feature = "ssse3"))]
#[inline]
fn shuffled<T: From<safe_arch::m128i>>(bytes: [u8; 16], places: &[u8; 16]) -> T {
    let bytes = safe_arch::m128i::from(bytes);
    safe_arch::shuffle_av_i8z_all_m128i(bytes, safe_arch::m128i::from(*places)).into()
}

/// The bytes at `places`, as numbers.
#[cfg(not(all(target_arch = "x86_64", target_feature = "ssse3")))]
use plainly_shuffled as shuffled;

/// [`shuffled`] without the instruction.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "ssse3"))))]
fn plainly_shuffled<T: FromBytes>(bytes: [u8; 16], places: &[u8; 16]) -> T {
    T::from_bytes(places.map(|place| if place == ZERO { 0 } else { bytes[usize::from(place % 16)] }))
}

/// Numbers made of 16 bytes.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "ssse3"))))]
trait FromBytes {
    fn from_bytes(bytes: [u8; 16]) -> Self;
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "ssse3"))))]
impl FromBytes for [u16; 8] {
    fn from_bytes(bytes: [u8; 16]) -> Self {
        std::array::from_fn(|at| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]))
    }
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "ssse3"))))]
impl FromBytes for [u32; 4] {
    fn from_bytes(bytes: [u8; 16]) -> Self {
        std::array::from_fn(|at| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * at + byte])))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::partition::rows::pack;

    proptest! {
        #[test]
        fn numbers_come_back(
            numbers in (1_u32..65).prop_flat_map(|bits| {
                prop::collection::vec((0..bits + 1).prop_flat_map(|bits| 0..=u64::MAX.checked_shr(64 - bits).unwrap_or(0)), 0..200)
            }),
        ) {
            let mut bytes = Vec::new();
            pack(&numbers, &mut bytes);
            let length = bytes.len();
            bytes.extend_from_slice(&[0; 8]);
            let mut input = Reader::new(&bytes);
            let (mut lows, mut highs) = (vec![7; 3], vec![0; numbers.len()]);
            unpack_lows(&mut input, numbers.len(), &mut lows, |position, high| highs[position] = high).unwrap();
            prop_assert_eq!(input.rest().len(), bytes.len() - length);
            let back: Vec<u64> = lows.iter().zip(&highs).map(|(&low, &high)| u64::from(low) | high).collect();
            prop_assert_eq!(back, numbers);
        }

        #[test]
        fn damage_is_read_as_by_everyone_else(
            numbers in prop::collection::vec(0_u64..1 << 26, 1..60),
            at in any::<prop::sample::Index>(),
            with in any::<u8>(),
        ) {
            let mut bytes = Vec::new();
            pack(&numbers, &mut bytes);
            let position = at.index(bytes.len());
            bytes[position] = with;
            bytes.extend_from_slice(&[0; 8]);
            let (mut lows, mut highs, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            let read = unpack_lows(&mut Reader::new(&bytes), numbers.len(), &mut lows, |_, high| highs.push(high));
            let others = unpack(&mut Reader::new(&bytes), numbers.len(), |number| expected.push(number));
            if others.is_ok() {
                prop_assert!(read.is_ok());
                prop_assert_eq!(lows, expected.iter().map(|&number| low_word(number)).collect::<Vec<_>>());
            }
        }

        #[test]
        fn the_instruction_and_its_replacement_agree(bytes in any::<[u8; 16]>(), control in any::<u8>()) {
            let places = &OF_4_BYTES.places[usize::from(control)];
            prop_assert_eq!(shuffled::<[u32; 4]>(bytes, places), plainly_shuffled::<[u32; 4]>(bytes, places));
            prop_assert_eq!(shuffled::<[u16; 8]>(bytes, places), plainly_shuffled::<[u16; 8]>(bytes, places));
        }
    }
}
