//! The bare dense accumulate: one addition per row into an array with a place for every node.
//!
//! This is the floor under any merge: rows lie decoded in memory, in the order in which they were stored.

use block::{BlockError, Dataset, NONE, Rows};

/// Rows below which the reference counts as slow, per second.
pub const ROWS_PER_SECOND_MIN: f64 = 150e6;

/// One column of all rows of a dataset, decoded.
#[derive(Default)]
pub struct PlainRows {
    nodes: Vec<u32>,
    values: Vec<i64>,
    sums: Vec<i64>,
}

impl PlainRows {
    /// Decodes one column of every profile.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn of(dataset: &dyn Dataset, column: usize) -> Result<Self, BlockError> {
        let mut plain = Self::default();
        let mut rows = Rows::default();
        for profile in 0..dataset.profile_count() {
            dataset.rows(profile, &mut rows)?;
            let width = rows.values.len() / rows.nodes.len().max(1);
            for (&node, values) in rows.nodes.iter().zip(rows.values.chunks_exact(width.max(1))) {
                if node != NONE {
                    plain.nodes.push(node);
                    plain.values.push(values[column]);
                }
            }
        }
        plain.sums = vec![0; dataset.symbols()?.node_count() as usize];
        Ok(plain)
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds up all rows and returns the sum over all nodes.
    pub fn accumulate(&mut self) -> i64 {
        self.sums.fill(0);
        for (&node, &value) in self.nodes.iter().zip(&self.values) {
            let sum = &mut self.sums[node as usize];
            *sum = sum.wrapping_add(value);
        }
        self.sums.iter().fold(0, |total, &sum| total.wrapping_add(sum))
    }
}
