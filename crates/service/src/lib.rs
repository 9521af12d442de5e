//! Every operation of Argiope, once. The command line and the HTTP API translate to and from the functions here and
//! decide nothing. An operation works for a data directory at rest, for one that a running process owns, and for a
//! cluster; [`Place`] says which it is, and [`Access`] is what every request is made with.

pub mod access;
pub mod audit;
pub mod blocked;
mod broken_links;
pub mod bucket;
pub mod cluster;
pub mod cluster_admin;
pub mod cluster_job;
pub mod control;
pub mod descriptors;
pub mod directory;
pub mod disk_guard;
pub mod empty_crawl;
pub mod engine_settings;
pub mod export;
pub mod health;
pub mod heartbeat;
pub mod host_graph;
pub mod ingest;
pub mod inspect;
pub mod job_end;
pub mod job_request;
pub mod job_status;
pub mod jobs;
pub mod kept_cookies;
pub mod link_graph;
pub mod listing;
pub mod local_crawl;
pub mod outage;
pub mod page_bodies;
pub mod place;
pub mod report;
pub mod retry;
mod robots_history;
pub mod seeds;
pub mod selection;
pub mod shell;
pub mod stored_job;
pub mod stored_links;
mod typed_url;
pub mod why;
pub mod worker;

pub use access::Access;
pub use place::Place;
