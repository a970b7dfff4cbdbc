//! Bodies of requests and answers with a clock beside them (C102).
//!
//! [`StallBody`] ends a request body with an error when it stands still, or when it trickles so slowly that it would
//! hold its memory for hours. [`LentBody`] comes back when whoever answers had no need of it; [`read_rest`] takes what is
//! left of it. [`GuardedBody`] keeps a request alive in the connection's watch until its answer is sent.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use api::BodyStalled;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, Sleep};

use crate::{activity::RequestGuard, limits};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request body that may not stand still.
pub(crate) struct StallBody<B> {
    body: B,
    timeout: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    begun: Option<Instant>,
    received: usize,
    stalled: Arc<AtomicBool>,
}

impl<B> StallBody<B> {
    /// Wraps a body; `stalled` is set when it was cut.
    pub(crate) fn new(body: B, timeout: Duration, stalled: Arc<AtomicBool>) -> Self {
        Self { body, timeout, sleep: None, begun: None, received: 0, stalled }
    }

    /// When the next piece must be there: the body may not stand still, nor trickle.
    fn deadline(&self, begun: Instant, now: Instant) -> Instant {
        let kib = u32::try_from(self.received >> 10).unwrap_or(u32::MAX);
        let whole = begun + self.timeout + Duration::from_millis(u64::from(kib) * limits::MILLIS_PER_KIB);
        whole.min(now + self.timeout)
    }
}

impl<B> Body for StallBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.sleep = None;
            if let Some(Ok(frame)) = &frame {
                this.received += frame.data_ref().map_or(0, Bytes::len);
            }
            return Poll::Ready(frame.map(|result| result.map_err(Into::into)));
        }
        if this.sleep.is_none() {
            let now = Instant::now();
            let begun = *this.begun.get_or_insert(now);
            let deadline = this.deadline(begun, now);
            this.sleep = Some(Box::pin(tokio::time::sleep_until(deadline)));
        }
        if let Some(sleep) = &mut this.sleep
            && sleep.as_mut().poll(context).is_ready()
        {
            this.stalled.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err(Box::new(BodyStalled))));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Where a body comes back to.
type Returned<B> = Arc<Mutex<Option<B>>>;

/// A request body that comes back when it is dropped, unless it was read to its end or broke off.
pub(crate) struct LentBody<B> {
    body: Option<B>,
    returned: Returned<B>,
}

impl<B> LentBody<B> {
    /// The body to hand on, and the place to which it comes back.
    pub(crate) fn new(body: B) -> (Self, Returned<B>) {
        let returned = Returned::default();
        (Self { body: Some(body), returned: Arc::clone(&returned) }, returned)
    }
}

impl<B> Drop for LentBody<B> {
    fn drop(&mut self) {
        *self.returned.lock().unwrap_or_else(PoisonError::into_inner) = self.body.take();
    }
}

impl<B: Body + Unpin> Body for LentBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

/// Reads and forgets what a request that is answered already has left of its body, as far as that is worth a connection.
///
/// An HTTP/1.1 connection with an unread body is closed after the answer. A client that keeps connections may send its
/// next request before it sees that, and is told that the server hung up, often without trying again.
pub(crate) async fn read_rest<B: Body<Data = Bytes> + Unpin>(returned: &Returned<B>) {
    let body = returned.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut body) = body.filter(|body| !body.is_end_stream()) else { return };
    if body.size_hint().lower() > limits::REST_BYTES_MAX {
        return;
    }
    let all = async {
        let mut rest = limits::REST_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len) as u64;
            let Some(left) = rest.checked_sub(length) else { return };
            rest = left;
        }
    };
    // Too slow: the connection is closed, as it would be without this.
    let _ = tokio::time::timeout(limits::REST_TIMEOUT, all).await;
}

/// A body of an answer that keeps its request's guard until it is sent.
pub(crate) struct GuardedBody<B> {
    body: B,
    _guard: RequestGuard,
}

impl<B> GuardedBody<B> {
    pub(crate) fn new(body: B, mut guard: RequestGuard) -> Self {
        guard.answer();
        Self { body, _guard: guard }
    }
}

impl<B: Body + Unpin> Body for GuardedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Full, StreamBody};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn body(received: usize) -> StallBody<()> {
        let mut body = StallBody::new((), TIMEOUT, Arc::default());
        body.received = received;
        body
    }

    #[test]
    fn c102_a_body_may_neither_stand_still_nor_trickle() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(body(0).deadline(begun, begun), after(30));
        assert_eq!(body(20).deadline(begun, after(25)), after(30), "a few bytes gain no time");
        assert_eq!(body(1 << 20).deadline(begun, after(25)), after(55), "a steady body may go on");
    }

    #[tokio::test]
    async fn c102_a_body_that_stands_still_ends_with_an_error() {
        let stalled = Arc::new(AtomicBool::new(false));
        let never = StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, BoxError>>());
        let body = StallBody::new(never, Duration::from_millis(10), Arc::clone(&stalled));
        assert!(body.collect().await.unwrap_err().is::<BodyStalled>());
        assert!(stalled.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn a_body_that_nobody_read_comes_back_and_one_that_was_read_does_not() {
        let (lent, returned) = LentBody::new(Full::new(Bytes::from("unread")));
        drop(lent);
        assert!(!returned.lock().unwrap().as_ref().unwrap().is_end_stream());
        read_rest(&returned).await;
        assert!(returned.lock().unwrap().is_none());

        let (lent, returned) = LentBody::new(Full::new(Bytes::from("read")));
        assert_eq!(lent.collect().await.unwrap().to_bytes(), "read");
        assert!(returned.lock().unwrap().is_none());
    }
}
