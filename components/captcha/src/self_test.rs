//! The component's self-test.

use crate::algorithm::{Algorithm, Hash};
use crate::host::{Host, Work};
use crate::solution::{CounterMode, password};

/// Name of the self-test's signing key, which protects nothing.
pub const KEY: &str = "self-test";

/// A known answer: the key that counter 371 derives, from the protocol's test vectors
/// (`v2-sha256-service-shape`).
const NONCE: &str = "afc9f89accc6fb778dbba8d69e1e4891";
const SALT: &str = "0452c11a4e52aa8113c6bb5b98c13d2d";
const COUNTER: u32 = 371;
const DERIVED_KEY: &str = "0067427ae9f1346553306a2c0b3b41ed5a0d360a932637b4d03489a1139a1587";

/// Signs, verifies, derives and mints through the host.
///
/// # Errors
///
/// Fails with a text that names what does not work.
pub fn self_test(host: &dyn Host) -> Result<(), String> {
    keys(host).map_err(|problem| format!("keys: {problem}"))?;
    derivation(host).map_err(|problem| format!("pow: {problem}"))
}

fn keys(host: &dyn Host) -> Result<(), String> {
    let text = |error: crate::error::Error| error.to_string();
    let signature = host.sign(KEY, Hash::Sha256, b"self-test").map_err(text)?;
    let is_signed = |data: &[u8]| {
        host.is_signed(KEY, Some(&signature.key_id), Hash::Sha256, data, &signature.tag).map_err(text)
    };
    if !is_signed(b"self-test")? {
        return Err("a signature just made is not accepted".to_owned());
    }
    if is_signed(b"self-tess")? {
        return Err("a signature is accepted for other data".to_owned());
    }
    Ok(())
}

fn derivation(host: &dyn Host) -> Result<(), String> {
    let text = |error: crate::error::Error| error.to_string();
    let bytes = |hex| hex::decode(hex).unwrap_or_default();
    let mut work = Work {
        algorithm: Algorithm::Sha(Hash::Sha256),
        cost: 1000,
        memory_cost: 0,
        parallelism: 1,
        key_length: 32,
    };
    let password_of = |nonce: &[u8], counter| password(nonce, counter, CounterMode::Uint32);
    let key = host.derive(&work, &password_of(&bytes(NONCE), COUNTER), &bytes(SALT)).map_err(text)?;
    if hex::encode(key) != DERIVED_KEY {
        return Err("iterated SHA-256 gives another key than the protocol's known answer".to_owned());
    }
    work.cost = 1;
    let minted = host.mint(&work, 1).map_err(text)?;
    let password = password_of(&minted.nonce, minted.counter);
    let key = host.derive(&work, &password, &minted.salt).map_err(text)?;
    if minted.counter != 1 || key != minted.derived_key {
        return Err("a minted challenge is not solved by its own counter".to_owned());
    }
    Ok(())
}
