//! How much all answers together may hold that are not sent yet (503, D19).
//!
//! An answer lies in memory until its client has read it, and a client that does not read has half a minute for that: thirty
//! that asked for all nodes of a large graph held 450 MB. What is counted are the bytes themselves, not the body that they
//! come from: the HTTP library takes a whole answer out of its body before it sends the first byte. The answers are
//! counted apart from requests, so that nobody who reads slowly keeps a push out.
//!
//! Small answers are not counted. An answer larger than the whole budget gets all of it. Not here: how long a client may
//! take to read (`server`).

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;

use crate::{ApiError, Budget, Claim, ErrorShape, body::plus, limits};

/// Frames that are looked at before an answer goes out: an envelope, a message, trailers.
const FRAMES_MAX: usize = 3;

/// Claims what an answer holds; where others hold too much, the answer is 503 instead.
pub(crate) async fn held(budget: &Budget, shape: ErrorShape, response: Response) -> Response {
    let is_small = |bytes: u64| bytes < limits::ANSWER_BYTES_FREE as u64;
    if response.body().size_hint().upper().is_some_and(is_small) {
        return response;
    }
    let (head, mut rest) = response.into_parts();
    let mut frames = VecDeque::new();
    while frames.len() < FRAMES_MAX
        && let Some(frame) = rest.frame().await
    {
        match frame.map(|frame| counted(budget, frame)) {
            Ok(Ok(frame)) => frames.push_back(Ok(frame)),
            Ok(Err(error)) => return shape.render(error),
            Err(error) => frames.push_back(Err(error)),
        }
    }
    Response::from_parts(head, Body::new(Begun { frames, rest }))
}

/// The frame, with a claim that ends with the last of its bytes.
fn counted(budget: &Budget, frame: Frame<Bytes>) -> Result<Frame<Bytes>, ApiError> {
    let bytes = frame.data_ref().map_or(0, Bytes::len);
    if bytes < limits::ANSWER_BYTES_FREE {
        return Ok(frame);
    }
    let claim = budget.claim(bytes.min(budget.limit())).map_err(|_| {
        let message =
            format!("answers that are not read yet hold {} of {} bytes", budget.used(), budget.limit());
        ApiError::unavailable(message, limits::RETRY_AFTER_SECONDS)
    })?;
    Ok(frame.map_data(|bytes| Bytes::from_owner(Claimed { bytes, _claim: claim })))
}

/// Bytes and their claim.
struct Claimed {
    bytes: Bytes,
    _claim: Claim,
}

impl AsRef<[u8]> for Claimed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body of which some frames were looked at.
struct Begun {
    frames: VecDeque<Result<Frame<Bytes>, axum::Error>>,
    rest: Body,
}

impl HttpBody for Begun {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.frames.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let data = self.frames.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        let here = data.map(Bytes::len).sum::<usize>() as u64;
        plus(self.rest.size_hint(), here)
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};
    use http_body_util::StreamBody;

    use super::*;

    const LARGE: usize = 60_000;

    async fn answer(budget: &Budget, body: Body) -> Response {
        held(budget, ErrorShape::Native, Response::new(body)).await
    }

    #[tokio::test]
    async fn an_answer_counts_until_its_bytes_are_gone() {
        let budget = Budget::new(100_000);
        let response = answer(&budget, vec![7; LARGE].into()).await;
        assert_eq!(response.body().size_hint().exact(), Some(LARGE as u64));
        // As the HTTP library does it: the body is gone, the bytes are not.
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((bytes.len(), budget.used()), (LARGE, LARGE));
        let refused = answer(&budget, vec![7; LARGE].into()).await;
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
        assert_eq!(answer(&budget, "small".into()).await.status(), 200);
        let sent = bytes.slice(LARGE - 1..);
        drop(bytes);
        assert_eq!(budget.used(), LARGE, "its last byte is not sent");
        drop(sent);
        assert_eq!(budget.used(), 0);
        let larger_than_all = answer(&budget, vec![7; 200_000].into()).await;
        assert_eq!((larger_than_all.status().as_u16(), budget.used()), (200, 100_000));
    }

    #[tokio::test]
    async fn messages_behind_an_envelope_count_and_trailers_stay() {
        let budget = Budget::new(100_000);
        let trailers = HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("x"))]);
        let frames = [
            Frame::data(Bytes::from_static(&[0; 5])),
            Frame::data(vec![1; LARGE].into()),
            Frame::trailers(trailers.clone()),
        ];
        let stream = futures::stream::iter(frames.map(Ok::<_, axum::Error>));
        let response = answer(&budget, Body::new(StreamBody::new(stream))).await;
        assert_eq!(budget.used(), LARGE);
        let collected = response.into_body().collect().await.unwrap();
        assert_eq!(collected.trailers(), Some(&trailers));
        assert_eq!(collected.to_bytes(), [vec![0; 5], vec![1; LARGE]].concat());
        assert_eq!(budget.used(), 0);
    }
}
