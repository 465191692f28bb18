//! Fuzzes manifests of OCI registries.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkhead_fuzz::requests::oci_manifest(data);
});
