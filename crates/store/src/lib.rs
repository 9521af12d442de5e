//! Pages in, catalogue and archive out: the ports, the WARC codec, exports.
pub mod archive;
pub mod audit;
pub mod broken;
pub mod catalogue;
pub mod clock;
pub mod cuts;
pub mod error;
pub mod export;
pub mod follower;
pub mod links;
pub mod merged;
pub mod report;
pub mod spool;
mod table;
pub mod warc;
