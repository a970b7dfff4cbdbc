//! The one error of all APIs, and how each API writes it (D16, R4).
//!
//! A handler returns [`ApiError`]; the shape on the wire is chosen at the edge: native and Connect `{code, message,
//! field}`, `/ingest` `{code, message}` with 422 for a body that cannot be read, profefe's envelope, and plain text with
//! `X-Go-Pprof` for `go tool pprof`. Texts never hold data of other tenants or paths of the machine.

use axum::response::{IntoResponse, Response};
use connectrpc::{ConnectError, ErrorCode};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use crate::{access::TENANT_HEADER, limits};

/// What kind of error, by the status an API answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A parameter, label or field is wrong (400).
    Invalid,
    /// The body cannot be read as what it should be (400; 422 on `/ingest`).
    Malformed,
    /// The request asks for something that this server never does, such as `prev_profile` (422; D17).
    Refused,
    /// No or a wrong identity (401).
    Unauthenticated,
    /// Known but not allowed (403).
    Forbidden,
    /// There is no such thing (404).
    NotFound,
    /// Something newer is there already, or somebody else has changed it in between (409).
    Conflict,
    /// The method does not fit the path (405).
    MethodNotAllowed,
    /// The client was too slow (408).
    Timeout,
    /// Not served in this form (501).
    Unimplemented,
    /// Larger than a limit (413).
    TooLarge,
    /// A compression or format that is not known (415).
    Unsupported,
    /// A rate or quota is used up (429).
    RateLimited,
    /// The client went away (499).
    Cancelled,
    /// Our fault (500).
    Internal,
    /// Too much for now, or read-only (503).
    Unavailable,
    /// Not ended in time (504).
    Deadline,
}

impl ErrorKind {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Invalid | Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Conflict => StatusCode::CONFLICT,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Cancelled => StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Deadline => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Connect's word for it, used by the native API too.
    #[must_use]
    pub fn connect_code(self) -> ErrorCode {
        match self {
            Self::Invalid | Self::Malformed | Self::Refused | Self::Unsupported => ErrorCode::InvalidArgument,
            Self::Unauthenticated => ErrorCode::Unauthenticated,
            Self::Forbidden => ErrorCode::PermissionDenied,
            Self::NotFound => ErrorCode::NotFound,
            Self::Conflict => ErrorCode::AlreadyExists,
            Self::MethodNotAllowed | Self::Unimplemented => ErrorCode::Unimplemented,
            Self::Timeout | Self::Deadline => ErrorCode::DeadlineExceeded,
            Self::TooLarge | Self::RateLimited => ErrorCode::ResourceExhausted,
            Self::Cancelled => ErrorCode::Canceled,
            Self::Internal => ErrorCode::Internal,
            Self::Unavailable => ErrorCode::Unavailable,
        }
    }

    /// The bounded word that metrics use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Malformed => "malformed",
            Self::Refused => "refused",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Timeout => "timeout",
            Self::Unimplemented => "unimplemented",
            Self::TooLarge => "too_large",
            Self::Unsupported => "unsupported",
            Self::RateLimited => "rate_limited",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
            Self::Deadline => "deadline",
        }
    }
}

/// An error as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct ApiError {
    /// What kind.
    pub kind: ErrorKind,
    /// The parameter, label or field that is wrong; may be empty.
    pub field: String,
    /// Why, without the field.
    pub message: String,
    /// For `Retry-After`, seconds.
    pub retry_after_seconds: Option<u32>,
}

impl ApiError {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, field: field.into(), message: message.into(), retry_after_seconds: None }
    }

    /// A wrong parameter, label or field (400).
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, field, message)
    }

    /// An id of a span or trace that is all zeros (400): that means none (W3C Trace Context), so it must not choose what has
    /// none. `span_id=""` in a selector does.
    pub(crate) fn no_id(field: &str) -> Self {
        Self::invalid(field, "an id of zeros alone is no id")
    }

    /// Something that is not there (404).
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, "", message)
    }

    /// A method that does not fit the path (405).
    pub(crate) fn wrong_method(method: &Method) -> Self {
        let message = format!("{method} does not fit this path; see docs/api.md");
        Self::new(ErrorKind::MethodNotAllowed, "", message)
    }

    /// Our own fault (500). The cause goes to the log where it is handled, not to the client.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, "", message)
    }

    /// Too much for now (503 with `Retry-After`).
    pub fn unavailable(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self {
            kind: ErrorKind::Unavailable,
            field: String::new(),
            message: message.into(),
            retry_after_seconds: Some(retry_after_seconds),
        }
    }

    /// A push whose log record could not be written (503 with `Retry-After`): the store refuses what follows with the
    /// same words, and nothing was acknowledged, so the client is to try again.
    pub(crate) fn not_durable(error: &store::StoreError) -> Self {
        match error {
            store::StoreError::Closing => Self::unavailable("the server is stopping", 5),
            other => Self::unavailable(format!("read-only: {other}"), 30),
        }
    }

    /// The same error of a part of a request.
    #[must_use]
    pub(crate) fn within(mut self, part: &str) -> Self {
        self.field = if self.field.is_empty() { part.to_owned() } else { format!("{part}.{}", self.field) };
        self
    }

    /// Field and message as one sentence.
    #[must_use]
    pub fn text(&self) -> String {
        if self.field.is_empty() { self.message.clone() } else { format!("{}: {}", self.field, self.message) }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// The status on `/ingest`: a body that cannot be read is 422 there.
    #[must_use]
    pub fn ingest_status(&self) -> StatusCode {
        match self.kind {
            ErrorKind::Malformed => StatusCode::UNPROCESSABLE_ENTITY,
            kind => kind.status(),
        }
    }

    /// Native shape: `{"code", "message", "field"}`.
    #[must_use]
    pub fn into_native_response(self) -> Response {
        let body = serde_json::json!({
            "code": self.kind.connect_code().as_str(),
            "message": self.text(),
            "field": self.field,
        });
        self.json_response(self.status(), body)
    }

    /// Shape of `/ingest` and `/pyroscope/*`: `{"code", "message"}` and a newline.
    #[must_use]
    pub fn into_ingest_response(self) -> Response {
        let body = serde_json::json!({ "code": self.kind.connect_code().as_str(), "message": self.text() });
        self.json_response(self.ingest_status(), body)
    }

    /// profefe's envelope: `{"code": status, "error": text}`.
    #[must_use]
    pub fn into_profefe_response(self) -> Response {
        let body = serde_json::json!({ "code": self.status().as_u16(), "error": self.text() });
        self.json_response(self.status(), body)
    }

    /// Plain text that `go tool pprof` shows to its user.
    #[must_use]
    pub fn into_pprof_response(self) -> Response {
        let mut headers = self.headers();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(HeaderName::from_static("x-go-pprof"), HeaderValue::from_static("1"));
        (self.status(), headers, format!("{}\n", self.text())).into_response()
    }

    /// For Connect, gRPC and gRPC-Web.
    #[must_use]
    pub fn into_connect(self) -> ConnectError {
        let error = ConnectError::new(self.kind.connect_code(), self.text()).with_headers(self.headers());
        match self.kind {
            // Connect's own table says 429, which clients take for "try again"; R4 wants the truth.
            ErrorKind::TooLarge => error.with_http_status(StatusCode::PAYLOAD_TOO_LARGE),
            // It says 504, which is for what the server is slow at.
            ErrorKind::Timeout => error.with_http_status(StatusCode::REQUEST_TIMEOUT),
            _ => error,
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind == ErrorKind::Unauthenticated {
            // A browser asks its user for a password because of Basic, again and again where it is not the password that
            // lacks but the tenant. One line each: Chromium reads one scheme per line, and its prompt never came for two
            // in one.
            if !self.field.eq_ignore_ascii_case(TENANT_HEADER) {
                let basic = HeaderValue::from_static("Basic realm=\"everflame\"");
                headers.insert(header::WWW_AUTHENTICATE, basic);
            }
            headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers
    }

    fn json_response(&self, status: StatusCode, body: serde_json::Value) -> Response {
        let mut headers = self.headers();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        (status, headers, format!("{body}\n")).into_response()
    }
}

impl From<ApiError> for ConnectError {
    fn from(error: ApiError) -> Self {
        error.into_connect()
    }
}

impl From<formats::DecodeError> for ApiError {
    fn from(error: formats::DecodeError) -> Self {
        let kind = match error.kind {
            formats::DecodeErrorKind::Malformed => ErrorKind::Malformed,
            formats::DecodeErrorKind::TooLarge | formats::DecodeErrorKind::InflatesTooFar => {
                ErrorKind::TooLarge
            }
            formats::DecodeErrorKind::Unsupported => ErrorKind::Unsupported,
            formats::DecodeErrorKind::NoMemory => {
                let busy = Self::unavailable(error.reason, limits::RETRY_AFTER_SECONDS);
                return Self { field: error.field, ..busy };
            }
        };
        Self::new(kind, error.field, error.reason)
    }
}

impl From<store::PushError> for ApiError {
    fn from(error: store::PushError) -> Self {
        match error {
            store::PushError::Invalid { field, reason } => Self::invalid(field, reason),
            store::PushError::Overloaded { reason, retry_after_seconds } => {
                Self::unavailable(reason, retry_after_seconds)
            }
            store::PushError::ReadOnly { reason } => Self::unavailable(format!("read-only: {reason}"), 30),
            other => Self::internal(other.to_string()),
        }
    }
}

impl From<store::StoreError> for ApiError {
    fn from(error: store::StoreError) -> Self {
        match error {
            store::StoreError::Closing => Self::unavailable("the server is stopping", 5),
            // A full disk, mostly: what a push is told then.
            error @ store::StoreError::NotKept { .. } => Self::unavailable(error.to_string(), 30),
            other => Self::internal(other.to_string()),
        }
    }
}

impl From<query::QueryError> for ApiError {
    fn from(error: query::QueryError) -> Self {
        let message = error.to_string();
        if error.is_of_dropped_block() {
            return Self::unavailable(message, limits::RETRY_AFTER_SECONDS);
        }
        match error {
            query::QueryError::Invalid { field, reason } => Self::invalid(field, reason),
            query::QueryError::Ambiguous { .. } => Self::invalid("profile_type", message),
            query::QueryError::Overflow => Self::invalid("range", message),
            // C090: no 413, which speaks of what was sent, and no 429, which clients take for "try again".
            query::QueryError::Budget { .. } => Self::invalid("range", message),
            query::QueryError::Deadline => Self::new(ErrorKind::Deadline, "", message),
            query::QueryError::Cancelled => Self::new(ErrorKind::Cancelled, "", message),
            query::QueryError::NotFound(_) => Self::not_found(message),
            _ => Self::internal(message),
        }
    }
}

impl From<profile::TenantError> for ApiError {
    fn from(error: profile::TenantError) -> Self {
        Self::invalid("X-Scope-OrgID", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_body_is_422_on_ingest_only() {
        let error = ApiError::new(ErrorKind::Malformed, "gzip", "truncated at byte 7");
        assert_eq!(error.status(), 400);
        assert_eq!(error.ingest_status(), 422);
        assert_eq!(error.to_string(), "gzip: truncated at byte 7");
    }

    #[test]
    fn a_block_that_was_dropped_meanwhile_is_503_and_damage_is_500() {
        let file = || "blocks/a/1.block".to_owned();
        let dropped = ApiError::from(query::QueryError::from(block::BlockError::Dropped { file: file() }));
        assert_eq!((dropped.status().as_u16(), dropped.retry_after_seconds), (503, Some(1)));
        assert!(dropped.to_string().contains("ask again"), "{dropped}");
        let damaged = block::BlockError::Corrupt { file: file(), section: "rows".into(), reason: "x".into() };
        assert_eq!(ApiError::from(query::QueryError::from(damaged)).status(), 500);
    }

    #[test]
    fn c103_a_full_disk_is_503_from_the_first_push_on() {
        let full = store::StoreError::Io { what: "log".into(), reason: "No space left on device".into() };
        let error = ApiError::not_durable(&full);
        assert_eq!((error.status().as_u16(), error.retry_after_seconds), (503, Some(30)));
        assert!(error.message.contains("No space left"), "{error}");
        assert_eq!(ApiError::from(full).status(), 500, "a query's read error is another matter");
    }

    #[test]
    fn overload_says_when_to_try_again() {
        let response = ApiError::unavailable("busy", 3).into_native_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
    }
}
