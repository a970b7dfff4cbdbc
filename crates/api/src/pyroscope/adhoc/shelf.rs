//! Which uploads a tenant has: ids, what is kept, and what has to go.
//!
//! An id is `ULID-NAME`: 26 signs that begin with the time, then the file's name with every sign but letters, digits and
//! `._-` replaced, so that a listing needs the documents' names alone and is in the order of time. The last 80 bits of
//! the ULID are a digest of the content. A tenant has a number of uploads and of bytes, beyond which its oldest go; all
//! tenants together have a number of bytes, beyond which uploads are refused. The store drops what is too old.

use profile::{Tenant, Timestamp};
use store::{DocumentChange, DocumentEntry, DocumentKey, DocumentKind};

use crate::{ApiError, ApiState, ErrorKind, limits};

/// Crockford's base 32: no I, L, O or U.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Signs of a ULID.
const ULID_LENGTH: usize = 26;

/// Stands for a file without a name.
const NAMELESS: &str = "profile";

/// Keeps uploads one at a time.
#[derive(Default)]
pub(super) struct Shelf {
    putting: tokio::sync::Mutex<()>,
}

/// An upload by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Upload {
    id: String,
}

impl Upload {
    fn new(time: Timestamp, name: &str, digest: u128) -> Self {
        let millis = u128::try_from(time.millis()).unwrap_or(0) & ((1 << 48) - 1);
        let number = millis << 80 | digest & ((1 << 80) - 1);
        let digit = |position: usize| {
            let shift = 5 * (ULID_LENGTH - 1 - position);
            char::from(DIGITS[usize::try_from(number >> shift & 31).unwrap_or(0)])
        };
        let ulid: String = (0..ULID_LENGTH).map(digit).collect();
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
        let name: String = name.chars().map(|sign| if is_plain(sign) { sign } else { '_' }).collect();
        Self { id: format!("{ulid}-{}", if name.is_empty() { NAMELESS } else { &name }) }
    }

    /// Reads an id; `None` where it is none.
    fn parse(id: &str) -> Option<Self> {
        let (ulid, name) = id.split_once('-')?;
        let is_ulid = ulid.len() == ULID_LENGTH
            && ulid.bytes().all(|digit| DIGITS.contains(&digit))
            && ulid.as_bytes()[0] <= b'7';
        let is_name = (1..=limits::AD_HOC_NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|sign| sign.is_ascii_alphanumeric() || b"._-".contains(&sign));
        (is_ulid && is_name).then(|| Self { id: id.into() })
    }

    /// Milliseconds since the epoch.
    pub(super) fn uploaded_at(&self) -> i64 {
        let digit = |sign: u8| DIGITS.iter().position(|digit| *digit == sign).unwrap_or(0);
        // The first ten signs are the 48 bits of the time.
        self.id.bytes().take(10).fold(0, |time, sign| time << 5 | i64::try_from(digit(sign)).unwrap_or(0))
    }

    /// The file's name as far as an id keeps it.
    pub(super) fn name(&self) -> &str {
        &self.id[ULID_LENGTH + 1..]
    }

    pub(super) fn into_id(self) -> String {
        self.id
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        let age = now.millis().saturating_sub(self.uploaded_at());
        DocumentKind::AdHoc.age_max().is_some_and(|most| u128::try_from(age).unwrap_or(0) > most.as_millis())
    }
}

impl Shelf {
    /// Keeps an upload and lets go of the tenant's oldest where there are too many.
    pub(super) async fn put(
        &self,
        state: &ApiState,
        tenant: &Tenant,
        name: &str,
        body: &[u8],
    ) -> Result<Upload, ApiError> {
        if name.len() > limits::AD_HOC_NAME_BYTES_MAX {
            let limit = limits::AD_HOC_NAME_BYTES_MAX;
            return Err(ApiError::invalid("name", format!("has {} bytes (limit {limit})", name.len())));
        }
        let documents = state.store.documents();
        let _putting = self.putting.lock().await;
        let all = documents.list(DocumentKind::AdHoc, None).await?;
        let more = u64::try_from(body.len()).unwrap_or(u64::MAX);
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|entry| entry.tenant == *tenant);
        let gone = surplus(&own, more);
        let kept = others.iter().chain(&own[gone.len()..]).map(|entry| entry.bytes).sum::<u64>();
        if kept.saturating_add(more) > limits::AD_HOC_ALL_BYTES_MAX {
            let limit = limits::AD_HOC_ALL_BYTES_MAX;
            let message =
                format!("all uploads would have more than {limit} bytes (limit); old ones go by themselves");
            return Err(ApiError::new(ErrorKind::RateLimited, "profile", message));
        }
        let upload = Upload::new(Timestamp::now(), name, digest(body));
        let write = DocumentChange::Write(body.to_vec());
        let key = DocumentKey::AdHoc(tenant, &upload.id);
        documents.change(key, |_| Ok::<_, ApiError>((write, ()))).await?;
        // Only now that the new one is there.
        for entry in gone {
            tracing::info!(tenant = %tenant, upload = entry.name, "upload dropped for a newer one");
            documents.remove(DocumentKey::AdHoc(tenant, &entry.name)).await?;
        }
        Ok(upload)
    }

    /// An upload and its bytes; `field` is what the id is called in the request.
    pub(super) async fn take(
        &self,
        state: &ApiState,
        tenant: &Tenant,
        field: &str,
        id: &str,
    ) -> Result<(Upload, Vec<u8>), ApiError> {
        let shown: String = id.chars().take(64).collect();
        let upload = Upload::parse(id)
            .ok_or_else(|| ApiError::invalid(field, format!("{shown:?} is no id of an upload")))?;
        let missing = || ApiError::new(ErrorKind::NotFound, field, format!("there is no upload {shown:?}"));
        if upload.is_expired(Timestamp::now()) {
            return Err(missing());
        }
        let body = state.store.documents().read(DocumentKey::AdHoc(tenant, &upload.id)).await?;
        Ok((upload, body.ok_or_else(missing)?))
    }

    /// The tenant's uploads, oldest first.
    pub(super) async fn list(&self, state: &ApiState, tenant: &Tenant) -> Result<Vec<Upload>, ApiError> {
        let listed = state.store.documents().list(DocumentKind::AdHoc, Some(tenant)).await?;
        let now = Timestamp::now();
        let uploads = listed.iter().filter_map(|entry| Upload::parse(&entry.name));
        Ok(uploads.filter(|upload| !upload.is_expired(now)).collect())
    }
}

/// The oldest of a tenant's uploads that have to go for one of so many bytes. They are sorted by time as their names are.
fn surplus(own: &[DocumentEntry], more: u64) -> &[DocumentEntry] {
    let mut bytes = own.iter().map(|entry| entry.bytes).sum::<u64>().saturating_add(more);
    let mut gone = 0;
    while gone < own.len()
        && (own.len() - gone >= limits::AD_HOC_UPLOADS_MAX || bytes > limits::AD_HOC_TENANT_BYTES_MAX)
    {
        bytes -= own[gone].bytes;
        gone += 1;
    }
    &own[..gone]
}

/// A digest of a content: FNV-1a, 128 bits. Nothing but the id of two uploads of one millisecond depends on it.
fn digest(body: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    body.iter().fold(OFFSET, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_time_and_name() {
        let time = Timestamp(1_800_000_000_123_456_789);
        let upload = Upload::new(time, "my profile/ü.pb.gz", digest(b"x"));
        assert_eq!(upload.uploaded_at(), 1_800_000_000_123);
        assert_eq!(upload.name(), "my_profile__.pb.gz");
        assert_eq!(Upload::parse(&upload.id), Some(upload.clone()));
        assert_eq!(Upload::new(time, "", 0).name(), "profile");
        assert!(Upload::new(Timestamp(time.0 + 1_000_000), "", 0) > Upload::new(time, "z", u128::MAX));
        assert_ne!(upload, Upload::new(time, "my profile/ü.pb.gz", digest(b"y")));
    }

    #[test]
    fn c109_an_id_is_no_path() {
        let good = "01HZZZZZZZZZZZZZZZZZZZZZZZ-a.b";
        assert!(Upload::parse(good).is_some());
        let ulid = &good[..ULID_LENGTH];
        for bad in
            ["", "a", "../x", &format!("{ulid}-"), &format!("{ulid}-a/../b"), &format!("{ulid}-ü"), ulid]
        {
            assert_eq!(Upload::parse(bad), None, "{bad:?}");
        }
        let long = format!("{ulid}-{}", "n".repeat(limits::AD_HOC_NAME_BYTES_MAX + 1));
        assert_eq!(Upload::parse(&long), None);
        assert_eq!(Upload::parse(&good.replace('0', "8")), None, "more than 128 bits");
    }

    #[test]
    fn the_oldest_go_by_number_and_by_bytes() {
        let entries = |count: usize, bytes: u64| -> Vec<DocumentEntry> {
            let entry = |number: usize| DocumentEntry {
                tenant: Tenant::anonymous(),
                name: format!("{number:04}"),
                bytes,
                written: Timestamp(0),
            };
            (0..count).map(entry).collect()
        };
        let gone = |own: &[DocumentEntry], more| surplus(own, more).len();
        assert_eq!(gone(&entries(limits::AD_HOC_UPLOADS_MAX - 1, 1), 1), 0);
        assert_eq!(gone(&entries(limits::AD_HOC_UPLOADS_MAX, 1), 1), 1);
        let quarter = limits::AD_HOC_TENANT_BYTES_MAX / 4;
        assert_eq!(gone(&entries(4, quarter), 1), 1);
        assert_eq!(gone(&entries(4, quarter), quarter + 1), 2);
        assert_eq!(gone(&[], u64::MAX), 0);
    }
}
