//! Media types and codings of a request in the one spelling that the RPC library knows.
//!
//! Names of media types and of codings mean the same in capitals (RFC 9110), and a list of codings may say how much each
//! is wanted. The library compares them byte by byte: `Application/JSON` was 415, and the error of a call of
//! `Application/GRPC` no answer that its client could read. Refuses nothing: what is no known name goes on as it is.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Headers that name one coding.
static ONE_CODING: [HeaderName; 3] = [
    header::CONTENT_ENCODING,
    HeaderName::from_static("grpc-encoding"),
    HeaderName::from_static("connect-content-encoding"),
];

/// Headers that list codings.
static CODINGS: [HeaderName; 3] = [
    header::ACCEPT_ENCODING,
    HeaderName::from_static("grpc-accept-encoding"),
    HeaderName::from_static("connect-accept-encoding"),
];

/// Rewrites the media type of the body, and the codings of the body and of the answer. Parameters of the media type stay.
pub(crate) fn spell_plainly(headers: &mut HeaderMap) {
    rewrite(headers, &header::CONTENT_TYPE, |text| {
        let (name, parameters) = text.split_at(text.find(';').unwrap_or(text.len()));
        format!("{}{parameters}", name.to_ascii_lowercase())
    });
    for name in &ONE_CODING {
        rewrite(headers, name, str::to_ascii_lowercase);
    }
    for name in &CODINGS {
        rewrite(headers, name, wanted);
    }
}

/// Codings that a client takes, in its order, without saying how much.
fn wanted(list: &str) -> String {
    let taken = list.split(',').filter_map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or("").to_ascii_lowercase();
        let is_refused = parts.any(|part| {
            let quality = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
            quality.is_some_and(|quality| quality.bytes().all(|byte| matches!(byte, b'0' | b'.')))
        });
        (!is_refused).then_some(name)
    });
    taken.collect::<Vec<_>>().join(", ")
}

/// Puts the first value of a header in another way, where it is text and that is another one.
fn rewrite(headers: &mut HeaderMap, name: &HeaderName, spell: impl FnOnce(&str) -> String) {
    let Some(value) = headers.get_mut(name) else { return };
    let Ok(text) = value.to_str() else { return };
    // Nearly all clients write it so already.
    if !text.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'q') {
        return;
    }
    if let Ok(plain) = HeaderValue::try_from(spell(text)) {
        *value = plain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: &'static str, value: &'static str) -> HeaderMap {
        let mut headers =
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        spell_plainly(&mut headers);
        headers
    }

    #[test]
    fn names_are_written_small_and_parameters_stay() {
        for (name, given, expected) in [
            ("content-type", "Application/JSON; charset=UTF-8", "application/json; charset=UTF-8"),
            ("content-type", "application/GRPC+Proto", "application/grpc+proto"),
            ("content-type", "text/plain", "text/plain"),
            ("content-encoding", "GZip", "gzip"),
            ("grpc-encoding", "ZSTD", "zstd"),
            ("accept-encoding", "GZIP;q=1.0, zstd; Q=0, identity;q=0.5", "gzip, identity"),
            ("accept-encoding", "gzip;q=0.000, br", "br"),
            ("accept-encoding", "gzip, deflate", "gzip, deflate"),
            ("grpc-accept-encoding", "Identity,GZip", "identity, gzip"),
            ("x-scope-orgid", "Team-Q", "Team-Q"),
        ] {
            assert_eq!(plain(name, given)[name], expected, "{name}: {given}");
        }
    }
}
