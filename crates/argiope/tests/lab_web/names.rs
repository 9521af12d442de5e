//! Names: who resolves them, and what becomes of those that do not resolve.

use crate::BRISK;
use crate::desk::Desk;
use argiope_lab::{DnsAnswer, Lab, LabConfig, LabDns, PageSize};
use serde_json::Value;
use std::net::SocketAddr;
use tokio::runtime::Runtime;

const ZONE: &str = "lab.test";

fn named_lab(hosts: u32) -> Lab {
    let config = LabConfig {
        hosts,
        pages: 4,
        page_size: PageSize::Small,
        zone: Some(ZONE.to_owned()),
        log_capacity: 10_000,
        ..LabConfig::plain()
    };
    Lab::start_on_thread(config).unwrap()
}

fn config(resolvers: &[SocketAddr]) -> String {
    let resolvers: Vec<String> = resolvers.iter().map(|address| format!("'{address}'")).collect();
    format!("{BRISK}dns:\n  resolvers: [{}]\n  timeout: 300ms\n  attempts: 1\n", resolvers.join(", "))
}

fn seed(lab: &Lab, name: &str) -> String {
    format!("http://{name}.{ZONE}:{}/", lab.port())
}

fn errors(pages: &[Value]) -> Vec<&str> {
    pages.iter().filter_map(|page| page["error"].as_str()).collect()
}

#[test]
fn names_resolve_by_the_resolver_of_the_configuration_and_once_for_all_pages() {
    let (runtime, desk, lab) = (Runtime::new().unwrap(), Desk::new(), named_lab(3));
    let dns = runtime.block_on(LabDns::for_web(lab.web(), 300)).unwrap();
    desk.write("argiope.yaml", &config(&[dns.address()]));
    desk.crawl(&lab.seeds(), &[]).ok();
    let pages = desk.pages();
    assert_eq!((pages.len(), errors(&pages)), (12, vec![]));
    for site in 0..3 {
        let asked = dns.query_count(&format!("site{site}.{ZONE}"));
        assert!((1..=2).contains(&asked), "asked {asked} times, by type at most");
    }
    assert!(lab.access_log().iter().all(|entry| entry.host.ends_with(&format!(".{ZONE}:{}", lab.port()))));
}

#[test]
fn a_name_that_does_not_exist_fails_its_urls_and_no_others() {
    let (runtime, desk, lab) = (Runtime::new().unwrap(), Desk::new(), named_lab(1));
    let dns = runtime.block_on(LabDns::for_web(lab.web(), 300)).unwrap();
    desk.write("argiope.yaml", &config(&[dns.address()]));
    let lost = [seed(&lab, "nobody"), format!("{}deeper", seed(&lab, "nobody"))];
    let run = desk.crawl(&[lab.seeds(), lost.to_vec()].concat(), &[]).ok();
    assert!(run.stdout.contains("dns"), "{}", run.stdout);
    let pages = desk.pages();
    assert_eq!(pages.len(), 6);
    let failed: Vec<&Value> = pages.iter().filter(|page| page["error"].is_string()).collect();
    assert_eq!(failed.len(), 2);
    for page in failed {
        assert!(lost.iter().any(|url| page["url"] == url.as_str()), "{page}");
        assert!(page["error"].as_str().unwrap().starts_with("dns: "), "{page}");
        assert!(page["status"].is_null(), "{page}");
    }
    assert!(dns.query_count(&format!("nobody.{ZONE}")) <= 2, "what does not exist is not asked for again");
}

#[test]
fn a_resolver_that_fails_or_is_silent_leaves_it_to_the_second() {
    let (runtime, desk, lab) = (Runtime::new().unwrap(), Desk::new(), named_lab(3));
    let first = runtime.block_on(LabDns::for_web(lab.web(), 300)).unwrap();
    first.set(&format!("site0.{ZONE}"), DnsAnswer::Failure);
    first.set(&format!("site1.{ZONE}"), DnsAnswer::Silence);
    let second = runtime.block_on(LabDns::for_web(lab.web(), 300)).unwrap();
    desk.write("argiope.yaml", &config(&[first.address(), second.address()]));
    desk.crawl(&lab.seeds(), &[]).ok();
    let pages = desk.pages();
    assert_eq!((pages.len(), errors(&pages)), (12, vec![]));
    for site in 0..2 {
        let name = format!("site{site}.{ZONE}");
        assert!(first.query_count(&name) >= 1 && second.query_count(&name) >= 1, "{name}");
    }
    assert_eq!(second.query_count(&format!("site2.{ZONE}")), 0, "the first one's word is enough");
}

#[test]
fn a_name_without_dns_response_is_retried_and_then_fails() {
    let (runtime, desk, lab) = (Runtime::new().unwrap(), Desk::new(), named_lab(2));
    let dns = runtime.block_on(LabDns::for_web(lab.web(), 300)).unwrap();
    dns.set(&format!("site1.{ZONE}"), DnsAnswer::Silence);
    desk.write("argiope.yaml", &config(&[dns.address()]));
    desk.crawl(&lab.seeds(), &[]).ok();
    let pages = desk.pages();
    let (lost, found): (Vec<&Value>, Vec<&Value>) =
        pages.iter().partition(|page| page["url"].as_str().unwrap().starts_with("http://site1."));
    assert!(!lost.is_empty() && lost.iter().all(|page| page["error"].as_str().unwrap().starts_with("dns: ")));
    assert_eq!(found.iter().filter(|page| page["status"] == 200).count(), 4);
    assert!(dns.query_count(&format!("site1.{ZONE}")) >= 3);
}

#[test]
fn a_name_can_be_given_an_address_by_the_configuration() {
    let (desk, lab) = (Desk::new(), named_lab(1));
    desk.write("argiope.yaml", &format!("{BRISK}dns:\n  overrides: {{site0.{ZONE}: 127.0.0.1}}\n"));
    desk.crawl(&lab.seeds(), &[]).ok();
    assert_eq!(desk.pages().len(), 4);
}
