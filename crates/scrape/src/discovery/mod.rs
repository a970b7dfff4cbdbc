//! Finding targets: written down, in files, from an HTTP service, by DNS.
//!
//! Each discovery is asked again and again. Where it fails, what it found last stays in force and the error is shown.
//! Not here: what becomes of the targets.

mod file;

use std::{sync::Arc, time::Duration};

use file::Files;

use crate::{
    client::{HttpClient, Resolver, Url},
    config::{Discovery, Family, Group, groups},
    limits,
    relabel::Labels,
    yaml::{self, Value},
};

/// What one look at a discovery brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// All targets that are known now; `None` = as before.
    pub groups: Option<Vec<Group>>,
    /// What went wrong, in words.
    pub error: Option<String>,
}

impl Found {
    fn of(result: Result<Vec<Group>, String>) -> Self {
        match result {
            Ok(groups) => Self { groups: Some(groups), error: None },
            Err(error) => Self { groups: None, error: Some(error) },
        }
    }
}

/// A discovery that can be asked.
pub(crate) enum Finder {
    Static(Vec<Group>),
    File { files: Files, refresh: Duration },
    Http { url: Result<Url, String>, client: HttpClient, refresh: Duration },
    Dns { name: String, family: Family, port: u16, refresh: Duration, resolver: Arc<Resolver> },
}

impl Finder {
    /// Makes one; `client` is what HTTP discovery asks with.
    pub(crate) fn new(
        discovery: &Discovery,
        resolver: &Arc<Resolver>,
        client: impl FnOnce(&crate::config::HttpSettings) -> HttpClient,
    ) -> Self {
        match discovery {
            Discovery::Static(groups) => Self::Static(groups.clone()),
            Discovery::File { patterns, refresh } => {
                Self::File { files: Files::new(patterns.clone()), refresh: *refresh }
            }
            Discovery::Http { url, refresh, settings } => {
                Self::Http { url: Url::parse(url), client: client(settings), refresh: *refresh }
            }
            Discovery::Dns { name, family, port, refresh } => Self::Dns {
                name: name.clone(),
                family: *family,
                port: *port,
                refresh: *refresh,
                resolver: Arc::clone(resolver),
            },
        }
    }

    /// How long to wait before it is asked again; `None` = it never changes.
    pub(crate) fn refresh(&self) -> Option<Duration> {
        match self {
            Self::Static(_) => None,
            Self::File { refresh, .. } | Self::Http { refresh, .. } | Self::Dns { refresh, .. } => {
                Some(*refresh)
            }
        }
    }

    /// Asks once.
    pub(crate) async fn find(&mut self) -> Found {
        match self {
            Self::Static(groups) => Found::of(Ok(groups.clone())),
            Self::File { files, .. } => files.find().await,
            Self::Http { url: Ok(url), client, .. } => Found::of(ask(client, url).await),
            Self::Http { url: Err(reason), .. } => Found::of(Err(reason.clone())),
            Self::Dns { name, family, port, resolver, .. } => {
                Found::of(addresses(resolver, name, *family, *port).await)
            }
        }
    }
}

async fn ask(client: &HttpClient, url: &Url) -> Result<Vec<Group>, String> {
    let fetched = client.fetch(url, limits::DISCOVERY_TIMEOUT, limits::TEXT_BYTES_MAX).await;
    let fetched = fetched.map_err(|error| error.text)?;
    let text = String::from_utf8(fetched.body.into()).map_err(|_| "the answer is no UTF-8".to_owned())?;
    let mut groups = crate::files::blocking(move || read_groups(&text)).await?;
    for group in &mut groups {
        group.labels.insert("__meta_url".to_owned(), url.to_string());
    }
    Ok(groups)
}

/// Reads groups of targets, in YAML or JSON.
fn read_groups(text: &str) -> Result<Vec<Group>, String> {
    let root = yaml::read(text).map_err(|error| error.to_string())?;
    match &root.value {
        Value::Null => Ok(Vec::new()),
        Value::List(nodes) => groups(nodes, "").map_err(|error| error.to_string()),
        _ => Err(format!("is {}, not a list of targets", root.word())),
    }
}

/// What a fuzzer does with one list of targets: reading ends, with groups or an error.
pub fn fuzz_targets(bytes: &[u8]) {
    let _ = read_groups(&String::from_utf8_lossy(bytes));
}

async fn addresses(resolver: &Resolver, name: &str, family: Family, port: u16) -> Result<Vec<Group>, String> {
    let found = tokio::time::timeout(limits::DISCOVERY_TIMEOUT, resolver.look_up(name)).await;
    let found = found.map_err(|_| format!("the name {name} is not found: no answer in time"))?;
    let mut addresses = found.map_err(|error| error.text)?;
    addresses.retain(|address| address.is_ipv4() == (family == Family::V4));
    addresses.sort_unstable();
    let target = |address| crate::client::Address::of(address, port).to_string();
    let mut targets: Vec<String> = addresses.into_iter().map(target).collect();
    targets.dedup();
    let labels = Labels::from([("__meta_dns_name".to_owned(), name.to_owned())]);
    Ok(vec![Group { targets, labels }])
}

#[cfg(test)]
mod tests;
