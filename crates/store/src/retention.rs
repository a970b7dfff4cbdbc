//! What goes, and when pushes are refused so that the disk never fills (D13, D27).
//!
//! Three rules, each a pure question about the catalogue or one look at the disk; the store's maintenance asks them and
//! acts: blocks past their age or over the byte cap are dropped whole, oldest first; objects that no catalogue entry
//! names are garbage of a flush that died, as long as their data is elsewhere or was dropped; below the watermark the
//! store only reads.
//!
//! Not here: the edit that takes a block out of the catalogue and its order before the removal of the object (`store`).

use std::{collections::BTreeSet, io, time::Duration};

use block::BlockError;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::{Error as ObjectError, ObjectStore, path::Path};
use profile::{Tenant, Timestamp};

use crate::{
    StoreError,
    catalogue::{BlockEntry, CATALOGUE_FOLDER, CatalogueState},
    disk::Disk,
};

/// Folder of block objects within the data folder.
pub const BLOCK_FOLDER: &str = "blocks";

/// What an operator adds to the name of a block that cannot be read and is to be given up.
pub const LOST_SUFFIX: &str = ".lost";

/// How long blocks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Most bytes of all blocks together; 0 = no limit.
    pub bytes_max: u64,
    /// Greatest age; `None` = no limit.
    pub age_max: Option<Duration>,
}

impl Retention {
    /// Blocks that have to go, oldest first. Age runs from the later of the data's end and its arrival (D13), so an
    /// imported old profile is not dropped at once.
    #[must_use]
    pub fn expired<'a>(&self, catalogue: &'a CatalogueState, now: Timestamp) -> Vec<&'a BlockEntry> {
        let mut blocks: Vec<&BlockEntry> = catalogue.blocks().collect();
        blocks.sort_by(|a, b| (a.age_from(), &a.name).cmp(&(b.age_from(), &b.name)));
        let mut bytes = catalogue.block_bytes();
        let must_go = |block: &&BlockEntry| {
            let is_over = self.bytes_max > 0 && bytes > self.bytes_max;
            bytes = bytes.saturating_sub(block.bytes);
            is_over || self.is_too_old(block, now)
        };
        // Sorted by age: after the first that may stay, all may.
        blocks.into_iter().take_while(must_go).collect()
    }

    fn is_too_old(&self, block: &BlockEntry, now: Timestamp) -> bool {
        let Some(age_max) = self.age_max else { return false };
        let age_max = i64::try_from(age_max.as_nanos()).unwrap_or(i64::MAX);
        now.0.saturating_sub(block.age_from()) > age_max
    }
}

/// What one look at the free space says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeSpace {
    /// Pushes are taken.
    Enough {
        /// Bytes free.
        free: u64,
    },
    /// Pushes are refused until there is more.
    Low {
        /// Bytes free.
        free: u64,
        /// Bytes that must be free.
        free_min: u64,
    },
}

impl FreeSpace {
    /// Looks at the disk of the data folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(disk: &dyn Disk, free_min: u64) -> io::Result<Self> {
        let free = disk.free_space()?;
        Ok(if free < free_min { Self::Low { free, free_min } } else { Self::Enough { free } })
    }

    /// Bytes free.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Enough { free } | Self::Low { free, .. } => free,
        }
    }

    /// Why pushes are refused, for clients and the log; `None` while they are taken.
    #[must_use]
    pub fn reason(self) -> Option<String> {
        match self {
            Self::Enough { .. } => None,
            Self::Low { free, free_min } => Some(format!(
                "the disk of the data folder has {free} bytes free, fewer than the {free_min} that must stay; \
                 free some or set --free-bytes-min"
            )),
        }
    }
}

/// Removes block objects that the catalogue does not name: of a flush that died before its edit, or of a block that was
/// dropped and whose removal did not happen. Only to be called after the catalogue was read and before the first flush,
/// with the generations whose log is there. Returns the names of what was removed.
///
/// # Errors
/// When listing or removing fails; and, before anything is removed, for a block whose generation neither has a log nor is
/// done: its log goes only after the edit that names it, so that edit is missing, and the block is all there is of it.
pub async fn remove_garbage(
    objects: &dyn ObjectStore,
    catalogue: &CatalogueState,
    logs: &BTreeSet<u64>,
) -> Result<Vec<String>, StoreError> {
    let folder = Path::from(BLOCK_FOLDER);
    let failed = |error: ObjectError| StoreError::Io { what: BLOCK_FOLDER.into(), reason: error.to_string() };
    let listed: Vec<_> = objects.list(Some(&folder)).try_collect().await.map_err(failed)?;
    let unnamed: Vec<Path> = listed
        .into_iter()
        .map(|object| object.location)
        .filter(|location| catalogue.block(location.as_ref()).is_none())
        .filter(|location| !location.as_ref().ends_with(LOST_SUFFIX))
        .collect();
    let is_kept_elsewhere =
        |generation: u64| logs.contains(&generation) || catalogue.is_generation_done(generation);
    let is_only_copy = |name: &&Path| block_generation(name).is_some_and(|number| !is_kept_elsewhere(number));
    if let Some(name) = unnamed.iter().find(is_only_copy) {
        return Err(StoreError::Block(BlockError::Corrupt {
            file: CATALOGUE_FOLDER.into(),
            section: "edits".into(),
            reason: format!(
                "none names {name}, whose log is gone already, so one is missing; put the folder back from a copy of \
                 the data folder, or give the block up by naming it {name}{LOST_SUFFIX}"
            ),
        }));
    }
    let unnamed = unnamed.into_iter().map(Ok);
    let removed: Vec<Path> =
        objects.delete_stream(futures::stream::iter(unnamed).boxed()).try_collect().await.map_err(failed)?;
    Ok(removed.into_iter().map(String::from).collect())
}

/// Name of the block of a tenant, a UTC day and a log generation.
#[must_use]
pub(crate) fn block_name(tenant: &Tenant, day: i64, generation: u64) -> String {
    format!("{BLOCK_FOLDER}/{tenant}/{day:08}-{generation:020}.block")
}

/// The log generation that a block was made from, by its name; `None` = no name of a block.
fn block_generation(name: &Path) -> Option<u64> {
    let (_, generation) = name.filename()?.strip_suffix(".block")?.rsplit_once('-')?;
    generation.parse().ok()
}

/// Blocks that an operator has given up: the object is gone, and one with [`LOST_SUFFIX`] behind its name is there.
/// What is there under that name is left alone.
///
/// # Errors
/// What the system says.
pub fn given_up(disk: &dyn Disk, catalogue: &CatalogueState) -> io::Result<Vec<String>> {
    let is_there = |name: &str| match disk.metadata(name) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    let mut names = Vec::new();
    for block in catalogue.blocks() {
        if is_there(&format!("{}{LOST_SUFFIX}", block.name))? && !is_there(&block.name)? {
            names.push(block.name.clone());
        }
    }
    Ok(names)
}

/// Removes the objects of dropped blocks. One that is gone already is no error.
///
/// # Errors
/// When removing fails; the next start removes what is left.
pub async fn remove_blocks(
    objects: &dyn ObjectStore,
    names: impl IntoIterator<Item = String>,
) -> Result<(), StoreError> {
    let locations: Vec<_> =
        names.into_iter().map(|name| Path::parse(name).map_err(ObjectError::from)).collect();
    let mut removals = objects.delete_stream(futures::stream::iter(locations).boxed());
    while let Some(removal) = removals.next().await {
        match removal {
            Ok(_) | Err(ObjectError::NotFound { .. }) => {}
            Err(error) => {
                return Err(StoreError::Io { what: BLOCK_FOLDER.into(), reason: error.to_string() });
            }
        }
    }
    Ok(())
}
