//! Decoded profiles as a dataset without a log or a folder: what the command line opens files with.

use std::sync::Arc;

use block::Dataset;
use profile::{ProfileId, Tenant};

use crate::{
    NewProfile, PushError,
    identity::profile_id,
    partition::{Entry, HeadProfile, Partition, PushBuffer, Wanted, check_sums},
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
    buffer: PushBuffer,
}

/// Whether a record is written for the log.
#[derive(Clone, Copy)]
enum LogRecord {
    Written,
    NotWritten,
}

impl MemoryDataset {
    /// An empty one; `service` is what [`Dataset::service`] answers.
    #[must_use]
    pub fn new(service: &str) -> Self {
        Self {
            partition: Arc::new(Partition::new(Tenant::anonymous(), service, 0)),
            buffer: PushBuffer::default(),
        }
    }

    /// Adds a profile as it is: no retry is recognised and nothing is subtracted. A profile without samples is added
    /// too.
    ///
    /// # Errors
    /// When the sum of a column does not fit in 64 bits.
    pub fn add(&mut self, new: &NewProfile<'_>) -> Result<ProfileId, PushError> {
        self.add_with(new, LogRecord::NotWritten).map(|(id, _)| id)
    }

    /// Like [`MemoryDataset::add`], and writes the compressed record that [`crate::Store::push`] would hand to the
    /// log; answers its length in bytes. For measuring what taking profiles in costs.
    ///
    /// # Errors
    /// When the sum of a column does not fit in 64 bits.
    pub fn add_logged(&mut self, new: &NewProfile<'_>) -> Result<(ProfileId, usize), PushError> {
        self.add_with(new, LogRecord::Written)
    }

    fn add_with(&mut self, new: &NewProfile<'_>, record: LogRecord) -> Result<(ProfileId, usize), PushError> {
        check_sums(&new.profile)?;
        let wanted = Wanted {
            labels: &new.labels,
            name: new.name,
            temporality: new.temporality,
            time: new.time,
            id: new.id.unwrap_or_else(|| profile_id(new)),
        };
        let mut writer = self.partition.lock();
        let interned = self.partition.intern(&mut writer, &wanted, &new.profile, &mut self.buffer);
        let meta = self.partition.encode_rows(interned, &wanted, &new.profile, &mut self.buffer);
        let mut length = 0;
        if matches!(record, LogRecord::Written) {
            let (rows, time_is_stated) = (&self.buffer.rows, new.time_is_stated);
            let entry = Entry::Profile { meta: &meta, rows, baseline: None, time_is_stated };
            self.partition.encode_record(&mut writer, &entry, new.time, &mut self.buffer.record);
            length = self.buffer.compress().1.len();
        }
        self.partition.publish_profile(HeadProfile {
            meta,
            rows: self.buffer.rows.as_slice().into(),
            sequence: 0,
        });
        self.buffer.shrink();
        Ok((wanted.id, length))
    }

    /// Everything added so far.
    #[must_use]
    pub fn snapshot(&self) -> Arc<dyn Dataset> {
        Arc::new(self.partition.snapshot())
    }
}
