//! TLS sessions to resume, so that a new connection to a known host needs no signature and no certificate chain.
//! The store that comes with rustls keeps eight tickets each for 32 hosts by default; a crawl has few connections each to
//! many hosts.

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A session holds its host's certificates: about 5 KB.
const MOST_HOSTS: usize = 2048;

#[derive(Default)]
pub(crate) struct Sessions {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    hosts: HashMap<ServerName<'static>, HostSessions>,
    /// In the order of insertion; the first is evicted next.
    order: VecDeque<ServerName<'static>>,
}

#[derive(Default)]
struct HostSessions {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// Tickets are used once; the latest of a host first.
    tls13: Option<Tls13ClientSessionValue>,
}

impl Sessions {
    /// A panic cannot leave it inconsistent: each change is a single call.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn of(&mut self, name: ServerName<'static>) -> &mut HostSessions {
        if !self.hosts.contains_key(&name) {
            self.order.push_back(name.clone());
            if self.order.len() > MOST_HOSTS
                && let Some(oldest) = self.order.pop_front()
            {
                self.hosts.remove(&oldest);
            }
        }
        self.hosts.entry(name).or_default()
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("hosts", &self.kept().hosts.len()).finish()
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
        self.kept().of(server_name).group = Some(group);
    }

    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().hosts.get(server_name)?.group
    }

    fn set_tls12_session(&self, server_name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.kept().of(server_name).tls12 = Some(value);
    }

    fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().hosts.get(server_name)?.tls12.clone()
    }

    fn remove_tls12_session(&self, server_name: &ServerName<'static>) {
        if let Some(host) = self.kept().hosts.get_mut(server_name) {
            host.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, server_name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.kept().of(server_name).tls13 = Some(value);
    }

    fn take_tls13_ticket(&self, server_name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().hosts.get_mut(server_name)?.tls13.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_that_came_first_is_forgotten_when_there_are_too_many() {
        let sessions = Sessions::default();
        let name = |n: usize| ServerName::try_from(format!("h{n}.example")).unwrap();
        for n in 0..=MOST_HOSTS {
            sessions.set_kx_hint(name(n), NamedGroup::X25519);
            sessions.set_kx_hint(name(n), NamedGroup::secp256r1);
        }
        assert_eq!(sessions.kx_hint(&name(0)), None);
        assert_eq!(sessions.kx_hint(&name(1)), Some(NamedGroup::secp256r1));
        assert_eq!(sessions.kx_hint(&name(MOST_HOSTS)), Some(NamedGroup::secp256r1));
        let kept = sessions.kept();
        assert_eq!((kept.hosts.len(), kept.order.len()), (MOST_HOSTS, MOST_HOSTS));
    }
}
