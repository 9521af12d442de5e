//! Connections are kept while their hosts wait for their turn, as the lab counts them.

use crate::desk::{Desk, expected, sorted};
use argiope_lab::{Handshake, Lab, LabConfig, PageSize, TlsFiles};
use rcgen::{CertificateParams, KeyPair};
use std::collections::{HashMap, HashSet};

const HOSTS: u32 = 400;

#[test]
fn more_hosts_than_requests_at_a_time_take_one_connection_each() {
    let config = LabConfig {
        hosts: HOSTS,
        pages: 4,
        page_size: PageSize::Small,
        log_capacity: 10_000,
        ..LabConfig::plain()
    };
    let (desk, lab) = (Desk::new(), Lab::start_on_thread(config).unwrap());
    desk.write("seeds", &lab.seeds().join("\n"));
    desk.crawl(&[], &["--list", "seeds", "--delay", "0", "--concurrency", "16"]).ok();
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
    let connections: HashSet<u64> = lab.access_log().iter().map(|entry| entry.connection).collect();
    assert_eq!(connections.len(), HOSTS as usize);
}

#[test]
fn a_new_connection_to_a_known_host_resumes_its_tls_session() {
    const SECURE_HOSTS: u32 = 60;
    let desk = Desk::new();
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = (1..=SECURE_HOSTS).map(|n| format!("127.0.0.{n}")).collect();
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    desk.write("lab.pem", &certificate.pem());
    desk.write("lab.key", &key.serialize_pem());
    let config = LabConfig {
        hosts: SECURE_HOSTS,
        pages: 12,
        page_size: PageSize::Small,
        log_capacity: 10_000,
        tls: Some(TlsFiles { certificate: desk.path("lab.pem"), key: desk.path("lab.key") }),
        requests_per_connection: Some(3),
        ..LabConfig::plain()
    };
    let lab = Lab::start_on_thread(config).unwrap();
    desk.write("seeds", &lab.seeds().join("\n"));
    let words = ["--list", "seeds", "--delay", "0", "--concurrency", "16", "--ca-file", "lab.pem"];
    desk.crawl(&[], &words).ok();
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
    let handshakes: HashMap<u64, Handshake> =
        lab.access_log().iter().map(|entry| (entry.connection, entry.handshake.unwrap())).collect();
    let full = handshakes.values().filter(|kind| **kind == Handshake::Full).count();
    // One for each host, and one for each that a second thread requests before the first has a ticket.
    assert!(full <= 2 * SECURE_HOSTS as usize, "{full} of {} are full", handshakes.len());
    assert!(handshakes.len() - full >= 3 * SECURE_HOSTS as usize, "{full} of {} are full", handshakes.len());
}
