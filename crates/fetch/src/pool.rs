//! The idle connections of one fetcher: kept per origin and proxy, closed when they have been idle for long or when
//! there are too many of them, the longest idle first.

use crate::http1::Http1;
use crate::http2::Http2;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

#[derive(Default)]
pub(crate) struct Pool {
    hosts: HashMap<Rc<str>, HostConnections>,
    /// Everything idle, oldest first.
    idle: BTreeMap<u64, Idle>,
    sequence: u64,
}

struct Idle {
    key: Rc<str>,
    since: Instant,
}

#[derive(Default)]
struct HostConnections {
    http1: Vec<(u64, Http1)>,
    http2: Option<Rc<Http2>>,
    /// Under which number the HTTP/2 connection is listed as idle.
    http2_idle: Option<u64>,
    /// Spoken at the last connection.
    protocol: Option<Protocol>,
    /// Held while a connection is opened that may turn out to be HTTP/2.
    opening: Rc<Mutex<()>>,
}

/// A request on a shared HTTP/2 connection. However it ends, also by being given up, the connection learns of it.
pub(crate) struct ActiveStream {
    pub(crate) connection: Rc<Http2>,
    key: Rc<str>,
    pool: Rc<RefCell<Pool>>,
}

impl ActiveStream {
    pub(crate) fn new(connection: Rc<Http2>, key: Rc<str>, pool: Rc<RefCell<Pool>>) -> ActiveStream {
        connection.begin_stream();
        ActiveStream { connection, key, pool }
    }
}

impl Drop for ActiveStream {
    fn drop(&mut self) {
        self.connection.end_stream();
        // No stream is dropped from within the pool, so this always succeeds; if it did not, the connection would
        // only be kept until its next use.
        if let Ok(mut pool) = self.pool.try_borrow_mut() {
            pool.released_http2(&self.key, Instant::now());
        }
    }
}

impl Pool {
    /// An idle HTTP/1 connection, the one used last: it is the least likely to have been closed.
    pub(crate) fn take_http1(&mut self, key: &str) -> Option<Http1> {
        let (sequence, connection) = self.hosts.get_mut(key)?.http1.pop()?;
        self.idle.remove(&sequence);
        Some(connection)
    }

    /// The HTTP/2 connection, to be shared.
    pub(crate) fn http2(&mut self, key: &str) -> Option<Rc<Http2>> {
        let host = self.hosts.get_mut(key)?;
        let connection = host.http2.as_ref()?;
        if connection.is_usable() {
            if let Some(sequence) = host.http2_idle.take() {
                self.idle.remove(&sequence);
            }
            return Some(connection.clone());
        }
        self.forget_http2(key);
        None
    }

    /// Drops an HTTP/2 connection that takes no more requests. Those still on it hold it themselves.
    pub(crate) fn forget_http2(&mut self, key: &str) {
        if let Some(host) = self.hosts.get_mut(key) {
            host.http2 = None;
            if let Some(sequence) = host.http2_idle.take() {
                self.idle.remove(&sequence);
            }
        }
    }

    /// Drops all idle connections to a host: one that was closed while idle says the same of the others.
    pub(crate) fn forget_idle(&mut self, key: &str) {
        if let Some(host) = self.hosts.get_mut(key) {
            for (sequence, _) in host.http1.drain(..) {
                self.idle.remove(&sequence);
            }
        }
    }

    /// The lock to hold while connecting, unless the host is known to speak HTTP/1: with HTTP/2 all but the first
    /// request would open a connection for nothing.
    pub(crate) fn opening(&mut self, key: &Rc<str>) -> Option<Rc<Mutex<()>>> {
        let host = self.hosts.entry(key.clone()).or_default();
        (host.protocol != Some(Protocol::Http1)).then(|| host.opening.clone())
    }

    pub(crate) fn opened_http1(&mut self, key: &Rc<str>) {
        self.hosts.entry(key.clone()).or_default().protocol = Some(Protocol::Http1);
    }

    pub(crate) fn opened_http2(&mut self, key: &Rc<str>, connection: Rc<Http2>) {
        self.forget_http2(key);
        let host = self.hosts.entry(key.clone()).or_default();
        host.protocol = Some(Protocol::Http2);
        host.http2 = Some(connection);
    }

    pub(crate) fn put_http1(&mut self, key: &Rc<str>, connection: Http1, now: Instant) {
        let sequence = self.list(key, now);
        self.hosts.entry(key.clone()).or_default().http1.push((sequence, connection));
    }

    /// A request on the HTTP/2 connection has ended.
    fn released_http2(&mut self, key: &Rc<str>, now: Instant) {
        let idle =
            self.hosts.get(key).and_then(|host| host.http2.as_ref()).is_some_and(|http2| http2.is_idle());
        if !idle {
            return;
        }
        let sequence = self.list(key, now);
        if let Some(host) = self.hosts.get_mut(key)
            && let Some(former) = host.http2_idle.replace(sequence)
        {
            self.idle.remove(&former);
        }
    }

    fn list(&mut self, key: &Rc<str>, now: Instant) -> u64 {
        self.sequence += 1;
        self.idle.insert(self.sequence, Idle { key: key.clone(), since: now });
        self.sequence
    }

    /// Closes what has been idle for `longest`, and the oldest beyond `most`.
    pub(crate) fn trim(&mut self, now: Instant, longest: Duration, most: usize) {
        while let Some((sequence, oldest)) = self.idle.first_key_value() {
            if self.idle.len() <= most && now.saturating_duration_since(oldest.since) < longest {
                return;
            }
            let (sequence, key) = (*sequence, oldest.key.clone());
            self.close(&key, sequence);
        }
    }

    fn close(&mut self, key: &Rc<str>, sequence: u64) {
        self.idle.remove(&sequence);
        let Some(host) = self.hosts.get_mut(key) else { return };
        if host.http2_idle == Some(sequence) {
            host.http2 = None;
            host.http2_idle = None;
        } else {
            host.http1.retain(|(listed, _)| *listed != sequence);
        }
        self.forget_host(key);
    }

    /// Keeps no record of a host without connections, unless one is being opened right now.
    pub(crate) fn forget_host(&mut self, key: &str) {
        if self.hosts.get(key).is_some_and(|host| {
            host.http1.is_empty() && host.http2.is_none() && Rc::strong_count(&host.opening) == 1
        }) {
            self.hosts.remove(key);
        }
    }

    pub(crate) fn key(&self, key: &str) -> Option<Rc<str>> {
        self.hosts.get_key_value(key).map(|(key, _)| key.clone())
    }

    pub(crate) fn idle_count(&self) -> usize {
        self.idle.len()
    }

    #[cfg(test)]
    pub(crate) fn host_count(&self) -> usize {
        self.hosts.len()
    }
}
