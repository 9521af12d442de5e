//! The keys of the section `politeness`, which hold for all domains or for one.

use super::forms;
use super::keys::{BASIC_AUTH, CONNECTIONS_PER_HOST, COOKIES, HEADERS, PROXY};
use super::schema::{Key, Kind, Unit};

const SHARE: Kind = Kind::Number { least: 0.0, most: 1.0 };
const FACTOR: Kind = Kind::Number { least: 1.0, most: 100_000.0 };
const U8: Kind = Kind::Whole { least: 0, most: 255 };
const U8_AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: 255 };
const U32_AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: u32::MAX as u64 };
const WHEN_UNAVAILABLE: Kind = Kind::Word(&["allow", "disallow"]);

const ADAPTIVE: &[Key] = &[
    Key::new("slow_above", Kind::Duration).alias(&[("slow_above_seconds", Unit::Seconds)]),
    Key::new("fast_below", Kind::Duration).alias(&[("fast_below_seconds", Unit::Seconds)]),
    Key::new("longest_delay", Kind::Delay).alias(&[("longest_delay_seconds", Unit::Seconds)]),
];

const BREAKER: &[Key] = &[
    Key::new("failures", U8_AT_LEAST_ONE),
    Key::new("open_for", Kind::Duration).alias(&[("open_for_seconds", Unit::Seconds)]),
    Key::new("successes", U8),
    Key::new("window", Kind::Duration).alias(&[("window_seconds", Unit::Seconds)]),
    Key::new("error_share", SHARE),
    Key::new("minimum_requests", Kind::Whole { least: 0, most: 65_535 }),
    Key::new("suspend_for", Kind::Duration).alias(&[("suspend_for_seconds", Unit::Seconds)]),
];

const RETRY_STEPS: &[Key] = &[
    Key::new("times", U8),
    Key::new("after", Kind::Duration).alias(&[("after_seconds", Unit::Seconds)]),
    Key::new("growth", Kind::Number { least: 1.0, most: 100.0 }),
];

const RETRIES: &[Key] = &[
    Key::new("busy", Kind::Section(RETRY_STEPS)),
    Key::new("server_error", Kind::Section(RETRY_STEPS)),
    Key::new("no_answer", Kind::Section(RETRY_STEPS)).alias(&[("timeout", Unit::Same)]),
    Key::new("jitter", SHARE),
    Key::new("max_retries", U8),
];

const ROBOTS: &[Key] = &[
    Key::new("client_error", WHEN_UNAVAILABLE),
    Key::new("unreachable", WHEN_UNAVAILABLE),
    Key::new("retry_after", Kind::List(&Kind::Duration)),
    Key::new("unreachable_for", Kind::Duration).alias(&[("unreachable_for_seconds", Unit::Seconds)]),
    Key::new("max_redirects", U8),
    Key::new("timeout", Kind::SomeTime).alias(&[("timeout_seconds", Unit::Seconds)]),
];

const WINDOW: &[Key] = &[
    Key::new("from", Kind::Parsed(forms::TIME_OF_DAY)).required(),
    Key::new("to", Kind::Parsed(forms::TIME_OF_DAY)).required(),
    Key::new("days", Kind::List(&Kind::Parsed(forms::DAYS))),
    Key::new("zone", Kind::Parsed(forms::ZONE))
        .alias(&[("timezone", Unit::Same), ("utc_offset", Unit::Same)]),
    Key::new("factor", FACTOR),
    Key::new("delay", Kind::Delay).alias(&[("delay_seconds", Unit::Seconds)]),
    Key::new("closed", Kind::Flag),
];

const FILTERS: &[Key] =
    &[Key::new("include", Kind::List(&Kind::Pattern)), Key::new("exclude", Kind::List(&Kind::Pattern))];

const DOMAIN: &[Key] = &[
    Key::new("delay", Kind::Delay).alias(&[
        ("crawl_delay", Unit::Same),
        ("crawl_delay_seconds", Unit::Seconds),
        ("delay_seconds", Unit::Seconds),
        ("crawl_delay_ms", Unit::Milliseconds),
        ("delay_ms", Unit::Milliseconds),
    ]),
    Key::new("per_host", CONNECTIONS_PER_HOST),
    Key::new("windows", Kind::List(&Kind::Section(WINDOW))),
    Key::new("adaptive", Kind::Switch(ADAPTIVE)),
    Key::new("breaker", Kind::Switch(BREAKER)),
    Key::new("retries", Kind::Switch(RETRIES)),
    Key::new("respect_robots", Kind::Flag),
    Key::new("respect_nofollow", Kind::Flag),
    Key::new("respect_noindex", Kind::Flag),
    Key::new("headers", HEADERS),
    Key::new("cookies", COOKIES),
    Key::new("basic_auth", Kind::Section(BASIC_AUTH)),
    Key::new("proxy", PROXY),
    Key::new("rendering", Kind::Word(&["never", "auto", "always"])),
    Key::new("filters", Kind::Section(FILTERS)),
    Key::new("extraction", Kind::Free).alias(&[("extraction_rules", Unit::Same)]),
];

const CLASS: &[Key] = &[
    Key::new("delay", Kind::Delay).alias(&[
        ("delay_seconds", Unit::Seconds),
        ("crawl_delay", Unit::Same),
        ("crawl_delay_seconds", Unit::Seconds),
        ("delay_ms", Unit::Milliseconds),
    ]),
    Key::new("domains", Kind::List(&Kind::Parsed(forms::DOMAIN))),
];

pub(crate) const POLITENESS: &[Key] = &[
    Key::new("default_delay", Kind::Delay).alias(&[
        ("default_delay_seconds", Unit::Seconds),
        ("default_crawl_delay", Unit::Same),
        ("default_crawl_delay_seconds", Unit::Seconds),
        ("default_delay_ms", Unit::Milliseconds),
    ]),
    Key::new("classes", Kind::Named(forms::WORD, &Kind::Section(CLASS))),
    Key::new("domain_overrides", Kind::Named(forms::DOMAIN, &Kind::Section(DOMAIN)))
        .alias(&[("domains", Unit::Same)]),
    Key::new("per_host", CONNECTIONS_PER_HOST),
    Key::new("per_address", U32_AT_LEAST_ONE),
    Key::new("respect_robots", Kind::Flag),
    Key::new("respect_nofollow", Kind::Flag),
    Key::new("respect_noindex", Kind::Flag),
    Key::new("robots_cache_ttl", Kind::Duration)
        .alias(&[("robots_cache_ttl_hours", Unit::Hours), ("robots_cache_ttl_seconds", Unit::Seconds)]),
    Key::new("robots", Kind::Section(ROBOTS)),
    Key::new("park_over", Kind::Duration).alias(&[("park_over_seconds", Unit::Seconds)]),
    Key::new("windows", Kind::List(&Kind::Section(WINDOW))),
    Key::new("adaptive", Kind::Switch(ADAPTIVE)),
    Key::new("breaker", Kind::Switch(BREAKER)),
    Key::new("retries", Kind::Switch(RETRIES)),
];
