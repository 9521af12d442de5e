//! Looks up the addresses of a host, and refuses hosts with none that may be connected to.

use super::Worker;
use crate::log;
use crate::scheduler::Report;
use argiope_fetch::{AddressPolicy, Fetch};
use argiope_frontier::{HostIndex, Unresolved};
use std::net::IpAddr;

impl<F: Fetch> Worker<F> {
    pub(super) async fn resolve(&self, host: HostIndex, name: &str) {
        let result = match self.resolver.resolve(name).await {
            Ok(resolved) => match refused(&self.policy, &resolved.addresses) {
                // Then not even robots.txt can be requested.
                Some(why) => Err(Unresolved::NoSuchHost { until: resolved.expires, why }),
                None => Ok((resolved.addresses, resolved.expires)),
            },
            Err(error) => {
                let why = format!("dns: {error}").into();
                Err(match error.retry_at() {
                    Some(until) => Unresolved::NoSuchHost { until, why },
                    None => Unresolved::NoAnswer { why },
                })
            }
        };
        log::resolved(name, &result);
        self.report(Report::Resolved { host, result });
    }
}

/// Why all of the addresses are refused; None if one is allowed. The fetcher checks each again before it connects.
fn refused(policy: &AddressPolicy, addresses: &[IpAddr]) -> Option<Box<str>> {
    let mut why = None;
    for address in addresses {
        why = Some(policy.check(*address).err()?);
    }
    let refused = why?;
    let flag = if refused.class.opened_by_allow_private() { " and --allow-private is not given" } else { "" };
    Some(format!("private_address: {refused}{flag}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_host_is_refused_if_all_of_its_addresses_are() {
        let policy = AddressPolicy::public_only();
        assert_eq!(refused(&policy, &addresses(&["10.0.0.1", "93.184.216.34"])), None);
        assert_eq!(refused(&policy, &[]), None);
        let why = refused(&policy, &addresses(&["10.0.0.1", "127.0.0.1"])).unwrap();
        assert!(
            why.starts_with("private_address: ") && why.ends_with("--allow-private is not given"),
            "{why}"
        );
        assert_eq!(refused(&AddressPolicy::allowing_private(), &addresses(&["127.0.0.1"])), None);
    }

    #[test]
    fn no_flag_is_named_for_addresses_that_it_does_not_open() {
        let policy = AddressPolicy::allowing_private();
        let why = refused(&policy, &addresses(&["169.254.169.254"])).unwrap();
        assert!(!why.contains("--allow-private"), "{why}");
    }
}
