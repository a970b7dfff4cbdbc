//! A partition: all that the head holds of one service of one tenant.
//!
//! One writer at a time interns profiles under the lock ([`Partition::lock`]); readers take a [`HeadSnapshot`], which
//! is a set of table lengths and never waits. Symbols that a push adds become visible before the profile that uses
//! them, the profile itself last.
//!
//! Not here: the log's file (`log`), when a partition ends (`generation`), ids and retries (`store`).

mod baseline;
mod bytes;
mod carry;
mod code;
mod functions;
mod intern;
mod record;
mod rows;
mod sample_rows;
mod snapshot;
mod spread;
mod stacks;
mod symbols;
mod tables;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use block::{DatasetId, ProfileMeta, Rows};
use profile::{LabelSet, Profile, ProfileId, Temporality, Tenant, Timestamp};

pub(crate) use self::{
    baseline::Baseline,
    bytes::Damaged,
    record::{Entry, RecordHead, Replayed, decode_head},
    snapshot::HeadSnapshot,
    tables::{HeadAttachment, HeadProfile, Tables},
};
use self::{
    functions::FunctionTree,
    intern::{InternBuffer, Interner},
    rows::RowBuffer,
    symbols::Holes,
    tables::Lengths,
};
use crate::{PushError, limits::BASELINE_AGE_MAX};

/// Bytes of one encoded profile that a buffer keeps room for; a giant's memory goes back.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// One service's symbols and profiles since the last flush.
pub(crate) struct Partition {
    id: DatasetId,
    tenant: Tenant,
    service: String,
    /// Its number within its generation; log records name it by that.
    number: u32,
    tables: Tables,
    writer: Mutex<Writer>,
    /// Derives the function-level tree; only readers take this lock.
    functions: Mutex<FunctionTree>,
    /// Bytes of rows, texts and attachments; tables are asked.
    payload_bytes: AtomicU64,
    /// How many of its profiles the tally has.
    counted: AtomicU32,
}

/// What only the holder of the lock has.
pub(crate) struct Writer {
    interner: Interner,
    /// What log records have of the tables.
    logged: Lengths,
    /// Whether a log record has the partition's name.
    is_named: bool,
    /// Symbols that replaying did not find.
    holes: Holes,
    /// Ids in this partition, each with its place in the log.
    pub(crate) known: HashMap<ProfileId, u64>,
    /// Last values of cumulative series, by series.
    pub(crate) baselines: HashMap<u32, Baseline>,
    /// Whether a later generation has the baselines.
    has_carried: bool,
}

/// Memory that one push needs; kept from one to the next.
#[derive(Default)]
pub(crate) struct PushBuffer {
    intern: InternBuffer,
    difference: RowBuffer,
    /// Encoded rows of the profile.
    pub(crate) rows: Vec<u8>,
    /// Encoded rows of a cumulative profile as sent.
    pub(crate) baseline: Vec<u8>,
    /// The log record.
    pub(crate) record: Vec<u8>,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    compressed: Vec<u8>,
}

/// Level of log records: the fastest, which is within 6 % of the next ones on records this small.
const LOG_ZSTD_LEVEL: i32 = 1;

impl PushBuffer {
    /// The record compressed, and its length before; 0 stands for "as it is" where compressing failed.
    pub(crate) fn compress(&mut self) -> (u32, Vec<u8>) {
        let Ok(raw_length) = u32::try_from(self.record.len()) else { return (0, self.record.clone()) };
        if self.compressor.is_none() {
            self.compressor = zstd::bulk::Compressor::new(LOG_ZSTD_LEVEL).ok();
        }
        let Some(compressor) = &mut self.compressor else { return (0, self.record.clone()) };
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(self.record.len()));
        match compressor.compress_to_buffer(&self.record, &mut self.compressed) {
            Ok(_) => (raw_length, self.compressed.as_slice().into()),
            Err(_) => (0, self.record.clone()),
        }
    }

    /// Gives back memory that a very large profile left behind.
    pub(crate) fn shrink(&mut self) {
        self.intern.shrink();
        self.difference.shrink(KEPT_BYTES_MAX);
        for bytes in [&mut self.rows, &mut self.baseline, &mut self.record, &mut self.compressed] {
            if bytes.capacity() > KEPT_BYTES_MAX {
                *bytes = Vec::new();
                // Its tables have grown with the record.
                self.compressor = None;
            }
        }
    }
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

/// A profile whose symbols are in the tables and whose rows are in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interned {
    /// Its series.
    pub(crate) series: u32,
    /// Its header.
    header: u32,
}

/// Makes sure that no sum over rows of a profile can pass 64 bits (D5).
///
/// # Errors
/// When the magnitudes of a column add up to more than 63 bits.
pub(crate) fn check_sums(profile: &Profile<'_>) -> Result<(), PushError> {
    let columns = profile.columns;
    let width = columns.sample_types.len();
    if width == 0 {
        return Ok(());
    }
    // Nearly always the values are so small that no sum of so many can be too large; that needs no adding.
    let bits = columns.values.iter().fold(0u64, |bits, value| bits | value.unsigned_abs());
    let samples = columns.values.len() / width;
    if bits.leading_zeros() > u64::BITS - (samples as u64).leading_zeros() {
        return Ok(());
    }
    let mut magnitudes = vec![0u64; width];
    for sample in columns.values.chunks_exact(width) {
        for (&value, magnitude) in sample.iter().zip(&mut magnitudes) {
            *magnitude = magnitude.saturating_add(value.unsigned_abs());
        }
    }
    match magnitudes.iter().position(|&magnitude| i64::try_from(magnitude).is_err()) {
        None => Ok(()),
        Some(column) => Err(PushError::Invalid {
            field: format!("sample_type[{column}]"),
            reason: "the sum of its values does not fit in 64 bits".to_owned(),
        }),
    }
}

impl Partition {
    /// An empty partition.
    pub(crate) fn new(tenant: Tenant, service: &str, number: u32) -> Self {
        let tables = Tables::new();
        let logged = Lengths::of(&tables);
        Self {
            // The same count as that of blocks: caches are keyed by it.
            id: DatasetId::next(),
            tenant,
            service: service.to_owned(),
            number,
            tables,
            writer: Mutex::new(Writer {
                interner: Interner::new(),
                logged,
                is_named: false,
                holes: Holes::default(),
                known: HashMap::new(),
                baselines: HashMap::new(),
                has_carried: false,
            }),
            functions: Mutex::new(FunctionTree::new()),
            payload_bytes: AtomicU64::new(0),
            counted: AtomicU32::new(0),
        }
    }

    /// Whose it is.
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The service.
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    /// The tables, for reading.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Takes the writer's place. A thread that panicked in it has left tables that are whole up to their lengths.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Interns symbols and sorts rows into the buffer. `profile` has passed [`check_sums`].
    pub(crate) fn intern(
        &self,
        writer: &mut Writer,
        wanted: &Wanted<'_>,
        profile: &Profile<'_>,
        buffer: &mut PushBuffer,
    ) -> Interned {
        let text_before = self.tables.text.len();
        let interner = &mut writer.interner;
        let header = interner.profile(&self.tables, profile, &mut buffer.intern);
        let kept = match wanted.temporality {
            Temporality::Cumulative => baseline::KEPT_TEMPORALITY,
            other => other,
        };
        let series = interner.series(&self.tables, wanted.labels, wanted.name, kept, profile);
        self.count_text(text_before);
        Interned { series, header }
    }

    /// Encodes the rows of what was interned, as sent.
    pub(crate) fn encode_rows(
        &self,
        interned: Interned,
        wanted: &Wanted<'_>,
        profile: &Profile<'_>,
        buffer: &mut PushBuffer,
    ) -> ProfileMeta {
        buffer.rows.clear();
        buffer.intern.rows.encode(&mut buffer.rows);
        meta_of(&buffer.intern.rows, interned, wanted, profile)
    }

    /// Encodes the rows of what was interned as the baseline of its series.
    pub(crate) fn encode_baseline(&self, buffer: &mut PushBuffer) {
        buffer.baseline.clear();
        buffer.intern.rows.encode(&mut buffer.baseline);
    }

    /// Encodes what has been added since the series' baseline; `None` when there is nothing to show.
    pub(crate) fn encode_difference(
        &self,
        writer: &Writer,
        interned: Interned,
        wanted: &Wanted<'_>,
        profile: &Profile<'_>,
        buffer: &mut PushBuffer,
    ) -> Option<ProfileMeta> {
        let counters = baseline::counters(self.tables.series.get(interned.series)?);
        let previous = writer.baselines.get(&interned.series).map(|known| {
            let mut rows = Rows::default();
            match rows::decode(&known.rows, &mut rows) {
                Ok(()) => rows,
                // What this process has encoded it can decode; without a baseline everything is new.
                Err(_) => Rows::default(),
            }
        });
        baseline::subtract(&buffer.intern.rows, previous.as_ref(), &counters, &mut buffer.difference);
        if buffer.difference.nodes.is_empty() {
            return None;
        }
        buffer.rows.clear();
        buffer.difference.encode(&mut buffer.rows);
        Some(meta_of(&buffer.difference, interned, wanted, profile))
    }

    /// Writes the log record of an entry, with all symbols that no record has yet, into `record`.
    pub(crate) fn encode_record(
        &self,
        writer: &mut Writer,
        entry: &Entry<'_>,
        arrival: Timestamp,
        record: &mut Vec<u8>,
    ) {
        record::encode(self, writer, entry, arrival, record);
    }

    /// Reads a log record into the tables. `blanks_left` bounds how many lost symbols may be stood in for.
    ///
    /// # Errors
    /// When the record is no record of this partition; tables then hold what came before the fault.
    pub(crate) fn replay(
        &self,
        writer: &mut Writer,
        head: &RecordHead,
        record: &[u8],
        blanks_left: &mut u64,
    ) -> Result<Replayed, Damaged> {
        record::replay(self, writer, head, record, blanks_left)
    }

    /// Makes a profile visible.
    pub(crate) fn publish_profile(&self, profile: HeadProfile) {
        let bytes = profile.rows.len() + profile.meta.totals.len() * size_of::<i64>();
        self.payload_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.tables.profiles.push(profile);
    }

    /// Makes an attachment visible.
    pub(crate) fn publish_attachment(&self, attachment: HeadAttachment) {
        self.payload_bytes.fetch_add(attachment.body.len() as u64, Ordering::Relaxed);
        self.tables.attachments.push(attachment);
    }

    /// Takes the baselines that `older`, a partition of the same service, has and this one has not. Calls `keep` for
    /// each when the record that makes it durable is in the buffer.
    pub(crate) fn carry_baselines(
        self: &Arc<Self>,
        older: &Arc<Self>,
        now: Timestamp,
        buffer: &mut PushBuffer,
        mut keep: impl FnMut(&mut PushBuffer),
    ) {
        let symbols = older.snapshot().symbols_without_functions();
        let mut older_writer = older.lock();
        let mut writer = self.lock();
        if std::mem::replace(&mut older_writer.has_carried, true) {
            return;
        }
        for (&position, known) in &older_writer.baselines {
            if now.0.saturating_sub(known.arrival.0) > baseline_age_max() {
                continue;
            }
            let Some(series) = older.tables.series.get(position) else { continue };
            let mut rows = Rows::default();
            if rows::decode(&known.rows, &mut rows).is_err() {
                continue;
            }
            let owned = carry::owned_profile(&symbols, series, &rows);
            let wanted = Wanted {
                labels: &series.labels,
                name: &series.series_type.name,
                temporality: series.temporality,
                time: known.time,
                id: ProfileId(0),
            };
            let interned = self.intern(&mut writer, &wanted, &owned.profile(), buffer);
            if writer.baselines.contains_key(&interned.series) {
                continue;
            }
            self.encode_baseline(buffer);
            let entry = Entry::Baseline {
                id: wanted.id,
                series: interned.series,
                time: known.time,
                rows: &buffer.baseline,
            };
            record::encode(self, &mut writer, &entry, known.arrival, &mut buffer.record);
            keep(buffer);
            let rows = buffer.baseline.as_slice().into();
            writer.baselines.insert(interned.series, Baseline { rows, ..*known });
        }
    }

    /// Whether some cumulative series has a baseline here that no later generation has.
    pub(crate) fn has_baselines(&self) -> bool {
        let writer = self.lock();
        !writer.has_carried && !writer.baselines.is_empty()
    }

    /// Entries of the largest table.
    pub(crate) fn symbols(&self) -> u32 {
        self.tables.nodes.len().max(self.tables.label_pairs.len()).max(self.tables.lines.len())
    }

    /// How many of its profiles, from the first on, the tally has.
    pub(crate) fn counted(&self) -> u32 {
        self.counted.load(Ordering::Relaxed)
    }

    /// Says how many the tally has; called by who holds the tally's lock.
    pub(crate) fn set_counted(&self, profiles: u32) {
        self.counted.store(profiles, Ordering::Relaxed);
    }

    /// Everything that is visible now.
    pub(crate) fn snapshot(self: &Arc<Self>) -> HeadSnapshot {
        HeadSnapshot::of(Arc::clone(self))
    }

    /// Makes sure that the first `nodes` nodes have function nodes.
    fn derive_functions(&self, nodes: u32) {
        if self.tables.node_functions.len() < nodes {
            self.functions.lock().unwrap_or_else(PoisonError::into_inner).extend(&self.tables, nodes);
        }
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self, writer: &Writer) -> u64 {
        /// What an entry of `known` takes with its share of free places, bytes.
        const KNOWN_BYTES: usize = 48;
        let baselines: usize = writer.baselines.values().map(|known| known.rows.len()).sum();
        self.payload_bytes.load(Ordering::Relaxed)
            + self.tables.bytes()
            + writer.interner.bytes()
            + (writer.known.len() * KNOWN_BYTES + baselines) as u64
    }

    /// Frees the lookup tables: nothing will be interned here any more.
    pub(crate) fn seal(&self) {
        self.lock().interner = Interner::new();
    }

    fn count_text(&self, before: u32) {
        let chunks = (before..self.tables.text.len()).filter_map(|chunk| self.tables.text.get(chunk));
        let bytes: usize = chunks.map(|text| text.len()).sum();
        self.payload_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// [`BASELINE_AGE_MAX`] in ns.
fn baseline_age_max() -> i64 {
    i64::try_from(BASELINE_AGE_MAX.as_nanos()).unwrap_or(i64::MAX)
}

fn meta_of(rows: &RowBuffer, interned: Interned, wanted: &Wanted<'_>, profile: &Profile<'_>) -> ProfileMeta {
    let header = &profile.columns.header;
    ProfileMeta {
        id: wanted.id,
        series: interned.series,
        time: wanted.time,
        duration_nanos: header.duration_nanos,
        period: header.period,
        rows: u32::try_from(rows.nodes.len()).unwrap_or(u32::MAX),
        header: interned.header,
        // Cannot wrap: `check_sums` was passed, and differences are smaller than what they are made from.
        totals: rows
            .columns
            .iter()
            .map(|values| values.iter().fold(0i64, |sum, &value| sum.wrapping_add(value)))
            .collect(),
        has_labels: !rows.label_sets.is_empty(),
        has_negative: rows.columns.iter().flatten().any(|&value| value < 0),
    }
}
