//! Limits on request bodies, once for all APIs: size (413, C025, C043), memory over all requests (503, D19), and what the
//! connection says of time (408, C102).
//!
//! A `Content-Length` over the limit is refused before a byte is read. Bodies without one are counted while they come
//! in and cut at the limit. The bytes stay claimed until the request has been answered. A body that breaks off or is
//! framed wrongly is told so in the shape of the API that was called, not in a web framework's words.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Request},
    response::Response,
};
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
    mut request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    if request.body().is_end_stream() {
        return answer(request).await;
    }
    DefaultBodyLimit::disable().apply(&mut request);
    let shape = ErrorShape::of(&request);
    let length = content_length(request.headers());
    if length.is_some_and(|length| length > limits::BODY_BYTES_MAX as u64) {
        return shape.render(too_large());
    }
    let claim = match state.memory.claim(0) {
        Ok(claim) => claim,
        Err(error) => return shape.render(error),
    };
    let count = Arc::new(Mutex::new(Count { bytes: 0, claim, error: None }));
    let counted = Arc::clone(&count);
    let request = request.map(|inner| Body::new(CountedBody { inner, count: counted }));
    let response = answer(request).await;
    // A reader that was cut off knows only that reading failed; the client is told why.
    match lock(&count).error.take() {
        Some(error) => shape.render(error),
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
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Err(error))) = &polled {
            lock(&self.count).error.get_or_insert_with(|| broken_off(error));
        }
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            let mut count = lock(&self.count);
            count.bytes = count.bytes.saturating_add(data.len());
            let bytes = count.bytes;
            let checked =
                if bytes > limits::BODY_BYTES_MAX { Err(too_large()) } else { count.claim.grow_to(bytes) };
            if let Err(error) = checked {
                count.error = Some(error.clone());
                return Poll::Ready(Some(Err(axum::Error::new(error))));
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
