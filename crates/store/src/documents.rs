//! Small files of a tenant beside its profiles: settings, and profiles that were uploaded to be looked at.
//!
//! ```text
//! settings/TENANT      all settings of a tenant
//! adhoc/TENANT/NAME    one upload
//! ```
//!
//! A document is written as catalogue files are: into `tmp/`, synced, renamed, its folder synced. So it is there whole
//! or not at all, and once a write has returned it survives a power cut. It begins with a line of magic word, version
//! and checksum; damage is an error that names the file, never an empty answer. Changes are made one at a time, so that
//! reading, changing and writing back loses nobody's change.
//!
//! Not here: what is in a document and how many there may be (`api`).

use std::{sync::Arc, time::Duration};

use block::BlockError;
use futures::TryStreamExt as _;
use object_store::{
    Error as ObjectError, ObjectMeta, ObjectStore as _, ObjectStoreExt as _, PutPayload, path::Path,
};
use profile::{Tenant, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use crate::{StoreError, disk::is_inside, limits::AD_HOC_AGE_MAX, object::DurableLocal};

/// First word of every document.
const MAGIC: &str = "everflame-document";

/// Version of the header line that is written; newer ones are refused.
const VERSION: u32 = 1;

/// Which kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// One per tenant.
    Settings,
    /// Any number per tenant, each with a name.
    AdHoc,
}

impl DocumentKind {
    /// Folder within the data folder.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::AdHoc => "adhoc",
        }
    }

    /// How long a document is kept after it was written; `None` = until it is removed.
    #[must_use]
    pub const fn age_max(self) -> Option<Duration> {
        match self {
            Self::Settings => None,
            Self::AdHoc => Some(AD_HOC_AGE_MAX),
        }
    }
}

/// Which document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKey<'a> {
    /// The settings of a tenant.
    Settings(&'a Tenant),
    /// An upload of a tenant. The name is one part of a path: no `/`, not `.` or `..`, not empty.
    AdHoc(&'a Tenant, &'a str),
}

impl DocumentKey<'_> {
    fn path(self) -> Result<Path, StoreError> {
        let name = match self {
            Self::Settings(tenant) => format!("{}/{tenant}", DocumentKind::Settings.folder()),
            Self::AdHoc(_, name) if name.contains('/') || !is_inside(name) => {
                return Err(failed(format!("{name:?}"), "is no name of a document"));
            }
            Self::AdHoc(tenant, name) => format!("{}/{tenant}/{name}", DocumentKind::AdHoc.folder()),
        };
        Path::parse(&name).map_err(|error| failed(name, error))
    }
}

/// A document as a listing knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentEntry {
    /// Whose it is.
    pub tenant: Tenant,
    /// Its name; empty for kinds of which a tenant has one.
    pub name: String,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// When it was last written.
    pub written: Timestamp,
}

impl DocumentEntry {
    fn key(&self, kind: DocumentKind) -> DocumentKey<'_> {
        match kind {
            DocumentKind::Settings => DocumentKey::Settings(&self.tenant),
            DocumentKind::AdHoc => DocumentKey::AdHoc(&self.tenant, &self.name),
        }
    }
}

/// What a change makes of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentChange {
    /// It stays as it is.
    Keep,
    /// It is written anew.
    Write(Vec<u8>),
}

/// The documents of a data folder.
#[derive(Debug)]
pub struct Documents {
    objects: Arc<DurableLocal>,
    /// Held by the one change that is under way.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl Documents {
    pub(crate) fn new(objects: Arc<DurableLocal>) -> Self {
        Self { objects, changing: Arc::default() }
    }

    /// The content; `None` where there is no such document.
    ///
    /// # Errors
    /// When it cannot be read or is damaged; the file is named.
    pub async fn read(&self, key: DocumentKey<'_>) -> Result<Option<Vec<u8>>, StoreError> {
        let path = key.path()?;
        let object = match self.objects.get(&path).await {
            Ok(object) => object,
            Err(ObjectError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed(&path, error)),
        };
        let bytes = object.bytes().await.map_err(|error| failed(&path, error))?;
        decode(&path, &bytes).map(|content| Some(content.to_vec()))
    }

    /// Reads a document, asks what to make of it and does that, with no other change in between. Returns when the
    /// change is durable.
    ///
    /// # Errors
    /// What `decide` says, and what reading says. After a failed write ([`StoreError::NotKept`]) the document is the old or
    /// the new one, whole.
    pub async fn change<T, E: From<StoreError>>(
        &self,
        key: DocumentKey<'_>,
        decide: impl FnOnce(Option<Vec<u8>>) -> Result<(DocumentChange, T), E>,
    ) -> Result<T, E> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let path = key.path()?;
        let (change, answer) = decide(self.read(key).await?)?;
        let DocumentChange::Write(content) = change else { return Ok(answer) };
        let header = format!("{MAGIC} {VERSION} {:016x}\n", xxh3_64(&content));
        let payload = PutPayload::from_iter([header.into_bytes(), content].map(bytes::Bytes::from));
        let objects = Arc::clone(&self.objects);
        self.to_the_end(changing, async move {
            objects.put(&path, payload).await.map_err(|error| not_kept(&path, error))
        })
        .await?;
        Ok(answer)
    }

    /// Runs a change to its end even where its caller has gone meanwhile: the disk goes on writing, so the next change
    /// has to wait for that.
    async fn to_the_end<T: Send + 'static>(
        &self,
        changing: tokio::sync::OwnedMutexGuard<()>,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let task = tokio::spawn(async move {
            let done = work.await;
            drop(changing);
            done
        });
        task.await.map_err(|error| failed("document", error))?
    }

    /// Removes documents that are older than their kind is kept; returns how many.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) async fn drop_expired(&self, now: Timestamp) -> Result<usize, StoreError> {
        let mut dropped = 0;
        for kind in [DocumentKind::Settings, DocumentKind::AdHoc] {
            let Some(age_max) = kind.age_max() else { continue };
            let age_max = i64::try_from(age_max.as_nanos()).unwrap_or(i64::MAX);
            let listed = self.list(kind, None).await?;
            for entry in listed.iter().filter(|entry| now.0.saturating_sub(entry.written.0) > age_max) {
                dropped += usize::from(self.remove(entry.key(kind)).await?);
            }
        }
        Ok(dropped)
    }

    /// Removes a document; `false` where there was none.
    ///
    /// # Errors
    /// What the system says.
    pub async fn remove(&self, key: DocumentKey<'_>) -> Result<bool, StoreError> {
        let path = key.path()?;
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let objects = Arc::clone(&self.objects);
        self.to_the_end(changing, async move {
            match objects.delete(&path).await {
                Ok(()) => Ok(true),
                Err(ObjectError::NotFound { .. }) => Ok(false),
                Err(error) => Err(failed(&path, error)),
            }
        })
        .await
    }

    /// All documents of a kind, of one tenant or of all, sorted by tenant and name. Files whose names are none of ours
    /// are left alone and reported.
    ///
    /// # Errors
    /// What the system says.
    pub async fn list(
        &self,
        kind: DocumentKind,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<DocumentEntry>, StoreError> {
        let folder = match (kind, tenant) {
            (DocumentKind::AdHoc, Some(tenant)) => format!("{}/{tenant}", kind.folder()),
            _ => kind.folder().to_owned(),
        };
        let folder = Path::parse(&folder).map_err(|error| failed(&folder, error))?;
        let listed: Vec<_> =
            self.objects.list(Some(&folder)).try_collect().await.map_err(|error| failed(&folder, error))?;
        let mut entries = Vec::new();
        for object in listed {
            match entry_of(kind, &object) {
                Some(entry) if tenant.is_none_or(|tenant| *tenant == entry.tenant) => entries.push(entry),
                Some(_) => {}
                None => tracing::warn!(file = %object.location, "no document; ignored"),
            }
        }
        entries.sort_by(|a, b| (&a.tenant, &a.name).cmp(&(&b.tenant, &b.name)));
        Ok(entries)
    }
}

fn entry_of(kind: DocumentKind, object: &ObjectMeta) -> Option<DocumentEntry> {
    let rest = object.location.as_ref().strip_prefix(kind.folder())?.strip_prefix('/')?;
    let (tenant, name) = match kind {
        DocumentKind::Settings => (rest, ""),
        DocumentKind::AdHoc => rest.split_once('/')?,
    };
    let written = Timestamp(object.last_modified.timestamp_nanos_opt()?);
    Some(DocumentEntry {
        tenant: Tenant::parse(tenant).ok()?,
        name: name.into(),
        bytes: object.size,
        written,
    })
}

/// What [`Documents::write`] put behind the header line.
fn decode<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a [u8], StoreError> {
    let wrong = |reason: &str| {
        StoreError::from(BlockError::Corrupt {
            file: path.to_string(),
            section: "document".into(),
            reason: format!("{reason}; put the file back from a copy of the data folder, or remove it"),
        })
    };
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(|| wrong("no header line"))?;
    let header = std::str::from_utf8(&bytes[..end]).map_err(|_| wrong("header line is no text"))?;
    let parts: Vec<&str> = header.split(' ').collect();
    let [MAGIC, version, checksum] = parts[..] else {
        return Err(wrong("header line is of no known form"));
    };
    let version: u32 = version.parse().map_err(|_| wrong("version is no number"))?;
    if version == 0 {
        return Err(wrong("version is 0"));
    }
    if version > VERSION {
        return Err(BlockError::Version { file: path.to_string(), version, supported: VERSION }.into());
    }
    let content = &bytes[end + 1..];
    if u64::from_str_radix(checksum, 16) != Ok(xxh3_64(content)) {
        return Err(wrong("checksum does not match"));
    }
    Ok(content)
}

fn not_kept(path: &Path, error: ObjectError) -> StoreError {
    // The object store's own words say the name twice.
    let reason = match error {
        ObjectError::Generic { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    StoreError::NotKept { what: path.to_string(), reason }
}

fn failed(what: impl std::fmt::Display, reason: impl std::fmt::Display) -> StoreError {
    StoreError::Io { what: what.to_string(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk as _, LocalDisk};

    fn open(folder: &std::path::Path) -> (Documents, LocalDisk) {
        let disk = LocalDisk::open(folder).unwrap();
        (Documents::new(Arc::new(DurableLocal::open(Arc::new(disk.clone())).unwrap())), disk)
    }

    async fn put(documents: &Documents, key: DocumentKey<'_>, content: &[u8]) {
        let written = DocumentChange::Write(content.to_vec());
        documents.change(key, |_| Ok::<_, StoreError>((written, ()))).await.unwrap();
    }

    #[tokio::test]
    async fn what_was_written_is_read_listed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, _) = open(folder.path());
        let (a, b) = (Tenant::parse("a").unwrap(), Tenant::parse("b!'()").unwrap());
        assert_eq!(documents.read(DocumentKey::Settings(&a)).await.unwrap(), None);
        assert_eq!(documents.list(DocumentKind::AdHoc, None).await.unwrap(), []);
        put(&documents, DocumentKey::Settings(&a), b"one\ntwo").await;
        put(&documents, DocumentKey::AdHoc(&b, "2"), b"").await;
        put(&documents, DocumentKey::AdHoc(&b, "1"), b"x").await;
        let (documents, _) = open(folder.path());
        assert_eq!(documents.read(DocumentKey::Settings(&a)).await.unwrap().unwrap(), b"one\ntwo");
        let listed = documents.list(DocumentKind::AdHoc, None).await.unwrap();
        assert_eq!(
            listed.iter().map(|entry| (&entry.tenant, &*entry.name)).collect::<Vec<_>>(),
            [(&b, "1"), (&b, "2")]
        );
        assert!(documents.remove(DocumentKey::AdHoc(&b, "1")).await.unwrap());
        assert!(!documents.remove(DocumentKey::AdHoc(&b, "1")).await.unwrap());
        assert_eq!(documents.list(DocumentKind::AdHoc, None).await.unwrap().len(), 1);
        assert_eq!(documents.list(DocumentKind::Settings, None).await.unwrap()[0].tenant, a);
    }

    #[tokio::test]
    async fn writing_goes_on_when_a_cleaner_has_taken_the_temporary_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, _) = open(folder.path());
        let tenant = Tenant::anonymous();
        put(&documents, DocumentKey::Settings(&tenant), b"one").await;
        std::fs::remove_dir(folder.path().join(crate::object::TEMPORARY_FOLDER)).unwrap();
        put(&documents, DocumentKey::Settings(&tenant), b"two").await;
        assert_eq!(documents.read(DocumentKey::Settings(&tenant)).await.unwrap().unwrap(), b"two");
    }

    #[tokio::test]
    async fn old_uploads_go_and_settings_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, _) = open(folder.path());
        let tenant = Tenant::anonymous();
        put(&documents, DocumentKey::AdHoc(&tenant, "a"), b"x").await;
        put(&documents, DocumentKey::Settings(&tenant), b"y").await;
        let written = documents.list(DocumentKind::AdHoc, Some(&tenant)).await.unwrap()[0].written;
        let age_max = i64::try_from(AD_HOC_AGE_MAX.as_nanos()).unwrap();
        assert_eq!(documents.drop_expired(Timestamp(written.0 + age_max)).await.unwrap(), 0);
        assert_eq!(documents.drop_expired(Timestamp(written.0 + age_max + 1)).await.unwrap(), 1);
        assert_eq!(documents.list(DocumentKind::AdHoc, None).await.unwrap(), []);
        assert!(documents.read(DocumentKey::Settings(&tenant)).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn changes_come_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, _) = open(folder.path());
        let tenant = Tenant::anonymous();
        let add = async |digit: u8| {
            let added = |old: Option<Vec<u8>>| {
                let mut content = old.unwrap_or_default();
                content.push(digit);
                Ok::<_, StoreError>((DocumentChange::Write(content), ()))
            };
            documents.change(DocumentKey::Settings(&tenant), added).await.unwrap();
        };
        futures::future::join_all((0..20).map(add)).await;
        let mut content = documents.read(DocumentKey::Settings(&tenant)).await.unwrap().unwrap();
        content.sort_unstable();
        assert_eq!(content, (0..20).collect::<Vec<u8>>());
    }

    #[tokio::test]
    async fn c109_names_stay_inside() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, _) = open(folder.path());
        for name in ["", ".", "..", "a/b", "../x", "a\0"] {
            let error = documents.read(DocumentKey::AdHoc(&Tenant::anonymous(), name)).await.unwrap_err();
            assert!(error.to_string().contains("no name"), "{name:?}: {error}");
        }
    }

    #[tokio::test]
    async fn damage_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, disk) = open(folder.path());
        let tenant = Tenant::anonymous();
        put(&documents, DocumentKey::Settings(&tenant), b"content").await;
        let bytes = disk.read("settings/anonymous").unwrap();
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            disk.remove("settings/anonymous").unwrap();
            disk.create("settings/anonymous").unwrap().append(&damaged).unwrap();
            let error = documents.read(DocumentKey::Settings(&tenant)).await.unwrap_err().to_string();
            assert!(error.contains("settings/anonymous"), "byte {position}: {error}");
        }
    }
}
