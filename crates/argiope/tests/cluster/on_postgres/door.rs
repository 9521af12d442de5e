//! The topic `url_ingest`: URLs that other programs write to it are crawled.

use crate::site::{DELAY, Site, Worker, assert_polite, lab};
use argiope_cluster::kafka::{Kafka, Outgoing, Topic, Topics};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

fn topic(site: &Site) -> String {
    Topics { prefix: site.topic_prefix(), shards: 16 }.name(Topic::UrlIngest)
}

/// By Kafka's own program: a key and a value a line, compressed in a form that is not ours.
fn produce(site: &Site, lines: &[String]) {
    let jars = std::env::var("ARGIOPE_TEST_KAFKA_JARS").unwrap();
    let java = std::env::var("JAVA_HOME").map_or_else(|_| "java".into(), |home| format!("{home}/bin/java"));
    let mut producer = Command::new(java)
        .args(["-Xmx128m", "-XX:+UseSerialGC", "-cp", &format!("{jars}/*")])
        .arg("org.apache.kafka.tools.ConsoleProducer")
        .args(["--bootstrap-server", site.brokers(), "--topic", &topic(site), "--compression-codec", "gzip"])
        .args(["--property", "parse.key=true", "--property", "key.separator=|"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let text: String = lines.iter().enumerate().map(|(at, line)| format!("{at}|{line}\n")).collect();
    producer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(producer.wait().unwrap().success());
}

/// By our own client.
fn write(site: &Site, values: &[Value]) {
    let values: Vec<Vec<u8>> = values.iter().map(|value| value.to_string().into_bytes()).collect();
    let of = |(at, value)| Outgoing { partition: at % 16, key: None, value };
    let records: Vec<Outgoing<'_>> = (0u16..).zip(values.iter().map(Vec::as_slice)).map(of).collect();
    Kafka::new(site.brokers()).unwrap().write(&topic(site), &records).unwrap();
}

fn stored(site: &Site) -> Vec<String> {
    let mut urls: Vec<String> =
        site.pages().iter().map(|page| page["url"].as_str().unwrap_or_default().to_owned()).collect();
    urls.sort();
    urls
}

fn leading<'w>(site: &Site, workers: &'w mut [(&str, Worker)]) -> &'w mut Worker {
    let mut leader = String::new();
    site.wait_until("a leader", || {
        leader = site.status()["leader"].as_str().unwrap_or_default().to_owned();
        !leader.is_empty()
    });
    &mut workers.iter_mut().find(|(name, _)| *name == leader).unwrap().1
}

#[test]
fn urls_that_other_programs_write_are_crawled_once_on_kafka() {
    let Some(site) = Site::new_with_kafka("door") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(6, 5, 0);
    // Of two records for a job that is not there yet, Kafka forgets one before anybody reads it.
    let early_one = json!({"job": "feed", "url": lab.web().page_url(0, 0)}).to_string();
    let early_one = Outgoing { partition: 0, key: None, value: early_one.as_bytes() };
    let mut kafka = Kafka::new(site.brokers()).unwrap();
    kafka.write(&topic(&site), &[early_one, early_one]).unwrap();
    kafka.delete_before(&topic(&site), 0, 1).unwrap();
    let mut workers = ["one", "two", "three"].map(|name| (name, site.worker(name)));
    site.wait_until("it to be missed", || site.status()["url_ingest"]["bad"] == 1);
    let said = site.run(&["ingest", "--name", "feed", "--keep-open"]).ok().stdout;
    assert_eq!(said, "job 1 is kept open\n");
    let pages: Vec<String> = (0..6)
        .flat_map(|host| (0..5).map(move |page| (host, page)))
        .map(|(h, p)| lab.web().page_url(h, p))
        .collect();
    let (early, late) = pages.split_at(15);

    // Valid records with an invalid one among them.
    let mut lines: Vec<String> =
        early.iter().map(|url| json!({"job": "feed", "url": url, "priority": 30}).to_string()).collect();
    lines.insert(3, String::from("certainly not JSON"));
    lines.insert(7, json!({"job": "nobody", "url": early[0]}).to_string());
    lines.insert(9, json!({"job": 1, "url": "gopher://127.0.0.1/"}).to_string());
    lines.push(json!({"job": 1, "url": early[0], "prio": 1}).to_string());
    produce(&site, &lines);
    let mut first = early.to_vec();
    first.sort();
    site.wait_until("the first pages", || stored(&site) == first);
    let received = site.status()["url_ingest"].clone();
    let figure = |received: &Value, name: &str| received[name].as_u64().unwrap();
    assert_eq!([figure(&received, "taken"), figure(&received, "bad"), figure(&received, "lost")], [15, 5, 1]);
    let why = received["examples"].to_string();
    for part in ["expected value", "'nobody' is unknown or has ended", "gopher", "unknown field `prio`"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    assert_eq!(site.job()["state"], "running");

    // Whoever reads is killed meanwhile.
    let records: Vec<Value> = pages.iter().rev().map(|url| json!({"job": 1, "url": url})).collect();
    let leader = leading(&site, &mut workers);
    write(&site, &records[..20]);
    leader.kill();
    write(&site, &records[20..]);
    let mut all = pages.clone();
    all.sort();
    site.wait_until("all pages", || stored(&site) == all);
    site.wait_until("all to be read", || site.status()["url_ingest"]["waiting"] == 0);
    assert_polite(&lab, DELAY);

    // What was fetched lately is left out where that is wished, and the job ends when it is let.
    write(&site, &[json!({"job": 1, "url": late[0], "skip_recent_days": 1})]);
    site.wait_until("it to be left out", || site.status()["url_ingest"]["left_out"] == 1);
    site.run(&["ingest", "--name", "feed", "--let-end"]).ok();
    site.wait_for_end();
    assert_eq!(site.run(&["ingest", "--name", "feed", "--let-end"]).code, 2, "it has ended");
    write(&site, &[json!({"job": "feed", "url": late[0]})]);
    site.wait_until("it to be refused", || site.status()["url_ingest"]["bad"] == 6);
    assert_eq!(stored(&site), all, "nothing twice");
    let text = site.run(&["cluster", "status"]).ok().stdout;
    assert!(text.contains("1 skipped, 6 invalid, 1 lost, 0 not read yet"), "{text}");
    assert!(text.contains("job 'feed' is unknown or has ended"), "{text}");
}
