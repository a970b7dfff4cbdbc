//! Which shape an error has on the wire, by the path that was called (D16).

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::HeaderMap;

use crate::{ApiError, media};

/// Which API's clients will read an error.
#[derive(Clone, Debug)]
pub enum ErrorShape {
    /// `{code, message, field}`.
    Native,
    /// `{code, message}`, 422 for a body that cannot be read.
    Ingest,
    /// profefe's envelope.
    Profefe,
    /// Text that `go tool pprof` shows.
    Pprof,
    /// Connect, gRPC or gRPC-Web, as the request's headers say.
    Rpc(HeaderMap),
}

impl ErrorShape {
    /// The shape for a request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let path = request.uri().path();
        if path == "/ingest" || path.starts_with("/pyroscope/") {
            return Self::Ingest;
        }
        if path.starts_with("/api/0/") {
            return Self::Profefe;
        }
        if path.starts_with("/pprof/") || path.starts_with("/debug/pprof") {
            return Self::Pprof;
        }
        // RPC paths are /package.Service/Method; nothing else has a dot in its first part.
        let first = path.trim_start_matches('/').split('/').next().unwrap_or("");
        if first.contains('.') { Self::Rpc(request.headers().clone()) } else { Self::Native }
    }

    /// The error in this shape.
    #[must_use]
    pub fn render(self, error: ApiError) -> Response {
        match self {
            Self::Native => error.into_native_response(),
            Self::Ingest => error.into_ingest_response(),
            Self::Profefe => error.into_profefe_response(),
            Self::Pprof => error.into_pprof_response(),
            Self::Rpc(mut headers) => {
                media::spell_plainly(&mut headers);
                error.into_connect().into_http_response(&headers).into_response()
            }
        }
    }
}
