//! Fuzzes shapes of tensors from guests.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bulkhead_fuzz::files::tensor_shape(data));
