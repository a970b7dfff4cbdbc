//! Packed numbers of one or two bytes, up to eight at a time: nearly all location ids and most values.
//!
//! No branch depends on single lengths, which no processor could predict. Which bytes go on is an index into a table that
//! says where each number's bytes are; one instruction (SSSE3) puts them into lanes. Builds without it pick the bytes
//! one by one.
//!
//! Refuses numbers of more than two bytes: the caller reads those one at a time.

use super::wire::{Fault, MORE};

/// Numbers that begin in eight bytes.
pub(super) struct Short {
    /// The first `count` are theirs.
    pub(super) numbers: [u16; LANES],
    pub(super) count: usize,
    /// Bytes that they take.
    pub(super) bytes: usize,
}

const LANES: usize = 8;

/// Bytes of the lanes, by which of the eight bytes go on: two for each number, [`NO_BYTE`] for 0.
static PLACES: [[u8; 2 * LANES]; 256] = places();

/// A place that stands for a zero byte.
const NO_BYTE: u8 = 0x80;

const fn places() -> [[u8; 2 * LANES]; 256] {
    let mut all = [[NO_BYTE; 2 * LANES]; 256];
    let mut continued = 0;
    while continued < all.len() {
        let (mut byte, mut lane) = (0_u8, 0);
        while byte < 8 {
            all[continued][2 * lane] = byte;
            if continued >> byte & 1 == 1 {
                all[continued][2 * lane + 1] = byte + 1;
                byte += 1;
            }
            byte += 1;
            lane += 1;
        }
        continued += 1;
    }
    all
}

/// The numbers that begin in the first eight bytes, of which `left` are there to be read. `None` where one has more than
/// two bytes.
///
/// # Errors
/// When the last of `left` bytes does not end a number.
#[inline(always)]
pub(super) fn short(nine: &[u8; 9], left: usize) -> Result<Option<Short>, Fault> {
    let [eight @ .., ninth] = nine;
    let word = u64::from_le_bytes(*eight);
    // one bit per byte: another byte follows
    let mut continued = ((word & MORE) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut inside = 0xff;
    // taken from the word itself: the next numbers wait for this
    let mut bytes = 8 + (word >> 63) as usize;
    let mut beyond = word >> 63 & u64::from(*ninth) >> 7;
    if left < bytes {
        // the last numbers: what stands behind the end does not count, and the last byte must end one
        inside >>= 8 - left;
        continued &= inside;
        if continued >> (left - 1) & 1 == 1 {
            return Err(Fault::Truncated);
        }
        (bytes, beyond) = (left, 0);
    }
    if continued & continued >> 1 | beyond != 0 {
        return Ok(None);
    }
    let count = (!(continued << 1) & inside).count_ones() as usize;
    let numbers = pairs(word, *ninth, &PLACES[(continued & 0xff) as usize])
        .map(|pair| pair & 0x7f | pair >> 1 & 0x3f80);
    Ok(Some(Short { numbers, count, bytes }))
}

/// The bytes at `places`, two for each number.
#[cfg(all(target_arch = "x86_64", target_feature = "ssse3"))]
#[inline(always)]
fn pairs(word: u64, ninth: u8, places: &[u8; 2 * LANES]) -> [u16; LANES] {
    let bytes = safe_arch::m128i::from([word, u64::from(ninth)]);
    safe_arch::shuffle_av_i8z_all_m128i(bytes, safe_arch::m128i::from(*places)).into()
}

/// The bytes at `places`, two for each number.
#[cfg(not(all(target_arch = "x86_64", target_feature = "ssse3")))]
use plain_pairs as pairs;

/// [`pairs`] without the instruction.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "ssse3"))))]
#[inline(always)]
fn plain_pairs(word: u64, ninth: u8, places: &[u8; 2 * LANES]) -> [u16; LANES] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&word.to_le_bytes());
    bytes[8] = ninth;
    let byte = |place: u8| if place == NO_BYTE { 0 } else { bytes[usize::from(place & 15)] };
    std::array::from_fn(|lane| u16::from_le_bytes([byte(places[2 * lane]), byte(places[2 * lane + 1])]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(out: &mut Vec<u8>, mut number: u16) {
        while number >= 0x80 {
            out.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    /// Numbers of one and two bytes in every order of lengths, read whole and cut at each byte.
    #[test]
    fn every_order_of_lengths_is_read() {
        for lengths in 0..256_u32 {
            let numbers: Vec<u16> =
                (0..8).map(|n| if lengths >> n & 1 == 1 { 128 + 1990 * n } else { n }).collect();
            let mut bytes = Vec::new();
            let mut ends = Vec::new();
            for &number in &numbers {
                write(&mut bytes, number);
                ends.push(bytes.len());
            }
            bytes.resize(32, 0xff);
            let nine = bytes.first_chunk().unwrap();
            for left in 1..=12 {
                let found = short(nine, left);
                if left < 9 && !ends.contains(&left) {
                    // the ninth byte is needed only where the eighth goes on
                    assert!(matches!(found, Err(Fault::Truncated)), "{lengths:08b}, {left} left");
                    continue;
                }
                let found = found.unwrap().unwrap();
                let begin_before = left.min(8);
                let expected = 1 + ends.iter().take_while(|&&end| end < begin_before).count();
                assert_eq!(found.count, expected, "{lengths:08b}, {left} left");
                assert_eq!(found.bytes, ends[expected - 1]);
                assert_eq!(found.numbers[..expected], numbers[..expected]);
            }
        }
    }

    #[test]
    fn the_instruction_and_the_plain_way_agree() {
        let word = 0xf1e2_d3c4_b5a6_9788;
        for places in &PLACES {
            assert_eq!(pairs(word, 0x79, places), plain_pairs(word, 0x79, places));
        }
    }

    #[test]
    fn longer_numbers_are_left_to_the_caller() {
        for first in 0..8 {
            let mut nine = [1; 9];
            nine[first] = 0x80;
            nine[first + 1] = 0x80;
            assert!(matches!(short(&nine, 20), Ok(None)), "{first}");
            // behind the end it does not matter
            if first > 0 {
                assert_eq!(short(&nine, first).unwrap().unwrap().count, first);
            }
        }
    }
}
