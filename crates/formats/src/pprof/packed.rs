//! Packed location ids and values, the bulk of most profiles: several at a time.

use profile::LocationIndex;

use super::wire::{Fault, MORE, Reader, low32, signed};

/// Continuation bits of four two-byte varints in a row.
const FOUR_PAIRS: u64 = 0x0080_0080_0080_0080;

/// Eight varints of the value 1.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Entries for which room must be left beside those that are read, because entries are appended some at a time.
pub(super) const SLACK: usize = 8;

/// Reads packed ids up to `end` and appends `id - 1` of each to `stacks`, for which the caller has made room. Returns the
/// largest `id - 1`, where id 0 counts as the largest number of all.
#[inline(always)]
pub(super) fn push_packed_ids(
    reader: &mut Reader<'_>,
    end: usize,
    stacks: &mut Vec<LocationIndex>,
) -> Result<u64, Fault> {
    let mut position_max = 0_u64;
    while reader.at() < end {
        let left = end - reader.at();
        let Some(word) = reader.word() else {
            position_max = position_max.max(push_one(reader, stacks)?);
            continue;
        };
        let (mut four, used) = if left >= 8 {
            if word & MORE == FOUR_PAIRS {
                let pairs = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
                let four = [pairs & 0xffff, pairs >> 16 & 0xffff, pairs >> 32 & 0xffff, pairs >> 48];
                let positions = four.map(|id| id.wrapping_sub(1));
                position_max = positions.into_iter().fold(position_max, u64::max);
                stacks.extend_from_slice(&positions.map(|position| LocationIndex(low32(position))));
                reader.advance(8);
                continue;
            }
            four_short(word)
        } else {
            // what stands behind the end is no id; ones in its place do no harm
            four_short(word & ((1 << (8 * left)) - 1) | ONES << (8 * left))
        };
        if used[3] == 0 {
            position_max = position_max.max(push_one(reader, stacks)?);
            continue;
        }
        four = four.map(|id| id.wrapping_sub(1));
        position_max = four.into_iter().fold(position_max, u64::max);
        let length = stacks.len();
        stacks.extend_from_slice(&four.map(|position| LocationIndex(low32(position))));
        if left >= 8 {
            reader.advance(used[3]);
        } else {
            let count = 1 + used[..3].iter().filter(|&&start| start < left).count();
            stacks.truncate(length + count);
            reader.advance(used[count - 1]);
        }
    }
    Ok(position_max)
}

/// Reads four ids of one or two bytes each; with each the bytes up to its end. All zero where one is longer.
#[inline(always)]
fn four_short(word: u64) -> ([u64; 4], [usize; 4]) {
    let mut left = word;
    let mut longer = 0;
    let mut used = 0;
    let mut ids = [0; 4];
    let mut ends = [0; 4];
    for (id, end) in ids.iter_mut().zip(&mut ends) {
        let has_second = left >> 7 & 1;
        longer |= left & left >> 8;
        *id = left & 0x7f | (left >> 1 & 0x3f80) * has_second;
        left >>= 8 + 8 * has_second;
        used += 1 + low32(has_second) as usize;
        *end = used;
    }
    if longer & 0x80 == 0 { (ids, ends) } else { ([0; 4], [0; 4]) }
}

#[inline]
fn push_one(reader: &mut Reader<'_>, stacks: &mut Vec<LocationIndex>) -> Result<u64, Fault> {
    let position = reader.varint()?.wrapping_sub(1);
    stacks.push(LocationIndex(low32(position)));
    Ok(position)
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
