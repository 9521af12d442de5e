//! Search over what was crawled. The port of an index ([`index`]), its query language ([`query`]), what is indexed
//! ([`document`]) and given back ([`hits`]), the follower that fills an index ([`follower`]), and the index on one machine's
//! disk ([`embedded`]). `cluster` has the adapter for Elasticsearch and OpenSearch.

#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod document;
pub mod embedded;
pub mod follower;
pub mod hits;
pub mod index;
pub mod query;
pub mod snippet;
pub mod words;
