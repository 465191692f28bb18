//! Fuzzes queries of the status service.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkhead_fuzz::requests::gql(data);
});
