//! What a connection is doing, and until when it may go on doing it (C102).
//!
//! The HTTP library's own header time-out starts only once it knows whether the connection speaks HTTP/1 or HTTP/2, so
//! a client that sends nothing would be held for ever, and it counts the pause between two requests as a header that
//! does not come. Here a watch stands beside each connection: [`WatchedStream`] notes when bytes come and go,
//! [`Watch::begin`] notes requests, and [`Watch::deadline`] says when to cut.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

use crate::{ConnectionLimits, limits::STOP_IDLE};

/// The first bytes of every HTTP/2 connection begin with this.
const HTTP2_PREFACE_START: &[u8] = b"PRI ";

/// Watches one connection. Clones are the same watch.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// No request is under way since then.
    idle_since: Instant,
    /// First byte since the last request ended: a header is on its way.
    header_since: Option<Instant>,
    /// Requests that have begun and whose answer is not sent yet.
    in_flight: usize,
    /// Of these, requests whose answer is being sent.
    answering: usize,
    /// When bytes last went out, or an answer began.
    last_progress: Instant,
    /// Bytes are waiting to go out since then and the client's window is full. An answer that is small enough lies in
    /// our buffers by then, so the request itself is over.
    blocked_since: Option<Instant>,
    /// Whether any request was ever received.
    has_served: bool,
    /// Whether the connection speaks HTTP/2; known after the first byte.
    http2: Option<bool>,
}

impl State {
    fn new(now: Instant) -> Self {
        Self {
            idle_since: now,
            header_since: None,
            in_flight: 0,
            answering: 0,
            last_progress: now,
            blocked_since: None,
            has_served: false,
            http2: None,
        }
    }

    fn deadline(&self, limits: &ConnectionLimits, stopping_since: Option<Instant>) -> Option<Instant> {
        if let Some(since) = self.blocked_since {
            return Some(since + limits.body_timeout);
        }
        if self.answering > 0 {
            return Some(self.last_progress + limits.body_timeout);
        }
        if self.in_flight > 0 {
            return None;
        }
        // The library ends idle HTTP/1 connections itself; one of HTTP/2 it asks first, and waits for an answer.
        if let Some(since) = stopping_since.filter(|_| self.http2 == Some(true)) {
            return Some(self.idle_since.max(since) + STOP_IDLE);
        }
        if !self.has_served {
            return Some(self.idle_since + limits.header_timeout);
        }
        // Pings and settings of HTTP/2 come between requests; only time without a request counts there.
        match self.header_since {
            Some(since) if self.http2 != Some(true) => Some(since + limits.header_timeout),
            _ => Some(self.idle_since + limits.idle_timeout),
        }
    }

    fn begin(&mut self) {
        self.in_flight += 1;
        self.has_served = true;
        self.header_since = None;
    }

    fn answer(&mut self, now: Instant) {
        self.answering += 1;
        self.last_progress = now;
    }

    fn end(&mut self, now: Instant, was_answering: bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.answering = self.answering.saturating_sub(usize::from(was_answering));
        if self.in_flight == 0 {
            self.idle_since = now;
        }
    }

    fn wrote(&mut self, now: Instant, is_taken: bool) {
        if is_taken {
            self.last_progress = now;
            self.blocked_since = None;
        } else {
            self.blocked_since.get_or_insert(now);
        }
    }

    fn received(&mut self, now: Instant, bytes: &[u8]) {
        if self.http2.is_none() && !bytes.is_empty() {
            let length = bytes.len().min(HTTP2_PREFACE_START.len());
            self.http2 = Some(bytes[..length] == HTTP2_PREFACE_START[..length]);
        }
        if self.in_flight == 0 && self.header_since.is_none() {
            self.header_since = Some(now);
        }
    }
}

impl Watch {
    /// A connection that was accepted now.
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State::new(Instant::now()))) }
    }

    /// When the connection is to be cut if nothing happens until then; `None` while only the server is at work, or
    /// while the body's own clock runs. `stopping_since` = since when the server stops.
    pub(crate) fn deadline(
        &self,
        limits: &ConnectionLimits,
        stopping_since: Option<Instant>,
    ) -> Option<Instant> {
        self.lock().deadline(limits, stopping_since)
    }

    /// Notes that a request's header is complete. The request lasts until the guard is dropped.
    pub(crate) fn begin(&self) -> RequestGuard {
        self.lock().begin();
        RequestGuard { watch: self.clone(), is_answering: false }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain numbers: a panic elsewhere cannot have left them half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request, from its header until its answer is sent or given up.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    watch: Watch,
    is_answering: bool,
}

impl RequestGuard {
    /// Notes that the answer begins: from now on the client must read it.
    pub(crate) fn answer(&mut self) {
        if !self.is_answering {
            self.is_answering = true;
            self.watch.lock().answer(Instant::now());
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.watch.lock().end(Instant::now(), self.is_answering);
    }
}

/// A stream that tells its watch of bytes that come and go.
#[derive(Debug)]
pub(crate) struct WatchedStream<S> {
    stream: S,
    watch: Watch,
}

impl<S> WatchedStream<S> {
    pub(crate) fn new(stream: S, watch: Watch) -> Self {
        Self { stream, watch }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let received = &buffer.filled()[before..];
        if !received.is_empty() {
            self.watch.lock().received(Instant::now(), received);
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S> WatchedStream<S> {
    fn note(&self, result: &Poll<io::Result<usize>>) {
        self.watch.lock().wrote(Instant::now(), result.is_ready());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        header_timeout: Duration::from_secs(10),
        body_timeout: Duration::from_secs(30),
        idle_timeout: Duration::from_secs(300),
        connections_max: 1,
    };

    /// Seconds from `start` until the connection is cut.
    fn cut_after(state: &State, start: Instant) -> Option<u64> {
        state.deadline(&LIMITS, None).map(|deadline| (deadline - start).as_secs())
    }

    #[test]
    fn c102_a_client_that_sends_nothing_has_the_header_time() {
        let start = Instant::now();
        let mut state = State::new(start);
        assert_eq!(cut_after(&state, start), Some(10));
        state.received(start + Duration::from_secs(4), b"G");
        state.received(start + Duration::from_secs(9), b"E");
        assert_eq!(cut_after(&state, start), Some(10), "a byte now and then gains no time");
    }

    #[test]
    fn a_pause_between_requests_may_be_longer_than_a_header() {
        let start = Instant::now();
        let mut state = State::new(start);
        state.begin();
        state.end(start + Duration::from_secs(1), false);
        assert_eq!(cut_after(&state, start), Some(301));
        state.received(start + Duration::from_secs(100), b"GET ");
        state.received(start + Duration::from_secs(105), b"/");
        assert_eq!(cut_after(&state, start), Some(110));
    }

    #[test]
    fn the_server_may_take_its_time_and_the_reader_may_not() {
        let start = Instant::now();
        let mut state = State::new(start);
        state.begin();
        assert_eq!(cut_after(&state, start), None);
        state.answer(start + Duration::from_secs(50));
        assert_eq!(cut_after(&state, start), Some(80));
        state.wrote(start + Duration::from_secs(70), true);
        assert_eq!(cut_after(&state, start), Some(100));
        state.end(start + Duration::from_secs(71), true);
        assert_eq!(cut_after(&state, start), Some(371));
    }

    #[test]
    fn c102_bytes_that_nobody_reads_are_not_kept_for_the_idle_time() {
        let start = Instant::now();
        let mut state = State::new(start);
        state.begin();
        state.answer(start);
        state.wrote(start + Duration::from_secs(1), false);
        state.end(start + Duration::from_secs(1), true);
        assert_eq!(cut_after(&state, start), Some(31));
        state.wrote(start + Duration::from_secs(20), false);
        assert_eq!(cut_after(&state, start), Some(31));
        state.wrote(start + Duration::from_secs(21), true);
        assert_eq!(cut_after(&state, start), Some(301));
    }

    #[test]
    fn pings_of_http2_are_no_header() {
        let start = Instant::now();
        let mut state = State::new(start);
        state.received(start, b"PRI * HTTP/2.0\r\n");
        assert_eq!(cut_after(&state, start), Some(10), "no request yet");
        state.begin();
        state.end(start, true);
        state.received(start + Duration::from_secs(60), &[0, 0, 8, 6]);
        assert_eq!(cut_after(&state, start), Some(300));
    }

    #[test]
    fn a_stop_waits_for_requests_and_not_for_idle_http2_clients() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut state = State::new(start);
        state.received(start, b"PRI * HTTP/2.0\r\n");
        state.begin();
        assert_eq!(state.deadline(&LIMITS, Some(after(5))), None);
        state.end(after(3), true);
        assert_eq!(state.deadline(&LIMITS, Some(after(5))), Some(after(5) + STOP_IDLE));
        assert_eq!(state.deadline(&LIMITS, Some(after(1))), Some(after(3) + STOP_IDLE));
        state.http2 = Some(false);
        assert_eq!(state.deadline(&LIMITS, Some(after(5))), state.deadline(&LIMITS, None));
    }
}
