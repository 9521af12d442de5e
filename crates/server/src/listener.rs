//! Accepts connections and serves them. The number of connections is bounded: beyond it the oldest is closed, so that
//! clients which keep connections open do not keep others waiting.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;

pub(crate) const MOST_CONNECTIONS: usize = 64;
/// The time limit for the head of a request.
const HEAD_LIMIT: Duration = Duration::from_secs(5);
/// The pause after a connection could not be accepted: the process may be out of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// The source of connections.
pub(crate) trait Accept {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>>;
}

impl Accept for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        TcpListener::accept(self).await.map(|(stream, _)| stream)
    }
}

impl Accept for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        UnixListener::accept(self).await.map(|(stream, _)| stream)
    }
}

/// Serves forever. `limit` applies to a whole connection.
pub(crate) async fn serve(listener: impl Accept, router: Router, limit: Duration) {
    let mut open: VecDeque<JoinHandle<()>> = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= MOST_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let service = TowerToHyperService::new(router.clone());
        open.push_back(tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_LIMIT)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A client that hangs up or takes too long loses its response.
            let _ = tokio::time::timeout(limit, connection).await;
        }));
    }
}
