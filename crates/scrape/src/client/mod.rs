//! One GET over TCP, TLS or a unix socket, with every limit that a scrape needs.
//!
//! Each request has a connection of its own, which ends with the future: nothing is left behind when a scrape is given
//! up, and nothing of one target is ever in another's way. Credentials go to the server that was configured and to no
//! other; bodies count against one memory for all. Not here: what is scraped when, what becomes of bodies.

mod bodies;
mod error;
mod resolve;
mod tls;
mod url;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::Engine as _;
pub(crate) use bodies::{Bodies, BodyClaim};
use bytes::{Bytes, BytesMut};
pub use error::{FailureKind, ScrapeError};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
pub(crate) use resolve::{Resolver, in_words};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};
use tokio_rustls::rustls::ClientConfig;
pub(crate) use url::{Address, Url};

use crate::{
    config::{Credentials, HttpSettings, Redirects, Scheme},
    limits,
};

const AGENT: &str = concat!("everflame/", env!("CARGO_PKG_VERSION"));

/// Makes requests with one job's settings.
pub(crate) struct HttpClient {
    settings: HttpSettings,
    resolver: Arc<Resolver>,
    bodies: Arc<Bodies>,
    tls: Mutex<Option<(Instant, Arc<ClientConfig>)>>,
}

/// A whole body with the memory that it holds.
pub(crate) struct Fetched {
    pub body: Bytes,
    pub claim: BodyClaim,
}

impl HttpClient {
    pub(crate) fn new(settings: HttpSettings, resolver: Arc<Resolver>, bodies: Arc<Bodies>) -> Self {
        Self { settings, resolver, bodies, tls: Mutex::new(None) }
    }

    /// Fetches a body of at most `bytes_max` bytes within `timeout`.
    ///
    /// # Errors
    /// Everything but an answer of 200 with a whole body.
    pub(crate) async fn fetch(
        &self,
        url: &Url,
        timeout: Duration,
        bytes_max: usize,
    ) -> Result<Fetched, ScrapeError> {
        let fetched = tokio::time::timeout(timeout, self.follow(url, bytes_max)).await;
        fetched.unwrap_or_else(|_| {
            let text = format!("no whole answer within {}", resolve::seconds(timeout));
            Err(ScrapeError::new(FailureKind::Timeout, text))
        })
    }

    async fn follow(&self, url: &Url, bytes_max: usize) -> Result<Fetched, ScrapeError> {
        let mut current = url.clone();
        for _ in 0..=limits::REDIRECTS_MAX {
            let credentials = match current.has_same_origin(url) {
                true => self.authorization().await?,
                false => None,
            };
            match self.ask(&current, credentials, bytes_max).await? {
                Asked::Whole(fetched) => return Ok(fetched),
                Asked::Moved(location) => {
                    current = current.joined(&location).map_err(|reason| {
                        ScrapeError::new(FailureKind::Redirect, format!("the redirect {reason}"))
                    })?;
                }
            }
        }
        let text = format!("more than {} redirects", limits::REDIRECTS_MAX);
        Err(ScrapeError::new(FailureKind::Redirect, text))
    }

    async fn ask(
        &self,
        url: &Url,
        credentials: Option<HeaderValue>,
        bytes_max: usize,
    ) -> Result<Asked, ScrapeError> {
        match url.address() {
            Address::Unix { path } => {
                let stream = tokio::net::UnixStream::connect(path).await.map_err(|error| {
                    ScrapeError::new(FailureKind::Connect, format!("cannot connect: {}", in_words(&error)))
                })?;
                self.over(stream, url, credentials, bytes_max).await
            }
            Address::Tcp { host, port } => {
                let addresses = self.resolver.addresses(host).await?;
                let stream = resolve::connect(&addresses, *port).await?;
                self.over(stream, url, credentials, bytes_max).await
            }
        }
    }

    async fn over<S>(
        &self,
        stream: S,
        url: &Url,
        credentials: Option<HeaderValue>,
        bytes_max: usize,
    ) -> Result<Asked, ScrapeError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match url.scheme() {
            Scheme::Http => self.exchange(stream, url, credentials, bytes_max).await,
            Scheme::Https => {
                let config = self.tls_config().await?;
                let name = self.settings.tls.server_name.as_deref();
                let stream = tls::connect(stream, &config, url.address().host(), name).await?;
                self.exchange(stream, url, credentials, bytes_max).await
            }
        }
    }

    async fn exchange<S>(
        &self,
        stream: S,
        url: &Url,
        credentials: Option<HeaderValue>,
        bytes_max: usize,
    ) -> Result<Asked, ScrapeError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(limits::CONNECTION_BUFFER_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&error))?;
        let request = request(url, credentials)?;
        let asked = async move {
            let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
            self.answer(response, bytes_max).await
        };
        // The connection lives in this future and nowhere else. It may end before the last bytes of the body are taken.
        let (mut asked, mut connection) = (std::pin::pin!(asked), std::pin::pin!(connection));
        let mut is_over = false;
        loop {
            tokio::select! {
                biased;
                result = &mut asked => return result,
                _ = &mut connection, if !is_over => is_over = true,
            }
        }
    }

    async fn answer(&self, response: Response<Incoming>, bytes_max: usize) -> Result<Asked, ScrapeError> {
        let status = response.status();
        if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            let Some(location) = location else {
                let text = format!("the target answered {status} without a place to go");
                return Err(ScrapeError::new(FailureKind::Redirect, text));
            };
            if self.settings.redirects == Redirects::Refused {
                let text = format!("the target answered {status}, and follow_redirects is false");
                return Err(ScrapeError::new(FailureKind::Redirect, text));
            }
            return Ok(Asked::Moved(location.to_owned()));
        }
        if status != StatusCode::OK {
            return Err(refused(response).await);
        }
        let too_large = || {
            let text = format!("the answer has more than {bytes_max} bytes (body_size_limit)");
            ScrapeError::new(FailureKind::TooLarge, text)
        };
        let announced = http_body::Body::size_hint(response.body()).lower();
        if announced > u64::try_from(bytes_max).unwrap_or(u64::MAX) {
            return Err(too_large());
        }
        let claim = self.bodies.begin();
        let no_memory = || {
            let text = "given up: all scrapes together hold too much, and this answer was the largest";
            ScrapeError::new(FailureKind::TooLarge, text)
        };
        let mut body = response.into_body();
        let mut bytes = BytesMut::new();
        loop {
            let frame = tokio::select! {
                biased;
                () = claim.given_up() => return Err(no_memory()),
                frame = body.frame() => frame,
            };
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|error| {
                ScrapeError::new(
                    FailureKind::Answer,
                    format!("the answer broke off after {} bytes: {}", bytes.len(), why(&error)),
                )
            })?;
            let Some(data) = frame.data_ref() else { continue };
            if bytes.len() + data.len() > bytes_max {
                return Err(too_large());
            }
            claim.grow(data.len()).map_err(|bodies::NoMemory| no_memory())?;
            bytes.extend_from_slice(data);
        }
        if bytes.is_empty() {
            return Err(ScrapeError::new(FailureKind::Answer, "the answer is empty"));
        }
        claim.finish();
        Ok(Asked::Whole(Fetched { body: bytes.freeze(), claim }))
    }

    /// The value of `Authorization`. Files are read at each request, since they change while we run.
    async fn authorization(&self) -> Result<Option<HeaderValue>, ScrapeError> {
        let Some(credentials) = self.settings.credentials.clone() else { return Ok(None) };
        let text = blocking(move || match credentials {
            Credentials::Basic { user, password } => {
                let (user, password) = (trimmed(&user)?, trimmed(&password)?);
                let joined = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
                Ok(format!("Basic {joined}"))
            }
            Credentials::Scheme { scheme, value } => Ok(format!("{scheme} {}", trimmed(&value)?)),
        });
        let mut value = HeaderValue::from_str(&text.await?).map_err(|_| {
            ScrapeError::new(FailureKind::Settings, "the credentials have characters that no header can have")
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Settings of TLS; certificates are read anew now and then, since they are renewed while we run.
    async fn tls_config(&self) -> Result<Arc<ClientConfig>, ScrapeError> {
        let known = self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, config)) = &known
            && at.elapsed() < limits::CERTIFICATES_FRESH
        {
            return Ok(Arc::clone(config));
        }
        let settings = self.settings.tls.clone();
        let config = blocking(move || tls::client_config(&settings).map_err(|error| error.text)).await?;
        *self.tls.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), Arc::clone(&config)));
        Ok(config)
    }
}

/// What a request led to.
enum Asked {
    Whole(Fetched),
    Moved(String),
}

fn trimmed(secret: &crate::config::Secret) -> Result<String, String> {
    tls::read(secret).map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Reads files where it does not hold up sockets.
async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, ScrapeError> {
    crate::files::blocking(job).await.map_err(|reason| ScrapeError::new(FailureKind::Settings, reason))
}

fn request(url: &Url, credentials: Option<HeaderValue>) -> Result<Request<Empty<Bytes>>, ScrapeError> {
    let mut request = Request::get(url.path())
        .header(header::HOST, url.host_header())
        .header(header::USER_AGENT, AGENT)
        .header(header::ACCEPT, "*/*")
        // Profiles are compressed by themselves; a second time would only cost.
        .header(header::ACCEPT_ENCODING, "identity")
        .header(header::CONNECTION, "close");
    if let Some(value) = credentials {
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Empty::new()).map_err(|error| ScrapeError::new(FailureKind::Settings, error.to_string()))
}

/// An error with the beginning of what the target says about it.
async fn refused(response: Response<Incoming>) -> ScrapeError {
    let status = response.status();
    let mut text = Vec::new();
    let mut body = response.into_body();
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            if let Some(data) = frame.data_ref() {
                text.extend_from_slice(&data[..data.len().min(limits::ERROR_TEXT_BYTES)]);
            }
            if text.len() >= limits::ERROR_TEXT_BYTES {
                break;
            }
        }
    };
    // What has come by then will do.
    let _ = tokio::time::timeout(limits::ERROR_TEXT_WAIT, read).await;
    text.truncate(limits::ERROR_TEXT_BYTES);
    let said = String::from_utf8_lossy(&text);
    let said: String = said.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let text = match said.trim() {
        "" => format!("the target answered {status}"),
        said => format!("the target answered {status}: {said}"),
    };
    ScrapeError::new(FailureKind::Status, text)
}

fn broken(error: &hyper::Error) -> ScrapeError {
    let kind = if error.is_parse() { FailureKind::Answer } else { FailureKind::Connect };
    let text = match kind {
        FailureKind::Answer => format!("the answer is no HTTP: {}", why(error)),
        _ => format!("the connection broke: {}", why(error)),
    };
    ScrapeError::new(kind, text)
}

/// The innermost reason.
fn why(error: &hyper::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests;
