//! Tests of the caps, and of the keys against published test vectors.

#![allow(clippy::unwrap_used)]

use super::*;

fn parameters(
    algorithm: PowAlgorithm,
    cost: u32,
    memory_cost: u32,
    parallelism: u32,
    key_length: u32,
) -> KdfParameters {
    KdfParameters { algorithm, cost, memory_cost, parallelism, key_length }
}

fn derived(parameters: KdfParameters, password: &[u8], salt: &[u8]) -> String {
    parameters.check(password, salt).unwrap();
    hex::encode(parameters.derive(password, salt).unwrap())
}

/// RFC 7914, section 11.
#[test]
fn pbkdf2_matches_rfc_7914_test_vector() {
    let key = derived(parameters(PowAlgorithm::Pbkdf2Sha256, 1, 0, 0, 64), b"passwd", b"salt");
    assert_eq!(
        key,
        "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
         49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"
    );
}

/// RFC 7914, section 12.
#[test]
fn scrypt_matches_rfc_7914_test_vector() {
    let key = derived(parameters(PowAlgorithm::Scrypt, 16384, 8, 1, 64), b"pleaseletmein", b"SodiumChloride");
    assert_eq!(
        key,
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2\
         d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    );
}

#[test]
fn sha_rounds_hash_the_whole_digest() {
    let one = Sha256::digest(b"saltpassword");
    let three = Sha256::digest(Sha256::digest(one));
    let key =
        |cost, length| derived(parameters(PowAlgorithm::Sha256, cost, 0, 0, length), b"password", b"salt");
    assert_eq!(key(1, 32), hex::encode(one));
    assert_eq!(key(3, 32), hex::encode(three));
    assert_eq!(key(3, 8), hex::encode(three).get(..16).unwrap());
    assert_eq!(key(3, 64), format!("{}{}", hex::encode(three), "0".repeat(64)));
}

#[test]
fn every_algorithm_derives_the_requested_length() {
    use PowAlgorithm::{Argon2id, Pbkdf2Sha256, Pbkdf2Sha384, Pbkdf2Sha512, Scrypt, Sha256, Sha384, Sha512};
    let mut keys = Vec::new();
    for (algorithm, cost, memory) in [
        (Sha256, 2, 0),
        (Sha384, 2, 0),
        (Sha512, 2, 0),
        (Pbkdf2Sha256, 2, 0),
        (Pbkdf2Sha384, 2, 0),
        (Pbkdf2Sha512, 2, 0),
        (Scrypt, 2, 8),
        (Argon2id, 1, 8),
    ] {
        let key = derived(parameters(algorithm, cost, memory, 1, 20), b"password", b"saltsalt");
        assert_eq!(key.len(), 40);
        assert!(!keys.contains(&key), "{algorithm:?}");
        keys.push(key);
    }
}

#[test]
fn costs_at_the_caps_are_accepted() {
    use PowAlgorithm::{Argon2id, Pbkdf2Sha512, Scrypt, Sha256};
    for (algorithm, cost, memory, lanes, length, fits) in [
        (Sha256, 1, 0, 0, 1, true),
        (Sha256, 0, 0, 0, 32, false),
        (Sha256, 1, 0, 0, 0, false),
        (Sha256, 1, 0, 0, 65, false),
        (Pbkdf2Sha512, 10_000_000, 0, 0, 64, true),
        (Pbkdf2Sha512, 10_000_001, 0, 0, 64, false),
        (Pbkdf2Sha512, u32::MAX, u32::MAX, u32::MAX, 64, false),
        (Scrypt, 1, 8, 1, 32, false),
        (Scrypt, 3, 8, 1, 32, false),
        (Scrypt, 1024, 0, 1, 32, false),
        (Scrypt, 1024, 8, 0, 32, false),
        (Scrypt, 1024, 8, 5, 32, false),
        (Scrypt, 65536, 8, 1, 32, true),
        (Scrypt, 65536, 8, 2, 32, false),
        (Scrypt, 131_072, 8, 1, 32, false),
        (Scrypt, 1 << 31, 1024, 4, 32, false),
        (Argon2id, 64, 65536, 4, 32, true),
        (Argon2id, 65, 65536, 4, 32, false),
        (Argon2id, 0, 8, 1, 32, false),
        (Argon2id, 1, 65537, 1, 32, false),
        (Argon2id, 1, 7, 1, 32, false),
        (Argon2id, 1, 64, 5, 32, false),
    ] {
        let parameters = parameters(algorithm, cost, memory, lanes, length);
        assert_eq!(parameters.check_cost().is_ok(), fits, "{parameters:?}");
    }
}

#[test]
fn password_and_salt_lengths_are_capped() {
    let cheap = parameters(PowAlgorithm::Sha256, 1, 0, 0, 32);
    cheap.check(&[0; INPUT_BYTES], &[0; INPUT_BYTES]).unwrap();
    cheap.check(&[0], &[]).unwrap();
    cheap.check(&[], &[0]).unwrap_err();
    cheap.check(&[0; INPUT_BYTES + 1], &[0]).unwrap_err();
    cheap.check(&[0], &[0; INPUT_BYTES + 1]).unwrap_err();
}

#[test]
fn range_error_names_parameter_and_value() {
    let refused = parameters(PowAlgorithm::Argon2id, 1, 100_000, 1, 32).check_cost().unwrap_err();
    assert_eq!(refused.to_string(), "memory cost must be 8 to 65536 KiB, not 100000");
}

#[test]
fn parameters_that_argon2_rejects_are_unsupported() {
    let lanes = parameters(PowAlgorithm::Argon2id, 1, 8, 4, 32);
    lanes.check_cost().unwrap();
    assert!(matches!(lanes.derive(b"password", b"saltsalt"), Err(ParameterError::Unsupported(_))));
}
