//! The idle connections of one fetcher, by origin and proxy. They are closed when they expire, or when there are more than
//! the fetcher's share of descriptors (`descriptors.rs`); those that expire first go first.

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
    /// All idle connections, in the order in which they expire.
    idle: BTreeMap<IdleUntil, Rc<str>>,
    sequence: u64,
}

/// When an idle connection expires, with a number that makes it unique.
type IdleUntil = (Instant, u64);

#[derive(Default)]
struct HostConnections {
    http1: Vec<(IdleUntil, Http1)>,
    http2: Option<Rc<Http2>>,
    /// The expiry of the HTTP/2 connection while it is idle.
    http2_idle: Option<IdleUntil>,
    /// The protocol of the last connection.
    protocol: Option<Protocol>,
    /// Held while a connection is opened that may be HTTP/2.
    opening: Rc<Mutex<()>>,
}

/// A request on a shared HTTP/2 connection. Dropping it gives the connection back, however the request ended.
pub(crate) struct ActiveStream {
    pub(crate) connection: Rc<Http2>,
    key: Rc<str>,
    pool: Rc<RefCell<Pool>>,
    idle_timeout: Duration,
}

impl ActiveStream {
    pub(crate) fn new(
        connection: Rc<Http2>,
        key: Rc<str>,
        pool: Rc<RefCell<Pool>>,
        idle_timeout: Duration,
    ) -> ActiveStream {
        connection.begin_stream();
        ActiveStream { connection, key, pool, idle_timeout }
    }
}

impl Drop for ActiveStream {
    fn drop(&mut self) {
        self.connection.end_stream();
        // No stream is dropped from within the pool, so this always succeeds; if it did not, the connection would
        // only be kept until its next use.
        if let Ok(mut pool) = self.pool.try_borrow_mut() {
            pool.released_http2(&self.key, Instant::now() + self.idle_timeout);
        }
    }
}

impl Pool {
    /// The idle HTTP/1 connection that was used last: it is the least likely to be closed. Expired ones are not used: the host
    /// may be closing them at this moment.
    pub(crate) fn take_http1(&mut self, key: &str, now: Instant) -> Option<Http1> {
        loop {
            let (until, connection) = self.hosts.get_mut(key)?.http1.pop()?;
            self.idle.remove(&until);
            if now < until.0 {
                return Some(connection);
            }
        }
    }

    /// The HTTP/2 connection, to be shared.
    pub(crate) fn http2(&mut self, key: &str) -> Option<Rc<Http2>> {
        let host = self.hosts.get_mut(key)?;
        let connection = host.http2.as_ref()?;
        if connection.is_usable() {
            if let Some(until) = host.http2_idle.take() {
                self.idle.remove(&until);
            }
            return Some(connection.clone());
        }
        self.forget_http2(key);
        None
    }

    /// Drops an HTTP/2 connection that accepts no more requests. Requests on it keep it alive.
    pub(crate) fn forget_http2(&mut self, key: &str) {
        if let Some(host) = self.hosts.get_mut(key) {
            host.http2 = None;
            if let Some(until) = host.http2_idle.take() {
                self.idle.remove(&until);
            }
        }
    }

    /// Drops all idle connections to a host: if one was closed, the others probably are, too.
    pub(crate) fn forget_idle(&mut self, key: &str) {
        if let Some(host) = self.hosts.get_mut(key) {
            for (until, _) in host.http1.drain(..) {
                self.idle.remove(&until);
            }
        }
    }

    /// The lock to hold while connecting, unless the host is known to use HTTP/1: with HTTP/2, only the first request
    /// needs to open a connection.
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

    /// Keeps a connection until it expires.
    pub(crate) fn put_http1(&mut self, key: &Rc<str>, connection: Http1, until: Instant) {
        let until = self.list(key, until);
        self.hosts.entry(key.clone()).or_default().http1.push((until, connection));
    }

    /// A request on the HTTP/2 connection has ended.
    fn released_http2(&mut self, key: &Rc<str>, until: Instant) {
        let idle =
            self.hosts.get(key).and_then(|host| host.http2.as_ref()).is_some_and(|http2| http2.is_idle());
        if !idle {
            return;
        }
        let until = self.list(key, until);
        if let Some(host) = self.hosts.get_mut(key)
            && let Some(former) = host.http2_idle.replace(until)
        {
            self.idle.remove(&former);
        }
    }

    fn list(&mut self, key: &Rc<str>, until: Instant) -> IdleUntil {
        self.sequence += 1;
        let until = (until, self.sequence);
        self.idle.insert(until, key.clone());
        until
    }

    /// Closes expired connections, and those beyond `most` that expire next. Returns when the next one expires.
    pub(crate) fn trim(&mut self, now: Instant, most: usize) -> Option<Instant> {
        loop {
            let (until, key) = self.idle.first_key_value()?;
            if self.idle.len() <= most && now < until.0 {
                return Some(until.0);
            }
            let (until, key) = (*until, key.clone());
            self.close(&key, until);
        }
    }

    fn close(&mut self, key: &Rc<str>, until: IdleUntil) {
        self.idle.remove(&until);
        let Some(host) = self.hosts.get_mut(key) else { return };
        if host.http2_idle == Some(until) {
            host.http2 = None;
            host.http2_idle = None;
        } else {
            host.http1.retain(|(listed, _)| *listed != until);
        }
        self.forget_host(key);
    }

    /// Removes the entry of a host without connections, unless one is being opened.
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
