//! What the HTTP/1.1 library refuses by itself, in words (C089).
//!
//! A request that cannot be read, or whose URL or head is too long, never becomes one: the library answers it with a bare
//! status and hangs up, and whoever sent a selector of a megabyte is told nothing. [`Worded`] stands between the library
//! and the socket, knows these answers by their form (an error, no body, the connection closes) and puts a sentence in.
//! Then it reads on for a while what the client is still sending, without which the system would take the answer back.
//!
//! The library looks at lengths only between two reads: of a head that is too long it noticed one or another thing, or
//! nothing, as the reads happened to fall. So the length of the URL is counted here while it comes in, and a whole head is
//! measured again by [`of_long_head`]: the same request always gets the same answer.
//!
//! Not here: answers of routes, which have words of their own and pass unchanged; HTTP/2, whose library answers alike but
//! in frames; time limits (`activity`).

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use http::{HeaderValue, Method, Response, StatusCode, Uri, Version, header, request};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{HTTP1_HEAD_MAX, HTTP1_HEADERS_MAX, HTTP1_URL_MAX, REFUSED_BYTES_MAX};

/// The refusal of an HTTP/1.1 request whose head is longer than the limit, as most clients write it: one space behind the
/// colon of a header.
pub(crate) fn of_long_head(head: &request::Parts) -> Option<Response<Body>> {
    if head.version >= Version::HTTP_2 || head_bytes(&head.method, &head.uri, &head.headers) <= HTTP1_HEAD_MAX
    {
        return None;
    }
    let mut response = Response::new(Body::from(body_of(&too_long())));
    *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Some(response)
}

/// Bytes of a head with the empty line behind it.
fn head_bytes(method: &Method, uri: &Uri, headers: &http::HeaderMap) -> usize {
    let host = match (uri.scheme_str(), uri.authority()) {
        (Some(scheme), Some(authority)) => scheme.len() + "://".len() + authority.as_str().len(),
        (_, Some(authority)) => authority.as_str().len(),
        _ => 0,
    };
    let target = host + uri.path_and_query().map_or(0, |path| path.as_str().len());
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + ": \r\n".len() + value.len());
    method.as_str().len() + " ".len() + target + " HTTP/1.1\r\n".len() + lines.sum::<usize>() + "\r\n".len()
}

fn too_long() -> String {
    format!(
        "a URL has at most {HTTP1_URL_MAX} bytes, and all headers with it at most {HTTP1_HEAD_MAX}, in at most \
         {HTTP1_HEADERS_MAX} headers; a longer question goes in the body of a POST, such as those of querier.v1"
    )
}

fn body_of(sentence: &str) -> String {
    format!("{{\"code\":\"invalid_argument\",\"message\":\"{sentence}\",\"field\":\"\"}}\n")
}

/// A stream whose bare refusals get a sentence.
#[derive(Debug)]
pub(crate) struct Worded<S> {
    stream: S,
    refusal: Option<Refusal>,
    target: Target,
}

/// The URL of the request that comes in, as far as it has come. Behind answers that were not waited for it may be another
/// line that is counted, which only decides between two words for too much.
#[derive(Clone, Copy, Debug, Default)]
struct Target {
    part: Part,
    bytes: usize,
}

/// Which part of a head comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Before,
    Method,
    Url,
    Rest,
}

impl Target {
    /// Takes in what was read.
    fn read(&mut self, mut bytes: &[u8]) {
        while let Some(&first) = bytes.first() {
            match self.part {
                // Empty lines before a request are skipped by the library too.
                Part::Before if matches!(first, b'\r' | b'\n') => bytes = &bytes[1..],
                Part::Before => self.part = Part::Method,
                Part::Method | Part::Url => {
                    let end = bytes.iter().position(|byte| matches!(byte, b' ' | b'\n'));
                    let length = end.unwrap_or(bytes.len());
                    let is_url = self.part == Part::Url;
                    self.bytes += if is_url { length } else { 0 };
                    let Some(end) = end else { return };
                    self.part = if is_url || bytes[end] == b'\n' { Part::Rest } else { Part::Url };
                    bytes = &bytes[end + 1..];
                }
                Part::Rest => return,
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.bytes > HTTP1_URL_MAX
    }
}

#[derive(Debug)]
struct Refusal {
    answer: Vec<u8>,
    sent: usize,
    /// Whether our half of the connection is closed, so that the client can see the end of the answer.
    is_ended: bool,
    /// What may still be read and thrown away, bytes.
    left: usize,
}

impl Refusal {
    /// `None` where the bytes are no bare refusal. `target` is of the request that is refused.
    fn of(bytes: &[u8], target: Target) -> Option<Self> {
        let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
        let sentence = match status {
            b"400" => "this is no HTTP/1.1 request that can be read; in a URL, spaces and quotes are written as %20 and %22 \
                       (curl does it with --get --data-urlencode)"
                .to_owned(),
            b"414" | b"431" => too_long(),
            _ => return None,
        };
        let head = std::str::from_utf8(bytes.strip_suffix(b"\r\n\r\n")?).ok()?;
        let mut lines = head.split("\r\n");
        let mut status_line = lines.next()?;
        let has = |wanted: &str| head.split("\r\n").any(|line| line.eq_ignore_ascii_case(wanted));
        if !has("content-length: 0") || !has("connection: close") {
            return None;
        }
        if status == b"431" && target.is_too_long() {
            status_line = "HTTP/1.1 414 URI Too Long";
        }
        let body = body_of(&sentence);
        let answer = format!(
            "{status_line}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Some(Self { answer: answer.into_bytes(), sent: 0, is_ended: false, left: REFUSED_BYTES_MAX })
    }
}

impl<S> Worded<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, refusal: None, target: Target::default() }
    }
}

impl<S: AsyncWrite + Unpin> Worded<S> {
    /// Sends the words in place of `bare`, all of which then count as sent.
    fn refuse(&mut self, context: &mut Context<'_>, bare: &[u8]) -> Option<Poll<io::Result<usize>>> {
        if self.refusal.is_none() {
            self.refusal = Refusal::of(bare, self.target);
            // What is read from now on is of the next request.
            self.target = Target::default();
        }
        let refusal = self.refusal.as_mut()?;
        while refusal.sent < refusal.answer.len() {
            match Pin::new(&mut self.stream).poll_write(context, &refusal.answer[refusal.sent..]) {
                Poll::Ready(Ok(0)) => return Some(Poll::Ready(Err(io::ErrorKind::WriteZero.into()))),
                Poll::Ready(Ok(sent)) => refusal.sent += sent,
                Poll::Ready(Err(error)) => return Some(Poll::Ready(Err(error))),
                Poll::Pending => return Some(Poll::Pending),
            }
        }
        Some(Poll::Ready(Ok(bare.len())))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Worded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.target.read(&buffer.filled()[before..]);
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Worded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.refuse(context, bytes) {
            Some(refused) => refused,
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A bare refusal is the only thing in its buffer.
        let refused = match slices {
            [only] => self.refuse(context, only),
            _ => None,
        };
        match refused {
            Some(refused) => refused,
            None => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(refusal) = &mut this.refusal else {
            return Pin::new(&mut this.stream).poll_shutdown(context);
        };
        if !refusal.is_ended {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            refusal.is_ended = true;
        }
        let mut thrown_away = [0; 8 << 10];
        while refusal.left > 0 {
            let mut buffer = ReadBuf::new(&mut thrown_away);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer))?;
            let read = buffer.filled().len();
            refusal.left = if read == 0 { 0 } else { refusal.left.saturating_sub(read) };
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_refusals_get_words() {
        for bare in [
            "HTTP/1.1 414 URI Too Long\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n",
            "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        ] {
            let refusal = Refusal::of(bare.as_bytes(), Target::default()).unwrap();
            let answer = String::from_utf8(refusal.answer).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(head.lines().next(), bare.lines().next());
            assert!(
                head.contains(&format!("content-length: {}", body.len()))
                    && head.contains("connection: close")
            );
            assert!(
                body.starts_with("{\"code\":\"invalid_argument\",\"message\":\"") && body.ends_with("}\n")
            );
        }
        for other in [
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 5\r\n\r\nwords",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 414",
            "",
        ] {
            assert!(Refusal::of(other.as_bytes(), Target::default()).is_none(), "{other}");
        }
    }

    #[test]
    fn urls_are_counted_however_they_come_in() {
        let head = format!("\r\nGET /{} HTTP/1.1\r\nhost: {}\r\n\r\n", "a".repeat(99), "b".repeat(500));
        for length in [1, 2, 7, 50, 1_000] {
            let mut target = Target::default();
            head.as_bytes().chunks(length).for_each(|piece| target.read(piece));
            assert_eq!((target.bytes, target.part), (100, Part::Rest), "pieces of {length}");
        }
        let mut target = Target::default();
        target.read(b"no request\n or something");
        assert_eq!(target.bytes, "request".len());
    }

    #[test]
    fn a_url_that_is_too_long_is_that_whatever_the_library_noticed() {
        let bare =
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        for (bytes, status) in [(HTTP1_URL_MAX, "431"), (HTTP1_URL_MAX + 1, "414")] {
            let mut target = Target::default();
            target.read(b"GET ");
            target.read(&vec![b'a'; bytes]);
            let answer = String::from_utf8(Refusal::of(bare, target).unwrap().answer).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
    }

    #[test]
    fn whole_heads_are_measured() {
        let head = |bytes: usize| {
            let bare = "GET /a?b HTTP/1.1\r\nx: \r\n\r\n".len();
            let request = http::Request::get("/a?b").header("x", "y".repeat(bytes - bare));
            request.body(()).unwrap().into_parts().0
        };
        assert!(of_long_head(&head(HTTP1_HEAD_MAX)).is_none());
        assert_eq!(of_long_head(&head(HTTP1_HEAD_MAX + 1)).unwrap().status(), 431);
        let mut second = head(HTTP1_HEAD_MAX + 1);
        second.version = Version::HTTP_2;
        assert!(of_long_head(&second).is_none());
        let absolute = http::Request::get("http://x:1/a").body(()).unwrap().into_parts().0;
        let expected = "GET http://x:1/a HTTP/1.1\r\n\r\n".len();
        assert_eq!(head_bytes(&absolute.method, &absolute.uri, &absolute.headers), expected);
    }
}
