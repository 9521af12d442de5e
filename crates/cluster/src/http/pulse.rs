//! Notices whether bytes move on a connection, in either direction.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes have moved.
#[derive(Default)]
pub(crate) struct Pulse {
    bytes: AtomicU64,
}

impl Pulse {
    pub(crate) fn of<S>(stream: S) -> (Watched<S>, Arc<Pulse>) {
        let pulse = Arc::new(Pulse::default());
        (Watched { stream, pulse: pulse.clone() }, pulse)
    }

    /// Ends when nothing has moved for this time, or up to twice as long.
    pub(crate) async fn silent_for(&self, time: Duration) {
        let mut before = self.bytes.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(time).await;
            let now = self.bytes.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
        }
    }

    fn beat(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

pub(crate) struct Watched<S> {
    stream: S,
    pulse: Arc<Pulse>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, into));
        self.pulse.beat(into.filled().len() - before);
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.pulse.beat(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
