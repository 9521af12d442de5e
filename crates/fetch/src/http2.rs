//! One HTTP/2 connection, shared by the requests to its host, and heads in the form of HTTP/1.1 for the archive.

use crate::connect::Stream;
use crate::error::Failure;
use bytes::{BufMut, Bytes, BytesMut};
use http::header::HOST;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use tokio::task::AbortHandle;

/// How much a peer may send ahead on one stream, and on all streams of a connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Spawns on the fetcher's thread.
#[derive(Clone, Copy)]
struct ThisThread;

impl<F: Future + 'static> Executor<F> for ThisThread {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}

pub(crate) struct Http2 {
    pub(crate) sender: http2::SendRequest<Full<Bytes>>,
    pub(crate) address: SocketAddr,
    /// The number of open requests.
    active: Cell<usize>,
    driver: AbortHandle,
}

impl Http2 {
    pub(crate) async fn open(
        stream: Stream,
        address: SocketAddr,
        max_head_bytes: usize,
    ) -> Result<Http2, Failure> {
        let (sender, driver) = http2::Builder::new(ThisThread)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(u32::try_from(max_head_bytes).unwrap_or(u32::MAX))
            .handshake(TokioIo::new(stream))
            .await?;
        let driver = tokio::task::spawn_local(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%address, %error, "HTTP/2 connection ended");
            }
        });
        Ok(Http2 { sender, address, active: Cell::new(0), driver: driver.abort_handle() })
    }

    pub(crate) fn is_usable(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.active.get() == 0
    }

    pub(crate) fn begin_stream(&self) {
        self.active.set(self.active.get() + 1);
    }

    pub(crate) fn end_stream(&self) {
        self.active.set(self.active.get().saturating_sub(1));
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The request in the form of HTTP/1.1, as archives hold it.
pub(crate) fn request_head<B>(request: &Request<B>, host: &str) -> Bytes {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut head = BytesMut::with_capacity(512);
    head.put_slice(request.method().as_str().as_bytes());
    head.put_slice(b" ");
    head.put_slice(path.as_bytes());
    head.put_slice(b" HTTP/1.1\r\n");
    head.put_slice(HOST.as_str().as_bytes());
    head.put_slice(b": ");
    head.put_slice(host.as_bytes());
    head.put_slice(b"\r\n");
    fields(&mut head, request.headers());
    head.freeze()
}

/// The response head in the form of HTTP/1.1, which readers of archives expect. [`crate::Fetched::version`] says that it was
/// HTTP/2.
pub(crate) fn response_head(status: StatusCode, headers: &HeaderMap) -> Bytes {
    let mut head = BytesMut::with_capacity(1024);
    head.put_slice(b"HTTP/1.1 ");
    head.put_slice(status.as_str().as_bytes());
    head.put_slice(b" ");
    head.put_slice(status.canonical_reason().unwrap_or("").as_bytes());
    head.put_slice(b"\r\n");
    fields(&mut head, headers);
    head.freeze()
}

fn fields(head: &mut BytesMut, headers: &HeaderMap) {
    for (name, value) in headers {
        head.put_slice(name.as_str().as_bytes());
        head.put_slice(b": ");
        head.put_slice(value.as_bytes());
        head.put_slice(b"\r\n");
    }
    head.put_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn heads_have_the_form_of_http_1_1() {
        let mut headers = HeaderMap::new();
        headers.append("set-cookie", HeaderValue::from_static("a=1"));
        headers.append("set-cookie", HeaderValue::from_static("b=2"));
        let head = response_head(StatusCode::NOT_FOUND, &headers);
        assert_eq!(head, "HTTP/1.1 404 Not Found\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n");
        let request = Request::get("https://example.com/a?b=c").header("user-agent", "x").body(()).unwrap();
        let head = request_head(&request, "example.com");
        assert_eq!(head, "GET /a?b=c HTTP/1.1\r\nhost: example.com\r\nuser-agent: x\r\n\r\n");
    }
}
