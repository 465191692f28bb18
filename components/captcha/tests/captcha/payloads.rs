//! Helpers that solve challenges and judge payloads.

use bulkhead_captcha::algorithm::Algorithm;
use bulkhead_captcha::error::Error;
use bulkhead_captcha::host::{Host, Work};
use bulkhead_captcha::issue::issue;
use bulkhead_captcha::policy::{Client, Site};
use bulkhead_captcha::solution::{CounterMode, password};
use bulkhead_captcha::verdict::{Reason, Verdict};
use bulkhead_captcha::verify::verify;
use serde_json::{Value, json};

use crate::native_host::NativeHost;

/// Returns the counter and key that solve `parameters`.
pub fn solution(host: &NativeHost, parameters: &Value) -> (u32, Vec<u8>) {
    let number = |name: &str| parameters[name].as_u64().unwrap_or(0) as u32;
    let bytes = |name: &str| hex::decode(parameters[name].as_str().unwrap()).unwrap();
    let work = Work {
        algorithm: Algorithm::from_name(parameters["algorithm"].as_str().unwrap()).unwrap(),
        cost: number("cost"),
        memory_cost: number("memoryCost"),
        parallelism: number("parallelism"),
        key_length: number("keyLength"),
    };
    let (nonce, salt) = (bytes("nonce"), bytes("salt"));
    let prefix = parameters["keyPrefix"].as_str().unwrap();
    let derived = (0..).map(|counter| {
        let password = password(&nonce, counter, CounterMode::Uint32);
        (counter, host.derive(&work, &password, &salt).unwrap())
    });
    let found = derived.into_iter().find(|(_, key)| hex::encode(key).starts_with(prefix)).unwrap();
    host.derivations.set(0);
    found
}

/// Returns the payload that solves `challenge` of protocol v2.
pub fn solve(host: &NativeHost, challenge: &str) -> Value {
    let challenge: Value = serde_json::from_str(challenge).unwrap();
    let (counter, key) = solution(host, &challenge["parameters"]);
    let solution = json!({"counter": counter, "derivedKey": hex::encode(key), "time": 706.6});
    json!({"challenge": challenge, "solution": solution})
}

/// Returns the payload that solves `challenge` of protocol v1.
pub fn solve_v1(challenge: &str) -> Value {
    let challenge: Value = serde_json::from_str(challenge).unwrap();
    let text = |name: &str| challenge[name].as_str().unwrap();
    let hash = bulkhead_captcha::algorithm::Hash::from_name(text("algorithm")).unwrap();
    let hit = |number: &u32| {
        hex::encode(hash.digest(format!("{}{number}", text("salt")).as_bytes())) == text("challenge")
    };
    let number = (0..=challenge["maxnumber"].as_u64().unwrap() as u32).find(hit).unwrap();
    let mut payload = challenge;
    payload.as_object_mut().unwrap().remove("maxnumber");
    payload["number"] = number.into();
    payload["took"] = 47.into();
    payload
}

/// Returns a fresh challenge with its solution.
pub fn solved(host: &NativeHost, site: &Site, client: &Client) -> Value {
    solve(host, &issue(host, site, client, None).unwrap().challenge)
}

/// Returns the verdict on `payload` without an action.
pub fn judge(host: &NativeHost, site: &Site, client: &Client, payload: &Value) -> Result<Verdict, Error> {
    verify(host, site, client, &payload.to_string(), None)
}

/// Returns why `payload` is refused, if it is.
pub fn refusal(host: &NativeHost, site: &Site, client: &Client, payload: &Value) -> Option<Reason> {
    judge(host, site, client, payload).unwrap().rejected
}

/// Returns the error text for the malformed `payload`.
pub fn malformed(host: &NativeHost, site: &Site, payload: &str) -> String {
    match verify(host, site, &Client::default(), payload, None) {
        Err(Error::Malformed(text)) => text,
        other => panic!("{payload}: {other:?}"),
    }
}
