//! The address guard: private places are not reached by names or redirects either.

use crate::BRISK;
use crate::desk::Desk;
use argiope_lab::{Lab, LabConfig, PageSize, SiteKind};

/// Two named sites; the first one redirects to the second.
fn scene(more: &str) -> (Desk, Lab) {
    let config = LabConfig {
        hosts: 2,
        pages: 3,
        kinds: vec![SiteKind::Redirects, SiteKind::Ordinary],
        page_size: PageSize::Small,
        zone: Some(String::from("lab.test")),
        log_capacity: 10_000,
        ..LabConfig::plain()
    };
    let (desk, lab) = (Desk::new(), Lab::start_on_thread(config).unwrap());
    let names = "dns:\n  overrides: {site0.lab.test: 127.0.0.1, site1.lab.test: 127.0.0.2}\n";
    desk.write("argiope.yaml", &format!("{}{names}", BRISK.replace("crawl:\n", &format!("crawl:\n{more}"))));
    (desk, lab)
}

#[test]
fn a_name_with_a_private_address_is_refused_when_it_is_connected_to() {
    let (desk, lab) = scene("");
    let run = desk.run(&["crawl", &lab.seeds()[0]]);
    assert_eq!(lab.request_count(), 0);
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains("and --allow-private is not given\nhint: add --allow-private"),
        "{}",
        run.stderr
    );
    let pages = desk.pages();
    assert_eq!(pages.len(), 1, "{pages:?}");
    assert!(pages[0]["error"].as_str().unwrap().starts_with("private_address: "), "{}", pages[0]);
}

#[test]
fn one_seed_that_may_be_asked_makes_the_crawl_no_mistake() {
    let (desk, lab) = scene("  allow_addresses: [127.0.0.2]\n");
    let run = desk.run(&["crawl", &lab.seeds()[0], &lab.seeds()[1]]).ok();
    assert!(run.stdout.contains("private_address  1"), "{}", run.stdout);
    assert!(lab.access_log().iter().all(|entry| entry.site == 1));
}

#[test]
fn a_redirect_into_a_private_network_is_refused() {
    let (desk, lab) = scene("  allow_addresses: [127.0.0.1]\n");
    desk.run(&["crawl", &lab.seeds()[0], "--scope", "any"]).ok();
    assert!(lab.access_log().iter().all(|entry| entry.site == 0));
    let pages = desk.pages();
    let hop = pages.iter().find(|page| page["url"].as_str().unwrap().ends_with("/r/other-host")).unwrap();
    assert!(hop["error"].as_str().unwrap().contains("private_address"), "{hop}");
    let links = pages.iter().filter(|page| page["url"].as_str().unwrap().contains("//site1."));
    for page in links {
        assert!(page["error"].as_str().unwrap().starts_with("private_address: "), "{page}");
    }
}

#[test]
fn metadata_addresses_stay_closed_whatever_the_flag_says() {
    let (desk, _lab) = scene("");
    let run = desk.run(&["crawl", "http://169.254.169.254/latest/", "--allow-private"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(!desk.path("argiope-data").exists());
}
