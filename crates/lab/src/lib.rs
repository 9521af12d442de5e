//! A deterministic synthetic web for the demo, tests and benchmarks: many sites on 127.x.y.z addresses, a fake DNS
//! server, faults on request, and an access log that shows whether the crawler was polite.
//!
//! [`Web`] is the pure part: every byte of a page follows from seed, host and path. [`Lab`] serves it over HTTP/1.1 and
//! records the [`AccessEntry`] of each request. [`expected`](Lab::expected) is the ground truth that a crawl is
//! compared with.

mod access_log;
mod answer;
mod config;
mod dns;
mod error;
mod expected;
mod gzip;
mod kinds;
mod lab;
mod library;
mod page;
mod page_cache;
mod random;
mod request;
mod server;
mod servers;
mod tls;
mod web;
mod words;

pub use access_log::{AccessEntry, HostRule, Violation, ViolationKind, check, read_log};
pub use config::{LabConfig, PageSize};
pub use dns::{DnsAnswer, LabDns};
pub use error::LabError;
pub use expected::{Expected, ExpectedUrl, Fate};
pub use kinds::SiteKind;
pub use kinds::cookies::{LOGIN_PASSWORD, LOGIN_USER, LOGIN_WELCOME};
pub use lab::{Lab, Outage};
pub use servers::TestServer;
pub use tls::{Handshake, TlsFiles};
pub use web::Web;
