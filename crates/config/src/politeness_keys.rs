//! The keys of the section `politeness`, which hold for all domains or for one.

use crate::forms;
use crate::keys::{BASIC_AUTH, CONNECTIONS_PER_HOST, COOKIES, HEADERS, PROXY};
use crate::schema::{Key, Kind, Unit};

const SHARE: Kind = Kind::Number { least: 0.0, most: 1.0 };
const FACTOR: Kind = Kind::Number { least: 1.0, most: 100_000.0 };
const U8: Kind = Kind::Whole { least: 0, most: 255 };
const U8_AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: 255 };
const U32_AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: u32::MAX as u64 };
const WHEN_UNAVAILABLE: Kind = Kind::Word(&["allow", "disallow"]);

const ADAPTIVE: &[Key] = &[
    Key::new("slow_above", Kind::Duration)
        .alias(&[("slow_above_seconds", Unit::Seconds)])
        .about("Slower responses increase the delay.")
        .example("3s"),
    Key::new("fast_below", Kind::Duration)
        .alias(&[("fast_below_seconds", Unit::Seconds)])
        .about("Faster responses decrease it again, never below the configured delay.")
        .example("300ms"),
    Key::new("longest_delay", Kind::Delay)
        .alias(&[("longest_delay_seconds", Unit::Seconds)])
        .about("Maximum of the increased delay.")
        .example("2m"),
];

const BREAKER: &[Key] = &[
    Key::new("failures", U8_AT_LEAST_ONE)
        .about("Consecutive failures that open the circuit breaker of a host.")
        .unit("failures")
        .example("3"),
    Key::new("open_for", Kind::Duration)
        .alias(&[("open_for_seconds", Unit::Seconds)])
        .about("How long it stays open.")
        .example("5m"),
    Key::new("successes", U8).about("Consecutive successes that close it.").unit("successes").example("1"),
    Key::new("window", Kind::Duration)
        .alias(&[("window_seconds", Unit::Seconds)])
        .about("Time window for the error share.")
        .example("10m"),
    Key::new("error_share", SHARE)
        .about("A host whose share of errors is higher is suspended.")
        .unit("share, 0 to 1")
        .example("0.8"),
    Key::new("minimum_requests", Kind::Whole { least: 0, most: 65_535 })
        .about("Responses within the window before the share is used.")
        .unit("answers")
        .example("50"),
    Key::new("suspend_for", Kind::Duration)
        .alias(&[("suspend_for_seconds", Unit::Seconds)])
        .about("How long a host is suspended.")
        .example("30m"),
];

const RETRY_STEPS: &[Key] = &[
    Key::new("times", U8).about("Number of retries.").unit("retries").example("2"),
    Key::new("after", Kind::Duration)
        .alias(&[("after_seconds", Unit::Seconds)])
        .about("Wait before the first retry.")
        .example("30s"),
    Key::new("growth", Kind::Number { least: 1.0, most: 100.0 })
        .about("Factor by which each further wait is longer.")
        .unit("factor")
        .example("2"),
];

const RETRIES: &[Key] = &[
    Key::new("busy", Kind::Section(RETRY_STEPS)).about("After 429 and 503."),
    Key::new("server_error", Kind::Section(RETRY_STEPS)).about("After other 5xx."),
    Key::new("no_answer", Kind::Section(RETRY_STEPS))
        .alias(&[("timeout", Unit::Same)])
        .about("After timeouts and broken connections."),
    Key::new("jitter", SHARE)
        .about("Random share of each wait, so that retries spread out.")
        .unit("share, 0 to 1")
        .example("0.1"),
    Key::new("max_retries", U8).about("Retries of one URL in total.").unit("retries").example("5"),
];

const ROBOTS: &[Key] = &[
    Key::new("client_error", WHEN_UNAVAILABLE)
        .about("What a 4xx other than 429 for robots.txt means for the host."),
    Key::new("unreachable", WHEN_UNAVAILABLE)
        .about("What a 429, a 5xx or a missing response for robots.txt means, once all retries have failed."),
    Key::new("retry_after", Kind::List(&Kind::Duration))
        .about("Waits before each retry.")
        .example("[10s, 1m]"),
    Key::new("unreachable_for", Kind::Duration)
        .alias(&[("unreachable_for_seconds", Unit::Seconds)])
        .about("How long a robots.txt counts as unreachable before it is requested again.")
        .example("10m"),
    Key::new("max_redirects", U8)
        .about("Redirects of robots.txt that are followed.")
        .unit("redirects")
        .example("3"),
    Key::new("timeout", Kind::SomeTime)
        .alias(&[("timeout_seconds", Unit::Seconds)])
        .about("Time limit of the request for robots.txt.")
        .example("10s"),
];

const WINDOW: &[Key] = &[
    Key::new("from", Kind::Parsed(forms::TIME_OF_DAY))
        .required()
        .about("Start of the window.")
        .example("\"08:00\""),
    Key::new("to", Kind::Parsed(forms::TIME_OF_DAY))
        .required()
        .about("End of the window; earlier than `from` means the next day.")
        .example("\"20:00\""),
    Key::new("days", Kind::List(&Kind::Parsed(forms::DAYS)))
        .about("Days of the week.")
        .example("[mon-fri]")
        .otherwise("every day"),
    Key::new("zone", Kind::Parsed(forms::ZONE))
        .alias(&[("timezone", Unit::Same), ("utc_offset", Unit::Same)])
        .about("The time zone of both times.")
        .example("Europe/Berlin")
        .otherwise("UTC"),
    Key::new("factor", FACTOR)
        .about("Multiplies the delay. A window has one of `factor`, `delay` and `closed`.")
        .unit("factor")
        .example("4"),
    Key::new("delay", Kind::Delay)
        .alias(&[("delay_seconds", Unit::Seconds)])
        .about("Delay within the window.")
        .example("10s"),
    Key::new("closed", Kind::Flag).about("No requests within the window.").example("true"),
];

const FILTERS: &[Key] = &[
    Key::new("include", Kind::List(&Kind::Pattern))
        .about("Patterns on the whole URL: if there are any, one must match.")
        .example("['/docs/']"),
    Key::new("exclude", Kind::List(&Kind::Pattern))
        .about("Patterns on the whole URL: none may match.")
        .example("['/tag/']"),
];

const DOMAIN: &[Key] = &[
    Key::new("delay", Kind::Delay)
        .alias(&[
            ("crawl_delay", Unit::Same),
            ("crawl_delay_seconds", Unit::Seconds),
            ("delay_seconds", Unit::Seconds),
            ("crawl_delay_ms", Unit::Milliseconds),
            ("delay_ms", Unit::Milliseconds),
        ])
        .about("Delay from the end of a response to the next request to the same host.")
        .example("5s")
        .otherwise("that of its class, or else of the job, or else `default_delay`"),
    Key::new("per_host", CONNECTIONS_PER_HOST)
        .about("Concurrent requests per host.")
        .unit("requests")
        .example("4"),
    Key::new("windows", Kind::List(&Kind::Section(WINDOW)))
        .about("Times of day with another delay.")
        .example("[{ from: \"08:00\", to: \"20:00\", factor: 4 }]"),
    Key::new("adaptive", Kind::Switch(ADAPTIVE)).about("Increase the delay of slow hosts."),
    Key::new("breaker", Kind::Switch(BREAKER)).about("Pause requests to failing hosts."),
    Key::new("retries", Kind::Switch(RETRIES)).about("What is retried, how often and when."),
    Key::new("respect_robots", Kind::Flag).about("Obey robots.txt.").example("false"),
    Key::new("respect_nofollow", Kind::Flag)
        .about("Respect `nofollow` on pages of the domain.")
        .example("false"),
    Key::new("respect_noindex", Kind::Flag)
        .about("Respect `noindex` on pages of the domain.")
        .example("false"),
    Key::new("headers", HEADERS)
        .about("Headers sent to the domain.")
        .example("{ X-Contact: crawl@example.org }"),
    Key::new("cookies", COOKIES).about("Cookies sent to the domain.").example("{ consent: \"yes\" }"),
    Key::new("basic_auth", Kind::Section(BASIC_AUTH)).about("User and password sent to the domain."),
    Key::new("proxy", PROXY)
        .about("An HTTP proxy for requests to the domain.")
        .example("http://proxy.example:3128"),
    Key::new("insecure", Kind::Flag).about("Do not verify the certificates of the domain.").example("true"),
    Key::new("rendering", Kind::Word(&["never", "auto", "always"]))
        .not_in_effect()
        .about("Whether pages of the domain are rendered in a browser."),
    Key::new("filters", Kind::Section(FILTERS)).about(
        "Which URLs of the domain are requested, in addition to the filters of the job. Seeds are requested anyway.",
    ),
    Key::new("extraction", Kind::Free)
        .alias(&[("extraction_rules", Unit::Same)])
        .not_in_effect()
        .about("Rules for what is extracted from pages of the domain.")
        .example("{}"),
];

const CLASS: &[Key] = &[
    Key::new("delay", Kind::Delay)
        .alias(&[
            ("delay_seconds", Unit::Seconds),
            ("crawl_delay", Unit::Same),
            ("crawl_delay_seconds", Unit::Seconds),
            ("delay_ms", Unit::Milliseconds),
        ])
        .about("The delay of the domains in the class.")
        .example("3s")
        .otherwise("`general` 2s, `news` 3s, `shops` 5s; other classes need one"),
    Key::new("domains", Kind::List(&Kind::Parsed(forms::DOMAIN)))
        .about("The domains in the class, with their subdomains.")
        .example("[news.example]"),
];

pub(crate) const POLITENESS: &[Key] = &[
    Key::new("default_delay", Kind::Delay)
        .alias(&[
            ("default_delay_seconds", Unit::Seconds),
            ("default_crawl_delay", Unit::Same),
            ("default_crawl_delay_seconds", Unit::Seconds),
            ("default_delay_ms", Unit::Milliseconds),
        ])
        .about("Delay from the end of a response to the next request to the same host, unless something else applies.")
        .example("2s"),
    Key::new("classes", Kind::Named(forms::WORD, &Kind::Section(CLASS)))
        .about("Delays by kind of site. A domain is in a class only if it is listed there.")
        .example("{ news: { delay: 3s, domains: [news.example] } }"),
    Key::new("domain_overrides", Kind::Named(forms::DOMAIN, &Kind::Section(DOMAIN)))
        .alias(&[("domains", Unit::Same)])
        .about("Overrides for a domain and its subdomains. The most specific entry applies, as a whole.")
        .example("{ example.com: { delay: 5s } }"),
    Key::new("per_host", CONNECTIONS_PER_HOST)
        .about("Concurrent requests per host.")
        .unit("requests")
        .example("2"),
    Key::new("per_address", U32_AT_LEAST_ONE)
        .about("Concurrent requests per IP address, over all hosts on it.")
        .unit("requests")
        .example("4"),
    Key::new("respect_robots", Kind::Flag).about("Obey robots.txt."),
    Key::new("respect_nofollow", Kind::Flag)
        .about("Respect `nofollow`, for jobs that do; see [job files](#job-files)."),
    Key::new("respect_noindex", Kind::Flag)
        .about("Respect `noindex`, for jobs that do; see [job files](#job-files)."),
    Key::new("robots_cache_ttl", Kind::Duration)
        .alias(&[("robots_cache_ttl_hours", Unit::Hours), ("robots_cache_ttl_seconds", Unit::Seconds)])
        .about("How long a robots.txt is cached.")
        .example("12h"),
    Key::new("robots", Kind::Section(ROBOTS)).about("What to do if robots.txt cannot be fetched."),
    Key::new("park_over", Kind::Duration)
        .alias(&[("park_over_seconds", Unit::Seconds)])
        .about("A `Retry-After` longer than this pauses the host for that time and is reported; shorter ones \
                count as a delay.")
        .example("10m"),
    Key::new("windows", Kind::List(&Kind::Section(WINDOW)))
        .about("Times of day with another delay.")
        .example("[{ from: \"08:00\", to: \"20:00\", factor: 4 }]"),
    Key::new("adaptive", Kind::Switch(ADAPTIVE)).about("Increase the delay of slow hosts."),
    Key::new("breaker", Kind::Switch(BREAKER)).about("Pause requests to failing hosts."),
    Key::new("retries", Kind::Switch(RETRIES)).about("What is retried, how often and when."),
];
