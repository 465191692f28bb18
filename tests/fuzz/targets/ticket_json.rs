//! Fuzzes tickets in JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkhead_fuzz::requests::ticket_json(data);
});
