//! Packed numbers of one or two bytes, up to eight at a time: nearly all location ids and most values.
//!
//! Numbers are taken in blocks of eight bytes, those that end in a block together, so a block's place does not depend on
//! the one before, nor does any branch depend on single lengths, which no processor could predict. Which bytes go on is
//! an index into a table that says where each number's bytes are; one instruction (SSSE3) puts them into lanes. Builds
//! without it pick the bytes one by one.
//!
//! Refuses numbers of more than two bytes: the caller reads those one at a time.

use super::wire::Fault;

/// Bytes of a block, and numbers that can end in it.
pub(super) const LANES: usize = 8;

/// The byte before a block, the block, and what is read with it.
pub(super) type Window = [u8; 2 * LANES];

/// What stands in a block.
pub(super) enum Block {
    /// Numbers of one or two bytes.
    Short {
        /// The first `count` end in the block.
        numbers: [u16; LANES],
        /// How many there are.
        count: usize,
    },
    /// A number of more than two bytes ends in it or goes on behind it.
    Long,
}

/// Bits that say which bytes of a window go on: the byte before the block and the block.
const CONTINUED_BITS: usize = 1 << (1 + LANES);

/// Bytes of the lanes, by which bytes go on: two for each number, [`NO_BYTE`] for 0.
static PLACES: [[u8; 2 * LANES]; CONTINUED_BITS] = places();

/// A place that stands for a zero byte.
const NO_BYTE: u8 = 0x80;

const fn places() -> [[u8; 2 * LANES]; CONTINUED_BITS] {
    let mut all = [[NO_BYTE; 2 * LANES]; CONTINUED_BITS];
    let mut continued = 0;
    while continued < all.len() {
        let (mut byte, mut lane) = (1_u8, 0);
        while byte as usize <= LANES {
            if continued >> byte & 1 == 0 {
                let is_second = continued >> (byte - 1) & 1 == 1;
                all[continued][2 * lane] = if is_second { byte - 1 } else { byte };
                all[continued][2 * lane + 1] = if is_second { byte } else { NO_BYTE };
                lane += 1;
            }
            byte += 1;
        }
        continued += 1;
    }
    all
}

/// The numbers that end in the block of a window, of which `left` bytes, at least one, are there to be read.
///
/// # Errors
/// When the last of `left` bytes does not end a number.
#[inline(always)]
pub(super) fn block(window: &Window, left: usize) -> Result<Block, Fault> {
    // One bit for the byte before and one for each of the block; what stands behind the end does not count.
    let inside = (2_u32 << left.min(LANES)) - 1;
    let continued = continued(window) & inside;
    let is_cut = continued >> left.min(LANES + 1) & 1;
    let long = continued & continued << 1;
    if is_cut | long != 0 {
        return if is_cut == 1 { Err(Fault::Truncated) } else { Ok(Block::Long) };
    }
    let count = (!continued & inside & !1).count_ones() as usize;
    let numbers = pairs(window, &PLACES[continued as usize % CONTINUED_BITS])
        .map(|pair| pair & 0x7f | pair >> 1 & 0x3f80);
    Ok(Block::Short { numbers, count })
}

/// One bit for each byte that goes on, lowest first.
#[cfg(all(target_arch = "x86_64", target_feature = "ssse3"))]
#[inline(always)]
fn continued(window: &Window) -> u32 {
    safe_arch::move_mask_i8_m128i(safe_arch::m128i::from(*window)).cast_unsigned()
}

/// The bytes at `places`, two for each number.
#[cfg(all(target_arch = "x86_64", target_feature = "ssse3"))]
#[inline(always)]
fn pairs(window: &Window, places: &[u8; 2 * LANES]) -> [u16; LANES] {
    let (bytes, places) = (safe_arch::m128i::from(*window), safe_arch::m128i::from(*places));
    safe_arch::shuffle_av_i8z_all_m128i(bytes, places).into()
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "ssse3")))]
use {plain_continued as continued, plain_pairs as pairs};

/// [`continued`] without the instruction, for those bytes that matter.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "ssse3"))))]
#[inline(always)]
fn plain_continued(window: &Window) -> u32 {
    use super::wire::{MORE, low32};
    let [low, high] = [0, LANES].map(|start| {
        let eight = std::array::from_fn(|byte| window[start + byte]);
        low32(((u64::from_le_bytes(eight) & MORE) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56)
    });
    low | high << LANES
}

/// [`pairs`] without the instruction.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "ssse3"))))]
#[inline(always)]
fn plain_pairs(window: &Window, places: &[u8; 2 * LANES]) -> [u16; LANES] {
    let byte = |place: u8| if place == NO_BYTE { 0 } else { window[usize::from(place & 15)] };
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

    fn short(window: &Window, left: usize) -> (usize, [u16; LANES]) {
        match block(window, left) {
            Ok(Block::Short { numbers, count }) => (count, numbers),
            _ => panic!("{window:x?} with {left} left are short numbers"),
        }
    }

    /// Numbers of one and two bytes in every order of lengths, read whole and cut at each byte.
    #[test]
    fn every_order_of_lengths_is_read() {
        for lengths in 0..1 << 16_u32 {
            let numbers: Vec<u16> =
                (0..16).map(|n| if lengths >> n & 1 == 1 { 128 + 990 * n } else { n }).collect();
            // the byte before the first block
            let mut bytes = vec![0];
            let mut ends = Vec::new();
            for &number in &numbers {
                write(&mut bytes, number);
                ends.push(bytes.len() - 1);
            }
            let whole = bytes.len() - 1;
            bytes.resize(64, 0xff);
            let mut read = Vec::new();
            for start in (0..whole).step_by(LANES) {
                let window = bytes[start..].first_chunk().unwrap();
                for left in 1..=LANES.min(whole - start) {
                    if !ends.contains(&(start + left)) {
                        assert!(matches!(block(window, left), Err(Fault::Truncated)), "{lengths:016b}");
                        continue;
                    }
                    let (count, found) = short(window, left);
                    let before = ends.iter().filter(|&&end| end <= start).count();
                    let expected = ends.iter().filter(|&&end| end <= start + left).count() - before;
                    assert_eq!(count, expected, "{lengths:016b}, {left} left");
                    assert_eq!(found[..count], numbers[before..before + count]);
                }
                let (count, found) = short(window, whole - start);
                read.extend_from_slice(&found[..count]);
            }
            assert_eq!(read, numbers);
        }
    }

    #[test]
    fn the_instruction_and_the_plain_way_agree() {
        let mut window: Window = std::array::from_fn(|byte| 0x91 ^ (byte as u8) << 4 ^ byte as u8);
        for places in &PLACES {
            assert_eq!(pairs(&window, places), plain_pairs(&window, places));
            window.rotate_left(3);
            window[0] = window[0].wrapping_add(0x2f);
            assert_eq!(continued(&window), plain_continued(&window), "{window:x?}");
        }
    }

    #[test]
    fn longer_numbers_are_left_to_the_caller() {
        for first in 0..LANES {
            let mut window = [1; 16];
            window[first] = 0x80;
            window[first + 1] = 0x80;
            assert!(matches!(block(&window, 20), Ok(Block::Long)), "{first}");
            // behind the end it does not matter
            if first > 1 {
                assert_eq!(short(&window, first - 1).0, first - 1);
            }
        }
    }
}
