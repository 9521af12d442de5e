use super::*;
use argiope_model::Scope;
use argiope_politeness::settings::Switch;
use serde_json::{Map, Value};
use std::io::Write;
use std::time::Duration;

fn global() -> GlobalOptions {
    GlobalOptions { data: PathBuf::from("d"), data_given: true, config: None, quiet: false }
}

fn config(text: &str) -> LoadedConfig {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    load_config_file(file.path().to_owned(), &|_| None).unwrap()
}

fn job_file(text: &str) -> JobFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    read_job(file.path(), &|_| None).unwrap()
}

fn seeds(seeds: &[&str]) -> CrawlOptions {
    CrawlOptions { seeds: seeds.iter().map(|s| (*s).to_owned()).collect(), ..CrawlOptions::default() }
}

#[test]
fn flags_win_over_the_job_file_over_the_configuration_over_the_defaults() {
    let config = config(
        "crawl: {max_depth: 1, max_pages: 1, scope: any, timeout: 1s, max_redirects: 1, traps: {years_ahead: 1}}\n",
    );
    let job = job_file(
        "seeds: [a.test]\nmax_depth: 2\nmax_pages: 2\nscope: domain\ntraps: {earliest_year: 1980}\n",
    );
    let options = CrawlOptions { depth: Some(3), ..seeds(&["b.test"]) };
    let settings = CrawlSettings::merge(&global(), &options, &config, Some(&job), &no_stored_job).unwrap();
    assert_eq!(settings.job.max_depth, Some(3));
    assert_eq!(settings.job.max_pages, Some(2));
    assert_eq!(settings.job.scope, Scope::Domain);
    assert_eq!(settings.job.timeout, Duration::from_secs(1));
    assert_eq!(settings.job.max_redirects, 1);
    assert_eq!((settings.job.traps.years_ahead, settings.job.traps.earliest_year), (1, 1980));
    assert_eq!(settings.job.max_links_per_page, 10_000);
    assert_eq!(settings.job.seeds, ["https://a.test/", "https://b.test/"]);
}

#[test]
fn flags_that_take_away_take_away() {
    let options =
        CrawlOptions { ignore_robots: true, allow_private: true, no_archive: true, ..seeds(&["127.0.0.1"]) };
    let settings =
        CrawlSettings::merge(&global(), &options, &LoadedConfig::default(), None, &no_stored_job).unwrap();
    assert!(!settings.job.respect_robots && settings.job.allow_private && !settings.job.archive);
    assert!(settings.addresses.allow_private);
    assert!(
        settings.notices.iter().any(|notice| notice.contains("robots.txt is IGNORED")),
        "{:?}",
        settings.notices
    );
}

#[test]
fn politeness_is_that_of_the_file_with_the_crawl_sections_words() {
    let config = config(
        "crawl: {default_crawl_delay_seconds: 2, max_retries: 1}\n\
         politeness: {domain_overrides: {slow.test: {crawl_delay_seconds: 9}}}\n",
    );
    let process = ProcessSettings::new(&global(), &config).unwrap();
    assert_eq!(process.politeness.default_delay(), Duration::from_secs(2));
    let settings = politeness_of(&config.file);
    let Switch::On(retries) = settings.retries else { panic!() };
    assert_eq!(retries.max_retries, Some(1));
}

#[test]
fn dns_and_addresses_reach_their_rooms() {
    let config = config(
        "dns: {resolvers: [9.9.9.9, \"[::1]:5353\"], overrides: {a.test: [10.0.0.1]}, max_ttl: 10m}\n\
         crawl: {allow_addresses: [169.254.169.254]}\nworkers: {concurrency: 7}\n",
    );
    let process = ProcessSettings::new(&global(), &config).unwrap();
    assert_eq!(process.resolver.resolvers[0].to_string(), "9.9.9.9:53");
    assert_eq!(process.resolver.resolvers[1].to_string(), "[::1]:5353");
    assert_eq!(process.resolver.overrides["a.test"][0].to_string(), "10.0.0.1");
    assert_eq!(process.resolver.ttl.longest, Duration::from_secs(600));
    assert_eq!(process.concurrency, 7);
    let addresses = addresses_of(&config.file, false).unwrap();
    assert!(addresses.check("169.254.169.254".parse().unwrap()).is_ok());
}

#[test]
fn no_seed_at_all_is_a_usage_error_with_a_next_step() {
    let failure =
        CrawlSettings::merge(&global(), &seeds(&[]), &LoadedConfig::default(), None, &no_stored_job)
            .unwrap_err();
    assert_eq!(failure.messages, ["no seed was given"]);
    assert!(failure.hint.unwrap().contains("argiope crawl https://example.com"));
}

#[test]
fn every_wrong_seed_is_named() {
    let options = seeds(&["ftp://a.test", "b.test", "http://10.0.0.1/"]);
    let failure = CrawlSettings::merge(&global(), &options, &LoadedConfig::default(), None, &no_stored_job)
        .unwrap_err();
    assert_eq!(failure.messages.len(), 2);
    assert_eq!(failure.class, crate::failure::FailureClass::Usage);
}

#[test]
fn the_format_of_the_output_is_told_by_its_ending() {
    assert_eq!(output_of(Path::new("-")), Ok(Output::Stdout));
    assert_eq!(output_of(Path::new("a.jsonl")), Ok(Output::Jsonl("a.jsonl".into())));
    assert_eq!(output_of(Path::new("a.csv")), Ok(Output::Csv("a.csv".into())));
    for wrong in ["a.json", "a", "a.parquet"] {
        assert!(output_of(Path::new(wrong)).unwrap_err().hint.unwrap().contains("export"), "{wrong}");
    }
}

#[test]
fn a_named_job_is_found_by_its_name_and_others_by_their_inputs() {
    let merge = |options: &CrawlOptions| {
        CrawlSettings::merge(&global(), options, &LoadedConfig::default(), None, &no_stored_job)
            .unwrap()
            .identity
    };
    let plain = merge(&seeds(&["a.test"]));
    assert_eq!(plain, merge(&CrawlOptions { max_pages: Some(3), ..seeds(&["https://A.test:443/"]) }));
    assert_ne!(plain, merge(&seeds(&["b.test"])));
    let named = merge(&CrawlOptions { name: Some("nightly".into()), ..seeds(&["a.test"]) });
    assert_eq!(named.key, "nightly");
}

#[test]
fn what_cannot_be_sent_is_a_usage_error() {
    let options = CrawlOptions { user_agent: Some("a\nb".into()), ..seeds(&["a.test"]) };
    assert!(
        CrawlSettings::merge(&global(), &options, &LoadedConfig::default(), None, &no_stored_job).is_err()
    );
}

fn sections_delay(config: &LoadedConfig) -> Duration {
    ProcessSettings::new(&global(), config).unwrap().politeness.default_delay()
}

#[test]
fn what_is_shown_as_in_force_is_a_configuration_again() {
    let loaded = config("crawl: {default_crawl_delay: 3s, max_retries: 2, max_depth: 4}\n");
    let sections: Map<String, Value> =
        effective(&loaded.file).unwrap().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(sections["crawl"]["max_depth"], 4);
    assert_eq!(sections["politeness"]["default_delay"], "3s");
    assert_eq!(sections["politeness"]["breaker"]["failures"], 5);
    assert_eq!(sections["politeness"]["retries"]["max_retries"], 2);
    let again = config(&crate::to_yaml(&Value::Object(sections)));
    assert_eq!(sections_delay(&again), Duration::from_secs(3));
    assert_eq!(effective(&again.file).unwrap(), effective(&loaded.file).unwrap());
}

#[test]
fn an_invalid_job_name_is_refused() {
    let named = |name: &str| {
        let options = CrawlOptions { name: Some(name.to_owned()), ..seeds(&["a.test"]) };
        CrawlSettings::merge(&global(), &options, &LoadedConfig::default(), None, &no_stored_job)
    };
    for wrong in ["", " ", "12", "a\nb", &"x".repeat(201)] {
        assert!(named(wrong).is_err(), "{wrong:?}");
    }
    assert!(named("nightly 12").is_ok());
}

#[test]
fn politeness_is_read_again_from_the_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"crawl: {default_crawl_delay: 2s}\n").unwrap();
    assert_eq!(reload_politeness(file.path()).unwrap().default_delay(), Duration::from_secs(2));
    file.write_all(b"politness: {}\n").unwrap();
    assert!(reload_politeness(file.path()).unwrap_err().messages[0].contains("did you mean 'politeness'?"));
}

#[test]
fn a_variable_that_is_not_set_is_missed_only_where_its_value_is_needed() {
    let secrets = "crawl: {basic_auth: {user: me, password: \"${NOPE}\"}, user_agent: \"${NOPE}\"}\n\
                   politeness: {domains: {a.test: {delay: 2s, headers: {X-Key: \"${NOPE}\"}}}}\n\
                   storage: {cache_url: \"${NOPE}\"}\n";
    let loaded = config(secrets);
    loaded.needs("storage.metadata_db_url").unwrap();
    loaded.needs("storage.cache").unwrap();
    loaded.needs_rules().unwrap();
    assert_eq!(loaded.left_out().count(), 4);
    for missing in ["storage.cache_url", "storage", "crawl.basic_auth"] {
        let failure = loaded.needs(missing).unwrap_err();
        assert!(failure.messages[0].ends_with("environment variable 'NOPE' is not set"), "{failure:?}");
    }
    assert_eq!(loaded.whole().unwrap_err().messages.len(), 4);
    for rule in ["politeness: {default_delay: \"${NOPE}\"}", "crawl: {allow_addresses: [\"${NOPE}\"]}"] {
        assert!(config(rule).needs_rules().is_err(), "{rule}");
    }
}
