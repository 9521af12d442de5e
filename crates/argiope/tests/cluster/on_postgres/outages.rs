//! Server outages in the middle of a crawl. Nothing is lost, nothing is stored twice, no host is requested too early;
//! problems are reported; and afterwards everything resumes by itself.

use crate::listening::{free_address, health, is_up};
use crate::site::{Site, Worker, asked_twice, assert_whole, lab, pages_asked};
use crate::store::Store;
use argiope_lab::Lab;
use std::time::{Duration, UNIX_EPOCH};

/// Long enough for a crawl that is still there when the servers are back.
const DELAY: Duration = Duration::from_millis(400);
/// Longer than a lease, whenever it was renewed. The database decides when a lease ends, and it is down: no event shows
/// it, so the test waits for that time.
const LEASE_IS_OVER: Duration = Duration::from_secs(15);
/// A request that had left its worker reaches the lab within this time.
const UNDER_WAY: Duration = Duration::from_secs(1);

fn notes(site: &Site) -> Vec<String> {
    let workers = site.status()["workers"].as_array().unwrap().clone();
    workers.iter().filter_map(|worker| worker["note"].as_str().map(str::to_owned)).collect()
}

/// PostgreSQL is down. As soon as the workers know that, no host is requested, nor after their leases have expired: the
/// lab's log shows that.
pub(crate) fn assert_quiet_beyond_the_lease(site: &Site, lab: &Lab, workers: &[Worker]) {
    let misses = |worker: &Worker| {
        let said = worker.said();
        said.matches("PostgreSQL is unreachable; no new requests").count()
            > said.matches("PostgreSQL is reachable again").count()
    };
    site.wait_until("all workers to miss the database", || workers.iter().all(misses));
    let from = UNIX_EPOCH.elapsed().unwrap() + UNDER_WAY;
    std::thread::sleep(LEASE_IS_OVER);
    let late = lab.access_log().into_iter().find(|entry| u128::from(entry.started_us) > from.as_micros());
    assert!(late.is_none(), "a request while the database was away: {late:?}");
}

#[test]
fn redis_that_goes_away_and_is_wiped_slows_nothing_down_on_redis() {
    let Some(site) = Site::with_own_redis("notify") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 20);
    let address = free_address();
    let mut workers = [site.worker_with("one", &["--listen", &address]), site.worker("two")];
    site.submit(&lab, &["--delay", "400ms"]);
    site.wait_for_pages(40);
    site.wait_until("redis to be there", || is_up(&address, "redis") == Some(true));
    assert_eq!(notes(&site), Vec::<String>::new());
    site.wait_until("live figures of both", || {
        let live = &site.status()["live"];
        ["one", "two"].iter().all(|name| live[name]["memory_bytes"].as_u64() > Some(0))
    });
    site.one_server("stop", "redis");
    site.wait_until("redis to be missed", || is_up(&address, "redis") == Some(false));
    assert_eq!(is_up(&address, "postgresql"), Some(true));
    site.wait_until("both workers to say so", || {
        notes(&site).iter().filter(|note| note.contains("Redis")).count() == 2
    });
    assert_eq!(site.status()["live"], serde_json::json!({}));
    let before = site.job()["pages"].as_u64().unwrap();
    site.wait_for_pages(before + 40);
    site.one_server("start", "redis");
    site.wait_until("redis to be back", || is_up(&address, "redis") == Some(true));
    site.wait_until("nobody to complain", || notes(&site).is_empty());
    site.one_server("wipe", "redis");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(workers.iter_mut().all(|worker| worker.is_alive()));
}

#[test]
fn a_worker_starts_while_redis_is_away_and_uses_it_when_it_is_back_on_redis() {
    let Some(mut site) = Site::with_own_redis("late") else { return };
    site.run(&["cluster", "init"]).ok();
    site.one_server("stop", "redis");
    let lab = lab(6, 40, 20);
    let address = free_address();
    let mut worker = site.worker_with("one", &["--listen", &address]);
    site.submit(&lab, &["--delay", "400ms"]);
    site.wait_for_pages(20);
    assert_eq!(is_up(&address, "redis"), Some(false));
    let said = worker.said();
    assert_eq!(said.matches("WARN").count(), 1, "{said}");
    assert!(said.contains("Redis is unreachable; continuing without it"), "{said}");
    site.one_server("start", "redis");
    site.wait_until("redis to be there", || is_up(&address, "redis") == Some(true));
    site.wait_until("live figures", || site.status()["live"]["one"]["memory_bytes"].as_u64() > Some(0));
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    // What is no address of a Redis is still an error.
    site.set_redis("nonsense");
    let run = site.run(&["worker", "--name", "two", "--data", "two"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("storage.cache_url: is not the address"), "{}", run.stderr);
}

#[test]
fn redis_and_the_database_away_at_once_are_waited_for_on_redis() {
    let Some(site) = Site::with_own_redis("both") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 20);
    let address = free_address();
    let mut workers = [site.worker_with("one", &["--listen", &address]), site.worker("two")];
    site.submit(&lab, &["--delay", "400ms"]);
    site.wait_for_pages(80);
    site.one_server("kill", "redis");
    site.one_server("kill", "postgres");
    site.wait_until("both to be missed", || {
        is_up(&address, "postgresql") == Some(false) && is_up(&address, "redis") == Some(false)
    });
    let status = site.run(&["cluster", "status"]);
    assert_eq!(status.code, 1);
    assert!(status.stderr.contains("storage.metadata_db_url"), "{}", status.stderr);
    assert_quiet_beyond_the_lease(&site, &lab, &workers);
    site.one_server("start", "postgres");
    site.one_server("start", "redis");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(workers.iter_mut().all(|worker| worker.is_alive()));
    site.wait_until("both to be back", || {
        is_up(&address, "postgresql") == Some(true) && is_up(&address, "redis") == Some(true)
    });
}

/// Three workers and a watching `crawl`. PostgreSQL is killed, then hangs, each time for longer than a lease; no worker
/// dies, and no shard changes its owner.
#[test]
fn an_outage_of_the_database_beyond_the_lease_repeats_no_request_on_postgres() {
    let Some(site) = Site::with_own_postgres("resumed") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(16, 40, 20);
    let mut workers = [site.worker("one"), site.worker("two"), site.worker("three")];
    site.wait_until("each to have its shards", || {
        let shares = site.shares();
        shares.len() == 3 && shares.values().all(|shards| *shards > 4)
    });
    let seeds = lab.seeds();
    let mut words = vec!["crawl", "--delay", "400ms", "-o", "pages.jsonl"];
    words.extend(seeds.iter().map(String::as_str));
    let mut follower = site.start("follower", &words);
    site.wait_until("the job to be handed in", || site.run(&["status"]).code == 0);
    site.wait_for_pages(100);
    for (away, back, pages) in [("kill", "start", 250), ("pause", "resume", 0)] {
        site.one_server(away, "postgres");
        site.wait_until("the follower to say so", || {
            let said = follower.said();
            said.matches("waiting up to 1h 00m for it. The job resumes").count()
                > said.matches("PostgreSQL is back").count()
        });
        assert_quiet_beyond_the_lease(&site, &lab, &workers);
        site.one_server(back, "postgres");
        site.wait_for_pages(pages);
    }
    assert_eq!(follower.code(), 0, "{}", follower.said());
    assert!(follower.said().contains("PostgreSQL is back after"), "{}", follower.said());
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert_eq!(asked_twice(&lab), 0);
    assert_eq!(pages_asked(&lab), 640);
    let file = std::fs::read_to_string(site.path("pages.jsonl")).unwrap();
    assert_eq!(file.lines().count(), site.pages().len());
    for worker in &mut workers {
        assert!(
            worker.is_alive() && worker.said().contains("the lease expired and is renewed"),
            "{}",
            worker.said()
        );
        let missed = worker.said().matches("PostgreSQL is unreachable; no new requests").count();
        assert!((1..=2).contains(&missed), "{}", worker.said());
        assert!(worker.said().matches("inboxes cannot be read").count() <= 2, "{}", worker.said());
        assert!(!worker.said().contains("joining again"), "{}", worker.said());
    }
    assert_eq!(site.sql("SELECT count(*) FROM former_members"), "0");
}

/// The only worker is suspended for longer than its lease: no other worker takes its shards.
#[test]
fn a_worker_that_wakes_goes_on_with_shards_that_nobody_took_on_postgres() {
    let Some(site) = Site::new("woken") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(8, 30, 20);
    let mut worker = site.worker("one");
    site.submit(&lab, &["--delay", "400ms"]);
    site.wait_for_pages(40);
    worker.pause();
    site.wait_until("the lease to be over", || {
        site.sql("SELECT count(*) FROM members WHERE lease_until > clock_timestamp()") == "0"
    });
    worker.resume();
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert_eq!(asked_twice(&lab), 0);
    assert!(
        worker.is_alive() && worker.said().contains("the lease expired and is renewed"),
        "{}",
        worker.said()
    );
    assert_eq!(site.sql("SELECT max(epoch) FROM shards"), "1");
}

#[test]
fn a_command_waits_for_the_database_as_long_as_it_is_told_on_postgres() {
    let Some(site) = Site::with_own_postgres("patience") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(2, 4, 0);
    let mut words = vec!["crawl"];
    let seeds = lab.seeds();
    words.extend(seeds.iter().map(String::as_str));
    let config = std::fs::read_to_string(site.path("cluster.yaml")).unwrap();
    let limited =
        |limit: &str| config.replace("cluster:\n", &format!("cluster:\n  wait_for_database: {limit}\n"));
    // Without a worker all wait: it is there that they are when the database goes.
    let follow = |name: &str, limit: &str| {
        site.write("cluster.yaml", &limited(limit));
        let follower = site.start(name, &words);
        site.wait_until("it to follow", || follower.said().contains("no worker is running"));
        follower
    };
    let (mut hasty, mut patient) = (follow("hasty", "2s"), follow("patient", "null"));
    let mut none = follow("none", "0s");
    site.server("kill");
    assert_eq!(none.code(), 1, "{}", none.said());
    assert!(!none.said().contains("waiting"), "{}", none.said());
    assert_eq!(hasty.code(), 1, "{}", hasty.said());
    assert!(
        hasty.said().contains("waiting up to 2s for it. The job resumes when it is back."),
        "{}",
        hasty.said()
    );
    assert!(hasty.said().contains("cluster.wait_for_database"), "{}", hasty.said());
    site.wait_until("it to say so", || patient.said().contains("waiting for it"));
    // At the start a wrong address is more likely than an outage.
    assert_eq!(site.run(&words).code, 1);
    patient.signal("-INT");
    assert_eq!(patient.code(), 130, "{}", patient.said());
    assert!(patient.said().contains("the job was not stopped, because PostgreSQL"), "{}", patient.said());
    site.server("start");
    let _worker = site.worker("one");
    site.wait_for_end();
}

#[test]
fn a_command_that_is_stopped_while_the_database_hangs_does_not_wait_for_it_on_postgres() {
    let Some(site) = Site::with_own_postgres("hangs") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(2, 4, 0);
    let seeds = lab.seeds();
    let mut words = vec!["crawl"];
    words.extend(seeds.iter().map(String::as_str));
    let follow = |name: &str| {
        let follower = site.start(name, &words);
        site.wait_until("it to follow", || follower.said().contains("no worker is running"));
        follower
    };
    let (mut once, mut twice) = (follow("once"), follow("twice"));
    site.server("pause");
    once.signal("-INT");
    twice.signal("-INT");
    twice.signal("-INT");
    assert_eq!(once.code(), 130, "{}", once.said());
    // It has not found out by itself before: that takes it some seconds.
    assert!(!once.said().contains("unreachable ("), "{}", once.said());
    assert_eq!(once.said().matches("the job was not stopped").count(), 1, "{}", once.said());
    assert_eq!(twice.code(), 130, "{}", twice.said());
    site.server("resume");
    let _worker = site.worker("one");
    site.wait_for_end();
}

/// A server by the names that the script, the health of a worker and its note have for it.
#[derive(Clone, Copy, PartialEq)]
struct Server {
    name: &'static str,
    dependency: &'static str,
    noted_as: &'static str,
}

const POSTGRES: Server =
    Server { name: "postgres", dependency: "postgresql", noted_as: "storage.metadata_db_url" };
const REDIS: Server = Server { name: "redis", dependency: "redis", noted_as: "Redis does not respond" };
const KAFKA: Server = Server { name: "kafka", dependency: "kafka", noted_as: "cluster.kafka_brokers" };
const S3: Server = Server { name: "s3", dependency: "object_store", noted_as: "storage.html_bucket" };

const ALL: [Server; 4] = [POSTGRES, REDIS, KAFKA, S3];

/// Two workers, each with where it listens, and all servers.
struct Cluster {
    site: Site,
    store: Store,
    addresses: [String; 2],
    workers: [Worker; 2],
}

impl Cluster {
    fn both(&self, what: &str, pair: [Server; 2]) {
        for server in pair {
            match server {
                S3 => self.store.server(what),
                _ => self.site.one_server(what, server.name),
            }
        }
    }

    fn all_say(&self, pair: &[Server], up: bool) -> bool {
        let says = |server: &Server| {
            self.addresses.iter().all(|address| is_up(address, server.dependency) == Some(up))
        };
        pair.iter().all(says)
    }

    /// In the middle of a crawl both servers go down and come back, which is reported; then the crawl runs to its end.
    fn crawls_without(&self, pair: [Server; 2], beyond_the_lease: bool) {
        let names = format!("{} and {}", pair[0].name, pair[1].name);
        let lab = lab(12, 20, 20);
        self.site.submit(&lab, &["--delay", "400ms"]);
        self.site.wait_for_pages(40);
        self.both("kill", pair);
        self.site.wait_until(&format!("{names} to be missed"), || self.all_say(&pair, false));
        let others: Vec<Server> = ALL.into_iter().filter(|server| !pair.contains(server)).collect();
        self.site.wait_until(&format!("none but {names} to be missed"), || self.all_say(&others, true));
        if pair.contains(&POSTGRES) {
            let status = self.site.run(&["cluster", "status"]);
            assert_eq!(status.code, 1);
            assert!(status.stderr.contains(POSTGRES.noted_as), "{}", status.stderr);
        } else {
            self.site.wait_until(&format!("the status to tell of {names}"), || {
                let notes = notes(&self.site);
                notes.len() == 2 && notes.iter().all(|note| pair.iter().all(|of| note.contains(of.noted_as)))
            });
        }
        if beyond_the_lease {
            assert_quiet_beyond_the_lease(&self.site, &lab, &self.workers);
        }
        self.both("start", pair);
        self.site.wait_for_end();
        assert_whole(&self.site, &lab, DELAY);
        self.site.wait_until(&format!("{names} to be back"), || {
            self.all_say(&pair, true)
                && self.addresses.iter().all(|address| health(address)["status"] == "ok")
                && notes(&self.site).is_empty()
        });
    }
}

/// Takes pairs of servers away, one pair after the other. The database, if it is in the first one, for longer than a lease.
fn without_pairs(name: &str, pairs: &[[Server; 2]]) {
    let Some(mut site) = Site::with_own_servers(name) else { return };
    let Some(store) = Store::on_s3(&mut site, "  archive_file_age: 1s\n") else { return };
    site.run(&["cluster", "init"]).ok();
    let addresses = [free_address(), free_address()];
    let [one, two] = &addresses;
    let workers = [site.worker_with("one", &["--listen", one]), site.worker_with("two", &["--listen", two])];
    let mut cluster = Cluster { site, store, addresses, workers };
    for (at, pair) in pairs.iter().enumerate() {
        cluster.crawls_without(*pair, at == 0 && pair.contains(&POSTGRES));
    }
    let Cluster { site, store, workers, .. } = &mut cluster;
    site.wait_until("heartbeats that tell all", || {
        let live = site.status()["live"]["one"].clone();
        ["pages", "uptime_seconds", "memory_bytes"].iter().all(|figure| live[figure].as_u64() > Some(0))
            && live["cpu_percent"].is_number()
            && live["state"].is_string()
    });
    for worker in workers {
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }
    // Everything is in the bucket, including what was archived during the outage.
    let archived = store.pages();
    let stored = site.run(&["export", "--all"]).ok().json_lines();
    assert!(stored.iter().all(|page| archived.contains_key(page["url"].as_str().unwrap())));
    assert_eq!(site.status()["archive_files_on_disks"], 0);
}

#[test]
fn any_two_servers_with_the_database_away_at_once_are_waited_for_on_redis_on_kafka_on_s3() {
    without_pairs("pairs", &[[POSTGRES, KAFKA], [S3, POSTGRES]]);
}

#[test]
fn any_two_servers_but_the_database_away_at_once_are_waited_for_on_redis_on_kafka_on_s3() {
    without_pairs("other_pairs", &[[KAFKA, S3], [REDIS, KAFKA], [REDIS, S3]]);
}

#[test]
fn a_worker_that_is_stopped_while_a_server_is_away_waits_no_longer_than_it_has_to_on_redis_on_kafka() {
    let Some(site) = Site::with_own_servers("stopped") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 20);
    let address = free_address();
    let (mut first, mut third) = (site.worker("first"), site.worker("third"));
    let mut second = site.worker_with("second", &["--listen", &address]);
    site.wait_until("each to have its shards", || {
        let shares = site.shares();
        shares.len() == 3 && shares.values().all(|shards| *shards > 4)
    });
    site.submit(&lab, &["--delay", "400ms"]);
    site.wait_for_pages(60);
    // What it has to hand over has ended when Kafka has its links: it waits for that.
    site.one_server("stop", "kafka");
    site.wait_until("kafka to be missed", || is_up(&address, "kafka") == Some(false));
    site.wait_until("links that kafka lacks", || first.said().contains("the writer of the frontier"));
    first.stop();
    site.wait_until("it to say that it leaves", || {
        let workers = site.status()["workers"].as_array().unwrap().clone();
        workers.iter().any(|worker| worker["name"] == "first" && worker["state"] == "leaving")
    });
    let seen = || site.sql("SELECT seen_at FROM members WHERE worker = 'first'");
    let before = seen();
    site.wait_until("another heartbeat of it", || seen() != before);
    assert!(first.is_alive(), "{}", first.said());
    site.one_server("start", "kafka");
    assert_eq!(first.code(), 0, "{}", first.said());
    assert!(first.said().contains("everything is stored"), "{}", first.said());
    site.wait_until("the others to have all", || {
        let shares = site.shares();
        shares.get("second") == Some(&8) && shares.get("third") == Some(&8)
    });
    assert_eq!(asked_twice(&lab), 0);
    // Once its lease is over the database takes nothing from it any more: there is nothing to wait for.
    site.one_server("stop", "postgres");
    [&second, &third].iter().for_each(|worker| worker.stop());
    // A second signal does not wait for that.
    site.wait_until("it to be stopping", || third.said().contains("a second signal stops at once"));
    third.stop();
    assert_eq!(third.code(), 130, "{}", third.said());
    assert_eq!(second.code(), 0, "{}", second.said());
    assert!(second.said().contains("other workers take the shards"), "{}", second.said());
    site.one_server("start", "postgres");
    let mut fourth = site.worker("fourth");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert_eq!(fourth.leave(), 0, "{}", fourth.said());
}
