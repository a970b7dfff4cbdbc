//! From heads to blocks.
//!
//! A flush seals the live generation and puts an empty one in its place, takes cumulative baselines over, writes one
//! block per tenant and UTC day, commits all blocks and the end of the generation in one catalogue edit, puts the blocks
//! in the generation's place in what queries see, and only then removes the log file. A crash anywhere leaves either
//! the log or the edit, never both in use: a log whose generation the catalogue calls done is not read again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use block::{AttachmentPart, BlockInput, BlockSummary, Dataset as _, DatasetPart, write_block};
use futures::{StreamExt as _, stream};
use object_store::{
    Error as ObjectError, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, path::Path,
};
use profile::{Tenant, Timestamp};
use tokio::sync::Semaphore;

use crate::{
    StoreError,
    blocks::OpenBlock,
    catalogue::{BlockEntry, Edit},
    generation::Generation,
    limits::{FLUSH_BLOCKS_AT_ONCE, FLUSH_WAITING_BYTES},
    log::file_name,
    partition::{HeadSnapshot, Partition, PushBuffer},
    retention::{block_name, remove_blocks},
    store::{Published, Shared},
};

/// Length of a day, ns; blocks are cut at UTC midnight (D22).
const DAY_NANOS: i64 = 86_400_000_000_000;

/// How the blocks of one flush wait for each other.
struct FlushTurns {
    /// Held while a block is encoded.
    encoding: tokio::sync::Mutex<()>,
    /// A permit for each byte of blocks that are encoded and not written yet; never closed.
    waiting_bytes: Semaphore,
    /// The log stays, so there is no use in writing further blocks.
    has_failed: AtomicBool,
}

/// What one block is to hold.
struct BlockPlan {
    tenant: Tenant,
    /// Days since the epoch.
    day: i64,
    generation: u64,
    arrived: Timestamp,
    datasets: Vec<(HeadSnapshot, Vec<u32>)>,
    /// Partition and positions of attachments.
    attachments: Vec<(Arc<Partition>, u32)>,
}

impl Shared {
    /// See [`crate::Store::flush`].
    pub(crate) async fn flush(self: &Arc<Self>) -> Result<(), StoreError> {
        let _one = self.flushing.lock().await;
        let shared = Arc::clone(self);
        let (live, carried) = blocking("sealing the head", move || {
            shared.seal_live();
            shared.carry_all()
        })
        .await?;
        // Records of sealed generations may have failed: they are in the heads that become blocks now.
        self.log.durable_in(live, carried).await?;
        loop {
            let published = self.published();
            let Some(oldest) = published.sealed.first() else { return Ok(()) };
            self.flush_generation(Arc::clone(oldest)).await?;
        }
    }

    /// Puts an empty generation in the place of the live one. One without records stays.
    fn seal_live(&self) {
        let sealed = {
            let _gate = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            let published = self.published();
            if published.live.first_record().is_none() {
                return;
            }
            let live = Arc::new(Generation::new(published.live.number + 1));
            self.publish(|old| Published {
                live: Arc::clone(&live),
                sealed: old.sealed.iter().chain([&old.live]).cloned().collect(),
                blocks: old.blocks.clone(),
            });
            Arc::clone(&published.live)
        };
        sealed.seal();
    }

    /// Takes baselines of all sealed generations into the live one, newest first. Returns the live one's number and the
    /// log's place behind them.
    fn carry_all(&self) -> (u64, u64) {
        let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let published = self.published();
        let mut buffer = PushBuffer::default();
        for generation in published.sealed.iter().rev() {
            for (tenant, partitions) in generation.tenants() {
                for older in partitions.iter().filter(|older| older.has_baselines()) {
                    let partition = published.live.partition_or_new(&tenant, older.service());
                    self.carry_from(&published.live, older, &partition, &mut buffer);
                }
            }
        }
        (published.live.number, self.log.last_sequence())
    }

    /// Writes the blocks of a sealed generation and puts them in its place.
    async fn flush_generation(self: &Arc<Self>, generation: Arc<Generation>) -> Result<(), StoreError> {
        let number = generation.number;
        let blocks = self.write_all(plan(&generation)).await?;
        let tally = self.end_tally(&generation).await?;
        let edit = Edit {
            added: blocks.iter().map(|block| block.entry.clone()).collect(),
            generations_done: vec![number],
            tally: tally.as_ref().and_then(|end| end.name.clone()),
            ..Edit::default()
        };
        let tally_before = {
            let mut catalogue = self.catalogue.lock().await;
            let before = catalogue.state().tally().map(ToOwned::to_owned);
            catalogue.append(&edit).await?;
            before
        };
        self.log.in_blocks(number);
        if let Some(end) = tally {
            self.ended_tally(end, number, tally_before).await;
        }
        self.publish(|old| Published {
            live: Arc::clone(&old.live),
            sealed: old.sealed.iter().filter(|sealed| sealed.number != number).cloned().collect(),
            blocks: old.blocks.iter().cloned().chain(blocks.into_iter().map(Arc::new)).collect(),
        });
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        tracing::info!(generation = number, profiles = generation.profiles(), "head flushed to blocks");
        let disk = Arc::clone(&self.disk);
        blocking("removing a log file", move || match disk.remove(&file_name(number)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                // The next start removes it; the catalogue says that it is done.
                tracing::warn!(file = file_name(number), %error, "log file not removed");
            }
            _ => {}
        })
        .await
    }

    /// Writes blocks, several at once: each waits for syncs of its file and its folder, and the system does those of
    /// several files together. Encoding is work, of which one at a time is enough.
    async fn write_all(self: &Arc<Self>, plans: Vec<BlockPlan>) -> Result<Vec<OpenBlock>, StoreError> {
        let turns = FlushTurns {
            encoding: tokio::sync::Mutex::new(()),
            waiting_bytes: Semaphore::new(FLUSH_WAITING_BYTES as usize),
            has_failed: AtomicBool::new(false),
        };
        let written: Vec<Result<Option<OpenBlock>, StoreError>> = stream::iter(plans)
            .map(|plan| self.write_planned(plan, &turns))
            .buffered(FLUSH_BLOCKS_AT_ONCE)
            // Not only up to the first error: none may be on its way any more when the next try begins.
            .collect()
            .await;
        written.into_iter().filter_map(Result::transpose).collect()
    }

    /// Writes one block and opens it; `None` where another one has failed already.
    async fn write_planned(
        self: &Arc<Self>,
        plan: BlockPlan,
        turns: &FlushTurns,
    ) -> Result<Option<OpenBlock>, StoreError> {
        let written = match turns.has_failed.load(Ordering::Relaxed) {
            true => return Ok(None),
            false => self.write_block(plan, turns).await,
        };
        turns.has_failed.fetch_or(written.is_err(), Ordering::Relaxed);
        written.map(Some)
    }

    async fn write_block(
        self: &Arc<Self>,
        plan: BlockPlan,
        turns: &FlushTurns,
    ) -> Result<OpenBlock, StoreError> {
        let name = block_name(&plan.tenant, plan.day, plan.generation);
        let (generation, tenant) = (plan.generation, plan.tenant.as_str().to_owned());
        let (bytes, summary, _waiting) = {
            let _turn = turns.encoding.lock().await;
            let (bytes, summary) = blocking("writing a block", move || encode(&plan)).await??;
            let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(FLUSH_WAITING_BYTES);
            (bytes, summary, turns.waiting_bytes.acquire_many(size).await)
        };
        let path = Path::parse(&name)
            .map_err(|error| StoreError::Io { what: name.clone(), reason: error.to_string() })?;
        let failed = |error: ObjectError| StoreError::Io { what: name.clone(), reason: error.to_string() };
        let put = || {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            self.objects.put_opts(&path, PutPayload::from(bytes.clone()), options)
        };
        match put().await {
            Ok(_) => {}
            Err(ObjectError::AlreadyExists { .. }) => {
                // An earlier try that did not come as far as the catalogue.
                self.objects.delete(&path).await.map_err(failed)?;
                put().await.map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        let entry = BlockEntry {
            name: name.clone(),
            tenant,
            bytes: summary.bytes,
            generation,
            time_first: summary.time_first.0,
            time_last: summary.time_last.0,
            data_end: summary.data_end.0,
            arrived: summary.arrived.0,
            profiles: summary.profiles,
            rows: summary.rows,
        };
        let files = Arc::clone(&self.files);
        let open = blocking("opening a block", move || OpenBlock::open(&files, entry)).await?;
        // A block that cannot be read must not take the place of its log.
        open.block()?;
        Ok(open)
    }

    /// Takes blocks out of the catalogue and of what queries see, then removes their objects.
    pub(crate) async fn drop_blocks(self: &Arc<Self>, names: &[String]) -> Result<(), StoreError> {
        if names.is_empty() {
            return Ok(());
        }
        let edit = Edit { removed: names.to_vec(), ..Edit::default() };
        self.catalogue.lock().await.append(&edit).await?;
        // Views of a moment ago still have them.
        let gone = self.published();
        gone.blocks
            .iter()
            .filter(|block| names.contains(&block.entry.name))
            .for_each(|block| block.set_dropped());
        self.publish(|old| Published {
            live: Arc::clone(&old.live),
            sealed: old.sealed.clone(),
            blocks: old.blocks.iter().filter(|block| !names.contains(&block.entry.name)).cloned().collect(),
        });
        for name in names {
            self.cache.remove(name);
            self.counters.blocks_dropped.fetch_add(1, Ordering::Relaxed);
        }
        if let Err(error) = remove_blocks(&*self.objects, names.iter().cloned()).await {
            // The next start removes them; the catalogue does not know them any more.
            tracing::warn!(%error, "objects of dropped blocks not removed");
        }
        Ok(())
    }
}

/// Runs work off the async threads.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Io { what: what.to_owned(), reason: error.to_string() })
}

/// One plan per tenant and UTC day.
fn plan(generation: &Generation) -> Vec<BlockPlan> {
    let mut plans = Vec::new();
    for (tenant, partitions) in generation.tenants() {
        let mut days: BTreeMap<i64, BlockPlan> = BTreeMap::new();
        let day_of = |time: Timestamp| time.0.div_euclid(DAY_NANOS);
        let empty = |day| BlockPlan {
            tenant: tenant.clone(),
            day,
            generation: generation.number,
            arrived: generation.arrived(),
            datasets: Vec::new(),
            attachments: Vec::new(),
        };
        for partition in partitions {
            let snapshot = partition.snapshot();
            let mut profiles: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
            for position in 0..snapshot.profile_count() {
                profiles.entry(day_of(snapshot.profile(position).time)).or_default().push(position);
            }
            for (day, positions) in profiles {
                let plan = days.entry(day).or_insert_with(|| empty(day));
                plan.datasets.push((snapshot.clone(), positions));
            }
            for (position, attachment) in (0..).zip(partition.tables().attachments.iter()) {
                let day = day_of(attachment.time);
                let plan = days.entry(day).or_insert_with(|| empty(day));
                plan.attachments.push((Arc::clone(&partition), position));
            }
        }
        plans.extend(days.into_values());
    }
    plans
}

/// The blocks that a flush of a generation writes.
pub(crate) fn encode_all(generation: &Generation) -> Result<Vec<bytes::Bytes>, StoreError> {
    plan(generation).iter().map(|plan| encode(plan).map(|(bytes, _)| bytes)).collect()
}

fn encode(plan: &BlockPlan) -> Result<(bytes::Bytes, BlockSummary), StoreError> {
    let datasets = plan.datasets.iter();
    let attachments = plan.attachments.iter();
    let input = BlockInput {
        tenant: &plan.tenant,
        datasets: datasets
            .map(|(snapshot, profiles)| DatasetPart { dataset: snapshot, profiles: profiles.clone() })
            .collect(),
        attachments: attachments
            .filter_map(|(partition, position)| partition.tables().attachments.get(*position))
            .map(|attachment| AttachmentPart {
                id: attachment.id,
                labels: attachment.labels.clone(),
                kind: &attachment.kind,
                time: attachment.time,
                body: &attachment.body,
            })
            .collect(),
        arrived: plan.arrived,
    };
    let mut out = Vec::new();
    let summary = write_block(&input, &mut out)?;
    Ok((out.into(), summary))
}
