//! Fuzzes files of tensors.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bulkhead_fuzz::files::safetensors(data));
