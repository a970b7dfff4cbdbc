//! The web page: which path gets which file, with the headers that keep it safe and fresh.
//!
//! Files are those inside the program (`ui-assets`), or those of a folder (`--ui-dir`) for who works on the page. It is
//! served without the secret and before the store is open: it holds nothing of anybody, and all that it shows it asks
//! of the API, where the secret is wanted.
//!
//! It passes on whatever is neither a page nor a file of the page, and every method but GET and HEAD. Where then nobody
//! knows the path and a browser asked, the page says so, with status 404. Not here: what the page does (`ui/`).

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use api::NoSuchPath;
use axum::{
    body::Bytes,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use ui_assets::Asset;

use crate::{ServerError, limits};

/// Paths of pages; the page itself tells them apart. Paths of APIs never end like these.
const PAGES: [&str; 4] = ["", "explore", "status/ingest", "help"];

const INDEX: &str = "index.html";

/// What a program without the page answers.
const NOT_BUILT: &str = include_str!("ui/not_built.html");

/// Where the page's files are.
pub(crate) struct Ui {
    source: Source,
    /// `index.html` with its base written in, and its tag.
    index: Index,
    policy: HeaderValue,
    base_path: String,
}

enum Source {
    Embedded(BTreeMap<&'static str, &'static Asset>),
    Folder(PathBuf),
    NotBuilt,
}

struct Index {
    body: Bytes,
    tag: String,
}

/// Settings of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UiOptions {
    /// Serves this folder instead of what is inside the program.
    pub dir: Option<PathBuf>,
    /// Path below which a proxy shows this server, with a slash at both ends.
    pub base_path: String,
    /// Who may show the page in a frame, in the words of CSP.
    pub frame_ancestors: String,
}

impl Ui {
    /// Finds the page.
    pub fn new(options: &UiOptions) -> Result<Self, ServerError> {
        let source = match &options.dir {
            Some(folder) => Source::Folder(folder.clone()),
            None if ui_assets::HAVE_UI => {
                Source::Embedded(ui_assets::ASSETS.iter().map(|asset| (asset.path, asset)).collect())
            }
            None => Source::NotBuilt,
        };
        let index = match &source {
            Source::Embedded(assets) => assets.get(INDEX).map_or(&b""[..], |asset| asset.plain).to_vec(),
            Source::Folder(folder) => index_of(folder)?,
            Source::NotBuilt => NOT_BUILT.as_bytes().to_vec(),
        };
        // Everything comes from this server. Canvas pictures that are saved are blobs of the page itself.
        let policy = format!(
            "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'; \
             frame-ancestors {}",
            options.frame_ancestors
        );
        let policy = HeaderValue::try_from(policy)
            .map_err(|_| ServerError::Usage("--frame-ancestors is not plain text".to_owned()))?;
        let base_path = options.base_path.clone();
        Ok(Self { index: Index::new(&index, &base_path), source, policy, base_path })
    }

    /// The file of a path below the base; `None` where it is no part of the page.
    async fn find(&self, path: &str, headers: &HeaderMap) -> Option<Response> {
        if PAGES.contains(&path.strip_suffix('/').unwrap_or(path)) {
            return Some(self.index(headers).await);
        }
        match &self.source {
            Source::Embedded(assets) if path != INDEX => {
                assets.get(path).map(|asset| embedded(asset, headers))
            }
            Source::Folder(folder) if path != INDEX => from_folder(folder, path, headers).await,
            _ => None,
        }
    }

    /// The page for a path that is nobody's. It is no version of anything, so it has no tag.
    async fn no_such_page(&self) -> Response {
        let mut response = self.index(&HeaderMap::new()).await;
        *response.status_mut() = StatusCode::NOT_FOUND;
        response.headers_mut().remove(header::ETAG);
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        response
    }

    async fn index(&self, headers: &HeaderMap) -> Response {
        if let Source::Folder(folder) = &self.source {
            // Read anew: the folder is there for who changes it.
            let folder = folder.clone();
            let read = tokio::task::spawn_blocking(move || index_of(&folder)).await;
            if let Ok(Ok(text)) = read {
                return Index::new(&text, &self.base_path).answer(headers);
            }
        }
        self.index.answer(headers)
    }
}

impl Index {
    fn new(text: &[u8], base_path: &str) -> Self {
        let body = with_base(&String::from_utf8_lossy(text), base_path);
        Self { tag: tag_of(body.as_bytes()), body: body.into() }
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        answer(headers, &self.tag, "text/html; charset=utf-8", "no-cache", None, self.body.clone())
    }
}

/// Answers what belongs to the page and passes on the rest.
pub(crate) async fn serve<F: Future<Output = Response>>(
    ui: &Ui,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return answer(request).await;
    }
    let path = request.uri().path();
    let mut response = match ui.find(path.strip_prefix('/').unwrap_or(path), request.headers()).await {
        Some(response) => response,
        None => {
            let is_browser = lists(request.headers(), &header::ACCEPT, "text/html");
            let answered = answer(request).await;
            if !is_browser || answered.extensions().get::<NoSuchPath>().is_none() {
                return answered;
            }
            ui.no_such_page().await
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, ui.policy.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn index_of(folder: &Path) -> Result<Vec<u8>, ServerError> {
    std::fs::read(folder.join(INDEX))
        .map_err(|error| ServerError::Usage(format!("--ui-dir {}: {INDEX}: {error}", folder.display())))
}

/// Writes the base into the page, so that its relative links work on every page and below every proxy.
fn with_base(text: &str, base_path: &str) -> String {
    let base = format!("<base href=\"{base_path}\" />");
    if let Some(start) = text.find("<base ")
        && let Some(length) = text[start..].find('>')
    {
        return format!("{}{base}{}", &text[..start], &text[start + length + 1..]);
    }
    text.replacen("<head>", &format!("<head>{base}"), 1)
}

/// Whether a header such as `Accept` names a word and does not refuse it.
fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|text| text.split(',')).any(|item| {
        let (name, quality) = item.split_once(';').map_or((item, ""), |(name, rest)| (name, rest));
        name.trim().eq_ignore_ascii_case(word)
            && !matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

fn embedded(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let accepts = |word: &str| lists(headers, &header::ACCEPT_ENCODING, word);
    // A tiny file only grows by being packed.
    let smaller = |form: Option<&'static [u8]>| form.filter(|body| body.len() < asset.plain.len());
    let (encoding, body) = match (smaller(asset.brotli), smaller(asset.gzip)) {
        (Some(body), _) if accepts("br") => (Some("br"), body),
        (_, Some(body)) if accepts("gzip") => (Some("gzip"), body),
        _ => (None, asset.plain),
    };
    let tag = encoding.map_or_else(|| asset.tag.to_owned(), |encoding| format!("{}-{encoding}", asset.tag));
    // Names below assets/ hold a hash of what is in the file.
    let caching =
        if asset.path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut response =
        answer(headers, &tag, content_type(asset.path), caching, encoding, Bytes::from_static(body));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

async fn from_folder(folder: &Path, path: &str, headers: &HeaderMap) -> Option<Response> {
    let file = inside(folder, path)?;
    let read = move || {
        let length = std::fs::metadata(&file).ok().filter(std::fs::Metadata::is_file)?.len();
        if length > limits::UI_FILE_BYTES_MAX { None } else { std::fs::read(&file).ok() }
    };
    let body = tokio::task::spawn_blocking(read).await.ok()??;
    Some(answer(headers, &tag_of(&body), content_type(path), "no-cache", None, body.into()))
}

/// The place of a file below a folder; `None` for what would lead out of it, and for hidden files.
fn inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => name.to_str().is_some_and(|name| !name.starts_with('.')),
        _ => false,
    };
    let relative = Path::new(path);
    (!path.is_empty() && !path.contains(['\0', '\\', '%']) && relative.components().all(is_plain))
        .then(|| folder.join(relative))
}

fn answer(
    headers: &HeaderMap,
    tag: &str,
    content_type: &'static str,
    caching: &'static str,
    encoding: Option<&'static str>,
    body: Bytes,
) -> Response {
    let tag = format!("\"{tag}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_known =
        known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*");
    let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { body.into_response() };
    let mut set = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::try_from(text) {
            response.headers_mut().insert(name, value);
        }
    };
    set(header::ETAG, &tag);
    set(header::CACHE_CONTROL, caching);
    if !is_known {
        set(header::CONTENT_TYPE, content_type);
        if let Some(encoding) = encoding {
            set(header::CONTENT_ENCODING, encoding);
        }
    }
    response
}

/// A hash of a file's content (FNV-1a).
fn tag_of(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" | "webmanifest" => "application/json",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
