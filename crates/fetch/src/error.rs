//! The failure of a fetch: its kind, its URL, what caused it, and what follows from it.

use crate::dns::{DnsError, Fault};
use crate::guard::AddressRefused;
use crate::proxy::Proxy;
use argiope_model::{FetchTimings, Url};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A request that got no answer that could be stored. Its text is what records and reports show:
/// `timeout: first byte after 30 s`.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct FetchError {
    pub kind: FailureKind,
    pub url: Url,
    /// The address that was talked to, as far as it came to that.
    pub address: Option<SocketAddr>,
    pub timings: FetchTimings,
    #[source]
    pub source: Option<Cause>,
}

impl FetchError {
    /// An error of the resolver in the shape of any other failed fetch.
    pub fn dns(url: Url, error: DnsError, timings: FetchTimings) -> Box<FetchError> {
        Box::new(FetchError { kind: FailureKind::Dns(error), url, address: None, timings, source: None })
    }
}

/// What a fetch was waiting for when its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    Connect,
    /// A connection to the proxy, not yet to the host.
    ProxyConnect,
    Proxy,
    Tls,
    FirstByte,
    /// The answer had begun, its head was not complete.
    Head,
    Body,
}

impl Stage {
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Connect => "connect",
            Stage::ProxyConnect => "connect to the proxy",
            Stage::Proxy => "proxy",
            Stage::Tls => "TLS handshake",
            Stage::FirstByte => "first byte",
            Stage::Head => "end of headers",
            Stage::Body => "body",
        }
    }
}

/// Why no connection came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectFailure {
    Refused,
    /// No route to the host or its network: the host's fault, or the network is down here.
    Unreachable,
    Reset,
    /// The connection attempt ran into the kernel's own time limit.
    TimedOut,
    /// No address was given.
    NoAddress,
    /// This process or system has no file descriptor left, whatever was done about it.
    NoDescriptor,
    Other,
}

impl ConnectFailure {
    pub(crate) fn of(error: &io::Error) -> ConnectFailure {
        if crate::descriptors::ran_out(error) {
            return ConnectFailure::NoDescriptor;
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => ConnectFailure::Refused,
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown => ConnectFailure::Unreachable,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => ConnectFailure::Reset,
            io::ErrorKind::TimedOut => ConnectFailure::TimedOut,
            _ => ConnectFailure::Other,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            ConnectFailure::Refused => "connection refused",
            ConnectFailure::Unreachable => "host unreachable",
            ConnectFailure::Reset => "connection reset",
            ConnectFailure::TimedOut => "timed out",
            ConnectFailure::NoAddress => "no address",
            ConnectFailure::NoDescriptor => "too many open files here (ulimit -n)",
            ConnectFailure::Other => "failed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Dns(DnsError),
    PrivateAddress(AddressRefused),
    Connect {
        reason: ConnectFailure,
        detail: String,
    },
    Proxy(String),
    /// No connection to the proxy came about.
    ProxyConnect {
        /// Its host and port.
        proxy: String,
        reason: ConnectFailure,
        detail: String,
    },
    Tls(String),
    Timeout {
        stage: Stage,
        after: Duration,
    },
    /// Closed or reset before the head of the answer was complete.
    Reset(String),
    /// The same, on a connection that was kept from an earlier request: the host may just have closed it for being idle.
    Stale(String),
    /// What came was not HTTP.
    Protocol(String),
    HeadersTooLarge,
    /// The URL or its headers cannot be written as an HTTP request.
    Unsendable(String),
    /// Nothing may be asked for any more, and nothing was (see [`crate::SendPermit`]).
    NoPermit,
}

impl FailureKind {
    /// The word that records and metrics count by.
    pub fn word(&self) -> &'static str {
        match self {
            FailureKind::Dns(_) => "dns",
            FailureKind::PrivateAddress(_) => "private_address",
            FailureKind::Connect { .. } => "connect",
            FailureKind::Proxy(_) | FailureKind::ProxyConnect { .. } => "proxy",
            FailureKind::Tls(_) => "tls",
            FailureKind::Timeout { .. } => "timeout",
            FailureKind::Reset(_) | FailureKind::Stale(_) => "reset",
            FailureKind::Protocol(_) => "protocol",
            FailureKind::HeadersTooLarge => "headers_too_large",
            FailureKind::Unsendable(_) => "unsendable",
            FailureKind::NoPermit => "no_permit",
        }
    }

    /// Whether the same request may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            FailureKind::Dns(error) => error.fault() == Fault::Resolver,
            FailureKind::Connect { reason, .. } | FailureKind::ProxyConnect { reason, .. } => {
                *reason != ConnectFailure::NoAddress
            }
            FailureKind::Proxy(_)
            | FailureKind::Tls(_)
            | FailureKind::Timeout { .. }
            | FailureKind::Reset(_)
            | FailureKind::Stale(_)
            | FailureKind::Protocol(_) => true,
            FailureKind::PrivateAddress(_)
            | FailureKind::HeadersTooLarge
            | FailureKind::Unsendable(_)
            | FailureKind::NoPermit => false,
        }
    }

    /// Whether it tells something about the host's health, and so counts for its breaker.
    pub fn counts_for_breaker(&self) -> bool {
        match self {
            FailureKind::Dns(error) => error.fault() == Fault::Resolver,
            FailureKind::PrivateAddress(_) | FailureKind::Unsendable(_) | FailureKind::NoPermit => false,
            FailureKind::Connect { reason, .. } => *reason != ConnectFailure::NoDescriptor,
            _ => true,
        }
    }

    /// Whether no connection could be opened for want of a file descriptor: the host has not been asked.
    pub fn is_out_of_descriptors(&self) -> bool {
        matches!(self, FailureKind::Connect { reason: ConnectFailure::NoDescriptor, .. })
    }

    /// Whether many of these on many hosts at once mean that the network here is down: no packet of the host has
    /// been seen.
    pub fn may_be_network_down(&self) -> bool {
        match self {
            FailureKind::Dns(error) => error.fault() == Fault::Resolver,
            FailureKind::Connect { reason, .. } | FailureKind::ProxyConnect { reason, .. } => {
                matches!(reason, ConnectFailure::Unreachable | ConnectFailure::TimedOut)
            }
            FailureKind::Timeout { stage, .. } => {
                matches!(stage, Stage::Connect | Stage::ProxyConnect | Stage::FirstByte)
            }
            _ => false,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureKind::Dns(error) => write!(f, "dns: {error}"),
            FailureKind::PrivateAddress(refused) => write!(f, "private address: {refused}"),
            FailureKind::Connect { reason, detail } if detail.is_empty() => {
                write!(f, "connect: {}", reason.as_str())
            }
            FailureKind::Connect { reason, detail } => write!(f, "connect: {} ({detail})", reason.as_str()),
            FailureKind::Proxy(detail) => write!(f, "proxy: {detail}"),
            FailureKind::ProxyConnect { proxy, reason, detail } if detail.is_empty() => {
                write!(f, "proxy: {proxy}: {}", reason.as_str())
            }
            FailureKind::ProxyConnect { proxy, reason, detail } => {
                write!(f, "proxy: {proxy}: {} ({detail})", reason.as_str())
            }
            FailureKind::Tls(detail) => write!(f, "tls: {detail}"),
            FailureKind::Timeout { stage, after } => {
                write!(f, "timeout: {} after {}", stage.as_str(), Seconds(*after))
            }
            FailureKind::Reset(detail) => write!(f, "reset: {detail}"),
            FailureKind::Stale(detail) => write!(f, "reset: {detail}, on a kept connection"),
            FailureKind::Protocol(detail) => write!(f, "protocol: {detail}"),
            FailureKind::HeadersTooLarge => f.write_str("protocol: response headers over the limit"),
            FailureKind::NoPermit => f.write_str("nothing may be asked for any more"),
            FailureKind::Unsendable(detail) => write!(f, "unsendable: {detail}"),
        }
    }
}

/// `30 s`, `0.25 s`.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_nanos() == 0 {
            write!(f, "{} s", self.0.as_secs())
        } else {
            let text = format!("{:.3}", self.0.as_secs_f64());
            write!(f, "{} s", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// A failure on its way out, before URL, address and timings are known to it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) source: Option<Cause>,
}

impl Failure {
    pub(crate) fn caused(kind: FailureKind, source: impl Into<Cause>) -> Failure {
        Failure { kind, source: Some(source.into()) }
    }

    /// The connection that failed was to be one to this proxy. Without a descriptor the fault is not the proxy's.
    pub(crate) fn on_the_way_to(self, proxy: &Proxy) -> Failure {
        match self.kind {
            FailureKind::Connect { reason, detail } if reason != ConnectFailure::NoDescriptor => {
                let proxy = format!("{}:{}", proxy.host, proxy.port);
                Failure { kind: FailureKind::ProxyConnect { proxy, reason, detail }, ..self }
            }
            kind => Failure { kind, ..self },
        }
    }

    /// No answer came to a request on a connection that was kept from an earlier one.
    pub(crate) fn on_kept_connection(self) -> Failure {
        match self.kind {
            FailureKind::Reset(detail) => Failure { kind: FailureKind::Stale(detail), ..self },
            kind => Failure { kind, ..self },
        }
    }
}

impl From<FailureKind> for Failure {
    fn from(kind: FailureKind) -> Failure {
        Failure { kind, source: None }
    }
}

impl From<hyper::Error> for Failure {
    fn from(error: hyper::Error) -> Failure {
        Failure { kind: kind_of(&error), source: Some(error.into()) }
    }
}

fn kind_of(error: &hyper::Error) -> FailureKind {
    if error.is_parse_too_large() {
        return FailureKind::HeadersTooLarge;
    }
    if error.is_parse() {
        return FailureKind::Protocol(deepest(error));
    }
    if let Some(io) = cause::<io::Error>(error) {
        return match io.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
                FailureKind::Reset(String::from("connection reset"))
            }
            io::ErrorKind::UnexpectedEof => FailureKind::Reset(String::from("closed before an answer")),
            io::ErrorKind::InvalidData => FailureKind::Tls(io.to_string()),
            _ => FailureKind::Reset(io.to_string()),
        };
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return FailureKind::Reset(String::from("closed before an answer"));
    }
    FailureKind::Protocol(deepest(error))
}

/// The first cause of type `T` behind an error.
pub(crate) fn cause<'e, T: std::error::Error + 'static>(
    error: &'e (dyn std::error::Error + 'static),
) -> Option<&'e T> {
    let mut at = error.source();
    while let Some(inner) = at {
        if let Some(found) = inner.downcast_ref::<T>() {
            return Some(found);
        }
        at = inner.source();
    }
    None
}

/// The stream ended in the middle of a message.
pub(crate) fn is_unexpected_end(error: &hyper::Error) -> bool {
    cause::<io::Error>(error).is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof)
}

fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut at = error;
    while let Some(inner) = at.source() {
        at = inner;
    }
    at.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::Millis;

    #[test]
    fn messages_read_as_records_show_them() {
        let timeout = FailureKind::Timeout { stage: Stage::FirstByte, after: Duration::from_secs(30) };
        assert_eq!(timeout.to_string(), "timeout: first byte after 30 s");
        let short = FailureKind::Timeout { stage: Stage::Connect, after: Duration::from_millis(250) };
        assert_eq!(short.to_string(), "timeout: connect after 0.25 s");
        let refused = FailureKind::Connect { reason: ConnectFailure::Refused, detail: String::new() };
        assert_eq!(refused.to_string(), "connect: connection refused");
    }

    #[test]
    fn what_the_host_is_not_to_blame_for_opens_no_breaker() {
        let no_such_host = FailureKind::Dns(DnsError::NxDomain { retry_at: Millis(0) });
        assert!(!no_such_host.counts_for_breaker());
        assert!(!no_such_host.is_transient());
        assert!(!no_such_host.may_be_network_down());
        let silent = FailureKind::Dns(DnsError::Timeout);
        assert!(silent.counts_for_breaker() && silent.is_transient() && silent.may_be_network_down());
    }
}
