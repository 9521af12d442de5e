//! A due URL in, a response with timings out: DNS, TLS, HTTP, limits, address guard.
