//! The one secret of `--token-file`: every request but health checks must carry it (D26).
//!
//! Taken as `Authorization: Bearer SECRET`, or as the password of `Basic` with any user name, which is what
//! `go tool pprof http://user:SECRET@host/…` and Grafana can send. Full access control is not here.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use api::{ApiError, ErrorKind, ErrorShape};
use axum::{extract::Request, response::Response};
use base64::Engine as _;
use http::{HeaderMap, header};

use crate::{Token, TokenFile};

/// Paths that answer without the secret: they say no more than that the process runs.
pub(crate) const OPEN_PATHS: [&str; 3] = ["/healthz", "/ready", "/readyz"];

/// The secret that holds now.
pub(crate) struct Secret {
    path: PathBuf,
    token: RwLock<Token>,
}

impl Secret {
    pub(crate) fn new(file: TokenFile) -> Self {
        Self { path: file.path, token: RwLock::new(file.token) }
    }

    /// Reads the file again. One that cannot be used changes nothing: the secret before goes on to hold, so that nobody is
    /// let in or shut out by a mistake.
    pub(crate) async fn reload(self: Arc<Self>) {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || TokenFile::read(&path)).await;
        match read.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(file) => {
                let mut token = self.token.write().unwrap_or_else(PoisonError::into_inner);
                let is_new = *token != file.token;
                *token = file.token;
                tracing::info!(is_new, "token_file is read again");
            }
            Err(error) => tracing::error!(error, "token_file is not used; the secret stays as it was"),
        }
    }

    fn is(&self, given: &[u8]) -> bool {
        self.token.read().unwrap_or_else(PoisonError::into_inner).is(given)
    }
}

/// Lets a request through or answers 401 in the shape of the API that was called. Where there is no secret, all pass.
pub(crate) async fn require_token<F: Future<Output = Response>>(
    secret: Option<&Secret>,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let is_let_in = secret.is_none_or(|secret| carries(request.headers(), secret));
    if is_let_in || OPEN_PATHS.contains(&request.uri().path()) {
        return answer(request).await;
    }
    let error = ApiError::new(
        ErrorKind::Unauthenticated,
        "Authorization",
        "this server wants a secret: send it as \"Bearer SECRET\", or as the password of Basic",
    );
    ErrorShape::of(&request).render(error)
}

fn carries(headers: &HeaderMap, secret: &Secret) -> bool {
    let Some(value) = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let Some((scheme, rest)) = value.split_once(' ') else { return false };
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return secret.is(rest.as_bytes());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return false;
    }
    let Ok(pair) = base64::engine::general_purpose::STANDARD.decode(rest) else { return false };
    let Some(colon) = pair.iter().position(|byte| *byte == b':') else { return false };
    secret.is(&pair[colon + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        headers
    }

    #[test]
    fn bearer_and_basic_are_taken_and_nothing_else() {
        let token = Token::for_test("0123456789abcdef");
        let token = Secret::new(TokenFile { path: PathBuf::new(), token });
        assert!(carries(&headers("Bearer 0123456789abcdef"), &token));
        assert!(carries(&headers("bearer 0123456789abcdef"), &token));
        // printf 'me:0123456789abcdef' | base64
        assert!(carries(&headers("Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg=="), &token));
        for wrong in ["", "Bearer", "Bearer x", "0123456789abcdef", "Basic !!", "Digest 0123456789abcdef"] {
            assert!(!carries(&headers(wrong), &token), "{wrong}");
        }
        assert!(!carries(&HeaderMap::new(), &token));
    }
}
