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
        .about("Answers that take longer lengthen the delay.")
        .example("3s"),
    Key::new("fast_below", Kind::Duration)
        .alias(&[("fast_below_seconds", Unit::Seconds)])
        .about("Answers that take less shorten it again, never below the configured delay.")
        .example("300ms"),
    Key::new("longest_delay", Kind::Delay)
        .alias(&[("longest_delay_seconds", Unit::Seconds)])
        .about("It is not lengthened beyond this.")
        .example("2m"),
];

const BREAKER: &[Key] = &[
    Key::new("failures", U8_AT_LEAST_ONE)
        .about("Failures in a row after which a host is left alone.")
        .unit("failures")
        .example("3"),
    Key::new("open_for", Kind::Duration)
        .alias(&[("open_for_seconds", Unit::Seconds)])
        .about("How long it is left alone.")
        .example("5m"),
    Key::new("successes", U8)
        .about("Successes in a row after which it is trusted again.")
        .unit("successes")
        .example("1"),
    Key::new("window", Kind::Duration)
        .alias(&[("window_seconds", Unit::Seconds)])
        .about("The time over which the share of errors is counted.")
        .example("10m"),
    Key::new("error_share", SHARE)
        .about("A host with more errors than this share of its answers is suspended.")
        .unit("share, 0 to 1")
        .example("0.8"),
    Key::new("minimum_requests", Kind::Whole { least: 0, most: 65_535 })
        .about("Answers within the window before the share counts.")
        .unit("answers")
        .example("50"),
    Key::new("suspend_for", Kind::Duration)
        .alias(&[("suspend_for_seconds", Unit::Seconds)])
        .about("How long a host is suspended.")
        .example("30m"),
];

const RETRY_STEPS: &[Key] = &[
    Key::new("times", U8).about("How often a request is repeated.").unit("retries").example("2"),
    Key::new("after", Kind::Duration)
        .alias(&[("after_seconds", Unit::Seconds)])
        .about("The wait before the first repetition.")
        .example("30s"),
    Key::new("growth", Kind::Number { least: 1.0, most: 100.0 })
        .about("Each further wait is longer by this factor.")
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
        .about("A random part of each wait, so that retries do not come all at once.")
        .unit("share, 0 to 1")
        .example("0.1"),
    Key::new("max_retries", U8)
        .about("How often a URL is repeated in all, whatever the reasons.")
        .unit("retries")
        .example("5"),
];

const ROBOTS: &[Key] = &[
    Key::new("client_error", WHEN_UNAVAILABLE)
        .about("What a 4xx other than 429 for robots.txt means for the host."),
    Key::new("unreachable", WHEN_UNAVAILABLE)
        .about("What a 429, a 5xx or no answer for robots.txt means, once it has been retried."),
    Key::new("retry_after", Kind::List(&Kind::Duration))
        .about("The waits before each further try.")
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
        .about("For the request of robots.txt.")
        .example("10s"),
];

const WINDOW: &[Key] = &[
    Key::new("from", Kind::Parsed(forms::TIME_OF_DAY))
        .required()
        .about("When it begins.")
        .example("\"08:00\""),
    Key::new("to", Kind::Parsed(forms::TIME_OF_DAY))
        .required()
        .about("When it ends; earlier than `from` is the next day.")
        .example("\"20:00\""),
    Key::new("days", Kind::List(&Kind::Parsed(forms::DAYS)))
        .about("On which days.")
        .example("[mon-fri]")
        .otherwise("every day"),
    Key::new("zone", Kind::Parsed(forms::ZONE))
        .alias(&[("timezone", Unit::Same), ("utc_offset", Unit::Same)])
        .about("The time zone of both times.")
        .example("Europe/Berlin")
        .otherwise("UTC"),
    Key::new("factor", FACTOR)
        .about("The delay is longer by this factor. A window has one of `factor`, `delay` and `closed`.")
        .unit("factor")
        .example("4"),
    Key::new("delay", Kind::Delay)
        .alias(&[("delay_seconds", Unit::Seconds)])
        .about("The delay is this one.")
        .example("10s"),
    Key::new("closed", Kind::Flag).about("No requests at all.").example("true"),
];

const FILTERS: &[Key] = &[
    Key::new("include", Kind::List(&Kind::Pattern))
        .about("Patterns on the whole URL: where there are any, one must match.")
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
        .about("From the end of an answer to the next request to the same host.")
        .example("5s")
        .otherwise("that of its class, else the job's, else `default_delay`"),
    Key::new("per_host", CONNECTIONS_PER_HOST)
        .about("Requests in flight to one host.")
        .unit("requests")
        .example("4"),
    Key::new("windows", Kind::List(&Kind::Section(WINDOW)))
        .about("Times of day with another pace.")
        .example("[{ from: \"08:00\", to: \"20:00\", factor: 4 }]"),
    Key::new("adaptive", Kind::Switch(ADAPTIVE)).about("Slow hosts are requested more slowly."),
    Key::new("breaker", Kind::Switch(BREAKER)).about("Failing hosts are left alone for a while."),
    Key::new("retries", Kind::Switch(RETRIES)).about("What is repeated, how often and when."),
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
    Key::new("insecure", Kind::Flag).about("Do not check the certificates of the domain.").example("true"),
    Key::new("rendering", Kind::Word(&["never", "auto", "always"]))
        .not_in_effect()
        .about("Whether pages of the domain are rendered in a browser."),
    Key::new("filters", Kind::Section(FILTERS)).about(
        "Which URLs of the domain are requested, beside the filters of the job. Seeds are requested anyway.",
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
        .about("The domains in the class, with everything below them.")
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
        .about("From the end of an answer to the next request to the same host, where nothing else is said.")
        .example("2s"),
    Key::new("classes", Kind::Named(forms::WORD, &Kind::Section(CLASS)))
        .about("Delays by kind of site. A domain is in a class only if it is listed there.")
        .example("{ news: { delay: 3s, domains: [news.example] } }"),
    Key::new("domain_overrides", Kind::Named(forms::DOMAIN, &Kind::Section(DOMAIN)))
        .alias(&[("domains", Unit::Same)])
        .about("What holds for a domain and everything below it. The most specific entry applies, whole.")
        .example("{ example.com: { delay: 5s } }"),
    Key::new("per_host", CONNECTIONS_PER_HOST)
        .about("Requests in flight to one host.")
        .unit("requests")
        .example("2"),
    Key::new("per_address", U32_AT_LEAST_ONE)
        .about("Requests in flight to one IP address, over all hosts on it.")
        .unit("requests")
        .example("4"),
    Key::new("respect_robots", Kind::Flag).about("Obey robots.txt."),
    Key::new("respect_nofollow", Kind::Flag)
        .about("Respect `nofollow`, for jobs that do; see [job files](#job-files)."),
    Key::new("respect_noindex", Kind::Flag)
        .about("Respect `noindex`, for jobs that do; see [job files](#job-files)."),
    Key::new("robots_cache_ttl", Kind::Duration)
        .alias(&[("robots_cache_ttl_hours", Unit::Hours), ("robots_cache_ttl_seconds", Unit::Seconds)])
        .about("How long a robots.txt holds before it is requested again.")
        .example("12h"),
    Key::new("robots", Kind::Section(ROBOTS)).about("What happens when robots.txt is not there."),
    Key::new("park_over", Kind::Duration)
        .alias(&[("park_over_seconds", Unit::Seconds)])
        .about("A `Retry-After` longer than this puts the host aside, and it is reported.")
        .example("10m"),
    Key::new("windows", Kind::List(&Kind::Section(WINDOW)))
        .about("Times of day with another pace.")
        .example("[{ from: \"08:00\", to: \"20:00\", factor: 4 }]"),
    Key::new("adaptive", Kind::Switch(ADAPTIVE)).about("Slow hosts are requested more slowly."),
    Key::new("breaker", Kind::Switch(BREAKER)).about("Failing hosts are left alone for a while."),
    Key::new("retries", Kind::Switch(RETRIES)).about("What is repeated, how often and when."),
];
