//! A deterministic synthetic web, fake DNS and faults, for the demo, tests and benchmarks.
