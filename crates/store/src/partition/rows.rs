//! The rows of one profile as bytes: what the log writes and what the head keeps and reads.
//!
//! ```text
//! varint rows · flags · varint columns · per column: rule, scale · nodes · stored columns · labels? · links? · times?
//! · 8 zero bytes
//! ```
//!
//! Rows are sorted by node and written as differences. A column is divided by its greatest common divisor; a column
//! that then equals an earlier one (Go's `cpu` is its `samples` times 10 ms) is only named. Numbers are packed by byte
//! length with the lengths apart ([`pack`]), which reads at several hundred million rows per second without
//! branches and still compresses well, since most numbers are one byte.
//!
//! Not here: which node a stack is (`intern`), compression (`record`), reading several numbers at once (`spread`).

use block::{Divisor, NONE, NodeSums, ROWS_PER_ADD, RowPack, Rows};
use profile::Link;

use super::{
    bytes::{Damaged, Reader, put_varint, zigzag_decode, zigzag_encode},
    spread::unpack_lows,
};
use crate::hash::low_word;

/// Zero bytes after the last stream, so that eight bytes can be read anywhere.
const PADDING: usize = 8;
/// Some row has sample labels.
const HAS_LABELS: u8 = 1;
/// Some row has a span or trace.
const HAS_LINKS: u8 = 2;
/// Some row has event times.
const HAS_TIMES: u8 = 4;
/// Column rule: all zero.
const RULE_ZERO: u64 = 0;
/// Column rule: stored, no value negative.
const RULE_UNSIGNED: u64 = 1;
/// Column rule: stored, zigzag.
const RULE_SIGNED: u64 = 2;
/// Column rule: equal to column `rule - RULE_SAME` but for the scale.
const RULE_SAME: u64 = 3;

/// Rows about to be encoded: sorted by (node, label set, link), all keys different.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    /// Node of each row plus one; 0 = empty stack.
    pub(crate) nodes: Vec<u32>,
    /// Values, column by column.
    pub(crate) columns: Vec<Vec<i64>>,
    /// Label set of each row; empty when no row has one.
    pub(crate) label_sets: Vec<u32>,
    /// Span and trace of each row; empty when no row has one.
    pub(crate) links: Vec<Link>,
    /// Event times of all rows.
    pub(crate) timestamps: Vec<u64>,
    /// End of each row's times; empty when no row has times.
    pub(crate) timestamp_ends: Vec<u32>,
    /// Numbers on their way into a stream.
    numbers: Vec<u64>,
    /// Scaled columns.
    scaled: Vec<Vec<u64>>,
}

impl RowBuffer {
    /// Empties everything, keeps the memory and sets the number of columns.
    pub(crate) fn clear(&mut self, columns: usize) {
        self.nodes.clear();
        self.columns.resize_with(columns, Vec::new);
        self.columns.iter_mut().for_each(Vec::clear);
        self.label_sets.clear();
        self.links.clear();
        self.timestamps.clear();
        self.timestamp_ends.clear();
    }

    /// Gives back memory that a very large profile left behind.
    pub(crate) fn shrink(&mut self, entries_max: usize) {
        if self.nodes.capacity() > entries_max || self.timestamps.capacity() > entries_max {
            *self = Self::default();
        }
    }

    /// Writes all rows.
    pub(crate) fn encode(&mut self, out: &mut Vec<u8>) {
        put_varint(out, self.nodes.len() as u64);
        let flags = if self.label_sets.is_empty() { 0 } else { HAS_LABELS }
            | if self.links.is_empty() { 0 } else { HAS_LINKS }
            | if self.timestamp_ends.is_empty() { 0 } else { HAS_TIMES };
        out.push(flags);
        let stored = self.encode_rules(out);
        let mut last = 0;
        self.numbers.clear();
        self.numbers.extend(self.nodes.iter().map(|&node| {
            let difference = node.wrapping_sub(last);
            last = node;
            u64::from(difference)
        }));
        pack(&self.numbers, out);
        for column in stored {
            pack(&self.scaled[column], out);
        }
        if flags & HAS_LABELS != 0 {
            self.numbers.clear();
            self.numbers.extend(self.label_sets.iter().copied().map(u64::from));
            pack(&self.numbers, out);
        }
        if flags & HAS_LINKS != 0 {
            encode_links(&self.links, out);
        }
        if flags & HAS_TIMES != 0 {
            self.encode_times(out);
        }
        out.extend_from_slice(&[0; PADDING]);
    }

    /// Scales the columns, writes their rules, and says which of them are to be stored.
    fn encode_rules(&mut self, out: &mut Vec<u8>) -> Vec<usize> {
        // Column and whether it is zigzag: only columns written alike may stand for each other.
        let mut stored: Vec<(usize, bool)> = Vec::with_capacity(self.columns.len());
        put_varint(out, self.columns.len() as u64);
        self.scaled.resize_with(self.columns.len(), Vec::new);
        for (position, values) in self.columns.iter().enumerate() {
            let negative = values.iter().fold(0, |all, value| all | value) < 0;
            let Some(divisor) = Divisor::of_all(values) else {
                put_varint(out, RULE_ZERO);
                self.scaled[position].clear();
                continue;
            };
            let mut scaled = std::mem::take(&mut self.scaled[position]);
            scaled.clear();
            if negative {
                scaled.extend(values.iter().map(|&value| {
                    let magnitude = divisor.divide(value.unsigned_abs()).cast_signed();
                    zigzag_encode(if value < 0 { magnitude.wrapping_neg() } else { magnitude })
                }));
            } else {
                scaled.extend(values.iter().map(|&value| divisor.divide(value.unsigned_abs())));
            }
            let is_twin =
                |&&(earlier, signed): &&(usize, bool)| signed == negative && self.scaled[earlier] == scaled;
            let twin = stored.iter().find(is_twin);
            let rule = match twin {
                Some(&(earlier, _)) => RULE_SAME + earlier as u64,
                None if negative => RULE_SIGNED,
                None => RULE_UNSIGNED,
            };
            if twin.is_none() {
                stored.push((position, negative));
            }
            self.scaled[position] = scaled;
            put_varint(out, rule);
            put_varint(out, divisor.value());
        }
        stored.into_iter().map(|(column, _)| column).collect()
    }

    /// Counts per row, then differences from one time to the next.
    fn encode_times(&mut self, out: &mut Vec<u8>) {
        let mut start = 0;
        self.numbers.clear();
        self.numbers.extend(self.timestamp_ends.iter().map(|&end| {
            let count = end - start;
            start = end;
            u64::from(count)
        }));
        pack(&self.numbers, out);
        let mut last = 0u64;
        self.numbers.clear();
        self.numbers.extend(self.timestamps.iter().map(|&time| {
            let difference = zigzag_encode(time.wrapping_sub(last).cast_signed());
            last = time;
            difference
        }));
        put_varint(out, self.numbers.len() as u64);
        pack(&self.numbers, out);
    }
}

/// Per row: nothing, a span, a trace or both, then the bytes of those that are there.
fn encode_links(links: &[Link], out: &mut Vec<u8>) {
    out.extend(
        links.iter().map(|link| u8::from(link.span_id != [0; 8]) | u8::from(link.trace_id != [0; 16]) << 1),
    );
    for link in links {
        if link.span_id != [0; 8] {
            out.extend_from_slice(&link.span_id);
        }
        if link.trace_id != [0; 16] {
            out.extend_from_slice(&link.trace_id);
        }
    }
}

/// Byte lengths that the control bits of a stream choose from, by the longest number.
pub(super) const fn lengths(longest: usize) -> [usize; 4] {
    if longest <= 2 { [1, 2, 0, 0] } else { [1, 2, 3, longest] }
}

/// Control bits per number, by the longest number.
const fn control_bits(longest: usize) -> usize {
    match longest {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}

/// Keeps the low bytes of a word, by their number.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut length = 0;
    while length < 8 {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// Writes numbers: the longest byte length, varint data bytes, control bits (0, 1 or 2 per number, choosing among
/// [`lengths`]), then the low bytes of each number.
pub(super) fn pack(numbers: &[u64], out: &mut Vec<u8>) {
    let all = numbers.iter().fold(0, |all, number| all | number);
    let longest = (64 - all.leading_zeros() as usize).div_ceil(8);
    out.push(u8::try_from(longest).unwrap_or(8));
    if longest <= 1 {
        if longest == 1 {
            out.extend(numbers.iter().map(|number| number.to_le_bytes()[0]));
        }
        return;
    }
    let bits = control_bits(longest);
    let length_place = out.len();
    // The length of the data comes first and is known last.
    out.push(0);
    let controls = out.len();
    out.resize(controls + (numbers.len() * bits).div_ceil(8), 0);
    let data_bytes = if bits == 1 {
        pack_lengths::<1, 2>(numbers, longest, controls, out)
    } else {
        pack_lengths::<2, 4>(numbers, longest, controls, out)
    };
    let mut length = Vec::with_capacity(10);
    put_varint(&mut length, data_bytes as u64);
    out.splice(length_place..=length_place, length);
}

/// The part of [`pack`] with control bits, which begin at `controls`: fills them in and appends the data, whose length it
/// gives. Without branches on single numbers, whose lengths no processor could predict.
#[inline]
fn pack_lengths<const BITS: usize, const CHOICES: usize>(
    numbers: &[u64],
    longest: usize,
    controls: usize,
    out: &mut Vec<u8>,
) -> usize {
    let choices = lengths(longest);
    let choices: [usize; CHOICES] = std::array::from_fn(|choice| choices[choice]);
    let start = out.len();
    out.resize(start + numbers.len() * longest + PADDING, 0);
    let (front, data) = out.split_at_mut(start);
    let mut position = 0;
    for (chunk, control) in numbers.chunks(8 / BITS).zip(&mut front[controls..]) {
        let mut bits = 0u8;
        for (place, &number) in chunk.iter().enumerate() {
            // Bytes beyond the first that the number needs, at most the longest choice's position.
            let class = (((u64::BITS - (number | 1).leading_zeros()) as usize - 1) / 8).min(CHOICES - 1);
            bits |= [0u8, 1, 2, 3][class] << (place * BITS);
            if let Some(eight) = data.get_mut(position..).and_then(<[_]>::first_chunk_mut::<8>) {
                *eight = number.to_le_bytes();
            }
            position += choices[class];
        }
        *control = bits;
    }
    out.truncate(start + position);
    position
}

/// Steps over a stream.
fn skip(input: &mut Reader<'_>, count: usize) -> Result<(), Damaged> {
    let longest = usize::from(input.byte()?);
    let bytes = match longest {
        0 => 0,
        1 => count,
        _ => input.count()?.saturating_add((count * control_bits(longest)).div_ceil(8)),
    };
    input.take(bytes).map(|_| ())
}

/// Reads a stream of `count` numbers, giving each to `each` with its position.
#[inline]
pub(super) fn unpack(input: &mut Reader<'_>, count: usize, mut each: impl FnMut(u64)) -> Result<(), Damaged> {
    let longest = usize::from(input.byte()?);
    match longest {
        0 => (0..count).for_each(|_| each(0)),
        1 => input.take(count)?.iter().for_each(|&byte| each(u64::from(byte))),
        2 => unpack_lengths::<1, 2>(input, count, longest, each)?,
        3..=8 => unpack_lengths::<2, 4>(input, count, longest, each)?,
        _ => return Err(Damaged("number length")),
    }
    Ok(())
}

/// The part of [`unpack`] with control bits.
#[inline]
fn unpack_lengths<const BITS: usize, const CHOICES: usize>(
    input: &mut Reader<'_>,
    count: usize,
    longest: usize,
    mut each: impl FnMut(u64),
) -> Result<(), Damaged> {
    let choices = lengths(longest);
    let choices: [usize; CHOICES] = std::array::from_fn(|choice| choices[choice]);
    let masks: [u64; CHOICES] = choices.map(|length| MASKS[length]);
    let data_bytes = input.count()?;
    let controls = input.take((count * BITS).div_ceil(8))?;
    let data = input.rest();
    input.take(data_bytes)?;
    let mut position = 0usize;
    let per_byte = 8 / BITS;
    for (index, &control) in controls.iter().enumerate() {
        let numbers = per_byte.min(count - index * per_byte);
        let mut control = usize::from(control);
        for _ in 0..numbers {
            let choice = control % CHOICES;
            control /= CHOICES;
            let Some(word) = data.get(position..).and_then(|rest| rest.first_chunk::<8>()) else {
                return Err(Damaged("stream too short"));
            };
            each(u64::from_le_bytes(*word) & masks[choice]);
            position += choices[choice];
        }
    }
    if position == data_bytes { Ok(()) } else { Err(Damaged("stream length")) }
}

/// How a column is to be rebuilt.
#[derive(Clone, Copy, Debug)]
struct Rule {
    rule: u64,
    scale: i64,
}

/// What stands before the streams.
struct RowsHeader {
    rows: usize,
    flags: u8,
    rules: Vec<Rule>,
}

fn read_header(input: &mut Reader<'_>) -> Result<RowsHeader, Damaged> {
    let rows = input.count()?;
    // Rows differ in some stream, and a stream that tells rows apart has at least one bit for each.
    if rows > input.rest().len().saturating_mul(8) + 1 {
        return Err(Damaged("row count"));
    }
    let flags = input.byte()?;
    let columns = input.count()?;
    if columns > input.rest().len() {
        return Err(Damaged("column count"));
    }
    let mut rules: Vec<Rule> = Vec::with_capacity(columns);
    for position in 0..columns {
        let rule = input.varint()?;
        let scale = if rule == RULE_ZERO { 0 } else { input.varint()?.cast_signed() };
        if rule >= RULE_SAME {
            let earlier = usize::try_from(rule - RULE_SAME).unwrap_or(usize::MAX);
            let stored = rules.get(earlier).is_some_and(|known| is_stored(known.rule));
            if !stored || earlier >= position {
                return Err(Damaged("column rule"));
            }
        }
        rules.push(Rule { rule, scale });
    }
    Ok(RowsHeader { rows, flags, rules })
}

const fn is_stored(rule: u64) -> bool {
    rule == RULE_UNSIGNED || rule == RULE_SIGNED
}

/// Memory that reading reuses.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffer {
    distances: Vec<u32>,
    numbers: Vec<u32>,
    /// Position and what is above 32 bits.
    highs: Vec<(usize, u64)>,
}

/// Adds one column of encoded rows to `sums`; rows with an empty stack have no node and are left out. Nodes that do not
/// exist are found when sums are finished.
pub(crate) fn add_values(
    bytes: &[u8],
    column: usize,
    sums: &mut NodeSums,
    buffer: &mut ReadBuffer,
) -> Result<(), Damaged> {
    let mut input = Reader::new(bytes);
    let header = read_header(&mut input)?;
    let Some(&wanted) = header.rules.get(column) else { return Err(Damaged("column position")) };
    if wanted.rule == RULE_ZERO {
        return Ok(());
    }
    let source = match wanted.rule {
        rule if rule >= RULE_SAME => usize::try_from(rule - RULE_SAME).unwrap_or(usize::MAX),
        _ => column,
    };
    let ReadBuffer { distances, numbers, highs } = buffer;
    unpack_lows(&mut input, header.rows, distances, |_, _| {})?;
    for rule in &header.rules[..source] {
        if is_stored(rule.rule) {
            skip(&mut input, header.rows)?;
        }
    }
    highs.clear();
    if header.rules[source].rule == RULE_SIGNED {
        numbers.clear();
        unpack(&mut input, header.rows, |number| {
            let number = zigzag_decode(number).cast_unsigned();
            highs.push((numbers.len(), number >> 32 << 32));
            numbers.push(low_word(number));
        })?;
    } else {
        unpack_lows(&mut input, header.rows, numbers, |position, high| highs.push((position, high)))?;
    }
    sums.begin(wanted.scale, 0);
    // Nodes are stored one higher, with 0 for the empty stack; such rows come first.
    let empty = distances.iter().take_while(|&&distance| distance == 0).count();
    let mut highs = highs.iter().peekable();
    let mut node = NONE;
    let packs = distances.chunks(ROWS_PER_ADD).zip(numbers.chunks(ROWS_PER_ADD));
    for (start, (distances, numbers)) in (0..).step_by(ROWS_PER_ADD).zip(packs) {
        let skipped = empty.saturating_sub(start).min(distances.len());
        node = sums.add(&RowPack { node_before: node, distances, skipped, numbers });
        while let Some((position, high)) = highs.next_if(|(position, _)| *position < start + ROWS_PER_ADD) {
            sums.add_part(position - start, *high);
        }
    }
    Ok(())
}

/// Decodes all rows.
pub(crate) fn decode(bytes: &[u8], rows: &mut Rows) -> Result<(), Damaged> {
    let mut input = Reader::new(bytes);
    let header = read_header(&mut input)?;
    let width = header.rules.len();
    decode_nodes(&mut input, header.rows, rows)?;
    let cells = header.rows.checked_mul(width).ok_or(Damaged("row count"))?;
    rows.values.resize(cells, 0);
    let mut lows = Vec::new();
    for (column, rule) in header.rules.iter().enumerate() {
        let of_column = column..;
        match rule.rule {
            RULE_SIGNED => {
                let mut places = of_column.step_by(width);
                unpack(&mut input, header.rows, |number| {
                    if let Some(value) = places.next().and_then(|place| rows.values.get_mut(place)) {
                        *value = zigzag_decode(number);
                    }
                })?;
            }
            RULE_UNSIGNED => {
                let values = &mut rows.values;
                let high = |row: usize, high: u64| values[row * width + column] = high.cast_signed();
                unpack_lows(&mut input, header.rows, &mut lows, high)?;
                for (row, &low) in rows.values.chunks_exact_mut(width).zip(&lows) {
                    row[column] |= i64::from(low);
                }
            }
            _ => {}
        }
    }
    fill_columns(&header.rules, &mut rows.values);
    if header.flags & HAS_LABELS != 0 {
        decode_label_sets(&mut input, header.rows, rows)?;
    }
    if header.flags & HAS_LINKS != 0 {
        decode_links(&mut input, header.rows, &mut rows.links)?;
    }
    if header.flags & HAS_TIMES != 0 {
        decode_times(&mut input, header.rows, rows)?;
    }
    Ok(())
}

/// Decodes nodes and label sets alone, which is all that tells which symbols the rows use.
pub(crate) fn decode_symbols(bytes: &[u8], rows: &mut Rows) -> Result<(), Damaged> {
    let mut input = Reader::new(bytes);
    let header = read_header(&mut input)?;
    decode_nodes(&mut input, header.rows, rows)?;
    if header.flags & HAS_LABELS != 0 {
        for _ in header.rules.iter().filter(|rule| is_stored(rule.rule)) {
            skip(&mut input, header.rows)?;
        }
        decode_label_sets(&mut input, header.rows, rows)?;
    }
    Ok(())
}

fn decode_nodes(input: &mut Reader<'_>, count: usize, rows: &mut Rows) -> Result<(), Damaged> {
    rows.clear();
    // Nodes are stored one higher, with 0 for the empty stack.
    unpack_lows(input, count, &mut rows.nodes, |_, _| {})?;
    let mut node = NONE;
    for difference in &mut rows.nodes {
        node = node.wrapping_add(*difference);
        *difference = node;
    }
    Ok(())
}

fn decode_label_sets(input: &mut Reader<'_>, count: usize, rows: &mut Rows) -> Result<(), Damaged> {
    unpack(input, count, |id| rows.label_sets.push(low_word(id)))
}

/// Copies columns that equal another and multiplies all by their scales.
fn fill_columns(rules: &[Rule], values: &mut [i64]) {
    if rules.is_empty() {
        return;
    }
    // From the last one, since a column is copied from an earlier one before that is multiplied.
    let steps = rules.iter().enumerate().rev().map(|(column, rule)| {
        let source = match rule.rule {
            rule if rule >= RULE_SAME => usize::try_from(rule - RULE_SAME).unwrap_or(column),
            _ => column,
        };
        (column, source, rule.scale)
    });
    let steps: Vec<(usize, usize, i64)> =
        steps.filter(|&(column, source, scale)| column != source || scale != 1).collect();
    if steps.is_empty() {
        return;
    }
    for row in values.chunks_exact_mut(rules.len()) {
        for &(column, source, scale) in &steps {
            row[column] = row[source].wrapping_mul(scale);
        }
    }
}

fn decode_links(input: &mut Reader<'_>, rows: usize, links: &mut Vec<Link>) -> Result<(), Damaged> {
    for &parts in input.take(rows)? {
        let mut link = Link::default();
        if parts & 1 != 0 {
            link.span_id = *input.chunk::<8>()?;
        }
        if parts & 2 != 0 {
            link.trace_id = *input.chunk::<16>()?;
        }
        links.push(link);
    }
    Ok(())
}

fn decode_times(input: &mut Reader<'_>, count: usize, rows: &mut Rows) -> Result<(), Damaged> {
    let mut end = 0u64;
    unpack(input, count, |times| {
        end = end.saturating_add(times);
        rows.timestamp_ends.push(u32::try_from(end).unwrap_or(u32::MAX));
    })?;
    let times = input.count()?;
    if end != times as u64 || times > input.rest().len().saturating_mul(8) {
        return Err(Damaged("times"));
    }
    let mut time = 0u64;
    unpack(input, times, |difference| {
        time = time.wrapping_add(zigzag_decode(difference).cast_unsigned());
        rows.timestamps.push(time);
    })
}
