//! Packed location ids and values, the bulk of most profiles: several at a time.

use profile::LocationIndex;

use super::{
    short::{Short, short},
    wire::{Fault, MORE, Reader, low32, signed},
};

/// Ids that are collected before they are appended to the stacks.
const COLLECTED: usize = 256;

/// The lowest bit of each byte.
const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;

/// Entries that reading values may write too many.
pub(super) const EXCESS: usize = 8;

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
        if let (Some(nine), Some(out)) =
            (reader.nine(), collected.positions.get_mut(count..).and_then(<[_]>::first_chunk_mut))
            && let Some((ids, bytes)) = write_short_ids(nine, left, out)?
        {
            count += ids;
            reader.advance(bytes);
            continue;
        }
        // near the end of the text, the collection is full, or a long id
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
#[inline(always)]
fn write_short_ids(
    nine: &[u8; 9],
    left: usize,
    out: &mut [LocationIndex; 8],
) -> Result<Option<(usize, usize)>, Fault> {
    let Some(Short { numbers, count, bytes }) = short(nine, left)? else { return Ok(None) };
    *out = numbers.map(|id| LocationIndex(u32::from(id).wrapping_sub(1)));
    // only an id that is 0 has a zero byte, or one with more bytes than it needs
    let [eight @ .., ninth] = nine;
    let word = u64::from_le_bytes(*eight);
    let zeros = word.wrapping_sub(LOWEST_BITS) & !word & MORE;
    let inside = if left < 8 { u64::MAX >> (64 - 8 * left) } else { u64::MAX };
    let odd_end = word >> 63 == 1 && *ninth == 0;
    Ok((zeros & inside == 0 && !odd_end).then_some((count, bytes)))
}

/// Reads packed values up to `end` and appends them to `values`, for which the caller has made room, and for
/// [`EXCESS`] more.
#[inline(always)]
pub(super) fn push_packed_values(
    reader: &mut Reader<'_>,
    end: usize,
    values: &mut Vec<i64>,
) -> Result<(), Fault> {
    // mostly two to four numbers: either all are short or the rest is read one by one
    while reader.at() < end {
        let left = end - reader.at();
        let Some(nine) = reader.nine() else { break };
        let Some(Short { numbers, count, bytes }) = short(nine, left)? else { break };
        // all lanes are copied, since a fixed number of them is one store; what is too many goes again
        let all = values.len() + count;
        values.extend_from_slice(&numbers.map(i64::from));
        values.truncate(all);
        reader.advance(bytes);
    }
    while reader.at() < end {
        values.push(signed(reader.varint()?));
    }
    Ok(())
}
