//! Everything that can be asked of Argiope, once. The command line and the HTTP API are its two faces: they translate to
//! and from the functions here and decide nothing. It does the same for a data directory at rest, for one that a running
//! process owns, and for a cluster; [`Place`] says which it is.

pub mod blocked;
pub mod bucket;
pub mod cluster;
pub mod control;
pub mod descriptors;
pub mod directory;
pub mod disk_guard;
pub mod empty_crawl;
pub mod engine_settings;
pub mod health;
pub mod heartbeat;
pub mod job_request;
pub mod kept_cookies;
pub mod local_crawl;
pub mod page_bodies;
pub mod place;
pub mod seeds;
pub mod selection;
pub mod shell;
pub mod stored_job;
pub mod stored_links;

pub use place::Place;
