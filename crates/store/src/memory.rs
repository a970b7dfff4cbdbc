//! Decoded profiles as a dataset without a log or a folder: what the command line opens files with.

use std::sync::Arc;

use block::Dataset;
use profile::ProfileId;

use crate::{
    NewProfile, PushError,
    identity::profile_id,
    partition::{InternBuffer, Partition, Wanted, column_totals},
};

/// A head of one service that nothing writes to disk.
///
/// ```
/// # use store::MemoryDataset;
/// let memory = MemoryDataset::new("files");
/// assert_eq!(memory.snapshot().profile_count(), 0);
/// ```
pub struct MemoryDataset {
    partition: Arc<Partition>,
    buffer: InternBuffer,
    rows: Vec<u8>,
}

impl MemoryDataset {
    /// An empty one; `service` is what [`Dataset::service`] answers.
    #[must_use]
    pub fn new(service: &str) -> Self {
        Self {
            partition: Arc::new(Partition::new(service)),
            buffer: InternBuffer::default(),
            rows: Vec::new(),
        }
    }

    /// Adds a profile as it is: no retry is recognised and nothing is subtracted. A profile without samples is added
    /// too.
    ///
    /// # Errors
    /// When the sum of a column does not fit in 64 bits.
    pub fn add(&mut self, new: &NewProfile<'_>) -> Result<ProfileId, PushError> {
        let totals = column_totals(&new.profile)?;
        let wanted = Wanted {
            labels: &new.labels,
            name: new.name,
            temporality: new.temporality,
            time: new.time,
            id: new.id.unwrap_or_else(|| profile_id(new)),
        };
        let mut writer = self.partition.lock();
        let meta = self.partition.intern(
            &mut writer,
            &wanted,
            &new.profile,
            totals,
            &mut self.buffer,
            &mut self.rows,
        );
        self.partition.publish(&mut writer, meta, &self.rows);
        self.buffer.shrink();
        Ok(wanted.id)
    }

    /// Everything added so far.
    #[must_use]
    pub fn snapshot(&self) -> Arc<dyn Dataset> {
        Arc::new(self.partition.snapshot())
    }
}
