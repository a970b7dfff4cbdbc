//! A flush of many tenants: their blocks wait for the disk together, and nothing of that makes it less durable.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    io,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use profile::{Tenant, TimeRange};
use store::{
    Store,
    disk::{Disk, DiskEntry, DiskFile, DiskMetadata, DiskReader},
};
use support::{Content, Push, Sketch, content_of, open, options};
use testkit::ForgetfulDisk;

/// How long a sync waits for another one before the test has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Most blocks of one flush that may be written at once.
const AT_ONCE_MAX: usize = 16;

fn tenant(number: usize) -> Tenant {
    Tenant::parse(&format!("tenant-{number}")).unwrap()
}

async fn push(store: &Store, tenants: usize) {
    let mut last = None;
    for number in 0..tenants {
        let push = Push { tenant: tenant(number), ..Push::new("a", &number.to_string()) };
        let sketch = Sketch::cpu(&[("main;work", 1 + number as i64)]);
        last = Some(push.send(store, &sketch).unwrap().ticket);
    }
    store.durable(last.unwrap()).await.unwrap();
}

fn contents(store: &Store, tenants: usize) -> Vec<Content> {
    (0..tenants).map(|number| content_of(store, &tenant(number), TimeRange::ALL)).collect()
}

/// Syncs of new files that are under way.
#[derive(Debug, Default)]
struct Syncs {
    /// How many there are, and the most that there were.
    count: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl Syncs {
    /// Lasts until there was another one at the same time.
    fn meet(&self) {
        let mut count = self.count.lock().unwrap();
        count.0 += 1;
        count.1 = count.1.max(count.0);
        self.changed.notify_all();
        let (mut count, _) = self.changed.wait_timeout_while(count, PATIENCE, |count| count.1 < 2).unwrap();
        count.0 -= 1;
    }
}

/// A disk whose syncs of files in `tmp/` wait for each other.
#[derive(Clone, Debug)]
struct MeetingDisk {
    inner: ForgetfulDisk,
    syncs: Arc<Syncs>,
}

#[derive(Debug)]
struct MeetingFile {
    inner: Box<dyn DiskFile>,
    syncs: Arc<Syncs>,
}

impl DiskFile for MeetingFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.append(bytes)
    }
    fn sync_data(&mut self) -> io::Result<()> {
        self.syncs.meet();
        self.inner.sync_data()
    }
    fn has_name(&self) -> io::Result<bool> {
        self.inner.has_name()
    }
}

impl Disk for MeetingDisk {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.inner.create_folder(folder)
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let inner = self.inner.create(name)?;
        if !name.starts_with("tmp/") {
            return Ok(inner);
        }
        Ok(Box::new(MeetingFile { inner, syncs: Arc::clone(&self.syncs) }))
    }
    fn open_append(&self, name: &str, length: u64) -> io::Result<Box<dyn DiskFile>> {
        self.inner.open_append(name, length)
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskReader>> {
        self.inner.open(name)
    }
    fn metadata(&self, name: &str) -> io::Result<DiskMetadata> {
        self.inner.metadata(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename_new(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }
    fn remove_folder(&self, folder: &str) -> io::Result<()> {
        self.inner.remove_folder(folder)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<DiskEntry>> {
        self.inner.list(folder)
    }
    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        self.inner.sync_dir(folder)
    }
    fn free_space(&self) -> io::Result<u64> {
        self.inner.free_space()
    }
}

#[tokio::test]
async fn blocks_of_many_tenants_wait_for_the_disk_together_and_not_all_at_once() {
    const TENANTS: usize = 60;
    let disk = MeetingDisk { inner: ForgetfulDisk::new(), syncs: Arc::default() };
    let store = Store::open_on(Arc::new(disk.clone()), options()).await.unwrap();
    push(&store, TENANTS).await;
    let pushed = contents(&store, TENANTS);
    store.flush().await.unwrap();
    let most = disk.syncs.count.lock().unwrap().1;
    assert!((2..=AT_ONCE_MAX).contains(&most), "{most} at once");
    assert_eq!((store.stats().blocks, store.stats().head_profiles), (TENANTS as u64, 0));
    assert_eq!(contents(&store, TENANTS), pushed);
}

#[tokio::test]
async fn a_power_cut_at_any_step_of_a_flush_of_many_tenants_loses_and_doubles_nothing() {
    const TENANTS: usize = 20;
    let mut steps = 0;
    loop {
        let disk = ForgetfulDisk::new();
        let store = open(&disk).await;
        push(&store, TENANTS).await;
        let pushed = contents(&store, TENANTS);
        disk.stop_after(steps);
        let is_done = store.flush().await.is_ok();
        drop(store);
        disk.crash_with_seed(steps);
        let store = open(&disk).await;
        assert_eq!(contents(&store, TENANTS), pushed, "cut after {steps} steps");
        // What was left of the first try is in the way of no other.
        store.flush().await.unwrap();
        assert_eq!((store.stats().blocks, store.stats().head_profiles), (TENANTS as u64, 0));
        assert_eq!(contents(&store, TENANTS), pushed, "flushed anew after {steps} steps");
        if is_done {
            break;
        }
        steps += 1;
    }
    assert!(steps > 3 * TENANTS as u64, "only {steps} steps");
}
