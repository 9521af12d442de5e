//! Discovered URLs in, URLs due for fetching out; one owner per host. Sans-I/O.
