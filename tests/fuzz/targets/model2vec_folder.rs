//! Fuzzes folders of model2vec models.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bulkhead_fuzz::files::model2vec_folder(data));
