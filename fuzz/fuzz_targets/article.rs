#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| argiope_properties::check("article", bytes));
