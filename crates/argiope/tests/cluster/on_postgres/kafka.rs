//! Links that travel through Kafka.

use crate::listening::{free_address, health, is_up};
use crate::scenarios;
use crate::site::{DELAY, Site, assert_polite, assert_whole, lab};
use argiope_cluster::kafka::{Kafka, Outgoing, Topic, Topics};
use argiope_lab::{Lab, LabConfig, SiteKind};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn two_workers_crawl_everything_once_on_kafka() {
    let Some(site) = Site::new_with_kafka("two") else { return };
    scenarios::two_workers_crawl_everything_once(&site);
    // Seeds and links went through the topic, and nothing through the database.
    let topics = Topics { prefix: site.topic_prefix(), shards: 16 };
    let shards: Vec<u16> = (0..16).collect();
    let topic = topics.name(Topic::UrlScheduled);
    let ranges = Kafka::new(site.brokers()).unwrap().ranges(&topic, &shards).unwrap();
    assert!(ranges.iter().map(|range| range.end).sum::<i64>() > 12, "{ranges:?}");
    assert_eq!(site.sql("SELECT sum(sent) FROM inbox_counters"), "0");
}

#[test]
fn a_worker_that_is_killed_loses_nothing_on_kafka() {
    let Some(site) = Site::new_with_kafka("killed") else { return };
    scenarios::a_worker_that_is_killed_loses_nothing(&site);
}

#[test]
fn workers_come_and_go_while_it_crawls_on_kafka() {
    let Some(site) = Site::new_with_kafka("moving") else { return };
    scenarios::workers_come_and_go_while_it_crawls(&site);
}

#[test]
fn max_pages_is_never_exceeded_on_kafka() {
    let Some(site) = Site::new_with_kafka("limit") else { return };
    scenarios::max_pages_is_never_exceeded(&site);
}

#[test]
fn a_list_waits_for_workers_and_is_sent_once_on_kafka() {
    let Some(site) = Site::new_with_kafka("list") else { return };
    scenarios::a_list_waits_for_workers_and_is_sent_once(&site);
}

#[test]
fn a_kafka_that_goes_away_is_waited_for_on_kafka() {
    let Some(site) = Site::with_own_kafka("kafka_outage") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 20);
    let mut workers = [site.worker("one"), site.worker("two")];
    site.submit(&lab, &[]);
    site.wait_for_pages(80);
    site.server("stop");
    site.wait_until("the workers to say so", || {
        let status = site.status();
        let workers = status["workers"].as_array().expect("workers");
        status["lag"].is_null()
            && workers.iter().all(|worker| {
                worker["note"].as_str().is_some_and(|note| note.starts_with("cluster.kafka_brokers"))
            })
    });
    site.server("start");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(workers.iter_mut().all(|worker| worker.is_alive()));
    site.wait_until("all to be well", || {
        let status = site.status();
        let workers = status["workers"].as_array().expect("workers");
        status["lag"] == 0 && workers.iter().all(|worker| worker["note"].is_null())
    });
    // What was stored meanwhile is published.
    let stored = urls(&site.pages());
    site.wait_until("all to be published", || {
        urls(messages(&site, Topic::CrawlResults).iter().map(|result| &result["page"])) == stored
    });
    site.wait_until("that to be noted", || site.status()["unpublished"] == 0);
}

/// Pages that are stored but not completed: the next owner of their hosts stores them again.
#[test]
fn max_pages_holds_when_a_worker_dies_while_kafka_hangs_on_kafka() {
    let Some(site) = Site::with_own_kafka("kafka_limit") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 40, 10);
    let mut doomed = site.worker("doomed");
    site.submit(&lab, &["--max-pages", "101"]);
    site.wait_for_pages(10);
    site.server("pause");
    site.wait_for_pages(40);
    doomed.kill();
    site.server("resume");
    let mut workers = [site.worker("one"), site.worker("two")];
    site.wait_for_end();
    // Those that were stored twice are published twice at least, the others once.
    site.wait_until("all to be published", || {
        let pages = site.pages();
        let results = messages(&site, Topic::CrawlResults);
        let repeated = site.sql("SELECT count(*) FROM crawl_metadata WHERE repeated").parse::<usize>();
        urls(results.iter().map(|result| &result["page"])) == urls(&pages)
            && results.len() >= pages.len() + repeated.expect("a number")
    });
    // A worker that has left has stored all its requests: nothing more arrives.
    for worker in &mut workers {
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }
    assert_eq!(site.pages().iter().filter(|page| !page["status"].is_null()).count(), 101);
    assert_polite(&lab, DELAY);
}

#[test]
fn a_log_that_has_lost_what_was_not_taken_in_is_named_on_kafka() {
    let Some(site) = Site::new_with_kafka("gone") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(2, 3, 0);
    site.submit(&lab, &[]);
    let topic = Topics { prefix: site.topic_prefix(), shards: 16 }.name(Topic::UrlScheduled);
    let mut kafka = Kafka::new(site.brokers()).unwrap();
    let shards: Vec<u16> = (0..16).collect();
    let ranges = kafka.ranges(&topic, &shards).unwrap();
    let sent = shards.iter().zip(&ranges).find(|(_, range)| range.end > 0).map(|(shard, _)| *shard).unwrap();
    kafka.delete_before(&topic, sent, 1).unwrap();
    let _worker = site.worker("one");
    site.wait_until("the worker to say so", || {
        let note = site.status()["workers"][0]["note"].as_str().unwrap_or_default().to_owned();
        note.contains(&format!("records 0 to 0 of partition {sent} of {topic} are gone"))
    });
    // The other host, in another shard, is crawled; the job cannot end.
    site.wait_for_pages(3);
    assert_eq!(site.job()["state"], "running");
    let loss = site.status()["log_losses"][0].clone();
    assert_eq!(loss["shard"], sent);
    // Until an operator allows it, without that seed.
    let said = site.run(&["cluster", "accept-loss"]).ok().stdout;
    assert_eq!(said, "1 log will be read from the beginning\n");
    site.wait_for_end();
    site.wait_until("nobody to complain", || {
        let status = site.status();
        status["workers"][0]["note"].is_null() && status["log_losses"] == serde_json::json!([])
    });
}

/// However much comes into the new topic, that it is another one stays known; and nothing that came is passed over.
#[test]
fn a_topic_that_was_deleted_and_made_anew_is_named_until_that_is_accepted_on_kafka() {
    let Some(site) = Site::new_with_kafka("remade") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(6, 30, 20);
    let address = free_address();
    let mut worker = site.worker_with("one", &["--listen", &address]);
    site.submit(&lab, &["--delay", "300ms"]);
    site.wait_for_pages(20);
    let topics = Topics { prefix: site.topic_prefix(), shards: 16 };
    let topic = topics.name(Topic::UrlScheduled);
    let mut kafka = Kafka::new(site.brokers()).unwrap();
    kafka.delete(&topic).unwrap();
    topics.init(&mut kafka).unwrap();
    // Far beyond where the logs were applied.
    let records: Vec<Outgoing<'_>> =
        (0..16 * 200).map(|number| Outgoing { partition: number % 16, key: None, value: b"none" }).collect();
    kafka.write(&topic, &records).unwrap();
    site.wait_until("the loss to be stored", || site.status()["log_losses"].as_array().unwrap().len() == 16);
    site.wait_until("the worker to say so", || {
        let detail =
            health(&address)["dependencies"]["kafka"]["detail"].as_str().unwrap_or_default().to_owned();
        detail.contains("this cluster has used") && is_up(&address, "kafka") == Some(false)
    });
    let status = site.run(&["cluster", "status"]).ok().stdout;
    assert!(status.contains("16 logs have lost links"), "{status}");
    // Queued URLs are crawled. No job ends, no worker joins, and nobody sends.
    site.wait_until("the queue to be empty", || site.status()["queue"] == 0);
    assert_eq!(site.job()["state"], "running");
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    for words in [&["worker", "--name", "two", "--data", "two"][..], &["crawl", "http://127.0.0.1:9/"]] {
        let refused = site.run(words);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains("cluster accept-loss"), "{}", refused.stderr);
    }
    site.run(&["cluster", "accept-loss"]).ok();
    assert_eq!(site.status()["log_losses"], serde_json::json!([]));
    let _worker = site.worker("two");
    site.wait_for_end();
    site.wait_until("all to be well", || {
        let status = site.status();
        status["lag"] == 0 && status["workers"][0]["note"].is_null()
    });
    assert_polite(&lab, Duration::from_millis(300));
    assert!(site.run(&["cluster", "accept-loss"]).ok().stdout.starts_with("0 logs"));
}

#[test]
fn what_was_in_the_topics_before_is_not_for_a_new_cluster_on_kafka() {
    let Some(site) = Site::new_with_kafka("anew") else { return };
    let topics = Topics { prefix: site.topic_prefix(), shards: 16 };
    let mut kafka = Kafka::new(site.brokers()).unwrap();
    topics.init(&mut kafka).unwrap();
    let old = Outgoing { partition: 3, key: None, value: b"of another cluster" };
    kafka.write(&topics.name(Topic::UrlScheduled), &[old, old]).unwrap();
    site.run(&["cluster", "init"]).ok();
    assert_eq!(site.sql("SELECT applied FROM shards WHERE shard IN (3, 4) ORDER BY shard"), "2\n0");
    assert_eq!(site.status()["lag"], 0);
}

#[test]
fn what_is_wrong_is_said_with_the_name_of_the_setting_on_kafka() {
    let Some(site) = Site::new_with_kafka("wrong") else { return };
    let config = std::fs::read_to_string(site.path("cluster.yaml")).unwrap();
    let refused = |words: &[&str], part: &str| {
        let run = site.run(words);
        assert_eq!(run.code, 1, "{words:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("cluster.kafka_brokers"), "{}", run.stderr);
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    };
    let tables = || site.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    site.write("cluster.yaml", &config.replace(site.brokers(), "127.0.0.1:9"));
    refused(&["cluster", "init"], "127.0.0.1:9");
    assert_eq!(tables(), "0");
    site.write("cluster.yaml", &config);
    let other = Topics { prefix: site.topic_prefix(), shards: 5 };
    let mut kafka = Kafka::new(site.brokers()).unwrap();
    other.init(&mut kafka).unwrap();
    refused(&["cluster", "init"], "has 5 partitions, and cluster.shards is 16");
    assert_eq!(tables(), "0");
    // In topics of other names all is well, until they are not there.
    site.write("cluster.yaml", &config.replace(&site.topic_prefix(), &format!("{}2-", site.topic_prefix())));
    site.run(&["cluster", "init"]).ok();
    site.run(&["cluster", "init"]).ok();
    // They are this cluster's: another one, in a database of its own, keeps away from them.
    let Some(second) = Site::new_with_kafka("second") else { return };
    let theirs = std::fs::read_to_string(second.path("cluster.yaml")).unwrap();
    second.write(
        "cluster.yaml",
        &theirs.replace(&second.topic_prefix(), &format!("{}2-", site.topic_prefix())),
    );
    let run = second.run(&["cluster", "init"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(
        run.stderr.contains("another cluster") && run.stderr.contains("kafka_topic_prefix"),
        "{}",
        run.stderr
    );
    assert_eq!(second.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    site.write("cluster.yaml", &config.replace(&site.topic_prefix(), &format!("{}3-", site.topic_prefix())));
    for words in [&["worker"][..], &["crawl", "http://127.0.0.1:9/"], &["ingest", "-", "--name", "x"]] {
        refused(words, "argiope cluster init");
    }
    site.write("cluster.yaml", &config.replace(site.brokers(), "127.0.0.1:9"));
    refused(&["worker"], "127.0.0.1:9");
    assert_eq!(site.sql("SELECT count(*) FROM jobs"), "0");
    // What needs no Kafka works without it.
    assert_eq!(site.status()["lag"], serde_json::Value::Null);
}

/// All that is in a topic.
fn messages(site: &Site, topic: Topic) -> Vec<Value> {
    let topics = Topics { prefix: site.topic_prefix(), shards: 16 };
    let mut kafka = Kafka::new(site.brokers()).unwrap();
    let name = topics.name(topic);
    let partitions = u16::try_from(kafka.partitions(&name).unwrap().unwrap()).unwrap();
    let mut values = Vec::new();
    for partition in 0..partitions {
        let mut next = 0;
        loop {
            let records = kafka.read(&name, partition, next, 1 << 20).unwrap();
            let Some((last, _)) = records.last() else { break };
            next = last + 1;
            values.extend(records.iter().map(|(_, value)| serde_json::from_slice::<Value>(value).unwrap()));
        }
    }
    values
}

fn urls<'v>(values: impl IntoIterator<Item = &'v Value>) -> BTreeSet<String> {
    values.into_iter().filter_map(|value| value["url"].as_str()).map(str::to_owned).collect()
}

#[test]
fn what_is_stored_is_published_on_kafka() {
    let Some(site) = Site::new_with_kafka("published") else { return };
    let config = std::fs::read_to_string(site.path("cluster.yaml")).unwrap();
    let brisk = "politeness:\n  adaptive: false\n  breaker: false\n  retries:\n    \
                 server_error: {times: 1, after: 100ms}\n    busy: {times: 1, after: 100ms, growth: 1}\n    \
                 no_answer: {times: 1, after: 100ms}\n";
    site.write("cluster.yaml", &format!("{config}{brisk}"));
    site.run(&["cluster", "init"]).ok();
    let kinds = vec![SiteKind::Ordinary, SiteKind::Redirects, SiteKind::Errors, SiteKind::RobotsPaths];
    let lab = Lab::start_on_thread(LabConfig { hosts: 8, pages: 5, kinds, ..LabConfig::mixed() }).unwrap();
    let mut worker = site.worker("one");
    site.submit(&lab, &["--delay", "20ms"]);
    site.wait_for_end();
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    // A worker that leaves has published what it stored.
    let results = messages(&site, Topic::CrawlResults);
    let pages = site.pages();
    assert_eq!(urls(results.iter().map(|result| &result["page"])), urls(&pages));
    assert_eq!(results.len(), pages.len());
    for result in &results {
        assert_eq!(result["visit"]["url"], result["page"]["url"]);
        assert_eq!(result["visit"]["job"], 1);
        let stored = pages.iter().find(|page| page["url"] == result["page"]["url"]).unwrap();
        assert_eq!(&result["page"], stored);
    }
    let failures = messages(&site, Topic::CrawlFailures);
    let skipped = site.run(&["export", "--what", "skipped"]).ok().json_lines();
    let disallowed = urls(skipped.iter().filter(|row| row["reason"] == "robots_disallowed"));
    let failed = urls(pages.iter().filter(|page| !page["error"].is_null()));
    assert!(!disallowed.is_empty() && !failed.is_empty());
    assert_eq!(urls(failures.iter().map(|failure| &failure["visit"])), &disallowed | &failed);
    assert_eq!(failures.len(), disallowed.len() + failed.len());
    assert!(failures.iter().any(|failure| failure["dead_letter"] == true));
    let notices = messages(&site, Topic::RobotsCacheMiss);
    let origins: BTreeSet<&str> = notices.iter().filter_map(|notice| notice["origin"].as_str()).collect();
    let mut asked = lab.access_log();
    asked.retain(|entry| &*entry.path == "/robots.txt");
    assert_eq!((origins.len(), notices.len()), (8, asked.len()));
}
