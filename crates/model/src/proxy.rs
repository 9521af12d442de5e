//! Which hosts are requested through a proxy: the rules of `no_proxy`, as curl, wget and most programs apply them.

use std::net::IpAddr;

/// Hosts that are requested directly, as listed in `no_proxy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoProxy {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Everything,
    Network {
        address: IpAddr,
        prefix: u8,
    },
    /// The domain and its subdomains; with a port, only that port.
    Domain {
        name: String,
        port: Option<u16>,
    },
}

impl NoProxy {
    /// Entries are separated by commas or blanks: `*`, `example.com` and `.example.com` (each with subdomains),
    /// `example.com:8080`, `10.1.2.3`, `10.0.0.0/8`, `[::1]`.
    pub fn parse(text: &str) -> NoProxy {
        let words = text.split([',', ' ', '\t', '\n']).map(str::trim).filter(|word| !word.is_empty());
        NoProxy { entries: words.map(Entry::parse).collect() }
    }

    /// `host_name` is without a port; an IPv6 address has its brackets.
    pub fn covers(&self, host_name: &str, port: u16) -> bool {
        let host = host_name.trim_end_matches('.');
        let address: Option<IpAddr> = without_brackets(host).parse().ok();
        self.entries.iter().any(|entry| match entry {
            Entry::Everything => true,
            Entry::Network { address: network, prefix } => {
                address.is_some_and(|address| contains(*network, *prefix, address))
            }
            Entry::Domain { name, port: only } => {
                let below = |rest: &str| rest.is_empty() || rest.ends_with('.');
                let host = without_brackets(host).to_ascii_lowercase();
                only.is_none_or(|only| only == port) && host.strip_suffix(name.as_str()).is_some_and(below)
            }
        })
    }
}

impl Entry {
    fn parse(word: &str) -> Entry {
        if word == "*" {
            return Entry::Everything;
        }
        if let Ok(address) = without_brackets(word).parse::<IpAddr>() {
            return Entry::Network { address, prefix: width(address) };
        }
        if let Some((address, prefix)) = word.split_once('/')
            && let (Ok(address), Ok(prefix)) =
                (without_brackets(address).parse::<IpAddr>(), prefix.parse::<u8>())
        {
            return Entry::Network { address, prefix: prefix.min(width(address)) };
        }
        let (name, port) = match word.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => (name, port.parse().ok()),
            _ => (word, None),
        };
        let name = without_brackets(name).trim_start_matches("*.").trim_matches('.').to_ascii_lowercase();
        Entry::Domain { name, port }
    }
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn contains(network: IpAddr, prefix: u8, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let kept = if prefix == 0 { 0 } else { u128::MAX << (128 - u32::from(prefix)) };
    network.is_ipv4() == address.is_ipv4() && bits(network) & kept == bits(address) & kept
}

/// Which requests go through a proxy. The code that resolves names needs to know, because the proxy resolves those.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyReach {
    pub http: bool,
    pub https: bool,
    pub except: NoProxy,
}

impl ProxyReach {
    pub fn everything() -> ProxyReach {
        ProxyReach { http: true, https: true, except: NoProxy::default() }
    }

    pub fn covers(&self, url: &crate::Url) -> bool {
        let is_proxied = match url.scheme() {
            crate::Scheme::Http => self.http,
            crate::Scheme::Https => self.https,
        };
        is_proxied && !self.except.covers(url.host_name(), url.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_networks_and_ports_are_left_out_as_no_proxy_says() {
        let none =
            NoProxy::parse("example.com, .b.test,*.c.test 10.0.0.0/8,127.0.0.1,[::1],d.test:8080,fe80::/10");
        for (host, port) in [
            ("example.com", 80),
            ("www.Example.com", 443),
            ("b.test", 80),
            ("a.b.test", 80),
            ("c.test", 80),
            ("x.c.test", 80),
            ("10.200.3.4", 80),
            ("127.0.0.1", 8080),
            ("[::1]", 80),
            ("d.test", 8080),
            ("[fe80::1]", 80),
        ] {
            assert!(none.covers(host, port), "{host}:{port}");
        }
        for (host, port) in
            [("notexample.com", 80), ("d.test", 80), ("11.0.0.1", 80), ("127.0.0.2", 80), ("[::2]", 80)]
        {
            assert!(!none.covers(host, port), "{host}:{port}");
        }
        assert!(NoProxy::parse("*").covers("anything.test", 80));
        assert!(!NoProxy::parse(" , ").covers("anything.test", 80));
    }

    #[test]
    fn a_scheme_without_a_proxy_is_asked_directly() {
        let url = |text: &str| crate::Url::from_stored(text).unwrap();
        let reach = ProxyReach { http: true, https: false, except: NoProxy::parse("b.test") };
        assert!(reach.covers(&url("http://a.test/")));
        assert!(!reach.covers(&url("https://a.test/")));
        assert!(!reach.covers(&url("http://b.test/")));
    }
}
