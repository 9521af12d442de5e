//! Whole files, as users write them.

use super::*;
use crate::{file, politeness_keys, to_yaml};
use argiope_model::{BasicAuth, NewUrlRate};
use std::time::Duration;

/// The documented example of a cluster's operators: it must load as it stands.
const OPERATORS_EXAMPLE: &str = r#"
crawl:
  default_crawl_delay_seconds: 2
  max_retries: 3
  fetch_timeout_seconds: 15
  max_content_bytes: 5242880
  user_agent: "ExampleCrawler/1.0 (+https://example.com/crawler)"

politeness:
  robots_cache_ttl_hours: 24
  domain_overrides:
    shop.example:
      crawl_delay_seconds: 5
    store.example:
      crawl_delay_seconds: 5

workers:
  concurrency_per_pod: 50        # a comment
  pod_count_min: 10
  pod_count_max: 200

storage:
  metadata_db_url: "${METADATA_DB_URL}"
  html_bucket: "crawler-html"
  html_bucket_region: "us-east-1"
  cache_url: "${REDIS_URL}"
  cache_ttl_seconds: 3600

topics:
  top_n: 15
  ngram_range: [1, 2]
"#;

fn environment(name: &str) -> Option<String> {
    match name {
        "METADATA_DB_URL" => Some(String::from("postgres://crawler:pw@127.0.0.1:5432/crawler")),
        "REDIS_URL" => Some(String::from("redis://127.0.0.1:6379/0")),
        _ => None,
    }
}

fn config(text: &str) -> Result<ConfigFile, Vec<String>> {
    config_from_text("argiope.yaml", text, &environment)
        .and_then(|read| whole((read.file, read.unset)))
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn errors_of(text: &str) -> Vec<String> {
    config(text).unwrap_err()
}

fn job(text: &str) -> Result<JobSpec, Vec<String>> {
    checked("job.yaml", text, Some(FileKind::Job), &environment)
        .and_then(Checked::job)
        .and_then(whole)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn the_operators_example_loads_as_it_stands() {
    let config = config(OPERATORS_EXAMPLE).unwrap();
    assert_eq!(config.crawl.default_crawl_delay, Some(Duration::from_secs(2)));
    assert_eq!(config.crawl.max_retries, Some(3));
    assert_eq!(config.crawl.job.get("timeout"), Some(&Value::from("15s")));
    assert_eq!(config.crawl.job.get("max_body"), Some(&Value::from(5_242_880)));
    assert_eq!(config.politeness.robots_cache_ttl.0, Duration::from_secs(86_400));
    assert_eq!(config.politeness.domain_overrides["shop.example"].delay.unwrap().0, Duration::from_secs(5));
    assert_eq!(config.workers.pod_count_max, 200);
    assert_eq!(
        config.storage.metadata_db_url.as_deref(),
        Some("postgres://crawler:pw@127.0.0.1:5432/crawler")
    );
    assert_eq!(config.storage.cache_ttl, Duration::from_secs(3600));
    assert_eq!(config.topics.ngram_range, [1, 2]);
}

#[test]
fn the_cluster_example_loads_as_it_stands() {
    let text = "storage:\n  metadata_db_url: \"postgres://crawler@127.0.0.1:5432/crawler\"\n  \
                cache_url: \"redis://127.0.0.1:6379/0\"\n  html_bucket: \"crawler-html\"  # or file:///path\n  \
                html_bucket_region: \"us-east-1\"\n  html_endpoint: \"http://127.0.0.1:9000\"\n  \
                archive_layout: warc\ncluster:\n  transport: kafka\n  kafka_brokers: \"127.0.0.1:9092\"\n  shards: 64\n\
                workers:\n  concurrency_per_pod: 50\n";
    let config = config(text).unwrap();
    assert_eq!(config.cluster.transport, file::Transport::Kafka);
    assert_eq!(config.cluster.shards, 64);
}

#[test]
fn settings_of_an_unused_store_are_refused() {
    for (text, key) in [
        ("storage: {html_bucket: x}", "storage.html_bucket"),
        ("storage: {metadata_db_url: x, html_endpoint: x}", "storage.html_endpoint"),
        ("storage: {metadata_db_url: x, html_bucket_region: x}", "storage.html_bucket_region"),
        ("storage: {metadata_db_url: x, archive_layout: objects}", "storage.archive_layout"),
        ("storage: {metadata_db_url: x, upload_backlog: 1GB}", "storage.upload_backlog"),
    ] {
        let errors = errors_of(text);
        assert!(errors[0].contains(&format!("'{key}' has no effect without")), "{errors:?}");
    }
    let config =
        config("storage: {metadata_db_url: x, html_bucket: x, archive_file_size: 1MB, archive_file_age: 1m}");
    assert_eq!(config.unwrap().storage.archive_file_age, Duration::from_secs(60));
}

#[test]
fn kafka_needs_its_brokers_and_names_that_it_takes() {
    let errors = errors_of("cluster:\n  transport: kafka\n");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains(":2:") && errors[0].contains("'cluster.kafka_brokers'"), "{errors:?}");
    let errors = errors_of("cluster:\n  kafka_topic_prefix: \"a b\"\n");
    assert!(
        errors.len() == 1 && errors[0].contains("'cluster.kafka_topic_prefix' takes letters"),
        "{errors:?}"
    );
    for (wrong, named) in [
        ("kafka_security_protocol: SASL_SSL", "kafka_sasl_username"),
        ("kafka_sasl_username: me", "kafka_sasl_password"),
        ("kafka_ssl_ca: ca.pem", "SSL or SASL_SSL"),
        ("kafka_security_protocol: tls", "SASL_PLAINTEXT"),
    ] {
        let errors = errors_of(&format!("cluster:\n  {wrong}\n"));
        assert!(errors.len() == 1 && errors[0].contains(named), "{errors:?}");
    }
    let text = "cluster:\n  transport: kafka\n  kafka_brokers: \"a:1,b:2\"\n  kafka_topic_prefix: \"one.\"\n";
    assert_eq!(config(text).unwrap().cluster.kafka_topic_prefix.as_deref(), Some("one."));
}

#[test]
fn units_may_be_written_out() {
    let text = "crawl: {default_crawl_delay: 1.5s, fetch_timeout: 1m, max_content: 10MB}\n\
                politeness: {robots_cache_ttl: 12h}\nstorage: {cache_ttl: 90s}\n";
    let config = config(text).unwrap();
    assert_eq!(config.crawl.default_crawl_delay, Some(Duration::from_millis(1500)));
    assert_eq!(config.crawl.job.get("max_body"), Some(&Value::from(10_000_000)));
    assert_eq!(config.politeness.robots_cache_ttl.0, Duration::from_secs(43_200));
}

#[test]
fn json_is_taken_too() {
    let config = config(r#"{"crawl": {"default_crawl_delay_seconds": 2, "allow_private": true}}"#).unwrap();
    assert_eq!(config.crawl.job.get("allow_private"), Some(&Value::from(true)));
}

#[test]
fn a_typo_names_file_line_column_and_the_nearest_key() {
    assert_eq!(
        errors_of("crawl:\n  user_agnet: x\n"),
        ["argiope.yaml:2:3: unknown key 'user_agnet' in 'crawl'; did you mean 'user_agent'?"]
    );
    assert_eq!(
        errors_of("politness:\n  per_host: 1\n"),
        ["argiope.yaml:1:1: unknown key 'politness'; did you mean 'politeness'?"]
    );
    assert_eq!(
        errors_of("politeness:\n  domain_overrides:\n    shop.example.com:\n      crawl_dely: 5s\n"),
        ["argiope.yaml:4:7: unknown key 'crawl_dely' in 'politeness.domain_overrides.shop.example.com'; \
          did you mean 'crawl_delay'?"]
    );
    assert_eq!(errors_of("crawl:\n  zzzzzz: x\n"), ["argiope.yaml:2:3: unknown key 'zzzzzz' in 'crawl'"]);
    let few = errors_of("workers:\n  zzzzzz: x\n");
    assert!(few[0].contains("unknown key 'zzzzzz' in 'workers'; known are "), "{few:?}");
    assert_eq!(
        errors_of("crawl:\n  robots_cache_ttl: 3h\n"),
        ["argiope.yaml:2:3: unknown key 'robots_cache_ttl' in 'crawl'; it belongs in 'politeness'"]
    );
}

#[test]
fn all_errors_of_a_file_come_at_once_in_their_order() {
    let errors =
        errors_of("crawl:\n  timeout: soon\n  max_body: big\nstorage:\n  cache_url: ${NOPE}\n  bucket: x\n");
    assert_eq!(errors.len(), 4, "{errors:#?}");
    assert!(errors[0].starts_with("argiope.yaml:2:12: 'crawl.timeout' expects a duration"));
    assert!(errors[1].starts_with("argiope.yaml:3:13: 'crawl.max_body' expects a size"));
    assert!(errors[2].starts_with("argiope.yaml:5:14: environment variable 'NOPE' is not set"));
    assert!(
        errors[3]
            .starts_with("argiope.yaml:6:3: unknown key 'bucket' in 'storage'; did you mean 'html_bucket'?")
    );
}

#[test]
fn what_makes_no_sense_is_placed_too() {
    let text = "politeness:\n  domain_overrides:\n    a.test:\n      windows:\n        - from: \"08:00\"\n          \
                to: \"09:00\"\n          closed: true\n          factor: 3\n";
    let errors = errors_of(text);
    assert!(errors[0].starts_with("argiope.yaml:5:11: "), "{errors:#?}");
    assert!(errors[0].contains("one of factor, delay and closed"), "{errors:#?}");
    let errors = errors_of("crawl: {default_crawl_delay: 1s}\npoliteness:\n  default_delay: 2s\n");
    assert!(errors[0].starts_with("argiope.yaml:3:3: "), "{errors:#?}");
    let errors = errors_of("crawl:\n  headers: {\"bad name\": x}\n");
    assert!(errors[0].contains("bad name"), "{errors:#?}");
    assert_eq!(errors_of("topics:\n  ngram_range: [2, 1]\n").len(), 1);
    assert_eq!(errors_of("workers: {pod_count_min: 20, pod_count_max: 10}\n").len(), 1);
}

/// Problems that only the crate that uses a value can detect are reported at the value, all of them at once.
#[test]
fn values_are_judged_by_those_who_use_them_each_in_its_line() {
    let text = "crawl:
  timeout: 0
  fetch_timeout: 1s
  blacklist:
    - example.com
    - https://ads.example/
  skip_extensions: [jpg, tar.gz]
  authority: {'a b': 3}
  headers:
    X-Ok: fine
    Host: other.test
    X-Bad: \"two\\nlines\"
  proxy: socks5://u:hunter2@proxy.test
  max_url_length: 99999999
dns:
  timeout_seconds: 0
  overrides: {'https://a.test': [127.0.0.1]}
  min_ttl_seconds: 9
  max_ttl: 1s
politeness:
  classes:
    own: {domains: [a.test]}
    news: {domains: [b.test, 'b/c']}
  domains:
    'http://c.test/': {delay: 1s}
    d.test:
      basic_auth: {user: 'a:b', password: p}
      windows:
        - {from: '25:00', to: '8', days: [mon, funday],
           timezone: Mars, factor: 2}
        - {from: '08:00', to: '09:00', factor: 2, closed: true}
      filters: {include: '('}
    e.test:
      windows:
        - {from: '08:00', to: '09:00'}
        - {from: '08:00', to: '09:00', factor: 2, closed: true}
storage: {archive_layout: objects}
";
    let errors = errors_of(text);
    let lines: Vec<u32> =
        errors.iter().map(|error| error.split(':').nth(1).unwrap().parse().unwrap()).collect();
    let expected =
        [2, 3, 6, 7, 8, 11, 12, 13, 14, 16, 17, 18, 22, 23, 25, 27, 29, 29, 29, 30, 32, 35, 36, 37];
    assert_eq!(lines, expected, "{errors:#?}");
    assert!(!errors.iter().any(|error| error.contains("hunter2")), "{errors:#?}");
    assert!(errors[4].contains("'a b' in 'crawl.authority' is not a host or domain"), "{errors:#?}");
}

#[test]
fn what_a_variable_should_have_held_is_not_judged() {
    let errors = errors_of("crawl:\n  timeout: ${NOPE}\n  user_agent: ${NOPE}\n");
    assert_eq!(
        errors,
        [
            "argiope.yaml:2:12: environment variable 'NOPE' is not set",
            "argiope.yaml:3:15: environment variable 'NOPE' is not set"
        ]
    );
    let errors = job("seeds:\n  - ${NOPE}\nname: 17\n").unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert!(errors[1].starts_with("job.yaml:3:7: 'name' expects a name"), "{errors:#?}");
}

#[test]
fn patterns_that_are_too_large_together_are_an_error_of_their_list() {
    let large = "[\\p{L}]{20}[\\p{N}]{20}".repeat(2);
    assert!(job(&format!("seeds: [a.test]\nexclude: ['{large}']\n")).is_ok());
    let many = vec![format!("'{large}'"); 200].join(", ");
    let errors = job(&format!("seeds: [a.test]\nexclude: [{many}]\n")).unwrap_err();
    assert!(errors[0].starts_with("job.yaml:2:1: 'exclude': the patterns are too large"), "{errors:?}");
}

#[test]
fn an_empty_file_says_nothing() {
    assert_eq!(config("").unwrap(), ConfigFile::default());
    assert_eq!(config("# all commented out\ncrawl:\npoliteness:\n").unwrap(), ConfigFile::default());
}

#[test]
fn a_job_file_becomes_a_specification() {
    let spec = job("name: nightly\nseeds: example.com\nscope: domain\nmax_depth: null\nmax_body: 1MB\n\
                    delay: 250ms\ninclude: ['^https://']\nbasic_auth: {username: u, password: p}\n\
                    new_urls_per_source: {per_second: 5, burst: 10}\ntraps: {enabled: no}\n")
    .unwrap();
    assert_eq!(spec.name.as_deref(), Some("nightly"));
    assert_eq!(spec.seeds, ["example.com"]);
    assert_eq!(spec.max_depth, None);
    assert_eq!(spec.max_body, 1_000_000);
    assert_eq!(spec.delay, Some(Duration::from_millis(250)));
    assert_eq!(spec.basic_auth, Some(BasicAuth { username: "u".into(), password: "p".into() }));
    assert_eq!(spec.new_urls_per_source, NewUrlRate { per_second: 5, burst: 10 });
    assert!(!spec.traps.enabled);
}

#[test]
fn errors_of_a_job_file_are_as_good() {
    assert_eq!(
        job("seeds: [a.test]\ntraps:\n  years_ahed: 3\n").unwrap_err(),
        ["job.yaml:3:3: unknown key 'years_ahed' in 'traps'; did you mean 'years_ahead'?"]
    );
    assert_eq!(
        job("depth: 3\nseeds: [a.test]\n").unwrap_err(),
        ["job.yaml:1:1: unknown key 'depth'; did you mean 'max_depth'?"]
    );
    let errors = job("seeds:\n  - a.test\n  - ftp://b.test/\n").unwrap_err();
    assert!(errors[0].starts_with("job.yaml:3:5: 'ftp://b.test/' cannot be crawled"), "{errors:?}");
    assert_eq!(
        job("seeds: [a.test]\nbasic_auth:\n  username: u\n").unwrap_err(),
        ["job.yaml:3:3: 'basic_auth' lacks 'password'"]
    );
}

#[test]
fn the_two_kinds_of_files_are_told_apart_by_their_keys() {
    let kind = |text: &str| checked("f.yaml", text, None, &environment).map(|checked| checked.kind).ok();
    assert_eq!(kind("seeds: [a.test]\nmax_depth: 3\n"), Some(FileKind::Job));
    assert_eq!(kind("crawl: {max_depth: 3}\n"), Some(FileKind::Config));
    let misspelt = checked("f.yaml", "seed: a.test\n", None, &environment).unwrap().errors;
    assert!(misspelt[0].to_string().ends_with("did you mean 'seeds'?"), "{misspelt:?}");
    let wrong =
        |text: &str, kind| checked("f.yaml", text, Some(kind), &environment).err().unwrap()[0].to_string();
    assert!(wrong("seeds: [a.test]\n", FileKind::Config).contains("this is a job file"));
    assert!(wrong("crawl: {max_depth: 3}\n", FileKind::Job).contains("this is a configuration file"));
}

/// Every key with all of its options set, as the types serialize themselves.
fn full_job() -> Map<String, Value> {
    let spec = JobSpec {
        name: Some("n".into()),
        max_subdomains_per_root: Some(1),
        max_pages: Some(1),
        max_pages_per_domain: Some(1),
        queue_cap: Some(1),
        delay: Some(Duration::from_secs(1)),
        per_host: Some(1),
        concurrency: Some(1),
        user_agent: Some("a".into()),
        basic_auth: Some(BasicAuth { username: "u".into(), password: "p".into() }),
        proxy: Some("http://proxy.test:3128".into()),
        ..JobSpec::default()
    };
    match serde_json::to_value(spec).unwrap() {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

#[test]
fn the_tables_know_every_key_of_a_job_and_no_other() {
    let job: Vec<String> = full_job().keys().cloned().collect();
    let mut known: Vec<String> = keys::JOB.iter().map(|key| key.name.to_owned()).collect();
    known.sort();
    assert_eq!(known, job);
}

#[test]
fn what_is_written_out_is_read_back() {
    let yaml = to_yaml(&Value::Object(full_job()));
    let spec = job(&yaml).unwrap();
    assert_eq!(serde_json::to_value(spec).unwrap(), Value::Object(full_job()));
    for text in ["", OPERATORS_EXAMPLE] {
        let mut given = config(text).unwrap();
        // The output has politeness.default_delay as well.
        given.crawl.default_crawl_delay = None;
        let yaml = to_yaml(&serde_json::to_value(&given).unwrap());
        assert_eq!(config(&yaml).unwrap_or_else(|e| panic!("{e:#?}\n{yaml}")), given);
    }
}

#[test]
fn the_tables_know_every_key_of_politeness() {
    use argiope_politeness::PolitenessSettings;
    let Value::Object(keys) = serde_json::to_value(PolitenessSettings::default()).unwrap() else { panic!() };
    for key in keys.keys() {
        assert!(politeness_keys::POLITENESS.iter().any(|known| known.name == key), "{key}");
    }
}

/// Each key of a section with a value of its kind.
fn example(kind: &schema::Kind) -> String {
    use schema::Kind;
    match kind {
        Kind::Text | Kind::Pattern => String::from("x"),
        Kind::Flag | Kind::Switch(_) => String::from("true"),
        Kind::Whole { least, .. } => (*least).max(1).to_string(),
        Kind::Number { .. } => String::from("1"),
        Kind::Delay | Kind::Duration | Kind::SomeTime => String::from("2s"),
        Kind::Size => String::from("1MB"),
        Kind::Word(words) | Kind::WordOr(words, _) => words[0].to_owned(),
        // Each has an example in the text of what it expects.
        Kind::Parsed(form) => {
            let example = form.expected.split("such as ").nth(1).unwrap_or("x");
            format!("\"{}\"", example.split([' ', ',']).next().unwrap_or("x"))
        }
        Kind::List(item) => format!("[{}]", example(item)),
        Kind::Fixed(count, item) => format!("[{}]", vec![example(item); *count].join(", ")),
        Kind::Named(_, value) => format!("{{a.test: {}}}", example(value)),
        Kind::Section(keys) => {
            let pairs: Vec<String> =
                keys.iter().map(|key| format!("{}: {}", key.name, example(&key.kind))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Kind::Free => String::from("{any: thing}"),
    }
}

#[test]
fn every_key_of_the_tables_has_a_place_in_the_types() {
    for section in keys::CONFIG {
        let schema::Kind::Section(keys) = section.kind else { panic!() };
        for key in keys {
            let mut value = example(&key.kind);
            match (section.name, key.name) {
                // Its files are read.
                ("crawl", "extra_authorities") => value = String::from("[]"),
                ("dns", "min_ttl") => value = String::from("1s"),
                ("workers", "pod_count_max") => value = String::from("20"),
                ("cluster", "transport") => value = String::from("kafka, kafka_brokers: \"a:1\""),
                ("politeness", "windows") => {
                    value = String::from("[{from: \"08:00\", to: \"09:00\", closed: true}]")
                }
                ("politeness", "domain_overrides") => {
                    value = value.replace("factor: 1, delay: 2s, closed: true", "closed: true");
                }
                _ => {}
            }
            // Some have no effect alone.
            let beside = match (section.name, key.name) {
                ("storage", "html_bucket") => "metadata_db_url: x, ",
                ("cluster", "kafka_ssl_ca") => "kafka_security_protocol: SSL, ",
                ("cluster", "kafka_sasl_username") => {
                    "kafka_security_protocol: SASL_SSL, kafka_sasl_password: x, "
                }
                ("cluster", "kafka_sasl_password") => {
                    "kafka_security_protocol: SASL_SSL, kafka_sasl_username: x, "
                }
                ("storage", "html_bucket_region" | "html_endpoint" | "upload_backlog") => {
                    "metadata_db_url: x, html_bucket: x, "
                }
                _ => "",
            };
            let text = format!("{}: {{{beside}{}: {value}}}", section.name, key.name);
            assert!(config(&text).is_ok(), "{text}: {:#?}", config(&text));
        }
    }
}

#[test]
fn values_whose_variables_are_not_set_are_left_out_and_named() {
    let text = "crawl:\n  user_agent: ${NOPE}\n  include: [a, \"${NOPE}\"]\npoliteness:\n  domains:\n    a.test:\n      delay: 3s\n      \
                basic_auth: {user: me, password: \"x${NOPE}\"}\n      extraction: {deep: [\"${NOPE}\"]}\n\
                dns: {timeout_seconds: \"${NOPE}\"}\nstorage:\n  metadata_db_url: ${NOPE}\n  html_bucket: x\n";
    let ReadConfig { file: config, unset, .. } =
        config_from_text("argiope.yaml", text, &environment).unwrap();
    let paths: Vec<&str> = unset.iter().map(|unset| unset.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "crawl.user_agent",
            "crawl.include",
            "politeness.domain_overrides.a.test.basic_auth.password",
            "politeness.domain_overrides.a.test.extraction",
            "dns.timeout",
            "storage.metadata_db_url",
        ]
    );
    assert_eq!(unset[2].error.to_string(), "argiope.yaml:8:40: environment variable 'NOPE' is not set");
    let domain = &config.politeness.domain_overrides["a.test"];
    assert_eq!(domain.delay.unwrap().0, Duration::from_secs(3));
    assert!(domain.basic_auth.is_none() && domain.extraction.is_none());
    assert!(config.crawl.job.is_empty() && config.storage.metadata_db_url.is_none());
    // Checking a file requires all of them, and reports all errors at once.
    assert_eq!(errors_of(text).len(), 6);
    assert_eq!(errors_of(&format!("{text}retentoin: {{}}\n")).len(), 7);
}

#[test]
fn keys_that_nothing_uses_yet_are_named_with_their_lines() {
    let text = "topics: {top_n: 15}\nstorage:\n  cache_ttl_seconds: 3600\npoliteness:\n  domains:\n    a.test:\n      \
                rendering: auto\n      extraction_rules: {}\n      filters: {exclude: [x]}\nserver: {listen: '127.0.0.1:1'}\n";
    let read = config_from_text("argiope.yaml", text, &environment).unwrap();
    let warnings: Vec<String> = read.not_in_effect.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "argiope.yaml:1:10: 'topics.top_n' is not in effect yet",
            "argiope.yaml:3:3: 'storage.cache_ttl' is not in effect yet",
            "argiope.yaml:7:7: 'politeness.domains.a.test.rendering' is not in effect yet",
            "argiope.yaml:8:7: 'politeness.domains.a.test.extraction' is not in effect yet",
        ]
    );
}

#[test]
fn what_is_not_in_effect_is_not_shown_as_such() {
    let mut topics = serde_json::json!({"top_n": 15, "ngram_range": [1, 2]});
    retain_in_effect("topics", &mut topics);
    assert_eq!(topics, serde_json::json!({}));
    let mut politeness =
        serde_json::json!({"domain_overrides": {"a.test": {"delay": "2s", "rendering": "auto"}}});
    retain_in_effect("politeness", &mut politeness);
    assert_eq!(politeness, serde_json::json!({"domain_overrides": {"a.test": {"delay": "2s"}}}));
}
