//! What a start finds: log files of generations that are not in blocks, and blocks of the catalogue.

use std::{collections::HashMap, io, sync::Arc};

use block::Dataset as _;

use crate::{
    StoreError,
    blocks::{OpenBlock, OpenFiles},
    catalogue::CatalogueState,
    disk::Disk,
    generation::Generation,
    limits::DIGEST_MEMORY,
    log::{LOG_FOLDER, LogDamage, LogFile, LogItem, check_name, file_name, generation_of, read_log},
    object::DurableLocal,
    partition::{Damaged, Partition, Replayed, decode_head},
    recent::RecentDigests,
    retention::remove_garbage,
    store::now,
};

/// How many blank symbols may stand for each byte that was lost: records are compressed, and a symbol takes at least a
/// few bits of one.
const BLANKS_PER_LOST_BYTE: u64 = 64;

/// What was found when a folder was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Log records read.
    pub records: u64,
    /// Bytes at the ends of log files that are no whole record; never acknowledged, dropped.
    pub torn_bytes: u64,
    /// Damaged bytes inside log files.
    pub damaged_bytes: u64,
    /// Whole records that need symbols of damaged ones and cannot be used.
    pub unusable_records: u64,
    /// Objects in the block folder that the catalogue does not know; removed.
    pub orphans: u64,
}

/// What a store starts with.
pub(crate) struct Recovered {
    pub(crate) sealed: Vec<Arc<Generation>>,
    pub(crate) blocks: Vec<Arc<OpenBlock>>,
    pub(crate) next_generation: u64,
    pub(crate) last_sequence: u64,
    pub(crate) report: RecoveryReport,
}

impl Recovered {
    /// Nothing yet.
    pub(crate) fn empty(next_generation: u64) -> Self {
        Self {
            sealed: Vec::new(),
            blocks: Vec::new(),
            next_generation,
            last_sequence: 0,
            report: RecoveryReport::default(),
        }
    }
}

/// Reads log files, opens blocks, removes what is no longer needed.
pub(crate) async fn recover(
    disk: &Arc<dyn Disk>,
    objects: &Arc<DurableLocal>,
    files: &Arc<OpenFiles>,
    catalogue: &CatalogueState,
    recent: &mut RecentDigests,
) -> Result<Recovered, StoreError> {
    let mut recovered = Recovered::empty(catalogue.generation_unused());
    let failed =
        |what: &str, error: io::Error| StoreError::Io { what: what.to_owned(), reason: error.to_string() };
    for entry in disk.list(LOG_FOLDER).map_err(|error| failed(LOG_FOLDER, error))? {
        let Some(number) = generation_of(&entry.name) else {
            tracing::warn!(file = entry.name, "no log file; ignored");
            continue;
        };
        recovered.next_generation = recovered.next_generation.max(number + 1);
        let name = file_name(number);
        check_name(&**disk, number).map_err(|error| failed(&name, error))?;
        if catalogue.is_generation_done(number) {
            disk.remove(&name).map_err(|error| failed(&name, error))?;
            continue;
        }
        let file = read_log(&**disk, &name).map_err(|error| failed(&name, error))?;
        let generation = replay(number, file, recent, &mut recovered);
        recovered.sealed.push(Arc::new(generation));
    }
    recovered.sealed.sort_by_key(|generation| generation.number);
    let logs = recovered.sealed.iter().map(|generation| generation.number).collect();
    let garbage = remove_garbage(&**objects, catalogue, &logs).await?;
    if !garbage.is_empty() {
        tracing::info!(objects = ?garbage, "blocks that are not in the catalogue removed");
    }
    recovered.report.orphans = garbage.len() as u64;
    let entries: Vec<_> = catalogue.blocks().cloned().collect();
    let opened = entries.into_iter().map(|entry| Arc::new(OpenBlock::open(files, entry)));
    recovered.blocks = opened.collect();
    remember_recent(&recovered.blocks, recent);
    Ok(recovered)
}

/// Remembers digests of profiles that came just before the start and are in blocks already: a push without a time of
/// its own has that of its arrival, so the profile's time tells.
fn remember_recent(blocks: &[Arc<OpenBlock>], recent: &mut RecentDigests) {
    let memory = i64::try_from(DIGEST_MEMORY.as_nanos()).unwrap_or(i64::MAX);
    let since = now().0.saturating_sub(memory);
    for open in blocks.iter().filter(|open| open.entry.time_last >= since) {
        let Ok(block) = open.block() else { continue };
        for position in 0..block.dataset_count() {
            let dataset = match block.dataset(position) {
                Ok(dataset) => dataset,
                Err(error) => {
                    tracing::error!(block = open.entry.name, %error, "dataset cannot be read");
                    continue;
                }
            };
            for profile in 0..dataset.profile_count() {
                let meta = dataset.profile(profile);
                if meta.time.0 >= since {
                    recent.add(meta.id.digest(), meta.id, 0, meta.time);
                }
            }
        }
    }
}

/// Reads one log file into a generation that takes no pushes.
pub(crate) fn replay(
    number: u64,
    mut file: LogFile,
    recent: &mut RecentDigests,
    recovered: &mut Recovered,
) -> Generation {
    let generation = Generation::new(number);
    let name = file_name(number);
    let mut partitions: HashMap<u32, Arc<Partition>> = HashMap::new();
    let mut blanks_left = 0;
    let report = &mut recovered.report;
    while let Some(item) = file.next() {
        match item {
            LogItem::Damage(LogDamage::TornTail { offset, length }) => {
                tracing::info!(file = name, offset, length, "torn end of the log dropped");
                report.torn_bytes += length;
            }
            LogItem::Damage(LogDamage::Middle { offset, length }) => {
                tracing::error!(
                    file = name,
                    offset,
                    length,
                    "the log is damaged; later records are still used"
                );
                report.damaged_bytes += length;
                blanks_left += length * BLANKS_PER_LOST_BYTE;
            }
            LogItem::Record(sequence, record) => {
                recovered.last_sequence = recovered.last_sequence.max(sequence);
                report.records += 1;
                match replay_record(&generation, &mut partitions, sequence, record, &mut blanks_left, recent)
                {
                    Ok(Replayed::Used { .. }) => {}
                    Ok(Replayed::NeedsLost) => report.unusable_records += 1,
                    Err(Damaged(reason)) => {
                        tracing::error!(file = name, sequence, reason, "log record cannot be used");
                        report.unusable_records += 1;
                    }
                }
            }
        }
    }
    generation.seal();
    tracing::info!(file = name, profiles = generation.profiles(), "log replayed");
    generation
}

fn replay_record(
    generation: &Generation,
    partitions: &mut HashMap<u32, Arc<Partition>>,
    sequence: u64,
    record: &[u8],
    blanks_left: &mut u64,
    recent: &mut RecentDigests,
) -> Result<Replayed, Damaged> {
    let head = decode_head(sequence, record)?;
    if let Some((tenant, service)) = &head.name {
        partitions.insert(head.partition, generation.partition_or_new(tenant, service));
    }
    let Some(partition) = partitions.get(&head.partition) else { return Ok(Replayed::NeedsLost) };
    let mut writer = partition.lock();
    let before = (partition.bytes(&writer), partition.tables().profiles.len());
    let replayed = partition.replay(&mut writer, &head, record, blanks_left)?;
    let grown = partition.bytes(&writer).saturating_sub(before.0);
    let profiles = partition.tables().profiles.len() - before.1;
    let arrival = head.arrival();
    generation.count(grown, u64::from(profiles), arrival);
    if let Replayed::Used { id, time_is_stated: false } = replayed {
        recent.add(id.digest(), id, 0, arrival);
    }
    Ok(replayed)
}
