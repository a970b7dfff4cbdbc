//! Packed location ids and values, the bulk of most profiles: several at a time.

use profile::LocationIndex;

use super::wire::{Fault, MORE, Reader, low32, signed};

/// Entries for which room must be left beside those that are read, because values are appended eight at a time.
pub(super) const SLACK: usize = 8;

/// Ids that are collected before they are appended to the stacks.
const COLLECTED: usize = 256;

/// The lowest bit of each of four 16-bit lanes, and the lowest byte.
const LANES: u64 = 0x0001_0001_0001_0001;
const LANE_BYTES: u64 = 0x00ff_00ff_00ff_00ff;

/// Where short ids wait to be appended to the stacks: one append per stack instead of one per id.
pub(super) struct Collected {
    ids: [u16; COLLECTED],
}

impl Default for Collected {
    fn default() -> Self {
        Self { ids: [0; COLLECTED] }
    }
}

impl Collected {
    /// Appends `id - 1` of the first `count` ids.
    #[inline(always)]
    fn append(&self, count: usize, stacks: &mut Vec<LocationIndex>) {
        let ids = self.ids.get(..count).unwrap_or_default();
        stacks.extend(ids.iter().map(|&id| LocationIndex(u32::from(id).wrapping_sub(1))));
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
        let short = match (reader.nine(), collected.ids.get_mut(count..).and_then(<[u16]>::first_chunk_mut)) {
            (Some((word, ninth)), Some(out)) => write_short_ids(word, ninth, left, out)?,
            // near the end of the text, or the collection is full
            _ => None,
        };
        if let Some((ids, bytes)) = short {
            count += ids;
            reader.advance(bytes);
            continue;
        }
        collected.append(count, stacks);
        count = 0;
        let id = reader.varint()?;
        long_max = long_max.max(large(id));
        stacks.push(LocationIndex(low32(id.wrapping_sub(1))));
    }
    collected.append(count, stacks);
    Ok(long_max)
}

/// An id as a number that tells whether it is too large: 0, which is no id, counts as the largest.
#[inline(always)]
pub(super) fn large(id: u64) -> u64 {
    if id == 0 { u64::MAX } else { id }
}

/// Writes the ids that begin in the eight bytes of `word`, of which `left` belong to the stack, and tells their number and
/// how many bytes they took. `None` where one has more than two bytes.
///
/// No branch depends on lengths, which no processor could predict: an id is computed for each byte as if it began there,
/// all are written, and those that began inside another are overwritten by the next.
#[inline(always)]
fn write_short_ids(
    word: u64,
    ninth: u8,
    left: usize,
    out: &mut [u16; 8],
) -> Result<Option<(usize, usize)>, Fault> {
    let shifted = word >> 8 | u64::from(ninth) << 56;
    let more = word & MORE;
    let mut starts = (!(more << 8) & MORE) >> 7;
    let mut longer = more & shifted;
    let mut used = 8 + low32(more >> 63) as usize;
    if left < used {
        // the last ids: what stands behind the end does not count, and the last byte must end an id
        if more >> (8 * left - 1) & 1 == 1 {
            return Err(Fault::Truncated);
        }
        let inside = u64::MAX >> (64 - 8 * left);
        starts &= inside;
        longer &= inside;
        used = left;
    }
    if longer != 0 {
        return Ok(None);
    }
    let even = two_bytes(word, shifted);
    let odd = two_bytes(shifted, word >> 16 | u64::from(ninth) << 48);
    // in each byte the number of ids that began before it or at it
    let begun = starts.wrapping_mul(0x0101_0101_0101_0101);
    let before = begun << 8;
    for byte in 0..8 {
        let lanes = if byte % 2 == 0 { even } else { odd };
        out[(before >> (8 * byte)) as usize & 7] = low16(lanes >> (byte / 2 * 16));
    }
    Ok(Some((low32(begun >> 56) as usize, used)))
}

/// The low 16 bits.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
const fn low16(value: u64) -> u16 {
    (value & 0xffff) as u16
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
    loop {
        // Collected here and appended at once: a push for each would read and write the vector's length each time.
        let mut eight = [0; 8];
        let mut count = 0;
        while reader.at() < end && count < 8 {
            eight[count] = signed(reader.varint()?);
            count += 1;
        }
        let length = values.len() + count;
        values.extend_from_slice(&eight);
        values.truncate(length);
        if reader.at() >= end {
            return Ok(());
        }
    }
}
