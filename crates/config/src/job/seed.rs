//! One seed: text as a user types it -> a URL that may be crawled, or the reason why not.

use argiope_fetch::AddressPolicy;
use argiope_frontier::admission::{AdmissionError, Bans};
use argiope_model::display::printable;
use argiope_model::{JobSpec, NormalRules, Url, UrlError};
use std::net::IpAddr;
use std::sync::Arc;

/// The rules that every seed has to pass.
#[derive(Clone, Debug)]
pub struct SeedRules {
    pub normal: NormalRules,
    pub addresses: AddressPolicy,
    /// Hosts that the job never requests.
    bans: Option<Arc<Bans>>,
}

impl SeedRules {
    pub fn of(spec: &JobSpec, addresses: AddressPolicy) -> Result<SeedRules, AdmissionError> {
        let bans = Some(Arc::new(Bans::compile(spec)?));
        Ok(SeedRules { bans, ..SeedRules::without_bans(spec.normal_form.compile(), addresses) })
    }

    pub fn without_bans(normal: NormalRules, addresses: AddressPolicy) -> SeedRules {
        SeedRules { normal, addresses, bans: None }
    }
}

/// Why a seed cannot be crawled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeedProblem {
    /// Not a URL that can be crawled.
    Unusable(String),
    /// An address that is refused unless an option or a configuration key allows it.
    Closed { why: String, hint: &'static str },
}

impl SeedProblem {
    pub fn message(&self) -> &str {
        match self {
            SeedProblem::Unusable(why) | SeedProblem::Closed { why, .. } => why,
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            SeedProblem::Unusable(_) => {
                "a seed is a URL such as https://example.com/ or a host such as example.com"
            }
            SeedProblem::Closed { hint, .. } => hint,
        }
    }
}

const ALLOW_PRIVATE: &str = "add --allow-private if these machines are yours to crawl";
const ALLOW_ADDRESSES: &str =
    "name the address in crawl.allow_addresses of argiope.yaml if it is meant to be crawled";

/// Parses a seed; without a scheme it is https.
pub fn parse_seed(text: &str, rules: &SeedRules) -> Result<Url, SeedProblem> {
    if is_path(text.trim()) {
        return Err(unusable(text, &format!("{PATH}; a file of URLs is read with --list")));
    }
    let url = parse_typed(text, &rules.normal)?;
    if has_user(text.trim().trim_start_matches('/')) {
        return Err(unusable(text, "a user name in a URL is not sent; give 'basic_auth' in a job file"));
    }
    if let Some(problem) = name_problem(url.host_name()) {
        let why = format!("the host '{}' has {problem}", url.host_name());
        return Err(unusable(text, &why));
    }
    check_address(&url, &rules.addresses)?;
    match rules.bans.as_ref().map(|bans| bans.check(&url)) {
        Some(Err(skip)) => Err(unusable(text, &skip.detail)),
        Some(Ok(())) | None => Ok(url),
    }
}

/// Parses a URL as a user types it, without checking whether it may be crawled. A user name in it is ignored.
pub fn parse_typed(text: &str, normal: &NormalRules) -> Result<Url, SeedProblem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(unusable(text, "it is empty"));
    }
    let absolute = with_scheme(text).map_err(|why| unusable(text, &why))?;
    Url::parse(&absolute, normal).map_err(|error| match error {
        UrlError::Scheme(scheme) => {
            unusable(text, &format!("scheme '{scheme}' is not supported, only http and https"))
        }
        other => unusable(text, &other.to_string()),
    })
}

fn unusable(text: &str, why: &str) -> SeedProblem {
    SeedProblem::Unusable(format!("'{}' cannot be crawled: {why}", shown(text.trim())))
}

/// What makes a host name invalid in DNS. Links to such hosts simply fail; in a seed it is a typing error.
fn name_problem(name: &str) -> Option<&'static str> {
    if name.starts_with('[') {
        return None;
    }
    if name.split('.').any(str::is_empty) {
        return Some("an empty part between its dots");
    }
    if name.len() > 253 || name.split('.').any(|part| part.len() > 63) {
        return Some("a part that is longer than DNS allows");
    }
    None
}

/// Shortened, without a password and without control characters.
fn shown(text: &str) -> String {
    let masked = crate::emit::mask_url(text);
    printable(&argiope_model::display::fit(masked.as_deref().unwrap_or(text), 200))
}

const PATH: &str = "it is a path, not a URL";

fn is_path(text: &str) -> bool {
    !text.starts_with("//") && !text.contains("://") && text.starts_with(['/', '.', '~', '?', '#'])
}

fn with_scheme(text: &str) -> Result<String, String> {
    if text.contains("://") {
        return Ok(text.to_owned());
    }
    if let Some(rest) = text.strip_prefix("//") {
        return Ok(format!("https://{rest}"));
    }
    if is_path(text) {
        return Err(String::from(PATH));
    }
    // `localhost:8080` is a host with a port, `mailto:someone` another scheme.
    if let Some((before, after)) = text.split_once(':') {
        let scheme = before.chars().all(|c| c.is_ascii_alphanumeric() || c == '+' || c == '-');
        let port = after.split(['/', '?', '#']).next().unwrap_or("");
        if scheme && (port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit())) {
            return Err(format!("scheme '{before}' is not supported, only http and https"));
        }
    }
    Ok(format!("https://{text}"))
}

/// Whether there is a user name, which would be dropped silently otherwise.
fn has_user(text: &str) -> bool {
    let after = text.split_once("://").map_or(text, |(_, after)| after);
    after.split(['/', '?', '#', '\\']).next().is_some_and(|authority| authority.contains('@'))
}

/// Refuses literal private addresses and local names, and names the option that allows them. The addresses that a name
/// resolves to are checked when it is connected to.
pub fn check_address(url: &Url, policy: &AddressPolicy) -> Result<(), SeedProblem> {
    let name = url.host_name();
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    let (address, class_name) = if name == "localhost" || name.ends_with(".localhost") {
        (IpAddr::from([127, 0, 0, 1]), "a loopback name")
    } else {
        match literal.parse::<IpAddr>() {
            Ok(address) => (address, "an address"),
            Err(_) => return Ok(()),
        }
    };
    let Err(refused) = policy.check(address) else { return Ok(()) };
    let opened = refused.class.opened_by_allow_private();
    let what = match class_name {
        "an address" => format!("{literal} is {} address", refused.class.with_article()),
        other => format!("{name} is {other}"),
    };
    Err(SeedProblem::Closed {
        why: format!(
            "'{url}' is refused: {what}{}",
            if opened { " and --allow-private is not given" } else { "" }
        ),
        hint: address_hint(opened),
    })
}

/// The hint for a refused address: `--allow-private` allows some classes, the others have to be listed.
pub fn address_hint(opened_by_flag: bool) -> &'static str {
    if opened_by_flag { ALLOW_PRIVATE } else { ALLOW_ADDRESSES }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow_private: bool) -> SeedRules {
        let addresses = AddressPolicy { allow_private, allowed: Vec::new() };
        SeedRules::without_bans(NormalRules::default(), addresses)
    }

    #[test]
    fn a_host_that_is_never_asked_is_no_seed() {
        let spec = JobSpec {
            blacklist: vec![String::from("evil.test")],
            exclude_domains: vec![String::from("^ads")],
            ..JobSpec::default()
        };
        let rules = SeedRules::of(&spec, AddressPolicy::public_only()).unwrap();
        for (text, why) in [("sub.evil.test/x", "on the blacklist"), ("ads.a.test", "exclude_domains '^ads'")]
        {
            let problem = parse_seed(text, &rules).unwrap_err();
            assert!(problem.message().contains(why), "{problem:?}");
        }
        assert!(parse_seed("good.test", &rules).is_ok());
    }

    fn seed(text: &str) -> Result<String, SeedProblem> {
        parse_seed(text, &rules(false)).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn a_seed_without_a_scheme_is_https() {
        for (text, url) in [
            ("example.com", "https://example.com/"),
            ("example.com/a?b=c", "https://example.com/a?b=c"),
            ("example.com:8080/x", "https://example.com:8080/x"),
            ("//example.com/a", "https://example.com/a"),
            (" http://Example.com ", "http://example.com/"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
        ] {
            assert_eq!(seed(text).as_deref(), Ok(url), "{text}");
        }
    }

    #[test]
    fn a_url_that_is_only_asked_about_may_have_a_user_and_no_option_is_named_for_a_path() {
        let typed = |text| parse_typed(text, &NormalRules::default());
        assert_eq!(typed("http://u:pw@a.test/x").unwrap().as_str(), "http://a.test/x");
        let problem = typed("/a").unwrap_err();
        assert_eq!(problem.message(), "'/a' cannot be crawled: it is a path, not a URL");
    }

    #[test]
    fn an_invalid_seed_is_explained() {
        for (text, part) in [
            ("ftp://example.com", "scheme 'ftp' is not supported"),
            ("mailto:a@example.com", "scheme 'mailto' is not supported"),
            ("./urls.txt", "--list"),
            ("", "empty"),
            ("https://", "cannot be crawled"),
            ("https://exa mple.com", "cannot be crawled"),
            ("https://a..b/", "cannot be crawled: the host 'a..b' has an empty part between its dots"),
            (".example.com/", "path"),
            ("https://.example.com/", "an empty part"),
            (&format!("https://{}.example/", "x".repeat(64)), "longer than DNS allows"),
            ("https://u:hunter2@example.com/", "'https://u:***@example.com/' cannot be crawled: a user name"),
            ("u@example.com", "a user name"),
        ] {
            let problem = seed(text).unwrap_err();
            assert!(problem.message().contains(part), "{text}: {problem:?}");
            assert!(matches!(problem, SeedProblem::Unusable(_)));
        }
    }

    #[test]
    fn private_places_name_the_flag_that_opens_them() {
        for text in [
            "http://127.0.0.1:8080/",
            "localhost:3000",
            "http://10.1.2.3/",
            "http://[::1]/",
            "http://x.localhost/",
            "http://0x7f.1/",
        ] {
            let problem = seed(text).unwrap_err();
            assert!(problem.message().contains("--allow-private"), "{text}: {problem:?}");
            assert!(problem.hint().contains("--allow-private"));
            assert!(parse_seed(text, &rules(true)).is_ok(), "{text}");
        }
    }

    #[test]
    fn metadata_addresses_are_not_opened_by_the_flag() {
        let problem = parse_seed("http://169.254.169.254/latest", &rules(true)).unwrap_err();
        assert!(!problem.message().contains("--allow-private"), "{problem:?}");
        assert!(problem.hint().contains("allow_addresses"));
    }
}
