//! Fuzzes files of linear heads.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bulkhead_fuzz::files::linear_head(data));
