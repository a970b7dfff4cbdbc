//! Limits on request bodies, once for all APIs: size (413, C025, C043), memory over all requests (503, D19), and what the
//! connection says of time (408, C102).
//!
//! A `Content-Length` over the limit is refused before a byte is read. Bodies without one are counted while they come
//! in and cut at the limit. The bytes stay claimed until the request has been answered. A body that breaks off or is
//! framed wrongly is told so in the shape of the API that was called, not in a web framework's words.
//!
//! A body in pieces of a byte is put together here: whoever reads it keeps its pieces until it is whole, which took 33
//! times the bytes that were claimed for it.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Request},
    response::Response,
};
use bytes::BytesMut;
use http::{HeaderMap, header};
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::{ApiError, ApiState, Claim, ErrorKind, ErrorShape, limits};

/// The error with which whoever serves a connection ends a request body that comes too slowly.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the request body came too slowly")]
pub struct BodyStalled;

/// Puts the limits around what answers a request.
pub(crate) async fn limited<F: Future<Output = Response>>(
    state: &ApiState,
    shape: &ErrorShape,
    mut request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    if request.body().is_end_stream() {
        return answer(request).await;
    }
    DefaultBodyLimit::disable().apply(&mut request);
    let length = content_length(request.headers());
    if length.is_some_and(|length| length > limits::BODY_BYTES_MAX as u64) {
        return shape.clone().render(too_large());
    }
    let claim = match state.memory.claim(0) {
        Ok(claim) => claim,
        Err(error) => return shape.clone().render(error),
    };
    let count = Arc::new(Mutex::new(Count { bytes: 0, claim, error: None }));
    let counted = Arc::clone(&count);
    let request = request.map(|inner| Body::new(CountedBody::new(inner, counted)));
    let response = answer(request).await;
    // A reader that was cut off knows only that reading failed; the client is told why.
    match lock(&count).error.take() {
        Some(error) => shape.clone().render(error),
        None => response,
    }
}

fn too_large() -> ApiError {
    ApiError::new(
        ErrorKind::TooLarge,
        "body",
        format!("the request body is larger than the limit of {} bytes", limits::BODY_BYTES_MAX),
    )
}

/// Why a body could not be read to its end.
fn broken_off(error: &axum::Error) -> ApiError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if cause.is::<BodyStalled>() {
        return ApiError::new(ErrorKind::Timeout, "body", BodyStalled.to_string());
    }
    ApiError::new(ErrorKind::Malformed, "body", format!("could not be read to its end: {cause}"))
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

struct Count {
    bytes: usize,
    claim: Claim,
    error: Option<ApiError>,
}

fn lock(count: &Mutex<Count>) -> MutexGuard<'_, Count> {
    count.lock().unwrap_or_else(PoisonError::into_inner)
}

struct CountedBody {
    inner: Body,
    count: Arc<Mutex<Count>>,
    /// Small pieces that came one after the other.
    gathered: BytesMut,
    /// What came behind them, and waits until they are handed on.
    held: Option<Frame<Bytes>>,
    is_ended: bool,
}

impl CountedBody {
    fn new(inner: Body, count: Arc<Mutex<Count>>) -> Self {
        Self { inner, count, gathered: BytesMut::new(), held: None, is_ended: false }
    }

    /// Counts a piece, or says why it is one too many.
    fn count(&self, frame: &Frame<Bytes>) -> Result<(), axum::Error> {
        let Some(data) = frame.data_ref() else { return Ok(()) };
        let mut count = lock(&self.count);
        count.bytes = count.bytes.saturating_add(data.len());
        let bytes = count.bytes;
        let checked =
            if bytes > limits::BODY_BYTES_MAX { Err(too_large()) } else { count.claim.grow_to(bytes) };
        checked.map_err(|error| {
            count.error = Some(error.clone());
            axum::Error::new(error)
        })
    }

    /// Puts a small piece to others; gives back what is to be handed on as it is.
    fn gather(&mut self, frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(trailers) => return Some(trailers),
        };
        // The one piece of most bodies need not be copied.
        let is_all = self.gathered.is_empty() && self.inner.is_end_stream();
        if is_all || data.len() >= limits::BODY_PIECE_BYTES_MIN {
            return Some(Frame::data(data));
        }
        self.gathered.extend_from_slice(&data);
        None
    }

    fn take_gathered(&mut self) -> Frame<Bytes> {
        Frame::data(std::mem::take(&mut self.gathered).freeze())
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let Some(frame) = this.held.take() {
            return Poll::Ready(Some(Ok(frame)));
        }
        while !this.is_ended {
            let frame = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    lock(&this.count).error.get_or_insert_with(|| broken_off(&error));
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    this.is_ended = true;
                    break;
                }
            };
            if let Err(error) = this.count(&frame) {
                return Poll::Ready(Some(Err(error)));
            }
            match this.gather(frame) {
                Some(frame) if this.gathered.is_empty() => return Poll::Ready(Some(Ok(frame))),
                Some(frame) => this.held = Some(frame),
                None if this.gathered.len() < limits::BODY_GATHERED_BYTES => continue,
                None => {}
            }
            return Poll::Ready(Some(Ok(this.take_gathered())));
        }
        if this.gathered.is_empty() { Poll::Ready(None) } else { Poll::Ready(Some(Ok(this.take_gathered()))) }
    }

    fn is_end_stream(&self) -> bool {
        self.gathered.is_empty() && self.held.is_none() && (self.is_ended || self.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.held.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len);
        let here = (self.gathered.len() + held) as u64;
        plus(self.inner.size_hint(), here)
    }
}

/// What a body may still hold, with bytes that were taken out of it already and wait.
pub(crate) fn plus(rest: SizeHint, waiting: u64) -> SizeHint {
    let mut hint = SizeHint::new();
    if let Some(upper) = rest.upper() {
        hint.set_upper(upper.saturating_add(waiting));
    }
    hint.set_lower(rest.lower().saturating_add(waiting));
    hint
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use http::HeaderValue;
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    /// A body that comes in these pieces, then trailers where there are any.
    fn counted(pieces: Vec<Vec<u8>>, trailers: Option<HeaderMap>) -> CountedBody {
        let data = pieces.into_iter().map(|piece| Frame::data(Bytes::from(piece)));
        let frames = data.chain(trailers.map(Frame::trailers)).map(Ok::<_, axum::Error>);
        let stream = futures::stream::iter(frames.collect::<Vec<_>>());
        let claim = crate::Budget::new(1 << 30).claim(0).unwrap();
        let count = Arc::new(Mutex::new(Count { bytes: 0, claim, error: None }));
        CountedBody::new(Body::new(StreamBody::new(stream)), count)
    }

    #[tokio::test]
    async fn pieces_of_a_byte_are_put_together() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
        let body = counted(bytes.iter().map(|&byte| vec![byte]).collect(), None);
        let count = Arc::clone(&body.count);
        let frames: Vec<Bytes> = body.into_data_stream().map(Result::unwrap).collect().await;
        assert_eq!(frames.len(), 100_000_usize.div_ceil(limits::BODY_GATHERED_BYTES));
        assert_eq!((frames.concat(), lock(&count).bytes), (bytes, 100_000));
    }

    #[tokio::test]
    async fn pieces_of_all_sizes_and_trailers_keep_their_order() {
        let large = limits::BODY_PIECE_BYTES_MIN;
        let sizes = [1, large, large, 3, 0, 7, large - 1, large + 1, 1, 1];
        let pieces: Vec<Vec<u8>> = (0..).zip(sizes).map(|(number, size)| vec![number; size]).collect();
        let trailers = HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("x"))]);
        let all = pieces.concat();
        let mut body = counted(pieces, Some(trailers.clone()));
        let mut read = Vec::new();
        let mut last = None;
        while let Some(frame) = body.frame().await {
            assert!(last.is_none(), "trailers come last");
            match frame.unwrap().into_data() {
                Ok(data) => read.extend_from_slice(&data),
                Err(frame) => last = frame.into_trailers().ok(),
            }
        }
        assert_eq!((read, last), (all, Some(trailers)));
        assert!(body.is_end_stream() && body.frame().await.is_none());
    }

    #[tokio::test]
    async fn what_waits_is_part_of_the_size() {
        let mut body = counted(vec![vec![1; 10], vec![2; limits::BODY_PIECE_BYTES_MIN]], None);
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap().len(), 10);
        assert!(!body.is_end_stream());
        assert_eq!(body.size_hint().lower(), limits::BODY_PIECE_BYTES_MIN as u64);
    }
}
