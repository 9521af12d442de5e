use super::*;

fn settings(json: &str) -> PolitenessSettings {
    serde_json::from_str(json).unwrap()
}

fn rules(json: &str) -> PolitenessRules {
    PolitenessRules::compile(&settings(json)).unwrap()
}

fn problem(json: &str) -> String {
    match serde_json::from_str::<PolitenessSettings>(json) {
        Err(error) => error.to_string(),
        Ok(settings) => PolitenessRules::compile(&settings).unwrap_err()[0].to_string(),
    }
}

const NOON: Millis = Millis(1_751_630_400_000); // Friday, 2025-07-04T12:00:00Z
const NO_JOBS: [Option<Duration>; 0] = [];

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn the_defaults_are_those_of_an_empty_section() {
    let empty = rules("{}");
    assert_eq!(settings("{}"), PolitenessSettings::default());
    for rules in [empty, PolitenessRules::default()] {
        let host = rules.for_host("example.com");
        assert_eq!(host.base_delay(NO_JOBS, None, NOON), seconds(1));
        assert_eq!((host.per_host([]).get(), rules.per_address().get()), (1, 8));
        assert_eq!(rules.robots(), &RobotsPolicy::default());
        assert_eq!(host.adaptive(), &AdaptivePolicy::default());
        assert_eq!(host.breaker(), &BreakerPolicy::default());
        assert_eq!(host.retries(), &RetryPolicy::default());
        assert!(host.respect_robots() && host.respect_nofollow() && host.respect_noindex());
        assert_eq!(host.park_over(), seconds(3600));
    }
}

#[test]
fn keys_with_units_in_their_names_are_aliases() {
    let rules = rules(
        r#"{"robots_cache_ttl_hours": 12,
            "domain_overrides": {"amazon.com": {"crawl_delay_seconds": 5}, "a.test": {"delay_ms": 250}}}"#,
    );
    assert_eq!(rules.robots().ttl, seconds(12 * 3600));
    assert_eq!(rules.for_host("www.amazon.com").base_delay(NO_JOBS, None, NOON), seconds(5));
    assert_eq!(rules.for_host("a.test").base_delay(NO_JOBS, None, NOON), Duration::from_millis(250));
}

#[test]
fn the_delay_is_the_domains_then_the_classes_then_the_jobs_then_the_default() {
    let rules = rules(
        r#"{"default_delay": "4s",
            "classes": {"shops": {"domains": ["shop.test", "both.test"]}, "slow": {"delay": 9, "domains": ["slow.test"]}},
            "domain_overrides": {"both.test": {"delay": "500ms"}, "plain.test": {"per_host": 2}}}"#,
    );
    let job = [Some(seconds(7))];
    let configured = |host| {
        let rules: HostRules = rules.for_host(host);
        let (delay, source) = rules.configured_delay(job);
        (delay, format!("{source:?}"))
    };
    assert_eq!(configured("both.test"), (Duration::from_millis(500), "Domain(\"both.test\")".into()));
    assert_eq!(configured("www.shop.test"), (seconds(5), "Class(\"shops\")".into()));
    assert_eq!(configured("slow.test"), (seconds(9), "Class(\"slow\")".into()));
    assert_eq!(configured("plain.test"), (seconds(7), "Job".into()));
    assert_eq!(configured("else.test"), (seconds(7), "Job".into()));
    let plain = rules.for_host("else.test");
    assert_eq!(plain.configured_delay([None]), (seconds(4), DelaySource::Default));
    assert_eq!(plain.configured_delay(NO_JOBS), (seconds(4), DelaySource::Default));
}

#[test]
fn of_several_jobs_the_longest_delay_counts() {
    let host = rules("{}").for_host("a.test");
    let delay = |jobs: &[Option<Duration>]| host.base_delay(jobs.iter().copied(), None, NOON);
    assert_eq!(delay(&[Some(Duration::ZERO)]), Duration::ZERO);
    assert_eq!(delay(&[Some(Duration::ZERO), Some(seconds(3)), Some(seconds(2))]), seconds(3));
    assert_eq!(delay(&[Some(Duration::ZERO), None]), seconds(1), "a job that says nothing has the default");
}

#[test]
fn of_several_jobs_the_fewest_in_flight_count() {
    let host = rules("{}").for_host("a.test");
    assert_eq!(host.per_host([Some(64)]).get(), 64);
    assert_eq!(host.per_host([Some(64), Some(8)]).get(), 8);
    assert_eq!(host.per_host([Some(64), None]).get(), 1);
    assert_eq!(host.per_host([Some(0)]).get(), 1);
}

#[test]
fn no_delay_is_below_the_crawl_delay() {
    let rules = rules(r#"{"domain_overrides": {"a.test": {"delay": 2}}}"#);
    let delay =
        |host, crawl_delay| rules.for_host(host).base_delay([Some(Duration::ZERO)], crawl_delay, NOON);
    assert_eq!(delay("a.test", Some(seconds(10))), seconds(10));
    assert_eq!(delay("a.test", Some(seconds(1))), seconds(2));
    assert_eq!(delay("b.test", Some(seconds(1))), seconds(1));
}

#[test]
fn windows_lengthen_what_the_rest_gives() {
    let rules = rules(
        r#"{"windows": [{"from": "11:00", "to": "13:00", "factor": 2}],
            "domain_overrides": {
                "own.test": {"windows": [{"from": "08:00", "to": "20:00", "days": ["mon-fri"], "zone": "America/New_York", "delay": "8s"}]},
                "none.test": {"windows": []}}}"#,
    );
    let delay = |host, crawl_delay| rules.for_host(host).base_delay(NO_JOBS, crawl_delay, NOON);
    assert_eq!(delay("a.test", None), seconds(2));
    assert_eq!(delay("a.test", Some(seconds(5))), seconds(10));
    assert_eq!(delay("own.test", None), seconds(8));
    assert_eq!(delay("own.test", Some(seconds(20))), seconds(20));
    assert_eq!(delay("none.test", None), seconds(1));
}

#[test]
fn the_most_specific_entry_applies_to_a_host() {
    let rules = rules(
        r#"{"domain_overrides": {
            "Example.COM": {"delay": 1}, "*.shop.example.com": {"delay": 2}, "www.shop.example.com:8443": {"delay": 3},
            "127.0.0.1": {"delay": 4}, "bücher.example": {"delay": 5}, "0.1": {"delay": 6}}}"#,
    );
    let delay = |host| rules.for_host(host).domain().map(|domain| domain.delay.unwrap().as_secs());
    assert_eq!(delay("example.com"), Some(1));
    assert_eq!(delay("a.b.example.com"), Some(1));
    assert_eq!(delay("notexample.com"), None);
    assert_eq!(delay("shop.example.com"), Some(2));
    assert_eq!(delay("www.shop.example.com"), Some(2));
    assert_eq!(delay("www.shop.example.com:8443"), Some(3));
    assert_eq!(delay("www.shop.example.com:80"), Some(2));
    assert_eq!(delay("127.0.0.1:8080"), Some(4));
    assert_eq!(delay("xn--bcher-kva.example"), Some(5));
    assert_eq!(delay("com"), None);
    assert_eq!(delay("[::1]:80"), None);
    assert_eq!(delay(""), None);
}

#[test]
fn a_domain_entry_keeps_what_it_leaves_out_from_the_top() {
    let rules = rules(
        r#"{"breaker": {"failures": 7}, "retries": {"busy": {"times": 5}, "jitter": 0}, "adaptive": false,
            "respect_nofollow": false,
            "domain_overrides": {"a.test": {
                "breaker": {"open_for": "2m"}, "retries": {"timeout": {"times": 2, "after": "1s"}}, "adaptive": true,
                "per_host": 4, "respect_robots": false},
              "b.test": {"breaker": false, "retries": false}}}"#,
    );
    let (a, b, other) = (rules.for_host("a.test"), rules.for_host("b.test"), rules.for_host("c.test"));
    assert_eq!((a.breaker().failures, a.breaker().open_for), (7, seconds(120)));
    assert_eq!((a.retries().busy.times, a.retries().no_answer.times), (5, 2));
    assert_eq!(a.retries().no_answer.first_after, seconds(1));
    assert!(a.adaptive().enabled && !other.adaptive().enabled);
    assert_eq!((a.per_host([Some(64)]).get(), other.per_host([]).get()), (4, 1));
    assert!(!a.respect_robots() && other.respect_robots() && !a.respect_nofollow());
    assert!(!b.breaker().enabled);
    assert_eq!(b.retries().max_retries, 0);
    assert_eq!((other.breaker().failures, other.breaker().open_for), (7, seconds(60)));
}

#[test]
fn a_domain_entry_carries_what_other_rooms_need() {
    let rules = rules(
        r#"{"domain_overrides": {"a.test": {
            "headers": {"X-Key": "v"}, "cookies": {"consent": "yes"}, "basic_auth": {"username": "u", "password": "secret"},
            "proxy": "http://proxy.test:3128", "rendering": "auto", "filters": {"exclude": ["/print/"]},
            "extraction": {"price": {"css": ".price"}}}}}"#,
    );
    let host = rules.for_host("a.test");
    let domain = host.domain().unwrap();
    assert_eq!(domain.headers["X-Key"], "v");
    assert_eq!(domain.cookies["consent"], "yes");
    assert_eq!(domain.rendering, Some(Rendering::Auto));
    assert_eq!(domain.filters.as_ref().unwrap().exclude, ["/print/"]);
    assert_eq!(domain.extraction.as_ref().unwrap()["price"]["css"], ".price");
    assert!(!format!("{domain:?}").contains("secret"));
}

#[test]
fn robots_and_other_settings_reach_their_policies() {
    let rules = rules(
        r#"{"robots_cache_ttl": "1h", "per_address": 3, "park_over": "2h",
            "robots": {"unreachable": "allow", "client_error": "disallow", "retry_after": ["1s"], "unreachable_for": "5m",
                       "max_redirects": 2, "timeout": 3}}"#,
    );
    let robots = rules.robots();
    assert_eq!(robots.ttl, seconds(3600));
    assert_eq!((robots.retry_after.as_slice(), robots.unreachable_for), (&[seconds(1)][..], seconds(300)));
    assert_eq!((robots.max_redirects, robots.timeout), (2, seconds(3)));
    assert_eq!(rules.per_address().get(), 3);
    assert_eq!(rules.for_host("x").park_over(), seconds(7200));
}

#[test]
fn wrong_settings_are_named_with_their_place() {
    for (json, parts) in [
        (r#"{"defualt_delay": 1}"#, vec!["defualt_delay", "default_delay"]),
        (r#"{"domain_overrides": {"a.test": {"dealy": 1}}}"#, vec!["dealy", "delay"]),
        (r#"{"breaker": {"falures": 1}}"#, vec!["falures", "failures"]),
        (r#"{"per_host": 0}"#, vec!["nonzero"]),
        (r#"{"domain_overrides": {"http://a.test/": {}}}"#, vec!["http://a.test/", "example.com"]),
        (r#"{"domain_overrides": {"a.test": {}, "A.TEST": {}}}"#, vec!["same domain"]),
        (r#"{"domain_overrides": {"a.test": {"delay": 1, "delay_ms": 1}}}"#, vec!["a.test.delay", "twice"]),
        (r#"{"default_delay": 2, "default_delay_ms": 1}"#, vec!["default_delay", "twice"]),
        (r#"{"robots_cache_ttl": "1h", "robots_cache_ttl_hours": 1}"#, vec!["keep one"]),
        (r#"{"robots_cache_ttl_hours": -1}"#, vec!["-1"]),
        (r#"{"classes": {"blogs": {"domains": ["a.test"]}}}"#, vec!["classes.blogs", "delay"]),
        (
            r#"{"classes": {"news": {"domains": ["a.test"]}, "shops": {"domains": ["a.test"]}}}"#,
            vec!["a.test", "news"],
        ),
        (r#"{"windows": [{"from": "8", "to": "20:00", "factor": 2}]}"#, vec!["windows[0].from", "'8'"]),
        (r#"{"windows": [{"from": "08:00", "to": "20:00"}]}"#, vec!["windows[0]", "factor"]),
        (r#"{"windows": [{"from": "08:00", "to": "20:00", "factor": 0.5}]}"#, vec!["factor", "lengthen"]),
        (
            r#"{"windows": [{"from": "08:00", "to": "20:00", "factor": 2, "zone": "Mars"}]}"#,
            vec!["zone", "Mars"],
        ),
        (
            r#"{"windows": [{"from": "08:00", "to": "20:00", "factor": 2, "days": ["may"]}]}"#,
            vec!["days", "may"],
        ),
        (r#"{"retries": {"busy": {"growth": 0.1}}}"#, vec!["retries.busy.growth"]),
        (r#"{"breaker": {"error_share": 50}}"#, vec!["breaker.error_share"]),
    ] {
        let problem = problem(json);
        for part in parts {
            assert!(problem.contains(part), "{json}: {problem}");
        }
    }
}

#[test]
fn settings_are_written_as_they_are_read() {
    let given = settings(
        r#"{"default_delay": "1500ms", "breaker": false, "classes": {"news": {"domains": ["n.test"]}},
            "domain_overrides": {"a.test": {"delay": 5, "windows": [{"from": "08:00", "to": "09:00", "closed": true}]}}}"#,
    );
    let json = serde_json::to_string(&given).unwrap();
    assert_eq!(settings(&json), given, "{json}");
}

#[test]
fn everything_that_is_wrong_is_found_in_one_go() {
    let given = settings(
        r#"{"windows": [{"from": "08:00", "to": "09:00"}],
            "classes": {"own": {"domains": ["a.test"]}, "news": {"domains": ["n.test", "b/c"]}},
            "domain_overrides": {"d/e": {}, "f.test": {"breaker": {"failures": 0}, "retries": {"jitter": 2}}}}"#,
    );
    let errors = PolitenessRules::compile(&given).unwrap_err();
    let subjects: Vec<String> = errors.iter().map(ToString::to_string).collect();
    for part in [
        "politeness.windows[0]: ",
        "politeness.domain_overrides.d/e: ",
        "politeness.domain_overrides.f.test.breaker.failures: ",
        "politeness.domain_overrides.f.test.retries.jitter: ",
        "politeness.classes.own: ",
        "politeness.classes.news.domains[1]: ",
    ] {
        assert_eq!(subjects.iter().filter(|subject| subject.starts_with(part)).count(), 1, "{subjects:#?}");
    }
    assert_eq!(errors.len(), 6, "{subjects:#?}");
}
