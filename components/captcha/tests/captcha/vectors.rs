//! Tests of every known answer of the protocol, one each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bulkhead_captcha::algorithm::{Algorithm, Hash};
use bulkhead_captcha::challenge::{self, Parameters};
use bulkhead_captcha::error::Error;
use bulkhead_captcha::host::{Host, Work};
use bulkhead_captcha::json::{self, Members};
use bulkhead_captcha::policy::{Client, Protocol, Site};
use bulkhead_captcha::server_signature;
use bulkhead_captcha::solution::{CounterMode, Solution, is_derived_key, password};
use bulkhead_captcha::verdict::Reason;
use bulkhead_captcha::verify::verify;
use bulkhead_captcha::{canonical, difficulty};
use serde_json::{Value, json};

use crate::native_host::{NativeHost, compat_site};
use crate::payloads::solution;

const VECTORS: &str = include_str!("../../vectors/altcha.json");

/// One test for each vector, named as its id with `_` for `-`.
macro_rules! vectors {
    ($($check:ident: $($name:ident)*;)*) => {
        $($(#[test] fn $name() { $check(&vector(stringify!($name))); })*)*

        const TESTED: &[&str] = &[$($(stringify!($name)),*),*];
    };
}

vectors! {
    verifies: v1_sha256_plain v1_sha256_params_expires v1_sha1 v1_wrong_number v1_splice_undelimited
        v2_sha256_service_shape v2_sha256_cost1 v2_sha384 v2_sha512_len64 v2_pbkdf2_sha256
        v2_pbkdf2_sha512 v2_pbkdf2_deterministic v2_scrypt v2_hmac_sha512
        v2_neg_prefix_miss v2_neg_wrong_key v2_neg_wrong_counter v2_neg_uppercase_key
        v2_neg_counter_string v2_neg_tampered_cost v2_neg_tampered_prefix v2_neg_no_signature
        v2_neg_signature_case v2_null_members v2_neg_expired v2_keysig_counter_unchecked
        v2_neg_wrong_secret;
    verifies_before_expiry: v1_expired;
    verifies_string_counter: v2_countermode_string;
    derives: v2_kdf_sha_256_1 v2_kdf_sha_256_1000 v2_kdf_pbkdf2_sha_256_5000 v2_kdf_scrypt_1024
        v2_kdf_argon2id_2;
    verifies_server_signature: server_signature;
    verifies_fields_hash: fields_hash;
    deobfuscates: obfuscation;
}

fn all() -> Vec<Value> {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    vectors["vectors"].as_array().unwrap().clone()
}

fn test_name(id: &str) -> String {
    id.replace('-', "_")
}

fn vector(name: &str) -> Value {
    let named = |vector: &Value| test_name(vector["id"].as_str().unwrap()) == name;
    all().into_iter().find(named).unwrap_or_else(|| panic!("no vector is named {name}"))
}

#[test]
fn every_vector_has_its_test() {
    let ids: BTreeSet<String> = all().iter().map(|v| test_name(v["id"].as_str().unwrap())).collect();
    let tested: BTreeSet<String> = TESTED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(ids, tested);
    assert_eq!(ids.len(), 37);
}

fn host_and_site(input: &Value) -> (NativeHost, Site) {
    let host = NativeHost::new();
    let secret = input.get("hmacSignatureSecret").or(input.get("hmacKey"));
    host.set_key("site", "raw", secret.unwrap().as_str().unwrap());
    let mut site = Site { accept_v1: true, ..compat_site() };
    if let Some(secret) = input.get("hmacKeySignatureSecret") {
        host.set_key("key", "raw", secret.as_str().unwrap());
        site.key_signing_key = "key".to_owned();
    }
    if input["payload"]["algorithm"] == "SHA-1" {
        (site.protocol, site.algorithm) = (Protocol::V1, "SHA-1".to_owned());
    }
    (host, site)
}

fn payload_text(input: &Value) -> String {
    let text = match input.get("payloadBase64") {
        Some(text) => String::from_utf8(STANDARD.decode(text.as_str().unwrap()).unwrap()).unwrap(),
        None => input["payload"].to_string(),
    };
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), input["payload"]);
    text
}

/// Returns the outcome in the words of the vectors.
fn outcome(host: &NativeHost, site: &Site, payload: &str) -> Value {
    let outcome = |expired, invalid_signature, invalid_solution| {
        json!({
            "verified": (expired, invalid_signature, invalid_solution) == (Some(false), Some(false), Some(false)),
            "expired": expired,
            "invalidSignature": invalid_signature,
            "invalidSolution": invalid_solution,
        })
    };
    let (yes, no) = (Some(true), Some(false));
    match verify(host, site, &Client::default(), payload, None).map(|verdict| verdict.rejected) {
        Ok(None) => outcome(no, no, no),
        Ok(Some(Reason::Expired)) => outcome(yes, None, None),
        Ok(Some(Reason::BadSignature)) => outcome(no, yes, None),
        Ok(Some(Reason::WrongSolution)) => outcome(no, no, yes),
        Err(Error::Malformed(text)) if text.starts_with("challenge.signature") => outcome(no, yes, None),
        Err(Error::Malformed(text)) if text.starts_with("solution.") => outcome(no, no, yes),
        other => panic!("{other:?}"),
    }
}

fn verifies(vector: &Value) {
    let (input, expected) = (&vector["input"], &vector["expected"]);
    let (host, site) = host_and_site(input);
    let text = payload_text(input);
    let outcome = outcome(&host, &site, &text);
    for (name, expected) in expected.as_object().unwrap() {
        if !["note", "verifiedWithoutExpiryCheck"].contains(&name.as_str()) {
            assert_eq!(&outcome[name], expected, "{name}");
        }
    }
    let intermediate = &vector["intermediate"];
    if let Some(expected) = intermediate.get("canonicalJson") {
        let parameters = object(&input["payload"]["challenge"]["parameters"]);
        assert_eq!(canonical::parameters(&parameters), expected.as_str().unwrap());
    }
    if let Some(expected) = intermediate.get("kdfPasswordHex") {
        let payload = &input["payload"];
        let nonce = &payload["challenge"]["parameters"]["nonce"];
        let nonce = hex::decode(nonce.as_str().unwrap()).unwrap();
        let counter = payload["solution"]["counter"].as_u64().unwrap() as u32;
        let password = password(&nonce, counter, CounterMode::Uint32);
        assert_eq!(hex::encode(password), expected.as_str().unwrap());
    }
}

fn verifies_before_expiry(vector: &Value) {
    verifies(vector);
    let (host, site) = host_and_site(&vector["input"]);
    host.now.set(1_599_999_999.0);
    let outcome = outcome(&host, &site, &payload_text(&vector["input"]));
    assert_eq!(outcome["verified"], vector["expected"]["verifiedWithoutExpiryCheck"]);
}

/// Sites count in four bytes, so that this payload is a wrong solution to them; its parts verify.
fn verifies_string_counter(vector: &Value) {
    let input = &vector["input"];
    let (host, site) = host_and_site(input);
    assert_eq!(outcome(&host, &site, &payload_text(input))["invalidSolution"], true);

    let payload = &input["payload"];
    let signature = payload["challenge"]["signature"].as_str().unwrap();
    let parameters = object(&payload["challenge"]["parameters"]);
    assert!(challenge::is_signed(&host, "site", None, &parameters, signature).unwrap());
    let parameters = Members::new("parameters", &parameters);
    let parameters = Parameters::read(parameters).unwrap().unwrap();
    let solution = object(&payload["solution"]);
    let solution = Solution::read(Members::new("solution", &solution)).unwrap();
    let key = solution.plausible_key(&parameters).unwrap();
    let right = is_derived_key(&host, &parameters, CounterMode::String, solution.counter, &key);
    assert_eq!(Value::from(right.unwrap()), vector["expected"]["verified"]);
}

fn derives(vector: &Value) {
    let input = &vector["input"];
    let number = |name: &str| input[name].as_u64().unwrap_or(0) as u32;
    let bytes = |name: &str| hex::decode(input[name].as_str().unwrap()).unwrap();
    let work = Work {
        algorithm: Algorithm::from_name(input["algorithm"].as_str().unwrap()).unwrap(),
        cost: number("cost"),
        memory_cost: number("memoryCost"),
        parallelism: number("parallelism"),
        key_length: number("keyLength"),
    };
    let password = password(&bytes("nonce"), number("counter"), CounterMode::Uint32);
    assert_eq!(password, bytes("passwordHex"));
    let key = NativeHost::new().derive(&work, &password, &bytes("salt")).unwrap();
    assert_eq!(hex::encode(key), vector["expected"]["derivedKey"].as_str().unwrap());
}

fn verifies_server_signature(vector: &Value) {
    let (input, expected) = (&vector["input"], &vector["expected"]);
    let host = NativeHost::new();
    host.set_key("server", "raw", input["hmacSecret"].as_str().unwrap());
    let payload = object(&input["payload"]);
    let data = server_signature::open(&host, "server", Members::new("payload", &payload));
    let data = data.unwrap().expect("signed");
    assert_eq!(data.is_verified(), expected["verified"]);
    assert_eq!(data.is_expired(host.now()), expected["expired"]);
    assert!(data.is_expired(Duration::from_secs(4_102_444_801)));
    let expected = expected["verificationData"].as_object().unwrap();
    for (name, expected) in expected {
        match expected {
            Value::Bool(expected) => {
                assert_eq!(data.text(name), Some(expected.to_string().as_str()))
            }
            Value::Number(expected) => assert_eq!(data.number(name), expected.as_f64()),
            Value::String(expected) => assert_eq!(data.text(name), Some(expected.as_str())),
            expected => assert_eq!(json!(data.list(name)), *expected),
        }
    }
}

fn verifies_fields_hash(vector: &Value) {
    let input = &vector["input"];
    let form: BTreeMap<String, String> = serde_json::from_value(input["formData"].clone()).unwrap();
    let fields: Vec<String> = serde_json::from_value(input["fields"].clone()).unwrap();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let hash = Hash::from_name(input["algorithm"].as_str().unwrap()).unwrap();
    let matches = server_signature::fields_hash(hash, &fields, &form) == input["fieldsHash"];
    assert_eq!(Value::from(matches), vector["expected"]["verified"]);
    let other = server_signature::fields_hash(hash, &["email", "absent"], &form);
    assert_ne!(other, input["fieldsHash"]);
}

fn deobfuscates(vector: &Value) {
    let data = STANDARD.decode(vector["input"]["data"].as_str().unwrap()).unwrap();
    let data: Value = serde_json::from_slice(&data).unwrap();
    assert_eq!(data, vector["input"]["decoded"]);
    let (counter, key) = solution(&NativeHost::new(), &data["parameters"]);
    assert!((20..=200).contains(&counter), "{counter}");
    let bytes = |name: &str| hex::decode(data["cipher"][name].as_str().unwrap()).unwrap();
    let cipher = Aes256Gcm::new_from_slice(&key).unwrap();
    let nonce = Nonce::try_from(bytes("iv").as_slice()).unwrap();
    let text = cipher.decrypt(&nonce, bytes("data").as_slice()).unwrap();
    assert_eq!(text, vector["expected"]["text"].as_str().unwrap().as_bytes());
}

fn object(value: &Value) -> json::Object {
    match json::parse(&value.to_string()).unwrap() {
        json::Value::Object(object) => object,
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_key_signing_key_forces_derivation() {
    for (id, verified) in [("v2_pbkdf2_deterministic", true), ("v2_keysig_counter_unchecked", false)] {
        let mut input = vector(id)["input"].clone();
        input.as_object_mut().unwrap().remove("hmacKeySignatureSecret");
        let (host, site) = host_and_site(&input);
        assert_eq!(outcome(&host, &site, &payload_text(&input))["verified"], verified, "{id}");
        assert_eq!(host.derivations.get(), 1);
    }
}

#[test]
fn allow_listed_cost_matches_the_vector() {
    let cost = &vector("v2_sha256_cost1")["input"]["payload"]["challenge"]["parameters"]["cost"];
    assert_eq!(*cost, difficulty::ALLOW_LISTED_COST);
}
