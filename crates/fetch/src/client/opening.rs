//! A connection for a request: one that was kept, or a new one.

use super::{Link, Shared};
use crate::connect::{Progress, Stream, tunnel};
use crate::error::{Failure, FetchFailure};
use crate::http1::{HeadLimits, Http1};
use crate::http2::Http2;
use crate::pool::ActiveStream;
use crate::port::FetchRequest;
use crate::proxy::Proxy;
use argiope_model::Scheme;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::time::Instant;

impl Shared {
    /// A kept connection, or a new one.
    pub(super) async fn link(
        &self,
        request: &FetchRequest<'_>,
        key: &Rc<str>,
        progress: &Progress,
    ) -> Result<(Link, bool), Failure> {
        loop {
            let kept = self.pool.borrow_mut().take_http1(key, Instant::now());
            match kept {
                Some(mut connection) => {
                    if connection.is_usable().await {
                        return Ok((Link::Http1(Box::new(connection)), true));
                    }
                }
                None => break,
            }
        }
        if request.url.scheme() == Scheme::Http {
            return Ok((self.open(request, key, progress).await?, false));
        }
        if let Some(connection) = self.kept_http2(key) {
            return Ok((connection, true));
        }
        let opening = self.pool.borrow_mut().opening(key);
        let Some(opening) = opening else { return Ok((self.open(request, key, progress).await?, false)) };
        let alone = opening.lock().await;
        if let Some(connection) = self.kept_http2(key) {
            return Ok((connection, true));
        }
        // The previous holder of the lock may have found HTTP/1; then nobody has to wait.
        let _alone = self.pool.borrow_mut().opening(key).map(|_| alone);
        Ok((self.open(request, key, progress).await?, false))
    }

    fn stream(&self, connection: Rc<Http2>, key: &Rc<str>) -> ActiveStream {
        ActiveStream::new(connection, key.clone(), self.pool.clone(), self.options.idle_timeout)
    }

    fn kept_http2(&self, key: &Rc<str>) -> Option<Link> {
        let connection = self.pool.borrow_mut().http2(key)?;
        Some(Link::Http2(self.stream(connection, key)))
    }

    pub(super) async fn open(
        &self,
        request: &FetchRequest<'_>,
        key: &Rc<str>,
        progress: &Progress,
    ) -> Result<Link, Failure> {
        let url = request.url;
        let secure = url.scheme() == Scheme::Https;
        let (stream, address) = match self.proxy_for(request) {
            None => {
                let connect = || self.connector.direct(request.addresses, url.port(), progress);
                self.with_descriptor(progress, connect).await?
            }
            Some(proxy) => {
                let proxy_addresses = self.proxy_addresses(proxy).await?;
                let (host, hosts) = (url.host_name(), request.addresses);
                let connect = || self.connector.proxy(&proxy_addresses, proxy, host, hosts, progress);
                let (mut stream, address) = self
                    .with_descriptor(progress, connect)
                    .await
                    .map_err(|failure| failure.on_the_way_to(proxy))?;
                if secure {
                    let authority = format!("{}:{}", url.host_name(), url.port());
                    tunnel(&mut stream, &authority, proxy, progress).await?;
                }
                (stream, address)
            }
        };
        let stream = if secure {
            let verified = !request.profile.insecure;
            self.connector.tls(stream, url, verified, progress).await?
        } else {
            Stream::Plain(stream)
        };
        if stream.is_http2() {
            let connection = Rc::new(Http2::open(stream, address, self.options.max_head_bytes).await?);
            self.pool.borrow_mut().opened_http2(key, connection.clone());
            return Ok(Link::Http2(self.stream(connection, key)));
        }
        let limits =
            HeadLimits { bytes: self.options.max_head_bytes, fields: self.options.max_header_fields };
        let connection = Http1::open(stream, address, limits).await?;
        self.pool.borrow_mut().opened_http1(key);
        Ok(Link::Http1(Box::new(connection)))
    }

    /// Connects. When no file descriptor is free, closes idle connections and tries again until the request times out.
    async fn with_descriptor<C>(
        &self,
        progress: &Progress,
        connect: impl Fn() -> C,
    ) -> Result<(TcpStream, SocketAddr), Failure>
    where
        C: Future<Output = Result<(TcpStream, SocketAddr), Failure>>,
    {
        let mut tries = 0;
        loop {
            match connect().await {
                Err(failure) if failure.kind.is_out_of_descriptors() => {
                    progress.lacks_descriptor.set(true);
                    self.make_room(tries).await;
                    progress.lacks_descriptor.set(false);
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn make_room(&self, tries: usize) {
        self.share.shrink();
        // Descriptors closed here are free at once; those of other threads take a moment.
        if !self.shed(1) || tries > 1 {
            self.share.wait().await;
        }
    }

    async fn proxy_addresses(&self, proxy: &Proxy) -> Result<Arc<[IpAddr]>, Failure> {
        match self.resolver.resolve(&proxy.host).await {
            Ok(resolved) => Ok(resolved.addresses),
            Err(error) => {
                let kind = FetchFailure::Proxy(format!("cannot resolve {}: {error}", proxy.host));
                Err(Failure::caused(kind, error))
            }
        }
    }
}
