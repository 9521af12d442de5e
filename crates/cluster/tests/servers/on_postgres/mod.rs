//! PostgreSQL, at `ARGIOPE_TEST_POSTGRES`. Each test has a database of its own.

mod catalogue;
mod database;
mod files;
mod held;
mod members;
mod peer;
mod results_on_kafka;
mod scratch;
mod search_positions;
mod state;
