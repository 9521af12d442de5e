//! Addresses of hosts: when a name must be resolved, and the result.

use crate::frontier::Frontier;
use crate::host::{Address, Place};
use crate::ready::HostIndex;
use crate::step::Step;
use argiope_model::{JobId, Millis, Url};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Attempts to resolve a name when no resolver answers, before it counts as the host's failure.
const DNS_TRIES: u8 = 3;

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// The name does not exist, or has no allowed address; valid until then.
    NoSuchHost { until: Millis, why: Box<str> },
    /// No resolver answered.
    NoAnswer { why: Box<str> },
}

impl Frontier {
    /// Whether the job requests `url` through a proxy, which resolves its name. A literal address is checked anyway: it
    /// may be forbidden.
    pub(crate) fn is_proxied(&self, job: JobId, url: &Url) -> bool {
        let name = url.host_name();
        if name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok() {
            return false;
        }
        let own = self.jobs.get(&job).and_then(|job| job.limits.proxied);
        own.unwrap_or_else(|| self.rules.is_proxied(url))
    }

    pub(crate) fn find_address(&mut self, index: HostIndex, proxied: bool, now: Millis) -> AddressNeed {
        let Some(host) = self.hosts.get_mut(index as usize) else { return AddressNeed::Missing };
        if proxied {
            return AddressNeed::Known;
        }
        match &host.reachability.address {
            Address::Known { expires, .. } if *expires > now => AddressNeed::Known,
            Address::Missing { until, .. } if *until > now => AddressNeed::Missing,
            _ => {
                let name: Box<str> = name_without_port(&host.name).into();
                host.reachability.address = Address::Asking;
                host.step_began();
                self.resolving += 1;
                self.reschedule(index, now);
                AddressNeed::First(Step::Resolve { host: index, name })
            }
        }
    }

    /// The host's addresses, if the first of them may have another request now; otherwise the host waits for it.
    pub(crate) fn address_for(
        &mut self,
        index: HostIndex,
        per_host: NonZeroU32,
        now: Millis,
    ) -> Option<(Arc<[IpAddr]>, Option<IpAddr>)> {
        let limit = self.per_address_of(per_host);
        let host = self.hosts.get_mut(index as usize)?;
        let turn = host.reachability.take_address_turn();
        let (addresses, first) = match &host.reachability.address {
            Address::Known { addresses, .. } => (Arc::clone(addresses), addresses.first().copied()),
            _ => (Arc::from([]), None),
        };
        let full = first.filter(|address| self.addresses.in_flight(*address) >= limit);
        if let Some(address) = full {
            host.stamp = host.stamp.wrapping_add(1);
            host.place = Place::AtAddress;
            self.addresses.wait(address, index, host.stamp);
        }
        if let Some(other) = turn.filter(|turn| Some(*turn) != first) {
            // The address of the name has changed since it was in line there.
            self.pass_on(other, now);
        }
        if full.is_some() { None } else { Some((addresses, first)) }
    }

    pub fn resolved(
        &mut self,
        index: HostIndex,
        result: Result<(Arc<[IpAddr]>, Millis), Unresolved>,
        now: Millis,
    ) {
        self.resolving = self.resolving.saturating_sub(1);
        if self.step_ended(index) {
            return;
        }
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        match result {
            Ok((addresses, expires)) => {
                host.reachability.dns_tries = 0;
                host.reachability.dns_retry_at = Millis(0);
                host.reachability.address = Address::Known { addresses, expires };
            }
            Err(Unresolved::NoSuchHost { until, why }) => {
                host.reachability.address = Address::Missing { until, why }
            }
            Err(Unresolved::NoAnswer { why }) => {
                host.reachability.dns_tries += 1;
                if host.reachability.dns_tries < DNS_TRIES {
                    host.reachability.dns_retry_at =
                        now + Duration::from_secs(2 << host.reachability.dns_tries);
                    host.reachability.address = Address::Unknown;
                } else {
                    host.reachability.dns_tries = 0;
                    host.reachability.address =
                        Address::Missing { until: now + Duration::from_secs(60), why };
                }
                let is_witness = self.network.heard(index);
                let verdicts = self.network.failed(index, None, is_witness, now);
                self.decide(verdicts, now);
            }
        }
        self.reschedule(index, now);
    }
}

pub(crate) enum AddressNeed {
    Known,
    Missing,
    First(Step),
}

/// The address that a host name spells out.
/// `example.com:8080` -> `example.com`.
fn name_without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(at) if !host.ends_with(']') => host.get(..at).unwrap_or(host),
        _ => host,
    }
}
