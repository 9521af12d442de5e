//! What the rules of a job let in, what they refuse and how they say so.

use super::*;
use argiope_model::{NormalRules, TrapOverride};

const NOW: Millis = Millis(1_767_323_045_678); // 2026

fn url(text: &str) -> Url {
    Url::parse(text, &NormalRules::default()).unwrap()
}

fn compile(spec: &JobSpec, seeds: &[&str]) -> Result<JobRules, AdmissionError> {
    let seeds: Vec<Url> = seeds.iter().map(|seed| url(seed)).collect();
    JobRules::compile(spec, &seeds, &Arc::new(PublicSuffixes::bundled()), NOW)
}

fn rules(spec: &JobSpec, seeds: &[&str]) -> JobRules {
    compile(spec, seeds).unwrap()
}

/// Judges at depth 1 and gives the reason.
fn reason(rules: &JobRules, text: &str) -> Option<SkipReason> {
    rules.judge(&url(text), 1).err().map(|skip| skip.reason)
}

fn any() -> JobSpec {
    JobSpec { scope: Scope::Any, ..JobSpec::default() }
}

#[test]
fn the_host_scope_is_the_hosts_of_the_seeds_on_both_schemes() {
    let mut rules = rules(&JobSpec::default(), &["https://example.com/a", "http://h.test:8080/"]);
    assert_eq!(reason(&rules, "http://example.com/b"), None);
    assert_eq!(reason(&rules, "http://h.test:8080/b"), None);
    assert_eq!(reason(&rules, "http://h.test/b"), Some(SkipReason::OutOfScope));
    assert_eq!(reason(&rules, "https://www.example.com/"), Some(SkipReason::OutOfScope));
    assert!(rules.add_scope_host(&url("https://www.example.com/")));
    assert!(!rules.add_scope_host(&url("https://www.example.com/")));
    assert_eq!(reason(&rules, "https://www.example.com/"), None);
}

#[test]
fn the_domain_scope_is_the_root_domain() {
    let spec = JobSpec { scope: Scope::Domain, ..JobSpec::default() };
    let mut rules =
        rules(&spec, &["https://blog.example.co.uk/", "https://github.io/", "https://amazonaws.com/"]);
    assert_eq!(reason(&rules, "https://example.co.uk/"), None);
    assert_eq!(reason(&rules, "https://a.b.example.co.uk:8443/"), None);
    assert_eq!(reason(&rules, "https://other.co.uk/"), Some(SkipReason::OutOfScope));
    assert_eq!(reason(&rules, "https://notexample.co.uk/"), Some(SkipReason::OutOfScope));
    assert_eq!(reason(&rules, "https://github.io/x"), None);
    assert_eq!(reason(&rules, "https://someone.github.io/"), Some(SkipReason::OutOfScope));
    assert_eq!(reason(&rules, "https://bucket.s3.amazonaws.com/"), Some(SkipReason::OutOfScope));
    assert!(!rules.add_scope_host(&url("https://other.co.uk/")));
}

#[test]
fn the_subdomain_scope_is_the_seed_host_and_what_is_below() {
    let spec = JobSpec { scope: Scope::Subdomains, ..JobSpec::default() };
    let rules = rules(&spec, &["https://docs.example.com/"]);
    assert_eq!(reason(&rules, "https://docs.example.com/"), None);
    assert_eq!(reason(&rules, "https://v2.docs.example.com/"), None);
    assert_eq!(reason(&rules, "https://example.com/"), Some(SkipReason::OutOfScope));
    assert_eq!(reason(&rules, "https://mydocs.example.com/"), Some(SkipReason::OutOfScope));
}

#[test]
fn any_scope_is_everything() {
    assert_eq!(reason(&rules(&any(), &["https://a.test/"]), "http://elsewhere.test:81/"), None);
}

#[test]
fn depth_is_limited_only_where_a_limit_is_set() {
    let deep = url("https://a.test/x");
    let limited = rules(&any(), &[]);
    assert_eq!(limited.judge(&deep, 10), Ok(()));
    assert_eq!(limited.judge(&deep, 11).unwrap_err().reason, SkipReason::TooDeep);
    let free = rules(&JobSpec { max_depth: None, ..any() }, &[]);
    assert_eq!(free.judge(&deep, 4_000_000), Ok(()));
}

#[test]
fn blacklisted_domains_and_excluded_hosts_are_refused() {
    let spec = JobSpec {
        blacklist: vec!["Bad.example".into(), "*.ads.test".into()],
        exclude_domains: vec!["^shop[0-9]+\\.".into()],
        ..any()
    };
    let rules = rules(&spec, &[]);
    assert_eq!(reason(&rules, "https://bad.example/"), Some(SkipReason::Blacklisted));
    assert_eq!(reason(&rules, "https://www.bad.example:81/"), Some(SkipReason::Blacklisted));
    assert_eq!(reason(&rules, "https://x.ads.test/"), Some(SkipReason::Blacklisted));
    assert_eq!(reason(&rules, "https://notbad.example/"), None);
    let skip = rules.judge(&url("https://shop12.test/"), 0).unwrap_err();
    assert_eq!(skip.reason, SkipReason::Filtered);
    assert!(skip.detail.contains("^shop[0-9]+"), "{}", skip.detail);
    assert_eq!(reason(&rules, "https://a.test/shop12."), None, "the path is no host");
}

#[test]
fn include_and_exclude_look_at_the_whole_url() {
    let spec = JobSpec {
        include: vec!["/docs/".into(), "^https://b\\.".into()],
        exclude: vec!["print=1".into()],
        ..any()
    };
    let rules = rules(&spec, &[]);
    assert_eq!(reason(&rules, "https://a.test/docs/x"), None);
    assert_eq!(reason(&rules, "https://b.test/"), None);
    assert_eq!(reason(&rules, "https://a.test/blog/"), Some(SkipReason::Filtered));
    let skip = rules.judge(&url("https://a.test/docs/x?print=1"), 0).unwrap_err();
    assert_eq!((skip.reason, skip.detail.as_str()), (SkipReason::Filtered, "matches exclude 'print=1'"));
}

#[test]
fn files_are_skipped_by_their_extension_in_any_case() {
    let rules_default = rules(&any(), &[]);
    for skipped in ["/a.jpg", "/a.JPEG", "/x/b.tar.gz", "/app.js?v=1", "/f.woff2"] {
        assert_eq!(
            reason(&rules_default, &format!("https://a.test{skipped}")),
            Some(SkipReason::Filtered),
            "{skipped}"
        );
    }
    for kept in [
        "/a.pdf",
        "/a.html",
        "/jpg",
        "/a.jpg/",
        "/.js",
        "/a.",
        "/?f=a.jpg",
        "/v1.2",
        "/a.averyveryverylongending",
    ] {
        assert_eq!(reason(&rules_default, &format!("https://a.test{kept}")), None, "{kept}");
    }
    let own = rules(&JobSpec { skip_extensions: vec![".PDF".into()], ..any() }, &[]);
    assert_eq!(reason(&own, "https://a.test/a.pdf"), Some(SkipReason::Filtered));
    assert_eq!(reason(&own, "https://a.test/a.jpg"), None);
}

#[test]
fn length_parameters_and_path_depth_are_limited() {
    let rules_default = rules(&JobSpec { max_url_length: 60, ..any() }, &[]);
    assert_eq!(reason(&rules_default, &format!("https://a.test/{}", "x".repeat(45))), None);
    assert_eq!(
        reason(&rules_default, &format!("https://a.test/{}", "x".repeat(46))),
        Some(SkipReason::UrlTooLong)
    );
    let parameters = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("p{n}={n}")).collect();
        format!("https://a.test/?{}", names.join("&"))
    };
    let rules_default = rules(&any(), &[]);
    assert_eq!(reason(&rules_default, &parameters(20)), None);
    assert_eq!(reason(&rules_default, &parameters(21)), Some(SkipReason::Trap));
    let skip = rules_default.judge(&url(&parameters(21)), 0).unwrap_err();
    let told = TrapSkip::parse(&skip.detail).unwrap();
    assert_eq!(told.rule, TrapRule::QueryParameters);
    assert_eq!(told.finding, "21 query parameters, over max_query_parameters 20");
    let strict = rules(&JobSpec { strict: true, ..any() }, &[]);
    assert_eq!(reason(&strict, &parameters(3)), None);
    assert_eq!(reason(&strict, &parameters(4)), Some(SkipReason::Trap));
    let path = |depth: usize| {
        let names: Vec<String> = (0..depth).map(|n| format!("s{n}")).collect();
        format!("https://a.test/{}", names.join("/"))
    };
    assert_eq!(reason(&rules_default, &path(20)), None);
    assert_eq!(reason(&rules_default, &(path(20) + "/")), None);
    assert_eq!(reason(&rules_default, &path(21)), Some(SkipReason::Trap));
}

#[test]
fn static_traps_are_refused_unless_switched_off() {
    let on = rules(&any(), &[]);
    let off = rules(&JobSpec { traps: TrapRules { enabled: false, ..TrapRules::default() }, ..any() }, &[]);
    for trap in ["/a/b/a/b/a/b/a/b", "/calendar/2032/01", "/calendar/1989/12", "/?mysessionid=0123456789"] {
        let text = format!("https://a.test{trap}");
        assert_eq!(reason(&on, &text), Some(SkipReason::Trap), "{trap}");
        assert_eq!(reason(&off, &text), None, "{trap}");
    }
    assert_eq!(reason(&on, "https://a.test/calendar/2031/12"), None, "five years ahead of 2026");
    let wide =
        TrapRules { earliest_year: 1900, years_ahead: 100, max_repeated_segments: 9, ..TrapRules::default() };
    let wide = rules(&JobSpec { traps: wide, ..any() }, &[]);
    assert_eq!(reason(&wide, "https://a.test/calendar/1901/01/a/a/a/a"), None);
}

#[test]
fn traps_can_be_different_for_a_domain() {
    let far = TrapOverride { years_ahead: Some(100), ..TrapOverride::default() };
    let off = TrapOverride { enabled: Some(false), ..TrapOverride::default() };
    let domains = [("Example.com".to_owned(), off), ("*.b.test".to_owned(), far)].into();
    let rules = rules(&JobSpec { traps: TrapRules { domains, ..TrapRules::default() }, ..any() }, &[]);
    let calendar = "/calendar/2032/01";
    assert_eq!(reason(&rules, &format!("https://a.test{calendar}")), Some(SkipReason::Trap));
    assert_eq!(reason(&rules, &format!("https://b.test{calendar}")), None);
    assert_eq!(reason(&rules, "https://b.test/a/b/a/b/a/b/a/b"), Some(SkipReason::Trap));
    assert_eq!(reason(&rules, &format!("https://www.example.com{calendar}")), None);
    let skip = rules.judge(&url(&format!("https://a.test{calendar}")), 0).unwrap_err();
    let told = TrapSkip::parse(&skip.detail).unwrap();
    assert_eq!((told.rule, told.pattern), (TrapRule::Calendar, "a.test/calendar/{n}/{n}"));
    assert!(told.finding.contains("2032") && told.finding.contains("traps.years_ahead"), "{}", told.finding);
}

#[test]
fn resources_are_requested_on_any_host_that_is_not_excluded() {
    let spec = JobSpec {
        max_depth: Some(0),
        include: vec!["/pages/".into()],
        exclude: vec!["/tracking/".into()],
        blacklist: vec!["ads.test".into()],
        max_url_length: 60,
        ..JobSpec::default()
    };
    let rules = rules(&spec, &["https://a.test/"]);
    let judged = |text: &str| rules.judge_resource(&url(text)).err().map(|skip| skip.reason);
    assert_eq!(judged("https://cdn.test/a/a/a/a/a/logo.png?v=1"), None);
    assert_eq!(judged("https://cdn.test/tracking/x.gif"), Some(SkipReason::Filtered));
    assert_eq!(judged("https://x.ads.test/x.gif"), Some(SkipReason::Blacklisted));
    assert_eq!(judged(&format!("https://a.test/{}.png", "x".repeat(60))), Some(SkipReason::UrlTooLong));
}

#[test]
fn what_is_wrong_in_a_spec_is_named() {
    let wrong = [
        (JobSpec { include: vec!["ok".into(), "(".into()], ..any() }, "include: '('"),
        (JobSpec { exclude: vec!["[".into()], ..any() }, "exclude: '['"),
        (JobSpec { exclude_domains: vec!["*".into()], ..any() }, "exclude_domains: '*'"),
        (JobSpec { blacklist: vec!["https://x.test/".into()], ..any() }, "blacklist: 'https://x.test/'"),
        (JobSpec { skip_extensions: vec!["tar.gz".into()], ..any() }, "skip_extensions: 'tar.gz'"),
        (JobSpec { max_url_length: 5000, ..any() }, "max_url_length is 5000"),
        (JobSpec { authority: [("a b".to_owned(), 1)].into(), ..any() }, "authority: 'a b'"),
    ];
    for (spec, beginning) in wrong {
        let error = compile(&spec, &[]).unwrap_err().to_string();
        assert!(error.starts_with(beginning), "{error}");
    }
}

#[test]
fn authority_is_that_of_the_nearest_entry() {
    let spec = JobSpec {
        authority: [("example.com".to_owned(), 10), ("docs.example.com".to_owned(), 30)].into(),
        ..any()
    };
    let rules = rules(&spec, &[]);
    assert_eq!(rules.authority(&url("https://www.example.com/")), 10);
    assert_eq!(rules.authority(&url("https://docs.example.com/")), 30);
    assert_eq!(rules.authority(&url("https://a.test/")), 0);
}

#[test]
fn the_explanation_names_every_rule_and_agrees_with_the_judgement() {
    let spec = JobSpec { exclude: vec!["secret".into()], ..JobSpec::default() };
    let rules = rules(&spec, &["https://a.test/"]);
    for (text, depth) in [
        ("https://a.test/x", 1),
        ("https://a.test/secret.zip", 99),
        ("https://b.test/a/a/a/a/a", 0),
        ("https://a.test/2099/01/", 3),
    ] {
        let steps = rules.explain(&url(text), depth);
        assert_eq!(steps.len(), CHECKS.len());
        let refused = steps.iter().find(|step| !step.passed).map(|step| step.detail.clone());
        let skip =
            rules.judge(&url(text), depth).err().map(|skip| format!("{}: {}", skip.reason, skip.detail));
        assert_eq!(refused, skip, "{text}");
        assert!(steps.iter().all(|step| !step.detail.is_empty()));
    }
    let steps = rules.explain(&url("https://a.test/secret.zip"), 99);
    let failed: Vec<&str> = steps.iter().filter(|step| !step.passed).map(|step| step.name).collect();
    assert_eq!(failed, ["depth", "exclude", "extension"]);
}
