//! Keeps the heads of HTTP/1 messages as sent and received. It sits between the socket and the HTTP parser, so the archive
//! gets the original bytes and not a parser's reconstruction.

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes of the current exchange on one connection.
#[derive(Default)]
pub(crate) struct Capture {
    sent: BytesMut,
    received: BytesMut,
    /// Up to where `received` has been searched for the end of the head.
    searched: usize,
    reading_head: bool,
    began: bool,
}

impl Capture {
    /// A request is about to be sent.
    pub(crate) fn begin(&mut self) {
        self.sent.clear();
        self.received.clear();
        self.searched = 0;
        self.reading_head = true;
        self.began = false;
    }

    /// Whether any byte of the response has arrived.
    pub(crate) fn answer_began(&self) -> bool {
        self.began
    }

    /// Whether any byte of the request was sent.
    pub(crate) fn request_left(&self) -> bool {
        !self.sent.is_empty()
    }

    /// The head of the request, and the head of the response including its empty line.
    pub(crate) fn heads(&mut self) -> (Bytes, Bytes) {
        (self.sent.split().freeze(), self.received.split().freeze())
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.began |= !bytes.is_empty();
        if !self.reading_head {
            return;
        }
        // The usual case: the whole head in one read, with the beginning of the body, which is not copied.
        if self.received.is_empty()
            && bytes.first() == Some(&b'H')
            && let Some(end) = end_of_head(bytes, 0)
            && !is_interim(bytes)
        {
            self.received.extend_from_slice(bytes.get(..end).unwrap_or(bytes));
            self.reading_head = false;
            return;
        }
        self.received.extend_from_slice(bytes);
        self.drop_leading_newlines();
        while let Some(end) = end_of_head(&self.received, self.searched) {
            self.searched = 0;
            if is_interim(&self.received) {
                // The final response is still to come; interim ones are not archived.
                let _ = self.received.split_to(end);
                self.drop_leading_newlines();
                continue;
            }
            self.received.truncate(end);
            self.reading_head = false;
            return;
        }
        self.searched = self.received.len().saturating_sub(2);
    }

    /// Parsers skip empty lines before a status line, so those do not end a head.
    fn drop_leading_newlines(&mut self) {
        if self.searched == 0 {
            let count = self.received.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let _ = self.received.split_to(count);
        }
    }
}

/// The position after the empty line that ends a head; lines may end in LF alone.
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let newline = at + memchr(b'\n', bytes.get(at..)?)?;
        at = newline + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

/// 1xx, but not 101, which is final.
fn is_interim(head: &[u8]) -> bool {
    let Some(space) = memchr(b' ', head) else { return false };
    matches!(head.get(space + 1..space + 4), Some([b'1', b'0'..=b'9', last]) if *last != b'1')
}

/// A stream that copies what passes into a [`Capture`].
pub(crate) struct Captured<S> {
    stream: S,
    capture: Rc<RefCell<Capture>>,
}

impl<S> Captured<S> {
    pub(crate) fn new(stream: S) -> (Captured<S>, Rc<RefCell<Capture>>) {
        let capture = Rc::new(RefCell::new(Capture::default()));
        (Captured { stream, capture: capture.clone() }, capture)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Captured<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        if let Some(new) = buf.filled().get(before..) {
            this.capture.borrow_mut().receive(new);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Captured<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        // Requests have no body: all that is written is head.
        this.capture.borrow_mut().sent.extend_from_slice(bytes.get(..written).unwrap_or(bytes));
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&[u8]]) -> Option<Vec<u8>> {
        let mut capture = Capture::default();
        capture.begin();
        for piece in pieces {
            capture.receive(piece);
        }
        (!capture.reading_head).then(|| capture.heads().1.to_vec())
    }

    #[test]
    fn the_head_ends_with_its_empty_line_however_it_is_cut() {
        let message = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\nmore";
        let head = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n".to_vec();
        assert_eq!(captured(&[message]), Some(head.clone()));
        let bytes: Vec<&[u8]> = message.chunks(1).collect();
        assert_eq!(captured(&bytes), Some(head));
    }

    #[test]
    fn bare_newlines_end_lines_too() {
        assert_eq!(
            captured(&[b"HTTP/1.0 200 OK\nA: b\n\nbody"]),
            Some(b"HTTP/1.0 200 OK\nA: b\n\n".to_vec())
        );
        assert_eq!(
            captured(&[b"HTTP/1.0 200 OK\nA: b\n\r\nx"]),
            Some(b"HTTP/1.0 200 OK\nA: b\n\r\n".to_vec())
        );
    }

    #[test]
    fn interim_answers_and_leading_newlines_are_left_out() {
        let pieces: [&[u8]; 2] =
            [b"\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTT", b"P/1.1 200 OK\r\n\r\n"];
        assert_eq!(captured(&pieces), Some(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()));
        assert_eq!(
            captured(&[b"HTTP/1.1 101 Switching\r\n\r\nHTTP"]),
            Some(b"HTTP/1.1 101 Switching\r\n\r\n".to_vec())
        );
    }

    #[test]
    fn an_unfinished_head_is_not_one() {
        assert_eq!(captured(&[b"HTTP/1.1 200 OK\r\nA: b\r\n"]), None);
    }
}
