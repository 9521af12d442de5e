//! Reads the body of a response within its limits of bytes and time.

use crate::client::Link;
use crate::response::TruncationCause;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use hyper::body::{Body, Incoming};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Sleep;

#[derive(Clone, Copy)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) timeout: Duration,
}

/// The buffer is allocated for the announced length up to this; beyond it, as bytes arrive.
const TRUSTED_LENGTH: usize = 256 * 1024;
const FIRST_BUFFER: usize = 16 * 1024;

/// Reads the body to its end, its limit, a failure or the timeout, whichever comes first.
pub(crate) async fn read_body(
    link: &mut Link,
    incoming: &mut Incoming,
    headers: &HeaderMap,
    limits: BodyLimits,
    mut time_over: Pin<&mut Sleep>,
) -> (Bytes, Option<TruncationCause>) {
    if incoming.is_end_stream() {
        return (Bytes::new(), None);
    }
    let announced = incoming.size_hint().exact();
    let expected = announced.map_or(FIRST_BUFFER, |length| usize::try_from(length).unwrap_or(usize::MAX));
    let mut body = BytesMut::with_capacity(expected.min(TRUSTED_LENGTH).min(limits.bytes));
    let truncated = loop {
        let next = poll_fn(|cx| {
            let frame = match link {
                Link::Http1(connection) => connection.poll_frame(incoming, cx),
                Link::Http2(_) => Pin::new(&mut *incoming).poll_frame(cx),
            };
            match frame {
                Poll::Ready(frame) => Poll::Ready(Some(frame)),
                Poll::Pending => time_over.as_mut().poll(cx).map(|()| None),
            }
        });
        match next.await {
            None => break Some(TruncationCause::Timeout { after: limits.timeout }),
            Some(None) => break None,
            Some(Some(Ok(frame))) => {
                // Trailers are not needed.
                let Ok(data) = frame.into_data() else { continue };
                let room = limits.bytes - body.len();
                if let Some(fitting) = data.get(..room).filter(|_| data.len() > room) {
                    body.extend_from_slice(fitting);
                    break Some(TruncationCause::TooLarge { limit: limits.bytes as u64 });
                }
                body.extend_from_slice(&data);
            }
            Some(Some(Err(error))) => break Some(interruption(&error, body.len() as u64, headers)),
        }
    };
    (body.freeze(), truncated)
}

fn interruption(error: &hyper::Error, received: u64, headers: &HeaderMap) -> TruncationCause {
    if error.is_incomplete_message() || crate::error::is_unexpected_end(error) {
        let announced =
            headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        return TruncationCause::ShortBody { received, announced };
    }
    match crate::error::cause::<std::io::Error>(error).map(std::io::Error::kind) {
        Some(std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::ConnectionAborted) => {
            TruncationCause::Reset { received }
        }
        _ => TruncationCause::Malformed { received },
    }
}
