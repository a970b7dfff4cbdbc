//! Which blocks there are: a numbered log of edits, kept through [`ObjectStore`] with create-if-absent alone.
//!
//! ```text
//! catalogue/00000000000000000256.checkpoint   everything up to edit 256
//! catalogue/00000000000000000257.edit         blocks added, blocks removed, generations done
//! catalogue/00000000000000000258.edit
//! ```
//!
//! An edit is one object, so it is there whole or not at all: a flush adds all its blocks and marks its log generation
//! as done in one step, and whoever reads the catalogue sees both or neither. Two writers never overwrite each other:
//! the name is the next number, and the loser reads what the winner wrote and tries again behind it.
//!
//! Who calls this: the flush and retention of this crate append, start-up opens. Damage is an error that names the
//! file and says what to do; nothing is guessed. A crash leaves no half of an edit behind: an object gets its name when
//! all of it is on disk. So a last edit that is damaged was acknowledged, and the log that it made superfluous is gone;
//! to go on without it would be to remove its blocks as garbage.
//!
//! Not here: what is in a block (`block`), when blocks are dropped (`retention`).

mod file;
mod state;

use std::sync::Arc;

use block::BlockError;
use futures::TryStreamExt as _;
use object_store::{
    Error as ObjectError, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, path::Path,
};

pub use state::{BlockEntry, CatalogueState, Edit};

use crate::StoreError;
pub(crate) use file::CATALOGUE_FOLDER;
use file::{FileKind, FileName};

/// Edits between two checkpoints. More make a start read more small files, fewer write the whole list more often.
const CHECKPOINT_EVERY: u64 = 256;

/// How often an append moves on to the next number after losing a race. One process has the folder (D21), so a race
/// at all means a second writer; this many losses in a row mean that something is wrong.
const RACES_MAX: u32 = 64;

/// The open catalogue of a data folder.
#[derive(Debug)]
pub struct Catalogue {
    objects: Arc<dyn ObjectStore>,
    /// Number of the last edit that `state` has; 0 = none.
    sequence: u64,
    /// Number of the newest checkpoint; 0 = none.
    checkpoint: u64,
    state: CatalogueState,
}

impl Catalogue {
    /// Reads the newest checkpoint and the edits behind it.
    ///
    /// # Errors
    /// When an object cannot be read, is damaged or is missing; the file is named.
    pub async fn open(objects: Arc<dyn ObjectStore>) -> Result<Self, StoreError> {
        let mut catalogue = Self { objects, sequence: 0, checkpoint: 0, state: CatalogueState::default() };
        catalogue.load().await?;
        Ok(catalogue)
    }

    /// What the catalogue says now.
    #[must_use]
    pub fn state(&self) -> &CatalogueState {
        &self.state
    }

    /// Number of the last edit.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Adds an edit and returns when it is durable. An edit whose effect is there already changes nothing, so an append
    /// that failed may be repeated without knowing how far it came.
    ///
    /// # Errors
    /// When writing fails, or when the edit does not fit: it removes a block that is not there, or adds a name that
    /// another block has.
    pub async fn append(&mut self, edit: &Edit) -> Result<(), StoreError> {
        for _ in 0..RACES_MAX {
            if self.state.has(edit) {
                return Ok(());
            }
            self.state.check(edit)?;
            if self.try_append(edit).await? {
                return Ok(());
            }
        }
        Err(io_error("catalogue", format!("lost {RACES_MAX} races for the next edit")))
    }

    /// Writes the edit under the next number. `false` when it has to be tried again: another writer has the number, or
    /// others are past it by a checkpoint. What they wrote is then part of the state.
    async fn try_append(&mut self, edit: &Edit) -> Result<bool, StoreError> {
        let name = FileName { sequence: self.sequence + 1, kind: FileKind::Edit };
        if !self.create(name, file::encode(name.kind, edit)?).await? {
            self.read_forward().await?;
            return Ok(false);
        }
        if self.names().await?.iter().any(|other| other.kind == FileKind::Checkpoint && *other > name) {
            // The number was free because a checkpoint had replaced it: nobody will read what we wrote there.
            self.load().await?;
            return Ok(false);
        }
        self.state.apply(edit)?;
        self.sequence = name.sequence;
        if self.sequence - self.checkpoint >= CHECKPOINT_EVERY {
            self.write_checkpoint().await;
        }
        Ok(true)
    }

    /// Writes an object if its name is free; `false` when it is taken.
    async fn create(&self, name: FileName, bytes: Vec<u8>) -> Result<bool, StoreError> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.objects.put_opts(&name.path(), PutPayload::from(bytes), options).await {
            Ok(_) => Ok(true),
            Err(ObjectError::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(io_error(name.path(), error)),
        }
    }

    /// Applies edits that others wrote behind ours.
    async fn read_forward(&mut self) -> Result<(), StoreError> {
        let before = self.sequence;
        loop {
            let name = FileName { sequence: self.sequence + 1, kind: FileKind::Edit };
            match self.objects.get(&name.path()).await {
                Ok(object) => {
                    let bytes = object.bytes().await.map_err(|error| io_error(name.path(), error))?;
                    self.state.apply(&file::decode::<Edit>(name, &bytes)?)?;
                    self.sequence = name.sequence;
                }
                Err(ObjectError::NotFound { .. }) => break,
                Err(error) => return Err(io_error(name.path(), error)),
            }
        }
        if self.sequence == before {
            // The name was taken and is gone: others are past a checkpoint that we have not seen.
            self.load().await?;
        }
        Ok(())
    }

    /// Reads from the newest checkpoint on. Where that one is damaged, the one before it and the edits between the two
    /// say the same: they are kept for that. With none whole, or with an edit missing, nothing is guessed.
    async fn load(&mut self) -> Result<(), StoreError> {
        let names = self.names().await?;
        let checkpoints = names.iter().rev().filter(|name| name.kind == FileKind::Checkpoint);
        let mut damaged = None;
        for start in checkpoints.map(Some).chain([None]) {
            match self.load_from(start, &names).await {
                Ok(()) => return Ok(()),
                Err(error) if is_corrupt(start, &error) => {
                    tracing::error!(%error, "a catalogue checkpoint is damaged; trying the files before it");
                    damaged.get_or_insert(error);
                }
                // What stands in the way behind a damaged checkpoint is its damage.
                Err(error) => return Err(damaged.unwrap_or(error)),
            }
        }
        Err(damaged.unwrap_or_else(|| io_error(CATALOGUE_FOLDER, "has no beginning")))
    }

    /// Reads a checkpoint, or nothing, and the edits behind it.
    async fn load_from(&mut self, start: Option<&FileName>, names: &[FileName]) -> Result<(), StoreError> {
        let mut state = CatalogueState::default();
        let mut sequence = 0;
        if let Some(&name) = start {
            state = self.read(name).await?;
            if !state.has_names_of_blocks() {
                return Err(file::corrupt(name, "a block stands under another name".into()).into());
            }
            sequence = name.sequence;
        }
        let checkpoint = sequence;
        for name in names.iter().filter(|name| name.kind == FileKind::Edit && name.sequence > checkpoint) {
            let expected = FileName { sequence: sequence + 1, kind: FileKind::Edit };
            if *name != expected {
                return Err(file::corrupt(expected, "missing, though later edits are there".into()).into());
            }
            state.apply(&self.read::<Edit>(*name).await?)?;
            sequence = name.sequence;
        }
        if let Some(newest) = names.iter().filter(|name| name.sequence > sequence).max() {
            return Err(file::corrupt(*newest, "the edits before it are missing".into()).into());
        }
        self.checkpoint = checkpoint;
        self.sequence = sequence;
        self.state = state;
        Ok(())
    }

    /// All catalogue objects, sorted by number. Names of another form are left alone and reported.
    async fn names(&self) -> Result<Vec<FileName>, StoreError> {
        let folder = Path::from(CATALOGUE_FOLDER);
        let listed = self.objects.list(Some(&folder)).try_collect::<Vec<_>>().await;
        let mut names = Vec::new();
        for object in listed.map_err(|error| io_error(&folder, error))? {
            match FileName::parse(&object.location) {
                Some(name) => names.push(name),
                None => tracing::warn!(file = %object.location, "no catalogue file; ignored"),
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    async fn read<T: serde::de::DeserializeOwned>(&self, name: FileName) -> Result<T, StoreError> {
        let path = name.path();
        let object = self.objects.get(&path).await.map_err(|error| io_error(&path, error))?;
        let bytes = object.bytes().await.map_err(|error| io_error(&path, error))?;
        Ok(file::decode(name, &bytes)?)
    }

    /// Writes the state as a checkpoint and removes what it makes superfluous. The checkpoint before it stays, with the
    /// edits between the two, so that one damaged checkpoint can be set aside by hand. Failing is not the append's
    /// failure: the edits are still there, and the next append tries again.
    async fn write_checkpoint(&mut self) {
        let name = FileName { sequence: self.sequence, kind: FileKind::Checkpoint };
        let written = match file::encode(name.kind, &self.state) {
            Ok(bytes) => self.create(name, bytes).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::warn!(file = %name.path(), %error, "catalogue checkpoint not written");
            return;
        }
        let previous = std::mem::replace(&mut self.checkpoint, name.sequence);
        if let Err(error) = self.remove_before(previous).await {
            tracing::warn!(%error, "old catalogue files not removed");
        }
    }

    /// Removes edits up to a checkpoint's number and the checkpoints before it, oldest first, so that what is left has
    /// no hole whenever this stops.
    async fn remove_before(&self, checkpoint: u64) -> Result<(), StoreError> {
        for name in self.names().await? {
            let is_old = match name.kind {
                FileKind::Edit => name.sequence <= checkpoint,
                FileKind::Checkpoint => name.sequence < checkpoint,
            };
            if is_old {
                self.objects.delete(&name.path()).await.map_err(|error| io_error(name.path(), error))?;
            }
        }
        Ok(())
    }
}

/// Whether it is the checkpoint itself that is damaged.
fn is_corrupt(checkpoint: Option<&FileName>, error: &StoreError) -> bool {
    let StoreError::Block(BlockError::Corrupt { file, .. }) = error else { return false };
    checkpoint.is_some_and(|name| name.path().as_ref() == file)
}

fn io_error(what: impl std::fmt::Display, reason: impl std::fmt::Display) -> StoreError {
    StoreError::Io { what: what.to_string(), reason: reason.to_string() }
}
