//! A tiny authoritative DNS server on loopback: names that resolve, that do not, that fail, and that get no response.

use crate::error::LabError;
use crate::web::Web;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// The answer for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsAnswer {
    Addresses {
        addresses: Vec<Ipv4Addr>,
        ttl_seconds: u32,
    },
    /// The name does not exist; with the time for which that may be cached.
    NoSuchName {
        ttl_seconds: u32,
    },
    /// SERVFAIL.
    Failure,
    /// No answer.
    Silence,
}

impl DnsAnswer {
    pub fn address(address: Ipv4Addr, ttl_seconds: u32) -> DnsAnswer {
        DnsAnswer::Addresses { addresses: vec![address], ttl_seconds }
    }
}

#[derive(Default)]
struct Zone {
    names: HashMap<String, DnsAnswer>,
    /// The names asked for, in order, with the type of record.
    queries: Vec<(String, u16)>,
}

/// The queries that are remembered.
const MAX_QUERIES: usize = 100_000;

/// A running DNS server. It stops when this is dropped.
pub struct LabDns {
    zone: Arc<Mutex<Zone>>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl LabDns {
    /// Answers for the names given; all others do not exist.
    pub async fn start(names: impl IntoIterator<Item = (String, DnsAnswer)>) -> Result<LabDns, LabError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let failed = |source| LabError::Listen { address, source };
        let socket = UdpSocket::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let names = names.into_iter().map(|(name, answer)| (name.to_ascii_lowercase(), answer)).collect();
        let zone = Arc::new(Mutex::new(Zone { names, queries: Vec::new() }));
        let task = tokio::spawn(serve(socket, Arc::clone(&zone)));
        Ok(LabDns { zone, address, task })
    }

    /// Answers for `siteN.ZONE` of every site of a web.
    pub async fn for_web(web: &Web, ttl_seconds: u32) -> Result<LabDns, LabError> {
        let zone = web.config().zone.clone().unwrap_or_else(|| String::from("lab.test"));
        let names = (0..web.config().hosts).filter_map(|site| {
            let address = web.address(site)?;
            Some((format!("site{site}.{zone}"), DnsAnswer::address(address, ttl_seconds)))
        });
        LabDns::start(names).await
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the answer for a name from now on.
    pub fn set(&self, name: &str, answer: DnsAnswer) {
        locked(&self.zone).names.insert(name.to_ascii_lowercase(), answer);
    }

    /// How often a name was asked for, with any type of record.
    pub fn query_count(&self, name: &str) -> usize {
        locked(&self.zone).queries.iter().filter(|(asked, _)| asked.eq_ignore_ascii_case(name)).count()
    }
}

impl Drop for LabDns {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn locked(zone: &Mutex<Zone>) -> MutexGuard<'_, Zone> {
    zone.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(socket: UdpSocket, zone: Arc<Mutex<Zone>>) {
    let mut buffer = [0; 1500];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer).await else {
            // A client that closed its port shows up here as an error of the next read.
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        let reply = buffer.get(..length).and_then(|query| reply_to(query, &mut locked(&zone)));
        if let Some(reply) = reply {
            // Lost datagrams are part of DNS.
            let _ = socket.send_to(&reply, from).await;
        }
    }
}

const TYPE_A: u16 = 1;
const TYPE_SOA: u16 = 6;
const CLASS_IN: u16 = 1;

/// The reply, or `None` for silence and for what is no query.
fn reply_to(query: &[u8], zone: &mut Zone) -> Option<Vec<u8>> {
    let id = query.get(..2)?;
    let flags = query.get(2..4)?;
    let is_query = flags.first()? & 0xf8 == 0;
    if !is_query || query.get(4..6)? != [0, 1] {
        return None;
    }
    let (name, end) = read_name(query)?;
    let question = query.get(12..end + 4)?;
    let kind = u16::from_be_bytes(query.get(end..end + 2)?.try_into().ok()?);
    if zone.queries.len() < MAX_QUERIES {
        zone.queries.push((name.clone(), kind));
    }
    let answer = zone.names.get(&name).cloned().unwrap_or(DnsAnswer::NoSuchName { ttl_seconds: 5 });
    let (code, addresses, ttl) = match answer {
        DnsAnswer::Silence => return None,
        DnsAnswer::Failure => (2, Vec::new(), 0),
        DnsAnswer::NoSuchName { ttl_seconds } => (3, Vec::new(), ttl_seconds),
        DnsAnswer::Addresses { addresses, ttl_seconds } if kind == TYPE_A => (0, addresses, ttl_seconds),
        DnsAnswer::Addresses { ttl_seconds, .. } => (0, Vec::new(), ttl_seconds),
    };
    let recursion_desired = flags.first()? & 1;
    let needs_soa = addresses.is_empty() && code != 2;
    let mut reply = id.to_vec();
    reply.extend_from_slice(&[0x84 | recursion_desired, 0x80 | code, 0, 1]);
    reply.extend_from_slice(&u16::try_from(addresses.len()).ok()?.to_be_bytes());
    reply.extend_from_slice(&[0, u8::from(needs_soa), 0, 0]);
    reply.extend_from_slice(question);
    for address in addresses {
        record(&mut reply, TYPE_A, ttl, &address.octets());
    }
    if needs_soa {
        // The last number is the time for which the absence may be cached. Both names are the root.
        let mut data = vec![0, 0];
        for number in [1, 3600, 600, 86_400, ttl] {
            data.extend_from_slice(&u32::to_be_bytes(number));
        }
        record(&mut reply, TYPE_SOA, ttl, &data);
    }
    Some(reply)
}

/// A record about the name in question.
fn record(reply: &mut Vec<u8>, kind: u16, ttl: u32, data: &[u8]) {
    reply.extend_from_slice(&[0xc0, 12]);
    reply.extend_from_slice(&kind.to_be_bytes());
    reply.extend_from_slice(&CLASS_IN.to_be_bytes());
    reply.extend_from_slice(&ttl.to_be_bytes());
    reply.extend_from_slice(&u16::try_from(data.len()).unwrap_or(0).to_be_bytes());
    reply.extend_from_slice(data);
}

/// The name in the question, in lower case and without its last dot, and where it ends.
fn read_name(query: &[u8]) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut at = 12;
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            return Some((name, at));
        }
        if length > 63 || name.len() > 255 {
            return None;
        }
        let label = std::str::from_utf8(query.get(at..at + length)?).ok()?;
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(&label.to_ascii_lowercase());
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut query = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(u8::try_from(label.len()).unwrap());
            query.extend_from_slice(label.as_bytes());
        }
        query.push(0);
        query.extend_from_slice(&kind.to_be_bytes());
        query.extend_from_slice(&[0, 1]);
        query
    }

    async fn ask(dns: &LabDns, name: &str, kind: u16) -> Option<Vec<u8>> {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(&query(name, kind), dns.address()).await.unwrap();
        let mut buffer = [0; 512];
        let reply = tokio::time::timeout(Duration::from_millis(300), socket.recv(&mut buffer)).await;
        reply.ok().map(|length| buffer[..length.unwrap()].to_vec())
    }

    fn code(reply: &[u8]) -> u8 {
        reply[3] & 0xf
    }

    #[tokio::test]
    async fn names_are_answered_as_configured() {
        let names = [
            ("good.lab.test", DnsAnswer::address(Ipv4Addr::new(127, 0, 0, 9), 77)),
            ("bad.lab.test", DnsAnswer::Failure),
            ("mute.lab.test", DnsAnswer::Silence),
        ];
        let dns = LabDns::start(names.map(|(name, answer)| (name.to_owned(), answer))).await.unwrap();

        let reply = ask(&dns, "Good.Lab.test", TYPE_A).await.unwrap();
        assert_eq!((&reply[..2], code(&reply), reply[7]), (&[0xab, 0xcd][..], 0, 1));
        assert_eq!(reply[reply.len() - 4..], [127, 0, 0, 9]);
        assert_eq!(reply[reply.len() - 10..reply.len() - 6], 77u32.to_be_bytes());

        let no_ipv6 = ask(&dns, "good.lab.test", 28).await.unwrap();
        assert_eq!((code(&no_ipv6), no_ipv6[7], no_ipv6[9]), (0, 0, 1), "an empty answer with its SOA");
        assert_eq!(code(&ask(&dns, "bad.lab.test", TYPE_A).await.unwrap()), 2);
        assert_eq!(code(&ask(&dns, "other.lab.test", TYPE_A).await.unwrap()), 3);
        assert_eq!(ask(&dns, "mute.lab.test", TYPE_A).await, None);
        assert_eq!(dns.query_count("good.lab.test"), 2);

        dns.set("mute.lab.test", DnsAnswer::NoSuchName { ttl_seconds: 1 });
        assert_eq!(code(&ask(&dns, "mute.lab.test", TYPE_A).await.unwrap()), 3);
    }

    #[test]
    fn what_is_no_query_gets_no_reply() {
        let mut zone = Zone::default();
        let whole = query("a.b", TYPE_A);
        for length in 0..whole.len() {
            assert_eq!(reply_to(&whole[..length], &mut zone), None);
        }
        let mut reply = whole;
        reply[2] |= 0x80;
        assert_eq!(reply_to(&reply, &mut zone), None);
    }
}
