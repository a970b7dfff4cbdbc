//! The few file operations that the store needs, as a trait, and their real implementation.
//!
//! Log, catalogue and blocks reach files only through [`Disk`], so that tests can put a disk in its place that forgets
//! everything that was not synced, or that is full. Names are relative to the data folder and cannot leave it: nothing
//! is ever read or written elsewhere (C109).
//!
//! What holds after a power cut, and for every implementation:
//! - a file's bytes are kept up to the last [`DiskFile::sync_data`],
//! - a name (new, renamed or removed) is kept from the next [`Disk::sync_dir`] of its folder.
//!
//! Not here: what is in the files, retries, waiting. All calls block; callers keep them off the async threads.

use std::{
    fmt::Debug,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// One entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskEntry {
    /// Name within the folder.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
    /// Bytes; 0 for a folder.
    pub length: u64,
}

/// Size and age of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskMetadata {
    /// Bytes.
    pub length: u64,
    /// Last change.
    pub modified: SystemTime,
}

/// A file open for appending.
pub trait DiskFile: Send + Debug {
    /// Writes all bytes at the end.
    ///
    /// # Errors
    /// What the system says. How much was written is then not known.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes every appended byte survive a power cut.
    ///
    /// # Errors
    /// What the system says. After an error nothing appended since the last success may be trusted, not even after
    /// another call that succeeds: systems drop dirty pages when a write-back fails.
    fn sync_data(&mut self) -> io::Result<()>;
    /// Whether the file still has a name. One that has none is gone when the process ends, synced or not.
    ///
    /// # Errors
    /// What the system says.
    fn has_name(&self) -> io::Result<bool>;
}

/// A file open for reading; it stays readable when its name is removed.
pub trait DiskReader: Send + Sync + Debug {
    /// Bytes in the file when it was opened.
    fn length(&self) -> u64;
    /// Fills the buffer from `offset` on.
    ///
    /// # Errors
    /// What the system says; `UnexpectedEof` when the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// The files of one data folder. Names are relative, parts divided by `/`.
pub trait Disk: Send + Sync + Debug {
    /// Makes a folder and those above it, and makes their names survive a power cut.
    ///
    /// # Errors
    /// What the system says.
    fn create_folder(&self, folder: &str) -> io::Result<()>;
    /// Makes a new, empty file.
    ///
    /// # Errors
    /// `AlreadyExists` when the name is taken; else what the system says.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file for appending behind its first `length` bytes; what stands behind them is cut off.
    ///
    /// # Errors
    /// `NotFound` when there is none; else what the system says.
    fn open_append(&self, name: &str, length: u64) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound` when there is none; else what the system says.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskReader>>;
    /// Size and age of a file.
    ///
    /// # Errors
    /// `NotFound` when there is no such file (a folder is none); else what the system says.
    fn metadata(&self, name: &str) -> io::Result<DiskMetadata>;
    /// Gives a file a new name, in place of the file that has it.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Gives a file a new name, in one step and only if the name is free.
    ///
    /// # Errors
    /// `AlreadyExists` when the name is taken; else what the system says.
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` when there is none; else what the system says.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Removes an empty folder.
    ///
    /// # Errors
    /// What the system says, a folder with entries included.
    fn remove_folder(&self, folder: &str) -> io::Result<()>;
    /// The entries of a folder, sorted by name; empty when there is no such folder.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, folder: &str) -> io::Result<Vec<DiskEntry>>;
    /// Makes the names in a folder survive a power cut.
    ///
    /// # Errors
    /// What the system says.
    fn sync_dir(&self, folder: &str) -> io::Result<()>;
    /// Bytes that may still be written by an ordinary user.
    ///
    /// # Errors
    /// What the system says.
    fn free_space(&self) -> io::Result<u64>;

    /// The whole file.
    ///
    /// # Errors
    /// `NotFound` when there is none; else what the system says.
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let reader = self.open(name)?;
        let length = usize::try_from(reader.length()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut bytes = vec![0; length];
        reader.read_at(0, &mut bytes)?;
        Ok(bytes)
    }
}

/// Whether a name stays inside the data folder: relative, no empty part, no `.` or `..`, no NUL.
#[must_use]
pub fn is_inside(name: &str) -> bool {
    !name.contains('\0') && name.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// The folder part of a name; empty for the data folder itself.
#[must_use]
pub fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A folder of the machine's file system.
#[derive(Clone, Debug)]
pub struct LocalDisk {
    root: PathBuf,
}

impl LocalDisk {
    /// Opens the folder, making it if it is not there.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(root: &Path) -> io::Result<Self> {
        create_folders(root)?;
        Ok(Self { root: root.canonicalize()? })
    }

    /// The data folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, name: &str) -> io::Result<PathBuf> {
        if !is_inside(name) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("name {name:?} leaves the data folder"),
            ));
        }
        Ok(self.root.join(name))
    }

    /// Like [`Self::path`]; the empty name is the data folder itself.
    fn folder_path(&self, folder: &str) -> io::Result<PathBuf> {
        if folder.is_empty() { Ok(self.root.clone()) } else { self.path(folder) }
    }
}

/// Makes a folder and those above it; each new name is synced in the folder that holds it.
fn create_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_folders(parent)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        other => other?,
    }
    File::open(parent)?.sync_all()
}

impl Disk for LocalDisk {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        create_folders(&self.path(folder)?)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().write(true).create_new(true).open(self.path(name)?)?;
        Ok(Box::new(LocalFile { file }))
    }

    fn open_append(&self, name: &str, length: u64) -> io::Result<Box<dyn DiskFile>> {
        let mut file = OpenOptions::new().write(true).open(self.path(name)?)?;
        if file.metadata()?.len() > length {
            file.set_len(length)?;
        }
        file.seek(SeekFrom::End(0))?;
        Ok(Box::new(LocalFile { file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskReader>> {
        let file = File::open(self.path(name)?)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(LocalReader { file, length: metadata.len() }))
    }

    fn metadata(&self, name: &str) -> io::Result<DiskMetadata> {
        let metadata = fs::metadata(self.path(name)?)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(DiskMetadata { length: metadata.len(), modified: metadata.modified()? })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from)?, self.path(to)?)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        rename_without_replacing(&self.path(from)?, &self.path(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name)?)
    }

    fn remove_folder(&self, folder: &str) -> io::Result<()> {
        fs::remove_dir(self.path(folder)?)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<DiskEntry>> {
        let entries = match fs::read_dir(self.folder_path(folder)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            // A name that is no UTF-8 is not ours; an entry that went while we looked is no longer there.
            let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) else {
                continue;
            };
            let is_folder = metadata.is_dir();
            found.push(DiskEntry { name, is_folder, length: if is_folder { 0 } else { metadata.len() } });
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        File::open(self.folder_path(folder)?)?.sync_all()
    }

    fn free_space(&self) -> io::Result<u64> {
        let status = rustix::fs::statvfs(&self.root)?;
        Ok(status.f_bavail.saturating_mul(status.f_frsize))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(name)?)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// In one call where the file system can, else by a hard link, which fails on a taken name just the same.
#[cfg(target_os = "linux")]
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => link_then_remove(from, to),
        other => Ok(other?),
    }
}

/// By a hard link, which fails on a taken name.
#[cfg(not(target_os = "linux"))]
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    link_then_remove(from, to)
}

fn link_then_remove(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

#[derive(Debug)]
struct LocalFile {
    file: File,
}

impl DiskFile for LocalFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn has_name(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() > 0)
    }
}

#[derive(Debug)]
struct LocalReader {
    file: File,
    length: u64,
}

impl DiskReader for LocalReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c109_names_cannot_leave_the_data_folder() {
        for bad in ["", "/", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", ".", "a/./b", "a\0b"] {
            assert!(!is_inside(bad), "{bad:?}");
        }
        for good in ["a", "a/b.edit", "..a", "a..b/.c"] {
            assert!(is_inside(good), "{good:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::open(&folder.path().join("data")).unwrap();
        assert_eq!(disk.create("../escape").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(disk.create_folder("/tmp/escape").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_file_is_written_renamed_read_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::open(folder.path()).unwrap();
        disk.create_folder("a/b").unwrap();
        let mut file = disk.create("a/b/one").unwrap();
        file.append(b"hello ").unwrap();
        file.append(b"world").unwrap();
        file.sync_data().unwrap();
        disk.rename_new("a/b/one", "a/two").unwrap();
        disk.create("a/three").unwrap();
        let taken = disk.rename_new("a/three", "a/two").unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(disk.read("a/two").unwrap(), b"hello world");
        disk.open_append("a/two", 5).unwrap().append(b"!").unwrap();
        assert_eq!(disk.read("a/two").unwrap(), b"hello!");
        let names: Vec<_> = disk.list("a").unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["b", "three", "two"]);
        let open = disk.open("a/two").unwrap();
        disk.remove("a/two").unwrap();
        assert_eq!(disk.open("a/two").unwrap_err().kind(), io::ErrorKind::NotFound);
        let mut rest = [0; 3];
        open.read_at(3, &mut rest).unwrap();
        assert_eq!(&rest, b"lo!");
        assert_eq!(disk.list("nowhere").unwrap(), []);
        assert!(disk.free_space().unwrap() > 0);
    }
}
