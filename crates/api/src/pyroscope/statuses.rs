//! HTTP statuses of unary Connect calls where the RPC library's own are not those of R3 and R4.
//!
//! An unknown `Content-Encoding` is 415 with the encodings that are known, not 501: the client can mend it. An unknown
//! `Content-Type` is 415 with a sentence. A message that
//! is too large once inflated is 413, not 429: sending it again does not help. The code in the body stays Connect's. gRPC
//! and gRPC-Web have statuses of their own in trailers and are left alone, but for methods other than POST: these the
//! library answers before it looks at the protocol, without a word or without `Allow`.

use axum::{
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::{ApiError, ErrorKind};

/// Where the library says which media types it takes.
const ACCEPT_POST: &str = "accept-post";

/// Encodings of request bodies.
const ENCODINGS: [&str; 3] = ["gzip", "zstd", "identity"];

/// Around the routes of the RPC services.
pub(super) async fn with_statuses<F: Future<Output = Response>>(
    mut request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    if request.method() != Method::POST {
        let method = request.method().clone();
        let response = answer(request).await;
        let is_wrong = response.status() == StatusCode::METHOD_NOT_ALLOWED;
        return if is_wrong { wrong_method(&method, response.headers()) } else { response };
    }
    if !is_connect_unary(request.headers()) {
        return answer(request).await;
    }
    match encoding(request.headers()) {
        Ok(None) => {}
        // Without what stands around the name.
        Ok(Some(name)) => {
            request.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        Err(error) => return unsupported(error, request.headers()),
    }
    let headers = request.headers().clone();
    let mut response = answer(request).await;
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Some(spoken) = response.headers().get(ACCEPT_POST).cloned()
    {
        return unknown_media_type(&headers, spoken);
    }
    // A rate limit says when to try again; what is left is the size of a message.
    let is_rate = response.headers().contains_key(header::RETRY_AFTER);
    if response.status() == StatusCode::TOO_MANY_REQUESTS && !is_rate {
        *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    }
    response
}

fn is_connect_unary(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    !content_type.starts_with(b"application/grpc") && !content_type.starts_with(b"application/connect+")
}

/// The encoding of a body; `None` = not said.
fn encoding(headers: &HeaderMap) -> Result<Option<&'static str>, ApiError> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let given = value.as_bytes().trim_ascii();
    let known = ENCODINGS.into_iter().find(|name| given.eq_ignore_ascii_case(name.as_bytes()));
    match known {
        Some(name) if values.next().is_none() => Ok(Some(name)),
        _ => {
            let given: String = String::from_utf8_lossy(given).chars().take(64).collect();
            let message = format!("{given:?} is not one of {}", ENCODINGS.join(", "));
            Err(ApiError::new(ErrorKind::Unsupported, "Content-Encoding", message))
        }
    }
}

/// Says in words what the library says by a status alone.
fn wrong_method(method: &Method, answered: &HeaderMap) -> Response {
    let mut response = ApiError::wrong_method(method).into_ingest_response();
    let allow = answered.get(header::ALLOW).cloned().unwrap_or(HeaderValue::from_static("POST"));
    response.headers_mut().insert(header::ALLOW, allow);
    response
}

/// The library's own answer has no words.
fn unknown_media_type(headers: &HeaderMap, spoken: HeaderValue) -> Response {
    let given = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let given: String = String::from_utf8_lossy(given).chars().take(64).collect();
    let message = format!("{given:?} is not one of {}", spoken.to_str().unwrap_or_default());
    let error = ApiError::new(ErrorKind::Unsupported, "Content-Type", message);
    let mut response = error.into_ingest_response();
    response.headers_mut().insert(ACCEPT_POST, spoken);
    response
}

fn unsupported(error: ApiError, headers: &HeaderMap) -> Response {
    let status = error.status();
    let mut response =
        error.into_connect().with_http_status(status).into_http_response(headers).into_response();
    let known = HeaderValue::from_static("gzip, zstd");
    response.headers_mut().insert(header::ACCEPT_ENCODING, known);
    response
}
