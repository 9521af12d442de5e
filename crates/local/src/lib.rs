//! The adapters of all ports for one machine: fjall, SQLite, files.
pub mod archive;
pub mod catalogue;
pub mod disk;
pub mod domain_graph;
pub mod frontier;
pub mod graph;
pub mod links;
