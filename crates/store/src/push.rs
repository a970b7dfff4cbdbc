//! Taking profiles and attachments in.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use profile::{ProfileId, Temporality, Tenant, Timestamp};

use crate::{
    Accepted, NewAttachment, NewProfile, Outcome, PushError, StoreState, Ticket,
    generation::Generation,
    identity,
    kept::Kept,
    limits::{
        HEAD_BYTES_FREE, HEAD_FLUSHES_MAX, LOG_WAITING_BYTES_MAX, PARTITION_SYMBOLS_MAX, RETRY_AFTER_SECONDS,
    },
    partition::{
        Baseline, Entry, HeadAttachment, HeadProfile, Partition, PushBuffer, Wanted, Writer, check_sums,
    },
    store::{Published, Shared, check_labels, now},
};

/// Buffers that are not in use. Boxes, so that one is handed out and back without being copied.
pub(crate) struct Buffers(Kept<Box<PushBuffer>>);

/// Free buffers that are kept; each may hold some MB.
const FREE_BUFFERS_MAX: usize = 8;

impl Default for Buffers {
    fn default() -> Self {
        Self(Kept::new(FREE_BUFFERS_MAX))
    }
}

impl Buffers {
    fn take(&self) -> Box<PushBuffer> {
        self.0.take()
    }

    fn give_back(&self, mut buffer: Box<PushBuffer>) {
        buffer.shrink();
        self.0.give_back(buffer);
    }
}

/// What a push is known by.
#[derive(Clone, Copy)]
struct Identity {
    id: ProfileId,
    digest: u128,
    /// A retry may come with another time, so only the digest tells.
    by_digest: bool,
}

impl Shared {
    /// See [`crate::Store::push`].
    pub(crate) fn push(&self, new: &NewProfile<'_>) -> Result<Accepted, PushError> {
        self.check_open()?;
        check_labels(&new.labels)?;
        let digest = identity::digest(new.tenant, &new.labels, new.name, new.digest_bytes);
        let id = new.id.unwrap_or_else(|| identity::with_time(new.time, digest));
        if new.profile.columns.sample_count() == 0 {
            return Ok(Accepted { id, outcome: Outcome::Empty, ticket: Ticket(0) });
        }
        check_sums(&new.profile)?;
        let identity = Identity { id, digest, by_digest: new.id.is_none() && !new.time_is_stated };
        let mut buffer = self.buffers.take();
        let accepted = self.push_profile(new, identity, &mut buffer);
        self.buffers.give_back(buffer);
        if let Ok(accepted) = &accepted {
            let counter = match accepted.outcome {
                Outcome::Stored => &self.counters.profiles,
                Outcome::Duplicate => &self.counters.duplicates,
                Outcome::Empty | Outcome::Baseline => return Ok(*accepted),
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        accepted
    }

    /// Whether a push may come in at all.
    fn check_open(&self) -> Result<(), PushError> {
        match self.state() {
            StoreState::Ready => {}
            StoreState::ReadOnly(reason) => return Err(PushError::ReadOnly { reason }),
            StoreState::Closing => {
                return Err(PushError::ReadOnly { reason: "the store is closing".to_owned() });
            }
        }
        let overloaded = |reason: &str| {
            Err(PushError::Overloaded { reason: reason.to_owned(), retry_after_seconds: RETRY_AFTER_SECONDS })
        };
        if self.log.waiting_bytes() > LOG_WAITING_BYTES_MAX {
            return overloaded("the disk is behind with the log");
        }
        if self.is_head_too_large() {
            return overloaded("flushing is behind with the head");
        }
        Ok(())
    }

    /// Whether pushes are faster than flushes. What a start has found in logs does not count: it cannot grow, and it is
    /// on its way into blocks already.
    fn is_head_too_large(&self) -> bool {
        let published = self.published();
        let own = published.sealed.iter().filter(|sealed| sealed.number >= self.first_generation);
        let sealed: Vec<u64> = own.map(|generation| generation.bytes()).collect();
        let bytes = sealed.iter().sum::<u64>() + published.live.bytes();
        let bytes_max = self.options.flush_bytes.saturating_mul(HEAD_FLUSHES_MAX).max(HEAD_BYTES_FREE);
        !sealed.is_empty() && bytes > bytes_max
    }

    fn push_profile(
        &self,
        new: &NewProfile<'_>,
        identity: Identity,
        buffer: &mut PushBuffer,
    ) -> Result<Accepted, PushError> {
        let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let published = self.published();
        let service = new.labels.service_name();
        if let Some(ticket) = older_ticket(&published, new.tenant, service, identity.id, new.time) {
            return Ok(Accepted { id: identity.id, outcome: Outcome::Duplicate, ticket });
        }
        let live = &published.live;
        let partition = live.partition_or_new(new.tenant, service);
        if new.temporality == Temporality::Cumulative {
            self.carry_baselines(&published, &partition, buffer);
        }
        let mut writer = partition.lock();
        let arrival = now();
        if let Some(known) = self.find_known(&writer, identity, arrival) {
            return Ok(known);
        }
        if partition.symbols() > PARTITION_SYMBOLS_MAX {
            return Err(PushError::Overloaded {
                reason: format!("service {service} has too many stacks until the next flush"),
                retry_after_seconds: RETRY_AFTER_SECONDS,
            });
        }
        let wanted = Wanted {
            labels: &new.labels,
            name: new.name,
            temporality: new.temporality,
            time: new.time,
            id: identity.id,
        };
        let before = partition.bytes(&writer);
        let accepted = if new.temporality == Temporality::Cumulative {
            self.keep_cumulative(live, &partition, &mut writer, &wanted, new, arrival, buffer)?
        } else {
            let interned = partition.intern(&mut writer, &wanted, &new.profile, buffer);
            let meta = partition.encode_rows(interned, &wanted, &new.profile, buffer);
            let entry = Entry::Profile {
                meta: &meta,
                rows: &buffer.rows,
                baseline: None,
                time_is_stated: !identity.by_digest,
            };
            partition.encode_record(&mut writer, &entry, arrival, &mut buffer.record);
            let ticket = self.append(live, buffer);
            let rows = buffer.rows.as_slice().into();
            partition.publish_profile(HeadProfile { meta, rows, sequence: ticket });
            Accepted { id: identity.id, outcome: Outcome::Stored, ticket: Ticket(ticket) }
        };
        writer.known.insert(identity.id, accepted.ticket.0);
        if identity.by_digest {
            self.recent().add(identity.digest, identity.id, accepted.ticket.0, arrival);
        }
        let grown = partition.bytes(&writer).saturating_sub(before);
        drop(writer);
        self.count(live, grown, u64::from(accepted.outcome == Outcome::Stored), arrival);
        Ok(accepted)
    }

    /// Whether the live generation, or the memory of pushes without a time, has the profile already.
    fn find_known(&self, writer: &Writer, identity: Identity, arrival: Timestamp) -> Option<Accepted> {
        let duplicate = |id, ticket| Accepted { id, outcome: Outcome::Duplicate, ticket: Ticket(ticket) };
        if let Some(&ticket) = writer.known.get(&identity.id) {
            return Some(duplicate(identity.id, ticket));
        }
        if !identity.by_digest {
            return None;
        }
        let known = self.recent().find(identity.digest, arrival)?;
        Some(duplicate(known.id, known.ticket))
    }

    /// Stores what has been added since the series' last profile, and keeps the new values (D8).
    #[allow(clippy::too_many_arguments)]
    fn keep_cumulative(
        &self,
        live: &Generation,
        partition: &Partition,
        writer: &mut Writer,
        wanted: &Wanted<'_>,
        new: &NewProfile<'_>,
        arrival: Timestamp,
        buffer: &mut PushBuffer,
    ) -> Result<Accepted, PushError> {
        let interned = partition.intern(writer, wanted, &new.profile, buffer);
        let previous = writer.baselines.get(&interned.series);
        if previous.is_some_and(|previous| previous.time > wanted.time) {
            return Err(PushError::Invalid {
                field: "time".to_owned(),
                reason: "a cumulative profile is older than the last one of its series".to_owned(),
            });
        }
        let is_first = previous.is_none();
        partition.encode_baseline(buffer);
        let meta = partition.encode_difference(writer, interned, wanted, &new.profile, buffer);
        let entry = match &meta {
            Some(meta) => Entry::Profile {
                meta,
                rows: &buffer.rows,
                baseline: Some(&buffer.baseline),
                time_is_stated: new.time_is_stated,
            },
            None => Entry::Baseline {
                id: wanted.id,
                series: interned.series,
                time: wanted.time,
                rows: &buffer.baseline,
            },
        };
        partition.encode_record(writer, &entry, arrival, &mut buffer.record);
        let ticket = self.append(live, buffer);
        let rows = buffer.baseline.as_slice().into();
        writer.baselines.insert(interned.series, Baseline { rows, time: wanted.time, arrival });
        let outcome = match meta {
            Some(meta) => {
                let rows = buffer.rows.as_slice().into();
                partition.publish_profile(HeadProfile { meta, rows, sequence: ticket });
                Outcome::Stored
            }
            None if is_first => Outcome::Baseline,
            None => Outcome::Empty,
        };
        Ok(Accepted { id: wanted.id, outcome, ticket: Ticket(ticket) })
    }

    /// Brings the last values of cumulative series over from sealed generations, newest first.
    fn carry_baselines(&self, published: &Published, partition: &Arc<Partition>, buffer: &mut PushBuffer) {
        for generation in published.sealed.iter().rev() {
            if let Some(older) = generation.partition(partition.tenant(), partition.service()) {
                self.carry_from(&published.live, &older, partition, buffer);
            }
        }
    }

    /// Brings baselines from one partition into a later one of the same service, with log records.
    pub(crate) fn carry_from(
        &self,
        live: &Generation,
        older: &Arc<Partition>,
        partition: &Arc<Partition>,
        buffer: &mut PushBuffer,
    ) {
        let arrival = now();
        partition.carry_baselines(older, arrival, buffer, |buffer| {
            self.append(live, buffer);
            live.count_carried(buffer.baseline.len() as u64, arrival);
            self.wake_when_full(live);
        });
    }

    /// Takes an upload in that is kept whole.
    pub(crate) fn push_attachment(&self, new: &NewAttachment<'_>) -> Result<Accepted, PushError> {
        self.check_open()?;
        check_labels(&new.labels)?;
        let id = identity::with_time(new.time, identity::digest(new.tenant, &new.labels, new.kind, new.body));
        let duplicate = |ticket| Accepted { id, outcome: Outcome::Duplicate, ticket };
        let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let published = self.published();
        let service = new.labels.service_name();
        if let Some(ticket) = older_ticket(&published, new.tenant, service, id, new.time) {
            return Ok(duplicate(ticket));
        }
        let live = &published.live;
        let partition = live.partition_or_new(new.tenant, service);
        let mut writer = partition.lock();
        if let Some(&ticket) = writer.known.get(&id) {
            return Ok(duplicate(Ticket(ticket)));
        }
        let mut buffer = self.buffers.take();
        let attachment = HeadAttachment {
            id,
            labels: new.labels.clone(),
            kind: new.kind.to_owned(),
            time: new.time,
            body: new.body.into(),
        };
        let arrival = now();
        partition.encode_record(&mut writer, &Entry::Attachment(&attachment), arrival, &mut buffer.record);
        let ticket = self.append(live, &mut buffer);
        partition.publish_attachment(attachment);
        writer.known.insert(id, ticket);
        drop(writer);
        self.buffers.give_back(buffer);
        self.count(live, new.body.len() as u64, 0, arrival);
        Ok(Accepted { id, outcome: Outcome::Stored, ticket: Ticket(ticket) })
    }

    /// Compresses the buffer's record and puts it into the log's queue.
    fn append(&self, live: &Generation, buffer: &mut PushBuffer) -> u64 {
        let (raw_length, payload) = buffer.compress();
        self.log.append(live.number, raw_length, payload)
    }

    /// Counts what came in and wakes the flush when it is time.
    fn count(&self, live: &Generation, bytes: u64, profiles: u64, arrival: Timestamp) {
        live.count(bytes, profiles, arrival);
        self.wake_when_full(live);
    }

    fn wake_when_full(&self, live: &Generation) {
        if live.bytes() >= self.options.flush_bytes {
            self.wake.notify_one();
        }
    }
}

/// The ticket of a profile or upload that a sealed generation or a block has already. Neither changes any more, but that a
/// sealed generation has it does not mean that the disk has: its record may be on its way, or may have failed.
fn older_ticket(
    published: &Published,
    tenant: &Tenant,
    service: &str,
    id: ProfileId,
    time: Timestamp,
) -> Option<Ticket> {
    let in_block = || published.blocks.iter().any(|block| block.contains(tenant, id, time));
    let in_sealed = published.sealed.iter().find_map(|generation| {
        let older = generation.partition(tenant, service)?;
        older.lock().known.get(&id).copied()
    });
    in_sealed.or_else(|| in_block().then_some(0)).map(Ticket)
}
