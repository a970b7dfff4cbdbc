//! How much a JSON message of an RPC may make of itself in memory, and that it is an object.
//!
//! The RPC library bounds the bytes of a message, and of binary ones what their elements take. A JSON one it decodes into
//! elements first: `{"series":[{},{},…` of 64 MiB, 60 KB when compressed, took 2.5 GB. So the values of a JSON message are
//! counted here before the library sees it, and what they take is claimed like any other memory (D19). Refuses with 413
//! what has too many; what cannot be inflated goes on to the library, which says why.
//!
//! A list is refused with 400. The library takes one for a message with its fields in order, so that `[]` would be the empty
//! message, which asks for everything.

use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use connectrpc::CompressionRegistry;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use http_body_util::BodyExt as _;

use crate::{ApiError, ApiState, ErrorKind, ErrorShape, limits};

/// How a JSON message stands in a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// It is the body.
    Whole,
    /// Behind five bytes that say whether it is compressed, and how long it is.
    Enveloped,
}

/// The encoding of what is not compressed.
const IDENTITY: &str = "identity";

/// Bytes before an enveloped message.
const ENVELOPE_BYTES: usize = 5;

/// Around the routes of the RPC services, whose media types and codings are in small letters by then.
pub(super) async fn bounded<F: Future<Output = Response>>(
    state: &ApiState,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let Some(framing) = Framing::of(request.headers()) else { return answer(request).await };
    let shape = ErrorShape::of(&request);
    let (mut parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return shape.render(ApiError::new(ErrorKind::Malformed, "body", "could not be read to its end"));
    };
    let body = body.to_bytes();
    let (body, seen) = match framing {
        Framing::Enveloped => {
            let seen = enveloped(&body, named(&parts.headers, &HeaderName::from_static("grpc-encoding")));
            (body, seen)
        }
        Framing::Whole => {
            let encoding = named(&parts.headers, &header::CONTENT_ENCODING);
            let is_plain = encoding == IDENTITY;
            match inflated(encoding, &body) {
                Some(inflated) => {
                    // The library gets what was counted, and need not inflate it again.
                    parts.headers.remove(header::CONTENT_ENCODING);
                    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(inflated.len()));
                    let seen = Seen::of(&inflated);
                    (inflated, seen)
                }
                None => {
                    let seen = Seen::of(&body);
                    (body, Seen { has_list: seen.has_list && is_plain, ..seen })
                }
            }
        }
    };
    if seen.has_list {
        let message = "a message in JSON is an object such as {}, not a list";
        return shape.render(ApiError::invalid("message", message));
    }
    let values = seen.values;
    if values > limits::JSON_VALUES_MAX {
        let limit = limits::JSON_VALUES_MAX;
        let message =
            format!("has {values} values in JSON (limit {limit}); send the binary form, or several messages");
        return shape.render(ApiError::new(ErrorKind::TooLarge, "message", message));
    }
    let bytes = body.len().saturating_add(values.saturating_mul(limits::JSON_VALUE_BYTES));
    let _claim = match state.memory.claim(bytes) {
        Ok(claim) => claim,
        Err(error) => return shape.render(error),
    };
    answer(Request::from_parts(parts, Body::from(body))).await
}

impl Framing {
    /// `None` where the message is not in JSON.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let content_type = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let media_type = content_type.split(';').next().unwrap_or("").trim();
        if media_type == "application/json" {
            return Some(Self::Whole);
        }
        media_type.ends_with("+json").then_some(Self::Enveloped)
    }
}

fn named<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or(IDENTITY)
}

/// `None` where there is nothing to inflate, or it cannot be.
fn inflated(encoding: &str, bytes: &Bytes) -> Option<Bytes> {
    if encoding == IDENTITY {
        return None;
    }
    CompressionRegistry::default().decompress_with_limit(encoding, bytes.clone(), limits::BODY_BYTES_MAX).ok()
}

/// What is seen of messages before they are decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// See [`count_values`].
    values: usize,
    /// Whether one of them is a list.
    has_list: bool,
}

impl Seen {
    fn of(json: &[u8]) -> Self {
        Self { values: count_values(json), has_list: json.trim_ascii_start().starts_with(b"[") }
    }

    fn and(self, other: Self) -> Self {
        Self { values: self.values.saturating_add(other.values), has_list: self.has_list || other.has_list }
    }
}

/// Of all messages of a body. What has no whole message behind its envelope is passed over: it is refused.
fn enveloped(body: &Bytes, encoding: &str) -> Seen {
    let mut seen = Seen::default();
    let mut rest = body.clone();
    while let Some(&[flags, a, b, c, d]) = rest.first_chunk::<ENVELOPE_BYTES>() {
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if length > rest.len() - ENVELOPE_BYTES {
            break;
        }
        let message = rest.slice(ENVELOPE_BYTES..ENVELOPE_BYTES + length);
        rest = rest.slice(ENVELOPE_BYTES + length..);
        let is_compressed = flags & 1 != 0;
        let message = if is_compressed { inflated(encoding, &message).unwrap_or_default() } else { message };
        seen = seen.and(Seen::of(&message));
    }
    seen
}

/// At least as many as a JSON text has values, whether or not it is one: each but the first stands behind a comma or is the
/// first of a list or an object.
fn count_values(json: &[u8]) -> usize {
    let mut values = 1_usize;
    let (mut in_string, mut is_escaped) = (false, false);
    for &byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(count_values(b""), 1);
        assert_eq!(count_values(br#"{"a":"[,,,{"}"#), 2);
        assert_eq!(count_values(br#"{"a":"\",{\\","b":[1,2,3]}"#), 6);
        assert_eq!(count_values(b"[[],[],[]"), 7);
    }

    #[test]
    fn envelopes_are_opened_and_broken_ones_left_to_the_library() {
        let envelope = |flags: u8, message: &[u8]| {
            let length = u32::try_from(message.len()).unwrap().to_be_bytes();
            [&[flags][..], &length, message].concat()
        };
        let count = |body: Vec<u8>, encoding| enveloped(&body.into(), encoding).values;
        assert_eq!(count(envelope(0, b"[1,2]"), "identity"), 3);
        assert_eq!(count([envelope(0, b"[1,2]"), envelope(0, b"{}")].concat(), "identity"), 5);
        let zstd = zstd::bulk::compress(b"[1,2,3]", 1).unwrap();
        assert_eq!(count(envelope(1, &zstd), "zstd"), 4);
        assert_eq!(count(envelope(1, b"no zstd"), "zstd"), 1);
        let mut cut = envelope(0, b"[1,2,3]");
        cut.pop();
        assert_eq!(count(cut, "identity"), 0);
        assert_eq!(count(vec![0, 0], "identity"), 0);
    }

    #[test]
    fn a_list_is_no_message() {
        let envelope = |message: &[u8]| [&[0, 0, 0, 0, 2][..], message].concat();
        let has_list = |messages: &[&[u8]]| {
            let body: Vec<u8> = messages.iter().flat_map(|message| envelope(message)).collect();
            enveloped(&body.into(), "identity").has_list
        };
        assert!(has_list(&[b"[]"]) && has_list(&[b"{}", b"[]"]));
        assert!(!has_list(&[b"{}", b"{}"]) && !has_list(&[]));
        assert!(Seen::of(b" \r\n\t[[]]").has_list);
        for other in ["", "{}", " {\"a\":[]}", "\"[\""] {
            assert!(!Seen::of(other.as_bytes()).has_list, "{other}");
        }
    }

    #[test]
    fn json_is_known_by_its_media_type() {
        let of = |text: &'static str| {
            Framing::of(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(text))]))
        };
        assert_eq!(of("application/json; charset=utf-8"), Some(Framing::Whole));
        assert_eq!(of("application/grpc-web+json"), Some(Framing::Enveloped));
        assert_eq!(of("application/proto"), None);
        assert_eq!(Framing::of(&HeaderMap::new()), None);
    }
}
