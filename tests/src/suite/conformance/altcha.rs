//! ALTCHA written a second time, so that the host is not measured by its own code: signing as the Java service
//! does, and solving as a widget does.

use std::{collections::BTreeMap, time::SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The members of `parameters` by name, those that are null left out: what the Java library signs.
pub fn canonical(parameters: &Value) -> String {
    let members: BTreeMap<_, _> =
        parameters.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()).collect();
    let members: Vec<_> = members.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// The signature of `parameters` under a raw key.
pub fn sign(key: &str, parameters: &Value) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(canonical(parameters).as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// A challenge as the Java service writes it, every null member included, with members changed.
pub fn java_challenge(key: &str, changes: &Value) -> Value {
    let mut parameters = json!({
        "algorithm": "SHA-256", "cost": 1, "data": null, "expiresAt": now() + 300, "keyLength": 32,
        "keyPrefix": "00", "keySignature": null, "memoryCost": null, "nonce": hex::encode(random()),
        "parallelism": null, "salt": hex::encode(random()),
    });
    parameters.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let signature = sign(key, &parameters);
    json!({ "parameters": parameters, "signature": signature })
}

/// Unix seconds.
pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// Hex SHA-256 of a text.
pub fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// A payload with the first counter that fits.
pub fn solve(challenge: &Value) -> Value {
    if challenge["parameters"].is_null() {
        return solve_v1(challenge);
    }
    let parameters = &challenge["parameters"];
    let prefix = parameters["keyPrefix"].as_str().unwrap();
    let fits = |counter: &u32| derive(parameters, *counter).starts_with(prefix);
    let counter = (0..1 << 20).find(fits).expect("a counter that fits");
    payload(challenge, counter)
}

/// A payload with a counter and its key, whatever the prefix.
pub fn payload(challenge: &Value, counter: u32) -> Value {
    let key = derive(&challenge["parameters"], counter);
    json!({ "challenge": challenge, "solution": { "counter": counter, "derivedKey": key, "time": 706.6 } })
}

/// A counter whose key misses the prefix.
pub fn unsolved(challenge: &Value) -> Value {
    let parameters = &challenge["parameters"];
    let prefix = parameters["keyPrefix"].as_str().unwrap();
    let misses = |counter: &u32| !derive(parameters, *counter).starts_with(prefix);
    payload(challenge, (0..1000).find(misses).unwrap())
}

fn solve_v1(challenge: &Value) -> Value {
    let text = |name: &str| challenge[name].as_str().unwrap();
    let most = challenge["maxnumber"].as_u64().unwrap();
    let fits = |number: &u64| {
        let attempt = format!("{}{number}", text("salt"));
        let digest = match text("algorithm") {
            "SHA-256" => hex::encode(Sha256::digest(attempt)),
            "SHA-384" => hex::encode(Sha384::digest(attempt)),
            "SHA-512" => hex::encode(Sha512::digest(attempt)),
            other => panic!("{other}"),
        };
        digest == text("challenge")
    };
    let number = (0..=most).find(fits).expect("a number up to the bound");
    let mut payload = challenge.clone();
    payload.as_object_mut().unwrap().remove("maxnumber");
    payload["number"] = json!(number);
    payload["took"] = json!(12);
    payload
}

/// The key of a counter, in hex.
fn derive(parameters: &Value, counter: u32) -> String {
    let bytes = |name: &str| hex::decode(parameters[name].as_str().unwrap()).unwrap();
    let number = |name: &str| u32::try_from(parameters[name].as_u64().unwrap()).unwrap();
    let (salt, cost) = (bytes("salt"), number("cost"));
    let password = [&*bytes("nonce"), &counter.to_be_bytes()].concat();
    let mut key = vec![0; number("keyLength") as usize];
    match parameters["algorithm"].as_str().unwrap() {
        "SHA-256" => rounds::<Sha256>(&password, &salt, cost, &mut key),
        "SHA-384" => rounds::<Sha384>(&password, &salt, cost, &mut key),
        "SHA-512" => rounds::<Sha512>(&password, &salt, cost, &mut key),
        "PBKDF2/SHA-256" => pbkdf2::pbkdf2_hmac::<Sha256>(&password, &salt, cost, &mut key),
        "PBKDF2/SHA-384" => pbkdf2::pbkdf2_hmac::<Sha384>(&password, &salt, cost, &mut key),
        "PBKDF2/SHA-512" => pbkdf2::pbkdf2_hmac::<Sha512>(&password, &salt, cost, &mut key),
        "SCRYPT" => {
            let log_n = u8::try_from(cost.ilog2()).unwrap();
            let work = scrypt::Params::new(log_n, number("memoryCost"), number("parallelism")).unwrap();
            scrypt::scrypt(&password, &salt, &work, &mut key).unwrap();
        }
        "ARGON2ID" => {
            let (memory, lanes) = (number("memoryCost"), number("parallelism"));
            let work = argon2::Params::new(memory, cost, lanes, Some(key.len())).unwrap();
            let argon2id = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, work);
            argon2id.hash_password_into(&password, &salt, &mut key).unwrap();
        }
        other => panic!("{other}"),
    }
    hex::encode(key)
}

fn rounds<D: Digest>(password: &[u8], salt: &[u8], cost: u32, key: &mut [u8]) {
    let first = D::digest([salt, password].concat());
    let last = (1..cost).fold(first, |digest, _| D::digest(digest));
    key.copy_from_slice(&last[..key.len()]);
}

/// Sixteen bytes that no other challenge has.
fn random() -> [u8; 16] {
    static DRAWN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let drawn = DRAWN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let seed = format!("{drawn} {:?} {}", SystemTime::now(), std::process::id());
    let digest = Sha256::digest(seed);
    digest[..16].try_into().unwrap()
}

#[test]
fn the_contract_s_sample_comes_out() {
    let parameters = json!({
        "algorithm": "SHA-256", "cost": 1000, "data": null, "expiresAt": 4_102_444_800_u64, "keyLength": 32,
        "keyPrefix": "00", "nonce": "afc9f89accc6fb778dbba8d69e1e4891",
        "salt": "0452c11a4e52aa8113c6bb5b98c13d2d",
    });
    let signature = "a89dffd4694536b99e9a9f5dec046525bc22beb7b66f88c30afc2c276c6fd1ac";
    assert_eq!(sign("altcha-test-hmac-secret", &parameters), signature);
    let solution = &solve(&json!({ "parameters": parameters, "signature": signature }))["solution"];
    assert_eq!(solution["counter"], 371);
    let key = "0067427ae9f1346553306a2c0b3b41ed5a0d360a932637b4d03489a1139a1587";
    assert_eq!(solution["derivedKey"], key);
    assert!(derive(&parameters, 0).starts_with("1c5eb383"));
}
