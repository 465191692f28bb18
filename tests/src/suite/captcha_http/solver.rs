//! A client's side of ALTCHA v2, for challenges whose function is iterated SHA-256.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Works on a challenge: its payload with the first counter that fits.
pub fn solve(challenge: &Value) -> Value {
    let parameters = &challenge["parameters"];
    assert_eq!(parameters["algorithm"], "SHA-256", "{challenge}");
    let text = |name: &str| parameters[name].as_str().unwrap();
    let (nonce, salt) = (bytes(text("nonce")), bytes(text("salt")));
    let cost = parameters["cost"].as_u64().unwrap();
    let key_length = parameters["keyLength"].as_u64().unwrap_or(32);
    let mut candidates = (0_u32..).map(|counter| {
        let first = Sha256::digest([&*salt, &*nonce, &counter.to_be_bytes()].concat());
        let key = (1..cost).fold(first, |key, _| Sha256::digest(key));
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        (counter, key[..key_length as usize * 2].to_owned())
    });
    let (counter, key) = candidates.find(|(_, key)| key.starts_with(text("keyPrefix"))).unwrap();
    json!({
        "challenge": challenge,
        "solution": { "counter": counter, "derivedKey": key, "time": 12.3 },
    })
}

/// The widget's form of a payload.
pub fn encode(payload: &Value) -> String {
    BASE64_STANDARD.encode(payload.to_string())
}

/// What [`encode`] made.
pub fn decode(payload: &str) -> Value {
    serde_json::from_slice(&BASE64_STANDARD.decode(payload).unwrap()).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn the_contract_s_sample_is_solved() {
    let challenge = json!({ "parameters": {
        "algorithm": "SHA-256", "cost": 1000, "expiresAt": 4_102_444_800_u64, "keyLength": 32,
        "keyPrefix": "00", "nonce": "afc9f89accc6fb778dbba8d69e1e4891",
        "salt": "0452c11a4e52aa8113c6bb5b98c13d2d",
    }});
    let solution = &solve(&challenge)["solution"];
    assert_eq!(solution["counter"], 371);
    let key = "0067427ae9f1346553306a2c0b3b41ed5a0d360a932637b4d03489a1139a1587";
    assert_eq!(solution["derivedKey"], key);
}
