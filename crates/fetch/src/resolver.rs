//! Looks up the addresses of hosts: overrides, literals and the cache first, then the configured resolvers in order.
//! One [`Resolver`] serves all threads. [`crate::dns`] interprets the responses.

use crate::clock;
use crate::dns::{Answer, AnswerCache, DnsError, Fault, Resolved, TtlBounds};
use argiope_model::Millis;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as Rejection, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RecordType};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

#[derive(Clone, Debug)]
pub struct ResolverOptions {
    /// Queried in this order; the next one only if the one before gives no answer. Empty: those of the system.
    pub resolvers: Vec<SocketAddr>,
    /// Hosts with fixed addresses.
    pub overrides: HashMap<String, Vec<IpAddr>>,
    /// The timeout of one attempt at one resolver.
    pub timeout: Duration,
    /// Attempts at one resolver before the next one is used.
    pub attempts: usize,
    pub ttl: TtlBounds,
    /// The size of the cache.
    pub capacity: usize,
    /// The most queries that may be open at a time.
    pub in_flight: usize,
}

impl Default for ResolverOptions {
    fn default() -> ResolverOptions {
        ResolverOptions {
            resolvers: Vec::new(),
            overrides: HashMap::new(),
            timeout: Duration::from_secs(3),
            attempts: 2,
            ttl: TtlBounds::default(),
            capacity: 100_000,
            in_flight: 64,
        }
    }
}

/// An answer can hold thousands of addresses; no more than these are ever tried.
const MAX_ADDRESSES: usize = 16;

/// Addresses of hosts, shared by all threads. Cloning is cheap.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<Shared>,
}

struct Shared {
    servers: Vec<TokioResolver>,
    overrides: HashMap<String, Arc<[IpAddr]>>,
    options: ResolverOptions,
    families: [RecordType; 2],
    runtime: Handle,
    open_questions: Semaphore,
    state: Mutex<State>,
}

struct State {
    cache: AnswerCache,
    /// Names being looked up, with all callers that wait for the answer.
    waiting: HashMap<Arc<str>, Vec<oneshot::Sender<Answer>>>,
}

impl Resolver {
    /// `runtime` carries the sockets to the resolvers and must live as long as the crawl; lookups may come from any runtime.
    /// Fails only if the system's configuration is needed and cannot be read; without any resolver, overrides and literal
    /// addresses still work.
    pub fn new(options: ResolverOptions, runtime: Handle) -> Result<Resolver, DnsError> {
        let servers = servers(&options)?;
        let overrides = options
            .overrides
            .iter()
            .map(|(name, addresses)| {
                (name.trim_end_matches('.').to_ascii_lowercase(), addresses.as_slice().into())
            })
            .collect();
        let shared = Shared {
            servers,
            overrides,
            families: families(),
            runtime,
            open_questions: Semaphore::new(options.in_flight.max(1)),
            state: Mutex::new(State { cache: AnswerCache::new(options.capacity), waiting: HashMap::new() }),
            options,
        };
        Ok(Resolver { shared: Arc::new(shared) })
    }

    /// `host_name` is a host without port as `Url::host_name` gives it: a name in lower case, an IPv4 address, or an
    /// IPv6 address in brackets. Concurrent lookups of one name send one query.
    pub async fn resolve(&self, host_name: &str) -> Answer {
        let now = clock::now();
        let name = host_name.trim_end_matches('.');
        if let Some(addresses) = self.shared.known(name) {
            return Ok(Resolved { addresses, expires: now + self.shared.options.ttl.longest, dns_us: 0 });
        }
        let answer = {
            let mut state = self.shared.state();
            if let Some(answer) = state.cache.get(name, now) {
                return answer;
            }
            let (sender, receiver) = oneshot::channel();
            match state.waiting.get_mut(name) {
                Some(waiting) => waiting.push(sender),
                None => {
                    let name: Arc<str> = name.into();
                    state.waiting.insert(name.clone(), vec![sender]);
                    // A task of its own: one caller may be cancelled while others still wait.
                    self.shared
                        .runtime
                        .spawn(Question { name, shared: self.shared.clone(), answered: false }.ask());
                }
            }
            receiver
        };
        answer
            .await
            .unwrap_or_else(|_| Err(DnsError::Unreachable(String::from("the resolver was shut down"))))
    }

    /// The answer, if it needs no query.
    pub fn cached(&self, host_name: &str) -> Option<Answer> {
        let now = clock::now();
        let name = host_name.trim_end_matches('.');
        if let Some(addresses) = self.shared.known(name) {
            return Some(Ok(Resolved {
                addresses,
                expires: now + self.shared.options.ttl.longest,
                dns_us: 0,
            }));
        }
        self.shared.state().cache.get(name, now)
    }

    /// Whether the network is up: a resolver answers a query for the root, bypassing our cache. Without a resolver, whether
    /// there is a route to the internet.
    pub async fn probe(&self) -> bool {
        let shared = self.shared.clone();
        self.shared.runtime.spawn(async move { shared.answers().await }).await.unwrap_or(false)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Addresses that are known without a query.
    fn known(&self, name: &str) -> Option<Arc<[IpAddr]>> {
        if !self.overrides.is_empty()
            && let Some(addresses) = self.overrides.get(name)
        {
            return Some(addresses.clone());
        }
        if let Some(address) = literal(name) {
            return Some([address].as_slice().into());
        }
        if name == "localhost" || name.ends_with(".localhost") {
            return Some(
                [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].as_slice().into(),
            );
        }
        None
    }

    async fn answers(&self) -> bool {
        for server in &self.servers {
            match tokio::time::timeout(self.patience(), server.lookup(Name::root(), RecordType::NS)).await {
                Ok(Ok(_)) => return true,
                // A forwarder that has lost its network answers SERVFAIL, so only a real answer counts.
                Ok(Err(NetError::Dns(Rejection::NoRecordsFound(_)))) => return true,
                Ok(Err(_)) | Err(_) => {}
            }
        }
        self.servers.is_empty() && (has_route(PUBLIC_V4) || has_route(PUBLIC_V6))
    }

    /// The longest time for one query to one resolver, including all attempts and a switch to TCP.
    fn patience(&self) -> Duration {
        self.options
            .timeout
            .saturating_mul(u32::try_from(self.options.attempts).unwrap_or(u32::MAX).saturating_add(1))
    }

    async fn ask_servers(&self, name: &str) -> Answer {
        // A name with a dot is complete; a single label may be completed by the system's search list.
        let dot = if name.contains('.') { "." } else { "" };
        let Ok(name) = Name::from_ascii(format!("{name}{dot}")) else { return Err(DnsError::InvalidName) };
        let mut outcome = DnsError::NoResolver;
        for server in &self.servers {
            let asked = tokio::time::timeout(self.patience(), self.ask_server(server, &name)).await;
            match asked.unwrap_or(Err(DnsError::Timeout)) {
                Err(error) if error.fault() == Fault::Resolver => {
                    tracing::debug!(%name, %error, "resolver gave no answer");
                    // A resolver that answered SERVFAIL says more than one that kept silent.
                    if !matches!(outcome, DnsError::ServFail(_)) {
                        outcome = error;
                    }
                }
                answer => return answer,
            }
        }
        Err(outcome)
    }

    /// One address family after the other: the second is queried only if the host has no address of the first, which halves
    /// the number of queries.
    async fn ask_server(&self, server: &TokioResolver, name: &Name) -> Answer {
        let began = Instant::now();
        let mut retry_at = Millis(0);
        for family in self.families {
            match server.lookup(name.clone(), family).await {
                Ok(lookup) => {
                    let addresses: Arc<[IpAddr]> = lookup
                        .answers()
                        .iter()
                        .filter_map(|record| record.data.ip_addr())
                        .take(MAX_ADDRESSES)
                        .collect();
                    if !addresses.is_empty() {
                        let ttl = lookup.answers().iter().map(|record| record.ttl).min().unwrap_or(0);
                        let expires = clock::now() + self.options.ttl.positive(ttl);
                        return Ok(Resolved { addresses, expires, dns_us: clock::micros(began.elapsed()) });
                    }
                    retry_at = clock::now() + self.options.ttl.negative(None);
                }
                Err(NetError::Dns(Rejection::NoRecordsFound(none))) => {
                    retry_at = clock::now() + self.options.ttl.negative(none.negative_ttl);
                    if none.response_code == ResponseCode::NXDomain {
                        return Err(DnsError::NxDomain { retry_at });
                    }
                }
                Err(NetError::Dns(Rejection::ResponseCode(code))) => {
                    return Err(DnsError::ServFail(code.to_string()));
                }
                Err(NetError::Timeout) => return Err(DnsError::Timeout),
                Err(error @ (NetError::Io(_) | NetError::NoConnections)) => {
                    return Err(DnsError::Unreachable(error.to_string()));
                }
                Err(error) => return Err(DnsError::ServFail(error.to_string())),
            }
        }
        Err(DnsError::NoAddress { retry_at })
    }
}

/// A name that is being looked up. If it is dropped because the runtime stops, its waiting callers get an error.
struct Question {
    name: Arc<str>,
    shared: Arc<Shared>,
    answered: bool,
}

impl Question {
    async fn ask(mut self) {
        let answer = match self.shared.open_questions.acquire().await {
            Ok(_permit) => self.shared.ask_servers(&self.name).await,
            Err(_) => Err(DnsError::NoResolver),
        };
        let waiting = {
            let mut state = self.shared.state();
            state.cache.insert(&self.name, &answer);
            state.waiting.remove(&self.name).unwrap_or_default()
        };
        self.answered = true;
        for sender in waiting {
            // The caller may be gone.
            let _ = sender.send(answer.clone());
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        // Once answered, callers that wait under this name wait for another query.
        if !self.answered {
            self.shared.state().waiting.remove(&self.name);
        }
    }
}

fn literal(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    bare.parse().ok()
}

/// One client per resolver, so that we decide their order. The system's search list serves single labels.
fn servers(options: &ResolverOptions) -> Result<Vec<TokioResolver>, DnsError> {
    let configurations: Vec<ResolverConfig> = if options.resolvers.is_empty() {
        match hickory_resolver::system_conf::read_system_conf() {
            Ok((system, _)) => system
                .name_servers()
                .iter()
                .map(|server| {
                    ResolverConfig::from_parts(
                        system.domain().cloned(),
                        system.search().to_vec(),
                        vec![server.clone()],
                    )
                })
                .collect(),
            Err(error) => {
                tracing::warn!(%error, "the system names no resolver; only overrides and addresses can be crawled");
                Vec::new()
            }
        }
    } else {
        options
            .resolvers
            .iter()
            .map(|address| ResolverConfig::from_name_servers(vec![server_at(*address)]))
            .collect()
    };
    configurations.into_iter().map(|configuration| client(configuration, options)).collect()
}

fn server_at(address: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

fn client(configuration: ResolverConfig, options: &ResolverOptions) -> Result<TokioResolver, DnsError> {
    let mut builder = TokioResolver::builder_with_config(configuration, TokioRuntimeProvider::default());
    let settings: &mut ResolverOpts = builder.options_mut();
    settings.timeout = options.timeout;
    // Theirs counts the retries after the first attempt.
    settings.attempts = options.attempts.saturating_sub(1);
    // Answers are kept by our own cache, which knows hosts and not records.
    settings.cache_size = 0;
    settings.max_active_requests = options.in_flight.max(32).saturating_mul(2);
    builder.build().map_err(|error| DnsError::Unreachable(error.to_string()))
}

const PUBLIC_V4: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(1, 1, 1, 1)), 53);
const PUBLIC_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1111)), 53);

/// The address family to query first: IPv4, unless this machine has IPv6 only.
fn families() -> [RecordType; 2] {
    if !has_route(PUBLIC_V4) && has_route(PUBLIC_V6) {
        [RecordType::AAAA, RecordType::A]
    } else {
        [RecordType::A, RecordType::AAAA]
    }
}

/// Connecting a datagram socket sends nothing; it only checks that the kernel has a route.
fn has_route(to: SocketAddr) -> bool {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    UdpSocket::bind(any).and_then(|socket| socket.connect(to)).is_ok()
}
