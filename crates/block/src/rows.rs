//! Rows of one profile: a node per row and its values, packed 128 rows at a time.
//!
//! ```text
//! rows without a stack | column heads | pack of nodes | pack per kept column | pack of nodes | …
//! ```
//!
//! Rows are sorted by node, those without a stack first, and nodes are kept as distances. A column is a constant, or
//! `unit × (base + packed number)`, or the numbers of another column with a unit of its own: Go's `samples` and `cpu`
//! differ only in the unit, so one of them costs nothing. A sum over one column reads only the lengths of the others.
//!
//! This is the format's hot path: adding up rows has to run at memory speed.

use crate::{
    Divisor, NONE, Rows,
    cursor::{Cursor, Malformed, put_signed, put_varint},
    packing::{Lows, PACK_LENGTH, Pack, Packer},
    sums::{NodeSums, RowPack},
};

/// Every value of the column is the same.
const KIND_CONSTANT: u8 = 0;
/// Same packed numbers as an earlier column, another unit.
const KIND_SHARED: u8 = 1;
/// Numbers of its own.
const KIND_PACKED: u8 = 2;

/// How a column's values are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Constant(i64),
    /// `unit × (base + number of the lane)`, wrapping.
    Packed {
        lane: usize,
        unit: i64,
        base: i64,
    },
}

/// Writes rows; keeps its buffers from profile to profile.
pub(crate) struct RowWriter {
    packer: Packer,
    /// Scaled values of kept columns, column by column; memory of earlier profiles may follow.
    scaled: Vec<Vec<i64>>,
}

impl RowWriter {
    pub(crate) fn new() -> Self {
        Self { packer: Packer::new(), scaled: Vec::new() }
    }

    /// Appends rows: nodes sorted with [`NONE`] first, values column by column.
    pub(crate) fn write(&mut self, nodes: &[u32], columns: &[Vec<i64>], out: &mut Vec<u8>) {
        debug_assert!(columns.iter().all(|values| values.len() == nodes.len()));
        let empty = nodes.iter().take_while(|&&node| node == NONE).count();
        put_varint(out, empty as u64);
        let bases = self.write_heads(columns, out);
        let mut numbers = Vec::with_capacity(PACK_LENGTH);
        let mut last = 0;
        for start in (0..nodes.len()).step_by(PACK_LENGTH) {
            let end = nodes.len().min(start + PACK_LENGTH);
            numbers.clear();
            for &node in &nodes[start..end] {
                let node = if node == NONE { 0 } else { node };
                debug_assert!(node >= last, "rows are sorted by node");
                numbers.push(u64::from(node.wrapping_sub(last)));
                last = node;
            }
            self.packer.write(&numbers, out);
            for (scaled, &base) in self.scaled.iter().zip(&bases) {
                numbers.clear();
                numbers
                    .extend(scaled[start..end].iter().map(|value| value.wrapping_sub(base).cast_unsigned()));
                self.packer.write(&numbers, out);
            }
        }
    }

    /// Writes the column heads and fills `scaled`; the bases of its columns.
    fn write_heads(&mut self, columns: &[Vec<i64>], out: &mut Vec<u8>) -> Vec<i64> {
        let mut bases = Vec::new();
        for values in columns {
            let first = values.first().copied().unwrap_or(0);
            // Not all values are 0 where there is a divisor.
            let divisor = match Divisor::of_all(values) {
                Some(divisor) if values.iter().any(|&value| value != first) => divisor,
                _ => {
                    out.push(KIND_CONSTANT);
                    put_signed(out, first);
                    continue;
                }
            };
            let lane = bases.len();
            if self.scaled.len() == lane {
                self.scaled.push(Vec::new());
            }
            let (known, free) = self.scaled.split_at_mut(lane);
            let scaled = &mut free[0];
            scaled.clear();
            if divisor.value() == 1 {
                scaled.extend_from_slice(values);
            } else {
                scaled.extend(values.iter().map(|&value| divide(value, &divisor)));
            }
            if let Some(twin) = known.iter().position(|known| known == scaled) {
                out.push(KIND_SHARED);
                put_varint(out, twin as u64);
                put_varint(out, divisor.value());
                continue;
            }
            let base = scaled.iter().copied().min().unwrap_or(0);
            out.push(KIND_PACKED);
            put_varint(out, divisor.value());
            put_signed(out, base);
            bases.push(base);
        }
        bases
    }
}

/// A value divided by what divides it.
fn divide(value: i64, divisor: &Divisor) -> i64 {
    let magnitude = divisor.divide(value.unsigned_abs()).cast_signed();
    if value < 0 { magnitude.wrapping_neg() } else { magnitude }
}

/// A profile's packed rows, heads read.
#[derive(Debug)]
pub(crate) struct PackedRows<'a> {
    rows: usize,
    /// Rows without a stack, which come first.
    empty: usize,
    columns: Vec<Column>,
    lanes: usize,
    packs: Cursor<'a>,
}

impl<'a> PackedRows<'a> {
    /// Reads the heads. A row costs no bytes when all values are constant and every node is the same, so `rows` has to
    /// come from a checked profile table.
    pub(crate) fn read(bytes: &'a [u8], rows: u32, columns: usize) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let empty = cursor.varint_u32()?;
        if empty > rows {
            return Err(Malformed("more rows without a stack than rows"));
        }
        let mut heads = Vec::with_capacity(columns);
        let mut lanes: Vec<i64> = Vec::new();
        for _ in 0..columns {
            heads.push(match cursor.byte()? {
                KIND_CONSTANT => Column::Constant(cursor.signed()?),
                KIND_SHARED => {
                    let lane = usize::try_from(cursor.varint()?).unwrap_or(usize::MAX);
                    let base = *lanes.get(lane).ok_or(Malformed("column shares one that is not there"))?;
                    Column::Packed { lane, unit: cursor.varint()?.cast_signed(), base }
                }
                KIND_PACKED => {
                    let unit = cursor.varint()?.cast_signed();
                    lanes.push(cursor.signed()?);
                    Column::Packed { lane: lanes.len() - 1, unit, base: lanes[lanes.len() - 1] }
                }
                _ => return Err(Malformed("column is of no known kind")),
            });
        }
        let (rows, empty) = (rows as usize, empty as usize);
        Ok(Self { rows, empty, columns: heads, lanes: lanes.len(), packs: cursor })
    }

    /// Adds a column to the sums. Rows without a stack have no node and are left out.
    pub(crate) fn add(
        mut self,
        packer: &Packer,
        column: usize,
        sums: &mut NodeSums,
    ) -> Result<(), Malformed> {
        let column = *self.columns.get(column).ok_or(Malformed("column is not there"))?;
        let (before, behind) = match column {
            Column::Constant(value) => {
                sums.begin(value, 1);
                (self.lanes, 0)
            }
            Column::Packed { lane, unit, base } => {
                sums.begin(unit, base);
                (lane, self.lanes - lane - 1)
            }
        };
        let mut distances = [0; PACK_LENGTH];
        let mut lows = [0; PACK_LENGTH];
        let mut node = 0;
        for start in (0..self.rows).step_by(PACK_LENGTH) {
            let length = PACK_LENGTH.min(self.rows - start);
            let pack = Pack::read(&mut self.packs, length)?;
            packer.distances(&pack, &mut distances)?;
            self.skip_lanes(before, length)?;
            let numbers = match column {
                Column::Constant(_) => None,
                Column::Packed { .. } => {
                    let pack = Pack::read(&mut self.packs, length)?;
                    packer.lows(&pack, &mut lows);
                    Some(pack)
                }
            };
            node = sums.add(&RowPack {
                node_before: node,
                distances: &distances[..length],
                skipped: self.empty.saturating_sub(start).min(length),
                numbers: &lows[..length],
            });
            if let Some(pack) = numbers {
                pack.for_each_exception(|position, high| sums.add_part(position, high))?;
                self.skip_lanes(behind, length)?;
            }
        }
        self.packs.finish()
    }

    fn skip_lanes(&mut self, lanes: usize, length: usize) -> Result<(), Malformed> {
        for _ in 0..lanes {
            Pack::read(&mut self.packs, length)?;
        }
        Ok(())
    }

    /// Decodes nodes and values of all rows.
    pub(crate) fn decode(
        mut self,
        packer: &Packer,
        node_count: u32,
        rows: &mut Rows,
    ) -> Result<(), Malformed> {
        let width = self.columns.len();
        let mut nodes = [0; PACK_LENGTH];
        let mut lanes = vec![[0_u64; PACK_LENGTH]; self.lanes];
        let mut last = 0;
        for start in (0..self.rows).step_by(PACK_LENGTH) {
            let length = PACK_LENGTH.min(self.rows - start);
            let skipped = self.empty.saturating_sub(start).min(length);
            let pack = Pack::read(&mut self.packs, length)?;
            packer.running_sums(&pack, last, &mut nodes)?;
            last = nodes[length - 1];
            if nodes[skipped..length].iter().any(|&node| node >= node_count) {
                return Err(Malformed("row points behind the nodes"));
            }
            nodes[..skipped].fill(NONE);
            rows.nodes.extend_from_slice(&nodes[..length]);
            for lane in &mut lanes {
                read_lane(packer, &Pack::read(&mut self.packs, length)?, lane)?;
            }
            let value = |row: usize, column: &Column| match *column {
                Column::Constant(value) => value,
                Column::Packed { lane, unit, base } => {
                    unit.wrapping_mul(base.wrapping_add(lanes[lane][row].cast_signed()))
                }
            };
            let columns = &self.columns;
            rows.values
                .extend((0..length).flat_map(|row| columns.iter().map(move |column| value(row, column))));
        }
        debug_assert_eq!(rows.values.len(), rows.nodes.len() * width);
        self.packs.finish()
    }
}

fn read_lane(packer: &Packer, pack: &Pack<'_>, lane: &mut [u64; PACK_LENGTH]) -> Result<(), Malformed> {
    let mut lows: Lows = [0; PACK_LENGTH];
    packer.lows(pack, &mut lows);
    for (number, low) in lane.iter_mut().zip(lows) {
        *number = u64::from(low);
    }
    pack.for_each_exception(|position, high| lane[position] |= high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_column(values: &[i64], columns: usize) -> Vec<Vec<i64>> {
        (0..columns).map(|column| values.iter().skip(column).step_by(columns).copied().collect()).collect()
    }

    fn check(mut nodes: Vec<u32>, values: &[i64], columns: usize) {
        nodes.sort_unstable_by_key(|node| node.wrapping_add(1));
        let mut bytes = Vec::new();
        let mut writer = RowWriter::new();
        writer.write(&nodes, &by_column(values, columns), &mut bytes);
        let count = u32::try_from(nodes.len()).unwrap();
        let packer = Packer::new();
        let mut rows = Rows::default();
        PackedRows::read(&bytes, count, columns).unwrap().decode(&packer, 1000, &mut rows).unwrap();
        assert_eq!(rows.nodes, nodes);
        assert_eq!(rows.values, values);
        for column in 0..columns {
            let mut expected = vec![0_i64; 1000];
            for (row, &node) in nodes.iter().enumerate().filter(|(_, node)| **node != NONE) {
                expected[node as usize] =
                    expected[node as usize].wrapping_add(values[row * columns + column]);
            }
            let mut sums = NodeSums::new(1000, None);
            PackedRows::read(&bytes, count, columns).unwrap().add(&packer, column, &mut sums).unwrap();
            sums.finish().unwrap();
            assert_eq!(sums.to_vec(), expected, "column {column}");
        }
        if !nodes.is_empty() {
            for length in 0..bytes.len() {
                let cut = PackedRows::read(&bytes[..length], count, columns);
                let decoded = cut.and_then(|cut| cut.decode(&packer, 1000, &mut Rows::default()));
                assert!(decoded.is_err(), "cut at {length}");
            }
        }
    }

    fn node() -> impl Strategy<Value = u32> {
        prop_oneof![1 => Just(NONE), 9 => 0_u32..1000]
    }

    fn value() -> impl Strategy<Value = i64> {
        prop_oneof![
            20 => 0_i64..5,
            5 => (-1000_i64..1000).prop_map(|value| value * 10_000_000),
            1 => any::<i64>(),
            1 => Just(i64::MIN),
            1 => Just(i64::MAX),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn rows_come_back(
            (nodes, values) in (0_usize..300, 1_usize..4).prop_flat_map(|(rows, columns)| (
                proptest::collection::vec(node(), rows),
                proptest::collection::vec(value(), rows * columns).prop_map(move |values| (values, columns)),
            )),
        ) {
            check(nodes, &values.0, values.1);
        }
    }

    #[test]
    fn a_multiple_of_another_column_costs_a_few_bytes() {
        let nodes: Vec<u32> = (0..640).collect();
        let one: Vec<i64> = (0..640).map(|row| row % 7 + 1).collect();
        let two: Vec<i64> = one.iter().flat_map(|&count| [count, count * 10_000_000]).collect();
        check(nodes.clone(), &two, 2);
        let (mut single, mut double) = (Vec::new(), Vec::new());
        RowWriter::new().write(&nodes, &by_column(&one, 1), &mut single);
        RowWriter::new().write(&nodes, &by_column(&two, 2), &mut double);
        assert!(double.len() - single.len() <= 6, "{} and {}", single.len(), double.len());
    }

    #[test]
    fn extremes_and_constants() {
        check(vec![1, 2], &[i64::MIN, i64::MAX], 1);
        check(vec![1, 2], &[i64::MIN, 0], 1);
        check(vec![1, 2, NONE], &[7, -3, 7, -3, 7, -3], 2);
        check(vec![NONE; 200], &(0..200).collect::<Vec<_>>(), 1);
        check(vec![], &[], 2);
    }
}
