//! The one port: HTTP/1.1 and HTTP/2 without TLS, with limits on connections and slow clients (C102).
//!
//! [`serve`] accepts until it is told to stop, then lets requests under way end. Every connection is a task of one set,
//! so none outlives the server. Routes are not its business.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use http::{HeaderValue, Request, Response, Version, header};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::Instant,
};

use crate::{
    ConnectionLimits,
    activity::{RequestGuard, Watch, WatchedStream},
    body::{GuardedBody, LentBody, StallBody, read_rest},
    front::Front,
    limits,
    refusal::{self, Worded},
};

/// What a client beyond the limit of connections gets before it is cut.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-type: text/plain\r\n\
content-length: 21\r\nconnection: close\r\n\r\ntoo many connections\n";

/// The address of a client, put into each request's extensions.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub SocketAddr);

/// Counters of the listener.
#[derive(Debug, Default)]
pub struct ListenerStats {
    /// Connections open now.
    pub open: AtomicU64,
    /// Requests whose answer is not ready yet.
    pub requests: AtomicU64,
    /// Connections accepted.
    pub accepted: AtomicU64,
    /// Connections refused because there were too many.
    pub refused: AtomicU64,
    /// Connections cut because the client was too slow.
    pub cut: AtomicU64,
}

/// Serves until `stop` turns true, then waits for requests under way, at most `stop_timeout`. Returns how many
/// connections had to be cut then.
pub(crate) async fn serve(
    listener: TcpListener,
    front: Arc<Front>,
    limits: ConnectionLimits,
    stats: Arc<ListenerStats>,
    mut stop: watch::Receiver<bool>,
    stop_timeout: Duration,
) -> usize {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
            Some(_) = connections.join_next() => continue,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                continue;
            }
        };
        stats.accepted.fetch_add(1, Ordering::Relaxed);
        if connections.len() >= limits.connections_max {
            stats.refused.fetch_add(1, Ordering::Relaxed);
            refuse(stream);
            continue;
        }
        let connection = Connection { front: Arc::clone(&front), limits, stats: Arc::clone(&stats), address };
        connections.spawn(Arc::new(connection).run(stream, stop.clone()));
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(stop_timeout, all_ended).await.is_ok() {
        return 0;
    }
    let left = connections.len();
    connections.shutdown().await;
    left
}

/// Waits until the server is told to stop; whoever could tell is gone = stopped.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Says why and hangs up, without waiting for the client.
fn refuse(mut stream: TcpStream) {
    tokio::spawn(async move {
        let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(TOO_MANY)).await;
    });
}

struct Connection {
    front: Arc<Front>,
    limits: ConnectionLimits,
    stats: Arc<ListenerStats>,
    address: SocketAddr,
}

impl Connection {
    async fn run(self: Arc<Self>, stream: TcpStream, mut stop: watch::Receiver<bool>) {
        let _open = Counted::new(&self.stats.open);
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
        let watch = Watch::new();
        let io = TokioIo::new(Worded::new(WatchedStream::new(stream, watch.clone())));
        let service = {
            let (connection, watch) = (Arc::clone(&self), watch.clone());
            hyper::service::service_fn(move |request| Arc::clone(&connection).answer(request, watch.begin()))
        };
        let builder = builder(&self.limits);
        let connection = builder.serve_connection(io, service);
        tokio::pin!(connection);
        let mut stopping_since = None;
        loop {
            // While only the server is at work, look again later; nothing else changes the watch unseen for longer.
            let look_again = match stopping_since {
                None => self.limits.header_timeout,
                Some(_) => limits::STOP_IDLE,
            };
            let look_again = Instant::now() + look_again;
            let deadline = match watch.deadline(&self.limits, stopping_since) {
                Some(deadline) if stopping_since.is_none() => deadline,
                Some(deadline) => deadline.min(look_again),
                None => look_again,
            };
            tokio::select! {
                result = connection.as_mut() => {
                    if let Err(error) = result {
                        tracing::debug!(client = %self.address, %error, "connection ended");
                    }
                    return;
                }
                () = tokio::time::sleep_until(deadline) => {
                    let now = Instant::now();
                    if watch.deadline(&self.limits, stopping_since).is_some_and(|deadline| deadline <= now) {
                        self.stats.cut.fetch_add(1, Ordering::Relaxed);
                        tracing::debug!(client = %self.address, "slow or idle client cut");
                        return;
                    }
                }
                () = stopped(&mut stop), if stopping_since.is_none() => {
                    stopping_since = Some(Instant::now());
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        guard: RequestGuard,
    ) -> Result<Response<GuardedBody<Body>>, Infallible> {
        let stalled = Arc::new(AtomicBool::new(false));
        // HTTP/2 ends a stream alone. Who waits for `100 Continue` has not sent the body yet and need not.
        let is_http1 = request.version() < Version::HTTP_2;
        let is_kept = is_http1 && !request.headers().contains_key(header::EXPECT);
        let (head, body) = request.into_parts();
        let refused = refusal::of_long_head(&head);
        let (body, returned) =
            LentBody::new(StallBody::new(body, self.limits.body_timeout, Arc::clone(&stalled)));
        let mut request = Request::from_parts(head, Body::new(body));
        request.extensions_mut().insert(ClientAddress(self.address));
        let counted = Counted::new(&self.stats.requests);
        let mut response = match refused {
            Some(refused) => {
                drop(request);
                refused
            }
            None => self.front.answer(request).await,
        };
        drop(counted);
        if is_http1 && stalled.load(Ordering::Relaxed) {
            // The rest will not be waited for.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if is_kept {
            read_rest(&returned).await;
        }
        Ok(response.map(|body| GuardedBody::new(body, guard)))
    }
}

fn builder(limits: &ConnectionLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(limits::HTTP1_HEAD_MAX)
        // The watch has the finer rule; this one also ends connections that the watch takes for idle.
        .header_read_timeout(limits.idle_timeout.max(limits.header_timeout));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::HTTP2_STREAMS_MAX)
        .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW)
        .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW)
        .max_header_list_size(limits::HTTP2_HEADERS_MAX)
        .keep_alive_interval(limits::HTTP2_PING.0)
        .keep_alive_timeout(limits::HTTP2_PING.1);
    builder
}

/// Counts something while it lasts.
struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
