//! Issues challenges: determines the cost, then mints in one of protocol v2's two modes; v1's is in [`crate::v1`].

use crate::algorithm::{Algorithm, Hash};
use crate::binding::Bound;
use crate::error::Error;
use crate::expiry::expiry;
use crate::host::{Host, Work};
use crate::json::{Object, Value};
use crate::policy::{Client, Protocol, Site};
use crate::{canonical, difficulty, signing, v1};

/// Bytes of a derived key: the only length that every widget handles for every algorithm.
pub const KEY_LENGTH: u32 = 32;

/// Bytes of the key that deterministic mode publishes: half, so that the other half stays secret.
pub const PREFIX_LENGTH: usize = 16;

/// Prefix of a valid key in probabilistic mode: one candidate in 256 has it.
pub const PROBABILISTIC_PREFIX: &str = "00";

/// Bytes of nonce and salt.
pub const RANDOM_LENGTH: usize = 16;

/// Default memory of Argon2id, KiB: tens of milliseconds a candidate on a phone. More keeps small devices out, less
/// helps graphics cards.
pub const ARGON2ID_MEMORY: u32 = 8192;

/// Default block size of scrypt; the usual r.
pub const SCRYPT_BLOCK_SIZE: u32 = 8;

/// A minted challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// The challenge as JSON, ready for the widget.
    pub challenge: String,
    /// Its cost.
    pub cost: u32,
    /// Visits of this client inside the window, this one included.
    pub visits: u64,
}

/// Issues a challenge to `client` and signs `action` into it. The visit counts for the next
/// challenge, even when this one fails.
pub fn issue(host: &dyn Host, site: &Site, client: &Client, action: Option<&str>) -> Result<Issued, Error> {
    let bound = Bound::to(site, client, action)?;
    let algorithm = match site.protocol {
        Protocol::V1 => None,
        Protocol::V2 => Some(algorithm(site)?),
    };
    let visits = host.record_visit(&site.key, &client.network, client.allow_listed)?;
    let cost = difficulty::cost(host, site, client, &visits, algorithm)?;
    let challenge = match algorithm {
        None => v1::issue(host, site, cost, bound)?,
        Some(algorithm) => v2(host, site, &work(site, algorithm, cost), bound)?,
    };
    Ok(Issued { challenge, cost, visits: visits.client.saturating_add(1) })
}

fn algorithm(site: &Site) -> Result<Algorithm, Error> {
    if site.compat {
        return Ok(Algorithm::Sha(Hash::Sha256));
    }
    Algorithm::from_name(&site.algorithm).ok_or_else(|| {
        let Site { algorithm, key, .. } = site;
        Error::Internal(format!("algorithm {algorithm:?} of site {key} is not part of protocol v2"))
    })
}

fn work(site: &Site, algorithm: Algorithm, cost: u32) -> Work {
    let memory_cost = match algorithm {
        Algorithm::Argon2id => site.memory_cost.unwrap_or(ARGON2ID_MEMORY),
        Algorithm::Scrypt => site.memory_cost.unwrap_or(SCRYPT_BLOCK_SIZE),
        Algorithm::Sha(_) | Algorithm::Pbkdf2(_) => 0,
    };
    let parallelism = site.parallelism.unwrap_or(1);
    Work { algorithm, cost, memory_cost, parallelism, key_length: KEY_LENGTH }
}

fn v2(host: &dyn Host, site: &Site, work: &Work, bound: Bound) -> Result<String, Error> {
    let mut parameters = Object::new();
    let mut put = |name: &str, value: Value| _ = parameters.insert(name.to_owned(), value);
    put("algorithm", work.algorithm.name().into());
    put("cost", work.cost.into());
    put("keyLength", work.key_length.into());
    put("expiresAt", Value::Number(expiry(site, host.now()) as f64));
    if work.algorithm.is_memory_hard() {
        put("memoryCost", work.memory_cost.into());
        put("parallelism", work.parallelism.into());
    }
    let mut key_id = String::new();
    if site.deterministic && !site.compat {
        let minted = host.mint(work, site.counter_max)?;
        let signature = host.sign(&site.key_signing_key, Hash::Sha256, &minted.derived_key)?;
        let prefix = minted.derived_key.get(..PREFIX_LENGTH).unwrap_or_default();
        put("nonce", hex::encode(&minted.nonce).into());
        put("salt", hex::encode(&minted.salt).into());
        put("keyPrefix", hex::encode(prefix).into());
        put("keySignature", hex::encode(signature.tag).into());
        key_id = signature.key_id;
    } else {
        // One call of the host for both.
        let random = hex::encode(host.random(2 * RANDOM_LENGTH));
        let (nonce, salt) = random.split_at_checked(2 * RANDOM_LENGTH).unwrap_or_default();
        put("nonce", nonce.into());
        put("salt", salt.into());
        put("keyPrefix", PROBABILISTIC_PREFIX.into());
    }
    let (text, signature) = sign(host, site, parameters, key_id, bound)?;
    Ok(format!(r#"{{"parameters":{text},"signature":"{signature}"}}"#))
}

/// Adds `data` and signs: returns the canonical text and its signature. `key_id` is a guess at the signing key's id;
/// that of the key-signing key is right if the host rotates both together.
fn sign(
    host: &dyn Host,
    site: &Site,
    mut parameters: Object,
    key_id: String,
    mut bound: Bound,
) -> Result<(String, String), Error> {
    let key = site.signing_key.as_str();
    if site.compat {
        let text = canonical::parameters(&parameters);
        let signature = host.sign(key, Hash::Sha256, text.as_bytes())?;
        return Ok((text, hex::encode(signature.tag)));
    }
    signing::sign_naming_key(host, key, Hash::Sha256, key_id, |key_id| {
        bound.key_id = Some(key_id.to_owned());
        let data = bound.members().map(|(name, text)| (name.to_owned(), text.into())).collect();
        parameters.insert("data".to_owned(), Value::Object(data));
        canonical::parameters(&parameters)
    })
}
