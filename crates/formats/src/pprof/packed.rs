//! Packed location ids and values, the bulk of most profiles: several at a time.

use profile::LocationIndex;

use super::wire::{Fault, MORE, Reader, low32, signed};

/// Ids that are collected before they are appended to the stacks.
const COLLECTED: usize = 256;

/// The lowest bit of each of four 16-bit lanes, and the lowest byte.
const LANES: u64 = 0x0001_0001_0001_0001;
const LANE_BYTES: u64 = 0x00ff_00ff_00ff_00ff;

/// Where positions wait to be appended to the stacks: one append per stack instead of one per id.
pub(super) struct Collected {
    positions: [LocationIndex; COLLECTED],
}

impl Default for Collected {
    fn default() -> Self {
        Self { positions: [LocationIndex(0); COLLECTED] }
    }
}

/// Reads packed ids up to `end` and appends `id - 1` of each to `stacks`, for which the caller has made room. Whether
/// they point anywhere is for the caller to see. Gives the largest id of those that do not fit 14 bits, since such a one
/// may have lost its upper half.
#[inline(always)]
pub(super) fn push_packed_ids(
    reader: &mut Reader<'_>,
    end: usize,
    collected: &mut Collected,
    stacks: &mut Vec<LocationIndex>,
) -> Result<u64, Fault> {
    let mut long_max = 0;
    let mut count = 0;
    while reader.at() < end {
        let left = end - reader.at();
        let short =
            match (reader.nine(), collected.positions.get_mut(count..).and_then(<[_]>::first_chunk_mut)) {
                (Some(nine), Some(out)) => write_short_ids(nine, left, out)?,
                // near the end of the text, or the collection is full
                _ => None,
            };
        if let Some((ids, bytes)) = short {
            count += ids;
            reader.advance(bytes);
            continue;
        }
        stacks.extend_from_slice(&collected.positions[..count]);
        count = 0;
        let id = reader.varint()?;
        long_max = long_max.max(large(id));
        stacks.push(LocationIndex(low32(id.wrapping_sub(1))));
    }
    stacks.extend_from_slice(&collected.positions[..count]);
    Ok(long_max)
}

/// An id as a number that tells whether it is too large: 0, which is no id, counts as the largest.
#[inline(always)]
pub(super) fn large(id: u64) -> u64 {
    if id == 0 { u64::MAX } else { id }
}

/// Writes `id - 1` of the ids that begin in the first eight bytes, of which `left` belong to the stack, and tells their
/// number and how many bytes they took. `None` where one has more than two bytes or is 0.
///
/// No branch depends on single lengths, which no processor could predict: an id is computed for each byte as if it began
/// there, all are written, and those that began inside another are overwritten by the next.
#[inline(always)]
fn write_short_ids(
    nine: &[u8; 9],
    left: usize,
    out: &mut [LocationIndex; 8],
) -> Result<Option<(usize, usize)>, Fault> {
    let [eight @ .., ninth] = nine;
    let word = u64::from_le_bytes(*eight);
    let more = word & MORE;
    if more == 0 && left >= 8 {
        // frames near the root come early and so have the smallest ids: such words come in runs
        *out = eight.map(|id| LocationIndex(u32::from(id).wrapping_sub(1)));
        return Ok(Some((8, 8)));
    }
    let shifted = word >> 8 | u64::from(*ninth) << 56;
    let mut starts = (!(more << 8) & MORE) >> 7;
    let mut odd_ones = more & shifted;
    let mut used = 8 + low32(more >> 63) as usize;
    if left < used {
        // the last ids: what stands behind the end does not count, and the last byte must end an id
        if more >> (8 * left - 1) & 1 == 1 {
            return Err(Fault::Truncated);
        }
        let inside = u64::MAX >> (64 - 8 * left);
        starts &= inside;
        odd_ones &= inside;
        used = left;
    }
    let even = two_bytes(word, shifted);
    let odd = two_bytes(shifted, word >> 16 | u64::from(*ninth) << 48);
    let (even_less, odd_less) = (even.wrapping_sub(LANES), odd.wrapping_sub(LANES));
    // a lane that was 0 has its upper bit set now
    odd_ones |= (even_less & !even | odd_less & !odd) & LANES << 15;
    if odd_ones != 0 {
        return Ok(None);
    }
    // in each byte the number of ids that began before it or at it
    let begun = starts.wrapping_mul(0x0101_0101_0101_0101);
    let before = begun << 8;
    for byte in 0..8 {
        let lanes = if byte % 2 == 0 { even_less } else { odd_less };
        out[(before >> (8 * byte)) as usize & 7] = LocationIndex(low32(lanes >> (byte / 2 * 16) & 0xffff));
    }
    Ok(Some((low32(begun >> 56) as usize, used)))
}

/// In each of four 16-bit lanes the number that begins with the low byte of `bytes` and, where that says so, goes on
/// with the low byte of `next`.
#[inline(always)]
fn two_bytes(bytes: u64, next: u64) -> u64 {
    let goes_on = (bytes >> 7 & LANES).wrapping_mul(0x3f80);
    bytes & 0x007f_007f_007f_007f | (next & LANE_BYTES) << 7 & goes_on
}

/// Reads packed values up to `end` and appends them to `values`, for which the caller has made room.
#[inline(always)]
pub(super) fn push_packed_values(
    reader: &mut Reader<'_>,
    end: usize,
    values: &mut Vec<i64>,
) -> Result<(), Fault> {
    while reader.at() < end {
        values.push(signed(reader.varint()?));
    }
    Ok(())
}
