//! Bytes in, links, metadata, text and fingerprints out. Pure.
