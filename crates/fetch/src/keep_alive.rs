//! How long a host keeps an idle connection open, from its `Keep-Alive: timeout=5, max=100` header. The HTTP library
//! handles `Connection: close`.

use http::HeaderMap;
use std::time::Duration;

const KEEP_ALIVE: http::HeaderName = http::HeaderName::from_static("keep-alive");

/// A connection is closed this long before its host would close it, so that a request does not race with the close.
const AHEAD: Duration = Duration::from_secs(1);

/// How long a connection may be idle after a response with these headers, at most `longest`; `None` if not at all.
pub(crate) fn idle_for(headers: &HeaderMap, longest: Duration) -> Option<Duration> {
    // Most hosts send no such header.
    if !headers.contains_key(KEEP_ALIVE) {
        return Some(longest);
    }
    let mut idle = longest;
    for value in headers.get_all(KEEP_ALIVE) {
        for parameter in value.to_str().unwrap_or("").split([',', ';']) {
            let Some((name, number)) = parameter.split_once('=') else { continue };
            let Ok(number) = number.trim().trim_matches('"').parse::<u64>() else { continue };
            if name.trim().eq_ignore_ascii_case("timeout") {
                let timeout = Duration::from_secs(number);
                idle = idle.min(timeout - AHEAD.min(timeout / 2));
            } else if name.trim().eq_ignore_ascii_case("max") && number == 0 {
                return None;
            }
        }
    }
    (!idle.is_zero()).then_some(idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn idle(value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(KEEP_ALIVE, HeaderValue::from_static(value));
        idle_for(&headers, Duration::from_secs(30))
    }

    #[test]
    fn a_connection_is_given_up_before_its_host_does() {
        assert_eq!(idle_for(&HeaderMap::new(), Duration::from_secs(30)), Some(Duration::from_secs(30)));
        assert_eq!(idle("timeout=5, max=100"), Some(Duration::from_secs(4)));
        assert_eq!(idle("max=100, Timeout=5"), Some(Duration::from_secs(4)));
        assert_eq!(idle("timeout=300"), Some(Duration::from_secs(30)));
        assert_eq!(idle("timeout=1"), Some(Duration::from_millis(500)));
        assert_eq!(idle("timeout=0"), None);
        assert_eq!(idle("timeout=15, max=0"), None);
        for nonsense in ["", "timeout", "timeout=soon", "timeout=-5", "max=", "=5"] {
            assert_eq!(idle(nonsense), Some(Duration::from_secs(30)), "{nonsense}");
        }
    }
}
