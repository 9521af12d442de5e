//! Converts settings into the engine's configuration, and its errors into those that users see.

use crate::descriptors;
use crate::directory::{CORRUPT, DISK_FULL, Fixed};
use argiope_config::{Failure, FailureClass, ProcessSettings};
use argiope_engine::{EngineConfig, EngineError};
use argiope_fetch::{AddressPolicy, Descriptors, FetcherOptions};
use std::sync::Arc;

pub fn engine_config(process: &ProcessSettings, addresses: &AddressPolicy, fixed: &Fixed) -> EngineConfig {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    EngineConfig {
        name: String::new(),
        is_new: false,
        forget_failures: false,
        retry_failed: false,
        shards: fixed.shards,
        workers: cores,
        concurrency: process.concurrency.max(1) as usize,
        politeness: Arc::new(process.politeness.clone()),
        fetcher: FetcherOptions {
            addresses: addresses.clone(),
            proxies: Arc::clone(&process.proxies),
            descriptors: Descriptors::with_most_idle(descriptors::MOST_IDLE),
            ..FetcherOptions::default()
        },
        resolver: process.resolver.clone(),
        tls: process.tls.clone(),
        suffixes: Arc::clone(&fixed.suffixes),
        fingerprint_key: fixed.fingerprint_key.clone(),
        batch_age: EngineConfig::BATCH_AGE,
        batch_size: EngineConfig::BATCH_SIZE,
        window: EngineConfig::WINDOW,
        max_outstanding: EngineConfig::MAX_OUTSTANDING.max(process.concurrency as usize * 4),
        grace: EngineConfig::GRACE,
    }
}

pub fn failure_of(error: &EngineError) -> Failure {
    match error {
        EngineError::Store(text) if descriptors::ran_out(text) => {
            Failure::failed(error).hint(descriptors::TOO_MANY_FILES)
        }
        EngineError::DiskFull(_) => Failure::failed(error).hint(DISK_FULL),
        EngineError::Corrupt(_) => Failure::failed(error).hint(CORRUPT),
        EngineError::Settings(_) => Failure::usage(error),
        EngineError::Login(_) => {
            Failure::failed(error).hint("nothing was crawled; check 'login' in the job file")
        }
        EngineError::OutputClosed(_) => Failure::new(
            FailureClass::Interrupted,
            "the reader of the pages has closed the pipe: the crawl stopped before its end",
        )
        .hint("the same command resumes it; -o FILE writes all pages to a file"),
        EngineError::Store(_) | EngineError::Fenced(_) | EngineError::Panicked(_) => Failure::failed(error),
    }
}
