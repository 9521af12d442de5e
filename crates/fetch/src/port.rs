//! The fetch port: one request in, one response out. [`crate::HttpFetcher`] implements it over HTTP/1.1 and HTTP/2.

use crate::clock::Start;
use crate::error::FetchError;
use crate::profile::RequestProfile;
use crate::response::Fetched;
use argiope_model::{Url, Validators};
use bytes::Bytes;
use http::HeaderValue;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

/// Fetches URLs. One value serves one thread: a worker owns it and runs many fetches on it at once.
///
/// # Contract
///
/// * **One request.** A fetch sends at most one request for its URL and returns the response to it. It follows no
///   redirect and does not retry: others decide when a host may be requested again. (A kept connection that turns out
///   to be closed before any byte of the request was sent may be replaced by a new one.)
/// * **Address guard.** It connects only to [`FetchRequest::addresses`], or to the proxy of the request, and checks each
///   address right before it connects. An address that the guard refuses is
///   [`FetchFailure::PrivateAddress`](crate::FetchFailure::PrivateAddress), without a connection.
/// * **Send permit.** It checks [`FetchRequest::permit`] after connecting, right before it sends. Without the permit it sends
///   nothing and fails with [`FetchFailure::NoPermit`](crate::FetchFailure::NoPermit).
/// * **Time.** The whole fetch takes at most [`FetchRequest::timeout`], counted from [`FetchRequest::start`]. Without response
///   headers until then it fails with [`FetchFailure::Timeout`](crate::FetchFailure::Timeout); later, the response has the
///   part of the body that arrived, and [`Fetched::truncated`] says so.
/// * **Bytes.** A body longer than [`FetchRequest::max_body_bytes`] is cut at that length, and [`Fetched::truncated`] says so.
///   Response headers are bounded as well. No peer decides how much memory a fetch takes.
/// * **Timings.** Responses and failures carry [`FetchTimings`](argiope_model::FetchTimings): `started` is the time of
///   `start`, `ended` the end of the body or of the failed fetch, never before `started`, whatever the wall clock does.
/// * **Validators.** [`FetchRequest::validators`] are sent as `If-None-Match` and `If-Modified-Since`. A `304` is a response
///   like any other.
/// * **Cancellation.** Dropping the future gives the fetch up and closes its connection, unless other requests share it.
/// * **No memory.** Nothing that a response sets, cookies included, changes a later request.
///
/// The suite in `contract` checks an implementation over loopback.
pub trait Fetch {
    fn fetch(&self, request: FetchRequest<'_>) -> impl Future<Output = Result<Fetched, Box<FetchError>>>;
}

/// One request, ready to be sent.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest<'r> {
    pub url: &'r Url,
    /// When the request starts: the time in its record, and the time from which its timeout counts.
    pub start: Start,
    /// The addresses of the URL's host, in the order to try them.
    pub addresses: &'r [IpAddr],
    /// How long the lookup of the addresses took, for the timings.
    pub dns_us: u32,
    pub profile: &'r RequestProfile,
    /// Of an earlier response: they make the request conditional.
    pub validators: Option<&'r Validators>,
    /// Sent in addition to the cookies of the profile.
    pub cookie: Option<&'r HeaderValue>,
    /// Encoded form fields; they make the request a POST.
    pub form: Option<&'r Bytes>,
    /// Sends HEAD instead of GET.
    pub head_only: bool,
    /// For the whole fetch, from connecting to the last byte.
    pub timeout: Duration,
    /// A longer body is cut at this length.
    pub max_body_bytes: usize,
    pub permit: SendPermit<'r>,
}

/// Whether a request may still be sent. A lease may end between the start of a fetch and the moment at which the
/// connection is ready, so the permit is checked at that moment.
#[derive(Clone, Copy, Default)]
pub struct SendPermit<'p>(Option<&'p dyn Fn() -> bool>);

impl<'p> SendPermit<'p> {
    /// Held for as long as `is_held` returns true. The default permit is always held.
    pub fn while_held(is_held: &'p dyn Fn() -> bool) -> SendPermit<'p> {
        SendPermit(Some(is_held))
    }

    pub fn is_held(self) -> bool {
        self.0.is_none_or(|is_held| is_held())
    }
}

impl fmt::Debug for SendPermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_none() { "SendPermit(always)" } else { "SendPermit(while held)" })
    }
}
