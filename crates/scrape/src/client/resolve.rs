//! Addresses of names, by the system's resolver.
//!
//! A look-up takes a thread of the pool that pushes and queries use, and where a name server is gone it keeps the thread
//! for half a minute. So only a few run at once, answers are remembered, and old ones are used while no new one comes:
//! one zone that is gone must not hold up targets whose addresses are known.

use std::{
    collections::HashMap,
    net::{IpAddr, ToSocketAddrs},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

use super::error::{FailureKind, ScrapeError};
use crate::limits;

/// Remembers addresses of names.
pub(crate) struct Resolver {
    slots: Arc<Semaphore>,
    known: Mutex<HashMap<String, Known>>,
    /// How long a new look-up is waited for where older addresses are known.
    wait: Duration,
}

#[derive(Clone)]
struct Known {
    addresses: Vec<IpAddr>,
    at: Instant,
}

impl Default for Resolver {
    fn default() -> Self {
        Self {
            slots: Arc::new(Semaphore::new(limits::LOOKUPS_AT_ONCE)),
            known: Mutex::default(),
            wait: limits::LOOKUP_WAIT,
        }
    }
}

impl Resolver {
    /// Addresses of a host, at least one.
    pub(crate) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, ScrapeError> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(host).cloned();
        let Some(known) = known.filter(|known| known.at.elapsed() < limits::LOOKUP_STALE) else {
            return self.look_up(host).await;
        };
        if known.at.elapsed() < limits::LOOKUP_FRESH {
            return Ok(known.addresses);
        }
        match tokio::time::timeout(self.wait, self.look_up(host)).await {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(_)) | Err(_) => Ok(known.addresses),
        }
    }

    /// Asks the system, whatever is remembered.
    pub(crate) async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, ScrapeError> {
        let failed = |reason: String| {
            ScrapeError::new(FailureKind::Connect, format!("the name {host} is not found: {reason}"))
        };
        let slot =
            Arc::clone(&self.slots).acquire_owned().await.map_err(|error| failed(error.to_string()))?;
        let name = host.to_owned();
        let asked = tokio::task::spawn_blocking(move || {
            // The slot is held until the system answers, also when nobody waits any more.
            let _slot = slot;
            (name.as_str(), 0)
                .to_socket_addrs()
                .map(|found| found.map(|address| address.ip()).collect::<Vec<_>>())
        });
        let mut addresses = asked
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
        addresses.dedup();
        if addresses.is_empty() {
            return Err(failed("it has no address".to_owned()));
        }
        self.remember(host, &addresses);
        Ok(addresses)
    }

    fn remember(&self, host: &str, addresses: &[IpAddr]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= limits::LOOKUP_NAMES_MAX {
            known.retain(|_, known| known.at.elapsed() < limits::LOOKUP_FRESH);
            if known.len() >= limits::LOOKUP_NAMES_MAX {
                known.clear();
            }
        }
        known.insert(host.to_owned(), Known { addresses: addresses.to_vec(), at: Instant::now() });
    }
}

/// Waits for the first address that answers, one after the other.
pub(crate) async fn connect(addresses: &[IpAddr], port: u16) -> Result<tokio::net::TcpStream, ScrapeError> {
    let mut last = "no address".to_owned();
    for address in addresses {
        match tokio::time::timeout(limits::CONNECT_TIMEOUT, tokio::net::TcpStream::connect((*address, port)))
            .await
        {
            Ok(Ok(stream)) => {
                // Nothing is lost where it cannot be set: the request is one packet.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = in_words(&error),
            Err(_) => last = format!("no answer within {}", seconds(limits::CONNECT_TIMEOUT)),
        }
    }
    Err(ScrapeError::new(FailureKind::Connect, format!("cannot connect: {last}")))
}

/// What the system said, in words that do not depend on its number.
pub(crate) fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        std::io::ErrorKind::NotFound => "there is no such socket".to_owned(),
        std::io::ErrorKind::ConnectionReset => "the connection was reset".to_owned(),
        _ => error.to_string(),
    }
}

pub(crate) fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn names_are_remembered_and_addresses_need_no_look_up() {
        let resolver = Resolver::default();
        assert_eq!(resolver.addresses("::1").await.unwrap(), ["::1".parse::<IpAddr>().unwrap()]);
        assert!(resolver.known.lock().unwrap().is_empty());
        let found = resolver.addresses("localhost").await.unwrap();
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty());
        assert!(resolver.known.lock().unwrap().contains_key("localhost"));
        let error = resolver.addresses("nobody.invalid").await.unwrap_err();
        assert!(error.text.contains("nobody.invalid") && error.kind == FailureKind::Connect, "{error}");
    }

    #[tokio::test]
    async fn known_addresses_stay_in_use_while_no_look_up_ends() {
        let resolver = Resolver { wait: Duration::from_millis(1), ..Resolver::default() };
        let address: IpAddr = "10.1.2.3".parse().unwrap();
        // Every slot is taken by a look-up that does not end.
        let _all =
            resolver.slots.acquire_many(u32::try_from(limits::LOOKUPS_AT_ONCE).unwrap()).await.unwrap();
        for age in [Duration::ZERO, limits::LOOKUP_FRESH * 2] {
            let Some(at) = Instant::now().checked_sub(age) else { return };
            let known = Known { addresses: vec![address], at };
            resolver.known.lock().unwrap().insert("app.invalid".to_owned(), known);
            assert_eq!(resolver.addresses("app.invalid").await.unwrap(), [address]);
        }
    }
}
