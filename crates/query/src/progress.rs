//! Deadline, cancellation and budget, looked at between pieces of work.

use std::{collections::HashSet, sync::atomic::Ordering, time::Instant};

use crate::{Control, QueryError};

/// What one query has read, against what it may.
pub(crate) struct Progress<'a> {
    control: &'a Control,
    bytes_max: u64,
    /// Encoded bytes read so far.
    pub bytes: u64,
    /// Rows read so far.
    pub rows: u64,
    /// What rows have decided so far.
    pub taken: Taken,
}

/// Profiles that were chosen by their rows: only once these are read is it known whether there is one.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// How many had a row that was taken.
    pub profiles: u64,
    /// Numbers of their series in the plan.
    pub series: HashSet<u32>,
}

impl Taken {
    /// Counts a profile that had at least one.
    pub fn add(&mut self, series: u32) {
        self.profiles += 1;
        self.series.insert(series);
    }
}

impl<'a> Progress<'a> {
    /// A query that may read what its control says, at most what the engine allows.
    pub fn new(control: &'a Control, engine_bytes_max: u64) -> Self {
        let bytes_max =
            if control.bytes_max == 0 { engine_bytes_max } else { control.bytes_max.min(engine_bytes_max) };
        Self { control, bytes_max, bytes: 0, rows: 0, taken: Taken::default() }
    }

    /// Ends the query when its time is over or its client has gone.
    pub fn check(&self) -> Result<(), QueryError> {
        if self.control.cancelled.load(Ordering::Relaxed) {
            return Err(QueryError::Cancelled);
        }
        if self.control.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(QueryError::Deadline);
        }
        Ok(())
    }

    /// Counts what was read and ends the query when it was too much.
    pub fn read(&mut self, bytes: u64, rows: u64) -> Result<(), QueryError> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows = self.rows.saturating_add(rows);
        if self.bytes > self.bytes_max {
            return Err(QueryError::Budget { limit: self.bytes_max });
        }
        self.check()
    }
}
