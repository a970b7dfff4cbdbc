//! A generation: the partitions that share one log file.
//!
//! The live generation takes pushes; a sealed one takes none and is on its way into blocks. Symbols start afresh with
//! each, so a log file can be read without any other.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Instant,
};

use block::Dataset;
use profile::{Tenant, Timestamp};

use crate::partition::Partition;

/// Partitions of one log file.
pub(crate) struct Generation {
    /// Its number; the log file is named after it.
    pub(crate) number: u64,
    partitions: RwLock<HashMap<Tenant, HashMap<String, Arc<Partition>>>>,
    next_partition: AtomicU64,
    bytes: AtomicU64,
    profiles: AtomicU64,
    /// Latest arrival, ns.
    arrived: AtomicI64,
    /// When its first record came.
    first_record: OnceLock<Instant>,
    /// When the first of its records came that was not taken over from an older generation.
    first_push: OnceLock<Instant>,
}

impl Generation {
    /// An empty generation.
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            partitions: RwLock::default(),
            next_partition: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            profiles: AtomicU64::new(0),
            arrived: AtomicI64::new(i64::MIN),
            first_record: OnceLock::new(),
            first_push: OnceLock::new(),
        }
    }

    /// The partition of a service.
    pub(crate) fn partition(&self, tenant: &Tenant, service: &str) -> Option<Arc<Partition>> {
        let partitions = self.partitions.read().unwrap_or_else(PoisonError::into_inner);
        partitions.get(tenant)?.get(service).cloned()
    }

    /// The partition of a service; makes it where there is none.
    pub(crate) fn partition_or_new(&self, tenant: &Tenant, service: &str) -> Arc<Partition> {
        if let Some(known) = self.partition(tenant, service) {
            return known;
        }
        let mut partitions = self.partitions.write().unwrap_or_else(PoisonError::into_inner);
        let services = partitions.entry(tenant.clone()).or_default();
        if let Some(known) = services.get(service) {
            return Arc::clone(known);
        }
        let number = self.next_partition.fetch_add(1, Ordering::Relaxed);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let partition = Arc::new(Partition::new(tenant.clone(), service, number));
        services.insert(service.to_owned(), Arc::clone(&partition));
        // Its tables' fixed parts are there before anything is in them: some 10 KB, which count with many services.
        self.bytes.fetch_add(size_of::<Partition>() as u64, Ordering::Relaxed);
        partition
    }

    /// All partitions of a tenant.
    pub(crate) fn partitions_of(&self, tenant: &Tenant) -> Vec<Arc<Partition>> {
        let partitions = self.partitions.read().unwrap_or_else(PoisonError::into_inner);
        partitions.get(tenant).map(|services| services.values().cloned().collect()).unwrap_or_default()
    }

    /// All partitions by tenant.
    pub(crate) fn tenants(&self) -> Vec<(Tenant, Vec<Arc<Partition>>)> {
        let partitions = self.partitions.read().unwrap_or_else(PoisonError::into_inner);
        let all = partitions.iter();
        all.map(|(tenant, services)| (tenant.clone(), services.values().cloned().collect())).collect()
    }

    /// Counts what a pushed record has brought.
    pub(crate) fn count(&self, bytes: u64, profiles: u64, arrival: Timestamp) {
        self.profiles.fetch_add(profiles, Ordering::Relaxed);
        self.count_carried(bytes, arrival);
        self.first_push.get_or_init(Instant::now);
    }

    /// Counts a record that was taken over from an older generation. Alone it is no reason for a flush, which would take it
    /// over again, and so on for as long as nobody pushes.
    pub(crate) fn count_carried(&self, bytes: u64, arrival: Timestamp) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.arrived.fetch_max(arrival.0, Ordering::Relaxed);
        self.first_record.get_or_init(Instant::now);
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Profiles inside.
    pub(crate) fn profiles(&self) -> u64 {
        self.profiles.load(Ordering::Relaxed)
    }

    /// Latest arrival.
    pub(crate) fn arrived(&self) -> Timestamp {
        Timestamp(self.arrived.load(Ordering::Relaxed))
    }

    /// When its first record came; `None` while it is empty.
    pub(crate) fn first_record(&self) -> Option<Instant> {
        self.first_record.get().copied()
    }

    /// When the first record came that was pushed; `None` while there is nothing but what was taken over.
    pub(crate) fn first_push(&self) -> Option<Instant> {
        self.first_push.get().copied()
    }

    /// Frees what only pushes need.
    pub(crate) fn seal(&self) {
        for (_, partitions) in self.tenants() {
            partitions.iter().for_each(|partition| partition.seal());
        }
    }

    /// Datasets of a tenant that have profiles.
    pub(crate) fn datasets(&self, tenant: &Tenant) -> impl Iterator<Item = Arc<dyn Dataset>> {
        let partitions = self.partitions_of(tenant).into_iter();
        partitions.map(|partition| partition.snapshot()).filter(|snapshot| snapshot.profile_count() > 0).map(
            |snapshot| {
                let dataset: Arc<dyn Dataset> = Arc::new(snapshot);
                dataset
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_partition_counts_with_its_fixed_tables_once() {
        let generation = Generation::new(1);
        let tenant = Tenant::anonymous();
        for service in ["a", "b", "a"] {
            generation.partition_or_new(&tenant, service);
        }
        assert_eq!(generation.bytes(), 2 * size_of::<Partition>() as u64);
        assert!(size_of::<Partition>() > 4096, "the fixed tables are inside");
    }
}
