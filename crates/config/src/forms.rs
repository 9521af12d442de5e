//! Texts that are validated by the functions of the crate that uses them, so that a file that passes the check can be
//! used.

use crate::job::name_problem;
use crate::schema::Form;
use argiope_fetch::{AddressPolicy, ProfileOptions, Proxies, Proxy, RequestProfile};
use argiope_frontier::admission;
use argiope_model::{NormalRules, Url};
use argiope_politeness::settings::forms;
use std::net::{IpAddr, SocketAddr};

pub(crate) const WORD: Form = Form { expected: "a word", fits: |text| !text.trim().is_empty() };
pub(crate) const JOB_NAME: Form = Form {
    expected: "a name in one line, up to 200 characters and not digits alone",
    fits: |text| name_problem(text).is_none(),
};

pub(crate) const DOMAIN: Form =
    Form { expected: "a domain such as example.com or example.com:8080", fits: forms::is_domain };
pub(crate) const LISTED_DOMAIN: Form =
    Form { expected: "a host or domain such as example.com", fits: admission::is_domain_entry };
pub(crate) const HOST_NAME: Form =
    Form { expected: "a host name as it stands in URLs such as example.com", fits: is_host_name };
pub(crate) const EXTENSION: Form =
    Form { expected: "a file extension such as jpg", fits: admission::is_extension };

pub(crate) const TIME_OF_DAY: Form =
    Form { expected: "a time of day such as 08:00", fits: forms::is_time_of_day };
pub(crate) const DAYS: Form = Form { expected: "a day such as mon, or mon-fri", fits: forms::is_days };
pub(crate) const ZONE: Form =
    Form { expected: "a time zone such as Europe/Berlin or +02:00", fits: forms::is_time_zone };

pub(crate) const HEADER_NAME: Form = Form {
    expected: "a header of the crawl such as X-Contact; those of the connection cannot be set",
    fits: |text| can_be_sent(|profile| profile.headers.push((text.to_owned(), String::new()))),
};
pub(crate) const HEADER_VALUE: Form = Form {
    expected: "text in one line that a header can hold",
    fits: |text| can_be_sent(|profile| profile.headers.push((String::from("x"), text.to_owned()))),
};
pub(crate) const COOKIE: Form = Form {
    expected: "text in one line that a header can hold",
    fits: |text| can_be_sent(|profile| profile.cookie = Some(text.to_owned())),
};
pub(crate) const USER_AGENT: Form = Form {
    expected: "text in one line that a header can hold",
    fits: |text| can_be_sent(|profile| profile.user_agent = Some(text.to_owned())),
};
pub(crate) const USER_NAME: Form =
    Form { expected: "a user name without a colon", fits: |text| !text.contains(':') };
pub(crate) const PROXY: Form = Form {
    expected: "an HTTP proxy such as http://proxy.example:3128, or none",
    fits: |text| text == Proxies::NONE || Proxy::parse(text).is_ok(),
};

pub(crate) const NETWORK: Form = Form {
    expected: "an address or network such as 10.1.2.3 or 10.0.0.0/8",
    fits: |text| AddressPolicy::parse_network(text).is_ok(),
};
pub(crate) const ADDRESS: Form =
    Form { expected: "an IP address such as 10.1.2.3", fits: |text| text.parse::<IpAddr>().is_ok() };
pub(crate) const RESOLVER: Form = Form {
    expected: "an address such as 9.9.9.9 or [2620:fe::fe]:53",
    fits: |text| resolver_address(text).is_some(),
};
pub(crate) const LISTEN: Form = Form {
    expected: "an address with a port such as 127.0.0.1:3001",
    fits: |text| text.parse::<SocketAddr>().is_ok(),
};

/// The address of a resolver; the default port is that of DNS.
pub(crate) fn resolver_address(text: &str) -> Option<SocketAddr> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 53)))
}

fn can_be_sent(set: impl FnOnce(&mut ProfileOptions)) -> bool {
    let mut profile = ProfileOptions::default();
    set(&mut profile);
    RequestProfile::new(&profile).is_ok()
}

/// Names are looked up in this form; another form would never match.
fn is_host_name(text: &str) -> bool {
    let name = text.trim_end_matches('.').to_ascii_lowercase();
    !name.contains('*')
        && Url::parse(&format!("http://{name}/"), &NormalRules::default()).is_ok_and(|url| url.host() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_takes_what_can_be_used_and_nothing_else() {
        let cases: [(Form, &[&str], &[&str]); 8] = [
            (DOMAIN, &["example.com", "*.example.com", "a.test:81"], &["http://a.test/", "", "a b"]),
            (LISTED_DOMAIN, &["example.com", ".example.com"], &["https://a.test/", "exa*mple.com"]),
            (
                HOST_NAME,
                &["a.test", "A.test.", "xn--bcher-kva.example"],
                &["a.test:80", "*.a.test", "bücher.example", ""],
            ),
            (EXTENSION, &["jpg", ".PDF"], &["", "tar.gz", "*.jpg"]),
            (HEADER_NAME, &["X-Contact"], &["Host", "bad name", ""]),
            (HEADER_VALUE, &["a b", ""], &["a\r\nInjected: b"]),
            (PROXY, &["http://u:p@proxy.test:3128"], &["socks5://proxy.test", "proxy.test"]),
            (JOB_NAME, &["nightly", "2 days"], &["", "17", "two\nlines"]),
        ];
        for (form, good, bad) in cases {
            for text in good {
                assert!((form.fits)(text), "{}: {text:?}", form.expected);
            }
            for text in bad {
                assert!(!(form.fits)(text), "{}: {text:?}", form.expected);
            }
        }
    }
}
