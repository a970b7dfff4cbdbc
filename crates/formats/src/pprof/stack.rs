//! Packed location ids, the bulk of most profiles: several at a time.

use profile::LocationIndex;

use super::wire::{Fault, MORE, low32, varint};

/// Continuation bits of four two-byte varints in a row.
const FOUR_PAIRS: u64 = 0x0080_0080_0080_0080;

/// Reads packed ids and appends `id - 1` of each to `stacks`, for which the caller has made room. Returns the largest
/// `id - 1`, where id 0 counts as the largest number of all.
#[inline(always)]
pub(super) fn push_packed_ids(mut packed: &[u8], stacks: &mut Vec<LocationIndex>) -> Result<u64, Fault> {
    let mut position_max = 0_u64;
    while let Some((chunk, tail)) = packed.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let more = word & MORE;
        if more == FOUR_PAIRS {
            let pairs = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
            let four = [pairs & 0xffff, pairs >> 16 & 0xffff, pairs >> 32 & 0xffff, pairs >> 48]
                .map(|id| id.wrapping_sub(1));
            position_max = position_max.max(four[0]).max(four[1]).max(four[2]).max(four[3]);
            stacks.extend_from_slice(&four.map(|position| LocationIndex(low32(position))));
            packed = tail;
        } else {
            position_max = position_max.max(push_mixed(word, &mut packed, stacks)?);
        }
    }
    while !packed.is_empty() {
        let position = varint(&mut packed)?.wrapping_sub(1);
        position_max = position_max.max(position);
        stacks.push(LocationIndex(low32(position)));
    }
    Ok(position_max)
}

/// Reads the ids of one or two bytes at the start of `word` (which is the start of `packed`), or one longer id.
#[inline(always)]
fn push_mixed(word: u64, packed: &mut &[u8], stacks: &mut Vec<LocationIndex>) -> Result<u64, Fault> {
    let mut position_max = 0;
    let mut left = word;
    let mut used = 0;
    // two bytes of the word must be left for an id to be read whole
    while used <= 6 {
        if left & 0x8080 == 0x8080 {
            if used == 0 {
                let position = varint(packed)?.wrapping_sub(1);
                stacks.push(LocationIndex(low32(position)));
                return Ok(position);
            }
            break;
        }
        let has_second = left >> 7 & 1;
        let second = (left >> 8 & 0x7f) * has_second;
        let position = (left & 0x7f | second << 7).wrapping_sub(1);
        position_max = position_max.max(position);
        stacks.push(LocationIndex(low32(position)));
        left >>= 8 + 8 * has_second;
        used += 1 + low32(has_second) as usize;
    }
    *packed = &packed[used..];
    Ok(position_max)
}
