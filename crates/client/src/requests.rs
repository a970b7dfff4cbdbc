//! The calls of the native API.

use std::{io::Read, time::Duration};

use serde::de::DeserializeOwned;
use ureq::{
    Agent, Body,
    http::{HeaderMap, Response, StatusCode},
};
use wire::{
    CallersReply, CardinalityReply, DiffReply, ErrorReply, ExplainReply, FlameReply, LabelNamesReply,
    LabelValuesReply, ProfileReply, ProfilesReply, PushReply, SeriesReply, ServicesReply, Stats,
    TargetsReply, TimelineReply, TopReply,
};

use crate::{ClientError, Question, address::Address, error::URL_BYTES_MAX, question::push_encoded};

/// Where a server listens when nothing else was said.
pub const SERVER_DEFAULT: &str = "http://127.0.0.1:4040";

/// What a server calls the tenant in an error.
const TENANT_HEADER: &str = "X-Scope-OrgID";

/// Largest answer that is read, bytes: a flame graph of 200,000 nodes has about 20 MB, a merged profile up to 256 MiB.
const ANSWER_BYTES_MAX: u64 = 512 << 20;

/// Largest text of an error that is read, bytes.
const ERROR_BYTES_MAX: u64 = 64 << 10;

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest wait for the beginning of an answer: a server gives up a query after 60 s by default.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// How a server is reached.
#[derive(Clone, Default)]
pub struct ClientOptions {
    /// Address; empty = [`SERVER_DEFAULT`].
    pub server: String,
    /// Secret of the server's `--token-file`.
    pub token: Option<String>,
    /// Tenant, for servers with several.
    pub tenant: Option<String>,
}

impl std::fmt::Debug for ClientOptions {
    /// Without the token.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ClientOptions")
            .field("server", &self.server)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// A profile that was downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The bytes as sent, a gzip stream for profiles.
    pub body: Vec<u8>,
    /// File name that the server proposes; empty where it does not.
    pub file_name: String,
    /// What a merged profile used and lacks; `None` where the server does not say.
    pub stats: Option<Stats>,
}

/// Talks to one server. Keeps connections open between calls.
pub struct Client {
    agent: Agent,
    address: Address,
    options: ClientOptions,
}

impl Client {
    /// A client; connects at the first call.
    ///
    /// # Errors
    /// When address or token cannot be used.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let typed = if options.server.is_empty() { SERVER_DEFAULT } else { &options.server };
        let address = Address::parse(typed)?;
        let printable = |text: &String| text.bytes().all(|byte| byte.is_ascii_graphic());
        if !options.token.iter().all(printable) {
            return Err(ClientError::Token);
        }
        if let Some(tenant) = options.tenant.as_ref().filter(|text| !printable(text)) {
            return Err(ClientError::Tenant { tenant: tenant.clone() });
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(3)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT))
            .user_agent(concat!("everflame/", env!("CARGO_PKG_VERSION")));
        if address.is_loopback() {
            config = config.proxy(None);
        }
        Ok(Self { agent: config.build().into(), address, options })
    }

    /// The server's base URL.
    #[must_use]
    pub fn server(&self) -> &str {
        self.address.base()
    }

    /// Sends one profile; the answer comes when it is on the server's disk. Parameters: `docs/api.md`, push.
    ///
    /// # Errors
    /// See [`ClientError`]; so for all calls below.
    pub fn push(&self, question: &Question, body: &[u8]) -> Result<PushReply, ClientError> {
        let path = "/api/v1/push";
        let mut request =
            self.agent.post(self.url(path, question)?).header("content-type", "application/octet-stream");
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        let response = self.accepted(request.send(body))?;
        self.json(path, response)
    }

    /// Merged tree.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn flame(&self, question: &Question) -> Result<FlameReply, ClientError> {
        self.get("/api/v1/flame", question)
    }

    /// Functions by own value.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn top(&self, question: &Question) -> Result<TopReply, ClientError> {
        self.get("/api/v1/top", question)
    }

    /// Callers and callees of a function.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn callers(&self, question: &Question) -> Result<CallersReply, ClientError> {
        self.get("/api/v1/callers", question)
    }

    /// Values along time.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn timeline(&self, question: &Question) -> Result<TimelineReply, ClientError> {
        self.get("/api/v1/timeline", question)
    }

    /// Two selections over each other.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn diff(&self, question: &Question) -> Result<DiffReply, ClientError> {
        self.get("/api/v1/diff", question)
    }

    /// Services with their profile types.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn services(&self, question: &Question) -> Result<ServicesReply, ClientError> {
        self.get("/api/v1/services", question)
    }

    /// Names of labels.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn label_names(&self, question: &Question) -> Result<LabelNamesReply, ClientError> {
        self.get("/api/v1/labels", question)
    }

    /// Values of a label.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn label_values(&self, name: &str, question: &Question) -> Result<LabelValuesReply, ClientError> {
        // As a parameter, since a path cannot hold every name ("..", a slash).
        self.get("/api/v1/labels", &question.clone().with("name", name))
    }

    /// What labels spread a selection out into.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn cardinality(&self, question: &Question) -> Result<CardinalityReply, ClientError> {
        self.get("/api/v1/cardinality", question)
    }

    /// Label sets.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn series(&self, question: &Question) -> Result<SeriesReply, ClientError> {
        self.get("/api/v1/series", question)
    }

    /// Single profiles.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn profiles(&self, question: &Question) -> Result<ProfilesReply, ClientError> {
        self.get("/api/v1/profiles", question)
    }

    /// The entry of one profile.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn profile(&self, id: &str) -> Result<ProfileReply, ClientError> {
        self.get(&profile_path(id), &Question::new().with("format", "json"))
    }

    /// One profile as it was pushed.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn profile_pprof(&self, id: &str) -> Result<Download, ClientError> {
        self.download(&profile_path(id), &Question::new())
    }

    /// Several profiles merged into one.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn pprof(&self, question: &Question) -> Result<Download, ClientError> {
        self.download("/api/v1/pprof", question)
    }

    /// Why profiles are missing, and which clients there are.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn explain(&self, question: &Question) -> Result<ExplainReply, ClientError> {
        self.get("/api/v1/ingest/explain", question)
    }

    /// A body that is kept as an example.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn explain_body(&self, number: u64) -> Result<Download, ClientError> {
        self.download(&format!("/api/v1/ingest/explain/bodies/{number}"), &Question::new())
    }

    /// What the server scrapes.
    ///
    /// # Errors
    /// See [`Client::push`].
    pub fn targets(&self, question: &Question) -> Result<TargetsReply, ClientError> {
        self.get("/api/v1/targets", question)
    }

    fn get<T: DeserializeOwned>(&self, path: &str, question: &Question) -> Result<T, ClientError> {
        let response = self.fetch(path, question)?;
        self.json(path, response)
    }

    fn download(&self, path: &str, question: &Question) -> Result<Download, ClientError> {
        let response = self.fetch(path, question)?;
        let file_name = file_name(response.headers());
        let stats = stats(response.headers());
        let mut body = Vec::new();
        let mut reader = response.into_body().into_with_config().limit(ANSWER_BYTES_MAX).reader();
        reader.read_to_end(&mut body).map_err(|error| self.answer_error(path, error))?;
        Ok(Download { body, file_name, stats })
    }

    fn fetch(&self, path: &str, question: &Question) -> Result<Response<Body>, ClientError> {
        let mut request = self.agent.get(self.url(path, question)?);
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        self.accepted(request.call())
    }

    fn url(&self, path: &str, question: &Question) -> Result<String, ClientError> {
        let url = format!("{}{path}{}", self.address.base(), question.query_string());
        if url.len() > URL_BYTES_MAX { Err(ClientError::TooLong { bytes: url.len() }) } else { Ok(url) }
    }

    fn headers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let token = self.options.token.iter().map(|token| ("authorization", format!("Bearer {token}")));
        token.chain(self.options.tenant.iter().map(|tenant| ("x-scope-orgid", tenant.clone())))
    }

    /// Turns everything but success into an error.
    fn accepted(&self, result: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, ClientError> {
        let mut response = result.map_err(|error| ClientError::Unreachable {
            server: self.server().to_owned(),
            reason: reason(&error),
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let text = response.body_mut().with_config().limit(ERROR_BYTES_MAX).lossy_utf8(true).read_to_string();
        let text = text.unwrap_or_default();
        let reply = serde_json::from_str::<ErrorReply>(&text).unwrap_or_else(|_| ErrorReply {
            message: foreign(status, text.trim()),
            ..ErrorReply::default()
        });
        let server = self.server().to_owned();
        if status.as_u16() == 401 {
            return Err(match reply.field.as_str() {
                TENANT_HEADER => ClientError::NoTenant { server },
                _ => ClientError::Unauthorized { server, given: self.options.token.is_some() },
            });
        }
        Err(ClientError::Refused {
            server,
            status: status.as_u16(),
            code: reply.code,
            field: reply.field,
            message: reply.message,
            retry,
        })
    }

    fn json<T: DeserializeOwned>(&self, path: &str, response: Response<Body>) -> Result<T, ClientError> {
        let reader = response.into_body().into_with_config().limit(ANSWER_BYTES_MAX).reader();
        let reader = std::io::BufReader::with_capacity(64 << 10, reader);
        serde_json::from_reader(reader).map_err(|error| self.answer_error(path, error))
    }

    fn answer_error(&self, path: &str, reason: impl std::fmt::Display) -> ClientError {
        ClientError::Answer {
            server: self.server().to_owned(),
            what: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// What to say of an error that is none of the native API: the text of a proxy or of another program, which may be a page.
fn foreign(status: StatusCode, text: &str) -> String {
    if text.is_empty() || text.starts_with('<') {
        return format!("HTTP {status}, without a word of Everflame's; is another program or a proxy there?");
    }
    text.to_owned()
}

fn profile_path(id: &str) -> String {
    let mut path = "/api/v1/profiles/".to_owned();
    push_encoded(&mut path, id);
    path
}

/// What went wrong, without the library's own name in front.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            "connection refused".into()
        }
        ureq::Error::Io(error) => tls_or(error.to_string()),
        ureq::Error::HostNotFound => "host not found".into(),
        other => tls_or(other.to_string()),
    }
}

/// The library's text, but a sentence where an answer to `https://` was none of TLS, which a server itself never speaks.
fn tls_or(text: String) -> String {
    if text.contains("InvalidContentType") {
        "what answers there speaks no TLS: try http://".into()
    } else {
        text
    }
}

/// What the answer used and lacks; it stands in a header where the body is a file.
fn stats(headers: &HeaderMap) -> Option<Stats> {
    serde_json::from_slice(headers.get("everflame-stats")?.as_bytes()).ok()
}

/// The proposed file name, without anything that would lead out of a folder.
fn file_name(headers: &HeaderMap) -> String {
    let value = headers.get("content-disposition").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = value.split("filename=").nth(1).unwrap_or_default().trim_matches('"');
    let safe = |character: char| character.is_ascii_alphanumeric() || "._-+".contains(character);
    if name.starts_with('.') || !name.chars().all(safe) { String::new() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_is_a_sentence_that_says_what_to_do() {
        // A port of the reserved range that nothing listens on.
        let client =
            Client::new(ClientOptions { server: "127.0.0.1:1".into(), ..ClientOptions::default() }).unwrap();
        let error = client.top(&Question::new()).unwrap_err().to_string();
        assert!(error.starts_with("no server answers at http://127.0.0.1:1 (connection refused)"), "{error}");
        assert!(error.contains("everflame server"), "{error}");
    }

    #[test]
    fn https_where_there_is_none_is_said() {
        use std::io::{Read, Write};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("https://{}", listener.local_addr().unwrap());
        let plain = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let read = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
            read
        });
        let client = Client::new(ClientOptions { server, ..ClientOptions::default() }).unwrap();
        let error = client.top(&Question::new()).unwrap_err().to_string();
        assert!(error.contains("(what answers there speaks no TLS: try http://)"), "{error}");
        assert!(plain.join().unwrap() > 0);
    }

    #[test]
    fn a_page_of_another_program_is_not_printed() {
        let status = StatusCode::NOT_FOUND;
        for page in ["", "<!DOCTYPE HTML>\n<html><body>Error response</body></html>"] {
            let said = foreign(status, page);
            assert!(said.starts_with("HTTP 404 Not Found, without") && !said.contains('<'), "{said}");
        }
        assert_eq!(foreign(status, "no such path"), "no such path");
    }

    #[test]
    fn tokens_are_never_shown_and_fit_in_a_header() {
        let options = ClientOptions { token: Some("secret-secret".into()), ..ClientOptions::default() };
        assert!(!format!("{options:?}").contains("secret"));
        let broken = ClientOptions { token: Some("a\nb".into()), ..ClientOptions::default() };
        assert!(matches!(Client::new(broken), Err(ClientError::Token)));
    }

    #[test]
    fn a_tenant_that_cannot_be_sent_is_refused_before_anything_is_asked() {
        for tenant in ["a\nb", "a b", "é"] {
            let options = ClientOptions { tenant: Some(tenant.into()), ..ClientOptions::default() };
            assert!(matches!(Client::new(options), Err(ClientError::Tenant { .. })), "{tenant:?}");
        }
        let options = ClientOptions { tenant: Some("a|b".into()), ..ClientOptions::default() };
        assert!(Client::new(options).is_ok());
    }

    #[test]
    fn proposed_file_names_stay_in_the_folder() {
        let name = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("content-disposition", text.parse().unwrap());
            file_name(&headers)
        };
        assert_eq!(name("attachment; filename=\"api.pb.gz\""), "api.pb.gz");
        assert_eq!(name("attachment; filename=\"../api\""), "");
        assert_eq!(name("attachment; filename=\"..\""), "");
        assert_eq!(name("attachment"), "");
    }

    #[test]
    fn ids_cannot_leave_their_path() {
        assert_eq!(profile_path("../labels?x"), "/api/v1/profiles/..%2Flabels%3Fx");
    }
}
