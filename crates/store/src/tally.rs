//! Sums over accepted profiles that are kept beside the blocks, each profile counted once, whatever happens between.
//!
//! Somebody else knows what is summed ([`Tally`]); here is when: a profile is counted once its record is on disk, in the
//! order of the log. The sums of a generation stay apart until it is flushed; the edit that ends the generation names
//! the object with the sums of everything up to its end, so a start has those sums and counts what the log still holds,
//! as it counted it before. A push does nothing for it: profiles are found where they lie, by how many of each partition
//! were counted already.
//!
//! ```text
//! tally/00000000000000000007    header line with a checksum, then whatever the tally wrote
//! ```
//!
//! An object that is gone means that it was given up: sums begin anew. A damaged one is an error that names the file.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use block::{BlockError, Dataset};
use futures::TryStreamExt as _;
use object_store::{
    Error as ObjectError, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, path::Path,
};
use profile::Tenant;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    StoreError,
    catalogue::{CatalogueState, Edit},
    flush::blocking,
    generation::Generation,
    log::DurableNow,
    object::DurableLocal,
    store::Shared,
};

/// Folder of the objects within the data folder.
const TALLY_FOLDER: &str = "tally";

/// First words of every object.
const MAGIC: &str = "everflame-tally 1";

/// Digits of an object's number, so that names sort as numbers do.
const DIGITS: usize = 20;

/// A place in the order in which profiles are accepted. Numbers of the log begin anew with a process that finds no log,
/// but behind all that its tally remembers; a generation's number comes again only if nothing of it came to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Generation.
    pub generation: u64,
    /// Number of the log record.
    pub sequence: u64,
}

/// A profile to count.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// Where it stands.
    pub place: Place,
    /// The dataset that has it. Of one generation and service it is the same one each time, only longer.
    pub dataset: &'a dyn Dataset,
    /// Its position there.
    pub profile: u32,
}

/// Who adds up. Calls come one at a time but for [`Tally::wants`], and never while a push waits.
pub trait Tally: Send + Sync {
    /// Takes what was kept last; `None` = nothing. Called once, before anything else.
    ///
    /// # Errors
    /// A sentence when it cannot be read.
    fn restore(&self, kept: Option<&[u8]>) -> Result<(), String>;
    /// The largest number of the log that what was restored speaks of. Numbers of this process begin behind it, so that
    /// the first generation, which may have the number of one that never came to disk, has no place twice.
    fn last_sequence(&self) -> u64;
    /// Whether profiles of a tenant are to be counted at all; `None` stands for any tenant.
    fn wants(&self, tenant: Option<&Tenant>) -> bool;
    /// Adds one profile.
    fn count(&self, profile: Counted<'_>);
    /// Every profile of a generation and of those before has been counted: what is to be kept of them; `None` = what was
    /// kept last is still true. The sums of later generations must not be in it.
    fn keep(&self, generation: u64) -> Option<Vec<u8>>;
    /// What [`Tally::keep`] gave is kept: the generation will not be asked for again, nor found by the next start.
    fn kept(&self, generation: u64);
}

/// What a store needs for its tally.
pub(crate) struct TallyKeeper {
    tally: Arc<dyn Tally>,
    /// Held while profiles are counted.
    counting: Mutex<()>,
    /// Held from writing an object to the edit that names it.
    committing: Arc<tokio::sync::Mutex<()>>,
    /// Number of the next object.
    next: AtomicU64,
}

/// The end of a generation that has an object and no edit yet.
pub(crate) struct TallyEnd {
    /// Name of the object, where there is a new one.
    pub(crate) name: Option<String>,
    _committing: tokio::sync::OwnedMutexGuard<()>,
}

impl TallyKeeper {
    /// Hands the tally what was kept, and removes objects that the catalogue does not name.
    pub(crate) async fn open(
        tally: Arc<dyn Tally>,
        objects: &DurableLocal,
        catalogue: &CatalogueState,
    ) -> Result<Self, StoreError> {
        let kept = match catalogue.tally() {
            Some(name) => read(objects, name).await?,
            None => None,
        };
        tally.restore(kept.as_deref()).map_err(|reason| corrupt(catalogue.tally(), reason))?;
        let folder = Path::from(TALLY_FOLDER);
        let listed: Vec<_> =
            objects.list(Some(&folder)).try_collect().await.map_err(io_error(TALLY_FOLDER))?;
        let mut last = 0;
        for object in listed {
            last = last.max(number_of(object.location.as_ref()));
            if catalogue.tally() != Some(object.location.as_ref()) {
                objects.delete(&object.location).await.map_err(io_error(TALLY_FOLDER))?;
            }
        }
        let next = last.max(catalogue.tally().map_or(0, number_of)) + 1;
        Ok(Self { tally, counting: Mutex::new(()), committing: Arc::default(), next: AtomicU64::new(next) })
    }

    /// See [`Tally::last_sequence`].
    pub(crate) fn last_sequence(&self) -> u64 {
        self.tally.last_sequence()
    }

    fn counting(&self) -> MutexGuard<'_, ()> {
        self.counting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what a generation has and the tally has not, in the order of the log, only what is durable.
    fn count(&self, generation: &Generation, is_counted: impl Fn(u64) -> bool) {
        let mut snapshots = Vec::new();
        let mut found = Vec::new();
        for (tenant, partitions) in generation.tenants() {
            if !self.tally.wants(Some(&tenant)) {
                continue;
            }
            for partition in partitions {
                let snapshot = partition.snapshot();
                let first = partition.counted();
                let new = (first..snapshot.profile_count())
                    .map(|position| (snapshot.sequence(position), position))
                    // Records of a partition are in order: behind one that is not durable none is.
                    .take_while(|&(sequence, _)| is_counted(sequence));
                let before = found.len();
                found.extend(new.map(|(sequence, position)| (sequence, snapshots.len(), position)));
                let Some(&(_, _, last)) = found[before..].last() else { continue };
                partition.set_counted(last + 1);
                snapshots.push((tenant.clone(), snapshot));
            }
        }
        found.sort_unstable();
        for (sequence, position, profile) in found {
            let (tenant, dataset) = &snapshots[position];
            let place = Place { generation: generation.number, sequence };
            self.tally.count(Counted { tenant, place, dataset, profile });
        }
    }
}

impl Shared {
    /// See [`crate::Store::count_durable`].
    pub(crate) fn count_durable(&self) {
        let Some(keeper) = self.tally.as_ref().filter(|keeper| keeper.tally.wants(None)) else { return };
        let _counting = keeper.counting();
        self.count_below(keeper, u64::MAX, &self.log.durable_now());
    }

    /// Counts generations up to and with one.
    fn count_below(&self, keeper: &TallyKeeper, last: u64, durable: &DurableNow) {
        let published = self.published();
        let generations = published.sealed.iter().chain([&published.live]);
        for generation in generations.filter(|generation| generation.number <= last) {
            keeper.count(generation, |sequence| durable.has(sequence));
        }
    }

    /// Counts the rest of a sealed generation, durable or not: it is on its way into blocks. Writes what is to be kept of
    /// it; the edit that ends the generation has to name it.
    pub(crate) async fn end_tally(
        self: &Arc<Self>,
        generation: &Arc<Generation>,
    ) -> Result<Option<TallyEnd>, StoreError> {
        let Some(keeper) = &self.tally else { return Ok(None) };
        let committing = Arc::clone(&keeper.committing).lock_owned().await;
        let (shared, sealed) = (Arc::clone(self), Arc::clone(generation));
        let kept = blocking("counting", move || {
            let keeper = shared.tally.as_ref()?;
            let _counting = keeper.counting();
            if keeper.tally.wants(None) {
                shared.count_below(keeper, sealed.number, &shared.log.durable_now());
                keeper.count(&sealed, |_| true);
            }
            keeper.tally.keep(sealed.number)
        })
        .await?;
        let name = match kept {
            Some(kept) => Some(self.write_tally(keeper, &kept).await?),
            None => None,
        };
        Ok(Some(TallyEnd { name, _committing: committing }))
    }

    /// The edit is there. `before` is the object that it has replaced.
    pub(crate) async fn ended_tally(&self, end: TallyEnd, generation: u64, before: Option<String>) {
        let Some(keeper) = &self.tally else { return };
        {
            let _counting = keeper.counting();
            keeper.tally.kept(generation);
        }
        if end.name.is_some() {
            self.remove_tally(before).await;
        }
    }

    /// See [`crate::Store::change_tally`].
    pub(crate) async fn change_tally<E: From<StoreError>>(
        &self,
        change: impl FnOnce(Place) -> Result<Vec<u8>, E>,
        done: impl FnOnce(),
    ) -> Result<(), E> {
        let Some(keeper) = &self.tally else {
            let reason = "the store was opened without one".to_owned();
            return Err(StoreError::Io { what: "tally".to_owned(), reason }.into());
        };
        let _committing = keeper.committing.lock().await;
        let kept = {
            let _counting = keeper.counting();
            // While this is held the live generation stays the live one.
            let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
            let (generation, sequence) = (self.published().live.number, self.log.last_sequence());
            change(Place { generation, sequence })?
        };
        let name = self.write_tally(keeper, &kept).await?;
        let mut catalogue = self.catalogue.lock().await;
        let before = catalogue.state().tally().map(ToOwned::to_owned);
        catalogue.append(&Edit { tally: Some(name), ..Edit::default() }).await?;
        drop(catalogue);
        // Before anybody else asks what is to be kept.
        done();
        self.remove_tally(before).await;
        Ok(())
    }

    /// Writes an object under the next free name.
    async fn write_tally(&self, keeper: &TallyKeeper, kept: &[u8]) -> Result<String, StoreError> {
        let number = keeper.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TALLY_FOLDER}/{number:0DIGITS$}");
        let mut bytes = format!("{MAGIC} {:016x}\n", xxh3_64(kept)).into_bytes();
        bytes.extend_from_slice(kept);
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let path = Path::from(name.as_str());
        self.objects.put_opts(&path, PutPayload::from(bytes), options).await.map_err(io_error(&name))?;
        Ok(name)
    }

    async fn remove_tally(&self, name: Option<String>) {
        let Some(name) = name else { return };
        match self.objects.delete(&Path::from(name.as_str())).await {
            Ok(()) | Err(ObjectError::NotFound { .. }) => {}
            // The next start removes it; the catalogue names another.
            Err(error) => tracing::warn!(file = name, %error, "an old tally was not removed"),
        }
    }
}

/// The content of an object; `None` when it is gone.
async fn read(objects: &DurableLocal, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes = match objects.get(&Path::from(name)).await {
        Ok(object) => object.bytes().await.map_err(io_error(name))?,
        Err(ObjectError::NotFound { .. }) => {
            tracing::warn!(file = name, "the tally is gone; its sums begin anew");
            return Ok(None);
        }
        Err(error) => return Err(io_error(name)(error)),
    };
    let wrong = || corrupt(Some(name), "header line or checksum".to_owned());
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(wrong)?;
    let (header, content) = (&bytes[..end], &bytes[end + 1..]);
    if *header != *format!("{MAGIC} {:016x}", xxh3_64(content)).as_bytes() {
        return Err(wrong());
    }
    Ok(Some(content.to_vec()))
}

fn number_of(name: &str) -> u64 {
    name.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn corrupt(name: Option<&str>, reason: String) -> StoreError {
    let file = name.unwrap_or(TALLY_FOLDER).to_owned();
    let reason = format!("{reason}; remove the file to let all counters of rules begin anew");
    BlockError::Corrupt { file, section: "tally".to_owned(), reason }.into()
}

fn io_error(what: &str) -> impl Fn(ObjectError) -> StoreError {
    let what = what.to_owned();
    move |error| StoreError::Io { what: what.clone(), reason: error.to_string() }
}
