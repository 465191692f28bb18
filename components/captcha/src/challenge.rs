//! A protocol v2 challenge as a client hands it back.

use std::time::Duration;

use crate::algorithm::Algorithm;
use crate::binding::Bound;
use crate::error::Error;
use crate::host::{Host, Work};
use crate::json::{Members, Object};
use crate::{canonical, signing};

/// What a challenge asks for, read from its `parameters`.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The derivation and its cost.
    pub work: Work,
    /// Start of the password, bytes.
    pub nonce: Vec<u8>,
    /// Salt of the derivation, bytes.
    pub salt: Vec<u8>,
    /// Lower-case hex that the key's hex must start with; an odd length is allowed.
    pub key_prefix: String,
    /// Deterministic mode: HMAC of the right key, hex.
    pub key_signature: Option<String>,
    /// Unix seconds; none for a challenge that never expires.
    pub expires_at: Option<f64>,
    /// What the issuer signed into `data`.
    pub bound: Bound,
}

impl Parameters {
    /// Reads `parameters`. `None`: well-formed, but nothing an issuer would have signed.
    pub fn read(members: Members<'_>) -> Result<Option<Self>, Error> {
        let algorithm = members.string("algorithm")?;
        let nonce = members.string("nonce")?;
        let salt = members.string("salt")?;
        let key_prefix = members.string("keyPrefix")?;
        let data = members.members("data", "challenge.parameters.data")?;
        let rest = Rest {
            cost: members.integer("cost")?.ok_or_else(|| members.missing("cost"))?,
            key_length: members.integer("keyLength")?.ok_or_else(|| members.missing("keyLength"))?,
            memory_cost: members.integer("memoryCost")?,
            parallelism: members.integer("parallelism")?,
            key_signature: members.string("keySignature")?,
            expires_at: members.number("expiresAt")?.filter(|&seconds| seconds != 0.0),
            bound: data.map(Bound::from_data).unwrap_or_default(),
        };
        Ok(algorithm.and_then(Algorithm::from_name).and_then(|algorithm| {
            let nonce = hex::decode(nonce?).ok()?;
            let salt = hex::decode(salt?).ok()?;
            Some(rest.complete(algorithm, nonce, salt, key_prefix?))
        }))
    }

    /// Whether the challenge's life is over at `now`.
    pub fn is_expired(&self, now: Duration) -> bool {
        is_past(self.expires_at, now)
    }
}

/// Whether `expires_at`, Unix seconds, lies before `now`.
pub fn is_past(expires_at: Option<f64>, now: Duration) -> bool {
    expires_at.is_some_and(|seconds| seconds < now.as_secs_f64())
}

/// The members that have been type-checked before it is known whether the others are there.
struct Rest<'a> {
    cost: u32,
    key_length: u32,
    memory_cost: Option<u32>,
    parallelism: Option<u32>,
    key_signature: Option<&'a str>,
    expires_at: Option<f64>,
    bound: Bound,
}

impl Rest<'_> {
    fn complete(self, algorithm: Algorithm, nonce: Vec<u8>, salt: Vec<u8>, prefix: &str) -> Parameters {
        let work = Work {
            algorithm,
            cost: self.cost,
            memory_cost: self.memory_cost.unwrap_or(0),
            parallelism: self.parallelism.unwrap_or(1),
            key_length: self.key_length,
        };
        Parameters {
            work,
            nonce,
            salt,
            key_prefix: prefix.to_owned(),
            key_signature: self.key_signature.map(str::to_owned),
            expires_at: self.expires_at,
            bound: self.bound,
        }
    }
}

/// A challenge: parameters and the signature over their canonical form.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// `parameters` as received; `None` when the member is absent or null.
    pub parameters: Option<Members<'a>>,
    /// Lower-case hex when it is an issuer's.
    pub signature: &'a str,
}

impl<'a> Challenge<'a> {
    /// Reads the `challenge` member of a payload.
    pub fn read(members: Members<'a>) -> Result<Self, Error> {
        let parameters = members.members("parameters", "challenge.parameters")?;
        let signature = members.string("signature")?.ok_or_else(|| members.missing("signature"))?;
        Ok(Self { parameters, signature })
    }
}

/// Whether `signature` is the HMAC of `parameters` under the host's key called `key`. Members that
/// a client added, took away or changed make it a no; null members at the top make no difference.
pub fn is_signed(
    host: &dyn Host,
    key: &str,
    key_id: Option<&str>,
    parameters: &Object,
    signature: &str,
) -> Result<bool, Error> {
    let text = canonical::parameters(parameters);
    signing::is_signed(host, key, key_id, text.as_bytes(), signature)
}
