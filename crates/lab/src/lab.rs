//! The running lab web: the listener, its faults, and the handle for tests and commands.

use crate::access_log::{AccessEntry, AccessLog};
use crate::config::LabConfig;
use crate::error::LabError;
use crate::expected::Expected;
use crate::page_cache::PageCache;
use crate::server::{Clock, Connection, Shared};
use crate::tls;
use crate::web::Web;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A fault of the whole network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outage {
    #[default]
    None,
    /// Connections are refused; those that were open are closed.
    Refused,
    /// Connections are taken and requests never answered.
    Silent,
}

/// A running lab web. It stops when this is dropped.
pub struct Lab {
    shared: Arc<Shared>,
    /// `None` only while dropping, which ends the listener.
    wanted: Option<watch::Sender<Outage>>,
    applied: watch::Receiver<Outage>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Lab {
    /// Starts the lab on the runtime of the caller.
    pub async fn start(config: LabConfig) -> Result<Lab, LabError> {
        let (lab, listener) = prepare(config).await?;
        tokio::spawn(listener.run());
        Ok(lab)
    }

    /// Starts the lab on a thread with a runtime of its own, so that it takes nothing from the caller's.
    pub fn start_on_thread(config: LabConfig) -> Result<Lab, LabError> {
        let (report, reported) = mpsc::channel();
        let run = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(report.send(Err(LabError::Thread(error)))),
            };
            runtime.block_on(async {
                match prepare(config).await {
                    Ok((lab, listener)) => {
                        drop(report.send(Ok(lab)));
                        listener.run().await;
                    }
                    Err(error) => drop(report.send(Err(error))),
                }
            });
        };
        let thread = thread::Builder::new().name(String::from("lab")).spawn(run).map_err(LabError::Thread)?;
        let mut lab = reported.recv().map_err(|_| LabError::Stopped)??;
        lab.thread = Some(thread);
        Ok(lab)
    }

    /// Serves until `shutdown` is done, then writes the log out.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<(), LabError> {
        shutdown.await;
        self.flush_log()
    }

    pub fn web(&self) -> &Web {
        &self.shared.web
    }

    /// The port of all sites.
    pub fn port(&self) -> u16 {
        self.shared.web.config.listen.port()
    }

    /// The front page of every site, where a crawl begins.
    pub fn seeds(&self) -> Vec<String> {
        (0..self.shared.web.config.hosts).map(|site| self.shared.web.page_url(site, 0)).collect()
    }

    /// What a correct crawl from the seeds does with each URL.
    pub fn expected(&self) -> Expected {
        self.shared.web.expected()
    }

    /// The last requests, in the order in which their responses ended.
    pub fn access_log(&self) -> Vec<AccessEntry> {
        self.shared.log.entries()
    }

    pub fn clear_access_log(&self) {
        self.shared.log.clear();
    }

    pub fn flush_log(&self) -> Result<(), LabError> {
        self.shared.log.flush()
    }

    /// Requests taken since the start.
    pub fn request_count(&self) -> u64 {
        self.shared.log.total()
    }

    /// Simulates a network outage or ends it, and returns when that is effective.
    pub async fn set_outage(&self, outage: Outage) -> Result<(), LabError> {
        let wanted = self.wanted.as_ref().ok_or(LabError::Stopped)?;
        wanted.send(outage).map_err(|_| LabError::Stopped)?;
        let mut applied = self.applied.clone();
        applied.wait_for(|now| *now == outage).await.map_err(|_| LabError::Stopped)?;
        Ok(())
    }

    /// Connections are refused while the lab is down.
    pub async fn set_down(&self, down: bool) -> Result<(), LabError> {
        self.set_outage(if down { Outage::Refused } else { Outage::None }).await
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            // A lab that panicked has reported that already.
            let _ = thread.join();
        }
    }
}

struct Listener {
    shared: Arc<Shared>,
    /// `None` while connections are refused.
    socket: Option<TcpListener>,
    address: SocketAddr,
    wanted: watch::Receiver<Outage>,
    applied: watch::Sender<Outage>,
    connections: JoinSet<()>,
    accepted: u64,
}

async fn prepare(mut config: LabConfig) -> Result<(Lab, Listener), LabError> {
    config.check()?;
    // One socket for all addresses: separate listeners for a hundred thousand sites would need as many sockets.
    // Connections from other machines are closed when accepted.
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), config.listen.port());
    let failed = |source| LabError::Listen { address, source };
    let socket = listen(address).map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    config.listen.set_port(address.port());
    let log = AccessLog::new(config.log_capacity, config.log_file.as_deref())?;
    let cache = PageCache::new(config.cache_bytes);
    let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
    let shared = Arc::new(Shared {
        web: Web::new(config)?,
        log,
        cache,
        clock: Clock::new(),
        tls,
        silent: AtomicBool::new(false),
        counts: Default::default(),
    });
    let (wanted, wanted_receiver) = watch::channel(Outage::None);
    let (applied, applied_receiver) = watch::channel(Outage::None);
    let listener = Listener {
        shared: Arc::clone(&shared),
        socket: Some(socket),
        address,
        wanted: wanted_receiver,
        applied,
        connections: JoinSet::new(),
        accepted: 0,
    };
    Ok((Lab { shared, wanted: Some(wanted), applied: applied_receiver, thread: None }, listener))
}

impl Listener {
    async fn run(mut self) {
        let mut flush = tokio::time::interval(Duration::from_millis(200));
        flush.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                changed = self.wanted.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    self.apply().await;
                }
                stream = accept(self.socket.as_ref()) => self.take(stream).await,
                Some(_) = self.connections.join_next(), if !self.connections.is_empty() => {}
                _ = flush.tick(), if self.shared.log.has_file() => {
                    if let Err(error) = self.shared.log.flush() {
                        eprintln!("lab: {error}");
                    }
                }
            }
        }
        self.connections.shutdown().await;
        if let Err(error) = self.shared.log.flush() {
            eprintln!("lab: {error}");
        }
    }

    async fn apply(&mut self) {
        let outage = *self.wanted.borrow_and_update();
        self.shared.silent.store(outage == Outage::Silent, Ordering::Relaxed);
        if outage == Outage::Refused {
            self.socket = None;
            self.connections.shutdown().await;
        } else if self.socket.is_none() {
            match listen(self.address) {
                Ok(socket) => self.socket = Some(socket),
                Err(source) => {
                    // Another process took the port meanwhile: the lab stays down, and the caller gets no response.
                    eprintln!("lab: {}", LabError::Listen { address: self.address, source });
                    return;
                }
            }
        }
        self.applied.send_replace(outage);
    }

    async fn take(&mut self, stream: std::io::Result<(TcpStream, SocketAddr)>) {
        let Ok((stream, peer)) = stream else {
            // Probably out of file descriptors: some connection has to end first.
            tokio::time::sleep(Duration::from_millis(10)).await;
            return;
        };
        let Ok(SocketAddr::V4(local)) = stream.local_addr() else { return };
        if !peer.ip().is_loopback() || !local.ip().is_loopback() || stream.set_nodelay(true).is_err() {
            return;
        }
        self.accepted += 1;
        let shared = Arc::clone(&self.shared);
        self.connections.spawn(Connection::serve(shared, stream, *local.ip(), self.accepted));
    }
}

/// Crawlers open hundreds of connections at once. A connection that does not fit into the queue is retried a second
/// later, which would look like a slow crawler.
const BACKLOG: u32 = 4096;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(socket: Option<&TcpListener>) -> std::io::Result<(TcpStream, SocketAddr)> {
    match socket {
        Some(socket) => socket.accept().await,
        None => std::future::pending().await,
    }
}
