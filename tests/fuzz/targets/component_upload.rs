//! Fuzzes uploads of components.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkhead_fuzz::requests::component_upload(data);
});
