//! A due URL in, a response with timings out: DNS, TLS, HTTP, limits, address guard.
//!
//! The steps of a request:
//!
//! 1. [`Resolver::resolve`] returns the addresses of its host, from an override, the URL itself, the cache, or the
//!    resolvers in order.
//! 2. The scheduler decides when to send. This crate knows nothing of robots.txt, delays or where redirects end.
//! 3. [`Fetch::fetch`], the port that [`HttpFetcher`] implements, reuses or opens a connection, checks each address against
//!    the [`AddressPolicy`] right before it connects, sends, and reads the response within its limits of time and size.
//! 4. [`decode()`] undoes the content encoding, within a limit of its own.
//!
//! It never follows a redirect, remembers a cookie from one request to the next, ignores a certificate error unless the
//! profile says so, changes a byte of a body, or lets a peer decide how much memory or time it costs.

mod body;
mod capture;
mod certificate;
mod client;
mod clock;
mod connect;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod cookies;
mod decode;
mod descriptors;
mod dns;
mod error;
mod form;
mod guard;
mod http1;
mod http2;
mod keep_alive;
mod message;
mod pool;
mod port;
mod profile;
mod proxy;
mod resolver;
mod response;
mod sessions;
mod tls;
mod unverified;

pub use client::{FetcherOptions, HttpFetcher};
pub use clock::Start;
pub use decode::{DecodeError, DecodeScratch, Decoded, decode};
pub use descriptors::Descriptors;
pub use dns::{Answer, DnsError, Fault, Resolved, TtlBounds};
pub use error::{ConnectFailure, FetchError, FetchFailure, Stage};
pub use form::encode_form;
pub use guard::{AddressClass, AddressPolicy, AddressRefused, classify};
pub use port::{Fetch, FetchRequest, SendPermit};
pub use profile::{ProfileOptions, RequestProfile, default_user_agent};
pub use proxy::{Proxies, Proxy};
pub use resolver::{Resolver, ResolverOptions};
pub use response::{Fetched, TruncationCause};
pub use tls::{Tls, TlsError, TlsOptions};
