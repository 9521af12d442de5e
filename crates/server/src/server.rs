//! A server with a thread of its own, on a socket or a port. It listens until it is dropped.

use crate::error::{unknown_path, wrong_method};
use crate::health::{self, VitalsSource};
use crate::{api, listener};
use argiope_service::control::Control;
use argiope_service::directory::socket_path;
use axum::Router;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// A request to a health endpoint is answered at once.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// Deleting a job waits for its requests in flight.
const CONTROL_LIMIT: Duration = Duration::from_secs(600);

/// Health, readiness and metrics on a TCP port.
pub struct HealthServer {
    address: SocketAddr,
    _thread: ServerThread,
}

impl HealthServer {
    /// `source` must not wait for a server: meanwhile no request is answered.
    pub fn start(listen: SocketAddr, source: VitalsSource) -> io::Result<HealthServer> {
        let listener = std::net::TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let routes = with_fallbacks(health::routes(source));
        let thread = ServerThread::start("health", move || async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            listener::serve(listener, routes, PROBE_LIMIT).await;
            Ok(())
        })?;
        Ok(HealthServer { address, _thread: thread })
    }

    /// With the actual port if 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The whole API on the Unix socket of a data directory: anyone who can open the socket can use it.
pub struct SocketServer {
    path: PathBuf,
    thread: Option<ServerThread>,
}

impl SocketServer {
    /// Listens in a data directory that this process owns.
    pub fn start(
        directory: &Path,
        crawl: Arc<dyn Control>,
        source: VitalsSource,
    ) -> io::Result<SocketServer> {
        let path = socket_path(directory);
        // A process that was killed leaves its socket behind.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = std::os::unix::net::UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let routes = with_fallbacks(api::routes(crawl).merge(health::routes(source)));
        let thread = ServerThread::start("control", move || async move {
            let listener = tokio::net::UnixListener::from_std(listener)?;
            listener::serve(listener, routes, CONTROL_LIMIT).await;
            Ok(())
        })?;
        Ok(SocketServer { path, thread: Some(thread) })
    }
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        drop(self.thread.take());
        let _ = std::fs::remove_file(&self.path);
    }
}

fn with_fallbacks(routes: Router) -> Router {
    routes.fallback(unknown_path).method_not_allowed_fallback(wrong_method)
}

/// Ends its thread when it is dropped.
struct ServerThread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    fn start<S>(name: &'static str, serve: impl FnOnce() -> S + Send + 'static) -> io::Result<ServerThread>
    where
        S: Future<Output = io::Result<()>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            let served = runtime.block_on(async move {
                tokio::select! {
                    served = serve() => served,
                    _ = stopped => Ok(()),
                }
            });
            if let Err(error) = served {
                tracing::error!(%error, "{name} endpoint stopped");
            }
            runtime.shutdown_background();
        })?;
        Ok(ServerThread { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
