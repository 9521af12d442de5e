//! The address guard: which addresses a crawl may connect to. Pure; [`crate::connect`] checks the very address that it is
//! about to connect to, so that neither a redirect nor a changed DNS answer gets around it.

use ipnet::IpNet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not on the public internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressClass {
    Loopback,
    /// RFC 1918, unique local IPv6, shared carrier NAT, benchmarking networks, local-use NAT64.
    Private,
    LinkLocal,
    /// Where cloud providers serve instance credentials.
    Metadata,
    Multicast,
    Unspecified,
    Documentation,
    /// Everything else that no public host can have.
    Reserved,
}

impl AddressClass {
    pub fn as_str(self) -> &'static str {
        match self {
            AddressClass::Loopback => "loopback",
            AddressClass::Private => "private",
            AddressClass::LinkLocal => "link-local",
            AddressClass::Metadata => "cloud metadata",
            AddressClass::Multicast => "multicast",
            AddressClass::Unspecified => "unspecified",
            AddressClass::Documentation => "documentation",
            AddressClass::Reserved => "reserved",
        }
    }

    /// Whether `--allow-private` opens it. The other classes are opened by the explicit list only.
    pub fn opened_by_allow_private(self) -> bool {
        matches!(self, AddressClass::Loopback | AddressClass::Private)
    }
}

impl AddressClass {
    /// "a private", "an unspecified".
    pub fn with_article(self) -> String {
        let article = if self == AddressClass::Unspecified { "an" } else { "a" };
        format!("{article} {self}")
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An address that may not be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {} address", .class.with_article())]
pub struct AddressRefused {
    pub address: IpAddr,
    pub class: AddressClass,
}

/// What the operator opened beyond the public internet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Opens loopback and private ranges; never link-local and metadata addresses.
    pub allow_private: bool,
    /// Opens exactly these networks, of any class.
    pub allowed: Vec<IpNet>,
}

impl AddressPolicy {
    /// Nothing but the public internet.
    pub fn public_only() -> AddressPolicy {
        AddressPolicy::default()
    }

    pub fn allowing_private() -> AddressPolicy {
        AddressPolicy { allow_private: true, allowed: Vec::new() }
    }

    /// One entry of the explicit list: `169.254.169.254`, `10.0.0.0/8`, `fe80::/10`.
    pub fn parse_network(text: &str) -> Result<IpNet, String> {
        let text = text.trim();
        text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).map_err(|_| {
            format!("'{text}' is not an address or network; write for example 10.1.2.3 or 10.0.0.0/8")
        })
    }

    pub fn check(&self, address: IpAddr) -> Result<(), AddressRefused> {
        let Some(class) = classify(address) else { return Ok(()) };
        if self.allow_private && class.opened_by_allow_private() {
            return Ok(());
        }
        let plain = address.to_canonical();
        if self.allowed.iter().any(|network| network.contains(&address) || network.contains(&plain)) {
            return Ok(());
        }
        Err(AddressRefused { address, class })
    }
}

/// `None` for an address of the public internet. An IPv6 address that carries an IPv4 address is what that is,
/// because a gateway or the kernel would deliver to it.
pub fn classify(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    }
}

/// Addresses at which clouds hand out instance credentials; some of them lie in otherwise public networks.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];

const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254),
];

fn classify_v4(v4: Ipv4Addr) -> Option<AddressClass> {
    if METADATA_V4.contains(&v4) {
        return Some(AddressClass::Metadata);
    }
    match v4.octets() {
        [0, ..] => Some(AddressClass::Unspecified),
        [127, ..] => Some(AddressClass::Loopback),
        [10, ..] | [192, 168, ..] | [198, 18 | 19, ..] => Some(AddressClass::Private),
        [172, second, ..] if (16..32).contains(&second) => Some(AddressClass::Private),
        [100, second, ..] if (64..128).contains(&second) => Some(AddressClass::Private),
        [169, 254, ..] => Some(AddressClass::LinkLocal),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some(AddressClass::Documentation),
        [192, 0, 0, _] | [192, 88, 99, _] => Some(AddressClass::Reserved),
        [first, ..] if (224..240).contains(&first) => Some(AddressClass::Multicast),
        [first, ..] if first >= 240 => Some(AddressClass::Reserved),
        _ => None,
    }
}

fn classify_v6(v6: Ipv6Addr) -> Option<AddressClass> {
    if METADATA_V6.contains(&v6) {
        return Some(AddressClass::Metadata);
    }
    if v6.is_unspecified() {
        return Some(AddressClass::Unspecified);
    }
    if v6.is_loopback() {
        return Some(AddressClass::Loopback);
    }
    let last = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match v6.segments() {
        // IPv4-mapped, IPv4-compatible, IPv4-translated, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => classify_v4(last(high, low)),
        // NAT64 for local use: a network of the operator, and possibly a worse address within.
        [0x64, 0xff9b, 1, _, _, _, high, low] => {
            worse(Some(AddressClass::Private), classify_v4(last(high, low)))
        }
        // 6to4 carries the address right after its prefix.
        [0x2002, high, low, ..] => classify_v4(last(high, low)),
        // Teredo: the server as it is, the client with its bits inverted.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            worse(classify_v4(last(server_high, server_low)), classify_v4(last(!high, !low)))
        }
        [0x2001, 0x0db8, ..] => Some(AddressClass::Documentation),
        [0x3fff, second, ..] if second < 0x1000 => Some(AddressClass::Documentation),
        // ISATAP interface identifiers end in the IPv4 address they tunnel to.
        [first, _, _, _, 0 | 0x0200, 0x5efe, high, low] => {
            worse(v6_prefix(first), classify_v4(last(high, low)))
        }
        [first, ..] => v6_prefix(first),
    }
}

fn v6_prefix(first: u16) -> Option<AddressClass> {
    match first {
        0xfc00..=0xfdff => Some(AddressClass::Private),
        // Site-local addresses are deprecated, but where they are in use they are private networks.
        0xfec0..=0xfeff => Some(AddressClass::Private),
        0xfe80..=0xfebf => Some(AddressClass::LinkLocal),
        0xff00..=0xffff => Some(AddressClass::Multicast),
        0x2000..=0x3fff => None,
        // Nothing outside 2000::/3 is global unicast.
        _ => Some(AddressClass::Reserved),
    }
}

/// Of two findings the one that less opens.
fn worse(one: Option<AddressClass>, other: Option<AddressClass>) -> Option<AddressClass> {
    match (one, other) {
        (Some(a), Some(b)) => Some(if a.opened_by_allow_private() { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str) -> Option<AddressClass> {
        classify(text.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_open() {
        for text in [
            "1.1.1.1",
            "93.184.216.34",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "2002:0808:0808::1",
            "64:ff9b::8.8.8.8",
        ] {
            assert_eq!(class(text), None, "{text}");
            assert_eq!(AddressPolicy::public_only().check(text.parse().unwrap()), Ok(()));
        }
    }

    #[test]
    fn every_special_network_has_its_class() {
        use AddressClass::*;
        for (text, expected) in [
            ("127.0.0.1", Loopback),
            ("127.9.8.7", Loopback),
            ("::1", Loopback),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("198.18.0.1", Private),
            ("fc00::1", Private),
            ("fd12:3456::1", Private),
            ("169.254.0.1", LinkLocal),
            ("fe80::1", LinkLocal),
            ("169.254.169.254", Metadata),
            ("169.254.170.2", Metadata),
            ("100.100.100.200", Metadata),
            ("fd00:ec2::254", Metadata),
            ("224.0.0.1", Multicast),
            ("ff02::1", Multicast),
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("::", Unspecified),
            ("192.0.2.7", Documentation),
            ("2001:db8::1", Documentation),
            ("3fff::1", Documentation),
            ("255.255.255.255", Reserved),
            ("240.0.0.1", Reserved),
            ("100::1", Reserved),
        ] {
            assert_eq!(class(text), Some(expected), "{text}");
        }
        assert_eq!(class("172.32.0.1"), None);
        assert_eq!(class("100.128.0.1"), None);
    }

    #[test]
    fn an_ipv4_address_inside_ipv6_is_what_it_is() {
        use AddressClass::*;
        for (text, expected) in [
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:169.254.169.254", Metadata),
            ("::10.0.0.1", Private),
            ("::ffff:0:10.0.0.1", Private),
            ("2002:a00:1::", Private),
            ("2002:a9fe:a9fe::1", Metadata),
            ("64:ff9b::169.254.169.254", Metadata),
            ("64:ff9b::192.168.0.1", Private),
            ("64:ff9b:1::8.8.8.8", Private),
            ("64:ff9b:1::169.254.169.254", Metadata),
            // Teredo of client 127.0.0.1, its bits inverted.
            ("2001:0:808:808::80ff:fffe", Loopback),
            ("2606:4700::5efe:10.0.0.1", Private),
        ] {
            assert_eq!(class(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn allow_private_opens_loopback_and_private_only() {
        let policy = AddressPolicy::allowing_private();
        for text in ["127.0.0.1", "::1", "10.0.0.1", "192.168.0.1", "fd00::1", "::ffff:127.0.0.1"] {
            assert_eq!(policy.check(text.parse().unwrap()), Ok(()), "{text}");
        }
        for text in
            ["169.254.169.254", "169.254.1.1", "fe80::1", "fd00:ec2::254", "100.100.100.200", "0.0.0.0"]
        {
            assert!(policy.check(text.parse().unwrap()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_explicit_list_opens_what_it_names_and_nothing_beside_it() {
        let policy = AddressPolicy {
            allow_private: false,
            allowed: vec![
                AddressPolicy::parse_network("169.254.169.254").unwrap(),
                AddressPolicy::parse_network("10.1.0.0/16").unwrap(),
            ],
        };
        assert_eq!(policy.check("169.254.169.254".parse().unwrap()), Ok(()));
        assert_eq!(policy.check("::ffff:169.254.169.254".parse().unwrap()), Ok(()));
        assert_eq!(policy.check("10.1.2.3".parse().unwrap()), Ok(()));
        assert!(policy.check("10.2.0.1".parse().unwrap()).is_err());
        assert!(policy.check("169.254.169.253".parse().unwrap()).is_err());
        assert!(AddressPolicy::parse_network("ten.example").is_err());
    }
}
