//! One sum per node: what the rows of many profiles are added up in.
//!
//! This is where a merge spends its time, and what it waits for is memory. So sums are 32 bits wide, in multiples of the
//! values' common unit (Go's CPU times are multiples of 10 ms), for as long as the total of all profiles says that every
//! sum fits; else 64. Either way the result is the same to the last unit. Rows come a pack at a time, and the places of
//! one pack are fetched into the cache while the values of the one before are added.
//!
//! Called by the readers of rows, `rows` here and in `store`; read by queries. Nothing is checked but that nodes exist:
//! whether sums fit in 64 bits is known from the totals of profiles.

use crate::{cursor::Malformed, prefetch};

/// Most rows of one [`NodeSums::add`].
pub const ROWS_PER_ADD: usize = 128;

/// One sum per node.
#[derive(Debug)]
pub struct NodeSums {
    columns: Columns,
    /// No sum will be larger than this.
    sum_max: u64,
}

#[derive(Debug)]
enum Columns {
    /// In multiples of the unit; 0 = nothing was added yet. Sums times unit fit in [`NodeSums::sum_max`].
    Narrow { unit: u64, lanes: Box<Lanes<u32>> },
    /// Values themselves.
    Wide(Box<Lanes<i64>>),
}

/// Rows of one profile that follow on each other, at most [`ROWS_PER_ADD`].
#[derive(Clone, Copy, Debug)]
pub struct RowPack<'a> {
    /// Node of the row before the first.
    pub node_before: u32,
    /// How much larger each row's node is than that of the row before, wrapping.
    pub distances: &'a [u32],
    /// So many rows at the beginning have no stack and are left out.
    pub skipped: usize,
    /// The low 32 bits of each row's number.
    pub numbers: &'a [u32],
}

/// Sums for reading.
#[derive(Clone, Copy, Debug)]
pub enum SumsView<'a> {
    /// Each times `unit`.
    Narrow {
        /// What each is multiplied with.
        unit: i64,
        /// By node.
        sums: &'a [u32],
    },
    /// As they are.
    Wide(&'a [i64]),
}

impl NodeSums {
    /// Zero for each node. `sum_max` is what no sum will exceed, if that is known and no value is negative; `None` for
    /// values of any kind, which are added up wrapping.
    #[must_use]
    pub fn new(node_count: u32, sum_max: Option<u64>) -> Self {
        let length = node_count as usize;
        let columns = match sum_max {
            Some(_) => Columns::Narrow { unit: 0, lanes: Box::new(Lanes::new(vec![0; length])) },
            None => Columns::Wide(Box::new(Lanes::new(vec![0; length]))),
        };
        Self { columns, sum_max: sum_max.unwrap_or(u64::MAX) }
    }

    /// Rows that come from here on have the value `unit × (base + number)`.
    pub fn begin(&mut self, unit: i64, base: i64) {
        self.take_unit(unit.unsigned_abs());
        match &mut self.columns {
            Columns::Narrow { unit: common, lanes } => {
                // Exact but for unit 0, where the common one may be 0 as well.
                lanes.begin(unit / (*common).max(1).cast_signed(), base);
            }
            Columns::Wide(lanes) => lanes.begin(unit, base),
        }
    }

    /// Adds a pack of rows. Returns the node of the last one.
    #[inline]
    pub fn add(&mut self, pack: &RowPack<'_>) -> u32 {
        match &mut self.columns {
            Columns::Narrow { lanes, .. } => lanes.add(pack),
            Columns::Wide(lanes) => lanes.add(pack),
        }
    }

    /// Adds to a number of the last pack, by position, what was left out there: what it has above 32 bits.
    #[inline]
    pub fn add_part(&mut self, position: usize, part: u64) {
        match &mut self.columns {
            Columns::Narrow { lanes, .. } => lanes.add_part(position, part),
            Columns::Wide(lanes) => lanes.add_part(position, part),
        }
    }

    /// Ends a run of rows.
    ///
    /// # Errors
    /// When a node does not exist. Sums are then of no use.
    pub fn finish(&mut self) -> Result<(), NodeOutOfRange> {
        let outside = match &mut self.columns {
            Columns::Narrow { lanes, .. } => lanes.finish(),
            Columns::Wide(lanes) => lanes.finish(),
        };
        if outside { Err(NodeOutOfRange) } else { Ok(()) }
    }

    /// The sums. Rows after the last [`NodeSums::finish`] may be missing.
    #[must_use]
    pub fn view(&self) -> SumsView<'_> {
        match &self.columns {
            Columns::Narrow { unit, lanes } => {
                SumsView::Narrow { unit: unit.cast_signed(), sums: &lanes.sums }
            }
            Columns::Wide(lanes) => SumsView::Wide(&lanes.sums),
        }
    }

    /// All sums as values.
    #[must_use]
    pub fn to_vec(&self) -> Vec<i64> {
        match self.view() {
            SumsView::Narrow { unit, sums } => {
                sums.iter().map(|&sum| unit.wrapping_mul(i64::from(sum))).collect()
            }
            SumsView::Wide(sums) => sums.to_vec(),
        }
    }

    /// Makes the unit one that `unit` is a multiple of, or the sums wide where they would not fit then.
    fn take_unit(&mut self, unit: u64) {
        let Columns::Narrow { unit: before, lanes } = &mut self.columns else { return };
        let common = greatest_common_divisor(*before, unit);
        if common == *before {
            return;
        }
        // Each such step makes the unit half as large at least, so there are few.
        lanes.flush();
        let factor = *before / common;
        if i64::try_from(common).is_ok() && self.sum_max / common <= u64::from(u32::MAX) {
            let factor = u32::try_from(factor).unwrap_or(u32::MAX);
            if factor > 1 {
                lanes.sums.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(factor));
            }
            *before = common;
            return;
        }
        let unit = before.cast_signed();
        let sums = lanes.sums.iter().map(|&sum| unit.wrapping_mul(i64::from(sum))).collect();
        let wide = Lanes { outside: lanes.outside, ..Lanes::new(sums) };
        self.columns = Columns::Wide(Box::new(wide));
    }
}

/// A row points behind the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeOutOfRange;

impl From<NodeOutOfRange> for Malformed {
    fn from(NodeOutOfRange: NodeOutOfRange) -> Self {
        Self("row points behind the nodes")
    }
}

/// The greatest number that divides both; 0 divides nothing and is divided by all.
fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A number that rows are added up in; arithmetic wraps.
trait Lane: Copy + Default {
    fn low(number: u32) -> Self;
    /// The low bits.
    fn of(number: i64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

impl Lane for u32 {
    #[inline]
    fn low(number: u32) -> Self {
        number
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low bits are asked for")]
    fn of(number: i64) -> Self {
        number as Self
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

impl Lane for i64 {
    #[inline]
    fn low(number: u32) -> Self {
        Self::from(number)
    }

    #[inline]
    fn of(number: i64) -> Self {
        number
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

/// Sums of one width, and the rows on their way into them.
#[derive(Debug)]
struct Lanes<T> {
    sums: Vec<T>,
    /// A value is `factor × number + constant`.
    factor: T,
    constant: T,
    /// Rows whose places are being fetched.
    waiting: Batch<T>,
    /// Some row had a node that does not exist.
    outside: bool,
}

#[derive(Debug)]
struct Batch<T> {
    nodes: [u32; ROWS_PER_ADD],
    values: [T; ROWS_PER_ADD],
    /// The rows of the pack that are added.
    start: usize,
    end: usize,
}

impl<T: Lane> Lanes<T> {
    fn new(sums: Vec<T>) -> Self {
        let (nodes, values) = ([0; ROWS_PER_ADD], [T::default(); ROWS_PER_ADD]);
        let waiting = Batch { nodes, values, start: 0, end: 0 };
        Self { sums, factor: T::default(), constant: T::default(), waiting, outside: false }
    }

    fn begin(&mut self, factor: i64, base: i64) {
        self.factor = T::of(factor);
        self.constant = T::of(factor.wrapping_mul(base));
    }

    fn add(&mut self, pack: &RowPack<'_>) -> u32 {
        self.flush();
        let Self { sums, factor, constant, waiting, .. } = self;
        let (sums, factor, constant) = (sums.as_slice(), *factor, *constant);
        let mut node = pack.node_before;
        for (place, &distance) in waiting.nodes.iter_mut().zip(pack.distances) {
            node = node.wrapping_add(distance);
            *place = node;
            if let Some(sum) = sums.get(node as usize) {
                prefetch(sum);
            }
        }
        for (value, &number) in waiting.values.iter_mut().zip(pack.numbers) {
            *value = factor.times(T::low(number)).plus(constant);
        }
        waiting.start = pack.skipped;
        waiting.end = pack.distances.len().min(pack.numbers.len()).min(ROWS_PER_ADD);
        node
    }

    /// Adds the rows that wait.
    fn flush(&mut self) {
        let Self { sums, waiting, outside, .. } = self;
        let rows = waiting.start..std::mem::take(&mut waiting.end);
        let (Some(nodes), Some(values)) = (waiting.nodes.get(rows.clone()), waiting.values.get(rows)) else {
            return;
        };
        let sums = sums.as_mut_slice();
        for (&node, &value) in nodes.iter().zip(values) {
            let Some(sum) = sums.get_mut(node as usize) else {
                *outside = true;
                return;
            };
            *sum = sum.plus(value);
        }
    }

    #[inline]
    fn add_part(&mut self, position: usize, part: u64) {
        if let Some(value) = self.waiting.values.get_mut(position) {
            *value = value.plus(self.factor.times(T::of(part.cast_signed())));
        }
    }

    fn finish(&mut self) -> bool {
        self.flush();
        self.outside
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NODES: u32 = 50;

    /// A profile: its unit, its base, and its rows with distances that stay below [`NODES`].
    #[derive(Clone, Debug)]
    struct Run {
        unit: i64,
        base: i64,
        rows: Vec<(u32, u64)>,
        skipped: usize,
    }

    fn run(
        units: impl Strategy<Value = i64>,
        numbers: impl Strategy<Value = u64>,
    ) -> impl Strategy<Value = Run> {
        let rows = proptest::collection::vec((0..NODES, numbers), 0..ROWS_PER_ADD);
        (units, 0_i64..5, rows, 0_usize..3).prop_map(|(unit, base, mut rows, skipped)| {
            rows.sort_unstable();
            let skipped = skipped.min(rows.len());
            Run { unit, base, rows, skipped }
        })
    }

    fn add(run: &Run, sums: &mut NodeSums, expected: &mut [i64]) {
        let mut before = u32::MAX;
        let mut distances = Vec::new();
        for &(node, _) in &run.rows {
            distances.push(node.wrapping_sub(before));
            before = node;
        }
        let numbers: Vec<u32> = run.rows.iter().map(|&(_, number)| number as u32).collect();
        let pack =
            RowPack { node_before: u32::MAX, distances: &distances, skipped: run.skipped, numbers: &numbers };
        sums.begin(run.unit, run.base);
        assert_eq!(sums.add(&pack), before);
        for (position, &(node, number)) in run.rows.iter().enumerate().skip(run.skipped) {
            if number > u64::from(u32::MAX) {
                sums.add_part(position, number >> 32 << 32);
            }
            let value = run.unit.wrapping_mul(run.base.wrapping_add(number.cast_signed()));
            expected[node as usize] = expected[node as usize].wrapping_add(value);
        }
    }

    fn is_narrow(sums: &NodeSums) -> bool {
        matches!(sums.view(), SumsView::Narrow { .. })
    }

    proptest! {
        #[test]
        fn values_of_any_kind_are_added_up_wrapping(
            runs in proptest::collection::vec(run(any::<i64>(), any::<u64>()), 0..5),
        ) {
            let (mut sums, mut expected) = (NodeSums::new(NODES, None), vec![0; NODES as usize]);
            runs.iter().for_each(|run| add(run, &mut sums, &mut expected));
            sums.finish().unwrap();
            prop_assert_eq!(sums.to_vec(), expected);
        }

        #[test]
        fn narrow_sums_are_exact_whatever_units_meet(
            runs in proptest::collection::vec(
                run(prop_oneof![Just(10_000_000), Just(15_000_000), Just(0), Just(1), 0_i64..1 << 40], 0_u64..1000),
                0..12,
            ),
            spare in 0_u64..1 << 50,
        ) {
            let mut expected = vec![0; NODES as usize];
            let mut discarded = NodeSums::new(NODES, None);
            runs.iter().for_each(|run| add(run, &mut discarded, &mut expected));
            let total = expected.iter().sum::<i64>().unsigned_abs();
            let mut sums = NodeSums::new(NODES, Some(total + spare));
            runs.iter().for_each(|run| add(run, &mut sums, &mut vec![0; NODES as usize]));
            sums.finish().unwrap();
            prop_assert_eq!(sums.to_vec(), expected);
        }
    }

    #[test]
    fn sums_become_wide_when_their_unit_becomes_too_small() {
        let one = |unit, number| Run { unit, base: 0, rows: vec![(7, number)], skipped: 0 };
        let largest = u64::from(u32::MAX);
        let mut expected = vec![0; NODES as usize];
        let mut sums = NodeSums::new(NODES, Some(largest * 10));
        add(&one(20, largest / 2), &mut sums, &mut expected);
        add(&one(10, 1), &mut sums, &mut expected);
        assert!(is_narrow(&sums), "{largest} times 10 fits");
        sums.finish().unwrap();
        assert_eq!(sums.to_vec(), expected);
        let mut sums = NodeSums::new(NODES, Some(largest * 10 + 5));
        let mut expected = vec![0; NODES as usize];
        add(&one(10, largest), &mut sums, &mut expected);
        assert!(is_narrow(&sums));
        add(&one(5, 1), &mut sums, &mut expected);
        assert!(!is_narrow(&sums), "in units of 5 the sum needs 33 bits");
        sums.finish().unwrap();
        assert_eq!(sums.to_vec(), expected);
    }

    #[test]
    fn a_node_that_does_not_exist_is_an_error_in_either_width() {
        for sum_max in [Some(100), None] {
            for (node, skipped, expected) in
                [(NODES, 0, Err(NodeOutOfRange)), (NODES - 1, 0, Ok(())), (NODES, 1, Ok(()))]
            {
                let mut sums = NodeSums::new(NODES, sum_max);
                sums.begin(1, 0);
                sums.add(&RowPack { node_before: 0, distances: &[node], skipped, numbers: &[1] });
                assert_eq!(sums.finish(), expected, "node {node}, {skipped} skipped");
            }
        }
    }
}
