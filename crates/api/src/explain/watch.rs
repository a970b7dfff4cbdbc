//! Around every push: who sends it, and why it was refused where that can only be read off the answer.
//!
//! A request without the secret, or without a tenant where one is needed, is nobody's and is not noted.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{body::Body, extract::Request, response::Response};
use http::{HeaderMap, Method, StatusCode, Uri, header};
use http_body_util::BodyExt as _;

use super::{Subject, shortened};
use crate::{ApiState, ErrorKind, access, limits, push::Api};

tokio::task_local! {
    /// Who sends the push that this task works on.
    static SENDER: Arc<Sender>;
}

/// The client of a push, as far as its request says.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// `User-Agent` as sent.
    pub agent: String,
    /// What the push is spoken in, such as `ingest multipart` or `push grpc`.
    pub speech: String,
    /// `POST /path?query`, without what a header holds.
    pub request: String,
    /// Whether what became of the push was noted already.
    pub is_noted: AtomicBool,
}

impl Sender {
    /// The client of the push that this task works on; `None` in a task that works on none, such as our own scraping.
    pub fn current() -> Option<Arc<Self>> {
        SENDER.try_with(Arc::clone).ok()
    }

    /// Keeps [`watch`] from noting the answer once more.
    pub fn mark_noted(&self) {
        self.is_noted.store(true, Ordering::Relaxed);
    }

    fn of(api: Api, request: &Request) -> Self {
        let (headers, uri) = (request.headers(), request.uri());
        let request =
            format!("{} {}", request.method(), uri.path_and_query().map_or("/", |text| text.as_str()));
        Self {
            agent: shortened(header_text(headers, header::USER_AGENT), limits::EXPLAINED_NAME_BYTES_MAX),
            speech: speech(api, headers, uri),
            request: shortened(&request, limits::EXPLAINED_EXAMPLE_BYTES_MAX),
            is_noted: AtomicBool::new(false),
        }
    }
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// A few words of our own: never anything that a client wrote, so that a client cannot speak in a thousand ways.
fn speech(api: Api, headers: &HeaderMap, uri: &Uri) -> String {
    let content_type = header_text(headers, header::CONTENT_TYPE);
    let is = |beginning: &str| {
        content_type.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
    };
    let detail = match api {
        Api::Push if is("application/grpc-web") => "grpc-web",
        Api::Push if is("application/grpc") => "grpc",
        Api::Push if is("application/json") => "connect+json",
        Api::Push => "connect+proto",
        _ if is("multipart/form-data") => "multipart",
        _ => {
            let named = parameter(uri, "format");
            FORMATS.iter().copied().find(|known| named.as_deref() == Some(known)).unwrap_or("body")
        }
    };
    format!("{} {detail}", api.word())
}

/// Formats that `/ingest` and `/api/v1/push` know by name.
const FORMATS: [&str; 9] =
    ["pprof", "folded", "groups", "lines", "trie", "tree", "jfr", "speedscope", "otlp"];

/// The API of a path that takes pushes.
fn pushing(method: &Method, path: &str) -> Option<Api> {
    if *method != Method::POST {
        return None;
    }
    match path {
        "/api/v1/push" => Some(Api::Native),
        "/api/0/profiles" => Some(Api::Profefe),
        "/ingest" | "/pyroscope/ingest" => Some(Api::Ingest),
        "/push.v1.PusherService/Push" => Some(Api::Push),
        _ => None,
    }
}

/// Notes who sends a push, and why one was refused before it came to [`crate::push`].
pub(crate) async fn watch<F: Future<Output = Response>>(
    state: &ApiState,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let Some(api) = pushing(request.method(), request.uri().path()) else { return answer(request).await };
    let tenant = access::write_tenant(request.headers(), state.options.tenancy).ok();
    let service = service_of(request.uri());
    let sender = Arc::new(Sender::of(api, &request));
    let kept = Arc::clone(&sender);
    SENDER
        .scope(sender, async {
            let response = answer(request).await;
            // Whoever noted a profile of it has said more than the answer does.
            let (response, refusal) = read(response).await;
            if let (Some(tenant), Some((kind, text)), false) =
                (tenant, refusal, kept.is_noted.load(Ordering::Relaxed))
            {
                let subject = Subject { tenant: &tenant, api: api.word(), service: &service, body: None };
                state.explain.refused(&subject, kind, &text);
            }
            response
        })
        .await
}

/// Why a push was refused, if it was, whatever API wrote the answer, and the answer as it was.
async fn read(response: Response) -> (Response, Option<(ErrorKind, String)>) {
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_grpc = content_type.is_some_and(|text| text.starts_with("application/grpc"));
    if response.status().as_u16() < 400 && !is_grpc {
        return (response, None);
    }
    // Errors and the empty answers of gRPC are short.
    let (parts, body) = response.into_parts();
    let Ok(collected) = body.collect().await else {
        return (Response::from_parts(parts, Body::empty()), None);
    };
    if !is_grpc {
        let bytes = collected.to_bytes();
        let refusal = (kind_of(parts.status), sentence_in(&bytes));
        return (Response::from_parts(parts, Body::from(bytes)), Some(refusal));
    }
    // gRPC says how it went behind the body, or beside it where there is none.
    let behind = refusal_of_grpc(collected.trailers()).or_else(|| refusal_of_grpc(Some(&parts.headers)));
    if collected.trailers().is_some() {
        return (Response::from_parts(parts, Body::new(collected)), behind);
    }
    let bytes = collected.to_bytes();
    let refusal = behind.or_else(|| refusal_of_grpc(trailers_in_body(&bytes).as_ref()));
    (Response::from_parts(parts, Body::from(bytes)), refusal)
}

/// The trailers that gRPC-Web writes as the last frame of a body: flag 0x80, four bytes of length, `name: value` lines.
fn trailers_in_body(mut body: &[u8]) -> Option<HeaderMap> {
    loop {
        let (&[flags, a, b, c, d], rest) = body.split_first_chunk::<5>()?;
        let (frame, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?)?;
        if flags & 0x80 == 0 {
            body = rest;
            continue;
        }
        let lines = std::str::from_utf8(frame).ok()?.lines();
        let pairs = lines.filter_map(|line| line.split_once(':')).filter_map(|(name, value)| {
            let name = header::HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
            Some((name, http::HeaderValue::from_str(value.trim()).ok()?))
        });
        return Some(pairs.collect());
    }
}

fn refusal_of_grpc(headers: Option<&HeaderMap>) -> Option<(ErrorKind, String)> {
    let text = |name: &str| headers?.get(name)?.to_str().ok();
    let kind = match text("grpc-status")? {
        "0" => return None,
        "4" => ErrorKind::Deadline,
        "8" => ErrorKind::TooLarge,
        "12" => ErrorKind::Unimplemented,
        "13" => ErrorKind::Internal,
        "14" => ErrorKind::Unavailable,
        "16" => ErrorKind::Unauthenticated,
        _ => ErrorKind::Invalid,
    };
    Some((kind, text("grpc-message").unwrap_or("").to_owned()))
}

/// The service that a query string names: `service=a` or, on `/ingest`, `name=a{…}`.
fn service_of(uri: &Uri) -> String {
    let ingested = || parameter(uri, "name").map(|name| name.split('{').next().unwrap_or("").to_owned());
    parameter(uri, "service").or_else(ingested).unwrap_or_default()
}

/// The first value of a name in the query string.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?.0;
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn sentence_in(body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let field = |name: &str| json.as_ref()?.get(name)?.as_str().map(str::to_owned);
    field("message")
        .or_else(|| field("error"))
        .unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned())
}

fn kind_of(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        401 => ErrorKind::Unauthenticated,
        404 => ErrorKind::NotFound,
        405 => ErrorKind::MethodNotAllowed,
        408 => ErrorKind::Timeout,
        413 => ErrorKind::TooLarge,
        415 => ErrorKind::Unsupported,
        422 => ErrorKind::Malformed,
        429 => ErrorKind::RateLimited,
        501 => ErrorKind::Unimplemented,
        503 => ErrorKind::Unavailable,
        504 => ErrorKind::Deadline,
        status if status >= 500 => ErrorKind::Internal,
        _ => ErrorKind::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_push_is_watched_and_nothing_else() {
        for (path, api) in [
            ("/api/v1/push", Some(Api::Native)),
            ("/api/0/profiles", Some(Api::Profefe)),
            ("/ingest", Some(Api::Ingest)),
            ("/pyroscope/ingest", Some(Api::Ingest)),
            ("/push.v1.PusherService/Push", Some(Api::Push)),
            ("/api/v1/flame", None),
            ("/querier.v1.QuerierService/Series", None),
        ] {
            assert_eq!(pushing(&Method::POST, path), api, "{path}");
            assert_eq!(pushing(&Method::GET, path), None, "{path}");
        }
        let service = |text: &str| service_of(&text.parse::<Uri>().unwrap());
        assert_eq!(service("/api/v1/push?service=a%20b"), "a b");
        assert_eq!(service("/ingest?name=app.cpu%7Bx%3Dy%7D"), "app.cpu");
        assert_eq!(service("/ingest"), "");
    }

    #[test]
    fn the_sentence_is_found_in_every_shape() {
        for (body, sentence) in [
            (r#"{"code":"invalid_argument","message":"label: no","field":"label"}"#, "label: no"),
            (r#"{"code":400,"error":"malformed profile"}"#, "malformed profile"),
            ("a sentence\n", "a sentence"),
            ("", ""),
        ] {
            assert_eq!(sentence_in(body.as_bytes()), sentence);
        }
    }

    #[test]
    fn the_speech_is_one_of_few_words() {
        let speech_of = |api, content_type: &str, uri: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
            speech(api, &headers, &uri.parse().unwrap())
        };
        for (api, content_type, uri, expected) in [
            (Api::Push, "application/grpc+proto", "/", "push grpc"),
            (Api::Push, "application/grpc-web", "/", "push grpc-web"),
            (Api::Push, "application/json", "/", "push connect+json"),
            (Api::Push, "application/proto", "/", "push connect+proto"),
            (Api::Ingest, "Multipart/Form-Data; boundary=x", "/ingest?format=jfr", "ingest multipart"),
            (Api::Ingest, "text/plain", "/ingest?format=trie", "ingest trie"),
            (Api::Ingest, "text/plain", "/ingest?format=made-up", "ingest body"),
            (Api::Native, "text/plain", "/api/v1/push", "native body"),
        ] {
            assert_eq!(speech_of(api, content_type, uri), expected);
        }
    }

    #[test]
    fn grpc_web_says_how_it_went_in_its_last_frame() {
        let mut body = vec![0, 0, 0, 0, 2, 1, 2];
        let trailers = b"grpc-status: 3\r\ngrpc-message: no name\r\n";
        body.extend([0x80, 0, 0, 0, u8::try_from(trailers.len()).unwrap()]);
        body.extend(trailers);
        let refusal = refusal_of_grpc(trailers_in_body(&body).as_ref());
        assert_eq!(refusal, Some((ErrorKind::Invalid, "no name".to_owned())));
        for cut in 0..body.len() {
            assert_eq!(refusal_of_grpc(trailers_in_body(&body[..cut]).as_ref()), None, "cut at {cut}");
        }
    }
}
