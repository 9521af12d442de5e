//! The options of a fetcher.

use crate::descriptors::Descriptors;
use crate::guard::AddressPolicy;
use crate::proxy::Proxies;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct FetcherOptions {
    pub addresses: AddressPolicy,
    /// For requests whose profile names no proxy.
    pub proxies: Arc<Proxies>,
    /// Limits of the response headers, in bytes and in fields.
    pub max_head_bytes: usize,
    pub max_header_fields: usize,
    /// How long an idle connection is kept open, unless its host announces a shorter time.
    pub idle_timeout: Duration,
    /// Bounds the idle connections of this fetcher and of all others that share the budget.
    pub descriptors: Descriptors,
    /// How long to wait for an address of a host before the next one is tried in parallel.
    pub connect_stagger: Duration,
}

impl Default for FetcherOptions {
    fn default() -> FetcherOptions {
        FetcherOptions {
            addresses: AddressPolicy::public_only(),
            proxies: Arc::default(),
            max_head_bytes: 64 * 1024,
            max_header_fields: 256,
            idle_timeout: Duration::from_secs(30),
            descriptors: Descriptors::with_most_idle(512),
            connect_stagger: Duration::from_millis(300),
        }
    }
}
