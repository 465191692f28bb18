//! Fuzzes components before they are compiled.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkhead_fuzz::requests::preflight(data);
});
