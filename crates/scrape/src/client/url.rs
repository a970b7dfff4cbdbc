//! URLs of targets and of HTTP discovery: host and port, or a unix socket and a path.

use std::fmt;

use crate::config::Scheme;

/// Where a target is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// A name or an address (IPv6 without brackets), and a port.
    Tcp { host: String, port: u16 },
    /// A socket of this machine.
    Unix { path: String },
}

/// What is asked of whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Url {
    scheme: Scheme,
    address: Address,
    /// Path and query, as they are sent.
    path: String,
}

impl Address {
    /// Reads `host`, `host:port`, `1.2.3.4:80`, `[::1]:80` or `unix:///run/app.sock`. Without a port it is the scheme's.
    pub(crate) fn parse(text: &str, scheme: Scheme) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if !path.starts_with('/') || path.contains('\0') {
                return Err(format!(
                    "{text:?} is no absolute path of a socket, such as unix:///run/app.sock"
                ));
            }
            return Ok(Self::Unix { path: path.to_owned() });
        }
        let wrong = || format!("{text:?} is no HOST:PORT");
        if text.contains("://") {
            return Err(format!("{text:?} is a URL; an address is HOST:PORT, the scheme stands in scheme"));
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(wrong)?;
                host.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?;
                match after {
                    "" => (host, None),
                    _ => (host, Some(after.strip_prefix(':').ok_or_else(wrong)?)),
                }
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if host.is_empty() || !(text.starts_with('[') || host.bytes().all(is_host)) {
            return Err(wrong());
        }
        let default = match scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        };
        let port = match port {
            None => default,
            Some(text) => match text.parse::<u16>() {
                Ok(0) | Err(_) => return Err(wrong()),
                Ok(port) => port,
            },
        };
        Ok(Self::Tcp { host: host.to_owned(), port })
    }

    /// An address by its number.
    pub(crate) fn of(address: std::net::IpAddr, port: u16) -> Self {
        Self::Tcp { host: address.to_string(), port }
    }

    /// The name that a certificate must be for.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Tcp { host, .. } => host,
            Self::Unix { .. } => "localhost",
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(formatter, "{host}:{port}"),
            Self::Unix { path } => write!(formatter, "unix://{path}"),
        }
    }
}

impl Url {
    /// Puts the parts together; the path may have a query of its own.
    pub(crate) fn new(scheme: Scheme, address: Address, path: &str, query: &str) -> Self {
        let between = match (query.is_empty(), path.contains('?')) {
            (true, _) => "",
            (false, true) => "&",
            (false, false) => "?",
        };
        Self { scheme, address, path: format!("{path}{between}{query}") }
    }

    /// Reads `http://host:port/path?query`. Credentials within a URL are refused: they would be shown wherever it is.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (Scheme::Http, rest),
            (_, Some(rest)) => (Scheme::Https, rest),
            _ => return Err(format!("{text:?} begins neither with http:// nor with https://")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(
                "credentials in a URL are not sent; there are basic_auth and authorization".to_owned()
            );
        }
        let address = Address::parse(authority, scheme)?;
        Ok(Self { scheme, address, path: request_path(path)? })
    }

    /// Where a `Location` of an answer leads from here.
    pub(crate) fn joined(&self, location: &str) -> Result<Self, String> {
        let location = location.split('#').next().unwrap_or_default();
        if location.contains("://") || location.starts_with("//") {
            if matches!(self.address, Address::Unix { .. }) {
                return Err(format!("leads away from the socket, to {location:?}"));
            }
            return match location.starts_with("//") {
                true => Self::parse(&format!("{}:{location}", self.scheme.word())),
                false => Self::parse(location),
            };
        }
        let own = self.path.split('?').next().unwrap_or_default();
        let path = if location.starts_with('/') {
            location.to_owned()
        } else if location.starts_with('?') || location.is_empty() {
            format!("{own}{location}")
        } else {
            let folder = own.rfind('/').map_or("/", |slash| &own[..=slash]);
            format!("{folder}{location}")
        };
        Ok(Self { scheme: self.scheme, address: self.address.clone(), path: request_path(&path)? })
    }

    /// Whether two URLs ask the same server, so that one's credentials may be sent to the other.
    pub(crate) fn has_same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.address == other.address
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Path and query.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// What stands in `Host`.
    pub(crate) fn host_header(&self) -> String {
        match (&self.address, self.scheme) {
            (Address::Unix { .. }, _) => "localhost".to_owned(),
            (Address::Tcp { host, port: 80 }, Scheme::Http)
            | (Address::Tcp { host, port: 443 }, Scheme::Https) => {
                if host.contains(':') {
                    format!("[{host}]")
                } else {
                    host.clone()
                }
            }
            (address, _) => address.to_string(),
        }
    }
}

impl fmt::Display for Url {
    /// `http://host:80/path`; for a socket `http+unix:///run/app.sock:/path`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, address, path } = self;
        match address {
            Address::Tcp { .. } => write!(formatter, "{}://{address}{path}", scheme.word()),
            Address::Unix { path: socket } => write!(formatter, "{}+unix://{socket}:{path}", scheme.word()),
        }
    }
}

/// A path that can be sent: with a slash in front, spaces and other scripts encoded.
fn request_path(text: &str) -> Result<String, String> {
    use fmt::Write as _;
    let text = text.split('#').next().unwrap_or_default();
    let mut path = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        path.push('/');
    }
    for byte in text.bytes() {
        if byte.is_ascii_control() {
            return Err(format!("{text:?} has a control character"));
        }
        if byte.is_ascii_graphic() && !b"\"<>`{}|\\^".contains(&byte) {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_ports() {
        for (text, scheme, shown) in [
            ("app", Scheme::Http, "app:80"),
            ("app", Scheme::Https, "app:443"),
            ("app.svc_1:6060", Scheme::Http, "app.svc_1:6060"),
            ("10.0.0.1:1", Scheme::Http, "10.0.0.1:1"),
            ("[::1]:6060", Scheme::Http, "[::1]:6060"),
            ("[::1]", Scheme::Https, "[::1]:443"),
            ("unix:///run/app.sock", Scheme::Http, "unix:///run/app.sock"),
            ("unix:/run/app.sock", Scheme::Http, "unix:///run/app.sock"),
        ] {
            assert_eq!(Address::parse(text, scheme).unwrap().to_string(), shown);
        }
        for bad in [
            "",
            ":80",
            "a:0",
            "a:70000",
            "a:",
            "a b:1",
            "::1",
            "[::1",
            "[x]:1",
            "[::1]80",
            "http://a:80",
            "unix://run",
            "a/b:1",
            "a@b:1",
        ] {
            assert!(Address::parse(bad, Scheme::Http).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn urls_and_where_redirects_lead() {
        let url = Url::parse("http://a:1/x/y?z=1").unwrap();
        assert_eq!(url.to_string(), "http://a:1/x/y?z=1");
        for (location, wanted) in [
            ("/q", "http://a:1/q"),
            ("q?r", "http://a:1/x/q?r"),
            ("?r=2", "http://a:1/x/y?r=2"),
            ("//b/q", "http://b:80/q"),
            ("https://b/q#f", "https://b:443/q"),
            ("http://a:1", "http://a:1/"),
        ] {
            assert_eq!(url.joined(location).unwrap().to_string(), wanted, "{location}");
        }
        for bad in ["ftp://a/", "http://u:p@a/", "http:///x", "/x\ny"] {
            assert!(url.joined(bad).is_err(), "{bad:?}");
        }
        let socket = Url::new(Scheme::Http, Address::parse("unix:///s", Scheme::Http).unwrap(), "/p", "a=b");
        assert_eq!(socket.to_string(), "http+unix:///s:/p?a=b");
        assert!(socket.joined("http://a/").is_err());
        assert_eq!(socket.joined("/q").unwrap().address(), socket.address());
    }

    #[test]
    fn only_the_same_server_gets_the_same_credentials() {
        let url = Url::parse("https://a/x").unwrap();
        assert!(url.has_same_origin(&url.joined("https://a:443/y").unwrap()));
        for other in ["http://a/x", "https://b/x", "https://a:444/x"] {
            assert!(!url.has_same_origin(&url.joined(other).unwrap()), "{other}");
        }
    }
}
