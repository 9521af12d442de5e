//! Pages in, catalogue and archive out: the ports, the WARC codec, exports.
pub mod archive;
pub mod audit;
pub mod catalogue;
pub mod error;
pub mod export;
pub mod links;
pub mod report;
pub mod spool;
mod table;
pub mod warc;
