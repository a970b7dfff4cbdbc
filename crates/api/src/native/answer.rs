//! In which form a graph goes out: JSON or binary by `Accept`, as it is or compressed by `Accept-Encoding`.
//!
//! Both are done where the query ran, because large graphs take a while. A header that names nothing that is known gets
//! what everybody understands: JSON, not compressed.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Serialize;

use crate::{ApiError, flame_format, limits};

/// What a client can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    form: Form,
    encoding: Encoding,
}

/// The form of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Binary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Identity,
    Gzip,
    Zstd,
}

/// A body and what it is.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Bytes,
    form: Form,
    encoding: Encoding,
}

impl Wanted {
    /// For operations that know both forms.
    pub(crate) fn graph(headers: &HeaderMap) -> Self {
        let binary = preference(headers, header::ACCEPT, &[flame_format::MEDIA_TYPE]);
        let json = preference(headers, header::ACCEPT, &["application/json", "application/*", "*/*"]);
        // Who names the binary form wants it, unless JSON is said to be liked better.
        let form = if binary > 0 && binary >= json { Form::Binary } else { Form::Json };
        Self { form, ..Self::json(headers) }
    }

    /// For operations that know JSON only.
    pub(crate) fn json(headers: &HeaderMap) -> Self {
        let zstd = preference(headers, header::ACCEPT_ENCODING, &["zstd"]);
        let gzip = preference(headers, header::ACCEPT_ENCODING, &["gzip", "x-gzip", "*"]);
        let encoding = match (zstd, gzip) {
            (0, 0) => Encoding::Identity,
            (zstd, gzip) if zstd >= gzip => Encoding::Zstd,
            _ => Encoding::Gzip,
        };
        Self { form: Form::Json, encoding }
    }

    pub(crate) fn is_binary(self) -> bool {
        self.form == Form::Binary
    }

    /// Writes JSON.
    pub(crate) fn write_json<T: Serialize>(self, reply: &T) -> Result<Answer, ApiError> {
        let body = serde_json::to_vec(reply).map_err(|error| ApiError::internal(error.to_string()))?;
        self.pack(body, Form::Json)
    }

    /// Takes what [`flame_format`] wrote.
    pub(crate) fn write_binary(self, body: Vec<u8>) -> Result<Answer, ApiError> {
        self.pack(body, Form::Binary)
    }

    fn pack(self, body: Vec<u8>, form: Form) -> Result<Answer, ApiError> {
        if body.len() < limits::COMPRESSED_FROM_BYTES {
            return Ok(Answer { body: body.into(), form, encoding: Encoding::Identity });
        }
        let packed = match self.encoding {
            Encoding::Identity => body,
            Encoding::Gzip => formats::gzip(&body),
            Encoding::Zstd => zstd::bulk::compress(&body, limits::ZSTD_LEVEL)
                .map_err(|error| ApiError::internal(error.to_string()))?,
        };
        Ok(Answer { body: packed.into(), form, encoding: self.encoding })
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = self.body.into_response();
        let mut set = |name: HeaderName, text: &'static str| {
            response.headers_mut().insert(name, HeaderValue::from_static(text));
        };
        set(header::VARY, "accept, accept-encoding");
        match self.form {
            Form::Json => set(header::CONTENT_TYPE, "application/json"),
            Form::Binary => set(header::CONTENT_TYPE, flame_format::MEDIA_TYPE),
        }
        match self.encoding {
            Encoding::Identity => {}
            Encoding::Gzip => set(header::CONTENT_ENCODING, "gzip"),
            Encoding::Zstd => set(header::CONTENT_ENCODING, "zstd"),
        }
        response
    }
}

/// How much the first of these words that a list names is wanted, in thousandths; 0 = not at all.
fn preference(headers: &HeaderMap, name: HeaderName, words: &[&str]) -> u16 {
    let values = headers.get_all(name);
    let items = || values.iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    for word in words {
        for item in items() {
            let mut parts = item.split(';').map(str::trim);
            if !parts.next().unwrap_or("").eq_ignore_ascii_case(word) {
                continue;
            }
            let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            return quality.map_or(1000, thousandths);
        }
    }
    0
}

/// Reads `1`, `0.5`, `0.333`.
fn thousandths(text: &str) -> u16 {
    match text.split_once('.') {
        Some(("0", digits)) => {
            format!("{digits:0<3}").get(..3).and_then(|digits| digits.parse().ok()).unwrap_or(0)
        }
        _ if text.starts_with('1') => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &str, encodings: &str) -> Wanted {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        headers.insert(header::ACCEPT_ENCODING, encodings.parse().unwrap());
        Wanted::graph(&headers)
    }

    #[test]
    fn who_names_the_binary_form_gets_it() {
        for (accept, form) in [
            ("application/vnd.everflame.flame", Form::Binary),
            ("application/vnd.everflame.flame, application/json;q=0.5", Form::Binary),
            ("application/json, Application/VND.everflame.flame; q=0.4", Form::Json),
            ("application/vnd.everflame.flame;q=0", Form::Json),
            ("*/*", Form::Json),
            ("text/html", Form::Json),
        ] {
            assert_eq!(wanted(accept, "").form, form, "{accept}");
        }
        assert_eq!(
            Wanted::graph(&HeaderMap::new()),
            Wanted { form: Form::Json, encoding: Encoding::Identity }
        );
    }

    #[test]
    fn encodings_are_negotiated() {
        for (encodings, encoding) in [
            ("gzip, deflate, br, zstd", Encoding::Zstd),
            ("gzip, deflate", Encoding::Gzip),
            ("gzip;q=1.0, zstd;q=0.5", Encoding::Gzip),
            ("zstd;q=0, *", Encoding::Gzip),
            ("br", Encoding::Identity),
            ("gzip;q=0", Encoding::Identity),
        ] {
            assert_eq!(wanted("*/*", encodings).encoding, encoding, "{encodings}");
        }
    }

    #[test]
    fn small_answers_go_out_as_they_are() {
        let wanted = wanted("*/*", "gzip");
        assert_eq!(wanted.write_json(&"x").unwrap().encoding, Encoding::Identity);
        let large = wanted.write_json(&"x".repeat(limits::COMPRESSED_FROM_BYTES)).unwrap();
        assert_eq!((large.encoding, &large.body[..2]), (Encoding::Gzip, &[0x1f, 0x8b][..]));
    }
}
