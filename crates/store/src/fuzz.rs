//! The way in for fuzzers: bytes of log and catalogue files, read as a start would read them, and all that is then done
//! with them.
//!
//! A start reads only files that it wrote itself, but a disk can hand back anything, so nothing that stands in a log may
//! make a start panic, grow without bound or take what was damaged for what was pushed. Most random damage dies at a
//! checksum; [`log_records`] and [`log_of`] take a file apart and seal it again, so that damage gets behind it.
//!
//! Called by `testkit` alone. Not here: what a fuzzer asserts about the answer.

use std::{io, sync::Arc};

use block::Dataset;
use bytes::Bytes;
use futures::FutureExt as _;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload, memory::InMemory, path::Path};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    RecoveryReport, StoreError,
    catalogue::{Catalogue, CatalogueState},
    flush::encode_all,
    generation::Generation,
    limits::{DIGEST_MEMORY, DIGESTS_MAX},
    log::{LogFile, LogItem, Marker, file_of},
    partition::PushBuffer,
    recent::RecentDigests,
    recover::{Recovered, replay},
    store::now,
};

/// The marker of files that [`log_of`] makes; a fuzzer may know it.
const MARKER: Marker = *b"fuzzmark";

/// What a log file gave.
pub struct ReplayedLog {
    /// What a start would report.
    pub report: RecoveryReport,
    /// Bytes of all records that could be read, inflated.
    pub record_bytes: u64,
    /// Every service of every tenant.
    pub datasets: Vec<Arc<dyn Dataset>>,
    /// Blocks that a flush would write, or why it would not.
    pub blocks: Result<Vec<Bytes>, StoreError>,
}

/// Replays a log file, takes its baselines over as a flush does, and writes its blocks into memory.
///
/// # Errors
/// When memory for inflating cannot be had.
pub fn replay_log(bytes: &[u8]) -> io::Result<ReplayedLog> {
    let record_bytes = log_records(bytes)?.iter().map(|record| record.len() as u64).sum();
    let mut recovered = Recovered::empty(1);
    let mut recent = RecentDigests::new(DIGEST_MEMORY, DIGESTS_MAX);
    let generation = replay(0, LogFile::new(bytes.to_vec())?, &mut recent, &mut recovered);
    carry(&generation);
    let tenants = generation.tenants();
    let datasets = tenants.iter().flat_map(|(tenant, _)| generation.datasets(tenant)).collect();
    Ok(ReplayedLog { report: recovered.report, record_bytes, datasets, blocks: encode_all(&generation) })
}

/// Takes baselines into the next generation, whose tables are built from them.
fn carry(sealed: &Generation) {
    let next = Generation::new(1);
    let mut buffer = PushBuffer::default();
    for (tenant, partitions) in sealed.tenants() {
        for older in partitions.iter().filter(|older| older.has_baselines()) {
            let partition = next.partition_or_new(&tenant, older.service());
            partition.carry_baselines(older, now(), &mut buffer, |_| {});
        }
    }
}

/// Opens a catalogue whose only file, an `edit` or a `checkpoint`, has these bytes.
///
/// # Errors
/// What a start would say of it.
pub fn open_catalogue(kind: &str, bytes: &[u8]) -> Result<CatalogueState, StoreError> {
    let objects = Arc::new(InMemory::new());
    let path = Path::from(format!("catalogue/{:020}.{kind}", 1));
    let failed = |reason: String| StoreError::Io { what: "memory".to_owned(), reason };
    let opened = async {
        let put = objects.put(&path, PutPayload::from(bytes.to_vec())).await;
        put.map_err(|error| failed(error.to_string()))?;
        let catalogue = Catalogue::open(Arc::clone(&objects) as Arc<dyn ObjectStore>).await?;
        Ok(catalogue.state().clone())
    };
    // Nothing is waited for: all of it is in memory.
    opened.now_or_never().unwrap_or_else(|| Err(failed("a store in memory was waited for".to_owned())))
}

/// A catalogue file with this JSON behind a right checksum.
#[must_use]
pub fn catalogue_file_of(kind: &str, json: &[u8]) -> Vec<u8> {
    let mut bytes = format!("everflame-catalogue 1 {kind} {:016x}\n", xxh3_64(json)).into_bytes();
    bytes.extend_from_slice(json);
    bytes
}

/// The records of a log file, inflated; those that cannot be read are left out.
///
/// # Errors
/// When memory for inflating cannot be had.
pub fn log_records(bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut file = LogFile::new(bytes.to_vec())?;
    let mut records = Vec::new();
    while let Some(item) = file.next() {
        if let LogItem::Record(_, record) = item {
            records.push(record.to_vec());
        }
    }
    Ok(records)
}

/// A log file with these records, numbered from 1 on, not compressed, checksums right.
#[must_use]
pub fn log_of(records: &[Vec<u8>]) -> Vec<u8> {
    file_of(0, MARKER, records)
}
