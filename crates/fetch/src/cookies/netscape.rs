//! `cookies.txt`, the format in which curl, wget and browser extensions write cookies: one per line, fields separated
//! by tabs (domain, whether it includes subdomains, path, whether secure, expiry in seconds since 1970, name, value).

use super::Cookie;
use argiope_model::{Millis, PublicSuffixes};

/// Curl's mark for cookies that scripts must not see, which a crawler ignores.
const HTTP_ONLY: &str = "#HttpOnly_";
const HEAD: &str = "# Netscape HTTP Cookie File\n";

/// All cookies of a file, including expired ones. An error names the line.
pub fn parse(text: &str, suffixes: &PublicSuffixes) -> Result<Vec<Cookie>, String> {
    let mut cookies = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.strip_prefix(HTTP_ONLY).unwrap_or(line);
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        cookies.push(cookie(line, suffixes).map_err(|problem| format!("line {number}: {problem}"))?);
    }
    Ok(cookies)
}

fn cookie(line: &str, suffixes: &PublicSuffixes) -> Result<Cookie, String> {
    let fields: Vec<&str> = line.trim_end_matches('\r').split('\t').collect();
    let (domain, below, path, secure, expires, name, value) = match fields.as_slice() {
        [domain, below, path, secure, expires, name, value] => {
            (domain, below, path, secure, expires, name, *value)
        }
        [domain, below, path, secure, expires, name] => (domain, below, path, secure, expires, name, ""),
        other => {
            let found = other.len();
            return Err(format!(
                "a cookie has 7 fields separated by tabs, this line has {found}; is it a cookies.txt file?"
            ));
        }
    };
    let flag = |what: &str, text: &str| match text {
        "TRUE" | "true" | "1" => Ok(true),
        "FALSE" | "false" | "0" => Ok(false),
        _ => Err(format!("{what} must be TRUE or FALSE, found '{}'", text.escape_debug())),
    };
    let below = flag("the second field", below)?;
    let secure = flag("the fourth field", secure)?;
    let seconds: f64 = expires.parse::<f64>().ok().filter(|seconds| *seconds >= -1.0).ok_or_else(|| {
        format!("the fifth field must be a time in seconds, found '{}'", expires.escape_debug())
    })?;
    let bare = domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase();
    if bare.is_empty() || bare.contains(['/', ' ', '#']) {
        return Err(format!("'{}' is not a domain", domain.escape_debug()));
    }
    let is_text = |text: &str| !text.bytes().any(|byte| byte.is_ascii_control());
    if name.is_empty()
        || !is_text(name)
        || !is_text(value)
        || name.contains(['=', ';'])
        || value.contains(';')
    {
        return Err(String::from("name or value cannot be sent as a cookie"));
    }
    Ok(Cookie {
        name: (*name).into(),
        value: value.as_bytes().into(),
        // A cookie for a public suffix applies only to the host of that name.
        host_only: !below || suffixes.is_suffix(&bare),
        domain: bare.into(),
        path: if path.starts_with('/') { (*path).into() } else { "/".into() },
        secure,
        // 0 means the end of the session. Times that are too large are clamped.
        expires: (seconds > 0.0).then_some(Millis((seconds as u64).saturating_mul(1000))),
    })
}

/// As [`parse`] reads it. Values that are not UTF-8 are left out.
pub fn write<'c>(cookies: impl Iterator<Item = &'c Cookie>) -> String {
    let mut lines: Vec<String> = cookies
        .filter_map(|cookie| {
            let value = std::str::from_utf8(&cookie.value).ok()?;
            let word = |flag: bool| if flag { "TRUE" } else { "FALSE" };
            let dot = if cookie.host_only { "" } else { "." };
            let seconds = cookie.expires.map_or(0, |expires| (expires.0 / 1000).max(1));
            Some(format!(
                "{dot}{}\t{}\t{}\t{}\t{seconds}\t{}\t{value}\n",
                cookie.domain,
                word(!cookie.host_only),
                cookie.path,
                word(cookie.secure),
                cookie.name
            ))
        })
        .collect();
    lines.sort_unstable();
    format!("{HEAD}{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Cookie>, String> {
        parse(text, &PublicSuffixes::bundled())
    }

    #[test]
    fn a_file_of_curl_is_read_and_written_the_same() {
        let text = "# Netscape HTTP Cookie File\n\
                    .example.com\tTRUE\t/\tTRUE\t2000000000\tsid\tabc\n\
                    www.example.com\tFALSE\t/shop\tFALSE\t0\tcart\t\n";
        let cookies = read(text).unwrap();
        let [domain, host] = cookies.as_slice() else { panic!("{cookies:?}") };
        assert_eq!((&*domain.domain, domain.host_only, domain.secure), ("example.com", false, true));
        assert_eq!(domain.expires, Some(Millis(2_000_000_000_000)));
        assert_eq!(
            (&*host.path, host.host_only, host.expires, &*host.value),
            ("/shop", true, None, &b""[..])
        );
        assert_eq!(write(cookies.iter()), text);
        let with_comments = "# a comment\r\n\r\n#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\r\n";
        assert_eq!(&*read(with_comments).unwrap()[0].domain, "127.0.0.1");
    }

    #[test]
    fn a_cookie_for_a_public_suffix_is_for_the_host_of_that_name() {
        let cookies = read(".co.uk\tTRUE\t/\tFALSE\t0\ta\tb\n.localhost\tTRUE\t/\tFALSE\t0\ta\tb\n").unwrap();
        assert!(cookies.iter().all(|cookie| cookie.host_only));
    }

    #[test]
    fn an_error_names_its_line() {
        let words = read("just words").unwrap_err().to_string();
        assert!(words.contains("has 7 fields separated by tabs, this line has 1"), "{words}");
        for (text, problem) in [
            ("# ok\nsid=abc\n", "line 2: a cookie has 7 fields"),
            ("a.test\tYES\t/\tFALSE\t0\ta\tb\n", "line 1: the second field"),
            ("a.test\tTRUE\t/\tFALSE\tsoon\ta\tb\n", "line 1: the fifth field"),
            ("a.test\tTRUE\t/\tFALSE\t0\t\tb\n", "line 1: name or value"),
            ("\tTRUE\t/\tFALSE\t0\ta\tb\n", "line 1: '' is not a domain"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
