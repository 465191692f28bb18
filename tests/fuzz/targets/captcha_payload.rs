//! Fuzzes payloads of the captcha component.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkhead_fuzz::requests::captcha_payload(data);
});
