//! Objects on a local disk that are whole and durable once a put has returned.
//!
//! Blocks and catalogue are kept through the [`ObjectStore`] interface, so that they can move to a bucket one day.
//! `object_store`'s own local store cannot be put on another [`Disk`]; this one is, and does only what we need: a put
//! writes a file in `tmp/`, syncs it, gives it its name in one step (without replacing for [`PutMode::Create`]) and
//! syncs the folder. So an object is there whole or not at all, and of racing creators exactly one wins.
//!
//! Refused with `NotImplemented`: multipart uploads, conditional updates, copies, attributes.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, path::Path,
};

use crate::disk::{Disk, DiskReader, folder_of};

/// Folder of files that have no name yet; everything in it is garbage when a process starts.
pub const TEMPORARY_FOLDER: &str = "tmp";

/// How many deletes of one stream run at once; each waits for a sync of its folder.
const DELETES_AT_ONCE: usize = 16;

/// An [`ObjectStore`] over a [`Disk`].
#[derive(Clone, Debug)]
pub struct DurableLocal {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    disk: Arc<dyn Disk>,
    /// Makes names of temporary files unique within this process; the folder lock keeps other processes out.
    next_temporary: AtomicU64,
}

impl DurableLocal {
    /// Objects of a data folder. Removes what an earlier process left in `tmp/`.
    ///
    /// # Errors
    /// What the system says, behind the name of the folder.
    pub fn open(disk: Arc<dyn Disk>) -> io::Result<Self> {
        let in_temporary = |error: io::Error| named(TEMPORARY_FOLDER, &error);
        disk.create_folder(TEMPORARY_FOLDER).map_err(in_temporary)?;
        for entry in disk.list(TEMPORARY_FOLDER).map_err(in_temporary)? {
            if !entry.is_folder {
                disk.remove(&format!("{TEMPORARY_FOLDER}/{}", entry.name)).map_err(in_temporary)?;
            }
        }
        // A process may have died between giving a name and syncing it. Whoever reads that name now acts on it, so it
        // has to stay.
        for entry in disk.list("")? {
            if entry.is_folder {
                disk.sync_dir(&entry.name).map_err(|error| named(&entry.name, &error))?;
            }
        }
        Ok(Self { inner: Arc::new(Inner { disk, next_temporary: AtomicU64::new(0) }) })
    }

    /// Opens an object for reading without a runtime; it stays readable when it is deleted.
    ///
    /// # Errors
    /// `NotFound` when there is none; else what the system says.
    pub fn open_reader(&self, location: &Path) -> io::Result<Box<dyn DiskReader>> {
        self.inner.disk.open(location.as_ref())
    }

    /// Runs disk work off the async threads.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = Arc::clone(&self.inner);
        if tokio::runtime::Handle::try_current().is_err() {
            return work(&inner);
        }
        tokio::task::spawn_blocking(move || work(&inner))
            .await
            .map_err(|error| Error::Generic { store: "DurableLocal", source: Box::new(error) })?
    }
}

/// The error of a folder, with its name: who runs the server has to know which one to mend.
fn named(folder: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{folder}: {error}"))
}

impl fmt::Display for DurableLocal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DurableLocal")
    }
}

impl Inner {
    fn put(&self, location: &Path, payload: &PutPayload, is_create: bool) -> Result<()> {
        let name = location.as_ref();
        let folder = folder_of(name);
        if !folder.is_empty() {
            self.disk.create_folder(folder).map_err(|error| failed(location, error))?;
        }
        let temporary = self.write_temporary(payload).map_err(|error| failed(location, error))?;
        let named = if is_create {
            self.disk.rename_new(&temporary, name)
        } else {
            self.disk.rename(&temporary, name)
        };
        if let Err(error) = named {
            self.forget(&temporary);
            if error.kind() == io::ErrorKind::AlreadyExists {
                // The object may be our own, of a put whose sync failed; the caller will count on it being there.
                self.disk.sync_dir(folder).map_err(|error| failed(location, error))?;
            }
            return Err(failed(location, error));
        }
        self.disk.sync_dir(folder).map_err(|error| failed(location, error))
    }

    /// Writes and syncs a nameless file; removes it again when that fails.
    fn write_temporary(&self, payload: &PutPayload) -> io::Result<String> {
        let mut is_made = false;
        let (name, mut file) = loop {
            let number = self.next_temporary.fetch_add(1, Ordering::Relaxed);
            let name = format!("{TEMPORARY_FOLDER}/put-{number:020}");
            match self.disk.create(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Between two puts it is an empty folder of a name that cleaners look for; without it no flush ends.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_made => {
                    self.disk.create_folder(TEMPORARY_FOLDER)?;
                    is_made = true;
                }
                other => break (name, other?),
            }
        };
        let written = payload.iter().try_for_each(|part| file.append(part)).and_then(|()| file.sync_data());
        if let Err(error) = written {
            drop(file);
            self.forget(&name);
            return Err(error);
        }
        Ok(name)
    }

    /// Removes a temporary file; where even that fails, the next start does it.
    fn forget(&self, temporary: &str) {
        if let Err(error) = self.disk.remove(temporary) {
            tracing::warn!(file = temporary, %error, "temporary file not removed");
        }
    }

    fn metadata(&self, location: &Path) -> Result<ObjectMeta> {
        let metadata = self.disk.metadata(location.as_ref()).map_err(|error| failed(location, error))?;
        Ok(ObjectMeta {
            location: location.clone(),
            last_modified: metadata.modified.into(),
            size: metadata.length,
            e_tag: None,
            version: None,
        })
    }

    fn get(&self, location: &Path, options: &GetOptions) -> Result<GetResult> {
        let reader = self.disk.open(location.as_ref()).map_err(|error| failed(location, error))?;
        let mut meta = self.metadata(location)?;
        meta.size = reader.length();
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            Some(range) => range.as_range(meta.size).map_err(|error| generic(error.into()))?,
            None => 0..meta.size,
        };
        let mut bytes = Vec::new();
        if !options.head {
            let length = usize::try_from(range.end - range.start).map_err(|error| generic(error.into()))?;
            bytes.resize(length, 0);
            reader.read_at(range.start, &mut bytes).map_err(|error| failed(location, error))?;
        }
        let payload = GetResultPayload::Stream(stream::iter([Ok(Bytes::from(bytes))]).boxed());
        Ok(GetResult { payload, meta, range, attributes: Default::default(), extensions: Default::default() })
    }

    fn delete(&self, location: &Path) -> Result<()> {
        self.disk.remove(location.as_ref()).map_err(|error| failed(location, error))?;
        self.disk.sync_dir(folder_of(location.as_ref())).map_err(|error| failed(location, error))
    }

    /// Adds all objects below a folder, sorted by name.
    fn list_below(&self, folder: &str, found: &mut Vec<ObjectMeta>) -> Result<()> {
        for entry in self.disk.list(folder).map_err(|error| generic(error.into()))? {
            let name = if folder.is_empty() { entry.name } else { format!("{folder}/{}", entry.name) };
            if name == TEMPORARY_FOLDER {
                continue;
            }
            if entry.is_folder {
                self.list_below(&name, found)?;
                continue;
            }
            match self.metadata(&Path::parse(&name)?) {
                Ok(meta) => found.push(meta),
                // Removed since the folder was read.
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn list_folder(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let folder = prefix.map_or("", |prefix| prefix.as_ref());
        let mut found =
            ListResult { common_prefixes: Vec::new(), objects: Vec::new(), extensions: Default::default() };
        for entry in self.disk.list(folder).map_err(|error| generic(error.into()))? {
            let name = if folder.is_empty() { entry.name } else { format!("{folder}/{}", entry.name) };
            if name == TEMPORARY_FOLDER {
                continue;
            }
            let location = Path::parse(&name)?;
            if entry.is_folder {
                found.common_prefixes.push(location);
                continue;
            }
            match self.metadata(&location) {
                Ok(meta) => found.objects.push(meta),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl ObjectStore for DurableLocal {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let is_create = match options.mode {
            PutMode::Create => true,
            PutMode::Overwrite => false,
            PutMode::Update(_) => return Err(not_implemented("conditional update")),
        };
        if !options.attributes.is_empty() {
            return Err(not_implemented("attributes"));
        }
        let location = location.clone();
        self.blocking(move |inner| inner.put(&location, &payload, is_create)).await?;
        Ok(PutResult { e_tag: None, version: None, extensions: Default::default() })
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(not_implemented("multipart upload"))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let location = location.clone();
        self.blocking(move |inner| inner.get(&location, &options)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        locations
            .map(move |location| {
                let store = store.clone();
                async move {
                    let location = location?;
                    store.blocking(move |inner| inner.delete(&location).map(|()| location)).await
                }
            })
            .buffered(DELETES_AT_ONCE)
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            store
                .blocking(move |inner| {
                    let mut found = Vec::new();
                    inner.list_below(prefix.as_ref().map_or("", |prefix| prefix.as_ref()), &mut found)?;
                    Ok(found)
                })
                .await
        };
        stream::once(listed).map_ok(|found| stream::iter(found.into_iter().map(Ok))).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = prefix.cloned();
        self.blocking(move |inner| inner.list_folder(prefix.as_ref())).await
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(not_implemented("copy"))
    }
}

fn failed(location: &Path, error: io::Error) -> Error {
    let path = location.to_string();
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound { path, source: error.into() },
        io::ErrorKind::AlreadyExists => Error::AlreadyExists { path, source: error.into() },
        io::ErrorKind::PermissionDenied => Error::PermissionDenied { path, source: error.into() },
        _ => generic(format!("{path}: {error}").into()),
    }
}

fn generic(source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Generic { store: "DurableLocal", source }
}

fn not_implemented(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.into(), implementer: "DurableLocal".into() }
}
