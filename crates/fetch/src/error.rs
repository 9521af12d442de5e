//! The failure of a fetch: kind, URL, cause and consequences.

use crate::dns::{DnsError, Fault};
use crate::guard::AddressRefused;
use crate::proxy::Proxy;
use argiope_model::{FailureKind, FetchTimings, Url};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A request without a response that could be stored. Records and reports show its text:
/// `timeout: first byte after 30 s`.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct FetchError {
    pub kind: FetchFailure,
    pub url: Url,
    /// The address that was connected to, if any.
    pub address: Option<SocketAddr>,
    pub timings: FetchTimings,
    #[source]
    pub source: Option<Cause>,
}

impl FetchError {
    /// A resolver error as a failed fetch.
    pub fn dns(url: Url, error: DnsError, timings: FetchTimings) -> Box<FetchError> {
        Box::new(FetchError { kind: FetchFailure::Dns(error), url, address: None, timings, source: None })
    }
}

/// What a fetch was waiting for when it timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    Connect,
    /// A connection to the proxy, not yet to the host.
    ProxyConnect,
    Proxy,
    Tls,
    FirstByte,
    /// The rest of the response headers.
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

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectFailure {
    Refused,
    /// No route to the host: the host's network is down, or the network of this machine.
    Unreachable,
    Reset,
    /// The kernel's own time limit for connecting was reached.
    TimedOut,
    /// No address was given.
    NoAddress,
    /// No file descriptor was free, even after idle connections were closed.
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
pub enum FetchFailure {
    Dns(DnsError),
    PrivateAddress(AddressRefused),
    Connect {
        reason: ConnectFailure,
        detail: String,
    },
    Proxy(String),
    /// The connection to the proxy failed.
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
    /// Closed or reset before the response headers were complete.
    Reset(String),
    /// The same on a reused connection: the host may just have closed it as idle.
    Stale(String),
    /// The response was not HTTP.
    Protocol(String),
    HeadersTooLarge,
    /// The URL or its headers cannot be written as an HTTP request.
    Unsendable(String),
    /// The permit was not held, so nothing was sent (see [`crate::SendPermit`]).
    NoPermit,
}

impl FetchFailure {
    /// The name under which records and metrics count it.
    pub fn word(&self) -> &'static str {
        match self {
            FetchFailure::Dns(_) => "dns",
            FetchFailure::PrivateAddress(_) => "private_address",
            FetchFailure::Connect { .. } => "connect",
            FetchFailure::Proxy(_) | FetchFailure::ProxyConnect { .. } => "proxy",
            FetchFailure::Tls(_) => "tls",
            FetchFailure::Timeout { .. } => "timeout",
            FetchFailure::Reset(_) | FetchFailure::Stale(_) => "reset",
            FetchFailure::Protocol(_) => "protocol",
            FetchFailure::HeadersTooLarge => "headers_too_large",
            FetchFailure::Unsendable(_) => "unsendable",
            FetchFailure::NoPermit => "no_permit",
        }
    }

    /// The kind on which politeness bases its decision.
    pub fn kind(&self) -> FailureKind {
        match self {
            FetchFailure::Dns(error) => match error.fault() {
                Fault::Host => FailureKind::NameNotFound,
                Fault::Resolver => FailureKind::NameUnresolved,
            },
            FetchFailure::PrivateAddress(_) => FailureKind::AddressRefused,
            FetchFailure::Connect { .. } | FetchFailure::Proxy(_) | FetchFailure::ProxyConnect { .. } => {
                FailureKind::Connect
            }
            FetchFailure::Tls(_) => FailureKind::Tls,
            FetchFailure::Timeout { .. } => FailureKind::Timeout,
            FetchFailure::Reset(_) | FetchFailure::Stale(_) => FailureKind::Reset,
            FetchFailure::Protocol(_)
            | FetchFailure::HeadersTooLarge
            | FetchFailure::Unsendable(_)
            | FetchFailure::NoPermit => FailureKind::Protocol,
        }
    }

    /// Whether no file descriptor was free for a connection: nothing was sent.
    pub fn is_out_of_descriptors(&self) -> bool {
        matches!(self, FetchFailure::Connect { reason: ConnectFailure::NoDescriptor, .. })
    }
}

impl fmt::Display for FetchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchFailure::Dns(error) => write!(f, "dns: {error}"),
            FetchFailure::PrivateAddress(refused) => write!(f, "private address: {refused}"),
            FetchFailure::Connect { reason, detail } if detail.is_empty() => {
                write!(f, "connect: {}", reason.as_str())
            }
            FetchFailure::Connect { reason, detail } => write!(f, "connect: {} ({detail})", reason.as_str()),
            FetchFailure::Proxy(detail) => write!(f, "proxy: {detail}"),
            FetchFailure::ProxyConnect { proxy, reason, detail } if detail.is_empty() => {
                write!(f, "proxy: {proxy}: {}", reason.as_str())
            }
            FetchFailure::ProxyConnect { proxy, reason, detail } => {
                write!(f, "proxy: {proxy}: {} ({detail})", reason.as_str())
            }
            FetchFailure::Tls(detail) => write!(f, "tls: {detail}"),
            FetchFailure::Timeout { stage, after } => {
                write!(f, "timeout: {} after {}", stage.as_str(), Seconds(*after))
            }
            FetchFailure::Reset(detail) => write!(f, "reset: {detail}"),
            FetchFailure::Stale(detail) => write!(f, "reset: {detail}, on a reused connection"),
            FetchFailure::Protocol(detail) => write!(f, "protocol: {detail}"),
            FetchFailure::HeadersTooLarge => f.write_str("protocol: response headers over the limit"),
            FetchFailure::NoPermit => f.write_str("not sent: the permit has expired"),
            FetchFailure::Unsendable(detail) => write!(f, "unsendable: {detail}"),
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

/// A failure before URL, address and timings are added.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FetchFailure,
    pub(crate) source: Option<Cause>,
}

impl Failure {
    pub(crate) fn caused(kind: FetchFailure, source: impl Into<Cause>) -> Failure {
        Failure { kind, source: Some(source.into()) }
    }

    /// Marks a failed connection as one to this proxy, unless it failed for lack of a descriptor.
    pub(crate) fn on_the_way_to(self, proxy: &Proxy) -> Failure {
        match self.kind {
            FetchFailure::Connect { reason, detail } if reason != ConnectFailure::NoDescriptor => {
                let proxy = format!("{}:{}", proxy.host, proxy.port);
                Failure { kind: FetchFailure::ProxyConnect { proxy, reason, detail }, ..self }
            }
            kind => Failure { kind, ..self },
        }
    }

    /// Marks a request without a response as one on a reused connection.
    pub(crate) fn on_kept_connection(self) -> Failure {
        match self.kind {
            FetchFailure::Reset(detail) => Failure { kind: FetchFailure::Stale(detail), ..self },
            kind => Failure { kind, ..self },
        }
    }
}

impl From<FetchFailure> for Failure {
    fn from(kind: FetchFailure) -> Failure {
        Failure { kind, source: None }
    }
}

impl From<hyper::Error> for Failure {
    fn from(error: hyper::Error) -> Failure {
        Failure { kind: kind_of(&error), source: Some(error.into()) }
    }
}

fn kind_of(error: &hyper::Error) -> FetchFailure {
    if error.is_parse_too_large() {
        return FetchFailure::HeadersTooLarge;
    }
    if error.is_parse() {
        return FetchFailure::Protocol(deepest(error));
    }
    if let Some(io) = cause::<io::Error>(error) {
        return match io.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
                FetchFailure::Reset(String::from("connection reset"))
            }
            io::ErrorKind::UnexpectedEof => FetchFailure::Reset(String::from("closed before an answer")),
            io::ErrorKind::InvalidData => FetchFailure::Tls(io.to_string()),
            _ => FetchFailure::Reset(io.to_string()),
        };
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return FetchFailure::Reset(String::from("closed before an answer"));
    }
    FetchFailure::Protocol(deepest(error))
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
        let timeout = FetchFailure::Timeout { stage: Stage::FirstByte, after: Duration::from_secs(30) };
        assert_eq!(timeout.to_string(), "timeout: first byte after 30 s");
        let short = FetchFailure::Timeout { stage: Stage::Connect, after: Duration::from_millis(250) };
        assert_eq!(short.to_string(), "timeout: connect after 0.25 s");
        let refused = FetchFailure::Connect { reason: ConnectFailure::Refused, detail: String::new() };
        assert_eq!(refused.to_string(), "connect: connection refused");
    }

    #[test]
    fn what_the_host_is_not_to_blame_for_opens_no_breaker() {
        let no_such_host = FetchFailure::Dns(DnsError::NxDomain { retry_at: Millis(0) });
        assert_eq!(no_such_host.kind(), FailureKind::NameNotFound);
        assert!(!no_such_host.kind().counts_for_breaker());
        let silent = FetchFailure::Dns(DnsError::Timeout);
        assert_eq!(silent.kind(), FailureKind::NameUnresolved);
        assert!(silent.kind().counts_for_breaker());
    }
}
