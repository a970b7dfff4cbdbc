//! What the HTTP/1.1 library refuses by itself, in words (C089).
//!
//! A request that cannot be read, or whose URL or head is too long, never becomes one: the library answers it with a bare
//! status and hangs up, and whoever sent a selector of a megabyte is told nothing. [`Worded`] stands between the library
//! and the socket, knows these answers by their form (an error, no body, the connection closes) and puts a sentence in.
//! Then it reads on for a while what the client is still sending, without which the system would take the answer back.
//!
//! Not here: answers of routes, which have words of their own and pass unchanged; HTTP/2, whose library answers alike but
//! in frames; time limits (`activity`).

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{HTTP1_HEAD_MAX, HTTP1_URL_MAX, REFUSED_BYTES_MAX};

/// A stream whose bare refusals get a sentence.
#[derive(Debug)]
pub(crate) struct Worded<S> {
    stream: S,
    refusal: Option<Refusal>,
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
    /// `None` where the bytes are no bare refusal.
    fn of(bytes: &[u8]) -> Option<Self> {
        let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
        let sentence = match status {
            b"400" => "this is no HTTP/1.1 request that can be read; in a URL, spaces and quotes are written as %20 and %22 \
                       (curl does it with --get --data-urlencode)"
                .to_owned(),
            b"414" | b"431" => format!(
                "a URL has at most {HTTP1_URL_MAX} bytes, and all headers with it at most {HTTP1_HEAD_MAX}; a longer \
                 question goes in the body of a POST, such as those of querier.v1"
            ),
            _ => return None,
        };
        let head = std::str::from_utf8(bytes.strip_suffix(b"\r\n\r\n")?).ok()?;
        let mut lines = head.split("\r\n");
        let status_line = lines.next()?;
        let has = |wanted: &str| head.split("\r\n").any(|line| line.eq_ignore_ascii_case(wanted));
        if !has("content-length: 0") || !has("connection: close") {
            return None;
        }
        let body = format!("{{\"code\":\"invalid_argument\",\"message\":\"{sentence}\",\"field\":\"\"}}\n");
        let answer = format!(
            "{status_line}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Some(Self { answer: answer.into_bytes(), sent: 0, is_ended: false, left: REFUSED_BYTES_MAX })
    }
}

impl<S> Worded<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, refusal: None }
    }
}

impl<S: AsyncWrite + Unpin> Worded<S> {
    /// Sends the words in place of `bare`, all of which then count as sent.
    fn refuse(&mut self, context: &mut Context<'_>, bare: &[u8]) -> Option<Poll<io::Result<usize>>> {
        if self.refusal.is_none() {
            self.refusal = Refusal::of(bare);
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
        Pin::new(&mut self.stream).poll_read(context, buffer)
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
            let refusal = Refusal::of(bare.as_bytes()).unwrap();
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
            assert!(Refusal::of(other.as_bytes()).is_none(), "{other}");
        }
    }
}
