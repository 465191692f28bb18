//! A client's side of ALTCHA v2 for the functions that are measured.

use std::thread;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Works on challenges, the bodies of answers, on all cores: a payload each.
pub fn solve_all(challenges: &[Vec<u8>]) -> Vec<Value> {
    let cores = thread::available_parallelism().map_or(1, Into::into);
    let solve_some = |some: &[Vec<u8>]| -> Vec<Value> { some.iter().map(|body| solve(body)).collect() };
    thread::scope(|scope| {
        let size = challenges.len().div_ceil(cores).max(1);
        let workers: Vec<_> =
            challenges.chunks(size).map(|some| scope.spawn(move || solve_some(some))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

fn solve(body: &[u8]) -> Value {
    let body: Value = serde_json::from_slice(body).unwrap();
    let challenge = &body["challenge"];
    let parameters = &challenge["parameters"];
    let text = |name: &str| parameters[name].as_str().unwrap();
    let (algorithm, cost) = (text("algorithm"), parameters["cost"].as_u64().unwrap() as u32);
    let (nonce, salt, prefix) = (bytes(text("nonce")), bytes(text("salt")), bytes(text("keyPrefix")));
    let derived = |counter: u32| -> [u8; 32] {
        let password = [nonce.as_slice(), &counter.to_be_bytes()].concat();
        match algorithm {
            "SHA-256" => {
                let first = Sha256::digest([salt.as_slice(), &password].concat());
                (1..cost).fold(first, |key, _| Sha256::digest(key)).into()
            }
            "PBKDF2/SHA-256" => pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(&password, &salt, cost),
            _ => panic!("{algorithm} is not measured"),
        }
    };
    let mut keys = (0..).map(|counter| (counter, derived(counter)));
    let (counter, key) = keys.find(|(_, key)| key.starts_with(&prefix)).unwrap();
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "challenge": challenge, "solution": { "counter": counter, "derivedKey": key, "time": 12.3 } })
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
