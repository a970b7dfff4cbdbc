//! `settings.v1.SettingsService`: named texts that a client keeps for its users, per tenant.
//!
//! The Drilldown app keeps its own settings here. All of a tenant's are one document of the store, changed one at a
//! time and acknowledged when on disk. A Set with an older time than the stored one's is refused (409), so that two
//! browsers do not undo each other's work; so is a time far ahead of our clock (400), which would shut out all others.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use buffa::MessageField;
use connectrpc::{RequestContext, Response, ServiceRequest, ServiceResult};
use profile::{Tenant, Timestamp};
use rpc::settings::v1::*;
use serde::{Deserialize, Serialize};
use store::{DocumentChange, DocumentKey, DocumentKind};

use crate::{ApiError, ApiState, ErrorKind, access, limits};

pub(super) struct Settings {
    pub(super) state: Arc<ApiState>,
}

/// A setting as it is kept; its name is the key beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    value: String,
    /// Milliseconds since the epoch.
    modified_at: i64,
}

/// All settings of a tenant.
type Collection = BTreeMap<String, Kept>;

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl SettingsService for Settings {
    async fn get<'a>(
        &'a self,
        context: RequestContext,
        _request: ServiceRequest<'_, GetSettingsRequest>,
    ) -> ServiceResult<GetSettingsResponse> {
        let found = self.counted("settings_get", self.read(&self.tenant(&context)?)).await?;
        let settings = found.into_iter().map(|(name, kept)| message(name, kept)).collect();
        Response::ok(GetSettingsResponse { settings })
    }

    async fn set<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, SetSettingsRequest>,
    ) -> ServiceResult<SetSettingsResponse> {
        let asked = request.to_owned_message().setting.into_option();
        let asked = asked.ok_or_else(|| ApiError::invalid("setting", "is required"))?;
        let now = Timestamp::now();
        let (name, kept) = checked(asked, now)?;
        let tenant = self.tenant(&context)?;
        self.counted("settings_set", self.write(&tenant, name.clone(), kept.clone())).await?;
        Response::ok(SetSettingsResponse { setting: MessageField::some(message(name, kept)) })
    }

    async fn delete<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, DeleteSettingsRequest>,
    ) -> ServiceResult<DeleteSettingsResponse> {
        let name = request.to_owned_message().name;
        if name.is_empty() {
            return Err(ApiError::invalid("name", "is required").into());
        }
        let tenant = self.tenant(&context)?;
        self.counted("settings_delete", self.remove(&tenant, &name)).await?;
        Response::ok(DeleteSettingsResponse::default())
    }
}

impl Settings {
    fn tenant(&self, context: &RequestContext) -> Result<Tenant, ApiError> {
        access::own_tenant(context.headers(), self.state.options.tenancy)
    }

    async fn counted<T>(
        &self,
        call: &'static str,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let begun = Instant::now();
        let result = work.await;
        let error = result.as_ref().err();
        self.state.metrics.queried(call, begun.elapsed(), error.map(|error| error.kind));
        if let Some(error) = error.filter(|error| error.kind == ErrorKind::Internal) {
            tracing::error!(call, %error, "settings");
        }
        result
    }

    async fn read(&self, tenant: &Tenant) -> Result<Collection, ApiError> {
        decode(self.state.store.documents().read(DocumentKey::Settings(tenant)).await?)
    }

    async fn write(&self, tenant: &Tenant, name: String, kept: Kept) -> Result<(), ApiError> {
        self.state.check_writable()?;
        let documents = self.state.store.documents();
        let known = documents.list(DocumentKind::Settings, None).await?;
        if known.len() >= limits::SETTINGS_TENANTS_MAX && known.iter().all(|entry| entry.tenant != *tenant) {
            let message = format!("{} tenants keep settings already (limit)", known.len());
            return Err(ApiError::new(ErrorKind::RateLimited, "setting", message));
        }
        let changed = |old| {
            let mut collection = decode(old)?;
            put(&mut collection, name, kept)?;
            Ok::<_, ApiError>((DocumentChange::Write(encode(&collection)?), ()))
        };
        documents.change(DocumentKey::Settings(tenant), changed).await
    }

    async fn remove(&self, tenant: &Tenant, name: &str) -> Result<(), ApiError> {
        self.state.check_writable()?;
        let changed = |old| {
            let mut collection = decode(old)?;
            let change = match collection.remove(name) {
                Some(_) => DocumentChange::Write(encode(&collection)?),
                None => DocumentChange::Keep,
            };
            Ok::<_, ApiError>((change, ()))
        };
        self.state.store.documents().change(DocumentKey::Settings(tenant), changed).await
    }
}

fn message(name: String, kept: Kept) -> Setting {
    Setting { name, value: kept.value, modifiedAt: kept.modified_at }
}

/// A setting as asked for, within the limits; without a time it is of now.
fn checked(asked: Setting, now: Timestamp) -> Result<(String, Kept), ApiError> {
    let Setting { name, value, modifiedAt: modified_at } = asked;
    let too_long = |field: &str, length: usize, limit: usize| {
        Err(ApiError::invalid(field, format!("has {length} bytes (limit {limit})")))
    };
    if name.is_empty() {
        return Err(ApiError::invalid("setting.name", "is required"));
    }
    if name.len() > limits::SETTING_NAME_BYTES_MAX {
        return too_long("setting.name", name.len(), limits::SETTING_NAME_BYTES_MAX);
    }
    if value.len() > limits::SETTING_VALUE_BYTES_MAX {
        return too_long("setting.value", value.len(), limits::SETTING_VALUE_BYTES_MAX);
    }
    let modified_at = if modified_at <= 0 { now.millis() } else { modified_at };
    let latest = Timestamp(now.0.saturating_add(limits::FUTURE_NANOS_MAX)).millis();
    if modified_at > latest {
        let skew = modified_at.saturating_sub(now.millis()) / 1000;
        return Err(ApiError::invalid(
            "setting.modifiedAt",
            format!("is {skew} s ahead of this server's clock"),
        ));
    }
    Ok((name, Kept { value, modified_at }))
}

/// Adds or replaces, unless what is there is newer.
fn put(collection: &mut Collection, name: String, kept: Kept) -> Result<(), ApiError> {
    if let Some(there) = collection.get(&name)
        && there.modified_at > kept.modified_at
    {
        let message = format!("was modified at {}, after {}", there.modified_at, kept.modified_at);
        return Err(ApiError::new(ErrorKind::Conflict, "setting.modifiedAt", message));
    }
    collection.insert(name, kept);
    let bytes: usize = collection.iter().map(|(name, kept)| name.len() + kept.value.len()).sum();
    let over = |what: &str, number: usize, limit: usize| {
        let message =
            format!("the tenant's settings would have {number} {what} (limit {limit}); delete some");
        Err(ApiError::new(ErrorKind::RateLimited, "setting", message))
    };
    if collection.len() > limits::SETTINGS_MAX {
        return over("entries", collection.len(), limits::SETTINGS_MAX);
    }
    if bytes > limits::SETTINGS_BYTES_MAX {
        return over("bytes", bytes, limits::SETTINGS_BYTES_MAX);
    }
    Ok(())
}

fn decode(content: Option<Vec<u8>>) -> Result<Collection, ApiError> {
    let Some(content) = content else { return Ok(Collection::new()) };
    serde_json::from_slice(&content).map_err(|error| ApiError::internal(format!("settings: {error}")))
}

fn encode(collection: &Collection) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(collection).map_err(|error| ApiError::internal(format!("settings: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000_000_000);

    fn setting(name: &str, value: &str, modified_at: i64) -> Setting {
        message(name.into(), Kept { value: value.into(), modified_at })
    }

    #[test]
    fn what_is_asked_for_is_checked() {
        assert_eq!(checked(setting("a", "b", 0), NOW).unwrap().1.modified_at, NOW.millis());
        assert_eq!(checked(setting("a", "b", -5), NOW).unwrap().1.modified_at, NOW.millis());
        assert_eq!(checked(setting("a", "", 7), NOW).unwrap().1.modified_at, 7);
        for (asked, field) in [
            (setting("", "b", 1), "setting.name"),
            (setting(&"n".repeat(257), "b", 1), "setting.name"),
            (setting("a", &"v".repeat((256 << 10) + 1), 1), "setting.value"),
            (setting("a", "b", i64::MAX), "setting.modifiedAt"),
        ] {
            let error = checked(asked, NOW).unwrap_err();
            assert_eq!((error.status().as_u16(), error.field.as_str()), (400, field));
        }
    }

    #[test]
    fn the_newer_one_stays_and_there_are_limits() {
        let kept = |value: &str, modified_at| Kept { value: value.into(), modified_at };
        let mut collection = Collection::new();
        put(&mut collection, "a".into(), kept("1", 5)).unwrap();
        put(&mut collection, "a".into(), kept("2", 5)).unwrap();
        let error = put(&mut collection, "a".into(), kept("3", 4)).unwrap_err();
        assert_eq!((error.status().as_u16(), &*collection["a"].value), (409, "2"), "{error}");
        let large = "v".repeat(limits::SETTING_VALUE_BYTES_MAX);
        let refused = (0..).find(|n| put(&mut collection, format!("large{n}"), kept(&large, 1)).is_err());
        assert_eq!(refused, Some(3), "four such values and a name do not fit in 1 MiB");
        let mut many = Collection::new();
        let refused = (0..).find(|n| put(&mut many, n.to_string(), kept("", 1)).is_err());
        assert_eq!(refused, Some(limits::SETTINGS_MAX));
    }
}
