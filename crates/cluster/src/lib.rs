//! The adapters of the ports for many machines: what `local` keeps on a disk is here in servers that all workers share.
//!
//! [`database`] is how PostgreSQL is spoken to; everything that must last is in it. [`redis`] holds what may be lost at
//! any moment, [`kafka`] carries links and results where it is there, [`objects`] keeps the
//! archive. No adapter shows its types.

pub mod autoscale;
pub mod background;
mod breaker;
pub mod catalogue;
pub mod database;
pub mod kafka;
pub mod members;
pub mod objects;
pub mod publishing;
pub mod receiving;
pub mod redis;
pub mod server_error;
pub mod state;
mod tls;
pub mod transport;
