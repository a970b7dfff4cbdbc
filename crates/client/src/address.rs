//! The address of a server, as people type it.

use crate::ClientError;

/// A server's base URL without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: String,
    is_loopback: bool,
}

impl Address {
    /// Reads `http://host:port`, `https://host/prefix`, or `host:port` (then over http).
    ///
    /// # Errors
    /// For other schemes, user information, and texts that hold no host.
    pub fn parse(text: &str) -> Result<Self, ClientError> {
        let wrong = |reason: &'static str| ClientError::Address { address: text.to_owned(), reason };
        let (scheme, rest) = match text.split_once("://") {
            None => ("http", text),
            Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
            Some(_) => return Err(wrong("only http:// and https:// are known")),
        };
        if !rest.bytes().all(|byte| byte.is_ascii_graphic())
            || rest.contains(['?', '#', '\\', '"', '<', '>', '{', '}'])
        {
            return Err(wrong("it holds characters that no address has"));
        }
        let rest = rest.trim_end_matches('/');
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(wrong("user and password do not belong into the address; give a token"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, port),
                _ => return Err(wrong("between [ and ] stands no IPv6 address")),
            },
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let is_port = |text: &str| text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        if !port.is_empty() && !is_port(port) {
            return Err(wrong("what stands behind the host is no port"));
        }
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        let is_loopback = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        Ok(Self { base: format!("{scheme}://{rest}"), is_loopback })
    }

    /// The base URL.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether it is this machine, which is never reached through a proxy.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_type_them() {
        for (text, base, is_loopback) in [
            ("127.0.0.1:4040", "http://127.0.0.1:4040", true),
            ("http://localhost:4040/", "http://localhost:4040", true),
            ("http://[::1]:4040", "http://[::1]:4040", true),
            ("https://flames.example/team/a/", "https://flames.example/team/a", false),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.base(), address.is_loopback()), (base, is_loopback), "{text}");
        }
        for bad in
            ["", "http://", "ftp://a", "http://user:word@a", "http://a b", "http://a?x=1", "http://:4040"]
                .into_iter()
                .chain(["http://[::1", "http://[::1]x", "http://[a]:1", "a:b:c", "a:", "a:99999", "::1"])
        {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
