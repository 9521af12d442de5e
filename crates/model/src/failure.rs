//! How a request failed. `fetch` reports the failure with its details, `politeness` and `frontier` decide by its kind.

/// The kind of a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// A response whose status is an error.
    Status(u16),
    /// The whole request, or a stage with its own limit, took too long.
    Timeout,
    /// Connection refused, or no route.
    Connect,
    /// The connection closed before the response was complete.
    Reset,
    Tls,
    /// The host name does not exist.
    NameNotFound,
    /// No resolver answered, not even the backup.
    NameUnresolved,
    /// The response is not HTTP.
    Protocol,
    TooManyRedirects,
    /// The address guard refused the address.
    AddressRefused,
}

impl FailureKind {
    /// Whether the failure reflects the health of the host. Only such failures open its circuit breaker.
    pub fn counts_for_breaker(self) -> bool {
        match self {
            FailureKind::Status(status) => (500..=599).contains(&status),
            FailureKind::Timeout
            | FailureKind::Connect
            | FailureKind::Reset
            | FailureKind::Tls
            | FailureKind::NameUnresolved
            | FailureKind::Protocol => true,
            FailureKind::NameNotFound | FailureKind::TooManyRedirects | FailureKind::AddressRefused => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_breaker_counts_what_the_host_is_to_blame_for() {
        for kind in
            [FailureKind::Status(500), FailureKind::Status(503), FailureKind::Timeout, FailureKind::Tls]
        {
            assert!(kind.counts_for_breaker(), "{kind:?}");
        }
        for kind in [
            FailureKind::Status(404),
            FailureKind::Status(429),
            FailureKind::Status(999),
            FailureKind::NameNotFound,
        ] {
            assert!(!kind.counts_for_breaker(), "{kind:?}");
        }
        assert!(FailureKind::NameUnresolved.counts_for_breaker());
    }
}
