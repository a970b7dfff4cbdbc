//! The one secret of `--token-file`: every request but health checks must carry it (D26).
//!
//! Taken as `Authorization: Bearer SECRET`, or as the password of `Basic` with any user name, which is what
//! `go tool pprof http://user:SECRET@host/…` and Grafana can send. Full access control is not here.

use api::{ApiError, ErrorKind, ErrorShape};
use axum::{extract::Request, response::Response};
use base64::Engine as _;
use http::{HeaderMap, header};

use crate::Token;

/// Paths that answer without the secret: they say no more than that the process runs.
pub(crate) const OPEN_PATHS: [&str; 3] = ["/healthz", "/ready", "/readyz"];

/// Lets a request through or answers 401 in the shape of the API that was called. Where there is no secret, all pass.
pub(crate) async fn require_token<F: Future<Output = Response>>(
    token: Option<&Token>,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let is_let_in = token.is_none_or(|token| carries(request.headers(), token));
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

fn carries(headers: &HeaderMap, token: &Token) -> bool {
    let Some(value) = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let Some((scheme, rest)) = value.split_once(' ') else { return false };
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return token.is(rest.as_bytes());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return false;
    }
    let Ok(pair) = base64::engine::general_purpose::STANDARD.decode(rest) else { return false };
    let Some(colon) = pair.iter().position(|byte| *byte == b':') else { return false };
    token.is(&pair[colon + 1..])
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
