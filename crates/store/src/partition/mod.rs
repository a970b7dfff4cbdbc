//! A partition: all that the head holds of one service of one tenant.
//!
//! One writer at a time interns profiles under the lock ([`Partition::lock`]); readers take a [`HeadSnapshot`], which
//! is a set of table lengths and never waits. Symbols that a push adds become visible before the profile that uses
//! them, the profile itself last.
//!
//! Not here: the log's file (`log`), when a partition ends (`generation`), ids and retries (`store`).

mod bytes;
mod intern;
mod rows;
mod snapshot;
mod tables;

#[cfg(test)]
mod tests;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use block::{DatasetId, ProfileMeta};
use profile::{LabelSet, Profile, ProfileId, Temporality, Timestamp};

use self::intern::Interner;
pub(crate) use self::{
    intern::InternBuffer,
    snapshot::HeadSnapshot,
    tables::{HeadProfile, Tables},
};
use crate::PushError;

/// Names of datasets, unique in this process.
static NEXT_DATASET: AtomicU64 = AtomicU64::new(1);

/// A name that no dataset of this process has.
pub(crate) fn next_dataset_id() -> DatasetId {
    DatasetId(NEXT_DATASET.fetch_add(1, Ordering::Relaxed))
}

/// One service's symbols and profiles since the last flush.
pub(crate) struct Partition {
    id: DatasetId,
    service: String,
    tables: Tables,
    writer: Mutex<Writer>,
    /// Bytes of rows and texts; tables are asked.
    payload_bytes: AtomicU64,
}

/// What only the holder of the lock has.
pub(crate) struct Writer {
    interner: Interner,
}

/// What is to be kept of a profile, beside what its columns say.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    /// Labels of the series.
    pub(crate) labels: &'a LabelSet,
    /// Profile name.
    pub(crate) name: &'a str,
    /// How values relate along time.
    pub(crate) temporality: Temporality,
    /// Start.
    pub(crate) time: Timestamp,
    /// Id.
    pub(crate) id: ProfileId,
}

/// Sums of all columns.
///
/// # Errors
/// When a sum of magnitudes does not fit in 63 bits: then no sum over rows of this profile can pass the limit (D5).
pub(crate) fn column_totals(profile: &Profile<'_>) -> Result<Box<[i64]>, PushError> {
    let columns = profile.columns;
    let width = columns.sample_types.len();
    let mut totals = vec![0i64; width].into_boxed_slice();
    if width == 0 {
        return Ok(totals);
    }
    let mut magnitudes = vec![0u64; width];
    for sample in columns.values.chunks_exact(width) {
        for ((&value, total), magnitude) in sample.iter().zip(&mut totals).zip(&mut magnitudes) {
            *magnitude = magnitude.saturating_add(value.unsigned_abs());
            *total = total.wrapping_add(value);
        }
    }
    match magnitudes.iter().position(|&magnitude| i64::try_from(magnitude).is_err()) {
        None => Ok(totals),
        Some(column) => Err(PushError::Invalid {
            field: format!("sample_type[{column}]"),
            reason: "the sum of its values does not fit in 64 bits".to_owned(),
        }),
    }
}

impl Partition {
    /// An empty partition.
    pub(crate) fn new(service: &str) -> Self {
        Self {
            id: next_dataset_id(),
            service: service.to_owned(),
            tables: Tables::new(),
            writer: Mutex::new(Writer { interner: Interner::new() }),
            payload_bytes: AtomicU64::new(0),
        }
    }

    /// Takes the writer's place. A thread that panicked in it has left tables that are whole up to their lengths.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Interns a profile and encodes its rows into `rows`; what comes back is to be handed to
    /// [`Partition::publish`]. `totals` are the profile's [`column_totals`].
    pub(crate) fn intern(
        &self,
        writer: &mut Writer,
        wanted: &Wanted<'_>,
        profile: &Profile<'_>,
        totals: Box<[i64]>,
        buffer: &mut InternBuffer,
        rows: &mut Vec<u8>,
    ) -> ProfileMeta {
        let text_before = self.tables.text.len();
        let interner = &mut writer.interner;
        let header = interner.profile(&self.tables, profile, buffer);
        let series = interner.series(&self.tables, wanted.labels, wanted.name, wanted.temporality, profile);
        rows.clear();
        buffer.rows.encode(rows);
        let text_bytes: usize = (text_before..self.tables.text.len())
            .filter_map(|chunk| self.tables.text.get(chunk))
            .map(|text| text.len())
            .sum();
        self.payload_bytes.fetch_add(text_bytes as u64, Ordering::Relaxed);
        let columns = profile.columns;
        ProfileMeta {
            id: wanted.id,
            series,
            time: wanted.time,
            duration_nanos: columns.header.duration_nanos,
            period: columns.header.period,
            rows: u32::try_from(buffer.rows.nodes.len()).unwrap_or(u32::MAX),
            header,
            totals,
            has_labels: !buffer.rows.label_sets.is_empty(),
            has_negative: buffer.rows.columns.iter().flatten().any(|&value| value < 0),
        }
    }

    /// Makes a profile visible.
    pub(crate) fn publish(&self, _writer: &mut Writer, meta: ProfileMeta, rows: &[u8]) {
        let bytes = rows.len() + meta.totals.len() * size_of::<i64>();
        self.payload_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.tables.profiles.push(HeadProfile { meta, rows: rows.into() });
    }

    /// Everything that is visible now.
    pub(crate) fn snapshot(self: &Arc<Self>) -> HeadSnapshot {
        HeadSnapshot::of(Arc::clone(self))
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self, writer: &Writer) -> u64 {
        self.payload_bytes.load(Ordering::Relaxed) + self.tables.bytes() + writer.interner.bytes()
    }
}
