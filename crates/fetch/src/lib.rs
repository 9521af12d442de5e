//! A due URL in, a response with timings out: DNS, TLS, HTTP, limits, address guard.
//!
//! The way of a request:
//!
//! 1. [`Resolver::resolve`] gives the addresses of its host: override, literal, cache, or the resolvers in order.
//! 2. Whoever schedules decides when to send; this room knows nothing of robots.txt, delays or redirects' ends.
//! 3. [`Fetcher::fetch`] takes a kept connection or opens one, each address passing the [`AddressPolicy`] right before
//!    it is connected to, sends, and reads the answer within its limits of time and size.
//! 4. [`decode()`] undoes the content encoding, within a limit of its own.
//!
//! Invariants of absence: no redirect is followed, no cookie is remembered from request to request, no certificate error is
//! overlooked but where the profile says so, no byte of a body is changed, and no peer decides how much memory or time it costs.

mod capture;
mod certificate;
mod client;
mod clock;
mod connect;
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
mod pool;
mod profile;
mod proxy;
mod resolver;
mod response;
mod sessions;
mod tls;
mod unverified;

pub use client::{FetchRequest, Fetcher, FetcherOptions, SendPermit};
pub use clock::Start;
pub use decode::{DecodeError, DecodeScratch, Decoded, decode};
pub use descriptors::Descriptors;
pub use dns::{Answer, DnsError, Fault, Resolved, TtlBounds};
pub use error::{ConnectFailure, FailureKind, FetchError, Stage};
pub use form::encode_form;
pub use guard::{AddressClass, AddressPolicy, AddressRefused, classify};
pub use profile::{ProfileOptions, RequestProfile, Validators, default_user_agent};
pub use proxy::{Proxies, Proxy};
pub use resolver::{Resolver, ResolverOptions};
pub use response::{Fetched, Truncation};
pub use tls::{Tls, TlsError, TlsOptions};
