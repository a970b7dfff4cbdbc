//! A target for tests that does what its path says: answers, hangs, breaks off, redirects, floods.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, UnixListener},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::WebPkiClientVerifier,
    },
};

/// What the tests' certificates are called; see `testdata/recipe.sh`.
pub(crate) fn testdata(name: &str) -> String {
    format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A server of this test; it ends when dropped.
pub(crate) struct Fake {
    /// `127.0.0.1:PORT`, or the path of a socket.
    pub address: String,
    pub seen: Arc<Seen>,
    task: JoinHandle<()>,
}

/// What was asked.
#[derive(Default)]
pub(crate) struct Seen {
    requests: Mutex<Vec<String>>,
    open: AtomicUsize,
    open_most: AtomicUsize,
    changed: tokio::sync::Notify,
}

impl Seen {
    /// Requests that began with these words, as they came.
    pub(crate) fn requests(&self, beginning: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.starts_with(beginning)).cloned().collect()
    }

    /// Connections that are open now.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, mut is_so: impl FnMut(&Self) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if is_so(self) {
                    return;
                }
                // Not everything that is waited for is noticed here.
                let _ = tokio::time::timeout(std::time::Duration::from_millis(20), changed).await;
            }
        };
        assert!(
            tokio::time::timeout(std::time::Duration::from_secs(30), wait).await.is_ok(),
            "it never was so"
        );
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How a fake speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Plain,
    Tls,
    /// And wants a certificate of its clients.
    TlsBothWays,
}

impl Fake {
    pub(crate) async fn start(speaks: Speaks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Seen::default());
        let acceptor = (speaks != Speaks::Plain).then(|| acceptor(speaks));
        let kept = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (seen, acceptor) = (Arc::clone(&kept), acceptor.clone());
                connections.spawn(async move {
                    match acceptor {
                        None => serve(stream, seen).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, seen).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, seen, task }
    }

    pub(crate) async fn on_socket(path: &std::path::Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let seen = Arc::new(Seen::default());
        let kept = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, Arc::clone(&kept)));
            }
        });
        Self { address: path.display().to_string(), seen, task }
    }
}

fn acceptor(speaks: Speaks) -> TlsAcceptor {
    let certificate = |name: &str| CertificateDer::from_pem_file(testdata(name)).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = if speaks == Speaks::TlsBothWays {
        let mut roots = RootCertStore::empty();
        roots.add(certificate("authority.pem")).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivateKeyDer::from_pem_file(testdata("server.key")).unwrap();
    let config = builder.with_single_cert(vec![certificate("server.pem")], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

struct Open(Arc<Seen>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, seen: Arc<Seen>) {
    let open = seen.open.fetch_add(1, Ordering::SeqCst) + 1;
    seen.open_most.fetch_max(open, Ordering::SeqCst);
    let _open = Open(Arc::clone(&seen));
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let request = String::from_utf8(request).unwrap();
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.requests.lock().unwrap().push(format!("{target} {request}"));
    seen.changed.notify_waiters();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let _ = answer(&mut stream, path, query, &request).await;
    let _ = stream.shutdown().await;
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    path: &str,
    query: &str,
    request: &str,
) -> std::io::Result<()> {
    let whole = |status: &str, headers: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
    };
    let text = match path {
        "/404" => whole("404 Not Found", "", "404 page not found\n"),
        "/500" => {
            whole("500 Internal Server Error", "", "could not enable CPU profiling: already in use\n\u{7}")
        }
        "/204" => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
        "/empty" => whole("200 OK", "", ""),
        "/truncated" => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this".to_owned(),
        "/cut-chunk" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nonly this".to_owned(),
        "/garbage" => "SSH-2.0-OpenSSH_9.6\r\n".to_owned(),
        "/announced" => "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx".to_owned(),
        "/loop" => whole("302 Found", "Location: /loop\r\n", ""),
        "/nowhere" => whole("301 Moved Permanently", "", ""),
        "/redirect" => whole("307 Temporary Redirect", &format!("Location: {query}\r\n"), ""),
        "/old" => "HTTP/1.0 200 OK\r\n\r\nuntil the end".to_owned(),
        "/chunked" => {
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_owned()
        }
        "/request" => whole("200 OK", "", request),
        "/silent" => {
            // until the client goes
            let _ = stream.read_u8().await;
            return Ok(());
        }
        "/stalls" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome").await?;
            let _ = stream.read_u8().await;
            return Ok(());
        }
        "/huge" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            let chunk = [&b"10000\r\n"[..], &vec![b'x'; 0x1_0000], b"\r\n"].concat();
            loop {
                stream.write_all(&chunk).await?;
            }
        }
        _ => whole("200 OK", "", &format!("profile of {path}?{query}")),
    };
    stream.write_all(text.as_bytes()).await
}
