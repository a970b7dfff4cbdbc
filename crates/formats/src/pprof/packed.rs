//! Packed location ids and values, the bulk of most profiles: several at a time.

use profile::LocationIndex;

use super::{
    short::{Block, LANES, block},
    wire::{Fault, Reader, low32, signed},
};

/// Entries that reading may write too many.
pub(super) const EXCESS: usize = LANES;

/// Reads packed ids up to `end` and writes `id - 1` of each to the front of `stack`, which has room for as many as there
/// are bytes, and [`EXCESS`] more. Whether they point anywhere is for the caller to see; an id of 0 becomes the largest
/// position. Gives how many there are, and the largest id of those that do not fit 14 bits, since such a one may have
/// lost its upper half.
#[inline(always)]
pub(super) fn read_packed_ids(
    reader: &mut Reader<'_>,
    end: usize,
    stack: &mut [LocationIndex],
) -> Result<(usize, u64), Fault> {
    let mut long_max = 0;
    let mut count = 0;
    while reader.at() < end {
        // A block has eight bytes and gives the ids that end in it. So the next one begins at a place that is known
        // before this one is read, and the processor reads several at once.
        let left = end - reader.at();
        if let (Some(window), Some(out)) =
            (reader.byte_before_and_on(), stack.get_mut(count..).and_then(<[_]>::first_chunk_mut::<LANES>))
            && let Block::Short { numbers, count: ids } = block(window, left)?
        {
            *out = numbers.map(|id| LocationIndex(u32::from(id).wrapping_sub(1)));
            count += ids;
            reader.advance(LANES.min(left));
            continue;
        }
        // a long id, or near the end of the text
        reader.back_to_number();
        let id = reader.varint()?;
        long_max = long_max.max(large(id));
        let Some(place) = stack.get_mut(count) else { return Err(Fault::BeyondEnd) };
        *place = LocationIndex(low32(id.wrapping_sub(1)));
        count += 1;
    }
    Ok((count, long_max))
}

/// An id as a number that tells whether it is too large: 0, which is no id, counts as the largest.
#[inline(always)]
pub(super) fn large(id: u64) -> u64 {
    if id == 0 { u64::MAX } else { id }
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
        let Some(window) = reader.byte_before_and_on() else { break };
        let Block::Short { numbers, count } = block(window, left)? else { break };
        // all lanes are copied, since a fixed number of them is one store; what is too many goes again
        let all = values.len() + count;
        values.extend_from_slice(&numbers.map(i64::from));
        values.truncate(all);
        reader.advance(LANES.min(left));
    }
    if reader.at() < end {
        reader.back_to_number();
    }
    while reader.at() < end {
        values.push(signed(reader.varint()?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(out: &mut Vec<u8>, mut number: u64) {
        while number >= 0x80 {
            out.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    /// Numbers of every length at every place in a block, with and without bytes behind them.
    #[test]
    fn numbers_of_all_lengths_are_read_wherever_they_stand() {
        for (long_at, long) in
            (0..20).flat_map(|at| [1 << 14, 1 << 20, 1 << 33, 5, 300].map(|long| (at, long)))
        {
            for lengths in 0..1 << 8_u32 {
                let number =
                    |place: u64| if lengths >> (place % 8) & 1 == 1 { 200 + place } else { 1 + place };
                let mut numbers: Vec<u64> = (0..20).map(number).collect();
                numbers[long_at] = long;
                // the length before them
                let mut text = vec![40];
                numbers.iter().for_each(|&number| write(&mut text, number));
                let end = text.len();
                for behind in [0, 3, 20] {
                    text.resize(end + behind, 0xff);
                    let mut reader = Reader::new(&text, 1);
                    let mut stack = vec![LocationIndex(0); end + EXCESS];
                    let (count, long_max) = read_packed_ids(&mut reader, end, &mut stack).unwrap();
                    let positions: Vec<_> =
                        numbers.iter().map(|id| LocationIndex(low32(id.wrapping_sub(1)))).collect();
                    assert_eq!((reader.at(), &stack[..count]), (end, &positions[..]));
                    assert!(long < 1 << 14 || long_max == long);

                    let mut reader = Reader::new(&text, 1);
                    let mut values = Vec::new();
                    push_packed_values(&mut reader, end, &mut values).unwrap();
                    assert_eq!(reader.at(), end);
                    assert!(values.iter().map(|value| value.cast_unsigned()).eq(numbers.iter().copied()));
                }
            }
        }
    }

    #[test]
    fn a_last_number_without_an_end_is_a_fault() {
        for (length, behind) in (1..20).flat_map(|length| [(length, 0), (length, 20)]) {
            let mut text = vec![7; length];
            text.push(0x80);
            let end = text.len();
            text.resize(end + behind, 1);
            let mut stack = vec![LocationIndex(0); end + EXCESS];
            let mut reader = Reader::new(&text, 1);
            let read = read_packed_ids(&mut reader, end, &mut stack);
            assert!(read.is_err() || reader.done(end).is_err());
            let mut reader = Reader::new(&text, 1);
            let read = push_packed_values(&mut reader, end, &mut Vec::new());
            assert!(read.is_err() || reader.done(end).is_err());
        }
    }
}
