//! A disk in memory that forgets, as a real one does when the power goes.
//!
//! Every file has its bytes and the bytes that were synced; every folder its names and the names that were synced.
//! [`ForgetfulDisk::crash`] throws the difference away, or a part of it that depends on a seed, which is what file
//! systems really do: any unsynced tail may be there in part, any unsynced name may be there or not. Handles from before
//! the crash are dead afterwards.
//!
//! To find out whether code syncs what it must, take the syncs out, all ([`ForgetfulDisk::ignore_sync_data`],
//! [`ForgetfulDisk::ignore_sync_dir`]) or those of one folder ([`ForgetfulDisk::ignore_sync_data_in`],
//! [`ForgetfulDisk::ignore_sync_dir_in`]), and see the test fail; to crash at each step, count them
//! ([`ForgetfulDisk::steps`]) and then stop at each ([`ForgetfulDisk::stop_after`]).

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use store::disk::{Disk, DiskEntry, DiskFile, DiskMetadata, DiskReader, folder_of, is_inside};

/// Free bytes of a new disk.
const FREE_BYTES: u64 = 1 << 40;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct ForgetfulDisk {
    state: Arc<Mutex<State>>,
    /// The only life in which this handle works; `None` = in all.
    life: Option<u64>,
}

#[derive(Debug)]
struct State {
    /// Grows with each crash; handles of an older life are dead.
    life: u64,
    files: Vec<FileState>,
    /// Entries of each folder, now. A folder is there when it has an entry here; `""` always is.
    folders: BTreeMap<String, BTreeMap<String, Entry>>,
    /// Entries of each folder that survive.
    synced: BTreeMap<String, BTreeMap<String, Entry>>,
    free_bytes: u64,
    /// Folders whose files' syncs do nothing; the empty name stands for all.
    data_unsynced: Vec<String>,
    /// Folders whose names' syncs do nothing; the empty name stands for all.
    names_unsynced: Vec<String>,
    steps: u64,
    stop_after: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    File(usize),
    Folder,
}

#[derive(Debug)]
struct FileState {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    /// What a sync would have kept, had the file been in the folder that it is renamed into later.
    deferred: Option<Vec<u8>>,
    modified: SystemTime,
}

impl Default for State {
    fn default() -> Self {
        let root = BTreeMap::from([(String::new(), BTreeMap::new())]);
        Self {
            life: 0,
            files: Vec::new(),
            folders: root.clone(),
            synced: root,
            free_bytes: FREE_BYTES,
            data_unsynced: Vec::new(),
            names_unsynced: Vec::new(),
            steps: 0,
            stop_after: None,
        }
    }
}

impl ForgetfulDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The disk as a process has it that ends with the next crash: nothing that is left of it, such as a task that is
    /// still running, can change what the next one finds.
    #[must_use]
    pub fn until_crash(&self) -> Self {
        let life = Some(self.lock().life);
        Self { life, ..self.clone() }
    }

    /// The power goes and comes back: everything that was not synced is gone, and the disk works again.
    pub fn crash(&self) {
        self.crash_with(|_| 0);
    }

    /// Like [`Self::crash`], but a seeded part of what was not synced is kept: tails of files in part (their last byte
    /// perhaps damaged), changed names or not.
    pub fn crash_with_seed(&self, seed: u64) {
        let mut state = seed;
        self.crash_with(move |bound| next_random(&mut state) % (bound + 1));
    }

    /// `choose(bound)` picks how much of something unsynced survives, 0 to `bound`.
    fn crash_with(&self, mut choose: impl FnMut(u64) -> u64) {
        let mut state = self.lock();
        let state = &mut *state;
        state.life += 1;
        state.stop_after = None;
        for file in &mut state.files {
            // It was never renamed into a folder that is not synced.
            if let Some(kept) = file.deferred.take() {
                file.synced = kept;
            }
            let unsynced = file.bytes.len().saturating_sub(file.synced.len());
            let is_longer = file.bytes.starts_with(&file.synced);
            let kept = usize::try_from(choose(unsynced as u64)).unwrap_or(0);
            if is_longer && kept > 0 {
                file.synced.extend_from_slice(&file.bytes[file.synced.len()..][..kept]);
                // A torn sector holds neither old nor new bytes.
                if choose(1) == 1
                    && let Some(last) = file.synced.last_mut()
                {
                    *last = !*last;
                }
            }
            file.bytes.clone_from(&file.synced);
        }
        let names: Vec<String> = state.folders.keys().cloned().collect();
        for folder in names {
            let (now, kept) = (state.folders.get(&folder).cloned(), state.synced.entry(folder.clone()));
            let (now, kept) = (now.unwrap_or_default(), kept.or_default());
            let changed: Vec<String> = now.keys().chain(kept.keys()).cloned().collect();
            for name in changed {
                if now.get(&name) != kept.get(&name) && choose(1) == 1 {
                    match now.get(&name) {
                        Some(&entry) => kept.insert(name, entry),
                        None => kept.remove(&name),
                    };
                }
            }
        }
        state.forget_lost_folders();
        state.folders.clone_from(&state.synced);
    }

    /// From now on [`DiskFile::sync_data`] does nothing.
    pub fn ignore_sync_data(&self) {
        self.ignore_sync_data_in("");
    }

    /// From now on [`DiskFile::sync_data`] does nothing for files that are in the folder or below it, or that are renamed
    /// into it later.
    pub fn ignore_sync_data_in(&self, folder: &str) {
        self.lock().data_unsynced.push(folder.to_owned());
    }

    /// From now on [`Disk::sync_dir`] does nothing.
    pub fn ignore_sync_dir(&self) {
        self.ignore_sync_dir_in("");
    }

    /// From now on [`Disk::sync_dir`] does nothing for the folder and those below it.
    pub fn ignore_sync_dir_in(&self, folder: &str) {
        self.lock().names_unsynced.push(folder.to_owned());
    }

    /// Sets what [`Disk::free_space`] answers.
    pub fn set_free_space(&self, bytes: u64) {
        self.lock().free_bytes = bytes;
    }

    /// How many operations changed or synced something so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.lock().steps
    }

    /// After so many further steps every operation fails, until [`Self::crash`].
    pub fn stop_after(&self, steps: u64) {
        let mut state = self.lock();
        state.stop_after = Some(state.steps + steps);
    }

    /// Operations succeed again although nothing was lost, as on a full disk that somebody has made room on.
    pub fn go_on(&self) {
        self.lock().stop_after = None;
    }

    /// Names of all files, sorted.
    #[must_use]
    pub fn file_names(&self) -> Vec<String> {
        let state = self.lock();
        let mut names = Vec::new();
        for (folder, entries) in &state.folders {
            for (name, entry) in entries {
                if matches!(entry, Entry::File(_)) {
                    names.push(if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") });
                }
            }
        }
        names.sort();
        names
    }

    /// Changes a file's bytes behind everyone's back, as a failing medium does.
    ///
    /// # Errors
    /// `NotFound` when there is no such file.
    pub fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut state = self.lock();
        let file = state.file(name)?;
        change(&mut state.files[file].bytes);
        state.files[file].synced = state.files[file].bytes.clone();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For an operation that changes something: counts it, or fails when the power is gone.
    fn step(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        self.check_life(&state)?;
        state.check_power()?;
        state.steps += 1;
        Ok(state)
    }

    /// For an operation that only looks.
    fn look(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.lock();
        self.check_life(&state)?;
        state.check_power()?;
        Ok(state)
    }

    fn check_life(&self, state: &State) -> io::Result<()> {
        if self.life.is_some_and(|life| life != state.life) {
            return Err(io::Error::other("the disk was taken before the crash"));
        }
        Ok(())
    }
}

/// Whether a name is one of the folders or below one.
fn is_below(name: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| {
        let rest = name.strip_prefix(folder.as_str());
        folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

impl State {
    /// Moves an entry; what its file was asked to keep is kept now, unless the new folder is one that is not synced.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.file(from)?;
        let ((from_folder, from_leaf), (to_folder, to_leaf)) = (split(from)?, split(to)?);
        self.entries(to_folder)?.insert(to_leaf.to_owned(), Entry::File(file));
        self.entries(from_folder)?.remove(from_leaf);
        if let Some(kept) = self.files[file].deferred.take()
            && !is_below(to, &self.data_unsynced)
        {
            self.files[file].synced = kept;
        }
        Ok(())
    }

    fn check_power(&self) -> io::Result<()> {
        match self.stop_after {
            Some(limit) if self.steps >= limit => Err(io::Error::other("the power is gone")),
            _ => Ok(()),
        }
    }

    fn entry(&self, name: &str) -> io::Result<Entry> {
        let (folder, leaf) = split(name)?;
        let entry = self.folders.get(folder).and_then(|entries| entries.get(leaf));
        entry.copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn file(&self, name: &str) -> io::Result<usize> {
        match self.entry(name)? {
            Entry::File(file) => Ok(file),
            Entry::Folder => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn entries(&mut self, folder: &str) -> io::Result<&mut BTreeMap<String, Entry>> {
        self.folders.get_mut(folder).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// A folder whose name was lost takes everything below with it.
    fn forget_lost_folders(&mut self) {
        let all: Vec<String> = self.synced.keys().cloned().collect();
        for folder in all {
            let is_lost = !folder.is_empty()
                && self.synced.get(folder_of(&folder)).is_none_or(|above| {
                    above.get(folder.rsplit('/').next().unwrap_or_default()) != Some(&Entry::Folder)
                });
            if is_lost {
                self.synced.remove(&folder);
            }
        }
    }
}

fn split(name: &str) -> io::Result<(&str, &str)> {
    if !is_inside(name) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("name {name:?} leaves the data folder"),
        ));
    }
    Ok(name.rsplit_once('/').unwrap_or(("", name)))
}

/// SplitMix64: small, seeded, good enough to pick what is lost.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Disk for ForgetfulDisk {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        let (above, leaf) = split(folder)?;
        if self.look()?.folders.contains_key(folder) {
            return Ok(());
        }
        if !above.is_empty() {
            self.create_folder(above)?;
        }
        let mut state = self.step()?;
        if state.entry(folder).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.entries(above)?.insert(leaf.to_owned(), Entry::Folder);
        state.folders.insert(folder.to_owned(), BTreeMap::new());
        drop(state);
        self.sync_dir(above)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.step()?;
        let (folder, leaf) = split(name)?;
        if state.entry(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = state.files.len();
        state.entries(folder)?.insert(leaf.to_owned(), Entry::File(file));
        state.files.push(FileState {
            bytes: Vec::new(),
            synced: Vec::new(),
            deferred: None,
            modified: SystemTime::now(),
        });
        let name = name.to_owned();
        Ok(Box::new(ForgetfulFile { disk: self.clone(), life: state.life, file, name }))
    }

    fn open_append(&self, name: &str, length: u64) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.step()?;
        let file = state.file(name)?;
        let bytes = &mut state.files[file].bytes;
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        let name = name.to_owned();
        Ok(Box::new(ForgetfulFile { disk: self.clone(), life: state.life, file, name }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskReader>> {
        let state = self.look()?;
        let file = state.file(name)?;
        let length = state.files[file].bytes.len() as u64;
        Ok(Box::new(ForgetfulReader { disk: self.clone(), file, length }))
    }

    fn metadata(&self, name: &str) -> io::Result<DiskMetadata> {
        let state = self.look()?;
        let file = &state.files[state.file(name)?];
        Ok(DiskMetadata { length: file.bytes.len() as u64, modified: file.modified })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step()?.rename(from, to)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.step()?;
        state.file(from)?;
        if state.entry(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.step()?;
        state.file(name)?;
        let (folder, leaf) = split(name)?;
        state.entries(folder)?.remove(leaf);
        Ok(())
    }

    fn remove_folder(&self, folder: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let (above, leaf) = split(folder)?;
        if !state.entries(folder)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.folders.remove(folder);
        state.entries(above)?.remove(leaf);
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<DiskEntry>> {
        let state = self.look()?;
        let Some(entries) = state.folders.get(folder) else { return Ok(Vec::new()) };
        let listed = entries.iter().map(|(name, entry)| match entry {
            Entry::Folder => DiskEntry { name: name.clone(), is_folder: true, length: 0 },
            Entry::File(file) => {
                let length = state.files[*file].bytes.len() as u64;
                DiskEntry { name: name.clone(), is_folder: false, length }
            }
        });
        Ok(listed.collect())
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let entries = state.entries(folder)?.clone();
        if !is_below(folder, &state.names_unsynced) {
            for (name, entry) in &entries {
                // A new folder is durable with its name; what is in it is not.
                if *entry == Entry::Folder {
                    let below = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                    state.synced.entry(below).or_default();
                }
            }
            state.synced.insert(folder.to_owned(), entries);
        }
        Ok(())
    }

    fn free_space(&self) -> io::Result<u64> {
        Ok(self.look()?.free_bytes)
    }
}

#[derive(Debug)]
struct ForgetfulFile {
    disk: ForgetfulDisk,
    life: u64,
    file: usize,
    /// Its name when it was opened.
    name: String,
}

impl ForgetfulFile {
    fn step(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.step()?;
        if state.life != self.life {
            return Err(io::Error::other("the file was opened before the crash"));
        }
        Ok(state)
    }
}

impl DiskFile for ForgetfulFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.step()?;
        state.files[self.file].bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let mut state = self.step()?;
        if is_below(&self.name, &state.data_unsynced) {
            return Ok(());
        }
        // Not known yet whether the file goes into a folder that is not synced.
        let is_decided = state.data_unsynced.is_empty();
        let file = &mut state.files[self.file];
        if is_decided {
            file.synced.clone_from(&file.bytes);
        } else {
            file.deferred = Some(file.bytes.clone());
        }
        Ok(())
    }

    fn has_name(&self) -> io::Result<bool> {
        let state = self.disk.look()?;
        let mut entries = state.folders.values().flat_map(BTreeMap::values);
        Ok(entries.any(|entry| *entry == Entry::File(self.file)))
    }
}

#[derive(Debug)]
struct ForgetfulReader {
    disk: ForgetfulDisk,
    file: usize,
    length: u64,
}

impl DiskReader for ForgetfulReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.disk.look()?;
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let part = state.files[self.file].bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
